"""Depths of colour for figures, and the words that tell their range."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

WIDE = 10
"""A largest value this many times the smallest takes a log scale: on a linear one small values vanish."""

CROWDED = 0.1
"""A median below this share of the range makes colours follow the order of the values, not the values."""

NARROW = 1.25
"""A largest value less than this many times the smallest differs little, so a picture says by how much."""


def is_log(values: Sequence[float]) -> bool:
    """True if values differ so much that a linear axis would show the largest alone."""
    return min(values) > 0 and max(values) > WIDE * min(values)


def shades(values: Sequence[float | None]) -> list[float]:
    """A depth from 0, the least, to 1, the most, for each value; 0 for all equal values and for None.

    >>> shades([1, 2, 3]), shades([1, 10, 100]), shades([5, 5, None])
    ([0.0, 0.5, 1.0], [0.0, 0.5, 1.0], [0.0, 0.0, 0.0])
    >>> shades([0, 1, 2, 1000])
    [0.0, 0.333, 0.667, 1.0]
    """
    known = [value for value in values if value is not None]
    if not known or min(known) == max(known):
        return [0.0] * len(values)
    low, high = min(known), max(known)
    place: Callable[[float], float]
    if is_log(known):
        place = lambda value: math.log(value / low) / math.log(high / low)  # noqa: E731
    elif _is_crowded(known):
        order = sorted(set(known))
        place = lambda value: order.index(value) / (len(order) - 1)  # noqa: E731
    else:
        place = lambda value: (value - low) / (high - low)  # noqa: E731
    return [0.0 if value is None else round(place(value), 3) for value in values]


def _is_crowded(values: Sequence[float]) -> bool:
    low, high = min(values), max(values)
    return len(set(values)) > 2 and statistics.median(values) - low < CROWDED * (high - low)


def scale_words(values: Sequence[float], text: Callable[[float | None], str]) -> str:
    """The range of colours in words, and the scale where it is not linear; `text` writes a value.

    >>> scale_words([1.163, 1.209], "{:.3f}".format)
    '1.163 to 1.209 (4 % more)'
    >>> scale_words([1, 50], "{:.0f}".format), scale_words([2, 2], "{:.0f}".format)
    ('1 to 50, logarithmic', '2 everywhere')
    """
    low, high = min(values), max(values)
    if low == high:
        return f"{text(low)} everywhere"
    words = f"{text(low)} to {text(high)}"
    if is_log(values):
        return f"{words}, logarithmic"
    if _is_crowded(values):
        return f"{words}, in the order of the values"
    return words + (f" ({_more(low, high)} more)" if is_narrow(values) else "")


def is_narrow(values: Sequence[float]) -> bool:
    """True if values differ, but little."""
    return 0 < min(values) < max(values) < NARROW * min(values)


def _more(low: float, high: float) -> str:
    share = 100 * (high / low - 1)
    return f"{share:.0f} %" if share >= 1 else f"{share:.1g} %"
