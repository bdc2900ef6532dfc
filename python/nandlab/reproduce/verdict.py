"""Verdicts on claims: computed from measurements, never typed."""

from __future__ import annotations

import math
import operator
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from nandlab.figures.interval import half_width
from nandlab.reproduce.formula import Condition
from nandlab.reproduce.tolerance import Tolerance

Word = Literal[
    "reproduced",
    "fitted",
    "loose",
    "direction",
    "differs",
    "not_exercised",
    "not_printed",
    "not_reproducible",
]
Kind = Literal["value", "order", "sign", "model", "not_printed", "not_reproducible"]

VERDICTS: tuple[Word, ...] = get_args(Word)
SEEDS_FOR_DIRECTION = 5
"""Fewest seeds for a finding about an order or a sign."""

MOST_DIGITS = 12
"""Most digits after the point for a figure next to another one."""

COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
}


@dataclass(frozen=True)
class Held:
    """A condition over several seeds."""

    holds: bool
    text: str
    """The condition with figures."""


def check(condition: Condition, sides: Sequence[tuple[float, float]]) -> Held:
    """Whether a condition holds, given its two sides' values for each seed.

    `<` and `>` hold if the 95 % interval of the difference lies on the right side of zero, with one seed if
    the values do; the other signs hold if they do for every seed.
    """
    sign = condition.sign
    if sign not in "<>" or len(sides) < 2:
        return _held(condition, sides, all(COMPARE[sign](a, b) for a, b in sides), "")
    gaps = [(b - a if sign == "<" else a - b) for a, b in sides]
    gap, reach = statistics.fmean(gaps), half_width(gaps)
    by = f" (by {short(gap)} ± {short(reach)})" if gap >= 0 else f" (short by {short(-gap)} ± {short(reach)})"
    return _held(condition, sides, gap - reach > 0, by)


def check_every(condition: Condition, sides: Sequence[tuple[float, float]]) -> Held:
    """Whether a condition holds for each seed, whatever its sign."""
    return _held(condition, sides, all(COMPARE[condition.sign](a, b) for a, b in sides), "")


def _held(condition: Condition, sides: Sequence[tuple[float, float]], holds: bool, by: str) -> Held:
    left, right = (statistics.fmean(side) for side in zip(*sides, strict=True))
    names = [
        formula.text if not formula.names else f"{formula.text} = {_told_apart(value, other)}"
        for formula, value, other in ((condition.left, left, right), (condition.right, right, left))
    ]
    sign = condition.sign if holds else f"is not {condition.sign}"
    return Held(holds, f"{names[0]} {sign} {names[1]}{by}")


def _told_apart(value: float, other: float) -> str:
    """A figure with enough digits to show on which side of `other` it is, or that both are equal.

    >>> _told_apart(16512.6, 16512.7), _told_apart(16512.7, 16512.7), _told_apart(1.61, 2.0)
    ('16,512.6', '16,512.7', '1.610')
    """
    text = short(value)
    if not (math.isfinite(value) and math.isfinite(other)):
        return text
    for digits in range(MOST_DIGITS):
        shown = float(text.replace(",", ""))
        if (shown < other, shown > other) == (value < other, value > other):
            break
        text = f"{value:,.{digits}f}"
    return text


@dataclass(frozen=True)
class Printed:
    """A printed number, and the allowed distance for a measured one."""

    published: float
    tolerance: Tolerance
    loose: Tolerance | None = None
    fitted: bool = False
    """Whether it comes out with the file's choice, but not with every open value."""


def of_value(measured: float, printed: Printed, held: Sequence[Held], seeds: int) -> Word:
    """The verdict on a printed number; `held` are the conditions for its direction, if it has any.

    A direction has the printed number's sign: less is wrong if the paper has more. A tolerance as large as
    the printed number confirms no more than that.
    """
    has_sign = printed.published == 0 or measured * printed.published > 0
    if printed.tolerance.holds(measured):
        if not printed.tolerance.is_as_large_as(printed.published):
            return "fitted" if printed.fitted else "reproduced"
        if has_sign:
            return "fitted" if printed.fitted else "direction"
        return "differs"
    if printed.loose is not None and printed.loose.holds(measured):
        return "fitted" if printed.fitted else "loose"
    if has_sign and _direction(held, seeds):
        return "fitted" if printed.fitted else "direction"
    return "differs"


def of_order(held: Sequence[Held], seeds: int, fitted: bool = False) -> Word | None:
    """The verdict on an order or a sign; `None`: there are too few seeds for one."""
    if seeds < SEEDS_FOR_DIRECTION:
        return None
    if not _direction(held, seeds):
        return "differs"
    return "fitted" if fitted else "direction"


def _direction(held: Sequence[Held], seeds: int) -> bool:
    return seeds >= SEEDS_FOR_DIRECTION and bool(held) and all(each.holds for each in held)


def distance(measured: float, published: float) -> str:
    """How far a measured value is from a published one, in words.

    >>> distance(110.0, 100.0), distance(99.0, 100.0), distance(3.0, 0.0)
    ('10.0 % above', '1.0 % below', '3 above')
    """
    gap = measured - published
    side = "above" if gap >= 0 else "below"
    if published == 0:
        return f"{short(abs(gap))} {side}"
    return f"{abs(gap / published) * 100:.1f} % {side}"


def off(measured: float, published: float) -> str:
    """How far a measured value is from a published one, as short as can be.

    >>> off(110.0, 100.0), off(99.0, 100.0), off(3.0, 0.0)
    ('+10.0 %', '-1.0 %', '+3')
    """
    if published == 0:
        return f"{'+' if measured >= 0 else '-'}{short(abs(measured))}"
    # Adding 0 turns -0.0 into 0.0: no deviation has a sign that its digits do not show.
    return f"{round((measured - published) / abs(published) * 100, 1) + 0.0:+.1f} %"


def short(value: float) -> str:
    """A figure with separators, and with digits after the point if it is small.

    >>> short(120201.4), short(0.7312), short(14.26), short(math.inf)
    ('120,201', '0.731', '14.3', 'inf')
    """
    if not math.isfinite(value):
        return str(value)
    size = abs(value)
    digits = 0 if size >= 100 or float(value).is_integer() else 1 if size >= 10 else 3
    return f"{value:,.{digits}f}"
