"""`nandlab sweep`: what it prints, draws and keeps, and how it ends."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time

import polars
import pytest
from conftest import SMALL, files_in, without_scripts, write

VARY = ("--vary", "device.over_provisioning=0.25..0.5:3", "--vary", "seed=1,2")


@pytest.fixture
def slow(tmp_path):
    """An experiment of about a second a point."""
    return write(tmp_path / "slow.toml", SMALL.replace("20000", "2000000"))


STARTED = []


def start(*arguments, **settings):
    process = subprocess.Popen(
        [sys.executable, "-m", "nandlab", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **settings,
    )
    STARTED.append(process)
    return process


@pytest.fixture(autouse=True)
def _nothing_is_left_running():
    yield
    while STARTED:
        process = STARTED.pop()
        if process.poll() is None:
            process.kill()
            process.communicate()


def test_a_table_has_a_row_for_each_point(nandlab_command, small):
    ended = nandlab_command("sweep", small, *VARY)
    assert (ended.status, ended.err) == (0, "")
    rows = [line.split() for line in ended.out.splitlines() if re.match(r"\d", line.strip())]
    assert [row[:3] for row in rows] == [
        ["25", "%", "1"],
        ["25", "%", "2"],
        ["37.5", "%", "1"],
        ["37.5", "%", "2"],
        ["50", "%", "1"],
        ["50", "%", "2"],
    ]
    single = nandlab_command(
        "run", small, "--set", "seed=2", "--set", "device.over_provisioning=0.375", "--json"
    )
    assert rows[3][3] == f"{single.document['waf']:.3f}"


def test_json_has_every_record(nandlab_command, small):
    goals = ("--goal", "flash.erases", "--goal", "ram.total_bytes")
    ended = nandlab_command("sweep", small, *VARY, "--json", *goals)
    document = ended.document
    assert [axis["values"] for axis in document["axes"]] == [[0.25, 0.375, 0.5], [1, 2]]
    assert len(document["points"]) == 6
    for point in document["points"]:
        assert point["goals"]["flash.erases"] == point["result"]["flash"]["erases"]
        assert point["values"]["seed"] == point["result"]["seed"]
        assert point["error"] is None
    # More blocks mean fewer erases and more RAM: no point beats another.
    assert [point["front"] for point in document["points"]] == [True] * 6
    run = nandlab_command("run", small, "--set", "seed=2", "--set", "device.over_provisioning=0.25", "--json")
    record = run.document
    del record["speed"]
    assert document["points"][1]["result"] == record


def test_the_file_the_report_and_the_pictures(nandlab_command, small, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    outputs = ("--output", folder / "p.parquet", "--report", folder / "r.html", "--plots", folder / "plots")
    goals = ("--goal", "waf", "--goal", "ram.total_bytes")
    ended = nandlab_command(
        "sweep", small, *VARY, *goals, *outputs, "--set", "workload.uniform.requests=5000", alone=True
    )
    assert ended.status == 0, ended.err
    assert files_in(folder) == ["p.parquet", "plots", "r.html"]
    names = {f"{name}.{ending}" for name in ("waf", "ram-total_bytes", "pareto") for ending in ("svg", "png")}
    assert set(files_in(folder / "plots")) == names
    for path in (folder / "plots").iterdir():
        start = b"<svg" if path.suffix == ".svg" else b"\x89PNG"
        assert path.read_bytes().startswith(start)
        # A file of its own needs no page around it.
        assert b"var(--" not in path.read_bytes()
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert without_scripts(page).count("<svg") == 3
    for words in (
        "Pareto front",
        "mean of 2 seeds",
        "over-provisioning (physical / logical size - 1)",
        "ram total (KiB)",
    ):
        assert words in page
    assert not re.search(r"(?:src|href)=|https?://(?!www\.w3\.org)", without_scripts(page))
    frame = polars.read_parquet(folder / "p.parquet")
    assert frame["seed"].to_list() == [1, 2] * 3
    assert frame.columns[:2] == ["device.over_provisioning", "seed"]


def test_each_value_of_a_key_has_its_own_line_and_panel(nandlab_command, small, tmp_path):
    """The points of the picture are those of the table."""
    ended = nandlab_command(
        "sweep", small, "--set", "workload.uniform.requests=3000", "--set", "ftl={bast={}}",
        "--vary", "device.over_provisioning=0.25..0.5:3", "--vary", "ftl.bast.victim=lru,fifo",
        "--vary", "ftl.bast.log_blocks=1,2", "--plots", tmp_path / "plots",
    )  # fmt: skip
    assert ended.status == 0, ended.err
    drawn = (tmp_path / "plots" / "waf.svg").read_text(encoding="utf-8")
    lines = re.findall(r'aria-roledescription="line mark" d="([^"]+)"', drawn) or re.findall(
        r'<path aria-label="[^"]*" role="graphics-symbol" aria-roledescription="line mark" d="([^"]+)"', drawn
    )
    assert len(lines) == 4
    # Three points each, from left to right.
    for line in lines:
        xs = [float(x) for x in re.findall(r"[ML]([\d.]+),", line)]
        assert len(xs) == 3
        assert xs == sorted(set(xs))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Missing option '--vary'"),
        (["--vary", "seed"], "--vary: 'seed' is not of the form key=values"),
        (["--vary", "seed=1", "--vary", "seed=2"], "seed is given twice"),
        (["--vary", "seed=1,2", "--set", "seed=3"], "seed is given twice"),
        (["--vary", "device.over_provisionin=0.1..0.2:2"], "did you mean `over_provisioning`"),
        (["--vary", "ftl.page.victim=greedy,gredy"], "did you mean `greedy`"),
        (["--vary", "device.over_provisioning=0.07..0.5"], "say how many values"),
        (["--vary", "seed=1,2", "--goal", "wfa"], "did you mean waf?"),
        (["--vary", "seed=1,2", "--executor", "thread"], "did you mean threads?"),
        (["--vary", "seed=1,2", "--executor", "processes=4"], "processes have no address"),
        (["--vary", "seed=1,2", "--executor", "dask="], "expected the address of a scheduler"),
        (["--vary", "seed=1,2", "--output", "x.csv"], "a file of points is a .parquet file"),
        (["--vary", "seed=1,2", "--output", "/proc/x.parquet"], "no file can be made in /proc"),
        (["--vary", "seed=1,2", "--plots", "/proc/a/b"], "no file can be made in /proc"),
        (["--vary", "seed=1,2", "--jobs", "0"], "--jobs"),
        (["--vary", "seed=1,2", "--report", "x.parquet"], "a report is a .html file"),
    ],
)
def test_wrong_usage_gives_a_sentence(nandlab_command, small, tmp_path, arguments, says):
    ended = nandlab_command("sweep", small, *arguments, cwd=tmp_path)
    assert (ended.status, ended.out) == (2, "")
    assert says in ended.err
    assert len(ended.err.splitlines()) == 1
    assert files_in(tmp_path) == ["small.toml"]


def test_points_that_are_the_same_are_named(nandlab_command, small):
    ended = nandlab_command("sweep", small, "--vary", "seed=1,0x1")
    assert ended.status == 0
    assert "note: seed=0x1 is the same experiment as seed=1, and runs once" in ended.err


def test_a_point_that_cannot_run_leaves_the_others(nandlab_command, small, tmp_path):
    trace = write(tmp_path / "t.csv", "time_us,op,sector,sectors\n" + "0,W,0,8\n" * 50)
    text = SMALL.replace("[workload.uniform]\nrequests = 20000", '[workload.trace]\npath = "t.csv"')
    path = write(tmp_path / "trace.toml", text)
    ended = nandlab_command("sweep", path, "--vary", f"workload.trace.path={trace},absent.csv", "--json")
    good, bad = ended.document["points"]
    assert (ended.status, good["error"], bad["result"]) == (2, None, None)
    assert "absent.csv" in bad["error"]
    assert "error: workload.trace.path=absent.csv: " in ended.err
    table = nandlab_command("sweep", path, "--vary", f"workload.trace.path={trace},absent.csv")
    assert "failed" in table.out
    assert "every point failed" not in table.err


def test_where_every_point_fails_that_is_said(nandlab_command, tmp_path):
    text = SMALL.replace("[workload.uniform]\nrequests = 20000", '[workload.trace]\npath = "absent.csv"')
    path = write(tmp_path / "trace.toml", text)
    report = tmp_path / "report.html"
    ended = nandlab_command("sweep", path, "--vary", "seed=1,2", "--report", report)
    assert ended.status == 2 and "error: every point failed" in ended.err
    assert ended.err.count("there is no such file") == 2 and not report.exists()


# -- executors


CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The address of a cluster of two workers on this machine."""
    script = write(tmp_path_factory.mktemp("cluster") / "cluster.py", CLUSTER)
    with subprocess.Popen(
        [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process.stdout.readline().strip()
        process.stdin.close()


def test_a_cluster_gives_the_same_bytes(nandlab_command, tmp_path, cluster):
    assert cluster.startswith("tcp://127.0.0.1:")
    write(tmp_path / "t.csv", "time_us,op,sector,sectors\n" + "0,W,0,8\n" * 500)
    text = SMALL.replace("[workload.uniform]\nrequests = 20000", '[workload.trace]\npath = "t.csv"')
    write(tmp_path / "trace.toml", text)
    # Relative to a folder that is not the one of the workers.
    arguments = ("sweep", "trace.toml", *VARY)
    assert nandlab_command(*arguments, "--output", "here.parquet", cwd=tmp_path).status == 0
    for name, executor in (("there", f"dask={cluster}"), ("own", "dask")):
        options = ("--output", f"{name}.parquet", "--executor", executor, "--jobs", 2)
        ended = nandlab_command(*arguments, *options, cwd=tmp_path)
        assert ended.status == 0, ended.err
        assert ended.err == "" or "points done" in ended.err
        assert (tmp_path / f"{name}.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()


def test_both_workers_of_a_cluster_are_used(cluster, tmp_path):
    """Each point names the process that ran it."""
    script = f"""
import os
import nandlab
from distributed import Client
from nandlab.sweeping import work

client = Client({cluster!r}, set_as_default=False)
experiment = nandlab.Experiment(
    workload=nandlab.workload.uniform(requests=200_000), ftl=nandlab.ftl.page(),
    device=nandlab.Device(capacity="16 MiB", over_provisioning=0.3))
found = nandlab.sweep(experiment, {{"seed": "1..8"}}, executor=client.get_executor(pure=False))
tasks = client.run(lambda dask_worker: len(dask_worker.state.log))
print(len(found.points), len(tasks), min(tasks.values()) > 0, all(point.record for point in found.points))
"""
    done = subprocess.run(
        [sys.executable, write(tmp_path / "both.py", script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.split() == ["8", "2", "True", "True"], done.stderr


def test_no_cluster_there_is_a_sentence(nandlab_command, small, monkeypatch):
    ended = nandlab_command("sweep", small, *VARY, "--executor", "dask=tcp://127.0.0.1:9")
    assert (ended.status, ended.out, len(ended.err.splitlines())) == (2, "", 1)
    assert "dask=tcp://127.0.0.1:9: no scheduler of dask answers there" in ended.err
    ended = nandlab_command("sweep", small, *VARY, "--executor", "dask=nonsense://x")
    assert (ended.status, ended.out, len(ended.err.splitlines())) == (2, "", 1)


@pytest.mark.parametrize(
    ("package", "arguments", "says"),
    [
        ("distributed", ("--executor", "dask"), "the executor dask needs dask.distributed: pip install"),
        ("polars", ("--output", "x.parquet"), "a frame or a Parquet file needs polars: pip install polars"),
        ("altair", ("--report", "x.html"), "a report needs altair: pip install altair"),
        ("altair", ("--plots", "x"), "a report needs altair: pip install altair"),
    ],
)
def test_a_package_that_is_not_there_is_named(small, tmp_path, package, arguments, says):
    without = (
        "import sys, importlib.util\n"
        f"sys.modules[{package!r}] = None\n"
        "found = importlib.util.find_spec\n"
        f"importlib.util.find_spec = lambda name, *a: None if name == {package!r} else found(name, *a)\n"
        "from nandlab.cli import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", without, "sweep", str(small), *VARY, *arguments],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert says in done.stderr
    assert files_in(tmp_path) == ["small.toml"]


# -- ends


def after_a_point(process, journal, points=1):
    """Waits until so many points are in the journal."""
    while not journal.exists() or journal.read_bytes().count(b"\n") < 1 + points:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)


@pytest.mark.parametrize("executor", ["threads", "processes", "dask"])
def test_ctrl_c_keeps_what_is_done_and_the_sweep_goes_on(nandlab_command, slow, tmp_path, executor):
    folder = tmp_path / "out"
    folder.mkdir()
    output = folder / "p.parquet"
    arguments = (
        "sweep",
        slow,
        "--vary",
        "seed=1..4",
        "--output",
        output,
        "--executor",
        executor,
        "--jobs",
        2,
    )
    process = start(*arguments)
    after_a_point(process, folder / "p.parquet.journal")
    pressed = time.monotonic()
    # As a terminal does: every process in the foreground gets it.
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    took_s = time.monotonic() - pressed
    assert "Traceback" not in err
    assert process.returncode == 1
    # A second is the promise; a busy machine gets some more.
    assert took_s < 4
    assert re.search(r"stopped: [1-4] of 4 points are done and are kept in \S*p\.parquet\.journal;", err), err
    assert "not run" in out
    assert files_in(folder) == ["p.parquet.journal"]
    kept = (folder / "p.parquet.journal").read_bytes().count(b"\n") - 1
    ended = nandlab_command(*arguments, "--set", "host.queue_depth=1")
    assert ended.status == 0, ended.err
    assert f"{kept} of 4 points were finished before" in ended.err
    assert files_in(folder) == ["p.parquet"]
    assert polars.read_parquet(output)["seed"].to_list() == [1, 2, 3, 4]


def test_a_process_that_is_killed_keeps_what_is_done(nandlab_command, slow, tmp_path):
    output = tmp_path / "p.parquet"
    arguments = ("sweep", slow, "--vary", "seed=1..4", "--output", output, "--executor", "processes")
    process = start(*arguments)
    after_a_point(process, tmp_path / "p.parquet.journal")
    process.kill()
    process.communicate(timeout=30)
    # Its workers end with it.
    end = time.monotonic() + 10
    while time.monotonic() < end and processes_of(process.pid):
        time.sleep(0.1)
    assert processes_of(process.pid) == []
    ended = nandlab_command(*arguments)
    assert ended.status == 0
    assert re.search(r"[123] of 4 points were finished before", ended.err)
    assert len(polars.read_parquet(output)) == 4


def test_a_worker_that_is_killed_is_told_and_the_rest_is_kept(nandlab_command, slow, tmp_path):
    """As the system does where memory is short."""
    output = tmp_path / "p.parquet"
    arguments = (
        "sweep",
        slow,
        "--vary",
        "seed=1..4",
        "--output",
        output,
        "--executor",
        "processes",
        "--jobs",
        2,
    )
    process = start(*arguments)
    after_a_point(process, tmp_path / "p.parquet.journal")
    listed = subprocess.run(["ps", "-wweo", "ppid=,pid=,args="], capture_output=True, text=True, check=True)
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    workers = [int(pid) for ppid, pid, args in rows if int(ppid) == process.pid and "spawn_main" in args]
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "internal error" not in err
    assert re.search(r"error: seed=\d: its worker ended without a result \(BrokenProcessPool", err)
    assert "failed" in out
    ended = nandlab_command(*arguments)
    assert ended.status == 0
    assert re.search(r"[123] of 4 points were finished before", ended.err)


def test_a_cluster_that_goes_is_told_and_the_rest_is_kept(nandlab_command, slow, tmp_path):
    script = write(tmp_path / "cluster.py", CLUSTER)
    command = [sys.executable, script]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as gone:
        address = gone.stdout.readline().strip()
        output = tmp_path / "p.parquet"
        arguments = ("sweep", slow, "--vary", "seed=1..6", "--output", output)
        process = start(*arguments, "--executor", f"dask={address}")
        after_a_point(process, tmp_path / "p.parquet.journal")
        os.killpg(gone.pid, signal.SIGKILL)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Traceback" not in err
    assert re.search(
        r"error: seed=\d: its worker ended without a result \(.*\); is the cluster still there\?", err
    )
    ended = nandlab_command(*arguments)
    assert ended.status == 0
    assert re.search(r"[1-5] of 6 points were finished before", ended.err)


def processes_of(group):
    """The processes of a group that are alive."""
    listed = subprocess.run(["ps", "-eo", "pgid=,pid=,stat="], capture_output=True, text=True, check=True)
    rows = [line.split() for line in listed.stdout.splitlines()]
    return [pid for pgid, pid, stat in rows if int(pgid) == group and not stat.startswith("Z")]


def test_ctrl_c_without_output_says_how_to_keep(tmp_path):
    # So short that the first line already tells of points; the next one comes after ten seconds.
    short = write(tmp_path / "short.toml", SMALL.replace("20000", "100000"))
    process, told = start("sweep", short, "--vary", "seed=1..400", "--json"), ""
    while not re.search(r"[1-9]\d* of 400 points", told):
        told += process.stderr.read(1) or pytest.fail(f"it ended before: {told}")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert json.loads(out)["stopped"] is True
    assert "with --output they are kept" in err


def test_progress_tells_how_far_it_is(slow):
    process = start("sweep", slow, "--vary", "seed=1..50")
    told = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert re.search(r"^sweep \d+ %, \d+ of 50 points done, time left not known yet$", told)


def test_a_full_disk_leaves_whole_points(nandlab_command, small, tmp_path):
    """A limit on the size of a file stands for a disk that is full after some points."""
    folder = tmp_path / "out"
    folder.mkdir()
    arguments = ("sweep", small, "--vary", "seed=1..6", "--output", folder / "p.parquet", "--jobs", 1)
    process = start(
        *arguments, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
    )
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert err.splitlines()[-1] == f"error: cannot write {folder / 'p.parquet.journal'}: file too large"
    lines = (folder / "p.parquet.journal").read_bytes().splitlines(keepends=True)
    assert 1 < len(lines) < 7
    assert all(json.loads(line) and line.endswith(b"\n") for line in lines)
    ended = nandlab_command(*arguments)
    assert ended.status == 0
    assert f"{len(lines) - 1} of 6 points were finished before" in ended.err
    assert files_in(folder) == ["p.parquet"]


def test_a_folder_in_the_place_of_the_file_is_refused(nandlab_command, small, tmp_path):
    folder = tmp_path / "out"
    (folder / "p.parquet").mkdir(parents=True)
    ended = nandlab_command("sweep", small, *VARY, "--output", folder / "p.parquet")
    assert (ended.status, ended.out) == (2, "")
    assert "it is a folder" in ended.err
    assert files_in(folder) == ["p.parquet"]


def test_the_list_does_not_wait_for_what_sweeps_need():
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, nandlab.cli.list, nandlab; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    heavy = {
        "polars",
        "altair",
        "distributed",
        "nandlab.sweeping",
        "nandlab.explaining",
        "concurrent.futures",
    }
    assert not heavy & set(loaded)
