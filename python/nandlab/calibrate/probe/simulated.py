"""The probe's jobs on a simulated drive: writes what fio would write.

A file's jobs begin with the same drive: erased for `probe-writes` and `probe-fill`, filled in sequence for
the others. Each job runs alone on it, so that every burst meets an idle drive. Jobs with a runtime make a
fixed number of requests instead, because the simulated drive has no noise.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nandlab._native import ConfigError, NandlabError, version
from nandlab.calibrate.probe.jobs import FILL, LOG, OVERWRITE, SHARED, TARGET, WRITES, JobFile, ProbeJob
from nandlab.calibrate.rows import bytes_of
from nandlab.calibrate.runs import Bench, bench_of
from nandlab.experiment import Experiment
from nandlab.experiment.result import Result
from nandlab.running.batch import run_all
from nandlab.writing.new_file import write_whole
from nandlab.writing.toml_text import toml_value

REQUESTS = {1: 400, 32: 4000}
"""Requests of a job with a runtime, by queue depth; others make `MOST`."""
FLUSHES = 4000
"""Requests of a job with flushes: all dies gather their pages several times."""
MOST = 20_000
TIMED = ("time_based", "ramp_time", "runtime", "write_bw_log", "log_avg_msec")
"""Options for real time only."""


def simulate(
    experiment: Experiment,
    folder: str,
    files: Sequence[JobFile],
    progress: Callable[[float], object] | None = None,
    jobs: int | None = None,
) -> bool:
    """Runs the files' jobs on an experiment's device, and writes results into a folder.

    Returns:
        Whether all jobs ran; False after Ctrl-C, and nothing is written then.

    Raises:
        ConfigError: The experiment cannot run such jobs.
        NandlabError: A job failed.
        OSError: A file cannot be written.

    """
    bench = bench_of(experiment, MOST)
    pairs = [(file, job) for file in files for job in file.jobs]
    experiments = [experiment_of(bench, file, job) for file, job in pairs]
    outcomes, stopped = run_all(
        experiments, jobs, None if progress is None else lambda state: progress(state.share())
    )
    if stopped:
        return False
    results: dict[str, list[dict[str, Any]]] = {file.name: [] for file in files}
    for (file, job), outcome in zip(pairs, outcomes, strict=True):
        if outcome.result is None or outcome.error is not None:
            raise NandlabError(f"{file.name}, job {job.name}: {outcome.error}")
        results[file.name].append(fio_result(job, len(results[file.name]), outcome.result))
        if file is OVERWRITE:
            write_whole(Path(folder) / LOG, _log(outcome.result).encode())
    for file in files:
        text = json.dumps(_document(results[file.name]), indent=2)
        write_whole(Path(folder) / f"{file.name}.json", text.encode())
    return True


def experiment_of(bench: Bench, file: JobFile, job: ProbeJob) -> Experiment:
    """A job on an erased or filled drive, as its file needs it."""
    fill = "none" if file in (WRITES, FILL) else "sequential"
    tables = {
        "workload": {"fio": {"text": _text(job, bench.logical_bytes)}},
        "precondition": {"fill": fill},
    }
    return bench.experiment.override(*(f"{key}={toml_value(table)}" for key, table in tables.items()))


def _text(job: ProbeJob, logical_bytes: int) -> str:
    """The job for the simulator: as many requests as it needs, and no more than the drive has."""
    options = {key: text for key, text in job.options.items() if key not in TIMED}
    if "runtime" in job.options:
        count = FLUSHES if "fsync" in options else REQUESTS.get(int(options["iodepth"]), MOST)
        count = 10 if job.pauses else count
        options |= {"number_ios": str(count), "io_size": str(count * bytes_of(options["bs"]))}
    if options["rw"] == "randread":
        # A job with a runtime makes one pass. Without it reads alone would make one for each `size`, and
        # wait in between; a mix without writes makes one for all of `io_size`.
        options |= {"rw": "randrw", "rwmixread": "100"}
    # On an erased drive a burst's place does not matter.
    options.pop("offset", None)
    if options.get("size", "").endswith("m"):
        options["size"] = str(min(bytes_of(options["size"]), logical_bytes // 2**20 * 2**20))
    lines = [f"{key}={text}" for key, text in options.items()]
    return "\n".join(
        ["[global]", f"filename={TARGET}", "ioengine=libaio", *SHARED, f"[{job.name}]", *lines, ""]
    )


def _document(jobs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "fio version": f"fio-3.28 (nandlab {version()})",
        "global options": {"filename": TARGET, "ioengine": "libaio", "direct": "1"},
        "jobs": list(jobs),
    }


def fio_result(job: ProbeJob, group: int, result: Result) -> dict[str, Any]:
    """A job's results in the form of fio."""
    record = result.to_dict()
    if record["time_us"] is None:
        raise ConfigError("--simulate: a device that counts (device.model) has no times")
    time_us = float(record["time_us"])
    latencies = record["latency_us"]
    host = record["host"]
    sectors = {"read": host["read_sectors"], "write": host["written_sectors"]}
    found: dict[str, Any] = {
        "jobname": job.name,
        "groupid": group,
        "error": 0,
        "job options": {"name": job.name, **job.options, "stonewall": "1"},
        "job_runtime": round(time_us / 1000),
    }
    for side in ("read", "write"):
        found[side] = _side(latencies[side], sectors[side] * 512, time_us)
    flush = latencies["flush"]
    count = 0 if flush is None else flush["count"]
    found["sync"] = {"total_ios": count, "lat_ns": _spread(flush)}
    return found


def _side(spread: Mapping[str, Any] | None, size: int, time_us: float) -> dict[str, Any]:
    count = 0 if spread is None else spread["count"]
    seconds = time_us / 1e6
    busy = bool(count) and seconds > 0
    return {
        "io_bytes": size,
        "io_kbytes": size // 1024,
        "bw_bytes": round(size / seconds) if busy else 0,
        "iops": round(count / seconds, 6) if busy else 0.0,
        "runtime": round(time_us / 1000) if count else 0,
        "total_ios": count,
        "clat_ns": _spread(spread),
        "lat_ns": _spread(spread),
    }


def _spread(spread: Mapping[str, Any] | None) -> dict[str, Any]:
    """Latencies in nanoseconds."""
    if spread is None:
        return {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
    names = {"50.000000": "p50", "90.000000": "p90", "99.000000": "p99", "99.900000": "p999"}
    return {
        "max": round(1000 * spread["max"]),
        "mean": round(1000 * spread["mean"], 6),
        "N": spread["count"],
        "percentile": {key: round(1000 * spread[name]) for key, name in names.items()},
    }


def _log(result: Result) -> str:
    """The log of bandwidth: milliseconds, KiB/s, direction, block size, offset."""
    lines, last_ms, last_sectors = [], 0, 0
    for sample in result.to_dict()["series"]:
        now_ms, sectors = round(sample["time_us"] / 1000), sample["written_sectors"]
        if now_ms > last_ms:
            rate = (sectors - last_sectors) / 2 / (now_ms - last_ms) * 1000
            lines.append(f"{now_ms}, {round(rate)}, 1, 0, 0")
            last_ms, last_sectors = now_ms, sectors
    return "\n".join(lines) + "\n"
