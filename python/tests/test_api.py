"""The Python API: the same experiment as TOML and as Python gives the same result."""

import inspect
import signal
import threading
from pathlib import Path

import pytest
from conftest import SMALL, write

import nandlab
from nandlab import stubs
from nandlab.listing import option_table, python_type
from nandlab.result import View, _hints


def as_python(**tables):
    given = {
        "seed": 3,
        "workload": nandlab.workload.uniform(requests=20000),
        "ftl": nandlab.ftl.page(),
        "device": nandlab.Device(capacity="16 MiB", over_provisioning=0.25),
    }
    return nandlab.Experiment(**{**given, **tables})


def test_toml_and_python_give_equal_results(small):
    from_file = nandlab.Experiment.from_toml(small)
    in_python = as_python()
    assert from_file.resolve() == in_python.resolve()
    assert from_file.run().without_speed() == in_python.run().without_speed()


def test_every_table_can_be_a_dictionary(small):
    experiment = as_python(
        workload={"uniform": {"requests": 20000}},
        ftl={"page": {}},
        device={"capacity": 16 << 20, "over_provisioning": 0.25},
    )
    assert experiment.run().without_speed() == nandlab.Experiment.from_toml(small).run().without_speed()


def test_typed_tables_name_their_keys(small):
    """`Device`, `Host` and `Precondition` have every key that the resolved experiment has, and no other."""
    experiment = as_python(
        host=nandlab.Host(queue_depth=4), precondition=nandlab.Precondition(fill="sequential")
    )
    resolved = experiment.resolve()
    for name, kind in (
        ("device", nandlab.Device),
        ("host", nandlab.Host),
        ("precondition", nandlab.Precondition),
    ):
        assert set(resolved[name]) <= set(inspect.signature(kind).parameters)
    assert resolved["host"]["queue_depth"] == 4
    assert resolved["precondition"]["fill"] == "sequential"


@pytest.mark.parametrize("field", ["profile", "shape", "rules", "timing", "energy", "faults"])
def test_no_key_of_the_device_is_unknown_to_the_file(field):
    """A key that the file does not have would be refused as unknown, not as wrong."""
    with pytest.raises(nandlab.ConfigError) as caught:
        as_python(device=nandlab.Device(capacity="16 MiB", **{field: 17})).resolve()
    assert "unknown" not in str(caught.value)


def test_seeds_change_results(small_result):
    assert as_python(seed=4).run().flash != small_result.flash
    assert as_python(seed=3).run().flash == small_result.flash


def test_errors_say_where(tmp_path):
    path = write(tmp_path / "typo.toml", SMALL.replace("over_provisioning", "over_provisionin"))
    with pytest.raises(nandlab.ConfigError) as caught:
        nandlab.Experiment.from_toml(path).run()
    error = caught.value
    assert (error.file, error.line, error.column) == (str(path), 10, 1)
    assert "over_provisioning" in str(error)
    assert isinstance(error, nandlab.NandlabError)


def test_a_trace_error_is_one(tmp_path):
    trace = write(tmp_path / "bad.csv", "time_us,op,sector,sectors,origin\n0,W,zero,8,database\n")
    experiment = as_python(workload=nandlab.workload.trace(path=str(trace)))
    with pytest.raises(nandlab.TraceError, match=r"bad\.csv, line 2"):
        experiment.run()


class Scalar:
    """What a number of numpy looks like from here."""

    def __init__(self, value):
        self.value = value

    def tolist(self):
        return self.value


def test_numbers_of_numpy_paths_and_tuples_are_taken(tmp_path):
    write(tmp_path / "short.csv", "time_us,op,sector,sectors,origin\n0,W,0,8,database\n")
    experiment = as_python(
        seed=Scalar(2**64 - 1),
        workload={"trace": {"path": tmp_path / "short.csv"}},
        device=nandlab.Device(capacity=Scalar(16 << 20), over_provisioning=Scalar(0.25)),
    )
    assert experiment.resolve()["seed"] == 2**64 - 1
    assert experiment.run().host.written_sectors == 8
    choice = ({"size": "4 KiB", "weight": Scalar(3)}, {"size": 8192, "weight": 1})
    sizes = as_python(workload=nandlab.workload.uniform(size=choice)).resolve()["workload"]["uniform"]["size"]
    assert [each["weight"] for each in sizes] == [3, 1]


NAN = float("nan")
ENDLESS = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize(
    ("tables", "key", "says"),
    [
        ({"seed": NAN}, "seed", "given nan"),
        ({"seed": Scalar(NAN)}, "seed", "given nan"),
        ({"device": {"over_provisioning": float("-inf")}}, "device.over_provisioning", "given -inf"),
        ({"device": nandlab.Device(capacity=2**70)}, "device.capacity", "given 1180591620717411303424"),
        ({"device": {"capacity": 10**400}}, "device.capacity", "given one of 1329 bits"),
        ({"device": {"profile": b"generic"}}, "device.profile", "given a value of type bytes"),
        ({"device": {"profile": "\ud800"}}, "device.profile", "character 1 of the text is not Unicode"),
        ({"device": {1: 2}}, "device", "keys are texts, given 1"),
        (
            {"workload": {"uniform": {"size": {"4 KiB"}}}},
            "workload.uniform.size",
            "a set, which has no order",
        ),
        (
            {"workload": {"uniform": {"size": [{"size": 4096, "weight": NAN}]}}},
            "workload.uniform.size[0].weight",
            "given nan",
        ),
        ({"seed": 2**64}, "seed", "to 18446744073709551615, given 18446744073709551616"),
        ({"seed": -1}, "seed", "given -1"),
        ({"device": {"shape": ENDLESS}}, "device.shape" + 31 * "[0]", "at most 32 levels"),
    ],
)
def test_a_value_that_no_file_holds_is_refused_with_its_key(tables, key, says):
    with pytest.raises(nandlab.ConfigError) as caught:
        as_python(**tables).resolve()
    assert caught.value.key == key
    assert str(caught.value).startswith(f"{key}: ")
    assert says in str(caught.value)


def test_errors_in_python_have_no_place_in_a_file():
    with pytest.raises(nandlab.ConfigError) as caught:
        as_python(device={"capacity": "16 furlongs"}).resolve()
    error = caught.value
    assert (error.file, error.line, error.column, error.key) == (None, None, None, "device.capacity")
    assert str(error).startswith("device.capacity: `furlongs`")
    with pytest.raises(nandlab.TraceError) as caught:
        as_python(workload={"trace": {"path": "absent.csv"}}).run()
    assert str(caught.value).endswith("absent.csv: there is no such file (workload.trace.path)")


def test_progress_is_told():
    calls = []
    result = as_python(workload=nandlab.workload.uniform(requests=3_000_000)).run(
        progress=lambda *call: calls.append(call)
    )
    assert result.host.requests == 3_000_000
    assert calls
    phases, done, total = zip(*calls, strict=True)
    assert all(isinstance(phase, str) for phase in phases)
    assert list(done) == sorted(done)
    assert set(total) == {3_000_000}


def test_ctrl_c_stops_a_run():
    experiment = as_python(workload=nandlab.workload.uniform(requests=2_000_000_000))
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        experiment.run()


def test_cancelled_runs_are_partial():
    run = as_python(workload=nandlab.workload.uniform(requests=2_000_000_000)).start()
    assert not run.wait(0.2)
    run.cancel()
    assert run.wait(10)
    assert run.result().partial is True


def worn_out():
    return as_python(
        workload=nandlab.workload.uniform(requests=2_000_000),
        device=nandlab.Device(capacity="16 MiB", over_provisioning=0.25, faults={"erase_failure_rate": 0.05}),
    )


def test_a_worn_out_device_raises_with_what_was_measured():
    with pytest.raises(nandlab.DeviceFull) as caught:
        worn_out().run()
    result = caught.value.result
    assert result.partial is True
    assert result.stopped.why == "worn_out"
    assert result.stopped.message == str(caught.value)
    assert str(caught.value).startswith(f"after {result.host.requests} requests: the device is worn out")
    assert 0 < result.host.written_sectors < 8 * 2_000_000
    check_view(result)


def test_a_device_that_cannot_be_opened_has_no_result():
    device = nandlab.Device(capacity="16 MiB", faults={"factory_bad_share": 0.9}, over_provisioning=0.25)
    with pytest.raises(nandlab.DeviceFull, match="cannot be used") as caught:
        as_python(device=device).run()
    assert caught.value.result is None


def test_seeds_have_one_range(tmp_path):
    text = "[workload.uniform]\n[ftl.page]\n"
    largest = 2**64 - 1
    path = write(tmp_path / "seed.toml", f"seed = {largest}\n{text}")
    assert nandlab.Experiment.from_toml(path).resolve()["seed"] == largest
    assert as_python(seed=largest).resolve()["seed"] == largest
    path = write(tmp_path / "seed.toml", f"seed = {largest + 1}\n{text}")
    for resolve in (
        nandlab.Experiment.from_toml(path).resolve,
        lambda: as_python(seed=largest + 1).resolve(),
        lambda: as_python(seed=-1).resolve(),
    ):
        with pytest.raises(
            nandlab.ConfigError, match=r"seed: expected a whole number from .* 18446744073709551615"
        ):
            resolve()


def test_a_trace_that_does_not_fit_names_the_line_of_the_file(tmp_path):
    write(tmp_path / "t.csv", "time_us,op,sector,sectors\n0,W,1000000,8\n")
    text = '[workload.trace]\npath = "t.csv"\n[ftl.page]\n[device]\ncapacity = "64 MiB"\n'
    path = write(tmp_path / "large.toml", text)
    experiment = nandlab.Experiment.from_toml(path)
    for fails in (experiment.inspect, experiment.run):
        with pytest.raises(nandlab.ConfigError) as caught:
            fails()
        error = caught.value
        assert (error.file, error.line, error.column) == (str(path), 2, 8)
        assert error.key == "workload.trace.path"


@pytest.mark.parametrize("kind", ["ftls", "buffers", "workloads"])
def test_every_name_has_a_function(kind):
    module = {"ftls": nandlab.ftl, "buffers": nandlab.buffer, "workloads": nandlab.workload}[kind]
    entries = nandlab.lists()[kind]
    assert entries
    assert dir(module) == sorted(entry["name"] for entry in entries)
    for entry in entries:
        function = getattr(module, entry["name"])
        options = option_table(entry["options"])
        assert list(inspect.signature(function).parameters) == list(options)
        assert function.__doc__.startswith(entry["summary"])
        for name, spec in options.items():
            assert spec["doc"], f"{entry['name']}.{name} has no description"
            assert f"{name}: " in function.__doc__


def test_unknown_options_and_names_have_hints():
    with pytest.raises(TypeError, match="did you mean requests"):
        nandlab.workload.uniform(request=5)
    with pytest.raises(AttributeError, match="page"):
        _ = nandlab.ftl.pages
    with pytest.raises(TypeError, match="needs path"):
        nandlab.workload.trace()


@pytest.mark.parametrize("kind", ["ftls", "buffers", "workloads"])
def test_stubs_are_those_of_the_lists(kind):
    """`make` writes them when it builds the extension; elsewhere: python -m nandlab.stubs."""
    name = kind.removesuffix("s")
    written = Path(stubs.__file__).with_name(f"{name}.pyi").read_text(encoding="utf-8")
    assert written == stubs.stub(nandlab.lists()[kind])
    compile(written, name, "exec")


def test_schemas_become_annotations():
    schema = {"$defs": {"Victim": {"oneOf": [{"const": "greedy"}, {"const": "fifo"}, {"type": "object"}]}}}
    assert python_type({"type": "integer"}, schema) == "int"
    assert python_type({"type": ["number", "null"]}, schema) == "float | None"
    assert python_type({"type": "array", "items": {"type": "string"}}, schema) == "Sequence[str]"
    assert python_type({"$ref": "#/$defs/Victim"}, schema) == "Literal['greedy', 'fifo'] | Mapping[str, Any]"


def test_public_names_are_there():
    for name in nandlab.__all__:
        assert getattr(nandlab, name) is not None
        assert name in dir(nandlab)


def check_view(view):
    """Every key of a record is declared with its type, and nothing else is."""
    assert set(view.to_dict()) == set(_hints(type(view))), type(view).__name__
    for name in view.to_dict():
        value = getattr(view, name)
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, View):
                check_view(inner)


def test_the_record_is_what_its_types_say():
    experiment = as_python(
        buffer=nandlab.buffer.pass_through(), precondition=nandlab.Precondition(fill="sequential")
    )
    check_view(experiment.run())


def test_results_hint_at_the_nearest_name(small_result):
    with pytest.raises(AttributeError, match="did you mean written_sectors"):
        _ = small_result.host.writen_sectors


def test_waf_by_cause_sums_to_waf(small_result):
    assert sum(small_result.waf_by_cause().values()) == pytest.approx(small_result.waf)


def test_operation_logs_are_written_as_parquet(tmp_path, nandlab_command, small):
    polars = pytest.importorskip("polars")
    ended = nandlab_command("run", small, "--op-log", tmp_path / "log.parquet", "--json")
    assert ended.status == 0
    log = polars.read_parquet(tmp_path / "log.parquet")
    assert (log["operation"] == "erase").sum() == ended.document["flash"]["erases"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.parquet", "small.toml"]
