"""Estimates of a run by windows as a table, and what was simulated as a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nandlab.writing import units

if TYPE_CHECKING:
    from collections.abc import Callable

    from nandlab.record.record import Record

TITLES = ("whole workload", "estimate", "95 % interval")


def _figures() -> tuple[tuple[str, str, Callable[[float], str]], ...]:
    """Name in the record, name in the table, and how a figure is written."""
    return (
        ("waf", "write amplification", lambda value: units.ratio(value, 4)),
        ("mean_us", "mean latency", units.time_us),
        ("p99_us", "latency p99", units.time_us),
        ("requests_per_s", "requests/s", units.short),
        ("erases", "erases", units.short),
        ("pe_cycles", "P/E cycles of a block", units.short),
    )


def table(result: Record) -> list[tuple[str, ...]]:
    """A row under `TITLES` for each estimate."""
    found = result.sample
    rows: list[tuple[str, ...]] = []
    for name, title, write in _figures():
        one = None if found is None else getattr(found, name)
        if one is not None:
            rows.append((title, write(one.mean), f"± {write(one.half_width)}"))
    return rows


def rows(result: Record) -> list[tuple[str, str, str]]:
    """Name, value and explanation for what was simulated; empty without jumps."""
    found = result.sample
    if found is None:
        return []
    words = f"simulated, in {units.counted(found.windows, 'window')}; of {units.count(found.requests)}"
    if found.time_us is not None:
        words += f" in {units.time_us(found.time_us)}"
    return [("share", units.percent(found.simulated_share), words)]
