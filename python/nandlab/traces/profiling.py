"""The prior profiling of WAP-LRU: runs of writes and sizes of a trace, and the thresholds that follow."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Literal

from nandlab import _native
from nandlab.traces.trace_file import Watch

Found = dict[str, Any]


ENOUGH = 30
"""Intervals from which percentiles are worth something."""
NEVER = 2.0**32 - 1
"""A threshold that no request reaches."""


def profile(  # noqa: PLR0913 - what is read, and how it is looked at
    path: str | os.PathLike[str],
    intervals: Sequence[int] = (1000,),
    *,
    options: Sequence[str] = (),
    page_bytes: int = 4096,
    fw: Literal["runs", "switches"] | str = "runs",
    size_unit: Literal["page", "sector", "run"] | str = "page",
    watch: Watch | None = None,
) -> Found:
    """What the buffer `wap_lru` learns from the trace at `path`; the keys are described in `docs/profile.md`.

    Args:
        path: The file.
        intervals: Requests of an interval; the thresholds are found for each.
        options: Options of `[workload.trace]`, such as `"format=spc"`.
        page_bytes: Bytes of a page of the device.
        fw: What the pages written in an interval are divided by, as the option of the buffer.
        size_unit: What sizes are counted in, as the option of the buffer.
        watch: Is told of the records read so far.

    Raises:
        TraceError: The file cannot be read, or a record is wrong.
        ConfigError: An option is wrong, or nothing is read or written.

    >>> found = profile("workloads/sqlite/wal.csv.gz", [1000])
    >>> chosen(found)["t_write"]
    32.5

    """
    how = {"intervals": list(intervals), "page_bytes": page_bytes, "fw": fw, "size_unit": size_unit}
    text = _native.trace_profile(os.fspath(path), list(options), json.dumps(how), watch)
    found: Found = json.loads(text)
    return found


def chosen(found: Found, interval: int | None = None) -> Found:
    """The entry of `intervals` of that length.

    Without one the longest of those that are not degenerate and of which the trace has `ENOUGH`. In a short
    trace that has none, the one that is not degenerate and of which it has most; where all are degenerate,
    that which sends most to NVRAM.
    """
    of = found["intervals"]
    if interval is not None:
        return next(one for one in of if one["interval"] == interval)
    healthy = [one for one in of if not one["placement"]["degenerate"] and has_ended(one)]
    enough = [one for one in healthy if one["count"] >= ENOUGH]
    if enough:
        return enough[-1]
    if healthy:
        return max(healthy, key=lambda one: one["count"])
    return max(of, key=lambda one: (has_ended(one), one["placement"]["nvram_share"] or 0.0))


def has_ended(one: Found) -> bool:
    """Whether the trace has a whole interval of that length; else its thresholds are of a part of one."""
    return one["placement"]["write_intensive_share"] is not None


def snippet(found: Found, one: Found) -> str:
    """The table `[buffer.wap_lru]` with the thresholds of an entry of `intervals`, TOML."""
    lines = ["[buffer.wap_lru]", f"interval = {one['interval']}"]
    # A kind of request that the trace has not needs no threshold: with this one it goes to DRAM.
    lines += [
        f"{key} = {NEVER if one[key] is None else round(one[key], 3)!r}"
        for key in ("t_state", "t_read", "t_write")
    ]
    lines += [
        f'{key} = "{found[key]}"'
        for key, usual in (("fw", "runs"), ("size_unit", "page"))
        if found[key] != usual
    ]
    return "\n".join(lines)


def short(value: float | None) -> str:
    """A number of pages.

    >>> short(12.0), short(3.14159), short(None), short(NEVER)
    ('12', '3.14', '–', 'never')
    """
    from nandlab.writing import units

    if value is None:
        return units.NO_VALUE
    if value >= NEVER:
        return "never"
    return f"{value:,.0f}" if value == int(value) or value >= 100 else f"{value:.3g}"  # noqa: PLR2004
