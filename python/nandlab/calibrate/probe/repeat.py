"""The measured jobs, repeated on the drive that the probe found.

The estimates use some figures of some jobs, and a model with few parts. A drive that does something else,
such as reading ahead or caching map pages, shows up in the other figures. So a simulated drive with the
found numbers runs all read jobs, and the write jobs if its buffer and program time are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nandlab._native import NandlabError
from nandlab.calibrate.probe.jobs import READS, WRITES, ProbeJob
from nandlab.calibrate.probe.model import Drive
from nandlab.calibrate.probe.results import Measures, Results, measures_of
from nandlab.calibrate.probe.simulated import MOST, experiment_of, fio_result
from nandlab.calibrate.runs import bench_of
from nandlab.running.batch import run_all

WARNED = 0.10
"""A deviation above this share is a warning."""
READ_BYTES = 128 * 2**20
"""Least capacity for the read jobs: 4 MiB, the longest distance, has places enough in it."""
LONGEST_BYTES = 128 * 2**20
"""Longer bursts are left out if they exceed the buffer by far: they only repeat the sustained rate."""
EDGE = (0.9, 1.2)
"""A burst of this many buffers is left out: a slightly smaller buffer changes its mean by a lot."""
FIGURES = {"iops": "requests a second", "mean_us": "mean latency", "sync_us": "mean time of a flush"}
"""Compared figures by their names in `Measures`."""


@dataclass(frozen=True)
class Repeat:
    """A job's figures on the drive, and on the found drive."""

    job: str
    measured: Measures
    simulated: Measures

    @property
    def errors(self) -> dict[str, float]:
        """Simulated over measured, less 1, by figure."""
        pairs = {name: (getattr(self.measured, name), getattr(self.simulated, name)) for name in FIGURES}
        return {name: new / old - 1 for name, (old, new) in pairs.items() if new and old}

    @property
    def worst(self) -> tuple[str, float]:
        """The figure with the largest deviation, and the deviation."""
        return max(self.errors.items(), key=lambda pair: abs(pair[1]))


def worst(repeats: Sequence[Repeat]) -> tuple[str, str, float] | None:
    """The job and the figure with the largest deviation, and the deviation; None without jobs."""
    if not repeats:
        return None
    found = max(repeats, key=lambda each: abs(each.worst[1]))
    return (found.job, *found.worst)


def sentence(repeats: Sequence[Repeat]) -> str:
    """How far the found drive is from the measured jobs; empty without jobs."""
    found = worst(repeats)
    if found is None:
        return ""
    job, figure, error = found
    most = f"{job} ({FIGURES[figure]} {100 * error:+.1f} %)"
    if abs(error) <= WARNED:
        return f"The found drive repeats {len(repeats)} jobs within {100 * abs(error):.1f} %; most in {most}."
    off = sum(abs(each.worst[1]) > WARNED for each in repeats)
    return (
        f"The found drive differs in {off} of {len(repeats)} jobs by more than {100 * WARNED:.0f} %, "
        f"most in {most}: the drive does something that the model lacks."
    )


def repeated(results: Results, drive: Drive, writes: bool, jobs: int | None = None) -> tuple[Repeat, ...]:
    """Runs the measured jobs on a drive.

    Args:
        results: The measured jobs.
        drive: The found drive.
        writes: Whether write jobs run, too.
        jobs: Simulated runs at once.

    Raises:
        NandlabError: A job cannot run on the drive.

    """
    chosen = [(READS, job) for job in READS.jobs if results.get(job.name)]
    if writes and "probe-writes" not in results.absent:
        chosen += [(WRITES, job) for job in _writes(results, drive)]
    longest = max((results.jobs[job.name].bytes for file, job in chosen if file is WRITES), default=0)
    benches = {
        file.name: bench_of(drive.built(1, least), MOST)
        for file, least in ((READS, READ_BYTES), (WRITES, max(READ_BYTES, 2 * longest)))
    }
    outcomes, stopped = run_all([experiment_of(benches[file.name], file, job) for file, job in chosen], jobs)
    if stopped:
        raise KeyboardInterrupt
    found = []
    for (file, job), outcome in zip(chosen, outcomes, strict=True):
        if outcome.result is None or outcome.error is not None:
            raise NandlabError(f"{file.name}, job {job.name}: {outcome.error}")
        simulated = measures_of(job, fio_result(job, 0, outcome.result), f"{file.name} on the found drive")
        found.append(Repeat(job.name, results.jobs[job.name], simulated))
    return tuple(found)


def _writes(results: Results, drive: Drive) -> Iterator[ProbeJob]:
    """The write jobs as they ran: a small drive cuts bursts off. Of equal ones the first."""
    seen = set()
    for job in WRITES.jobs:
        measures = results.get(job.name)
        if job.pauses or measures is None:
            continue
        if not job.name.startswith("burst"):
            # Behind capacitors the mean depends on how long the job fills the buffer.
            if not drive.protected:
                yield job
            continue
        size = measures.bytes
        if EDGE[0] * drive.buffer_bytes < size < EDGE[1] * drive.buffer_bytes:
            continue
        if (job.options["bs"], size) in seen or size > max(LONGEST_BYTES, 4 * drive.buffer_bytes):
            continue
        seen.add((job.options["bs"], size))
        yield replace(job, options={**job.options, "size": str(size)})
