"""How far a measured value may be from a published one, as the lists of claims write it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = r"(\d[\d,]*(?:\.\d+)?)"
_FORMS = (
    (re.compile(rf"{_NUMBER} %"), "percent"),
    (re.compile(rf"{_NUMBER}(?: points?)?"), "absolute"),
    # Such as "20 per 500": an absolute distance, with what it is counted over.
    (re.compile(rf"{_NUMBER} per [\d,]+"), "absolute"),
    (re.compile(rf"factor {_NUMBER}"), "factor"),
    (re.compile("at least"), "at_least"),
    (re.compile("at most"), "at_most"),
    (re.compile(rf"{_NUMBER} to {_NUMBER}"), "range"),
    (re.compile(rf"to {_NUMBER}"), "up_to"),
)
FORMS = "'6 %', '2 points', '5', 'factor 2', 'at least', 'at most', '900 to 1,100' or 'to 1,500'"


@dataclass(frozen=True)
class Tolerance:
    """An interval around a published value."""

    text: str
    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Whether `value` is in the interval; rounding of the last digits is forgiven."""
        slack = 1e-9 * max(abs(self.low) if self.low > -float("inf") else 0.0, abs(value))
        return self.low - slack <= value <= self.high + slack

    def is_as_large_as(self, published: float) -> bool:
        """Whether the interval reaches from the published value to 0: then only its sign is judged.

        >>> [parse_tolerance(text, 5.0).is_as_large_as(5.0) for text in ("5 points", "4 points")]
        [True, False]
        """
        is_bounded = self.low > -float("inf") and self.high < float("inf")
        return published != 0 and is_bounded and self.low <= 0 <= self.high

    def contains(self, other: Tolerance) -> bool:
        """Whether every value that `other` allows is allowed."""
        return self.low <= other.low and other.high <= self.high


def parse_tolerance(text: str, published: float) -> Tolerance:
    """Reads a tolerance.

    Raises:
        ValueError: With a sentence; the text has none of the forms.

    >>> parse_tolerance("6 %", 200.0)
    Tolerance(text='6 %', low=188.0, high=212.0)
    >>> parse_tolerance("to 1,500", 500.0).high, parse_tolerance("factor 2", 0.1).low
    (1500.0, 0.05)

    """
    for pattern, form in _FORMS:
        found = pattern.fullmatch(text)
        if found:
            numbers = [float(part.replace(",", "")) for part in found.groups()]
            return Tolerance(text, *_interval(form, published, numbers))
    raise ValueError(f"expected a tolerance such as {FORMS}, given {text!r}")


def _interval(form: str, published: float, numbers: list[float]) -> tuple[float, float]:
    if form == "percent":
        reach = abs(published) * numbers[0] / 100
        return published - reach, published + reach
    if form == "absolute":
        return published - numbers[0], published + numbers[0]
    if form == "factor":
        bounds = published / numbers[0], published * numbers[0]
        return min(bounds), max(bounds)
    if form == "range":
        return numbers[0], numbers[1]
    if form == "up_to":
        return published, numbers[0]
    return (published, float("inf")) if form == "at_least" else (-float("inf"), published)
