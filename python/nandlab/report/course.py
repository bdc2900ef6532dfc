"""A run's course, gathered into windows."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from nandlab.record.record import Record

MOST_WINDOWS = 80


def windows(
    series: Iterable[tuple[int, int, float | None]], most: int = MOST_WINDOWS
) -> list[tuple[int, float]]:
    """Samples gathered into windows with about equal host writes: requests at each window's end, and its WAF.

    A ratio over a moment with hardly a host write says little, so a window lasts until it holds its
    share of all writes; a last window under half the usual size joins the one before.

    Args:
        series: Requests and sectors written so far, and the WAF since the sample before.
        most: Most windows.

    >>> windows([(10, 80, 1.0), (20, 160, 3.0), (21, 168, 30.0)])
    [(10, 1.0), (21, 5.454545454545454)]
    >>> windows([(10, 80, 1.0), (20, 80, None), (30, 160, 3.0)], most=1)
    [(30, 2.0)]

    """
    samples = list(series)
    ends = _ends([written for _, written, _ in samples], most)
    found = []
    start = 0
    for end in ends:
        before = samples[start - 1][1] if start else 0
        programmed = 0.0
        for _, written, waf in samples[start : end + 1]:
            programmed += (waf or 0.0) * (written - before)
            before = written
        sectors = before - (samples[start - 1][1] if start else 0)
        found.append((samples[end][0], programmed / sectors))
        start = end + 1
    return found


def _ends(moved: list[int], most: int) -> list[int]:
    """Samples that end a window, given the amount moved up to each; none if nothing was moved."""
    total = moved[-1] if moved else 0
    ends: list[int] = []
    before = 0
    for at, now in enumerate(moved):
        if now > before and (now - before) * most >= total:
            ends.append(at)
            before = now
    if total > before:
        ends.append(len(moved) - 1)
    if len(ends) > 1 and 2 * (total - moved[ends[-2]]) < moved[ends[-2]] / (len(ends) - 1):
        # The last one joins the one before.
        del ends[-2]
    return ends


def gathered(result: Record, by_writes: bool = False) -> pl.DataFrame:
    """Throughput, write amplification and free blocks by windows with equal host traffic, or host writes.

    Columns: `requests`, `time_s` (None without time), `requests_per_s`, `read_mb_per_s`, `written_mb_per_s`
    (simulated time, 10^6 B), `waf` (None if nothing was written) and `free_blocks`.
    """
    series = result.series
    rows = []
    per_page = result.device.page_bytes // 512
    before = (0, 0.0, 0, 0, 0)
    moved = [one.written_sectors + (0 if by_writes else one.read_sectors) for one in series]
    for at in _ends(moved, MOST_WINDOWS):
        one = series[at]
        carried_out = one.requests - one.refused
        now = (carried_out, one.time_us or 0.0, one.read_sectors, one.written_sectors, one.programs)
        requests, us, read, written, programs = (end - start for end, start in zip(now, before, strict=True))
        rates = (requests / us * 1e6, read * 512 / us, written * 512 / us) if us > 0 else (None, None, None)
        waf = programs * per_page / written if written else None
        time_s = None if one.time_us is None else one.time_us / 1e6
        rows.append((one.requests, time_s, *rates, waf, one.free_blocks))
        before = now
    numbers = dict.fromkeys(("time_s", "requests_per_s", "read_mb_per_s", "written_mb_per_s", "waf"), float)
    return pl.DataFrame(rows, schema={"requests": int, **numbers, "free_blocks": int}, orient="row")
