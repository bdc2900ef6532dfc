"""Sweeps: the values of keys, the order and the values of points, and how a sweep ends and goes on."""

import contextlib
import itertools
import json
import math
import random
import threading
from concurrent.futures import BrokenExecutor, Executor, Future

import polars
import pytest

import nandlab
from nandlab.sweeping import axes, goals
from nandlab.sweeping.engines import Engine
from nandlab.sweeping.store import Store

SMALL = nandlab.Experiment(
    workload=nandlab.workload.uniform(requests=4000),
    ftl=nandlab.ftl.bast(log_blocks=4),
    device=nandlab.Device(capacity="8 MiB", over_provisioning=0.5),
)
VARY = {"ftl.bast.log_blocks": "1..4:4", "ftl.bast.victim": "lru,fifo"}


# -- values of a key


def numbers(text):
    return [float(value) for value in axes.axis_of("a.b", text).values]


def test_a_linear_range_is_that_of_numpy_like_libraries():
    """polars spaces values on its own."""
    expected = polars.linear_space(0.07, 0.5, 8, eager=True).to_list()
    assert numbers("0.07..0.5:8") == pytest.approx(expected, rel=1e-15)
    assert numbers("0.07..0.5:8:linear") == numbers("0.07..0.5:8:lin") == numbers("0.07..0.5:8")
    assert (numbers("0.07..0.5:8")[0], numbers("0.07..0.5:8")[-1]) == (0.07, 0.5)


def test_a_logarithmic_range_has_one_ratio():
    found = numbers("0.01..10.0:7:log")
    assert found == pytest.approx([10 ** (-2 + at / 2) for at in range(7)], rel=1e-15)
    ratios = [after / before for before, after in itertools.pairwise(numbers("0.3..7.7:9:log"))]
    assert ratios == pytest.approx([math.exp(math.log(7.7 / 0.3) / 8)] * 8, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1..5", ["1", "2", "3", "4", "5"]),
        ("5..1", ["5", "4", "3", "2", "1"]),
        ("1..10:4", ["1", "4", "7", "10"]),
        ("1..1024:6:log", ["1", "4", "16", "64", "256", "1024"]),
        ("1..100:3:log", ["1", "10", "100"]),
        ("0,0.5..1.5:3", ["0", "0.5", "1.0", "1.5"]),
        ("-1.0..1.0:3", ["-1.0", "0.0", "1.0"]),
        ("4 KiB..64 KiB:3:log", ["4 KiB", "16 KiB", "64 KiB"]),
        ("512 KiB..1 MiB:2", ["512 KiB", "1024 KiB"]),
        ("1_000..3_000:3", ["1000", "2000", "3000"]),
        ("greedy,fifo", ["greedy", "fifo"]),
        ("../a.csv,../b.csv", ["../a.csv", "../b.csv"]),
        ('"1..5",b', ['"1..5"', "b"]),
        ("{page={reserve_blocks=2}},bast", ["{page={reserve_blocks=2}}", "bast"]),
    ],
)
def test_values_are_those_that_were_meant(text, values):
    assert list(axes.axis_of("a.b", text).values) == values


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0.07..0.5", "0.07..0.5: say how many values, as in 0.07..0.5:8; only a range of whole numbers"),
        ("0.07..0.5:", "a whole number from 2 on, given ''"),
        ("0.07..0.5:1", "a whole number from 2 on, given '1'"),
        ("0.07..0.5:x", "a whole number from 2 on, given 'x'"),
        ("0.07..0.5:2.5", "a whole number from 2 on, given '2.5'"),
        ("0.07..0.5:-3", "a whole number from 2 on, given '-3'"),
        ("0.07..0.5:8:lgo", "'lgo' is no way to space values; did you mean log?"),
        ("0.07..0.5:8:zzz", "there are linear and log"),
        ("0.07..:8", "expected a number behind the two points"),
        ("0.07..high:8", "expected a number behind the two points"),
        ("0.5..0.5:8", "both ends are 0.5; a single value stands alone"),
        ("0..1:5", "that gives 2 different whole numbers, not 5; 0.0..1.0:5 are fractions"),
        ("1..8:8:log", "different whole numbers, not 8"),
        ("0..10:3:log", "a logarithmic range needs ends above 0"),
        ("-8..-1:3:log", "a logarithmic range needs ends above 0"),
        ("4 KiB..64:3", "give both ends a unit, or none of them"),
        ("4 KIB..64 KIB:3", "KIB is no unit of bytes; did you mean KiB?"),
        ("4 s..64 s:3", "s is no unit of bytes; there are B, KB, KiB"),
        ("1..100000", "100,000 values; a range has at most 10,000"),
        ("0.0..1.0:100001", "100,001 values; a range has at most 10,000"),
        ("", "expected values, given none"),
        ("a,,b", "'a,,b' has an empty value"),
    ],
)
def test_a_range_that_is_none_is_refused_with_a_sentence(text, says):
    with pytest.raises(nandlab.ConfigError) as refused:
        axes.axis_of("device.over_provisioning", text)
    assert says in str(refused.value)
    assert refused.value.key == "device.over_provisioning"
    assert len(str(refused.value).splitlines()) == 1


def test_too_many_points_are_refused():
    with pytest.raises(nandlab.ConfigError, match="101 x 101 values make 10,201 points; a sweep has at most"):
        axes.axes_of({"seed": "0..100", "host.queue_depth": "1..101"})
    with pytest.raises(nandlab.ConfigError, match="nothing is varied"):
        nandlab.sweep(SMALL, {})


def test_values_of_python_are_those_of_a_file():
    numbers = axes.axis_of("ftl.bast.log_blocks", [4, 8])
    assert (numbers.values, numbers.meant(), numbers.is_numeric()) == (("4", "8"), [4, 8], True)
    assert axes.axis_of("a", ["x", "1", True, 2.5]).values == ("x", '"1"', "true", "2.5")
    assert axes.axis_of("ftl", {"page": {"reserve_blocks": 3}}).values == (
        "{ page = { reserve_blocks = 3 } }",
    )
    assert axes.axis_of("seed", 7).values == ("7",)
    for wrong, says in (([None], "given None"), ([], "given none"), ([float("nan")], "finite")):
        with pytest.raises(nandlab.ConfigError, match=says):
            axes.axis_of("seed", wrong)


# -- points


def test_points_come_in_order_and_are_those_of_single_runs():
    found = nandlab.sweep(SMALL, VARY, goals=["waf", "ram.total_bytes"])
    expected = [(blocks, victim) for blocks in (1, 2, 3, 4) for victim in ("lru", "fifo")]
    assert [tuple(point.values.values()) for point in found.points] == expected
    for point, (blocks, victim) in zip(found.points, expected, strict=True):
        alone = SMALL.override(f"ftl.bast.log_blocks={blocks}", f"ftl.bast.victim={victim}").run()
        assert point.record == alone.without_speed()
    frame = found.frame
    assert frame["ftl.bast.log_blocks"].to_list() == [blocks for blocks, _ in expected]
    assert frame["waf"].to_list() == [point.result.waf for point in found.points]
    assert frame["host.requests"].dtype == polars.Int64
    assert frame["error"].to_list() == [None] * 8
    assert json.loads(frame["record"][0]) == found.points[0].record
    # More log blocks take more memory and merge less; of two victims one is as good or better.
    assert 4 <= len(frame.filter(found.front)) < 8


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_every_executor_gives_the_same_bytes(tmp_path, executor, jobs):
    nandlab.sweep(SMALL, VARY, output=tmp_path / "one.parquet", jobs=1)
    output = tmp_path / "other.parquet"
    nandlab.sweep(SMALL, VARY, output=output, executor=executor, jobs=jobs)
    assert output.read_bytes() == (tmp_path / "one.parquet").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.parquet", "other.parquet"]


class AtOnce(Executor):
    """An executor of somebody else, which does everything at once."""

    def __init__(self):
        self.ran = 0

    def submit(self, work, /, *arguments, **named):
        future = Future()
        self.ran += 1
        future.set_result(work(*arguments, **named))
        return future


def test_an_executor_of_somebody_else_runs_points():
    mine = AtOnce()
    found = nandlab.sweep(SMALL, VARY, executor=mine)
    assert mine.ran == 8
    assert [point.record for point in found.points] == [
        point.record for point in nandlab.sweep(SMALL, VARY).points
    ]


def test_the_same_experiment_runs_once():
    mine = AtOnce()
    found = nandlab.sweep(SMALL, {"ftl.bast.log_blocks": "2,0x2,3"}, executor=mine)
    assert mine.ran == 2
    assert found.points[0].record == found.points[1].record != found.points[2].record


def test_sizes_are_bytes_in_the_frame():
    found = nandlab.sweep(SMALL, {"device.capacity": "4 MiB..8 MiB:2"})
    assert found.frame["device.capacity"].to_list() == [4 << 20, 8 << 20]
    assert found.frame["device.logical_bytes"].to_list() == [4 << 20, 8 << 20]


def test_a_figure_with_the_name_of_a_key_stands_beside_it():
    found = nandlab.sweep(SMALL, {"device.over_provisioning": [0.5, 0.75]})
    assert found.frame["device.over_provisioning"].to_list() == [0.5, 0.75]
    measured = found.frame["result.device.over_provisioning"].to_list()
    assert measured == [point.result.device.over_provisioning for point in found.points]


@pytest.mark.parametrize(
    ("vary", "says"),
    [
        ({"device.overprovisioning": [0.1]}, "did you mean `over_provisioning`"),
        ({"ftl.bast.victm": ["lru"]}, "did you mean `victim`"),
        ({"ftl.bast.victim": ["lru", "fifi"]}, "did you mean `fifo`"),
        ({"ftl.bast.log_blocks": "0.5..2.5:3"}, "log_blocks"),
        ({"device.over_provisioning": "-1.0..1.0:3"}, "a ratio above 0"),
    ],
)
def test_a_wrong_key_or_value_is_refused_before_anything_runs(vary, says):
    mine = AtOnce()
    with pytest.raises(nandlab.ConfigError) as refused:
        nandlab.sweep(SMALL, vary, executor=mine)
    assert says in str(refused.value)
    assert mine.ran == 0


# -- goals


@pytest.mark.parametrize(
    ("goal", "says"),
    [
        ("wfa", "did you mean waf?"),
        ("erases", "did you mean flash.erases?"),
        ("latency_us.write.p95", "did you mean latency_us.write.p9"),
        ("speed.wall_s", "is no figure of the result record"),
        ("waf:small", "'small' is neither min nor max"),
        ("matrix.host.gc", "is no figure of the result record"),
        ("matrix.any.gc.copied", "is no figure of the result record"),
    ],
)
def test_a_goal_that_is_none_is_refused(goal, says):
    with pytest.raises(nandlab.ConfigError, match=goal.split(":")[0]) as refused:
        nandlab.sweep(SMALL, VARY, goals=goal)
    assert says in str(refused.value)


def test_every_figure_of_a_record_is_a_goal(small_result):
    record = small_result.without_speed()
    for name in goals.figures():
        value = goals.goal_of(name).of(record)
        assert value is None or isinstance(value, int | float), name
    assert goals.goal_of("flash.erases").of(record) == small_result.flash.erases
    cells = [cell for cell in small_result.matrix if cell.cause == "gc"]
    assert goals.goal_of("matrix.any.gc.copies").of(record) == sum(cell.copies for cell in cells) > 0
    name = next(iter(small_result.ram.dram or small_result.ram.sram))
    assert goals.goal_of(f"ram.sram.{name}").of(record) or goals.goal_of(f"ram.dram.{name}").of(record)


def test_the_front_is_that_of_its_definition():
    """Against every pair, on points with many ties."""
    generator = random.Random(1)
    for count in (2, 3):
        wanted = [goals.Goal("waf", generator.random() < 0.5) for _ in range(count)]
        signs = [-1 if goal.maximise else 1 for goal in wanted]
        for _ in range(200):
            rows = [tuple(generator.randrange(5) for _ in wanted) for _ in range(generator.randrange(1, 12))]
            costs = [tuple(sign * value for sign, value in zip(signs, row, strict=True)) for row in rows]
            expected = [
                not any(
                    all(a <= b for a, b in zip(other, cost, strict=True)) and other != cost for other in costs
                )
                for cost in costs
            ]
            assert goals.front(rows, wanted) == expected


# -- ends


class Stops(AtOnce):
    """Ctrl-C while the point after so many is run."""

    def __init__(self, after):
        super().__init__()
        self.after = after

    def submit(self, work, /, *arguments, **named):
        if self.ran == self.after:
            raise KeyboardInterrupt
        return super().submit(work, *arguments, **named)


def test_a_sweep_goes_on_where_it_was_stopped(tmp_path):
    whole, output = tmp_path / "whole.parquet", tmp_path / "points.parquet"
    nandlab.sweep(SMALL, VARY, output=whole)
    for after in (3, 2):
        with pytest.raises(KeyboardInterrupt):
            nandlab.sweep(SMALL, VARY, output=output, executor=Stops(after))
        assert not output.exists()
    rest = AtOnce()
    found = nandlab.sweep(SMALL, VARY, output=output, executor=rest)
    assert (rest.ran, found.reused) == (3, 5)
    assert output.read_bytes() == whole.read_bytes()
    again = AtOnce()
    assert nandlab.sweep(SMALL, VARY, output=output, executor=again).reused == 8
    assert again.ran == 0
    assert output.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["points.parquet", "whole.parquet"]


def test_more_values_run_only_what_is_new(tmp_path):
    output = tmp_path / "points.parquet"
    nandlab.sweep(SMALL, VARY, output=output)
    more = AtOnce()
    found = nandlab.sweep(SMALL, VARY | {"ftl.bast.log_blocks": "1..6"}, output=output, executor=more)
    assert (more.ran, found.reused, len(polars.read_parquet(output))) == (4, 8, 12)


def test_points_of_another_sweep_are_not_thrown_away(tmp_path):
    output = tmp_path / "points.parquet"
    nandlab.sweep(SMALL, VARY, output=output)
    before = output.read_bytes()
    for other in (SMALL.replace(seed=2), SMALL):
        with pytest.raises(
            nandlab.ConfigError, match=r"holds \d+ points that are not of this sweep.*--fresh"
        ):
            nandlab.sweep(other, {"ftl.bast.log_blocks": [9]}, output=output)
    assert output.read_bytes() == before
    assert nandlab.sweep(SMALL, {"ftl.bast.log_blocks": [9]}, output=output, fresh=True).reused == 0
    assert len(polars.read_parquet(output)) == 1


def test_a_trace_that_changed_is_another_experiment(tmp_path):
    trace, output = tmp_path / "t.csv", tmp_path / "points.parquet"
    trace.write_text("time_us,op,sector,sectors\n" + "0,W,0,8\n" * 20)
    experiment = SMALL.replace(workload={"trace": {"path": str(trace)}})
    before = experiment.fingerprint()
    nandlab.sweep(experiment, VARY, output=output)
    trace.write_text("time_us,op,sector,sectors\n" + "0,W,8,8\n" * 21)
    assert experiment.fingerprint() != before
    with pytest.raises(nandlab.ConfigError, match="a trace that changed since"):
        nandlab.sweep(experiment, VARY, output=output)


def test_a_line_that_was_cut_off_is_no_point(tmp_path):
    output = tmp_path / "points.parquet"
    with pytest.raises(KeyboardInterrupt):
        nandlab.sweep(SMALL, VARY, output=output, executor=Stops(3))
    journal = tmp_path / "points.parquet.journal"
    whole = journal.read_bytes()
    assert len(whole.splitlines()) == 4
    # Wherever the machine stopped within the last line.
    start = whole.rindex(b"\n", 0, -1) + 1
    for end in range(start, len(whole), 997):
        journal.write_bytes(whole[:end])
        rest = AtOnce()
        with Store(output, [point.key for point in points()], False) as store:
            assert len(store.found) == 2
    found = nandlab.sweep(SMALL, VARY, output=output, executor=rest)
    assert (found.reused, rest.ran) == (2, 6)


def points():
    from nandlab.sweeping import plan

    return plan(SMALL, axes.axes_of(VARY), []).points


@pytest.mark.parametrize("text", ["no journal\n", '{"a": 1}\n{"key": "x"}\n', "[]\n", "1\n"])
def test_what_is_no_journal_is_left_alone(tmp_path, text):
    journal = tmp_path / "points.parquet.journal"
    journal.write_text(text)
    with pytest.raises(nandlab.ConfigError, match="this is no journal of a sweep"):
        nandlab.sweep(SMALL, VARY, output=tmp_path / "points.parquet")
    assert journal.read_text() == text


def test_what_no_sweep_wrote_is_left_alone(tmp_path):
    output = tmp_path / "points.parquet"
    for content in (b"PAR1", polars.DataFrame({"a": [1]}).write_csv().encode()):
        output.write_bytes(content)
        with pytest.raises(nandlab.ConfigError, match="was not written by a sweep"):
            nandlab.sweep(SMALL, VARY, output=output)
        assert output.read_bytes() == content
    polars.DataFrame({"a": [1]}).write_parquet(output)
    with pytest.raises(nandlab.ConfigError, match="was not written by a sweep"):
        nandlab.sweep(SMALL, VARY, output=output)
    assert [path.name for path in tmp_path.iterdir()] == ["points.parquet"]


def test_two_sweeps_do_not_write_one_file(tmp_path):
    output = tmp_path / "points.parquet"
    with Store(output, []), pytest.raises(nandlab.ConfigError, match="another sweep is writing"):
        nandlab.sweep(SMALL, VARY, output=output)
    assert nandlab.sweep(SMALL, VARY, output=output).reused == 0


def test_a_point_that_fails_has_a_row_and_runs_again(tmp_path):
    """The device wears out at one of the points; at another its trace is not there."""
    worn = nandlab.Experiment(
        workload=nandlab.workload.uniform(requests=300_000),
        ftl=nandlab.ftl.page(),
        device=nandlab.Device(capacity="8 MiB", over_provisioning=0.3, faults={"erase_failure_rate": 0.0}),
    )
    vary = {"device.faults.erase_failure_rate": [0.0, 0.2]}
    output = tmp_path / "points.parquet"
    found = nandlab.sweep(worn, vary, output=output)
    assert found.points[0].result.stopped is None
    assert found.points[1].result.stopped.why == "worn_out"
    assert found.frame["partial"].to_list() == [False, True]
    lost = worn.replace(workload={"trace": {"path": "absent.csv"}})
    found = nandlab.sweep(lost, vary, output=tmp_path / "lost.parquet")
    assert [point.kind for point in found.points] == ["input", "input"]
    assert found.frame["record"].to_list() == [None, None]
    assert all("absent.csv" in error for error in found.frame["error"])
    ran = AtOnce()
    assert nandlab.sweep(lost, vary, output=tmp_path / "lost.parquet", executor=ran).reused == 0
    assert ran.ran == 2


class Broken(AtOnce):
    """An executor whose workers end in every way that there is."""

    def submit(self, work, /, *arguments, **named):
        future = Future()
        self.ran += 1
        if self.ran % 4 == 0:
            raise BrokenExecutor("a process ended")
        if self.ran % 4 == 1:
            future.set_exception(RuntimeError("killed"))
        elif self.ran % 4 == 2:
            future.cancel()
            future.set_running_or_notify_cancel()
        else:
            future.set_result(work(*arguments, **named))
        return future


def test_a_worker_that_ends_is_an_error_of_its_point(tmp_path):
    output = tmp_path / "points.parquet"
    found = nandlab.sweep(SMALL, VARY, executor=Broken(), output=output)
    assert [point.kind for point in found.points] == ["run", "run", "", "run"] * 2
    said = [point.error for point in found.points[:4]]
    assert "its worker ended without a result (RuntimeError: killed); is there" in said[0]
    assert "its worker ended without a result (CancelledError); is there" in said[1]
    assert said[2] is None
    assert "(BrokenExecutor: a process ended)" in said[3]
    assert nandlab.sweep(SMALL, VARY, output=output).reused == 2


class Gone(AtOnce):
    """A cluster that goes after two points: what else it was asked for is never answered."""

    def submit(self, work, /, *arguments, **named):
        return super().submit(work, *arguments, **named) if self.ran < 2 else Future()


def test_a_cluster_that_never_answers_again_is_not_waited_for(tmp_path, monkeypatch):
    @contextlib.contextmanager
    def engine(*_):
        yield Engine(Gone(), "token", threading.Event(), is_there=lambda: False)

    output = tmp_path / "points.parquet"
    with monkeypatch.context() as patched:
        patched.setattr("nandlab.sweeping.engine", engine)
        found = nandlab.sweep(SMALL, VARY, output=output)
    assert [point.kind for point in found.points] == ["", ""] + ["run"] * 6
    assert "its worker ended without a result (the connection was lost); is there" in found.points[2].error
    assert nandlab.sweep(SMALL, VARY, output=output).reused == 2


def test_a_file_that_cannot_be_written_leaves_the_points(tmp_path, monkeypatch):
    """The disk fills between the last point and the Parquet file."""

    def full(path, content):
        raise OSError(f"cannot write {path}: no space left on device")

    output = tmp_path / "points.parquet"
    with monkeypatch.context() as patched:
        patched.setattr("nandlab.sweeping.store.write_whole", full)
        with pytest.raises(OSError, match="no space left on device"):
            nandlab.sweep(SMALL, VARY, output=output)
    assert [path.name for path in tmp_path.iterdir()] == ["points.parquet.journal"]
    assert nandlab.sweep(SMALL, VARY, output=output).reused == 8
    assert [path.name for path in tmp_path.iterdir()] == ["points.parquet"]


def test_progress_never_goes_back():
    seen = []
    nandlab.sweep(SMALL, VARY, progress=lambda *state: seen.append(state))
    assert seen[-1] == (8, 8, 1.0)
    assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)


def test_a_sweep_is_shown_in_a_line():
    found = nandlab.sweep(SMALL, VARY)
    assert repr(found) == "<Sweep ftl.bast.log_blocks (4) x ftl.bast.victim (2): 8 points>"
    shown = repr(found.points[0])
    assert shown.startswith("<Point ftl.bast.log_blocks=1, ftl.bast.victim=lru: <Result waf ")
    assert len(repr(found.points)) < 1500
