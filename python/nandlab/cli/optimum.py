"""`--optimum`: how far a run is above the best placement known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from nandlab.writing import units

if TYPE_CHECKING:
    from nandlab.optimum import Optimum

optimum_option = click.option(
    "--optimum",
    is_flag=True,
    help="Also print how far each WAF is above the best placement known.",
)


@dataclass(frozen=True)
class Above:
    """How far runs of one design are above the optimum: a run for each seed."""

    runs: Sequence[tuple[float | None, Optimum | str]]
    """The write amplification of each, and its optimum or why there is none; empty if nobody asked."""

    def share(self) -> float | None:
        """The mean of how far they are above it; None if a run has no optimum."""
        shares = [None if isinstance(each, str) else each.above(waf) for waf, each in self.runs]
        known = [share for share in shares if share is not None]
        return sum(known) / len(known) if known and len(known) == len(shares) else None

    def cells(self) -> list[str]:
        """As it stands in a table, below `HEADS`."""
        optima = [each.waf for _, each in self.runs if not isinstance(each, str)]
        waf = sum(optima) / len(optima) if optima and self.share() is not None else None
        share = self.share()
        return [units.ratio(waf), units.NO_VALUE if share is None else units.percent(share)]

    def document(self) -> dict[str, Any]:
        """As JSON data; nothing if nobody asked."""
        if not self.runs:
            return {}
        _, first = self.runs[0]
        why = first if isinstance(first, str) else None
        optima = [None if isinstance(each, str) else each.to_dict() for _, each in self.runs]
        return {
            "above_optimum": self.share(),
            "optimum": optima[0],
            "no_optimum": why,
            "repeated_optima": optima[1:],
        }


HEADS = ["optimum", "above\noptimum"]
"""Heads of a table's columns."""


def sentences(named: Mapping[str, Above]) -> Iterator[str]:
    """What the optimum is, in full where all share it, and why some have none."""
    found = {name: above.runs[0][1] for name, above in named.items() if above.runs}
    optima = {each: None for each in found.values() if not isinstance(each, str)}
    if len(optima) == 1:
        (one,) = optima
        yield (
            f"Optimum: WAF {one.waf:.3f}, the best of {one.tried} placements that know the future "
            f"({one.placement}).{_bound(one)}"
        )
    elif optima:
        yield "Optimum: the lowest WAF of placements that know the future, for each row; --json names it."
    reasons: dict[str, list[str]] = {}
    for name, each in found.items():
        if isinstance(each, str):
            reasons.setdefault(each, []).append(name)
    for why, names in reasons.items():
        yield f"No optimum for {'; '.join(names)}: {why.removesuffix('.')}."


def _bound(found: Optimum) -> str:
    least = found.without_future
    return "" if least is None else f" Without such knowledge no placement is below {least:.3f} for long."
