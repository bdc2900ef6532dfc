"""Cases as experiments: a case's jobs run on an experiment's device, and give figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nandlab._native import ConfigError, NandlabError
from nandlab.calibrate.rows import ENERGY, Case, Job, Row
from nandlab.experiment import Experiment
from nandlab.experiment.result import Result
from nandlab.writing.toml_text import toml_value

MOST_JOBS = 13
"""Most jobs in a case."""
LIMITED = 200
"""Fewest requests for a job with a rate."""
PROBE = "[global]\nfilename=/dev/drive\n[probe]\nrw=read\nbs=4k\nnumber_ios=1\n"
"""A job for any device."""
PACING = ("arrival", "queue_depth", "think_time_us")
"""Keys in `[host]` replaced by the jobs."""


@dataclass(frozen=True)
class Bench:
    """An experiment with measured jobs in place of its workload."""

    experiment: Experiment
    requests: int
    """Requests in a row."""
    logical_bytes: int
    """The host's capacity in bytes."""

    def resolved_device(self, sets: Sequence[str] = ()) -> dict[str, Any]:
        """The device table with every default and these keys."""
        return dict(self.experiment.override(*sets, _workload(PROBE)).resolve()["device"])

    def of(self, case: Case, sets: Sequence[str] = ()) -> Experiment:
        """The experiment for a case, with these keys."""
        jobs = job_file(case, self.logical_bytes, self.requests)
        return self.experiment.override(*sets, _workload(jobs))


def bench_of(experiment: Experiment, requests: int) -> Bench:
    """An experiment's bench; its own workload and queue depth are left aside.

    Raises:
        ConfigError: The experiment cannot run as written.

    """
    try:
        experiment.override(_workload(PROBE)).resolve()
    except ConfigError:
        host = {key: value for key, value in experiment.resolve()["host"].items() if key not in PACING}
        experiment = experiment.override(f"host={toml_value(host)}")
    inspected = experiment.override(_workload(PROBE)).inspect()
    return Bench(experiment, requests, int(inspected["device"]["logical_bytes"]))


def _workload(jobs: str) -> str:
    return f"workload={toml_value({'fio': {'text': jobs}})}"


def job_file(case: Case, logical_bytes: int, requests: int) -> str:
    """A case's jobs as a fio job file; each has its own part of the device.

    A job alone makes `requests` requests, and writes at most the device's size. Jobs beside one another
    run as long as the first measured one needs for as many.

    Raises:
        ConfigError: A job does not fit its part of the device, or there are too many.

    """
    jobs = case.jobs
    if len(jobs) > MOST_JOBS:
        raise ConfigError(
            f"{case.rows[0].where}: {len(jobs)} jobs at the same time; at most {MOST_JOBS} can run"
        )
    part = logical_bytes // len(jobs) // 2**20 * 2**20
    lines = ["[global]", "ioengine=libaio", "filename=/dev/drive"]
    alone = len(jobs) == 1 and not jobs[0][1].rate
    if not alone:
        lines += ["time_based=1", f"runtime={_runtime_ms(case, requests)}ms"]
    for at, (_, job) in enumerate(jobs):
        room = part // job.bs * job.bs
        if room == 0:
            raise ConfigError(
                f"{case.rows[0].where}: bs: a request of {job.bs:,} bytes does not fit its part of the "
                f"device, {part:,} bytes; give device.capacity more"
            )
        lines += [f"[job{at}]", *_asked(job), f"bs={job.bs}", f"iodepth={job.iodepth}"]
        lines += [f"numjobs={job.numjobs}", f"offset={at * part}", f"size={room}"]
        if job.rate:
            lines.append(f"rate={job.rate},{job.rate}")
        if alone:
            lines.append(f"io_size={_io_bytes(job, room, requests)}")
        if job.rw == "randread":
            # The map of visited places would only take time.
            lines.append("norandommap=1")
    return "\n".join(lines) + "\n"


def _asked(job: Job) -> tuple[str, ...]:
    """The job's requests. Reads are a mix without writes: fio makes more than `size` of them in one pass.

    Passes of reads alone would wait for each other, and those of a measured job with a runtime do not.
    """
    if job.rw == "randread":
        return "rw=randrw", "rwmixread=100"
    return f"rw={job.rw}", f"rwmixread={job.rwmixread}"


def _io_bytes(job: Job, room: int, requests: int) -> int:
    """Bytes for each clone."""
    wanted = max(1, requests // job.numjobs) * job.bs
    # A second pass would measure collection.
    return wanted if job.rw in ("read", "randread") else min(wanted, room)


def _runtime_ms(case: Case, requests: int) -> int:
    """Simulated milliseconds for the first measured row's requests, and enough for a limited row."""
    seconds = [LIMITED * job.bs / (job.rate * job.numjobs) for _, job in case.jobs if job.rate]
    for row in case.rows:
        rate = expected_rate(row)
        if rate is not None:
            seconds.append(requests / rate)
            break
    return max(10, round(1000 * max(seconds, default=1.0)))


def expected_rate(row: Row) -> float | None:
    """A row's requests per second by its own figures; None if nothing was measured."""
    if "iops" in row.measured:
        return row.measured["iops"]
    latency = row.measured.get("mean_us", row.measured.get("p50_us"))
    return None if latency is None else row.job.iodepth * row.job.numjobs * 1e6 / latency


class Unusable(Exception):
    """A run that gives no figure for a row."""


def figures_of(case: Case, result: Result) -> list[dict[str, float]]:
    """The run's figures for each row in a case, by their names in `ACCURACY`.

    Raises:
        Unusable: The run ended before its jobs did, or made no request for a row.

    """
    if result.stopped is not None:
        raise Unusable(result.stopped.message)
    origins = {each.origin: each.latency_us for each in result.latency_by_origin or ()}
    if not origins and result.latency_us is not None:
        # A single job has no origin beside others.
        origins = {"job0": result.latency_us}
    found = []
    for row in case.rows:
        spreads = origins.get(f"job{case.job_of(row)}")
        spread = None if spreads is None else spreads.read if row.direction == "read" else spreads.write
        if spread is None or not result.time_us:
            raise Unusable(f"{row.name}: the run made no {row.direction}")
        figures: dict[str, float] = {
            f"{figure}_us": float(getattr(spread, figure)) for figure in ("mean", "p50", "p90", "p99", "p999")
        }
        figures |= _energy(row, result, spread.count, result.time_us)
        found.append({"iops": 1e6 * spread.count / result.time_us, **figures})
    return found


def _energy(row: Row, result: Result, requests: int, time_us: float) -> dict[str, float]:
    """The run's flash energy for each of the row's requests, and its mean power; empty without energies.

    Raises:
        Unusable: The row has a measured energy, and the device states none, or the run took none.

    """
    total = 0.0 if result.energy_j is None else result.energy_j.total
    if total > 0:
        return {"request_uj": 1e6 * total / requests, "power_w": 1e6 * total / time_us}
    if not set(row.measured) & set(ENERGY):
        return {}
    if result.energy_j is None:
        raise Unusable(f"{row.name}: the device states no energy: give device.energy its numbers")
    raise Unusable(f"{row.name}: the flash took no energy")


def said(case: Case, error: NandlabError | Unusable) -> str:
    """Why a case cannot run, with its place in the file."""
    return f"{case.rows[0].where}: {error}"
