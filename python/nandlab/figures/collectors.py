"""Collectors that keep a different number of dies busy, told beside a comparison."""

from __future__ import annotations

from collections.abc import Sequence

from nandlab.record.record import Record

ALONE = ("superpage", "sector_map", "hybrid_map")
"""FTLs whose banks collect alone, as in the firmwares of the Jasmine board."""
ON_ALL_DIES = ("page", "dftl", "lazyftl", "sector_log", "zoned")
"""FTLs that map pages and collect on each die for itself."""


def told(results: Sequence[Record]) -> str:
    """That times differ by the collector, too; empty unless they do so."""
    used = {
        name
        for result in results
        for name in result.experiment.get("ftl") or {}
        if result.parts is not None and result.device.dies > 1
    }
    alone, others = (_named(names, used) for names in (ALONE, ON_ALL_DIES))
    if not alone or not others:
        return ""
    return (
        f"On several dies times differ by the collector, too: a bank of {alone} collects alone, "
        f"the dies of {others} side by side."
    )


def _named(names: Sequence[str], used: set[str]) -> str:
    *before, last = [name for name in names if name in used] or [""]
    return f"{', '.join(before)} and {last}" if before else last
