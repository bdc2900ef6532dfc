"""The files that commands read and write, and outputs that are full, closed or gone."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SMALL, files_in, write


def test_a_file_that_is_no_text_is_refused(nandlab_command, tmp_path):
    path = tmp_path / "binary.toml"
    path.write_bytes(b"seed = 1\xff")
    ended = nandlab_command("run", path)
    assert ended.status == 2
    assert "byte 8 is not UTF-8" in ended.err


@pytest.mark.parametrize("option", ["--report", "--op-log"])
def test_a_path_that_cannot_be_written_is_refused_before_the_run(nandlab_command, tmp_path, option):
    # The run would take minutes.
    path = write(tmp_path / "long.toml", SMALL.replace("20000", "2000000000"))
    ended = nandlab_command("run", path, option, tmp_path / "absent" / "out.html")
    assert ended.status == 2
    assert "there is no folder" in ended.err
    assert sorted(tmp_path.iterdir()) == [path]


def test_a_device_file_is_no_report(nandlab_command, small):
    # The latter is a pipe of a process by itself.
    for path in ("/dev/full", "/dev/stdout"):
        ended = nandlab_command("run", small, "--report", path, env=os.environ)
        assert ended.status == 2
        assert f"{path}: it is not a regular file" in ended.err
    assert Path("/dev/full").is_char_device()


def test_a_full_disk_leaves_the_old_report(small, tmp_path):
    report = write(tmp_path / "report.html", "old")

    def little_room():
        # Files beyond this size fail as on a full disk; Python ignores the signal that comes with it.
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    ended = subprocess.run(
        [sys.executable, "-m", "nandlab", "run", small, "--report", report],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=little_room,
        check=False,
    )
    assert ended.returncode == 1
    assert f"cannot write {report}" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert report.read_text() == "old"
    assert sorted(tmp_path.iterdir()) == [report, small]


def test_a_full_stdout_gives_a_sentence(small):
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "nandlab", "run", small, "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stderr == "error: stdout: No space left on device\n"
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("name", ["ops.csv", "ops.csv.gz", "ops.parquet"])
def test_a_full_disk_leaves_no_log(small, tmp_path, name):
    folder = tmp_path / "out"
    folder.mkdir()

    def little_room():
        # The signal that comes with it would end the process, but for Python, which ignores it.
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    ended = subprocess.run(
        [sys.executable, "-m", "nandlab", "run", small, "--op-log", folder / name],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=little_room,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(f"error: {folder / name} cannot be written: ")
    assert len(ended.stderr.splitlines()) == 1
    assert files_in(folder) == []


def test_a_reader_that_goes_away_is_no_error(small):
    command = f"{sys.executable} -m nandlab run {small} --json | head -c 10"
    ended = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, check=False)
    assert len(ended.stdout) == 10
    assert ended.stderr == ""


def test_a_path_given_on_the_command_line_starts_from_the_current_folder(nandlab_command, tmp_path):
    inner = tmp_path / "designs"
    inner.mkdir()
    write(inner / "trace.toml", '[workload.trace]\npath = "absent.csv"\n[ftl.page]\n')
    write(tmp_path / "short.csv", "time_us,op,sector,sectors,origin\n0,W,0,8,database\n")
    ended = nandlab_command(
        "run", "designs/trace.toml", "--json", "--set", "workload.trace.path=short.csv", cwd=tmp_path
    )
    assert ended.document["host"]["written_sectors"] == 8


def test_an_error_names_a_file_as_it_was_given(nandlab_command, tmp_path):
    write(tmp_path / "wrong.toml", "[ftl.pge]\n")
    write(tmp_path / "absent.toml", '[workload.trace]\npath = "./none.spc"\n[ftl.page]\n')
    for command, says in {
        "run ./wrong.toml": "./wrong.toml, line 1,",
        f"check ../{tmp_path.name}/./wrong.toml": f"../{tmp_path.name}/./wrong.toml, line 1,",
        "run ./absent.toml": "./none.spc: there is no such file (workload.trace.path in ./absent.toml",
        "reproduce ./none.toml": "./none.toml: ",
        "reproduce .//wrong.toml": ".//wrong.toml: ",
    }.items():
        ended = nandlab_command(*command.split(), cwd=tmp_path)
        assert ended.status != 0
        assert f"error: {says}" in ended.err


def test_an_output_is_never_an_input_or_another_output(nandlab_command, small, tmp_path):
    before = small.read_text(encoding="utf-8")
    both = tmp_path / "both.csv"
    for arguments, why in [
        (("--report", small), "would overwrite what this run reads"),
        (("--op-log", both, "--report", both), "would overwrite the file of"),
        (("--op-log", tmp_path / "log.parqet"), "is a .csv, .csv.gz or .parquet file"),
    ]:
        ended = nandlab_command("run", small, *arguments)
        assert (ended.status, why in ended.err) == (2, True), ended.err
    assert small.read_text(encoding="utf-8") == before
    assert not both.exists()


def test_a_file_may_have_the_name_of_a_bundled_profile(nandlab_command, small, tmp_path):
    write(tmp_path / "generic", "old")
    ended = nandlab_command("run", small, "--report", "generic", cwd=tmp_path)
    assert (ended.status, ended.err) == (0, "")
    write(tmp_path / "own.toml", "wrong")
    arguments = ("--set", "device.profile=own.toml", "--report", "own.toml")
    ended = nandlab_command("run", small, *arguments, cwd=tmp_path)
    assert ended.status == 2
    assert (tmp_path / "own.toml").read_text() == "wrong"


def test_a_closed_output_is_no_traceback(small):
    shell = ["sh", "-c", f"exec {sys.executable} -m nandlab run {small} >&-"]
    done = subprocess.run(shell, capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0, done.stderr


def test_a_link_stays_a_link(nandlab_command, small, tmp_path):
    (tmp_path / "real").mkdir()
    for option, name in (("--report", "report.html"), ("--op-log", "ops.csv"), ("--op-log", "ops.parquet")):
        for before in ("old", None):
            target, link = tmp_path / "real" / name, tmp_path / name
            target.unlink(missing_ok=True)
            link.unlink(missing_ok=True)
            if before is not None:
                write(target, before)
            link.symlink_to(target)
            ended = nandlab_command("run", small, option, link)
            assert ended.status == 0, ended.err
            assert link.is_symlink()
            assert target.stat().st_size > 1000
    assert files_in(tmp_path / "real") == ["ops.csv", "ops.parquet", "report.html"]


def test_a_link_that_leads_nowhere_is_refused(nandlab_command, small, tmp_path):
    (tmp_path / "loop.html").symlink_to(tmp_path / "loop.html")
    (tmp_path / "gone.html").symlink_to(tmp_path / "absent" / "report.html")
    for name, why in (
        ("loop.html", "too many levels of symbolic links"),
        ("gone.html", "there is no folder"),
    ):
        ended = nandlab_command("run", small, "--report", tmp_path / name)
        assert (ended.status, ended.out) == (2, "")
        assert f"{name}: {why}" in ended.err
        assert len(ended.err.splitlines()) == 1
        assert (tmp_path / name).is_symlink()


TRACE = "time_us,op,sector,sectors,origin\n0,W,0,8,database\n"


@pytest.fixture
def traced(tmp_path):
    return write(tmp_path / "trace.toml", '[workload.trace]\npath = "absent.csv"\n[ftl.page]\n')


@pytest.mark.parametrize("command", ["run", "check", "compare"])
def test_a_pipe_is_no_trace_and_nobody_waits_for_it(nandlab_command, traced, tmp_path, command):
    os.mkfifo(tmp_path / "pipe.csv")
    ended = nandlab_command(command, traced, "--set", f"workload.trace.path={tmp_path / 'pipe.csv'}")
    assert ended.status == 2
    assert "expected a file, not a pipe or a device" in ended.err
    assert len(ended.err.splitlines()) == 1


def test_stdin_is_a_trace_where_it_is_a_file(traced, tmp_path):
    command = [
        sys.executable,
        "-m",
        "nandlab",
        "run",
        traced,
        "--json",
        "--set",
        "workload.trace.path=/dev/stdin",
    ]
    with write(tmp_path / "short.csv", TRACE).open() as file:
        ended = subprocess.run(command, stdin=file, capture_output=True, text=True, timeout=60, check=False)
    assert json.loads(ended.stdout)["host"]["written_sectors"] == 8
    piped = subprocess.run(command, input=TRACE, capture_output=True, text=True, timeout=60, check=False)
    assert (piped.returncode, piped.stdout) == (2, "")
    assert "/dev/stdin: expected a file, not a pipe" in piped.stderr


def test_a_name_that_is_no_utf_8_is_a_name(nandlab_command, tmp_path):
    path = tmp_path / os.fsdecode(b"small-\xff.toml")
    path.write_text(SMALL)
    report, log = tmp_path / os.fsdecode(b"report-\xff.html"), tmp_path / os.fsdecode(b"ops-\xff.csv")
    assert nandlab_command("run", path, "--json").document["host"]["requests"] == 20000
    ended = nandlab_command("run", path, "--report", report, "--op-log", log)
    assert (ended.status, ended.err) == (0, "")
    assert report.stat().st_size > 1000
    assert log.stat().st_size > 1000
    ended = nandlab_command("compare", path, "--vary", "seed=1,2", "--report", report)
    assert (ended.status, ended.err) == (0, "")
    assert nandlab_command("check", path).status == 0
    path.write_text(SMALL + "wrong = 1\n")
    ended = nandlab_command("run", path)
    assert (ended.status, ended.out) == (2, "")
    assert "small-\\udcff.toml, line 11, column 1: [device] has no key `wrong`" in ended.err
    ended = nandlab_command("run", path, "--set", os.fsdecode(b"workload.trace.path=\xff"))
    assert (ended.status, len(ended.err.splitlines())) == (2, 1)
    assert "this is not UTF-8 text" in ended.err
