"""What a sweep comes to: three to six sentences, computed from its points."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from nandlab.figures.conclusions import ALIKE, MOST, costliest, of_figures
from nandlab.sweeping.charts import Layout
from nandlab.sweeping.gains import sentences
from nandlab.sweeping.words import figure

if TYPE_CHECKING:
    from nandlab.sweeping import Sweep
    from nandlab.sweeping.goals import Goal

NEAR = 0.1
"""Points within this share of the best one are near it."""


def conclusions(found: Sweep) -> list[str]:
    """For each goal the best and the worst point, and the key that matters most; where nothing is gained."""
    layout = Layout(found)
    if all(axis.key == "seed" for axis in found.axes):
        return _of_seeds(found)[:MOST]
    said = []
    for at, goal in enumerate(found.goals):
        known = [
            (each, value, each.spread[at]) for each in layout.shown if (value := each.figures[at]) is not None
        ]
        rows = [(layout.name(each.point, layout.axes), value) for each, value, _ in known]
        values = [value for _, value in rows]
        if len(rows) < 2:
            said.append(_alone(goal, rows, len(found.points)))
        elif (noise := _noise([(value, spread) for _, value, spread in known])) is not None:
            said.append(f"{goal.name} does not tell the points apart: it differs by less than {noise}.")
        elif max(values) - min(values) > ALIKE * max(map(abs, values)):
            said.append(of_figures(rows, goal.name, goal.maximise, partial(figure, goal.name)))
            said += _matters(layout, at)
            said += _near(goal, rows) if len(found.goals) == 1 else []
            if 1 < len(rows) < len(layout.shown):
                said.append(
                    f"{len(layout.shown) - len(rows)} of {len(layout.shown)} points have no {goal.name}."
                )
    if len(found.goals) > 1 and any(found.front):
        on_it = sum(found.front)
        said.append(f"{on_it} of {len(found.points)} points {'is' if on_it == 1 else 'are'} on the front.")
    said += [each for each in sentences(found) if each not in said]
    return [*said, *(_why(layout) if len(found.goals) == 1 and len(said) > 1 else ())][:MOST]


def _why(layout: Layout) -> Iterator[str]:
    """The cause of the programs of the point with most, and whose erases the one with fewest has."""
    known = [each.point for each in layout.shown if each.point.record is not None]
    # A point's figures are read from its record; a result is made for two of them alone.
    most = max(known, key=lambda point: (point.record or {})["flash"]["programs"])
    least = min(known, key=lambda point: (point.record or {})["flash"]["erases"])
    names = {layout.name(point, layout.axes): point.result for point in (most, least)}
    yield from costliest({name: [result] for name, result in names.items() if result is not None})


def _of_seeds(found: Sweep) -> list[str]:
    """A sweep over seeds alone: none is better than another, but they tell how far chance reaches."""
    said = []
    for at, goal in enumerate(found.goals):
        values = [value for point in found.points if (value := found.figures(point)[at]) is not None]
        if len(values) < 2:
            said.append(_alone(goal, [("seed", value) for value in values], len(found.points)))
            continue
        if min(values) == max(values):
            said.append(
                f"{goal.name} is the same with all {len(values)} seeds: {figure(goal.name, values[0])}."
            )
            continue
        mean, low, high = (figure(goal.name, pick(values)) for pick in (statistics.fmean, min, max))
        said.append(f"{goal.name} over {len(values)} seeds has the mean {mean}, from {low} to {high}.")
    return said


def _alone(goal: Goal, rows: list[tuple[str, float]], points: int) -> str:
    """What is said where there is nothing to compare."""
    if not rows:
        return f"No point has a {goal.name}."
    ((name, value),) = rows
    only = (
        "The only point"
        if points == 1
        else f"Only one of {points} points has a {goal.name}, so nothing is compared:"
    )
    return f"{only} {name}: {figure(goal.name, value)}."


def _noise(rows: list[tuple[float, float]]) -> str | None:
    """What the figures differ by less than, where seeds vary and tell no two points apart."""
    if not any(spread for _, spread in rows):
        return None
    (low, one), (high, other) = min(rows), max(rows)
    return "the 95 % intervals of its seeds" if high - low <= one + other else None


def _near(goal: Goal, rows: list[tuple[str, float]]) -> Iterator[str]:
    """How many points are near the best: whether the choice is a narrow one."""
    values = [value for _, value in rows]
    best = max(values) if goal.maximise else min(values)
    near = sum(abs(value - best) <= NEAR * abs(best) for value in values)
    if near == 1 and len(rows) > 2:
        name, value = sorted(rows, key=lambda row: row[1], reverse=goal.maximise)[1]
        yield (
            f"No other of {len(values)} points is within {NEAR * 100:g} % of the best; "
            f"the next is {name} with {figure(goal.name, value)}."
        )
    elif near > 1:
        yield f"{near} of {len(values)} points are within {NEAR * 100:g} % of the best."


def _matters(layout: Layout, at: int) -> Iterator[str]:
    """The key whose values move a goal's mean most, among several."""
    axes = [axis for axis in layout.axes if len(axis.values) > 1]
    if len(axes) < 2:
        return
    moved = {}
    for axis in axes:
        means: dict[str, list[float]] = {}
        for each in layout.shown:
            value = each.figures[at]
            if value is not None:
                means.setdefault(layout.label(each.point, axis), []).append(value)
        mids = [statistics.fmean(values) for values in means.values()]
        moved[layout.titles[axis.key]] = max(mids) - min(mids)
    most, second = sorted(moved, key=lambda name: -moved[name])[:2]
    name = layout.found.goals[at].name
    if moved[most] > 2 * moved[second]:
        yield f"{most} moves {name} most, {second} less than half as far."
    else:
        yield f"{most} and {second} move {name} about alike."
