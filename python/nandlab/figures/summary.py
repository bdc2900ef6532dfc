"""The figures that come first, for the terminal and for reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nandlab.figures import collectors, fdp, file_system, index, path, recyclings, sampled, wear, zones
from nandlab.figures.longest import longest_words
from nandlab.figures.table import Column
from nandlab.record.made import (
    BufferCounts,
    Controller,
    Faults,
    Latencies,
    Latency,
    Preconditioning,
    Reliability,
    SlcCounts,
)
from nandlab.record.record import Record, lives
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


def headline(result: Record) -> list[tuple[str, str, str]]:
    """Name, value and explanation for each figure; latencies are in `latency_table`."""
    host, flash, wear = result.host, result.flash, result.wear
    if result.fs is not None and not has_device(result):
        return file_system.directory_rows(result.fs, result.speed)
    rows = [
        ("requests", units.count(host.requests), _request_kinds(result)),
        ("host writes", units.size(host.written_sectors * 512), ""),
        ("host reads", units.size(host.read_sectors * 512), ""),
        ("time", units.time_us(result.time_us), _throughput(result)),
        ("write amplification", units.ratio(result.waf), _waf_parts(result)),
        ("flash programs", units.count(flash.programs), _program_parts(result)),
        ("flash reads", units.count(flash.reads), _read_parts(result)),
        ("erases", units.count(flash.erases), _erase_parts(result)),
        ("P/E cycles", f"{wear.min} / {wear.mean:.1f} / {wear.max}", "least / mean / most of a block"),
    ]
    rows[1:1] = sampled.rows(result)
    rows += recyclings.rows(result)
    if result.index is not None:
        rows = [*index.rows(result.index), *rows]
    if result.fs is not None:
        rows = [*file_system.rows(result.fs), *file_system.device_rows(result), *rows]
    longest = result.longest_request
    if longest is not None:
        after = next(at for at, row in enumerate(rows) if row[0] == "time") + 1
        can_explain = "tenants" not in result.experiment["workload"]
        words = longest_words(longest, can_explain)
        rows.insert(after, ("longest request", units.time_us(longest.latency_us), words))
    rows += path.rows(result)
    rows += _years(result)
    if result.time_us is None:
        rows = [row for row in rows if row[0] != "time"]
    if result.energy_j is not None:
        energy = result.energy_j
        parts = ", ".join(
            f"{kind} {units.energy_j(getattr(energy, kind))}" for kind in ("read", "program", "erase")
        )
        named = "energy" if result.buffer is None or result.buffer.energy_j is None else "energy of the flash"
        rows.append((named, units.energy_j(energy.total), parts))
    if result.buffer is not None:
        rows += _energy_with_buffer(result, result.buffer)
        rows.append(("write buffer", _share_of_hits(result.buffer), _buffer_parts(result.buffer)))
        rows += _saving(result.buffer)
    rows += _slc(result.slc)
    rows += fdp.rows(result)
    rows += zones.rows(result)
    rows += _memory(result)
    faults = result.faults
    if faults is not None:
        failed = faults.failed_programs + faults.failed_erases
        rows.append(("failures", units.count(failed), _failures(result, faults)))
    rows += _bit_errors(result, result.reliability)
    before = result.precondition
    if before is not None:
        words = (
            f"WAF {units.ratio(before.waf)}, {units.counted(before.flash.erases, 'erase')}"
            f"{''.join(f', {words}' for words in steadiness(before))}; in no figure above but P/E cycles"
        )
        options = result.experiment["precondition"]
        # Only a state's file says how it was made.
        is_pages = not any(options.get(key) for key in ("steady_writes", "warm_up", "from_state"))
        noun = "page" if is_pages else "request"
        rows.append(("written before", units.counted(before.requests, noun), words))
    return rows


def steadiness(before: Preconditioning) -> list[str]:
    """The steady state before the workload, and the time until then; empty if nobody asked."""
    if before.windows is None:
        return []
    return [f"{'' if before.steady else 'not '}steady after {units.counted(before.windows, 'window')}"]


def between(bounds: Sequence[float], write: Callable[[float], str] = units.short) -> str:
    """A figure between two bounds, or one if both are written alike."""
    least, most = (write(bound) for bound in bounds)
    return least if least == most else f"{least} to {most}"


def _years(result: Record) -> list[tuple[str, str, str]]:
    """The device's life at the daily writes, if the experiment states them."""
    life = result.lifetime
    said = result.experiment["host"].get("daily") or (
        life and life.daily_bytes and units.size(life.daily_bytes)
    )
    if said is None:
        return []
    if life is None:
        return [("years", units.NO_VALUE, "no block was erased: the run is too short to say")]
    told = [(until, between(each.years)) for until, each in lives(life) if each.years is not None]
    if not told:
        return [("years", units.NO_VALUE, "the run is too short to say")]
    first, *others = told
    words = "".join(f"; {years} until {until}" for until, years in others)
    return [("years", first[1], f"at {said} a day until the {first[0]} reaches its endurance{words}")]


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


def _throughput(result: Record) -> str:
    rate = result.throughput
    if rate is None or not result.time_us:
        return "simulated"
    parts = [f"{units.short(rate.requests_per_s)} requests/s"]
    for words, number in (("read", rate.read_mb_per_s), ("written", rate.written_mb_per_s)):
        if number:
            parts.append(f"{units.short(number)} MB/s {words}")
    return f"simulated; {', '.join(parts)}"


def _read_parts(result: Record) -> str:
    ahead = result.reads_ahead
    return f"pages; {units.count(ahead)} before an erase or a program that gave way" if ahead else "pages"


def _program_parts(result: Record) -> str:
    words = f"pages of {units.size(result.device.page_bytes)}"
    joined = result.joined_programs
    return f"{words}; {units.count(joined)} in the time of another plane's" if joined else words


def _erase_parts(result: Record) -> str:
    merges = result.merges
    counts = {
        "garbage collection": result.gc.runs,
        "of them aggressive": result.gc.aggressive,
        "of them in gaps": result.gc.idle_runs,
        "emptied": result.gc.emptied,
        "switch merge": merges.switch,
        "partial merge": merges.partial,
        "full merge": merges.full,
        "migration": result.migrations,
    }
    adjectives = ("of them aggressive", "of them in gaps", "emptied")
    words = ", ".join(
        f"{units.count(number)} {name}" if name in adjectives else units.counted(number, name)
        for name, number in counts.items()
        if number
    )
    shares = erases_by_origin(result)
    if len(shares) < 2:
        return words
    asked = ", ".join(f"{plain(origin)} {units.percent(share, 0)}" for origin, share in shares.items())
    return f"{words}; for {asked}" if words else f"for {asked}"


def erases_by_origin(result: Record) -> dict[str, float]:
    """Each origin's share in all erases, the largest first; empty without erases."""
    erases: dict[str, float] = {}
    for cell in result.matrix:
        if cell.erases:
            erases[cell.origin] = erases.get(cell.origin, 0.0) + cell.erases
    total = sum(erases.values())
    return {origin: erases[origin] / total for origin in sorted(erases, key=lambda name: -erases[name])}


def _share_of_hits(buffer: BufferCounts) -> str:
    return f"{_percent(_hits(buffer))} hits"


def _buffer_parts(buffer: BufferCounts) -> str:
    counts = {
        "pages hit": buffer.hits,
        "missed": buffer.misses,
        "demoted": buffer.demotions,
        "batches written back": buffer.flushes,
    }
    parts = [f"{units.count(number)} {words}" for words, number in counts.items() if number]
    if buffer.placement is not None and buffer.placement.nvram_share is not None:
        parts.append(f"{_percent(buffer.placement.nvram_share)} of requests to NVRAM")
    if buffer.placement is not None and buffer.placement.write_intensive_share is not None:
        parts.append(f"{_percent(buffer.placement.write_intensive_share)} of intervals write-intensive")
    return ", ".join(parts)


def _energy_with_buffer(result: Record, buffer: BufferCounts) -> list[tuple[str, str, str]]:
    """Energy for the buffer's memories, and everything together; nothing if no energy is stated."""
    used = buffer.energy_j
    if used is None:
        return []
    rows = []
    for name, memory in (("DRAM", used.dram), ("NVRAM", used.nvram)):
        if memory is not None:
            dynamic = memory.read + memory.write + memory.header
            static = "no time" if memory.static is None else f"static {units.energy_j(memory.static)}"
            words = f"accesses {units.energy_j(dynamic)}, {static}; {units.size(memory.bytes)}"
            total = dynamic if memory.total is None else memory.total
            rows.append((f"energy of {name}", units.energy_j(total), words))
    whole = result.energy_all_j
    if whole is not None and whole.total is not None:
        words = f"static {units.percent((whole.static or 0.0) / whole.total)}" if whole.total else ""
        if whole.per_gb_written is not None:
            words += f"; {units.energy_j(whole.per_gb_written)} for each GB written"
        rows.append(("energy", units.energy_j(whole.total), words))
    return rows


def _slc(counts: SlcCounts | None) -> list[tuple[str, str, str]]:
    """Host writes to one-bit blocks, and past them; nothing if neither happened."""
    if counts is None:
        return []
    written = counts.written_pages + counts.direct_pages
    words = {
        "written to it": counts.written_pages,
        "past it": counts.direct_pages,
        f"folded out of {units.counted(counts.folds, 'block')}": counts.folded_pages,
    }
    said = ", ".join(f"{units.counted(number, 'page')} {name}" for name, number in words.items() if number)
    share = counts.written_pages / written if written else None
    return [("SLC cache", _percent(share), said)] if said else []


def _saving(buffer: BufferCounts) -> list[tuple[str, str, str]]:
    """The bytes a capacitor must cover; nothing if a cut would never have lost data in DRAM."""
    most, end = buffer.saving_max, buffer.saving_at_end
    if not most.bytes:
        return []
    words = f"{units.time_us(most.ms * 1000)} to program them; {units.size(end.bytes)} at the end"
    return [("lost with the power", units.size(most.bytes), f"dirty in DRAM at most, {words}")]


def _failures(result: Record, faults: Faults) -> str:
    counts = {name: number for name, number in faults.to_dict().items() if number}
    if result.host.unreadable:
        counts["unreadable requests"] = result.host.unreadable
    return ", ".join(f"{units.count(number)} {plain(name)}" for name, number in counts.items())


def _bit_errors(result: Record, told: Reliability | None) -> list[tuple[str, str, str]]:
    """Retries, and the outcome for repeated reads; nothing if no cell ages."""
    if told is None:
        return []
    counts = {
        "reads repeated": told.retried_reads,
        "uncorrectable reads": told.uncorrectable_reads,
        "blocks refreshed": told.refreshes,
        "lost pages": told.lost_pages,
        "unreadable requests": result.host.unreadable if result.faults is None else 0,
    }
    words = [f"{units.count(number)} {name}" for name, number in counts.items() if number]
    words.insert(0, f"at most {told.most_errors:.1f} wrong bits expected in a codeword")
    return [("read retries", units.count(told.retries), ", ".join(words))]


def latency_of(result: Record, kind: str) -> Latency | None:
    """Latency for a request kind; None without such requests, or without time."""
    latency = None if result.latency_us is None else getattr(result.latency_us, kind)
    return latency if latency is not None and latency.count else None


def _request_kinds(result: Record) -> str:
    kinds = {"reads": "read", "writes": "write", "trims": "trim", "flushes": "flush"}
    counts = ((kind, getattr(result.host, name)) for name, kind in kinds.items())
    return ", ".join(units.counted(number, kind) for kind, number in counts if number)


def _waf_parts(result: Record) -> str:
    return ", ".join(f"{plain(cause)} {part:.3f}" for cause, part in result.waf_by_cause().items())


def _memory(result: Record) -> list[tuple[str, str, str]]:
    """Memory needed by firmware, and the controller's own memory if the device states it."""
    found = result.ram.controller
    rows = [("RAM", units.size(result.ram.total_bytes), _ram_parts(result))]
    return rows if found is None else [*rows, ("controller", *controller(found))]


def _ram_parts(result: Record) -> str:
    parts = [*result.ram.sram.items(), *result.ram.dram.items()]
    largest = sorted(parts, key=lambda part: -part[1])[:3]
    return ", ".join(f"{plain(name)} {units.size(number)}" for name, number in largest)


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


def _hits(buffer: BufferCounts | None) -> float | None:
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


def _percent(share: float | None) -> str:
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
    Column("buffer hits", lambda result: _hits(result.buffer), _percent, high=True),
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
        "WAF: flash programs / host writes.": simulated,
        "Most P/E: cycles of the most worn block.": simulated,
        "By the clock: transactions in a real directory on this machine, not the same twice.": by_the_clock,
        "A real directory has no flash to count, and how long it took is not kept in a sweep.": not simulated
        and not by_the_clock
        and bool(results),
        collectors.told(results): True,
    }
    return " ".join(sentence for sentence, applies in said.items() if sentence and applies)


def columns(results: Sequence[Record]) -> list[Column[Record]]:
    """A comparison's columns, without any column empty for all `results`."""
    known = (_COLUMNS[0], wear.column(results), *_COLUMNS[1:])
    return [column for column in known if any(column.value(result) is not None for result in results)]
