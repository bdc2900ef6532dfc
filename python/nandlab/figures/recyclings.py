"""The fates of single log blocks, for people."""

from __future__ import annotations

from nandlab.record.made import Recyclings
from nandlab.record.record import Record
from nandlab.writing import units


def rows(result: Record) -> list[tuple[str, str, str]]:
    """Name, value and explanation for log blocks' fates, if an FTL may move them."""
    merges, kept = result.merges, result.recyclings
    if not result.migrations and kept is None and "migration" not in result.experiment.get("ftl", {}):
        return []
    counts = {
        "switch merge": merges.switch,
        "partial merge": merges.partial,
        "full merge": merges.full,
        "migration": result.migrations,
    }
    words = ", ".join(units.counted(number, name) for name, number in counts.items() if number)
    found = [("recyclings", units.count(sum(counts.values())), words)]
    if result.migrations:
        copies = sum(cell.copies for cell in result.matrix if cell.cause == "migration")
        at_merge = (
            "" if kept is None or kept.merge_valid is None else f"; {kept.merge_valid:.1f} at a full merge"
        )
        p = f"{copies / result.migrations:.1f}"
        found.append(("p", p, f"pages that a migration copied, in the mean{at_merge}"))
    if kept is not None and kept.alpha is not None:
        found.append(
            (
                "alpha",
                f"{kept.alpha:.3f}",
                f"{units.counted(kept.longest_row, 'migration')} in a row{_line(kept)}",
            )
        )
    return found


def _line(kept: Recyclings) -> str:
    """The line through the pages copied by a row's migrations."""
    if kept.slope is None or kept.intercept is None:
        return ""
    fit = "" if kept.r2 is None else f", R2 {kept.r2:.2f}"
    return f": p = alpha k; with an intercept p = {kept.intercept:.2f} {kept.slope:+.3f} k{fit}"
