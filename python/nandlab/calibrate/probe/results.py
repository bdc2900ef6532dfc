"""What fio wrote for the probe's jobs."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nandlab import reading
from nandlab._native import ConfigError
from nandlab.calibrate.fio_json import document_of
from nandlab.calibrate.probe.jobs import FILES, LOG, JobFile, ProbeJob
from nandlab.writing.new_file import readable

OPTIONAL = ("hot.512.qd32",)
"""Jobs that some drives refuse."""
COMPARED = ("rw", "bs", "iodepth", "size", "ba", "fsync", "io_size")
"""Options by which a result is known to be the job's."""


@dataclass(frozen=True)
class Measures:
    """A job's measurements; times in us."""

    iops: float
    mean_us: float
    requests: int
    bytes: int
    p50_us: float | None = None
    p99_us: float | None = None
    sync_us: float | None = None
    """Mean time of a flush."""
    sync_p99_us: float | None = None


@dataclass(frozen=True)
class Results:
    """All measurements by job, and the log of the overwrite."""

    jobs: Mapping[str, Measures]
    log: Sequence[tuple[float, float]] = ()
    """Seconds, and bytes written until then."""
    files: tuple[str, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict)
    """For each file that is not there, a sentence."""

    def get(self, name: str) -> Measures | None:
        """A job's measurements, if it ran."""
        return self.jobs.get(name)


def read_results(folder: str | os.PathLike[str]) -> Results:
    """The results in a folder.

    Raises:
        ConfigError: With the file and the job: no results, a damaged file, other jobs, or a missing job.
        OSError: A file cannot be read.

    """
    root = Path(folder)
    jobs: dict[str, Measures] = {}
    found, absent = [], {}
    for file in FILES:
        path = root / f"{file.name}.json"
        if path.is_file():
            jobs |= _file(path, file)
            found.append(readable(path))
        else:
            absent[file.name] = f"{file.name}.json is not there: run {file.name}.fio"
    if not found:
        raise ConfigError(
            f"{readable(root)}: there are no results: write jobs with --probe-jobs, "
            f"run them with fio, and expect {', '.join(f'{file.name}.json' for file in FILES)}"
        )
    log: Sequence[tuple[float, float]] = ()
    if "overwrite" in jobs:
        path = root / LOG
        if not path.is_file():
            raise ConfigError(f"{readable(path)}: the log is missing: run probe-overwrite.fio again")
        log = read_log(path)
    return Results(jobs, log, tuple(found), absent)


def _file(path: Path, file: JobFile) -> dict[str, Measures]:
    name = readable(path)
    given = document_of(path).get("jobs")
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise ConfigError(f"{name}: there is no list of jobs: is this what fio --output-format=json wrote?")
    by_name = {str(each.get("jobname")): each for each in given}
    wanted = [job for job in file.jobs if not job.pauses]
    if not any(job.name in by_name for job in wanted):
        raise ConfigError(f"{name}: these are results of other jobs: run {file.name}.fio from --probe-jobs")
    found = {}
    for job in wanted:
        result = by_name.get(job.name)
        usable = result is not None and not result.get("error")
        if usable and result is not None:
            found[job.name] = measures_of(job, result, name)
        elif job.name not in OPTIONAL:
            why = "is missing" if result is None else f"ended with error {result['error']}"
            raise ConfigError(f"{name}: the job {job.name} {why}: run {file.name}.fio again")
    return found


def measures_of(job: ProbeJob, result: Mapping[str, Any], name: str) -> Measures:
    """A job's measurements from fio's result for it.

    Args:
        job: The job.
        result: An item of fio's `jobs`.
        name: The file's name, for errors.

    Raises:
        ConfigError: With the job: other options, or figures that are not as fio writes them.

    """
    where = f"{name}, job {job.name}"
    options = result.get("job options", {})
    if not isinstance(options, Mapping):
        raise ConfigError(f"{where}: its options are not as fio writes them")
    for key in COMPARED:
        if options.get(key) != job.options.get(key):
            raise ConfigError(
                f"{where}: {key} is {options.get(key, 'not there')}, and the probe's job has "
                f"{job.options.get(key, 'none')}: run the job files unchanged"
            )
    side = result.get("read" if "read" in job.options["rw"] else "write", {})
    try:
        spread = side["clat_ns"] if side.get("clat_ns", {}).get("N") else side["lat_ns"]
        percentiles = spread.get("percentile", {})
        p50, p99 = (percentiles.get(key) for key in ("50.000000", "99.000000"))
        sync = result.get("sync", {}).get("lat_ns", {}) if "fsync" in job.options else {}
        flush_p99 = sync.get("percentile", {}).get("99.000000")
        found = Measures(
            iops=float(side["iops"]),
            mean_us=float(spread["mean"]) / 1000,
            requests=int(side["total_ios"]),
            bytes=int(side["io_bytes"]),
            p50_us=None if p50 is None else float(p50) / 1000,
            p99_us=None if p99 is None else float(p99) / 1000,
            sync_us=float(sync["mean"]) / 1000 if sync.get("N") else None,
            sync_p99_us=None if flush_p99 is None else float(flush_p99) / 1000,
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise ConfigError(
            f"{where}: iops, total_ios, io_bytes or latencies are not as fio writes them"
        ) from None
    if found.requests == 0 or found.bytes <= 0 or not found.iops > 0 or not found.mean_us > 0:
        raise ConfigError(f"{where}: no request was measured")
    return found


def read_log(path: Path) -> list[tuple[float, float]]:
    """Seconds and bytes so far from fio's log of bandwidth.

    Raises:
        ConfigError: With the line.

    """
    found, last_ms, total = [], 0.0, 0.0
    for at, line in enumerate(reading.text(path, errors="replace").splitlines(), 1):
        try:
            now_ms, rate = (float(cell) for cell in line.split(",")[:2])
            if not math.isfinite(now_ms) or not math.isfinite(rate):
                raise ValueError
        except ValueError:
            raise ConfigError(
                f"{readable(path)}, line {at}: expected milliseconds and KiB/s, given {line!r}"
            ) from None
        # A line of the same millisecond, or an earlier one, has no time for its bytes.
        if now_ms <= last_ms:
            continue
        total += rate * 1024 * (now_ms - last_ms) / 1000
        last_ms = now_ms
        found.append((now_ms / 1000, total))
    if len(found) < 10:
        raise ConfigError(f"{readable(path)}: {len(found)} lines are too few: expected at least 10")
    return found
