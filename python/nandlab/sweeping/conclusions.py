"""What a sweep comes to: three to six sentences, computed from its points."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from nandlab.figures.conclusions import ALIKE, MOST, of_figures
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
    said = []
    for at, goal in enumerate(found.goals):
        rows = [
            (layout.name(each.point, layout.axes), value)
            for each in layout.shown
            if (value := each.figures[at]) is not None
        ]
        values = [value for _, value in rows]
        if len(rows) > 1 and max(values) - min(values) > ALIKE * max(map(abs, values)):
            said.append(of_figures(rows, goal.name, goal.maximise, partial(figure, goal.name)))
            said += _matters(layout, at)
            said += _near(goal, values) if len(found.goals) == 1 else []
    if len(found.goals) > 1 and any(found.front):
        on_it = sum(found.front)
        said.append(f"{on_it} of {len(found.points)} points {'is' if on_it == 1 else 'are'} on the front.")
    return [*said, *sentences(found)][:MOST]


def _near(goal: Goal, values: list[float]) -> Iterator[str]:
    """How many points are near the best: whether the choice is a narrow one."""
    best = max(values) if goal.maximise else min(values)
    near = sum(abs(value - best) <= NEAR * abs(best) for value in values)
    if near == 1:
        yield f"No other of {len(values)} points is within {NEAR * 100:g} % of the best."
    else:
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
