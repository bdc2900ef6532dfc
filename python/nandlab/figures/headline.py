"""The summary of a run: a name, a value and an explanation for each figure."""

from __future__ import annotations

from collections.abc import Callable

from nandlab.figures import fdp, file_system, index, path, recyclings, sampled, zones
from nandlab.figures.longest import longest_words
from nandlab.figures.summary import (
    between,
    controller,
    erases_by_origin,
    has_device,
    percent,
    plain,
    share_of_hits,
    steadiness,
)
from nandlab.record.made import BufferCounts, Faults
from nandlab.record.record import Record, lives
from nandlab.writing import units

Row = tuple[str, str, str]


def headline(result: Record) -> list[Row]:
    """Name, value and explanation for each figure; latencies are in `latency_table`."""
    if result.fs is not None and not has_device(result):
        return file_system.directory_rows(result.fs, result.speed)
    return [row for part in HEADLINE for row in part(result)]


def _files(result: Record) -> list[Row]:
    fs = result.fs
    return [] if fs is None else [*file_system.rows(fs), *file_system.device_rows(result)]


def _keys(result: Record) -> list[Row]:
    return [] if result.index is None else index.rows(result.index)


def _requests(result: Record) -> list[Row]:
    return [("requests", units.count(result.host.requests), _request_kinds(result))]


def _traffic(result: Record) -> list[Row]:
    host = result.host
    return [
        ("host writes", units.size(host.written_sectors * 512), ""),
        ("host reads", units.size(host.read_sectors * 512), ""),
    ]


def _time(result: Record) -> list[Row]:
    if result.time_us is None:
        return []
    return [("time", units.time_us(result.time_us), _throughput(result))]


def _longest(result: Record) -> list[Row]:
    longest = result.longest_request
    if longest is None:
        return []
    words = longest_words(longest, "tenants" not in result.experiment["workload"])
    return [("longest request", units.time_us(longest.latency_us), words)]


def _flash(result: Record) -> list[Row]:
    flash, wear = result.flash, result.wear
    return [
        ("write amplification", units.ratio(result.waf), _waf_parts(result)),
        ("flash programs", units.count(flash.programs), _program_parts(result)),
        ("flash reads", units.count(flash.reads), _read_parts(result)),
        ("erases", units.count(flash.erases), _erase_parts(result)),
        ("P/E cycles", f"{wear.min} / {wear.mean:.1f} / {wear.max}", "least / mean / most of a block"),
    ]


def _energy(result: Record) -> list[Row]:
    energy = result.energy_j
    if energy is None:
        return []
    parts = ", ".join(
        f"{kind} {units.energy_j(getattr(energy, kind))}" for kind in ("read", "program", "erase")
    )
    named = "energy" if result.buffer is None or result.buffer.energy_j is None else "energy of the flash"
    return [(named, units.energy_j(energy.total), parts)]


def _buffer(result: Record) -> list[Row]:
    buffer = result.buffer
    if buffer is None:
        return []
    own = ("write buffer", _share_of_hits(buffer), _buffer_parts(buffer))
    return [*_energy_with_buffer(result, buffer), own, *_saving(buffer)]


def _broken(result: Record) -> list[Row]:
    faults = result.faults
    if faults is None:
        return []
    failed = faults.failed_programs + faults.failed_erases
    return [("failures", units.count(failed), _failures(result, faults))]


def _before(result: Record) -> list[Row]:
    before = result.precondition
    if before is None:
        return []
    words = (
        f"WAF {units.ratio(before.waf)}, {units.counted(before.flash.erases, 'erase')}"
        f"{''.join(f', {words}' for words in steadiness(before))}; in no figure above but P/E cycles"
    )
    options = result.experiment["precondition"]
    # Only a state's file says how it was made.
    is_pages = not any(options.get(key) for key in ("steady_writes", "warm_up", "load", "from_state"))
    noun = "page" if is_pages else "request"
    return [("written before", units.counted(before.requests, noun), words)]


def _years(result: Record) -> list[Row]:
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


def _share_of_hits(buffer: BufferCounts) -> str:
    return f"{percent(share_of_hits(buffer))} hits"


def _buffer_parts(buffer: BufferCounts) -> str:
    counts = {
        "pages hit": buffer.hits,
        "missed": buffer.misses,
        "demoted": buffer.demotions,
        "batches written back": buffer.flushes,
    }
    parts = [f"{units.count(number)} {words}" for words, number in counts.items() if number]
    if buffer.placement is not None and buffer.placement.nvram_share is not None:
        parts.append(f"{percent(buffer.placement.nvram_share)} of requests to NVRAM")
    if buffer.placement is not None and buffer.placement.write_intensive_share is not None:
        parts.append(f"{percent(buffer.placement.write_intensive_share)} of intervals write-intensive")
    return ", ".join(parts)


def _energy_with_buffer(result: Record, buffer: BufferCounts) -> list[Row]:
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


def _slc(result: Record) -> list[Row]:
    """Host writes to one-bit blocks, and past them; nothing if neither happened."""
    counts = result.slc
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
    return [("SLC cache", percent(share), said)] if said else []


def _saving(buffer: BufferCounts) -> list[Row]:
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


def _bit_errors(result: Record) -> list[Row]:
    """Retries, and the outcome for repeated reads; nothing if no cell ages."""
    told = result.reliability
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


def _request_kinds(result: Record) -> str:
    kinds = {"reads": "read", "writes": "write", "trims": "trim", "flushes": "flush"}
    counts = ((kind, getattr(result.host, name)) for name, kind in kinds.items())
    return ", ".join(units.counted(number, kind) for kind, number in counts if number)


def _waf_parts(result: Record) -> str:
    return ", ".join(f"{plain(cause)} {part:.3f}" for cause, part in result.waf_by_cause().items())


def _memory(result: Record) -> list[Row]:
    """Memory needed by firmware, and the controller's own memory if the device states it."""
    found = result.ram.controller
    rows = [("RAM", units.size(result.ram.total_bytes), _ram_parts(result))]
    return rows if found is None else [*rows, ("controller", *controller(found))]


def _ram_parts(result: Record) -> str:
    parts = [*result.ram.sram.items(), *result.ram.dram.items()]
    largest = sorted(parts, key=lambda part: -part[1])[:3]
    return ", ".join(f"{plain(name)} {units.size(number)}" for name, number in largest)


HEADLINE: tuple[Callable[[Record], list[Row]], ...] = (
    _files,
    _keys,
    _requests,
    sampled.rows,
    _traffic,
    _time,
    _longest,
    _flash,
    recyclings.rows,
    path.rows,
    _years,
    _energy,
    _buffer,
    _slc,
    fdp.rows,
    zones.rows,
    _memory,
    _broken,
    _bit_errors,
    _before,
)
"""The parts of a summary, in their order; each is empty where the run has nothing to say."""
