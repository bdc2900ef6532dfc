"""A search's space: each free key with its values or its range."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nandlab._native import ConfigError
from nandlab.running.ranges import Range
from nandlab.running.varied import split_commas
from nandlab.sweeping.axes import Axis, Value, axis_of
from nandlab.sweeping.ranges import range_of, unit_of
from nandlab.writing.plain import refused
from nandlab.writing.sizes import UNITS

Texts = tuple[str, ...]
"""A value for each free key, as `--set` takes it."""


@dataclass(frozen=True)
class Free:
    """A free key: a list of values, or every number in a range."""

    key: str
    values: Texts = ()
    """The listed values, numbers in rising order; empty for a range."""
    range: Range | None = None
    unit: str = ""
    """Stands behind each number in a range of bytes; the range is in this unit."""
    ordered: bool = field(default=False)
    """Whether neighbours in `values` are alike: numbers are, names are not."""

    @property
    def count(self) -> float:
        """How many values it has; infinite for a range of fractions."""
        if self.range is None:
            return len(self.values)
        return self.range.high - self.range.low + 1 if self.range.is_whole else math.inf

    def text(self, number: float) -> str:
        """A number in the range, as `--set` takes it; six digits.

        >>> Free("device.over_provisioning", range=Range(0.07, 0.5, False, False)).text(1 / 3)
        '0.333333'
        """
        assert self.range is not None
        if self.range.is_whole:
            digits = str(round(number))
        else:
            digits = repr(min(self.range.high, max(self.range.low, float(f"{number:.6g}"))))
        return f"{digits} {self.unit}" if self.unit else digits

    def numbers(self) -> Texts:
        """Every number in a range of whole ones."""
        assert self.range is not None and self.range.is_whole
        return tuple(self.text(number) for number in range(int(self.range.low), int(self.range.high) + 1))

    def beside(self, text: str) -> list[str]:
        """The values next to one, of which a search tries some; all others if the values have no order."""
        if self.range is None:
            if not self.ordered:
                return [each for each in self.values if each != text]
            at = self.values.index(text)
            return [self.values[near] for near in (at - 1, at + 1) if 0 <= near < len(self.values)]
        number = float(text.partition(" ")[0])
        place = self.range.place(number)
        found = {self.text(self.range.nearest(place + step)) for step in (-STEP, STEP)}
        if self.range.is_whole:
            near = (number - 1, number + 1)
            found |= {self.text(each) for each in near if self.range.low <= each <= self.range.high}
        return sorted(found - {text})

    def ends(self) -> Texts:
        """Every listed value, or a range's ends: what is checked before a search."""
        return (
            self.values or (self.text(self.range.low), self.text(self.range.high))
            if self.range
            else self.values
        )

    def axis(self, texts: Iterable[str]) -> Axis:
        """An axis with the values that were tried, numbers in rising order."""
        axis = Axis(self.key, tuple(dict.fromkeys(texts)))
        if not axis.is_numeric():
            order = {text: at for at, text in enumerate(self.values)}
            return Axis(self.key, tuple(sorted(axis.values, key=lambda text: order.get(text, 0))))
        rising = sorted(zip(axis.meant(), axis.values, strict=True))
        spacing = "log" if self.range is not None and self.range.is_log else "list"
        return Axis(self.key, tuple(text for _, text in rising), spacing)

    def meaning(self) -> dict[str, Any]:
        """What makes it another space."""
        limits = None if self.range is None else vars(self.range)
        return {"key": self.key, "values": self.values, "range": limits, "unit": self.unit}

    @property
    def words(self) -> str:
        """Its values in a few words."""
        if self.range is None:
            return ", ".join(self.values)
        unit = f" {self.unit}" if self.unit else ""
        scale = ", logarithmic" if self.range.is_log else ""
        return f"{self.range.low:g} to {self.range.high:g}{unit}{scale}"


STEP = 0.05
"""A range's neighbours are this share of it away."""


def free_of(key: str, given: Any) -> Free:  # noqa: ANN401 - a text, or Python values
    """A free key from a text such as `0.07..0.5`, `1..64:log`, `0.1..0.5:5` or `greedy,fifo`, or from a list.

    Raises:
        ConfigError: With `key`; a malformed range, or fewer than two values.

    >>> free_of("ftl.bast.log_blocks", "4..64:log").words, free_of("seeds", "1,3,2").values
    ('4 to 64, logarithmic', ('1', '2', '3'))
    >>> free_of("buffer.lru.capacity", "64 KiB..1 MiB:log").words
    '64 to 1024 KiB, logarithmic'

    """
    if isinstance(given, str) and _is_range(given):
        wide, unit = range_of(key, given), unit_of(given)
        if not unit:
            return Free(key, range=wide)
        low, high = (end / UNITS[unit] for end in (wide.low, wide.high))
        whole = low == round(low) and high == round(high)
        low, high = (round(low), round(high)) if whole else (low, high)
        return Free(key, range=Range(low, high, wide.is_log, whole), unit=unit)
    axis = axis_of(key, given)
    meant: dict[Value, str] = {}
    for value, text in zip(axis.meant(), axis.values, strict=True):
        meant.setdefault(value, text)
    if len(meant) < 2:
        raise refused(
            key, f"{axis.values[0]} is its only value: nothing is free; --set gives a key one value"
        )
    if not axis.is_numeric():
        return Free(key, tuple(meant.values()))
    return Free(key, tuple(meant[number] for number in sorted(meant)), ordered=True)  # type: ignore[type-var]


def _is_range(text: str) -> bool:
    """Whether a text is one range without a number of values."""
    parts = [part.strip() for part in text.split(":")]
    return len(split_commas(text)) == 1 and ".." in parts[0] and parts[1:] in ([], ["log"], ["linear"])


def space_of(free: Mapping[str, Any]) -> list[Free]:
    """A space from keys and their values; raises as `free_of`."""
    found = [free_of(key, given) for key, given in free.items()]
    if not found:
        raise ConfigError(
            "no key is free: name one and its range, as in --free device.over_provisioning=0.07..0.5"
        )
    return found


def size_of(space: Sequence[Free]) -> float:
    """How many points a space has; infinite with a range of fractions."""
    return math.prod(each.count for each in space)
