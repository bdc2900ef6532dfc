"""A quantity of a drive, with an interval or a reason why it is unknown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Quantity:
    """What the jobs say about one number."""

    name: str
    unit: str
    """Empty for a count or a ratio."""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""
    """A reason, if the value is None; otherwise a remark."""

    @classmethod
    def within(cls, name: str, unit: str, value: float, half: float, why: str = "") -> Quantity:
        """A value known to within `half`; one whose interval reaches 0 is unknown."""
        if not value > 0 or not half < value:
            return cls(name, unit, why="no job depends on it by more than the figures' accuracy")
        return cls(name, unit, value, value - half, value + half, why)

    @classmethod
    def exact(cls, name: str, unit: str, value: float, why: str = "") -> Quantity:
        """A count, which has no interval."""
        return cls(name, unit, value, value, value, why)
