"""Reclaim unit handles of a run as a table, and events of data placement as a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nandlab.writing import units

if TYPE_CHECKING:
    from nandlab.record.made import Fdp, Handle
    from nandlab.record.record import Record

TITLES = ("handle", "pages written", "pages moved", "WAF", "WAF by bytes", "units", "left unfilled")


def used(result: Record) -> list[tuple[int, Handle]]:
    """Number and figures of each handle with a page written or moved."""
    found = result.fdp
    handles = enumerate([] if found is None else found.handles)
    return [(number, handle) for number, handle in handles if handle.host_pages or handle.moved_pages]


def table(result: Record) -> list[tuple[str, ...]]:
    """A row under `TITLES` for each handle in use."""
    return [
        (
            str(number),
            units.count(handle.host_pages),
            units.count(handle.moved_pages),
            units.ratio(handle.waf),
            units.ratio(handle.bytes_waf),
            units.count(handle.units),
            units.count(handle.unfilled_units),
        )
        for number, handle in used(result)
    ]


def rows(result: Record) -> list[tuple[str, str, str]]:
    """Name, value and explanation for the reclaim units; empty without data placement."""
    found = result.fdp
    if found is None:
        return []
    begun = sum(handle.units for handle in found.handles) + found.units_for_moved
    words = [
        f"begun, {units.count(found.units_for_moved)} of them for moved pages",
        f"{units.count(found.erased_units)} erased",
        *_events(found),
        units.counted(found.events, "event"),
        *_gathered(found),
    ]
    return [("reclaim units", units.count(begun), ", ".join(words))]


def _gathered(found: Fdp) -> list[str]:
    """What the merge buffers of the handles did, where sectors are gathered."""
    flushed = sum(handle.flushed_pages for handle in found.handles)
    read = sum(handle.buffered_reads for handle in found.handles)
    words = [f"{units.counted(flushed, 'page')} flushed before they were full"] if flushed else []
    return words + ([f"{units.counted(read, 'sector')} read while they waited"] if read else [])


def _events(found: Fdp) -> list[str]:
    named = ((found.invalid_identifiers, "invalid identifier"), (found.implicit_changes, "implicit change"))
    return [units.counted(number, name) for number, name in named if number]
