"""Names above the rules that mark percentiles: each beside its own rule, in as many rows as they need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from math import log
from typing import Literal

MARKED = {"p50_us": "p50", "p90_us": "p90", "p99_us": "p99", "p999_us": "p99.9", "max_us": "longest"}
LETTER = 6.0
"""A label's pixels for each letter, about."""
ROW = 13
"""A row's height in pixels."""
BESIDE = 8
"""Pixels between a rule and its name, and behind the name."""
SAME = 3.0
"""Rules that are closer look like one, and share a label."""
SEPARATOR = " · "


@dataclass(frozen=True)
class Label:
    """Words beside the rule at `us`."""

    us: float
    at: float  # in pixels, as `start` and `end`
    words: str
    side: Literal["left", "right"]  # the rule's side on which they begin
    row: int = 0  # above the picture, from below

    @property
    def start(self) -> float:
        """Where the words begin."""
        return self.at if self.side == "left" else self.at - self.length

    @property
    def end(self) -> float:
        """Where they end."""
        return self.start + self.length

    @property
    def length(self) -> float:
        """Their pixels, with the distance from the rule."""
        return LETTER * len(self.words) + BESIDE

    def fits(self, other: Label) -> bool:
        """Whether neither covers the other's words, nor the rule below the other's words."""
        if self.row == other.row:
            return self.end <= other.start or other.end <= self.start
        low, high = sorted((self, other), key=lambda label: label.row)
        return not low.start < high.at < low.end


def labels(row: Mapping[str, float], reach: tuple[float, float], width: float) -> list[Label]:
    """A label for each rule, from left to right.

    Args:
        row: The marked values in microseconds.
        reach: The ends of the logarithmic axis.
        width: Its pixels.

    """
    span = log(reach[1] / reach[0])
    found: list[Label] = []
    for name, words in MARKED.items():
        # Requests without any time stand at the left end.
        us = max(row[name], reach[0])
        at = log(us / reach[0]) / span * width
        if found and at - found[-1].at < SAME:
            us, at, words = found[-1].us, found[-1].at, found.pop().words + SEPARATOR + words
        found.append(Label(us, at, words, "left"))
    # Words at the right end have no room behind their rule, nor have those that would cover such a rule.
    end = width
    left: list[Label] = []
    right: list[Label] = []
    for label in reversed(found):
        if label.end < end:
            left.append(label)
        else:
            right.insert(0, replace(label, side="right"))
            end = label.at
    placed: list[Label] = []
    # Seen from the words, the rules of a side come first that stand behind them: their names are below.
    for label in (*left, *right):
        rows = (replace(label, row=row) for row in count())
        placed.append(next(each for each in rows if all(each.fits(other) for other in placed)))
    return sorted(placed, key=lambda label: label.at)
