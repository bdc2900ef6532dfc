"""The Python API: the same experiment as TOML and as Python gives the same result."""

import copy
import inspect
import json
import pickle
import signal
import subprocess
import sys
import threading
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import polars
import pytest
from conftest import SMALL, write

import nandlab
from nandlab import stubs
from nandlab.listing import option_table, python_type
from nandlab.record.view import View, hints


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
    """The typed tables have every key that the resolved experiment has, and no other."""
    experiment = as_python(
        host=nandlab.Host(queue_depth=4),
        precondition=nandlab.Precondition(fill="sequential"),
        buffer=nandlab.buffer.lru(size="1 MiB"),
        memory=nandlab.Memory(dram={"read_ns": 20}),
    )
    resolved = experiment.resolve()
    for name, kind in (
        ("device", nandlab.Device),
        ("host", nandlab.Host),
        ("memory", nandlab.Memory),
        ("precondition", nandlab.Precondition),
    ):
        assert set(resolved[name]) <= set(inspect.signature(kind).parameters)
    assert resolved["host"]["queue_depth"] == 4
    assert resolved["precondition"]["fill"] == "sequential"
    assert resolved["memory"]["dram"]["profile"] == "wap-dram" and resolved["memory"]["dram"]["read_ns"] == 20


@pytest.mark.parametrize("field", ["profile", "shape", "rules", "timing", "energy", "controller", "faults"])
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
            nandlab.ConfigError, match=r"seed: expected a whole number from 0 to 18446744073709551615"
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


def test_unknown_options_and_names_havehints():
    with pytest.raises(TypeError, match="did you mean requests"):
        nandlab.workload.uniform(request=5)
    with pytest.raises(AttributeError, match="page"):
        _ = nandlab.ftl.pages
    with pytest.raises(TypeError, match="needs path"):
        nandlab.workload.keys()


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("ftls", "ftl"),
        ("buffers", "buffer"),
        ("file_systems", "fs"),
        ("indexes", "index"),
        ("workloads", "workload"),
    ],
)
def test_stubs_are_those_of_the_lists(kind, name):
    """`make` writes them when it builds the extension; elsewhere: python -m nandlab.stubs."""
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
    assert set(view.to_dict()) == set(hints(type(view))), type(view).__name__
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
    with pytest.raises(AttributeError, match="did you mean `written_sectors`"):
        _ = small_result.host.writen_sectors


def test_waf_by_cause_sums_to_waf(small_result):
    assert sum(small_result.waf_by_cause().values()) == pytest.approx(small_result.waf)


def test_operation_logs_are_written_as_parquet(tmp_path, nandlab_command, small):
    ended = nandlab_command("run", small, "--op-log", tmp_path / "log.parquet", "--json")
    assert ended.status == 0
    log = polars.read_parquet(tmp_path / "log.parquet")
    assert (log["operation"] == "erase").sum() == ended.document["flash"]["erases"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.parquet", "small.toml"]


def test_what_a_result_hands_out_is_a_copy(small_result):
    before = small_result.waf, small_result.seed, list(small_result.series[0].to_dict())
    for handed_out in (small_result.to_dict(), small_result.without_speed()):
        handed_out["waf"] = 17
        handed_out["host"]["requests"] = 17
    small_result.experiment["seed"] = 17
    small_result.ram.sram.clear()
    small_result.wear.histogram.clear()
    small_result.notices.append("17")
    small_result.series[0].to_dict().clear()
    assert (small_result.waf, small_result.seed, list(small_result.series[0].to_dict())) == before
    assert small_result.host.requests == 20000
    assert small_result.experiment["seed"] == 3
    assert small_result.ram.sram
    assert small_result.wear.histogram
    assert "17" not in small_result.notices


def test_a_result_cannot_be_changed(small_result):
    for change in (
        lambda: setattr(small_result, "waf", 17),
        lambda: setattr(small_result.host, "requests", 17),
        lambda: delattr(small_result, "_data"),
    ):
        with pytest.raises(AttributeError, match=r"a result cannot be changed; to_dict\(\) gives a copy"):
            change()
    assert small_result.host.requests == 20000


def test_results_are_equal_whatever_the_machine_took(small_result):
    record = small_result.to_dict()
    record["speed"]["wall_s"] += 1
    assert nandlab.Result(record) == small_result
    record["seed"] += 1
    assert nandlab.Result(record) != small_result
    for copied in (copy.deepcopy(small_result), pickle.loads(pickle.dumps(small_result))):
        assert copied == small_result
        assert copied.speed == small_result.speed


def test_an_experiment_cannot_be_changed_and_says_how_to_get_another(small):
    for experiment in (as_python(), nandlab.Experiment.from_toml(small)):
        for name in ("seed", "device", "_text"):
            with pytest.raises(AttributeError, match=rf"replace\({name}=\.\.\.\) makes another one"):
                setattr(experiment, name, 7)
        other = experiment.replace(
            seed=7, device={"capacity": "12 MiB", "over_provisioning": Decimal("0.25")}
        )
        assert experiment.resolve()["seed"] == 3
        assert other.run().seed == 7
        assert other.resolve()["device"]["capacity"] == "12 MiB"
        assert other.resolve()["workload"] == experiment.resolve()["workload"]
        assert other != experiment
        assert (
            other.replace(seed=3, device=nandlab.Device(capacity="16 MiB", over_provisioning=0.25))
            == experiment
        )
        with pytest.raises(nandlab.ConfigError, match="seed: expected what is to take its place"):
            experiment.replace(seed=None)
        with pytest.raises(nandlab.ConfigError, match="ftl: expected a table such as"):
            experiment.replace(ftl=3)


def test_experiments_are_equal_that_resolve_to_the_same(small, tmp_path):
    experiment = as_python()
    assert experiment == as_python() == nandlab.Experiment.from_toml(small)
    assert experiment != as_python(seed=4)
    assert experiment != 3
    assert len({experiment, as_python(), nandlab.Experiment.from_toml(small), as_python(seed=4)}) == 2
    for copied in (copy.deepcopy(experiment), copy.copy(experiment), pickle.loads(pickle.dumps(experiment))):
        assert copied == experiment
        assert copied.run() == experiment.run()
    # The same words, and other files.
    here, there = (
        nandlab.Experiment(workload={"trace": {"path": "a.csv"}}, ftl={"page": {}}, base=base)
        for base in (tmp_path, tmp_path / "inner")
    )
    assert here != there
    wrong = as_python(seed=-1)
    assert wrong == as_python(seed=-1) != as_python(seed=-2)


def test_an_experiment_tells_what_it_is(small, tmp_path):
    assert repr(as_python()) == "<Experiment of Python: uniform, page, generic 16 MiB, seed 3>"
    assert repr(nandlab.Experiment.from_toml(small, ["seed=9"])).endswith(
        "uniform, page, generic 16 MiB, seed 9>"
    )
    assert "that cannot run: seed: expected" in repr(as_python(seed=-1))
    path = write(tmp_path / "again.toml", as_python().to_toml())
    assert nandlab.Experiment.from_toml(path) == as_python()


@pytest.mark.parametrize("name", ["workload", "ftl", "device", "host", "precondition", "buffer"])
def test_what_is_no_table_is_refused_at_once(name):
    with pytest.raises(
        nandlab.ConfigError, match=rf"^{name}: expected a table such as nandlab\..*, given 3$"
    ):
        as_python(**{name: 3})


def test_every_kind_of_number_is_taken():
    for number in (Decimal("0.25"), Fraction(1, 4)):
        device = nandlab.Device(capacity="16 MiB", over_provisioning=number)
        assert as_python(device=device).resolve()["device"]["over_provisioning"] == 0.25
    for number, given in (
        (Decimal("sNaN"), "sNaN"),
        (Decimal("Infinity"), "Infinity"),
        (Fraction(10**400), "Frac"),
    ):
        with pytest.raises(nandlab.ConfigError, match=f"seed: expected a finite number, given .*{given}"):
            as_python(seed=number)


@pytest.mark.parametrize("kind", ["ftls", "buffers", "workloads"])
def test_signatures_and_docstrings_do_not_contradict_themselves(kind):
    module = {"ftls": nandlab.ftl, "buffers": nandlab.buffer, "workloads": nandlab.workload}[kind]
    for name in dir(module):
        function = getattr(module, name)
        for parameter in inspect.signature(function).parameters.values():
            optional = parameter.default is None
            assert optional == (parameter.annotation == "Any" or parameter.annotation.endswith("None"))
        arguments = function.__doc__.partition("Args:")[2]
        for argument in arguments.split("\n    ")[1:]:
            if not argument.startswith("    "):
                told = argument
                continue
            told += " " + argument.strip()
            assert told.count("Default ") <= 1, told


def test_a_report_without_the_package_that_draws_names_it(small_result, tmp_path):
    code = (
        "import sys, json\nsys.modules['vl_convert'] = None\nimport nandlab\n"
        "result = nandlab.Result(json.load(sys.stdin))\n"
        "try:\n    result.report('report.html')\nexcept nandlab.NandlabError as error:\n    print(error)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(small_result.to_dict()),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert "a report needs vl-convert: pip install vl-convert-python" in ended.stdout, ended.stderr
    assert list(tmp_path.iterdir()) == []
