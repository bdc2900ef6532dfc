"""Zones of a drive as rows: what the host did with them, and what they refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nandlab.writing import units

if TYPE_CHECKING:
    from nandlab.record.record import Record

CHANGES = {
    "appends": ("append", "appends"),
    "opens": ("open", "opens"),
    "random_opens": ("open with a random write area", "opens with a random write area"),
    "closes": ("close", "closes"),
    "commits": ("commit", "commits"),
    "finishes": ("finish", "finishes"),
    "resets": ("reset", "resets"),
}


TITLES = ("zones", "state", "write pointer", "written", "resets")


def table(result: Record) -> list[tuple[str, ...]]:
    """A row under `TITLES` for each run of neighbouring zones that are alike; empty without a zoned drive."""
    if result.zones is None:
        return []
    return [
        (
            str(row.first) if row.zones == 1 else f"{row.first} to {row.first + row.zones - 1}",
            row.state.replace("_", " "),
            units.size(row.write_pointer_bytes),
            units.size(row.written_bytes),
            units.count(row.resets),
        )
        for row in result.zones.report
    ]


def rows(result: Record) -> list[tuple[str, str, str]]:
    """Name, value and explanation; empty without a zoned drive."""
    found = result.zones
    if found is None:
        return []
    counts = {name: getattr(found, name) for name in CHANGES}
    parts = [f"{units.count(count)} {CHANGES[name][count > 1]}" for name, count in counts.items() if count]
    if found.filled_pages:
        parts.append(f"{units.counted(found.filled_pages, 'page')} filled")
    if found.implicit_closes:
        parts.append(f"{units.counted(found.implicit_closes, 'zone')} closed by the drive")
    most = f"{units.count(found.most_active)} active"
    table = [("zones", most, f"at most at a time; {', '.join(parts)}" if parts else "at most at a time")]
    refused = sum(found.refused.values())
    if refused:
        reasons = ", ".join(f"{units.count(count)} {name}" for name, count in found.refused.items())
        table.append(
            (
                "refused requests",
                units.count(refused),
                f"{reasons}; each moved nothing, and counts as a request",
            )
        )
    return table
