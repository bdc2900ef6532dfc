"""The cost of part of a disk session: differences between two moments in `Disk.stats`."""

from __future__ import annotations

from typing import Any

AGAIN = "reerase"
"""The cause for erases a mount leaves for later: they do not count for the command."""


def between(before: dict[str, Any], after: dict[str, Any], page_bytes: int) -> dict[str, Any]:
    """The work between two moments: `host`, `flash`, `waf`, `time_us`, `wall_s`, `matrix`.

    Erases of blocks that only looked erased are left out, and given as `erased_again`.

    >>> def counts(sectors, programs, erases):
    ...     flash = {"programs": programs, "erases": erases}
    ...     return {"host": {"written_sectors": sectors}, "flash": flash, "time_us": 9.0, "wall_s": 2.0}
    >>> row = {"origin": "inode", "cause": "reerase", "programs": 0, "erases": 1.0}
    >>> host = {"origin": "inode", "cause": "host", "programs": 4, "erases": 0.0}
    >>> after = {**counts(16, 4, 1), "matrix": [host, row]}
    >>> cost = between({**counts(0, 0, 0), "matrix": []}, after, 4096)
    >>> cost["flash"], cost["erased_again"], cost["waf"], len(cost["matrix"])
    ({'programs': 4, 'erases': 0}, 1, 2.0, 1)
    """
    host = _less(after["host"], before["host"])
    flash = _less(after["flash"], before["flash"])
    earlier = {(row["origin"], row["cause"]): row for row in before["matrix"]}
    rows = [_less(row, earlier.get((row["origin"], row["cause"]), {})) for row in after["matrix"]]
    again = round(sum(row["erases"] for row in rows if row["cause"] == AGAIN))
    flash["erases"] -= again
    written_bytes = host["written_sectors"] * 512
    return {
        "host": host,
        "flash": flash,
        "waf": flash["programs"] * page_bytes / written_bytes if written_bytes else None,
        "time_us": (after["time_us"] or 0) - (before["time_us"] or 0),
        "wall_s": after["wall_s"] - before["wall_s"],
        "matrix": [row for row in rows if row["cause"] != AGAIN and _is_something(row)],
        "erased_again": again,
    }


def _less(after: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Numbers less the earlier ones; the rest unchanged."""
    return {
        key: value - (before.get(key) or 0) if isinstance(value, (int, float)) else value
        for key, value in after.items()
    }


def _is_something(row: dict[str, Any]) -> bool:
    return any(value for value in row.values() if isinstance(value, (int, float)))
