"""The best design among several, and whether the lead is more than chance."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from nandlab.figures.interval import half_width
from nandlab.figures.table import Column
from nandlab.record.record import Record


@dataclass(frozen=True)
class Figure:
    """A design's figure over its seeds: the mean, half its 95 % interval, and both as text.

    With one seed `half` is 0: nothing is known about the noise.
    """

    mean: float | None
    half: float
    text: str

    @classmethod
    def of(cls, column: Column[Record], results: Sequence[Record]) -> Figure:
        """The figure for `column` over results that differ in their seed; None if one lacks it."""
        values = [number for result in results if (number := column.value(result)) is not None]
        if not values or len(values) < len(results):
            return cls(None, 0.0, column.text(None))
        if len(values) == 1:
            return cls(values[0], 0.0, column.text(values[0]))
        mean, half = statistics.fmean(values), half_width(values)
        text = column.text(mean)
        return cls(mean, half, f"{text} ± {column.text(half)}" if half > 0 else text)


def best(figures: Sequence[Figure | None], high: bool) -> list[bool]:
    """Whether each figure is the best: none if all are equal, or if another one's interval meets it.

    Figures with equal text are not told apart either.

    >>> one = [Figure(value, 0.1, str(value)) for value in (3.0, 1.0, 2.0)]
    >>> best(one, high=False)
    [False, True, False]
    >>> best([*one, Figure(1.15, 0.1, "1.15")], high=False)
    [False, False, False, False]
    """
    known = [figure for figure in figures if figure is not None and figure.mean is not None]
    means = [figure.mean for figure in known if figure.mean is not None]
    if len(set(means)) < 2:
        return [False] * len(figures)
    top = max(means) if high else min(means)
    leaders = [figure for figure in known if figure.mean == top]
    reach, looks = max(figure.half for figure in leaders), {figure.text for figure in leaders}
    rivals = [figure for figure in known if figure.mean is not None and figure.mean != top]
    if any(abs((one.mean or 0.0) - top) <= one.half + reach or one.text in looks for one in rivals):
        return [False] * len(figures)
    return [figure is not None and figure.mean == top for figure in figures]


def best_of_groups(
    columns: Sequence[Column[Record]], cells: Sequence[Sequence[Figure | None]], groups: Sequence[str]
) -> list[list[bool]]:
    """For each row and column whether it holds the best figure among its group's rows."""
    found = [[False] * len(columns) for _ in cells]
    for group in dict.fromkeys(groups):
        rows = [at for at, name in enumerate(groups) if name == group]
        for at, column in enumerate(columns):
            for row, is_best in zip(rows, best([cells[row][at] for row in rows], column.high), strict=True):
                found[row][at] = is_best
    return found
