"""How commands end before their work does: Ctrl-C, worn-out devices, a conversion that fails."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import SMALL, files_in, write
from programs import needs_disk_try
from test_calibrate import DRIVE


@pytest.fixture
def long(tmp_path):
    """An experiment that takes far longer than any test."""
    return write(tmp_path / "long.toml", SMALL.replace("20000", "2000000000"))


def interrupted(*arguments, after_s, env=None, number=signal.SIGINT):
    """Runs `nandlab`, sends Ctrl-C or another signal, and returns its end and how many seconds it took."""
    process = subprocess.Popen(
        [sys.executable, "-m", "nandlab", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    )
    time.sleep(after_s)
    pressed = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert "Traceback" not in err
    return process.returncode, out, err, time.monotonic() - pressed


def test_ctrl_c_prints_a_partial_result_and_shows_progress_before(long):
    status, out, err, took_s = interrupted("run", long, "--json", after_s=2)
    record = json.loads(out)
    assert status == 1
    assert record["partial"] is True
    assert 0 < record["host"]["requests"] < 2000000000
    assert "of 2,000,000,000 requests" in err
    assert "left" in err
    # A second is the promise; a busy machine gets some more.
    assert took_s < 3


@pytest.mark.parametrize("command", [("run",), ("compare", "--vary", "seed=1,2,3")])
def test_the_first_line_of_progress_promises_nothing(long, command):
    name, *options = command
    arguments = (name, long, *options, "--set", "precondition.overwrites=2000")
    # The second line comes ten seconds after the first.
    _, _, err, _ = interrupted(*arguments, after_s=2)
    lines = [line for line in err.splitlines() if "left" in line]
    assert lines
    assert lines[0].endswith("time left not known yet")
    assert " 0 %" in lines[0] or "setting up" in lines[0]
    assert name != "run" or " of 8,192,000 page writes" in lines[0] or "setting up the device" in lines[0]


WORN_OUT = """\
[workload.uniform]
requests = 2_000_000
[ftl.page]
[device]
capacity = "16 MiB"
over_provisioning = 0.25
[device.faults]
erase_failure_rate = 0.05
"""


def test_a_worn_out_device_prints_what_was_measured(nandlab_command, tmp_path):
    path = write(tmp_path / "worn.toml", WORN_OUT)
    table = nandlab_command("run", path)
    assert table.status == 1
    assert "PARTIAL: stopped after " in table.out
    assert "write amplification" in table.out
    assert table.err.startswith("error: after ")
    assert "the device is worn out" in table.err
    log = tmp_path / "log.csv"
    ended = nandlab_command("run", path, "--json", "--op-log", log)
    assert ended.status == 1
    assert ended.document["partial"] is True
    assert ended.document["stopped"]["why"] == "worn_out"
    assert ended.document["stopped"]["message"] in ended.err
    assert log.is_file()


def test_a_worn_out_device_keeps_its_row_in_a_comparison(nandlab_command, small, tmp_path):
    path = write(tmp_path / "worn.toml", WORN_OUT)
    output = ("--output", tmp_path / "runs.parquet")
    ended = nandlab_command("compare", path, small, *output, "--json")
    assert ended.status == 1
    worn, whole = ended.document["runs"]
    assert worn["result"]["stopped"]["message"] == worn["error"]
    assert whole["error"] is None
    assert "worn out" in ended.err
    # The file tells of it, too.
    table = nandlab_command("compare", path, small, *output)
    assert table.status == 1
    assert "PARTIAL" in table.out
    assert worn["error"] in table.err
    assert "2 of 2 runs were finished before" in table.err


def test_ctrl_c_before_the_workload_says_that_nothing_was_measured(long):
    status, out, _, _ = interrupted("run", long, "--set", "precondition.overwrites=10000", after_s=1.5)
    assert status == 1
    assert "requests of the preconditioning: nothing of the workload was measured" in out


def test_ctrl_c_marks_the_table(long):
    status, out, _, _ = interrupted("run", long, after_s=1.5)
    assert status == 1
    assert "PARTIAL" in out


def test_ctrl_c_keeps_what_a_comparison_has(nandlab_command, small, long, tmp_path):
    output = ("--output", tmp_path / "runs.parquet")
    status, out, err, _ = interrupted(
        "compare", small, long, small, *output, "--jobs", 1, "--json", after_s=2
    )
    done, stopped, waiting = json.loads(out)["runs"]
    assert status == 1
    assert done["result"]["partial"] is False
    assert stopped["result"]["partial"] is True
    assert waiting["result"] is None
    assert "stopped: 1 of 3 runs are done and are kept in " in err
    # The partial run is not kept, and the other one takes the place of its twin.
    again = nandlab_command("compare", small, small, *output, "--json")
    assert "2 of 2 runs were finished before" in again.err
    del done["result"]["speed"]
    assert [run["result"] for run in again.document["runs"]] == [done["result"]] * 2


def test_ctrl_c_while_the_program_is_loaded_is_no_traceback(tmp_path):
    """A module that takes long to load stands for a slow disk."""
    package = tmp_path / "click"
    package.mkdir()
    write(package / "__init__.py", "print('loading', flush=True)\nimport time\ntime.sleep(60)\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "nandlab", "list"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert process.stdout.readline() == "loading\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (1, "stopped\n")


def test_ctrl_c_stops_a_bench():
    status, out, err, took_s = interrupted("bench", after_s=1.5)
    assert (status, out) == (1, "")
    assert err.rstrip().endswith("stopped")
    assert took_s < 3


@pytest.fixture
def slow_polars(tmp_path):
    """The environment of a command whose Parquet conversion would take a minute."""
    return fake_polars(tmp_path, "import time\ntime.sleep(60)\n")


def fake_polars(folder, text):
    package = folder / "fake" / "polars"
    package.mkdir(parents=True)
    write(package / "__init__.py", text)
    return {**os.environ, "PYTHONPATH": str(package.parent)}


def test_ctrl_c_ends_the_writing_of_parquet_and_keeps_the_result(small, tmp_path, slow_polars):
    folder = tmp_path / "out"
    folder.mkdir()
    arguments = ("run", small, "--json", "--op-log", folder / "ops.parquet")
    status, out, err, took_s = interrupted(*arguments, after_s=2, env=slow_polars)
    assert (status, json.loads(out)["partial"]) == (1, False)
    assert err.endswith("ops.parquet was not written: stopped\n")
    assert took_s < 3
    assert files_in(folder) == []


def test_a_stopped_run_says_that_there_is_no_parquet(long, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    status, out, err, took_s = interrupted("run", long, "--op-log", folder / "ops.parquet", after_s=1)
    assert (status, "PARTIAL" in out) == (1, True)
    assert "ops.parquet was not written, since the run was stopped" in err
    assert took_s < 3
    assert files_in(folder) == []


def test_where_parquet_fails_the_result_is_told_all_the_same(nandlab_command, small, tmp_path):
    environment = fake_polars(tmp_path, "import sys\nsys.exit('the disk is full')\n")
    folder = tmp_path / "out"
    folder.mkdir()
    ended = nandlab_command("run", small, "--json", "--op-log", folder / "ops.parquet", env=environment)
    assert (ended.status, ended.document["partial"]) == (1, False)
    assert ended.err == f"error: cannot write {folder / 'ops.parquet'}: the disk is full\n"
    assert files_in(folder) == []


def test_a_run_that_does_not_answer_leaves_no_log(long, tmp_path):
    """The end of a large log may wait for the disk longer than anybody waits for Ctrl-C."""
    impatient = "from nandlab.running import batch\nbatch.STOP_S = 0\nfrom nandlab.cli import main\nmain()"
    folder = tmp_path / "out"
    folder.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", impatient, "run", long, "--op-log", folder / "ops.csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not files_in(folder):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert err.endswith("stopped before there was a result\n")
    assert files_in(folder) == []


@pytest.mark.parametrize("apart_s", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("name", ["ops.csv", "ops.parquet"])
def test_a_second_ctrl_c_leaves_no_log(long, tmp_path, name, apart_s):
    """The end of a large log waits for the disk, and who waits presses again."""
    folder = tmp_path / "out"
    folder.mkdir()
    # A run that does not hear that it is to stop stands for a disk that is slow.
    slow = (
        "import nandlab.running.batch\nnandlab.running.batch.Run.cancel = lambda run: None\n"
        "from nandlab.cli import main\nmain()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", slow, "run", long, "--op-log", folder / name],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not list(folder.rglob("*.part")):
        time.sleep(0.05)
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        time.sleep(apart_s)
    _, err = process.communicate(timeout=30)
    assert "Traceback" not in err
    assert process.returncode == 1
    assert files_in(folder) == []


@pytest.fixture
def busy(tmp_path):
    """The arguments of a command that is busy for longer than any test, by its name."""
    write(tmp_path / "drive.toml", DRIVE)
    rows = [f"randread,{size},{depth},{1000 * depth},\n" for size in ("4k", "64k") for depth in (1, 4, 16)]
    write(tmp_path / "rows.csv", "rw,bs,iodepth,iops,p99_us\n" + "".join(rows))
    large = [sys.executable, "-m", "nandlab", "disk", "create", tmp_path / "large.img"]
    sets = ["--set", "ftl=page", "--set", "device.capacity=256GiB"]
    subprocess.run([*large, *sets], check=True, capture_output=True)
    return {
        "calibrate": f"calibrate {tmp_path}/drive.toml --measured {tmp_path}/rows.csv "
        f"--output {tmp_path}/o.toml --free device.timing.read_us=30..90 --requests 300000",
        "choose": "choose --flash 32M --workload phone",
        "reproduce": "reproduce btree",
        "bench": "bench",
        "disk check": f"disk check {tmp_path}/large.img",
    }


@pytest.mark.parametrize("signal_", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
@pytest.mark.parametrize("name", ["calibrate", "choose", "reproduce", "bench", "disk check"])
def test_long_commands_end_within_a_second(busy, name, signal_):
    status, _, err, took_s = interrupted(*busy[name].split(), after_s=1.5, number=signal_)
    assert status == 1
    assert "stopped" in err
    # A second is the promise; a busy machine gets some more.
    assert took_s < 3


@needs_disk_try
@pytest.mark.parametrize("signal_", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
@pytest.mark.parametrize("after_s", [0.5, 0.8, 1.1, 3.0])
def test_disk_try_ends_its_command(tmp_path, signal_, after_s):
    """Early signals meet mke2fs and fuse2fs at work."""
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    arguments = ("disk", "try", "--", "sleep", "600")
    status, _, err, took_s = interrupted(*arguments, after_s=after_s, env=env, number=signal_)
    assert (status, err.rstrip().split("\n")[-1]) in [(130, "Ctrl-C ended the command"), (1, "stopped")]
    assert took_s < 3
    assert str(tmp_path) not in Path("/proc/mounts").read_text(encoding="utf-8")


@needs_disk_try
def test_disk_try_leaves_no_mount_where_a_process_of_the_command_goes_on(tmp_path):
    arguments = ("disk", "try", "--", "sh", "-c", f"echo new > file; sleep 5 & echo $! > {tmp_path}/number")
    command = [sys.executable, "-m", "nandlab", *arguments]
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert str(tmp_path) not in Path("/proc/mounts").read_text(encoding="utf-8")
    with contextlib.suppress(ProcessLookupError):
        os.kill(int((tmp_path / "number").read_text(encoding="utf-8")), signal.SIGKILL)
