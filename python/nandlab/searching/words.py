"""A search's outcome in sentences, computed from its tries."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import TYPE_CHECKING

from nandlab.figures.conclusions import MOST
from nandlab.searching.space import Free, size_of
from nandlab.sweeping.words import axis_titles, figure, labels
from nandlab.writing import units

if TYPE_CHECKING:
    from nandlab.searching import Search
    from nandlab.sweeping import Point

DECIDES, HARDLY = 0.5, 0.05
"""A key with at least this share decides; one with less hardly matters."""


def sentences(found: Search) -> list[str]:
    """What the search found: the best try, the limits, what mattered, and whether more tries promise more."""
    rest = list(_rest(found))
    return [*_outcome(found), *_mattered(found), *_ends(found)][: MOST - len(rest)] + rest


def name(found: Search, point: Point) -> str:
    """A try's values in one line."""
    sweep = found.as_sweep()
    shown = zip(axis_titles(sweep.axes), labels(sweep.axes), point.texts, strict=True)
    return ", ".join(f"{title} {names[text]}" for title, names, text in shown)


def _outcome(found: Search) -> Iterator[str]:
    finished = [point for point in found.points if None not in found.figures(point)]
    if not finished:
        yield "No try has a result."
        return
    if found.limits:
        yield _limits(found, finished)
    best = found.best
    for at, goal in enumerate(found.goals) if best else []:
        pick = max if goal.maximise else min
        point = pick(best, key=lambda each, at=at: found.figures(each)[at] or 0.0)  # type: ignore[misc]
        rows = [found.figures(each)[at] for each in finished if found.is_within(each)]
        middle = statistics.median(value for value in rows if value is not None)
        if not _differs(found, at):
            same = figure(goal.name, rows[0])
            yield f"{goal.name} does not tell the tries apart: {same} in {_each_of(len(rows))}."
            continue
        word = "largest" if goal.maximise else "least"
        own, usual = (figure(goal.name, value) for value in (found.figures(point)[at], middle))
        yield f"{goal.name} is {word} with {name(found, point)}: {own}; the median try has {usual}."
    if len(found.goals) > 1 and best:
        verb = "are" if len(best) > 1 else "is"
        yield f"{len(best)} of {units.counted(len(found.points), 'try')} {verb} on the front."


def _differs(found: Search, at: int) -> bool:
    """Whether a goal tells any two tries apart that keep the limits."""
    figures = [found.figures(point) for point in found.points if found.is_within(point)]
    return len({each[at] for each in figures if None not in each}) > 1


def _each_of(tries: int) -> str:
    return f"all {tries}" if tries > 1 else "the only one with a result"


def _limits(found: Search, finished: list[Point]) -> str:
    kept = sum(found.is_within(point) for point in finished)
    named = " and ".join(limit.text for limit in found.limits)
    if kept:
        return f"{kept} of {len(finished)} tries keep {named}."
    nearest = min(
        finished, key=lambda each: sum(max(0.0, limit.over(each.record or {})) for limit in found.limits)
    )
    missed = "; ".join(
        f"{limit.goal.name} is {figure(limit.goal.name, limit.goal.of(nearest.record or {}))}"
        for limit in found.limits
        if not limit.holds(nearest.record or {})
    )
    return f"No try keeps {named}. The nearest is {name(found, nearest)}: {missed}."


def _mattered(found: Search) -> Iterator[str]:
    if len(found.space) < 2:
        return
    for at, (goal, shares) in enumerate(zip(found.goals, found.importances, strict=False)):
        if found.best and not _differs(found, at):
            continue
        most = max(shares, key=lambda key: shares[key])
        hardly = [key for key, share in shares.items() if share < HARDLY]
        if shares[most] >= DECIDES:
            share = units.percent(shares[most], 0)
            yield f"{most} decides {goal.name}: {share} of what tells the best tries apart."
        elif hardly:
            yield f"No key alone decides {goal.name}; {', '.join(hardly)} hardly {_matter(hardly)}."


def _matter(keys: list[str]) -> str:
    return "matters" if len(keys) == 1 else "matter"


def _ends(found: Search) -> Iterator[str]:
    """Ranges in whose end the best try is: a wider one may have more."""
    best = found.best
    if len(found.goals) > 1 or not best or not _differs(found, 0):
        return
    for free, text in zip(found.space, best[0].texts, strict=True):
        if _is_end(free, text):
            yield f"{free.key} ended at {text}, an end of its range: a wider range may have more."


def _is_end(free: Free, text: str) -> bool:
    return (free.range is not None or free.ordered) and text in (free.ends()[0], free.ends()[-1])


def _rest(found: Search) -> Iterator[str]:
    """Whether the last tries still gained."""
    if len(found.points) >= size_of(found.space):
        yield f"All {len(found.points)} points of the space were tried."
        return
    last = max((at for at, is_on in enumerate(found.front) if is_on and _is_new(found, at)), default=None)
    if last is None:
        return
    if not any(_differs(found, at) for at in range(len(found.goals))):
        return
    after = len(found.points) - 1 - last
    if after >= len(found.points) / 3:
        yield f"The last gain came with try {last + 1}; the {after} after it gained nothing."
    else:
        yield f"Try {last + 1} of {len(found.points)} still gained: a larger budget may find more."


def _is_new(found: Search, at: int) -> bool:
    """Whether no earlier try has the same figures."""
    figures = found.figures(found.points[at])
    return all(found.figures(point) != figures for point in found.points[:at] if found.is_within(point))
