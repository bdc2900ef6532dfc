"""Workloads in a real directory: what is reported, that nothing stays behind, and what is refused."""

import json
import re
import signal
import subprocess
import sys
import time

import pytest
from conftest import without_privilege

import nandlab
from nandlab.record.made import SpeedPhases

TOML = """
[workload.postmark]
number = 40
transactions = 200
bias_create = 6

[fs.posix]
directory = "in"
"""


@pytest.fixture
def postmark(tmp_path):
    (tmp_path / "in").mkdir()
    path = tmp_path / "postmark.toml"
    path.write_text(TOML)
    return path


def names(postmark):
    return [path.name for path in (postmark.parent / "in").iterdir()]


def is_empty(postmark):
    return not names(postmark)


def test_a_run_in_a_directory_gives_the_same_result_twice_and_leaves_nothing(postmark):
    experiment = nandlab.Experiment.from_toml(postmark)
    result = experiment.run()
    assert is_empty(postmark)
    assert result == experiment.run()
    assert (result.device.name, result.device.blocks, result.time_us) == ("none", 0, None)
    assert isinstance(result.speed.phases, SpeedPhases)
    assert set(result.speed.phases.to_dict()) == set(SpeedPhases.__annotations__)
    assert result.speed.phases.transactions_s > 0
    assert "device" not in result.experiment
    assert repr(experiment).endswith(": postmark, posix in in, seed 1>")
    assert experiment == nandlab.Experiment(
        workload=nandlab.workload.postmark(number=40, transactions=200, bias_create=6),
        fs=nandlab.fs.posix(directory="in"),
        base=postmark.parent,
    )


def test_tables_and_reports_have_what_there_is(nandlab_command, postmark, tmp_path):
    ended = nandlab_command("run", postmark, "--report", tmp_path / "report.html")
    assert ended.out.startswith("postmark: posix, in the directory in, seed 1\n")
    assert re.search(r"^transactions +200", ended.out, re.MULTILINE)
    assert re.search(
        r"^time of transactions +.* by the clock on the wall: not the same twice", ended.out, re.MULTILINE
    )
    assert not re.search("erases|amplification|P/E", ended.out)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "time of transactions" in page
    assert "Wear" not in page
    sets = ("--set", "fs=yaffs", "--set", 'device.capacity="8 MiB"')
    assert nandlab_command("run", postmark, *sets).status == 0
    both = nandlab_command("compare", postmark, "--vary", "fs={posix={directory='in'}},yaffs,minv")
    assert both.status == 0
    assert re.search(r"^\{posix=.* –  .* [\d.]+ [µm]?s +–$", both.out, re.MULTILINE)
    assert nandlab_command("check", postmark).out.endswith("# no device: the directory is there, and empty\n")
    assert is_empty(postmark)


def press_ctrl_c(postmark, times, *sets):
    """Starts an endless run, and presses Ctrl-C once it is under way."""
    process = subprocess.Popen(
        [sys.executable, "-m", "nandlab", "run", postmark, "--json"]
        + ["--set", "workload.postmark.transactions=2000000000", *sets],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 30
    while len(names(postmark)) < 40:
        assert time.monotonic() < end
        time.sleep(0.05)
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(0.02)
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    # A second one may come while the record is printed.
    assert out or times > 1, f"status {process.returncode}: {err}"
    return process.returncode, out


def test_ctrl_c_removes_what_was_made(postmark):
    status, out = press_ctrl_c(postmark, 1)
    record = json.loads(out)
    assert (status, record["stopped"]["why"]) == (1, "cancelled")
    assert is_empty(postmark)


def test_a_second_ctrl_c_waits_for_that_too(postmark):
    (status, _) = press_ctrl_c(postmark, 2, "--set", "workload.postmark.number=20000")
    assert status == 1
    assert is_empty(postmark)


def test_who_interrupts_python_leaves_nothing(postmark):
    experiment = nandlab.Experiment.from_toml(postmark, ["workload.postmark.transactions=2000000000"])

    def stop(phase, done, _total):
        if phase == "workload" and done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        experiment.run(progress=stop)
    assert is_empty(postmark)


def test_a_directory_takes_the_place_of_the_tables_of_a_device(nandlab_command, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "experiments").mkdir()
    path = tmp_path / "experiments" / "fat.toml"
    path.write_text(
        '[workload.phone]\ntransactions = 3\n[fs.fat]\n[ftl.page]\n[device]\ncapacity = "64 MiB"\n'
    )
    sets = ["--set", "fs={posix={directory='../in'}}"]
    ended = nandlab_command("run", path, *sets)
    assert ended.status == 2
    assert "leave [device] out (--set device=none)" in ended.err
    sets += ["--set", "device=none", "--set", "ftl=none"]
    assert nandlab_command("run", path, *sets).status == 0
    # On the command line a path starts where one is.
    sets += ["--set", "fs.posix.directory=in"]
    assert nandlab_command("run", path, *sets, cwd=tmp_path).status == 0
    runs = nandlab_command("compare", path, "--vary", "buffer=none,lru", "--json").document["runs"]
    assert [run["result"]["buffer"] is None for run in runs] == [True, False]


def test_a_directory_that_is_not_there_or_not_empty_is_refused(nandlab_command, postmark):
    ended = nandlab_command("run", postmark, "--set", "fs.posix.directory=out")
    assert ended.status == 2
    assert "there is no directory" in ended.err
    (postmark.parent / "in" / "letter").write_text("x")
    for command in ("run", "check"):
        ended = nandlab_command(command, postmark)
        assert ended.status == 2
        assert "line 8" in ended.err
        assert "holds `letter`" in ended.err
    assert names(postmark) == ["letter"]


def test_runs_in_one_directory_come_one_after_the_other(nandlab_command, postmark, tmp_path):
    vary = ("--vary", "workload.postmark.transactions=200,210,220,230", "--jobs", 4)
    ended = nandlab_command("compare", postmark, *vary, "--json")
    assert ended.status == 0, ended.err
    done = [run["result"]["fs"]["transactions"] for run in ended.document["runs"]]
    assert done == [200, 210, 220, 230]
    assert nandlab_command("compare", postmark, "--seeds", 4, "--jobs", 4).status == 0
    # Beside runs in another directory, and in a sweep.
    (tmp_path / "other").mkdir()
    directories = ("--vary", f"fs.posix.directory={tmp_path}/in,{tmp_path}/other")
    for executor in ("threads", "processes"):
        ended = nandlab_command("sweep", postmark, *vary, *directories, "--executor", executor, "--json")
        assert ended.status == 0, ended.err
        assert all(point["error"] is None for point in ended.document["points"])
        assert len(ended.document["points"]) == 8
    assert is_empty(postmark)
    assert not list((tmp_path / "other").iterdir())


def test_tables_say_what_a_directory_has_no_figures_for(nandlab_command, postmark, tmp_path):
    swept = nandlab_command("sweep", postmark, "--vary", "seed=1,2", "--report", tmp_path / "sweep.html")
    assert swept.status == 0
    assert "Times are simulated" not in swept.out
    compared = nandlab_command("compare", postmark, "--vary", "seed=1,2", "--report", tmp_path / "both.html")
    assert "By the clock: transactions in a real directory" in compared.out
    page = (tmp_path / "both.html").read_text(encoding="utf-8")
    for text in (compared.out, page):
        assert "Times are simulated" not in text
        assert "WAF:" not in text
    plots = tmp_path / "plots"
    drawn = nandlab_command("run", postmark, "--plots", plots)
    assert drawn.status == 0
    assert f"pictures: none in {plots}: a real directory has no flash" in drawn.err
    assert not plots.exists()
    record = tmp_path / "record.json"
    record.write_text(nandlab_command("run", postmark, "--json").out)
    explained = nandlab_command("explain", record)
    assert explained.status == 2
    assert "record.json is of a run in a real directory: there was no flash" in explained.err


def test_paths_of_directories_are_shown_as_the_run_takes_them(nandlab_command, tmp_path):
    (tmp_path / "experiments").mkdir()
    (tmp_path / "in").mkdir()
    path = tmp_path / "experiments" / "postmark.toml"
    path.write_text(TOML)
    ended = nandlab_command("run", path, "--set", "fs.posix.directory=in", cwd=tmp_path)
    assert f"posix, in the directory {tmp_path}/in, seed 1" in ended.out
    ended = nandlab_command("run", path, "--set", "fs.posix.directory=", cwd=tmp_path)
    assert ended.status == 2
    assert 'fs.posix.directory = "" cannot work: it is the path of an empty directory' in ended.err


def test_a_directory_that_may_not_be_written_is_refused(nandlab_command, postmark):
    (postmark.parent / "in").chmod(0o500)
    ended = nandlab_command("run", postmark, first=without_privilege)
    assert ended.status == 2
    assert "no file can be written in " in ended.err


def test_a_full_disk_ends_the_run_with_what_was_measured(postmark):
    folder = postmark.parent / "in"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(folder)], capture_output=True, check=False
    )
    # Only root may make a small disk; no other limit of the system answers as a full one does.
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        experiment = nandlab.Experiment.from_toml(postmark, ["workload.postmark.number=1000"])
        with pytest.raises(nandlab.DeviceFull, match="a directory on a larger disk has more") as full:
            experiment.run()
        assert full.value.result.stopped.why == "fs_full"
        assert full.value.result.fs.operations.create > 40
        assert is_empty(postmark)
    finally:
        subprocess.run(["umount", str(folder)], check=True)
