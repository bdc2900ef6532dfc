"""Collectors that keep a different number of dies busy, told beside a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nandlab.record.record import Record

ALONE = ("superpage", "sector_map", "hybrid_map")
"""FTLs whose banks collect alone, as in the firmwares of the Jasmine board; `superpage` by default only."""
ON_ALL_DIES = ("page", "dftl", "lazyftl", "superpage", "sector_log", "zoned")
"""FTLs that map pages and collect on each die for itself."""


def told(results: Sequence[Record]) -> str:
    """That times differ by the collector, too; empty unless they do so."""
    used = {
        (name, _is_alone(name, options))
        for result in results
        for name, options in (result.experiment.get("ftl") or {}).items()
        if result.parts is not None and result.device.dies > 1
    }
    alone = _named(ALONE, {name for name, is_alone in used if is_alone})
    others = _named(ON_ALL_DIES, {name for name, is_alone in used if not is_alone})
    if not alone or not others:
        return ""
    return (
        f"On several dies times differ by the collector, too: a bank of {alone} collects alone, "
        f"the dies of {others} side by side."
    )


def _is_alone(name: str, options: Mapping[str, Any]) -> bool:
    return name in ALONE and options.get("collection", "at_once") == "at_once"


def _named(names: Sequence[str], used: set[str]) -> str:
    *before, last = [name for name in names if name in used] or [""]
    return f"{', '.join(before)} and {last}" if before else last
