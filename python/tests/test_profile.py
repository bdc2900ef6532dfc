"""`nandlab profile`: what WAP-LRU learns from a trace, against percentiles that another program computes."""

import csv
import random
import statistics
from itertools import groupby

import pytest
from conftest import call as command

import nandlab
from nandlab.traces import profiling

PAGE = 8


@pytest.fixture
def trace(tmp_path):
    """3,000 requests of unequal lengths, and their operations and pages."""
    draw = random.Random(7)
    rows = [
        (n, draw.choice("RWWW"), draw.randrange(10_000) * PAGE, draw.choice((1, 2, 3, 40)) * PAGE)
        for n in range(3000)
    ]
    path = tmp_path / "requests.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("time_us", "op", "sector", "sectors"), *rows])
    return path, [(op, sectors // PAGE) for _, op, _, sectors in rows]


def quartile(values, at):
    """As the standard library has it, linear between two values."""
    return statistics.quantiles(values, n=4, method="inclusive")[at]


def test_thresholds_are_the_recipe_of_the_paper(trace):
    path, requests = trace
    (one,) = profiling.profile(path, [100])["intervals"]
    intervals = [requests[at : at + 100] for at in range(0, 3000, 100)]
    w_eval = [
        sum(size for op, size in part if op == "W")
        / sum(op == "W" for op, _ in groupby(part, lambda r: r[0]))
        for part in intervals
    ]
    assert one["count"] == 30
    assert one["t_state"] == pytest.approx(quartile(w_eval, 2))
    for key, kind in (("t_read", "R"), ("t_write", "W")):
        longest = [max(size for op, size in part if op == kind) for part in intervals]
        assert one[key] == pytest.approx((quartile(longest, 1) + quartile(longest, 2)) / 2)


def test_runs_and_sizes_are_counted(trace):
    path, requests = trace
    found = profiling.profile(path, [1000])
    runs = [sum(size for _, size in run) for op, run in groupby(requests, lambda r: r[0]) if op == "W"]
    assert (found["runs"]["count"], found["runs"]["max"]) == (len(runs), max(runs))
    assert found["runs"]["mean"] == pytest.approx(statistics.fmean(runs))
    writes = [size for op, size in requests if op == "W"]
    assert found["write_sizes"]["count"] == len(writes)
    assert found["write_sizes"]["mean"] == pytest.approx(statistics.fmean(writes))
    assert sum(count for _, count in found["write_sizes"]["buckets"]) == len(writes)


def test_a_memory_that_the_buffer_has_not_is_noted():
    experiment = nandlab.Experiment(
        workload=nandlab.workload.uniform(requests=10),
        buffer=nandlab.buffer.lru(),
        memory={"nvram": {"static_w_per_gib": 0.5}},
        ftl=nandlab.ftl.page(),
        device=nandlab.Device(capacity="64 MiB"),
    )
    assert "[memory.nvram] has no effect: the buffer has no NVRAM" in experiment.run().notices


def run_with(path, buffer):
    return nandlab.Experiment(
        workload=nandlab.Trace(path),
        buffer={"wap_lru": {"dram": "1 MiB", "nvram": "4 MiB", **buffer}},
        ftl=nandlab.ftl.page(),
        device=nandlab.Device(capacity="64 MiB"),
    ).run()


def test_what_is_told_is_what_the_buffer_does(trace):
    """Thresholds and shares of `auto`, of the snippet, and of the profile are the same."""
    path, _ = trace
    found = profiling.profile(path, [100])
    (one,) = found["intervals"]
    auto = run_with(path, {"thresholds": "auto", "interval": 100})
    pasted = run_with(path, {key: one[key] for key in ("interval", "t_state", "t_read", "t_write")})
    placement = auto.buffer.placement.to_dict()
    assert placement == one["placement"] == pasted.buffer.placement.to_dict()
    assert auto.flash == pasted.flash


def test_the_snippet_can_be_pasted(trace, tmp_path):
    path, _ = trace
    done = command("profile", path, "--interval", "100", "--json")
    document = done.document
    assert document["chosen"] == 100
    file = tmp_path / "e.toml"
    file.write_text(
        f"{document['snippet']}\n[workload.trace]\npath = '{path}'\n[ftl.page]\n", encoding="utf-8"
    )
    options = nandlab.Experiment.from_toml(file).resolve()["buffer"]["wap_lru"]
    assert options["t_state"] == pytest.approx(
        next(one for one in document["intervals"] if one["interval"] == 100)["t_state"], abs=1e-3
    )


def test_the_table_and_the_picture(trace, tmp_path):
    path, _ = trace
    done = command("profile", path, "--plots", tmp_path / "drawn", alone=True)
    assert done.status == 0
    assert "[buffer.wap_lru]" in done.out and "t_state" in done.out
    assert (tmp_path / "drawn" / "profile.svg").read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--intervals", "10,x"], "'10,x' is no list of numbers"),
        (["--intervals", "0"], "an interval has 1 request at least"),
        (["--intervals", "99999999999"], "an interval has 4,294,967,295 requests at most"),
        (["--page-bytes", "1000"], "a page of 1000 bytes is none of a device with a buffer"),
        (["--format", "nothing"], "nothing"),
    ],
)
def test_wrong_input_is_a_sentence(trace, arguments, sentence):
    done = command("profile", trace[0], *arguments)
    assert done.status == 2 and sentence in done.err


def test_a_trace_without_reads_and_writes_is_refused(tmp_path):
    path = tmp_path / "flushes.csv"
    path.write_text("time_us,op,sector,sectors\n0,F,0,0\n", encoding="utf-8")
    done = command("profile", path)
    assert done.status == 2 and "there are no reads and writes to learn from" in done.err


def test_auto_needs_requests_that_are_known_before():
    experiment = nandlab.Experiment(
        workload=nandlab.workload.ycsb(),
        index=nandlab.index.btree(),
        buffer={"wap_lru": {"thresholds": "auto"}},
        ftl=nandlab.ftl.page(),
    )
    with pytest.raises(nandlab.ConfigError, match=r"auto.*takes a look at the requests before"):
        experiment.resolve()


def test_a_state_is_saved_before_a_run_whose_thresholds_follow_from_the_workload(trace, tmp_path):
    path, _ = trace
    file = tmp_path / "e.toml"
    file.write_text(
        f"[workload.trace]\npath = '{path}'\n[ftl.page]\n[device]\ncapacity = '64 MiB'\n"
        "[buffer.wap_lru]\ndram = '1 MiB'\nnvram = '4 MiB'\nthresholds = 'auto'\n"
        "[precondition]\nfill = 'sequential'\n",
        encoding="utf-8",
    )
    saved = command("run", file, "--save-state", tmp_path / "s.state", "--json")
    assert saved.status == 0, saved.err
    begun = command("run", file, "--from-state", tmp_path / "s.state", "--json")
    assert begun.status == 0, begun.err
    assert begun.document["flash"] == saved.document["flash"]
    assert begun.document["buffer"]["placement"] == saved.document["buffer"]["placement"]


def entry(interval, count, share, degenerate, ended=True):
    """Of the intervals of a trace, what the choice looks at."""
    states = {"write_intensive_share": 0.3 if ended else None}
    placement = {"degenerate": degenerate, "nvram_share": share, **states}
    return {"interval": interval, "count": count, "placement": placement}


def test_a_short_trace_gets_thresholds_that_are_not_degenerate():
    healthy, degenerate = entry(30, 12, 0.1, False), entry(10, 36, 0.9, True)
    longer = entry(1000, 1, 0.5, False, ended=False)
    found = {"intervals": [degenerate, healthy, longer]}
    assert profiling.chosen(found) is healthy
    assert profiling.chosen({"intervals": [longer, degenerate]}) is degenerate
    assert profiling.chosen({"intervals": [longer]}) is longer
    enough = entry(20, 40, 0.1, False)
    assert profiling.chosen({"intervals": [enough, healthy]}) is enough


def test_an_interval_longer_than_the_trace_says_so(trace):
    done = command("profile", trace[0], "--intervals", "5000")
    assert done.status == 0
    assert "longer than the trace" in done.out
    assert "note: the trace is shorter than an interval of 5,000 requests" in done.out
    few = command("profile", trace[0], "--interval", "1000")
    assert "note: the trace has 3 intervals" in few.out


def test_sizes_in_sectors_are_told_in_sectors(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("time_us,op,sector,sectors\n0,W,0,2000000\n1,R,0,8\n", encoding="utf-8")
    done = command("profile", path, "--size-unit", "sector", "--json")
    assert done.document["write_sizes"]["max"] == 2_000_000
    shown = command("profile", path, "--size-unit", "sector").out
    assert "written in a row, without a read between (sectors)" in shown
