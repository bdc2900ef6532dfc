"""A sweep on a cluster of processes that somebody else started: a scheduler and two workers."""

import contextlib
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import SMALL

import nandlab

POLICY = """
from nandlab.policy import Victim


class Emptiest(Victim):
    def pick(self, blocks):
        return blocks.valid.argmin()
"""

VARIED = """
from nandlab.policy import Victim


class Of(Victim):
    def __init__(self, first=True):
        self.first = first

    def pick(self, blocks):
        return blocks.valid.argmin() if self.first else blocks.oldest[0]
"""


def started(*words, folder):
    """A command of dask; what it says goes into a file beside its folder."""
    with (folder.parent / f"{folder.name}.log").open("w") as log:
        return subprocess.Popen(
            [Path(sys.executable).parent / "dask", *words],
            cwd=folder,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
        )


@contextlib.contextmanager
def cluster(folder):
    """The address of a scheduler, and its two workers, each in a folder of its own."""
    file = folder / "scheduler.json"
    running = []
    try:
        (folder / "scheduler").mkdir()
        words = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file)
        running.append(started("scheduler", *words, folder=folder / "scheduler"))
        for name in ("one", "two"):
            (folder / name).mkdir()
            words = (
                "--scheduler-file",
                file,
                "--name",
                name,
                "--nthreads",
                "1",
                "--no-nanny",
                "--no-dashboard",
            )
            running.append(started("worker", *words, "--host", "127.0.0.1", folder=folder / name))
        end = time.monotonic() + 60
        while not file.exists() or not file.read_text():
            assert time.monotonic() < end, "no scheduler"
            time.sleep(0.05)
        address = json.loads(file.read_text())["address"]
        from distributed import Client

        with Client(address, timeout=30, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
        yield address, running[1:]
    finally:
        for process in reversed(running):
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    with cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found[0]


def swept(executor, experiment, values="1..6"):
    found = nandlab.sweep(experiment, {"seed": values}, executor=executor)
    return [
        json.dumps(point.record, sort_keys=True) if point.record else point.error for point in found.points
    ]


def experiment(**more):
    return nandlab.Experiment(
        device=nandlab.Device(capacity="16 MiB", over_provisioning=0.25),
        **{"workload": nandlab.workload.uniform(requests=20_000), "ftl": nandlab.ftl.page(), **more},
    )


def test_processes_elsewhere_give_the_same_bytes(nandlab_command, tmp_path, there):
    (tmp_path / "t.csv").write_text("time_us,op,sector,sectors\n" + "0,W,0,8\n" * 500)
    text = SMALL.replace("[workload.uniform]\nrequests = 20000", '[workload.trace]\npath = "t.csv"')
    (tmp_path / "trace.toml").write_text(text)
    words = ("sweep", "trace.toml", "--vary", "seed=1..4", "--output")
    assert nandlab_command(*words, "here.parquet", cwd=tmp_path).status == 0
    ended = nandlab_command(*words, "there.parquet", "--executor", f"dask={there}", cwd=tmp_path)
    assert ended.status == 0, ended.err
    assert (tmp_path / "there.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()


def test_a_worker_that_is_killed_costs_no_point(tmp_path):
    slow = experiment(workload=nandlab.workload.uniform(requests=400_000))
    with cluster(tmp_path) as (address, workers):
        killed = []

        def kill_one(done, points, share):
            if done and not killed:
                killed.append(done)
                workers[0].send_signal(signal.SIGKILL)

        found = nandlab.sweep(slow, {"seed": "1..8"}, executor=f"dask={address}", progress=kill_one)
        assert workers[0].wait(10) == -signal.SIGKILL
    assert killed and killed[0] < 8
    assert [point.error for point in found.points] == [None] * 8
    here = nandlab.sweep(slow, {"seed": "1..8"})
    assert [point.record for point in found.points] == [point.record for point in here.points]


def test_a_file_that_only_the_sweep_has_is_refused(tmp_path, there, monkeypatch):
    trace = tmp_path / "t.csv"
    trace.write_text("time_us,op,sector,sectors\n" + "0,W,0,8\n" * 500)
    one = experiment(workload=nandlab.workload.trace(path=str(trace)))
    # The digests of the sweep's own files; the file goes, or changes, before a worker looks.
    sent = one.digests()
    assert sent.keys() == {str(trace)}
    monkeypatch.setattr(nandlab.Experiment, "digests", lambda _: sent)
    trace.write_text("time_us,op,sector,sectors\n" + "0,W,8,8\n" * 500)
    (said,) = swept(f"dask={there}", one, "1")
    assert f"{trace} is another file on the worker" in said
    trace.unlink()
    found = nandlab.sweep(one.override("workload.trace.format=csv"), {"seed": "2"}, executor=f"dask={there}")
    assert f"{trace} is not there on the worker" in found.points[0].error


def test_policies_of_a_sweep_go_by_value(tmp_path, there, monkeypatch):
    """Objects in a dimension of the sweep, which differ in what they do."""
    (tmp_path / "varied_here.py").write_text(VARIED)
    monkeypatch.syspath_prepend(tmp_path)
    import varied_here

    vary = {"ftl.page.victim": ["greedy", varied_here.Of(first=True), varied_here.Of(first=False)]}
    found = [
        [point.record["waf"] for point in nandlab.sweep(experiment(), vary, executor=executor).points]
        for executor in (f"dask={there}", "threads")
    ]
    assert found[0] == found[1]
    assert len(set(found[0])) > 1


def test_a_policy_goes_by_value(tmp_path, there, monkeypatch):
    """Its module is in no path of the workers, and they can still run it."""
    (tmp_path / "only_here.py").write_text(POLICY)
    monkeypatch.syspath_prepend(tmp_path)
    import only_here

    mine = experiment(ftl=nandlab.ftl.page(victim=only_here.Emptiest()))
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    found = swept(f"dask={there}", mine, "1..3")
    assert found == swept("threads", mine, "1..3")
    greedy = nandlab.sweep(experiment(), {"seed": "1..3"})
    assert [json.loads(text)["waf"] for text in found] == [point.record["waf"] for point in greedy.points]
