"""A result as polars frames: the data behind every picture and table in a report.

Units stand last in column names, as in the record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nandlab.record.record import Record, lives

if TYPE_CHECKING:
    import polars

FIRST_BUCKET = 2**-0.25
"""A latency bucket begins at this multiple of its end."""

Rows = list[tuple[Any, ...]]


def _frame(rows: Rows, **columns: type) -> polars.DataFrame:
    import polars

    return polars.DataFrame(rows, schema=columns, orient="row")


def waf(result: Record) -> polars.DataFrame:
    """Write amplification by `cause`: `waf` (flash programs / host writes); it sums to the result's."""
    return _frame(list(result.waf_by_cause().items()), cause=str, waf=float)


def matrix(result: Record) -> polars.DataFrame:
    """Operations by `origin` and `cause`: a row for each non-empty cell, columns as in the record."""
    operations = ("reads", "programs", "copies", "erases", "spare_reads", "spare_programs")
    metadata = ("meta_reads", "meta_programs", "busy_us")
    names = (*operations, *metadata)
    types = {name: float if name in ("erases", "busy_us") else int for name in names}
    rows = [
        (cell.origin, cell.cause, *(types[name](getattr(cell, name)) for name in names))
        for cell in result.matrix
    ]
    return _frame(rows, origin=str, cause=str, **types)


LATENCY_KINDS = ("read", "write", "trim", "flush")
PERCENTILES = ("mean_us", "p50_us", "p90_us", "p99_us", "p999_us", "max_us")


def latency(result: Record) -> polars.DataFrame:
    """Latency by `request` kind: `count`, mean and percentiles in microseconds."""
    found = result.latency_us
    each = [(kind, None if found is None else getattr(found, kind)) for kind in LATENCY_KINDS]
    rows = [
        (kind, one.count, *(getattr(one, name.removesuffix("_us")) for name in PERCENTILES))
        for kind, one in each
        if one is not None and one.count
    ]
    return _frame(rows, request=str, count=int, **dict.fromkeys(PERCENTILES, float))


def latency_histogram(result: Record) -> polars.DataFrame:
    """How many `requests` took from `from_us` to `to_us`, and their `share`, by `request` kind."""
    rows: Rows = []
    for kind, buckets in (result.latency_histogram or {}).items():
        total = sum(count for _, count in buckets)
        begin = None
        for upper, count in buckets:
            begin = upper * FIRST_BUCKET if begin is None else begin
            rows.append((kind, float(begin), float(upper), int(count), count / total))
            begin = upper
    return _frame(rows, request=str, from_us=float, to_us=float, requests=int, share=float)


def series(result: Record) -> polars.DataFrame:
    """The run's course: counts since its start at each sample, and rates since the sample before.

    `requests`, `time_us`, `read_sectors`, `written_sectors`, `programs`, `erases`, `free_blocks` and `waf` as
    in the record; `requests_per_s`, `read_mb_per_s`, `written_mb_per_s` in simulated time, None without time.
    """
    rows: Rows = []
    before: tuple[float, ...] = (0, 0.0, 0, 0)
    for sample in result.series:
        carried_out = sample.requests - sample.refused
        now = (carried_out, sample.time_us or 0.0, sample.read_sectors, sample.written_sectors)
        requests, us, read, written = (end - start for end, start in zip(now, before, strict=True))
        rates = (requests / us * 1e6, read * 512 / us, written * 512 / us) if us > 0 else (None, None, None)
        counts = (sample.read_sectors, sample.written_sectors, sample.programs, sample.erases)
        rows.append((sample.requests, sample.time_us, *counts, sample.free_blocks, sample.waf, *rates))
        before = now
    sums = dict.fromkeys(("read_sectors", "written_sectors", "programs", "erases", "free_blocks"), int)
    since = dict.fromkeys(("waf", "requests_per_s", "read_mb_per_s", "written_mb_per_s"), float)
    return _frame(rows, requests=int, time_us=float, **sums, **since)


def wear(result: Record) -> polars.DataFrame:
    """How many `blocks` have seen so many `pe_cycles` at the end, preconditioning included."""
    return _frame([tuple(pair) for pair in result.wear.histogram], pe_cycles=int, blocks=int)


def valid_pages(result: Record) -> polars.DataFrame:
    """How many `blocks`, free ones left out, hold so many `valid_pages` at the end."""
    return _frame([tuple(pair) for pair in result.blocks.histogram], valid_pages=int, blocks=int)


def blocks(result: Record) -> polars.DataFrame:
    """The blocks in address order, in at most 256 groups.

    A group's `first` block, its count (`blocks`) and its `free` ones, mean `valid_pages`, and fewest, mean
    and most P/E cycles.
    """
    names = ("first", "blocks", "free", "valid_pages", "pe_cycles_min", "pe_cycles_mean", "pe_cycles_max")
    types = {name: float if name in ("valid_pages", "pe_cycles_mean") else int for name in names}
    rows = [tuple(types[name](getattr(group, name)) for name in names) for group in result.blocks.groups]
    return _frame(rows, **types)


def energy(result: Record) -> polars.DataFrame:
    """Energy by `memory` and operation `kind`, `energy_j`; energies missing in the profile are left out."""
    rows: Rows = []
    if result.energy_j is not None:
        rows += [("flash", kind, getattr(result.energy_j, kind)) for kind in ("read", "program", "erase")]
    buffered = None if result.buffer is None else result.buffer.energy_j
    if buffered is not None:
        for memory, used in (("DRAM of the buffer", buffered.dram), ("NVRAM of the buffer", buffered.nvram)):
            kinds = (
                ("read", "write", "header", "static")
                if memory.startswith("N")
                else ("read", "write", "static")
            )
            rows += [(memory, kind, getattr(used, kind) or 0.0) for kind in kinds if used is not None]
    if result.nvram is not None and result.nvram.energy_j:
        rows.append(("NVRAM of the file system", "access", result.nvram.energy_j))
    return _frame(rows, memory=str, kind=str, energy_j=float)


def ram(result: Record) -> polars.DataFrame:
    """Memory the firmware would need: `memory` (SRAM or DRAM), `structure`, `bytes`."""
    parts = (("SRAM", result.ram.sram), ("DRAM", result.ram.dram))
    rows = [(memory, name, number) for memory, structures in parts for name, number in structures.items()]
    return _frame(rows, memory=str, structure=str, bytes=int)


def lifetime(result: Record) -> polars.DataFrame:
    """Writes and time until a new device's blocks are worn out, least and most.

    `until`, and `host_bytes`, `time_s`, `years` with `_low` and `_high`, equal for the mean.
    """
    names = ("host_bytes", "time_s", "years")
    life = result.lifetime
    rows = [
        (until, *(bound for name in names for bound in getattr(each, name) or (None, None)))
        for until, each in ([] if life is None else lives(life))
    ]
    columns = {f"{name}_{end}": float for name in names for end in ("low", "high")}
    return _frame(rows, until=str, **columns)


def latency_by_origin(result: Record) -> polars.DataFrame:
    """Latency by `origin` and `request` kind, as in `latency`; empty if one part in the host asked."""
    rows = [
        (row.origin, kind, one.count, *(getattr(one, name.removesuffix("_us")) for name in PERCENTILES))
        for row in result.latency_by_origin or []
        for kind in LATENCY_KINDS
        if (one := getattr(row.latency_us, kind)) is not None
    ]
    return _frame(rows, origin=str, request=str, count=int, **dict.fromkeys(PERCENTILES, float))


def longest_request(result: Record) -> polars.DataFrame:
    """The longest request's time, if the experiment asked for it: `cause`, `own_us`, `waited_us`."""
    longest = result.longest_request
    rows = (
        [] if longest is None else [(part.cause, part.own_us, part.waited_us) for part in longest.parts or []]
    )
    return _frame(rows, cause=str, own_us=float, waited_us=float)


def longest_steps(result: Record) -> polars.DataFrame:
    """The longest request's time, one step after the other: `part`, `cause`, `own`, `from_us` and `to_us`.

    Empty unless `host.explain_longest` asks for it.
    """
    longest = result.longest_request
    steps = [] if longest is None else longest.steps or []
    rows = [(step.part, step.cause, step.own, float(step.from_us), float(step.to_us)) for step in steps]
    return _frame(rows, part=str, cause=str, own=bool, from_us=float, to_us=float)


def handles(result: Record) -> polars.DataFrame:
    """A row for each reclaim unit handle: `handle`, and the record's figures; empty without placement."""
    found = result.fdp
    columns = {"host_pages": int, "host_bytes": int, "moved_pages": int, "waf": float, "bytes_waf": float}
    columns |= {"units": int, "unfilled_units": int, "flushed_pages": int, "buffered_reads": int}
    each = enumerate([] if found is None else found.handles)
    rows = [(number, *(getattr(handle, name) for name in columns)) for number, handle in each]
    return _frame(rows, handle=int, **columns)


def tenants(result: Record) -> polars.DataFrame:
    """A row for each `tenant`: the record's figures, without percentiles; empty without tenants."""
    rates = ("share", "time_us", "requests_per_s", "mb_per_s", "wait_us", "mean_us")
    columns = {"requests": int, "bytes": int, **dict.fromkeys(rates, float)}
    rows = [(tenant.name, *(getattr(tenant, name) for name in columns)) for tenant in result.tenants or []]
    return _frame(rows, tenant=str, **columns)


FRAMES: dict[str, Callable[[Record], Any]] = {
    each.__name__: each
    for each in (
        waf,
        matrix,
        latency,
        latency_histogram,
        latency_by_origin,
        longest_request,
        longest_steps,
        handles,
        tenants,
        series,
        wear,
        valid_pages,
        blocks,
        energy,
        ram,
        lifetime,
    )
}
"""Every frame by its name."""


def frame(result: Record, name: str) -> Any:  # noqa: ANN401 - a polars.DataFrame, imported late
    """The frame by its name; KeyError names all frames."""
    if name not in FRAMES:
        raise KeyError(f"there is no frame {name!r}; there are: {', '.join(FRAMES)}")
    return FRAMES[name](result)
