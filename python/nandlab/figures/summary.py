"""The figures that come first, for the terminal and for reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nandlab.figures import collectors, index, wear
from nandlab.figures.table import Column
from nandlab.record.made import (
    BufferCounts,
    Controller,
    Latencies,
    Latency,
    Preconditioning,
)
from nandlab.record.record import Record
from nandlab.writing import units


def title(result: Record) -> str:
    """One line about the design.

    The FTL, the device, its logical size and over-provisioning; without a device the file system.
    """
    device = result.device
    if not has_device(result):
        return f"posix, in the directory {result.experiment['fs']['posix']['directory']}"
    if "ftl" not in result.experiment:
        size, page = units.size(device.physical_bytes), units.size(device.page_bytes)
        return f"{ftl_name(result)} on {device.name}, {size} of bare flash, {page} pages"
    return (
        f"{ftl_name(result)} on {device.name}, {units.size(device.logical_bytes)} for the host, "
        f"{units.percent(device.over_provisioning)} over-provisioning, {units.size(device.page_bytes)} pages"
    )


def has_device(result: Record) -> bool:
    """True if there was a device; a real directory has none, and nothing to say about flash."""
    return result.device.blocks > 0


def ftl_name(result: Record) -> str:
    """The FTL's name, or without one the file system's."""
    return next(iter(result.experiment.get("ftl", result.experiment.get("fs", {}))), "ftl")


def workload_name(result: Record) -> str:
    """The workload: a trace's file, else the generator."""
    kind, options = next(iter(result.experiment["workload"].items()))
    # A trace's lines may stand in the experiment.
    return str(options.get("path", kind)).rsplit("/", 1)[-1] if kind in ("trace", "keys") else kind


def steadiness(before: Preconditioning) -> list[str]:
    """The steady state before the workload, and the time until then; empty if nobody asked."""
    if before.windows is None:
        return []
    return [f"{'' if before.steady else 'not '}steady after {units.counted(before.windows, 'window')}"]


def between(bounds: Sequence[float], write: Callable[[float], str] = units.short) -> str:
    """A figure between two bounds, or one if both are written alike."""
    least, most = (write(bound) for bound in bounds)
    return least if least == most else f"{least} to {most}"


LATENCY_TITLES = ("latency of a", "requests", "mean", "p50", "p90", "p99", "p99.9", "longest")


def _recorded(latencies: Latencies | None, kind: str) -> Latency | None:
    return None if latencies is None else getattr(latencies, kind)


def latency_table(result: Record) -> list[tuple[str, ...]]:
    """Latencies by request kind, a row under `LATENCY_TITLES` for each kind in the run.

    The trace's recorded latencies stand below the simulated ones.
    """
    rows = []
    kinds = ("read", "write", "trim", "flush")
    found = []
    for kind in kinds:
        found += [
            (kind, latency_of(result, kind)),
            (f"{kind}, recorded", _recorded(result.recorded_latency_us, kind)),
            (
                f"{kind}, recorded, device alone",
                _recorded(result.recorded_service_us, kind),
            ),
        ]
    if result.index is not None and result.index.latency_us is not None:
        operations = result.index.latency_us
        found += [(f"index {kind}", getattr(operations, kind)) for kind in kinds]
    if result.fs is not None and result.fs.latency_us is not None:
        on_files = result.fs.latency_us
        words = {"read": "file read", "write": "file change", "flush": "file sync"}
        found += [(name, getattr(on_files, kind)) for kind, name in words.items()]
    for row in result.latency_by_origin or []:
        found += [(f"{plain(row.origin)}: {kind}", getattr(row.latency_us, kind)) for kind in kinds]
    for kind, latency in found:
        if latency is not None:
            values = (latency.mean, latency.p50, latency.p90, latency.p99, latency.p999, latency.max)
            rows.append((kind, units.count(latency.count), *(units.time_us(value) for value in values)))
    return rows


def erases_by_origin(result: Record) -> dict[str, float]:
    """Each origin's share in all erases, the largest first; empty without erases."""
    erases: dict[str, float] = {}
    for cell in result.matrix:
        if cell.erases:
            erases[cell.origin] = erases.get(cell.origin, 0.0) + cell.erases
    total = sum(erases.values())
    return {origin: erases[origin] / total for origin in sorted(erases, key=lambda name: -erases[name])}


def latency_of(result: Record, kind: str) -> Latency | None:
    """Latency for a request kind; None without such requests, or without time."""
    latency = None if result.latency_us is None else getattr(result.latency_us, kind)
    return latency if latency is not None and latency.count else None


def controller(found: Controller) -> tuple[str, str]:
    """The share in a controller's memories needed by firmware, and the sizes with any shortfall.

    For a memory not given in the device profile, only the firmware's need is told.
    """
    memories = (
        ("SRAM", found.used_sram_bytes, found.sram_bytes),
        ("DRAM", found.used_dram_bytes, found.dram_bytes),
    )
    shares = [f"{name} {units.percent(used / there, 0)}" for name, used, there in memories if there]
    sizes = [f"{units.size(used)} of {units.size(there)}" for _, used, there in memories if there]
    missing = [
        f"{units.size(used - there)} of {name} are missing"
        for name, used, there in memories
        if there is not None and used > there
    ]
    not_given = [
        f"{name} is not given, and {units.size(used)} are needed"
        for name, used, there in memories
        if there is None and used
    ]
    return ", ".join(shares), "; ".join([", ".join(sizes), *missing, *not_given])


def run_name(labels: Mapping[str, str]) -> str:
    """A run's distinguishing values in one line; words speak for themselves, numbers need their title.

    >>> run_name({"trace": "wal", "OP": "7 %"})
    'wal, OP 7 %'
    """
    return ", ".join(
        f"{plain(title)} {value}" if value[:1].isdigit() else value for title, value in labels.items()
    )


def plain(name: str) -> str:
    """A key as words.

    >>> plain("read_modify_write")
    'read modify write'
    """
    return name.replace("_", " ")


def share_of_hits(buffer: BufferCounts | None) -> float | None:
    """The share in pages held by a buffer."""
    asked = 0 if buffer is None else buffer.hits + buffer.misses
    return buffer.hits / asked if buffer is not None and asked else None


def _latency(kind: str, percentile: str) -> Callable[[Record], float | None]:
    def number(result: Record) -> float | None:
        latency = latency_of(result, kind)
        return None if latency is None else getattr(latency, percentile)

    return number


def _of_device(result: Record, number: float) -> float | None:
    return number if has_device(result) else None


def _transactions_by_the_clock(result: Record) -> float | None:
    """How long the transactions took in a real directory, in microseconds."""
    # A sweep's point has no speed: figures differing from run to run are not kept.
    if has_device(result) or "speed" not in result.to_dict():
        return None
    phases = result.speed.phases
    return None if phases is None else phases.transactions_s * 1e6


def percent(share: float | None) -> str:
    """A share in words; a dash without one."""
    return units.NO_VALUE if share is None else units.percent(share)


def _joules_per_gb(result: Record) -> float | None:
    """Energy for a gigabyte written, with a buffer's energy if it has any."""
    buffer = result.buffer
    return (
        None
        if buffer is None or buffer.energy_j is None or result.energy_all_j is None
        else result.energy_all_j.per_gb_written
    )


_COLUMNS: tuple[Column[Record], ...] = (
    Column("WAF", lambda result: result.waf, units.ratio),
    Column("most P/E", lambda result: _of_device(result, result.wear.max), units.count),
    Column("time", lambda result: result.time_us, units.time_us),
    Column("write p50", _latency("write", "p50"), units.time_us),
    Column("write p99", _latency("write", "p99"), units.time_us),
    Column("read p99", _latency("read", "p99"), units.time_us),
    Column(
        "energy",
        lambda result: None if result.energy_all_j is None else result.energy_all_j.total,
        units.energy_j,
    ),
    Column("J/GB written", _joules_per_gb, units.energy_j),
    Column("buffer hits", lambda result: share_of_hits(result.buffer), percent, high=True),
    Column(
        "index writes",
        lambda result: None if result.index is None else result.index.page_writes.total,
        units.count,
    ),
    Column("pool hits", lambda result: index.hit_share(result.index), index.percent, high=True),
    Column(
        "transactions",
        lambda result: None if result.fs is None else result.fs.phases.transactions.time_us,
        units.time_us,
    ),
    Column("by the clock", lambda result: _transactions_by_the_clock(result), units.time_us),
    Column("RAM", lambda result: _of_device(result, result.ram.total_bytes), units.size),
)


def note(results: Sequence[Record]) -> str:
    """The meaning behind a comparison's titles, in sentences."""
    simulated = any(has_device(result) for result in results)
    by_the_clock = any(_transactions_by_the_clock(result) is not None for result in results)
    said = {
        "Times are simulated.": simulated,
        "WAF: bytes programmed / bytes written by the host.": simulated,
        "WAF and writes are the workload's on bare flash, and FAT's over an FTL: compare erases and "
        "the times of files instead.": _on_bare_flash(results) == {True, False},
        "Most P/E: cycles of the most worn block.": simulated,
        "By the clock: transactions in a real directory on this machine, not the same twice.": by_the_clock,
        "A real directory has no flash to count, and how long it took is not kept in a sweep.": not simulated
        and not by_the_clock
        and bool(results),
        collectors.told(results): True,
    }
    return " ".join(sentence for sentence, applies in said.items() if sentence and applies)


def _on_bare_flash(results: Sequence[Record]) -> set[bool]:
    """Whether the results' file systems, if they have some, stand on bare flash."""
    return {
        "ftl" not in result.experiment for result in results if result.fs is not None and has_device(result)
    }


def columns(results: Sequence[Record]) -> list[Column[Record]]:
    """A comparison's columns, without any column empty for all `results`."""
    known = (_COLUMNS[0], wear.column(results), *_COLUMNS[1:])
    return [column for column in known if any(column.value(result) is not None for result in results)]
