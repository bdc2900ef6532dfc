"""A range of numbers that somebody searches: in a paper, a calibration, or an experiment."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Range:
    """Every number between two others, in equal steps or in equal ratios."""

    low: float
    high: float
    is_log: bool
    is_whole: bool

    def at(self, share: float) -> float:
        """The number at a share of the range, 0 to 1; six digits.

        Whole numbers on a linear scale have equal shares.

        >>> Range(1.0, 1000.0, True, False).at(0.5), Range(8, 48, False, True).at(0.5)
        (31.6228, 28)
        """
        if self.is_whole and not self.is_log:
            return int(self.low) + min(int(share * (self.high - self.low + 1)), int(self.high - self.low))
        low, high = (math.log(self.low), math.log(self.high)) if self.is_log else (self.low, self.high)
        found = low + share * (high - low)
        found = math.exp(found) if self.is_log else found
        if self.is_whole:
            return min(max(round(found), int(self.low)), int(self.high))
        return min(max(float(f"{found:.6g}"), self.low), self.high)

    def nearest(self, share: float) -> float:
        """The number nearest to a place in the range, 0 to 1; six digits, within the range.

        Whole numbers are rounded, so the ends have half the share of the others: right for a search that goes
        downhill.

        >>> Range(1.0, 1000.0, True, False).nearest(0.5), Range(8, 48, False, True).nearest(0.49)
        (31.6228, 28.0)
        """
        share = min(1.0, max(0.0, share))
        if self.is_log:
            number = math.exp(math.log(self.low) + share * (math.log(self.high) - math.log(self.low)))
        else:
            number = self.low + share * (self.high - self.low)
        if self.is_whole:
            return float(round(number))
        return float(f"{min(self.high, max(self.low, number)):.6g}")

    def place(self, value: float) -> float:
        """A number's place in the range, 0 to 1."""
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)
