"""The newest events of data placement as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nandlab.writing import units

if TYPE_CHECKING:
    from nandlab.record.record import Record

TITLES = ("after", "event", "group", "handle", "pages moved")


def table(result: Record) -> list[tuple[str, ...]]:
    """A row under `TITLES` for each of the newest events, the oldest first; empty without data placement."""
    found = [] if result.fdp is None else result.fdp.newest_events
    return [
        (
            units.time_us(event.after_us),
            event.event.replace("_", " "),
            str(event.group),
            str(event.handle),
            units.count(event.pages) if event.event == "moved" else "",
        )
        for event in found
    ]
