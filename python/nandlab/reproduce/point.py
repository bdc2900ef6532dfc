"""A claim at one point in a search: its measured value, its verdict, and its distance."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from nandlab.reproduce.claim import Claim
from nandlab.reproduce.formula import Condition, FormulaError
from nandlab.reproduce.records import Key, Missing, Records, key_of
from nandlab.reproduce.search_found import Seen
from nandlab.reproduce.verdict import (
    SEEDS_FOR_DIRECTION,
    Printed,
    Word,
    check,
    check_every,
    of_order,
    of_value,
)

NOT_RUNNABLE, NO_VALUE = "not_runnable", "no_value"


@dataclass
class Figures(Records):
    """Figures from runs whose records are not kept: a search has thousands."""

    figures: dict[tuple[Key, str], float | None] = field(default_factory=dict)
    """By the run and the measure's text; None if the record has no such number."""
    keys: dict[str, str] = field(default_factory=dict)

    def lookup(self, name: str, seed: int) -> float:
        """The figure for a name in a formula; raises as in `Records`."""
        run, _, measure = name.rpartition(".")
        key = self.key_of_run(run, seed)
        if key in self.failed:
            raise Missing(f"the run {run} {self.failed[key]}")
        formula = self.paper.measures[measure]
        value = self.figures[key, formula.text]
        if value is None:
            raise FormulaError(f"measure {measure} of the run {run} has no value")
        return value

    def key_of_run(self, run: str, seed: int) -> Key:
        """A key that tells runs apart, as `Records.key`, but computed once."""
        if run not in self.keys:
            self.keys[run] = key_of(self.paper.tree(run), 1)[0]
        return self.keys[run], 1 if self.paper.has_one_course(run) else seed


def see(claim: Claim, records: Records) -> Seen:
    """A claim at a point, judged by the point's seeds, however few."""
    try:
        return _see(claim, records)
    except Missing:
        return Seen(None, NOT_RUNNABLE)
    except FormulaError:
        return Seen(None, NO_VALUE)


def _see(claim: Claim, records: Records) -> Seen:
    if not all(check_every(each, records.sides(each)).holds for each in claim.exercised):
        return Seen(None, "not_exercised")
    held = [check(each, records.sides(each)) for each in claim.holds]
    also = all(check_every(each, records.sides(each)).holds for each in claim.also)
    word: Word | None
    if claim.measured is not None and claim.limits is not None and claim.published is not None:
        measured = records.mean(claim.measured)
        printed = Printed(claim.published, claim.limits, claim.loose)
        word = of_value(measured, printed, held, SEEDS_FOR_DIRECTION)
    else:
        measured = min(_margin(each, records.sides(each)) for each in claim.holds)
        word = of_order(held, SEEDS_FOR_DIRECTION)
    return Seen(measured, "differs" if word is None or not also else word)


def _margin(condition: Condition, sides: Sequence[tuple[float, float]]) -> float:
    """A condition's margin, as a share of its larger side; below 0 if it does not hold.

    >>> from nandlab.reproduce.formula import parse_condition
    >>> _margin(parse_condition("a.x < b.x"), [(3.0, 4.0)])
    0.25
    >>> _margin(parse_condition("a.x == b.x"), [(4.0, 3.0)])
    -0.25
    """
    left, right = (statistics.fmean(side) for side in zip(*sides, strict=True))
    gap = (
        -abs(left - right)
        if condition.sign == "=="
        else right - left
        if condition.sign in "<="
        else left - right
    )
    return gap / max(abs(left), abs(right)) if gap else 0.0
