"""A scan: each chosen amount a little less and a little more, and the verdicts that it changes.

A search asks what the paper allows. A scan asks whether a chosen value stands on a knife edge.
"""

from __future__ import annotations

from dataclasses import dataclass

from nandlab.reproduce.open_values import Open, Value
from nandlab.reproduce.paper import Paper
from nandlab.reproduce.search_found import Row
from nandlab.reproduce.search_points import Point, chosen_of
from nandlab.reproduce.searching import search

STEPS = (-10, -5, 5, 10)
"""Percent of the chosen value."""


@dataclass(frozen=True)
class Step:
    """A chosen value with a step to one side."""

    name: str
    percent: int
    value: Value
    lost: tuple[str, ...]
    """Claims that come out as chosen, and not here."""
    gained: tuple[str, ...]
    not_run: tuple[str, ...]
    """Claims without a figure: a run is refused with this value."""


def neighbour(each: Open, percent: int) -> Value | None:
    """The chosen amount and a share of it; nothing if it is no amount, or if rounding leaves it as chosen.

    >>> size = Open("size", "", ("parts.a.size",), "44 MiB", ("44 MiB", "24 MiB"))
    >>> neighbour(size, 5), neighbour(size, -10)
    ('46.2 MiB', '39.6 MiB')
    >>> [neighbour(Open("depth", "", ("parts.a.depth",), depth, ()), 10) for depth in (4, 10)]
    [None, 11]
    """
    chosen = each.chosen
    if not each.keys or isinstance(chosen, bool):
        return None
    text, _, unit = chosen.partition(" ") if isinstance(chosen, str) else (chosen, "", "")
    try:
        number = float(text)
    except ValueError:
        return None
    if isinstance(chosen, str) and not unit:
        return None
    moved = number * (100 + percent) / 100
    found = f"{moved:g} {unit}" if unit else round(moved) if isinstance(chosen, int) else float(f"{moved:g}")
    return None if found == chosen else found


def scan(paper: Paper, jobs: int | None = None) -> list[Step]:
    """Measures each step alone, in runs as short as those of the search.

    Args:
        paper: With its chosen values.
        jobs: Runs at once.

    """
    chosen = {**chosen_of(paper), **{each.name: each.chosen for each in paper.opens}}
    steps = [
        (each, percent, value)
        for each in paper.opens
        for percent in STEPS
        if (value := neighbour(each, percent)) is not None
    ]
    points = [Point("alone", {**chosen, each.name: value}) for each, _, value in steps]
    usual, *rows = search(paper, [Point("alone", chosen), *points], jobs).rows
    return [
        _compared(each.name, percent, value, usual, row)
        for (each, percent, value), row in zip(steps, rows, strict=True)
    ]


def _compared(name: str, percent: int, value: Value, usual: Row, row: Row) -> Step:
    ran = {claim for claim, one in row.seen.items() if one.word not in ("not_runnable", "no_value")}
    met = {claim: (usual.seen[claim].is_met, row.seen[claim].is_met) for claim in row.seen}
    lost, gained = (
        tuple(claim for claim, both in met.items() if both == way and claim in ran)
        for way in ((True, False), (False, True))
    )
    return Step(name, percent, value, lost, gained, tuple(claim for claim in row.seen if claim not in ran))
