"""`nandlab trace`: what a trace holds, and other files of it."""

import re
import resource
from pathlib import Path

import pytest

import nandlab
from nandlab.traces import trace_file

SAMPLES = Path(__file__).parents[2] / "crates" / "workload" / "tests" / "samples"

# Two writes of 8 KiB on one page pair, a write that follows, a read of half a page elsewhere.
LINES = [
    "0,0,8192,w,1.0",
    "0,0,8192,w,1.5",
    "0,16,4096,w,2.0",
    "0,1001,2048,r,4.0",
]


@pytest.fixture
def spc(tmp_path):
    path = tmp_path / "a.spc"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


def test_info_counts_what_can_be_counted_by_hand(nandlab_command, spc):
    found = nandlab_command("trace", "info", spc, "--json").document
    assert (found["format"], found["requests"], found["reads"], found["writes"]) == ("spc", 4, 1, 3)
    assert (found["written_sectors"], found["read_sectors"], found["span_s"]) == (40, 4, 3.0)
    assert found["footprint"] == {
        "one_in": 1,
        "touched_bytes": 4 * 4096,
        "read_bytes": 4096,
        "written_bytes": 3 * 4096,
    }
    assert found["overwrites"] == {"page_writes": 5, "mean": pytest.approx(5 / 3), "most": 2}
    assert found["sequential"] == {"reads": 0.0, "writes": pytest.approx(1 / 3), "all": 0.25}
    assert found["alignment"] == {"start": 0.75, "size": 0.75, "both": 0.75}
    # Of three written pages two are written twice.
    assert dict(found["skew"])[0.5] == pytest.approx(4 / 5)
    assert found["size_bytes"]["write"]["max"] == 8192
    gaps = found["inter_arrival_us"]
    assert (gaps["count"], gaps["mean"]) == (3, pytest.approx(1e6, rel=1e-3))


def test_info_is_a_table_and_draws(nandlab_command, spc, tmp_path):
    folder = tmp_path / "plots"
    done = nandlab_command("trace", "info", spc, "--plots", folder, alone=True)
    assert done.status == 0, done.err
    assert "sequential" in done.out and "told from its contents" in done.out
    names = {path.name for path in folder.iterdir()}
    expected = {"addresses-reads", "addresses-writes", "gaps", "heat", "sizes", "skew"}
    assert names == {f"{name}.svg" for name in expected}
    for path in folder.iterdir():
        assert path.read_text(encoding="utf-8").startswith("<svg")


def test_conversions_there_and_back_are_equal(nandlab_command, tmp_path):
    original = SAMPLES / "csv"
    native, back = tmp_path / "a.nltr", tmp_path / "b.csv.gz"
    assert nandlab_command("trace", "convert", original, native, "--json").document["dropped"] == []
    nandlab_command("trace", "convert", native, back)
    wanted = trace_file.head(original)["requests"]
    assert trace_file.head(native)["requests"] == wanted == trace_file.head(back)["requests"]
    log = nandlab_command("trace", "convert", native, tmp_path / "c.iolog", "--json").document
    assert any("origin" in sentence for sentence in log["dropped"])
    assert any("microseconds, as fio writes and replays" in sentence for sentence in log["notices"])


def test_placements_are_told_and_kept(nandlab_command, tmp_path):
    path, native, back = tmp_path / "a.csv", tmp_path / "a.nltr", tmp_path / "b.csv"
    lines = "time_us,op,sector,sectors,origin,placement\n0,W,0,8,host,1:5\n1,R,0,8,host,\n2,W,8,16,host,7\n"
    path.write_text(lines, encoding="utf-8")
    nandlab_command("trace", "convert", path, native)
    nandlab_command("trace", "convert", native, back)
    assert back.read_text(encoding="utf-8") == lines
    found = nandlab_command("trace", "info", native, "--json").document
    assert found["placements"] == [
        {"placement": "7", "writes": 1, "written_sectors": 16},
        {"placement": "1:5", "writes": 1, "written_sectors": 8},
    ]
    assert "2 of writes: 7 (8 KiB), 1:5 (4 KiB)" in nandlab_command("trace", "info", native).out
    assert [row.get("placement") for row in trace_file.head(native)["requests"]] == ["1:5", None, "7"]
    assert "placement" in nandlab_command("trace", "head", native).out
    assert "placement" not in nandlab_command("trace", "head", SAMPLES / "csv").out
    log = nandlab_command("trace", "convert", native, tmp_path / "c.iolog", "--json").document
    assert any("2 requests have a placement" in sentence for sentence in log["dropped"])


def test_a_conversion_goes_to_stdout_where_that_is_asked_for(nandlab_command, spc, tmp_path):
    done = nandlab_command("trace", "convert", spc, "-", "--to", "csv")
    assert done.status == 0 and "stdout: 4 requests, from spc to csv" in done.err
    path = tmp_path / "a.csv"
    path.write_text(done.out, encoding="utf-8")
    assert trace_file.head(path)["requests"] == trace_file.head(spc)["requests"]
    for arguments, said in (
        (("convert", spc, "-"), "whose format no name tells"),
        (("convert", spc, "-", "--to", "csv", "--json"), "name a file"),
    ):
        refused = nandlab_command("trace", *arguments)
        assert (refused.status, refused.out) == (2, "") and said in refused.err, refused


def test_a_disk_without_room_is_named_with_the_file(nandlab_command, tmp_path):
    lines = "".join(f"0,{8 * n},4096,w,{n}.0\n" for n in range(20_000))
    (tmp_path / "a.spc").write_text(lines, encoding="utf-8")
    out = tmp_path / "a.csv"
    # No file may have more bytes: as on a full disk, a write fails in the middle.
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))  # noqa: E731 - called after a fork
    done = nandlab_command("trace", "convert", tmp_path / "a.spc", out, first=limit)
    assert done.status == 1 and f"error: cannot write {out}: " in done.err, done
    assert [path.name for path in tmp_path.iterdir()] == ["a.spc"]


def test_axes_of_a_small_trace_begin_at_0_and_have_its_unit(nandlab_command, spc, tmp_path):
    nandlab_command("trace", "info", spc, "--plots", tmp_path)
    for name in ("heat", "addresses-writes", "addresses-reads"):
        drawn = (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
        assert "(KiB)" in drawn and "GiB" not in drawn
        assert "\N{MINUS SIGN}" not in drawn


def test_a_span_is_in_a_unit_for_people(nandlab_command, tmp_path):
    path = tmp_path / "a.spc"
    # Every 80 days: a gap of more than 100 days counts as a jump of the clock.
    lines = [f"0,0,4096,w,{80 * 86_400 * number}.0\n" for number in range(201)]
    path.write_text("".join(lines), encoding="utf-8")
    assert re.search(r"span +43\.8 years", nandlab_command("trace", "info", path).out)


def test_a_header_over_a_trace_is_told(nandlab_command, tmp_path):
    path = tmp_path / "a.csv"
    names = "device_id,opcode,offset,length,timestamp"
    path.write_text(f"{names}\n419,W,8192,16384,1577808000000626\n", encoding="utf-8")
    for options in ((), ("--on-error", "skip")):
        found = nandlab_command("trace", "info", path, *options, "--json").document
        assert (found["requests"], found["tally"]["skipped"]) == (1, 0)
        assert f"the first line has names and was passed over: `{names}`" in found["notices"]


def test_slices_by_count_and_by_time(nandlab_command, spc, tmp_path):
    by_count, by_time = tmp_path / "a.csv", tmp_path / "b.csv"
    nandlab_command("trace", "slice", spc, by_count, "--skip", "1", "--count", "2")
    nandlab_command("trace", "slice", spc, by_time, "--from", "0.5", "--until", "3")
    assert by_count.read_bytes() == by_time.read_bytes()
    assert [row["sector"] for row in trace_file.head(by_count)["requests"]] == [0, 16]


def test_what_is_wrong_is_a_sentence_with_its_place(nandlab_command, spc, tmp_path):
    spc.write_text("\n".join([*LINES, "0,8,0,w,5.0"]) + "\n", encoding="utf-8")
    done = nandlab_command("trace", "info", spc)
    assert done.status == 2
    assert "line 5, column 5: expected a size of at least 1, found 0" in done.err
    found = nandlab_command("trace", "info", spc, "--on-error", "skip", "--json").document
    assert (found["requests"], found["tally"]["skipped"]) == (4, 1)
    out = tmp_path / "a.csv"
    assert nandlab_command("trace", "convert", spc, out).status == 2
    assert not out.exists() and list(tmp_path.iterdir()) == [spc]
    for arguments, said in (
        (("head", spc, "--format", "spcc"), "spc"),
        (("convert", spc, spc, "--to", "csv"), "would overwrite"),
        (("convert", spc, tmp_path / "a.txt"), "tells the format"),
        (("info", spc, "--page-bytes", "1000"), "sectors of 512 bytes"),
    ):
        done = nandlab_command("trace", *arguments)
        assert done.status == 2 and said in done.err, done


def test_a_run_shows_the_format_and_refuses_mixed_devices(nandlab_command, tmp_path):
    experiment = tmp_path / "a.toml"
    text = '[workload.trace]\npath = "{}"\naddresses = "compact"\n[ftl.page]\n[device]\ncapacity = "64 MiB"\n'
    experiment.write_text(text.format(SAMPLES / "spc"), encoding="utf-8")
    refused = nandlab_command("run", experiment).err
    assert "the trace has 2 devices" in refused and "side_by_side" in refused
    for setting, requests in (("side_by_side=true", 4), ('device="1"', 2)):
        record = nandlab_command("run", experiment, "--set", f"workload.trace.{setting}", "--json").document
        assert record["host"]["requests"] == requests
        assert any('read as "spc"' in notice for notice in record["notices"])


def test_a_trace_without_a_request_is_an_error_that_says_what_to_do(nandlab_command, tmp_path):
    blkparse = SAMPLES / "blkparse"
    empty = tmp_path / "empty.csv"
    empty.write_text("time_us,op,sector,sectors\n", encoding="utf-8")
    experiment = tmp_path / "a.toml"
    experiment.write_text(
        f'[workload.trace]\npath = "{blkparse}"\naction = "G"\n[ftl.page]\n', encoding="utf-8"
    )
    for arguments, said in (
        (("trace", "info", blkparse, "--action", "G"), 'workload.trace.action = "I"'),
        (("trace", "head", blkparse, "--action", "G"), "no record of the action G, but of I (1)"),
        (("trace", "convert", blkparse, tmp_path / "b.csv", "--action", "G"), "--action I"),
        (("run", experiment), 'workload.trace.action = "I"'),
        (("trace", "info", empty), 'as "csv" it has not a single record'),
    ):
        ended = nandlab_command(*arguments)
        assert (ended.status, ended.out) == (2, ""), ended
        assert "there is no request in it" in ended.err and said in ended.err


def test_an_empty_part_leaves_the_file_as_it_was(nandlab_command, spc, tmp_path):
    out = tmp_path / "a.csv"
    out.write_text("kept", encoding="utf-8")
    for part in (("--skip", "9"), ("--from", "99")):
        ended = nandlab_command("trace", "slice", spc, out, *part)
        assert (ended.status, ended.out) == (2, "")
        assert "no request is in this part" in ended.err and "4 requests in 3 s" in ended.err
    assert out.read_text(encoding="utf-8") == "kept"


def test_a_missing_file_is_named_with_its_argument(nandlab_command, tmp_path):
    ended = nandlab_command("trace", "info", tmp_path / "absent")
    assert ended.status == 2 and ended.err.startswith("error: FILE: File '")


def test_a_device_may_be_called_like_a_number(nandlab_command, tmp_path):
    experiment = tmp_path / "a.toml"
    text = f'[workload.trace]\npath = "{SAMPLES / "spc"}"\naddresses = "compact"\n[ftl.page]\n'
    experiment.write_text(text, encoding="utf-8")
    for value in ("1", '"1"'):
        chosen = ("--set", f"workload.trace.device={value}", "--json")
        assert nandlab_command("run", experiment, *chosen).document["host"]["requests"] == 2
    ended = nandlab_command("run", experiment, "--set", "workload.trace.device=true")
    assert ended.status == 2 and "a name in quotes, or a whole number" in ended.err


def test_files_of_overrides_are_named_as_they_were_typed(nandlab_command, tmp_path, monkeypatch):
    (tmp_path / "deep").mkdir()
    (tmp_path / "traces").mkdir()
    bad = tmp_path / "traces" / "bad.csv"
    bad.write_text("time_us,op,sector,sectors\n0,W,x,8\n", encoding="utf-8")
    (tmp_path / "deep" / "a.toml").write_text(
        '[workload.trace]\npath = "a.csv"\n[ftl.page]\n', encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    for typed, said in (
        ("traces/bad.csv", "traces/bad.csv, line 2, column 5: "),
        ("./traces/../traces/bad.csv", "./traces/../traces/bad.csv, line 2, column 5: "),
        (str(bad), f"{bad}, line 2, column 5: "),
        ("traces/none.csv", "traces/none.csv: there is no such file"),
    ):
        for command in ("run", "check"):
            ended = nandlab_command(command, "deep/a.toml", "--set", f"workload.trace.path={typed}")
            assert ended.status == 2 and ended.err.startswith(f"error: {said}"), ended.err
        # Several runs, each in a process of its own.
        for command in ("compare", "sweep"):
            ended = nandlab_command(command, "deep/a.toml", "--vary", f"workload.trace.path={typed},{typed}x")
            assert f": {said}" in ended.err and "deep/.." not in ended.err, ended.err


def test_a_file_beside_the_experiment_is_named_as_the_experiment_does(nandlab_command, tmp_path, monkeypatch):
    (tmp_path / "a.toml").write_text('[workload.trace]\npath = "a.csv"\n[ftl.page]\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    ended = nandlab_command("run", "a.toml")
    assert ended.status == 2 and ended.err.startswith("error: a.csv: there is no such file"), ended.err
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    assert nandlab_command("run", "../a.toml").err.startswith("error: ../a.csv: there is no such file")


def test_recorded_latencies_are_told_and_stand_beside_the_predicted(nandlab_command, tmp_path):
    """Times of the lines of the sample, subtracted here."""
    lines = [line.split() for line in (SAMPLES / "biotracer").read_text(encoding="utf-8").splitlines()]
    took: dict[str, list[float]] = {"write": [], "read": []}
    alone: dict[str, list[float]] = {"write": [], "read": []}
    for _, _, _, flags, created, _, issued, completed in lines:
        kind = "write" if int(flags) & 1 else "read"
        took[kind].append((float(completed) - float(created)) * 1e6)
        alone[kind].append((float(completed) - float(issued)) * 1e6)
    info = nandlab_command("trace", "info", SAMPLES / "biotracer", "--json").document
    path = tmp_path / "a.toml"
    path.write_text(
        f'[workload.trace]\npath = "{SAMPLES / "biotracer"}"\naddresses = "compact"\n[ftl.page]\n'
        '[device]\nmodel = "timed"\n[host]\narrival = "recorded"\n',
        encoding="utf-8",
    )
    record = nandlab_command("run", path, "--json").document
    for found in (info, record):
        for key, times in (("recorded_latency_us", took), ("recorded_service_us", alone)):
            for kind, each in times.items():
                one = found[key][kind]
                assert one["count"] == len(each)
                # The difference of two such floats is exact to a microsecond.
                assert one["max"] == pytest.approx(max(each), abs=1)
                assert one["mean"] == pytest.approx(sum(each) / len(each), abs=1)
                assert one["p50"] == pytest.approx(sorted(each)[(len(each) - 1) // 2], rel=2e-3)
    shown = nandlab_command("run", path).out
    assert "write, recorded" in shown and "read, recorded, device alone" in shown
    drawn = nandlab.Experiment.from_toml(path).run().pictures()["latency-tail"].themed().to_json()
    assert '"write, recorded"' in drawn and '"write"' in drawn
    assert "recorded latency of a" in nandlab_command("trace", "info", SAMPLES / "biotracer").out
    closed = nandlab_command("run", path, "--set", "host.arrival=closed", "--json").document
    assert closed["recorded_latency_us"] is None, "another load"


def test_a_clock_that_is_set_back_is_told_and_mended(nandlab_command, tmp_path):
    path = tmp_path / "a.spc"
    times = (100, 101, 103, 5, 6, 8)
    text = "".join(f"0,{8 * at},4096,w,{time}.0\n" for at, time in enumerate(times))
    path.write_text(text, encoding="utf-8")
    mended = nandlab_command("trace", "info", path, "--json").document
    # For the jump a gap of 2 s is taken, of those of 1 s and 2 s; 1 s and 2 s follow.
    assert mended["span_s"] == 8.0 and mended["tally"]["clock_jumps"] == 1
    said = "jumps 1 time, first at line 4 by -98 s, for which 2000000 us were taken"
    assert any(said in notice for notice in mended["notices"]), mended["notices"]
    kept = nandlab_command("trace", "info", path, "--set", "clock_jumps=keep", "--json").document
    assert kept["span_s"] == 3.0 and kept["tally"]["raised"] == 3
