"""A device profile's free numbers: keys with a range, and a number's place in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nandlab._native import ConfigError
from nandlab.calibrate.runs import Bench
from nandlab.calibrate.words import known_or_near
from nandlab.running.ranges import Range
from nandlab.running.varied import Pair
from nandlab.sweeping.ranges import range_of
from nandlab.writing.plain import refused
from nandlab.writing.toml_text import toml_value

TABLES = ("shape", "rules", "timing", "energy", "controller", "link")
"""Tables in a profile."""


@dataclass(frozen=True)
class Free:
    """A number to fit."""

    key: str
    """As the user gave it, such as `device.timing.page_types.read_us[0,1]`."""
    low: float
    high: float
    log: bool
    whole: bool
    """Whether it takes whole numbers only."""
    now: float | None
    """The experiment's value; None without one."""

    @property
    def path(self) -> str:
        """The key without its items."""
        return self.key.partition("[")[0]

    @property
    def items(self) -> tuple[int, ...]:
        """The list items the number fills; empty if the key is a number."""
        return _items(self.key)

    @property
    def range(self) -> Range:
        """Its range."""
        return Range(self.low, self.high, self.log, self.whole)

    def value(self, place: float) -> float:
        """The number at a place in the range, 0 to 1, with as many digits as a fit is worth."""
        return self.range.nearest(place)

    def place(self, value: float) -> float:
        """A number's place in the range, 0 to 1."""
        return self.range.place(value)

    @property
    def step(self) -> float:
        """The smallest step in the range that makes a difference."""
        return 1 / (self.high - self.low) if self.whole and not self.log else 0.0


def _items(key: str) -> tuple[int, ...]:
    found = re.fullmatch(r"[^\[]*\[([\d,\s]+)\]", key)
    return () if found is None else tuple(int(each) for each in found[1].split(",") if each.strip())


def free_of(bench: Bench, given: Mapping[str, str]) -> list[Free]:
    """An experiment's free numbers, by key and range.

    Raises:
        ConfigError: With the key: it is misspelt or no number in a profile, or the range is malformed or
            exceeds the key's allowed values.

    """
    device = bench.resolved_device()
    found = [_free(key, text, device) for key, text in given.items()]
    if not found:
        raise ConfigError(
            "no number is free: name a key and its range, as in --free device.timing.read_us=40..80"
        )
    _refuse_twice(found)
    for free in found:
        for end in (free.low, free.high):
            try:
                bench.resolved_device(overrides([free], [end], device))
            except ConfigError as error:
                said = _without_set(str(error), free.path)
                if "has no key" in said:
                    raise refused(free.key, said) from None
                raise refused(free.key, f"{end:g} is in the range and cannot be set: {said}") from None
    return found


def _without_set(said: str, path: str) -> str:
    """An engine message without the override it names."""
    return said.partition(f"--set {path}=")[2].partition(": ")[2] or said


def _refuse_twice(found: Sequence[Free]) -> None:
    taken: dict[tuple[str, int], str] = {}
    for free in found:
        for item in free.items or (-1,):
            first = taken.setdefault((free.path, item), free.key)
            if first != free.key:
                raise refused(free.key, f"{first} is free already and stands for the same number")


def _free(key: str, text: str, device: Mapping[str, Any]) -> Free:
    table = key.split(".")[1] if key.startswith("device.") and key.count(".") > 1 else key
    if not (key.startswith("device.") and table in TABLES):
        tables = [f"device.{each}" for each in TABLES]
        start = ".".join(key.split(".")[:2])
        known_or_near(f"{key}: a profile has no", start, tables)
    wide = range_of(key, text)
    low, high, log = float(wide.low), float(wide.high), wide.is_log
    now = _now(key, device)
    whole = isinstance(now, int) and not isinstance(now, bool)
    if whole and (low != round(low) or high != round(high)):
        raise refused(key, f"{text}: it takes whole numbers only")
    return Free(key, low, high, log, whole, None if now is None else float(now))


def _now(key: str, device: Mapping[str, Any]) -> int | float | None:
    """The device's value at a key; None without one.

    Raises:
        ConfigError: It is no number, or there are no such items.

    """
    bare, items = key.partition("[")[0], _items(key)
    if "[" in key and not items:
        raise refused(key, "expected items of a list such as [0] or [0,1]")
    found: Any = device
    for part in bare.split(".")[1:]:
        found = found.get(part) if isinstance(found, Mapping) else None
    if isinstance(found, list):
        if not items:
            raise refused(bare, f"it is a list of {len(found)}: say which items, as in {bare}[0]")
        if max(items) >= len(found):
            raise refused(key, f"the list has {len(found)} items, from 0 on")
        found = found[items[0]]
    elif items:
        raise refused(key, f"{bare} is no list in this experiment; give it one, then free its items")
    if found is None or (isinstance(found, int | float) and not isinstance(found, bool)):
        return found
    raise refused(key, f"expected the key of a number, and it is {found!r}")


def overrides(free: Iterable[Free], values: Iterable[float], device: Mapping[str, Any]) -> list[str]:
    """Overrides for free numbers, as `Experiment.override` takes them; `device` is the resolved table."""
    single: list[Pair] = []
    lists: dict[str, list[Any]] = {}
    for each, value in zip(free, values, strict=True):
        number = int(value) if each.whole else value
        if not each.items:
            single.append((each.path, toml_value(number)))
            continue
        if each.path not in lists:
            found: Any = device
            for part in each.path.split(".")[1:]:
                found = found[part]
            lists[each.path] = list(found)
        for item in each.items:
            lists[each.path][item] = number
    return [
        f"{path}={text}" for path, text in [*single, *((key, toml_value(it)) for key, it in lists.items())]
    ]
