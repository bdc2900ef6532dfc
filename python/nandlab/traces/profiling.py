"""WAP-LRU's prior profiling: a trace's write runs and sizes, and the thresholds that follow."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Literal

from nandlab import _native
from nandlab.traces.trace_file import Watch

Found = dict[str, Any]


ENOUGH = 30
"""Fewest intervals for useful percentiles."""
NEVER = 2.0**32 - 1
"""A threshold above every request."""


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
    """Thresholds for the buffer `wap_lru` from the trace at `path`; `docs/buffers.md` has the keys.

    Args:
        path: The file.
        intervals: Requests in an interval; each gives its own thresholds.
        options: Options for `[workload.trace]`, such as `"format=spc"`.
        page_bytes: Bytes in a device page.
        fw: Divisor for the pages written in an interval, as the buffer's option.
        size_unit: Unit for sizes, as the buffer's option.
        watch: Called with the count of records read so far.

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
    """The entry in `intervals` with this length.

    Without a length, the longest entry that is not degenerate and comes at least `ENOUGH` times in the trace.
    A short trace has none: then the most frequent entry that is not degenerate; if all are degenerate,
    the entry that sends most to NVRAM.
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
    """Whether the trace has a whole interval this long; else its thresholds come from part of one."""
    return one["placement"]["write_intensive_share"] is not None


def snippet(found: Found, one: Found) -> str:
    """The TOML table `[buffer.wap_lru]` with the thresholds in an entry of `intervals`."""
    lines = ["[buffer.wap_lru]", f"interval = {one['interval']}"]
    # A request kind missing in the trace needs no threshold: with this one it goes to DRAM.
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
    """A page count.

    >>> short(12.0), short(3.14159), short(None), short(NEVER)
    ('12', '3.14', '–', 'never')
    """
    from nandlab.writing import units

    if value is None:
        return units.NO_VALUE
    if value >= NEVER:
        return "never"
    return f"{value:,.0f}" if value == int(value) or value >= 100 else f"{value:.3g}"  # noqa: PLR2004
