"""Rows from fio's output with `--output-format=json`."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from nandlab import reading
from nandlab._native import ConfigError
from nandlab.calibrate.rows import KINDS, Case, Job, Row, bytes_of, checked, named_row
from nandlab.writing.new_file import readable

PERCENTILES = {
    "50.000000": "p50_us",
    "90.000000": "p90_us",
    "99.000000": "p99_us",
    "99.900000": "p999_us",
}
"""fio percentiles used in a row."""

WAITING = ("psync", "sync", "pvsync", "pvsync2", "vsync", "mmap")
"""Engines with one request outstanding whatever `iodepth` says."""

REFUSED = (
    "bsrange",
    "bssplit",
    "blocksize_range",
    "rate_iops",
    "random_distribution",
    "thinktime",
    "zonemode",
)
"""Options that change the requests and do not fit in a row."""


def read_fio(path: str | os.PathLike[str], say: Callable[[str], object] = lambda _: None) -> list[Case]:
    """A fio file's rows; jobs without `stonewall` between them ran at the same time.

    Args:
        path: The file.
        say: Called with a sentence about latencies that differ slightly from a row's meaning.

    Raises:
        ConfigError: With the file, the job and the option.
        OSError: The file cannot be read.

    """
    name = readable(path)
    document = document_of(Path(path))
    given, jobs = document.get("global options", {}), document.get("jobs")
    if not isinstance(jobs, list) or not jobs or not all(isinstance(job, dict) for job in jobs):
        raise ConfigError(f"{name}: there is no list of jobs: is this what fio --output-format=json wrote?")
    groups: dict[Any, list[Row]] = {}
    named = Counter((job.get("groupid", 0), job.get("jobname")) for job in jobs)
    for job in jobs:
        group = job.get("groupid", 0)
        # Without group_reporting each clone stands for itself.
        is_clone = named[group, job.get("jobname")] > 1
        groups.setdefault(group, []).extend(_rows(job, given, name, is_clone, say))
    return [Case(tuple(rows)) for rows in groups.values()]


def document_of(path: Path) -> dict[str, Any]:
    """The JSON document in fio's output.

    Raises:
        ConfigError: With the file, and the line of damage.
        OSError: The file cannot be read.

    """
    name = readable(path)
    try:
        text = reading.text(path)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name}: byte {error.start} is not UTF-8 text") from None
    # fio's warnings stand before the document.
    start = re.search(r"^\{", text, re.MULTILINE)
    if start is None:
        raise ConfigError(f"{name}: there is no JSON document: write it with fio --output-format=json")
    try:
        document, _ = json.JSONDecoder().raw_decode(text, start.start())
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"{name}, line {error.lineno}: the JSON document is cut off or damaged: {error.msg}"
        ) from None
    if not isinstance(document, dict):
        raise ConfigError(f"{name}: expected a JSON object, as fio writes it")
    return document


def _rows(
    job: Mapping[str, Any],
    shared: Mapping[str, str],
    name: str,
    is_clone: bool,
    say: Callable[[str], object],
) -> Iterator[Row]:
    """A row for each direction in a job."""
    label = str(job.get("jobname", "?"))
    where = f"{name}, job {label}"
    if job.get("error"):
        raise ConfigError(f"{where}: it ended with error {job['error']}; leave it out")
    # A job's own option replaces the shared one.
    options = {
        _long(key): text for table in (shared, job.get("job options", {})) for key, text in table.items()
    }
    for option in REFUSED:
        if option in options:
            raise ConfigError(f"{where}: {option}: a measured row cannot have it; leave the job out")
    spec = _job(options | ({"numjobs": "1"} if is_clone else {}), where)
    for direction in KINDS[spec.rw]:
        side = job.get(direction, {})
        measured = _figures(side)
        if measured:
            if _latencies(side) == "lat_ns":
                say(
                    f"{where}: {direction}: there are no percentiles of clat; those of lat are taken, "
                    "which begin before the request is submitted"
                )
            yield named_row(label, spec, direction, measured, where, False)
        else:
            raise ConfigError(f"{where}: {direction}: no request was measured")


def _long(option: str) -> str:
    return {"readwrite": "rw", "blocksize": "bs"}.get(option, option)


def _job(options: Mapping[str, str], where: str) -> Job:
    waits = options.get("ioengine", "psync") in WAITING
    sizes = {}
    for key, default in (("bs", "4k"), ("rate", "0")):
        # One size for reads and writes.
        parts = {part for part in options.get(key, default).split(",") if part}
        try:
            (sizes[key],) = {bytes_of(part) for part in parts}
        except ValueError:
            raise ConfigError(
                f"{where}: {key}: expected one size for all requests, given {options[key]!r}"
            ) from None
    try:
        iodepth, numjobs, mix = (
            int(options.get(key, default))
            for key, default in (("iodepth", "1"), ("numjobs", "1"), ("rwmixread", "50"))
        )
    except ValueError:
        raise ConfigError(f"{where}: iodepth, numjobs and rwmixread are whole numbers") from None
    rw = options.get("rw", "read").partition(":")[0]
    job = Job(rw, sizes["bs"], 1 if waits else iodepth, numjobs, mix, sizes["rate"])
    return checked(job, where)


def _latencies(side: Mapping[str, Any]) -> str | None:
    """The key for the latencies with percentiles: completion latency, else total latency."""
    return next((key for key in ("clat_ns", "lat_ns") if side.get(key, {}).get("percentile")), None)


def _figures(side: Mapping[str, Any]) -> dict[str, float]:
    """Measurements by fio for a direction. Latency is until completion, else the total."""
    if not side.get("total_ios"):
        return {}
    found = {"iops": float(side["iops"])}
    spread: Mapping[str, Any] = side.get(_latencies(side) or "", {})
    for percentile, figure in PERCENTILES.items():
        value = spread.get("percentile", {}).get(percentile)
        if value:
            found[figure] = value / 1000
    return found
