"""A sweep's outcome in sentences: values without further gain, and goals that tell no points apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from nandlab.sweeping.words import axis_titles, labels

if TYPE_CHECKING:
    from nandlab.sweeping import Sweep
    from nandlab.sweeping.axes import Axis

ALIKE = 0.01
"""Figures within this share are the same."""
PERCENT = f"{ALIKE * 100:g} %"


def sentences(found: Sweep) -> list[str]:
    """Goals that hardly differ and, with one goal, values beyond which nothing is gained."""
    figures = [found.figures(point) for point in found.points]
    said = []
    for at, goal in enumerate(found.goals):
        known = [each[at] for each in figures]
        numbers = [value for value in known if value is not None]
        if len(numbers) > 1 and not any(numbers):
            said.append(f"{goal.name} is 0 at every point: it does not tell them apart.")
        elif len(numbers) > 1 and _alike(min(numbers), max(numbers)):
            said.append(f"{goal.name} does not tell the points apart: it differs by less than {PERCENT}.")
    if len(found.goals) > 1 or said or found.stopped or all(axis.key == "seed" for axis in found.axes):
        return said
    (goal,) = found.goals
    titles, shown = axis_titles(found.axes), labels(found.axes)
    for place, (axis, title) in enumerate(zip(found.axes, titles, strict=True)):
        if not axis.is_numeric() or len(axis.values) < 3 or axis.is_given():
            continue
        rows = [
            (tuple(text for other, text in enumerate(point.texts) if other != place), point.texts[place], own)
            for point, (own,) in zip(found.points, figures, strict=True)
        ]
        text = _last_gain(axis, rows, goal.maximise)
        if text is not None:
            said.append(f"{goal.name}: no gain beyond {title} {shown[place][text]}, within {PERCENT}.")
        elif (end := _best_end(axis, rows, goal.maximise)) is not None:
            said.append(
                f"{goal.name} is best at {title} {shown[place][end]}, an end of its values: "
                "a value beyond it may be better."
            )
    return said


def _alike(one: float, other: float) -> bool:
    return abs(one - other) <= ALIKE * max(abs(one), abs(other))


def _best_end(
    axis: Axis, rows: Sequence[tuple[tuple[str, ...], str, float | None]], maximise: bool
) -> str | None:
    """The best point's value if it is the least or the largest; None otherwise."""
    known = [(figure, text) for _, text, figure in rows if figure is not None]
    if not known:
        return None
    (_, best) = (max if maximise else min)(known, key=lambda pair: pair[0])
    order = [
        text for _, text in sorted(zip(axis.meant(), axis.values, strict=True), key=lambda pair: pair[0])
    ]
    return best if best in (order[0], order[-1]) else None


def _last_gain(
    axis: Axis, rows: Sequence[tuple[tuple[str, ...], str, float | None]], maximise: bool
) -> str | None:
    """From this value on, no larger one gains, whatever the other axes have; None if one does."""
    order = sorted(zip(axis.meant(), axis.values, strict=True), key=lambda pair: pair[0])
    texts = [text for _, text in order]
    curves: dict[tuple[str, ...], dict[str, float | None]] = {}
    for others, text, figure in rows:
        curves.setdefault(others, {})[text] = figure
    ends = [_end(curve, texts, maximise) for curve in curves.values()]
    if None in ends:
        return None
    last = max(end for end in ends if end is not None)
    return texts[last] if 0 < last < len(texts) - 1 else None


def _end(curve: Mapping[str, float | None], texts: Sequence[str], maximise: bool) -> int | None:
    """The first place from which a curve stays within reach of its best figure."""
    known = [value for text in texts if (value := curve.get(text)) is not None]
    if len(known) < len(texts):
        return None
    best = max(known) if maximise else min(known)
    end = len(known)
    while end and _alike(known[end - 1], best):
        end -= 1
    return end
