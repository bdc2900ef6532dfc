"""The command line: what it prints, and how it ends."""

import contextlib
import json
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import SMALL, write

KINDS = ["ftls", "buffers", "file-systems", "workloads", "traces", "devices", "victims"]


def test_run_prints_a_table(nandlab_command, small):
    ended = nandlab_command("run", small)
    assert ended.status == 0
    assert "write amplification" in ended.out
    assert "20,000" in ended.out


def on_a_terminal(*arguments, columns):
    """What `nandlab` prints on a terminal of so many columns."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "nandlab", *map(str, arguments)]
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "dumb"}
    with subprocess.Popen(command, stdout=slave, stderr=subprocess.DEVNULL, env=environment):
        os.close(slave)
        printed = b""
        # The other side of a terminal that was closed gives an error on Linux.
        with contextlib.suppress(OSError):
            while chunk := os.read(master, 4096):
                printed += chunk
    os.close(master)
    return printed.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [80, 120])
def test_columns_stand_apart_on_every_terminal(small, columns):
    printed = on_a_terminal("run", small, columns=columns)
    assert re.search(r"^requests +20,000  20,000 writes *$", printed, re.MULTILINE), printed
    assert max(map(len, printed.splitlines()[1:])) <= columns
    printed = on_a_terminal("compare", small, "--vary", "seed=1,2", columns=columns)
    assert re.search(r"^1 +\d\.\d{3} +[\d,]+ ", printed, re.MULTILINE), printed


def test_run_json_is_the_whole_record(nandlab_command, small):
    record = nandlab_command("run", small, "--json").document
    assert record["partial"] is False
    assert record["host"]["requests"] == 20000
    assert record["flash"]["programs"] == sum(cell["programs"] for cell in record["matrix"])
    assert record["experiment"]["device"]["over_provisioning"] == 0.25


def test_the_record_holds_what_it_takes_to_run_it_again(nandlab_command, small, tmp_path):
    first = nandlab_command("run", small, "--json").document
    again = write(tmp_path / "again.json", json.dumps(first["experiment"]))
    second = nandlab_command("run", again, "--json").document
    del first["speed"], second["speed"]
    assert first == second


def test_set_overrides_a_key(nandlab_command, small):
    record = nandlab_command(
        "run", small, "--json", "--set", "seed=9", "--set", "device.capacity=12 MiB"
    ).document
    assert record["seed"] == 9
    assert record["device"]["logical_bytes"] == 12 << 20


def test_set_without_a_value_is_refused(nandlab_command, small):
    ended = nandlab_command("run", small, "--set", "seed")
    assert (ended.status, ended.out) == (2, "")
    assert "key=value" in ended.err


def test_a_misspelt_key_is_named_with_its_place_and_the_nearest_name(nandlab_command, tmp_path):
    path = write(tmp_path / "typo.toml", SMALL.replace("over_provisioning", "overprovisioning"))
    ended = nandlab_command("run", path)
    assert ended.status == 2
    assert ended.out == ""
    assert "typo.toml, line 10, column 1" in ended.err
    assert "overprovisioning" in ended.err
    assert "did you mean `over_provisioning`" in ended.err


def test_a_wrong_unit_names_the_key_and_what_is_allowed(nandlab_command, small):
    ended = nandlab_command("run", small, "--set", "device.capacity=16 furlongs")
    assert ended.status == 2
    assert "capacity" in ended.err
    assert "16 furlongs" in ended.err
    assert "MiB" in ended.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["rnu"], "did you mean run?"),
        (["run"], "Missing argument 'FILE'"),
        (["run", "absent.toml"], "'absent.toml' does not exist"),
        (["list", "ftl"], "did you mean ftls?"),
        (["list", "ftls", "pag"], "did you mean page?"),
        (["compare"], "Missing argument"),
        (["run", "--sett", "a=b"], "Did you mean '--set'? `nandlab run --help`"),
        (["run", __file__, "--report", ""], "--report: expected the name of a file, given an empty one"),
        (["run", __file__, "--report", "/proc/report.html"], "no file can be made in /proc"),
    ],
)
def test_wrong_usage_gives_a_sentence(nandlab_command, arguments, says):
    ended = nandlab_command(*arguments)
    assert (ended.status, ended.out) == (2, "")
    assert says in ended.err
    assert len(ended.err.splitlines()) == 1


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
    # The latter is a pipe here.
    for path in ("/dev/full", "/dev/stdout"):
        ended = nandlab_command("run", small, "--report", path)
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


@pytest.fixture
def long(tmp_path):
    """An experiment that takes far longer than any test."""
    return write(tmp_path / "long.toml", SMALL.replace("20000", "2000000000"))


def interrupted(*arguments, after_s, env=None):
    """Runs `nandlab`, presses Ctrl-C, and returns its end and how long that took in seconds."""
    process = subprocess.Popen(
        [sys.executable, "-m", "nandlab", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    )
    time.sleep(after_s)
    pressed = time.monotonic()
    process.send_signal(signal.SIGINT)
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


def test_ctrl_c_marks_the_table(long):
    status, out, _, _ = interrupted("run", long, after_s=1.5)
    assert status == 1
    assert "PARTIAL" in out


def test_ctrl_c_keeps_what_a_comparison_has(small, long):
    status, out, _, _ = interrupted("compare", small, long, small, "--jobs", 1, "--json", after_s=2)
    done, stopped, waiting = json.loads(out)["runs"]
    assert status == 1
    assert done["result"]["partial"] is False
    assert stopped["result"]["partial"] is True
    assert waiting["result"] is None


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


def test_compare_runs_every_combination(nandlab_command, small):
    ended = nandlab_command(
        "compare", small, "--json", "--vary", "seed=1,2", "--vary", "device.over_provisioning=0.25,0.5"
    )
    assert ended.status == 0
    runs = ended.document["runs"]
    assert [(run["result"]["seed"], run["result"]["device"]["over_provisioning"]) for run in runs] == [
        (1, pytest.approx(0.25, abs=0.02)),
        (1, pytest.approx(0.5, abs=0.02)),
        (2, pytest.approx(0.25, abs=0.02)),
        (2, pytest.approx(0.5, abs=0.02)),
    ]
    assert runs[1]["labels"] == {"seed": "1", "OP": "50 %"}
    assert runs[0]["result"]["waf"] > runs[1]["result"]["waf"]


def test_compare_takes_an_ftl_by_name_alone(nandlab_command, small):
    ended = nandlab_command("compare", small, "--json", "--vary", "ftl=page")
    (run,) = ended.document["runs"]
    assert list(run["result"]["experiment"]["ftl"]) == ["page"]


def test_compare_does_not_depend_on_how_many_run_at_once(nandlab_command, small):
    arguments = ("compare", small, "--json", "--vary", "seed=1,2,3,4")
    alone = nandlab_command(*arguments, "--jobs", 1).document["runs"]
    together = nandlab_command(*arguments, "--jobs", 4).document["runs"]
    for run in (*alone, *together):
        del run["result"]["speed"]
    assert alone == together


def test_compare_refuses_a_wrong_value_before_it_runs_any(nandlab_command, tmp_path):
    path = write(tmp_path / "long.toml", SMALL.replace("20000", "2000000000"))
    ended = nandlab_command("compare", path, "--vary", "device.capacity=16 MiB,16 furlongs")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("error: capacity 16 furlongs: --set device.capacity=16 furlongs: ")
    assert "--help" not in ended.err


def test_a_path_given_on_the_command_line_starts_from_the_current_folder(nandlab_command, tmp_path):
    inner = tmp_path / "designs"
    inner.mkdir()
    write(inner / "trace.toml", '[workload.trace]\npath = "absent.csv"\n[ftl.page]\n')
    write(tmp_path / "short.csv", "time_us,op,sector,sectors,origin\n0,W,0,8,database\n")
    ended = nandlab_command(
        "run", "designs/trace.toml", "--json", "--set", "workload.trace.path=short.csv", cwd=tmp_path
    )
    assert ended.document["host"]["written_sectors"] == 8


@pytest.mark.parametrize("kind", KINDS)
def test_list_answers_for_every_kind(nandlab_command, kind):
    assert nandlab_command("list", kind).status == 0
    document = nandlab_command("list", kind, "--json").document
    assert list(document) == [kind.replace("-", "_")]


def test_list_alone_names_everything(nandlab_command):
    ended = nandlab_command("list")
    assert ended.status == 0
    assert [line.split()[0] for line in ended.out.splitlines()] == KINDS
    assert "page, block" in ended.out
    assert list(nandlab_command("list", "--json").document) == [kind.replace("-", "_") for kind in KINDS]


def test_list_tells_all_about_one(nandlab_command):
    ended = nandlab_command("list", "ftls", "page")
    assert ended.status == 0
    assert "Invariants" in ended.out
    assert "meaning" in ended.out


def test_list_loads_nothing_heavy():
    """It must answer in 0.4 s; a clock would fail on busy machines, so what it loads is checked."""
    code = (
        "import sys, contextlib\nfrom nandlab.cli import group\n"
        "with contextlib.redirect_stdout(None):\n"
        "    group.main(['list', 'ftls', '--json'], standalone_mode=False)\n"
        "heavy = {'vl_convert', 'polars', 'rich', 'asyncio', 'nandlab.report', 'nandlab.experiment'}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == []


def test_check_prints_an_experiment_that_resolves_to_itself(nandlab_command, small, tmp_path):
    ended = nandlab_command("check", small, "--set", "seed=5")
    assert ended.status == 0
    shown = write(tmp_path / "shown.toml", ended.out)
    assert (
        nandlab_command("check", shown, "--json").document
        == nandlab_command("check", small, "--set", "seed=5", "--json").document
    )


def test_an_internal_error_is_a_sentence(small, tmp_path):
    broken = write(tmp_path / "broken.py", "import nandlab.batch\nnandlab.batch.run_all = None\n")
    code = f"exec(open({str(broken)!r}).read())\nfrom nandlab.cli import main\nmain()"
    ended = subprocess.run(
        [sys.executable, "-c", code, "run", small],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NANDLAB_TRACEBACK": ""},
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("internal error: TypeError")
    assert "Traceback" not in ended.stderr


def test_version(nandlab_command):
    ended = nandlab_command("--version")
    assert ended.status == 0
    assert ended.out.startswith("nandlab ")


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


def test_a_key_that_is_given_twice_is_refused(nandlab_command, small):
    ended = nandlab_command("compare", small, "--vary", "seed=1,2", "--set", "seed=9")
    assert (ended.status, "seed is given twice" in ended.err) == (2, True), ended.err


def test_faults_are_checked_before_a_run(nandlab_command, small):
    ended = nandlab_command("check", small, "--set", "device.faults.factory_bad_share=-1")
    assert ended.status == 2
    assert ended.err.startswith("error: --set device.faults.factory_bad_share=-1"), ended.err


def test_a_closed_output_is_no_traceback(small):
    shell = ["sh", "-c", f"exec {sys.executable} -m nandlab run {small} >&-"]
    done = subprocess.run(shell, capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0, done.stderr


@pytest.fixture
def slow_polars(tmp_path):
    """The environment of a command whose Parquet conversion would take a minute."""
    return fake_polars(tmp_path, "import time\ntime.sleep(60)\n")


def fake_polars(folder, text):
    package = folder / "fake" / "polars"
    package.mkdir(parents=True)
    write(package / "__init__.py", text)
    return {**os.environ, "PYTHONPATH": str(package.parent)}


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


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
    impatient = "import nandlab.batch\nnandlab.batch.STOP_S = 0\nfrom nandlab.cli import main\nmain()"
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
