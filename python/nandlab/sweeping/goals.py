"""A sweep's goals: record figures, each to be small or large, and the unbeaten points."""

from __future__ import annotations

import difflib
import re
import typing
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from nandlab._native import ConfigError
from nandlab.record.made import Cell
from nandlab.record.numbers import number
from nandlab.record.record import Record
from nandlab.record.view import View, hints

DIRECTIONS = ("min", "max")
OPEN = ("ram.sram", "ram.dram")
"""Tables whose entries the FTL names."""

LARGE_IS_GOOD = ("throughput.", "buffer.hits", "buffer.read_hits", "buffer.write_hits", "index.pool.hits")


@dataclass(frozen=True)
class Goal:
    """A record figure, and whether it should be large."""

    name: str
    maximise: bool = False

    def of(self, record: Mapping[str, Any]) -> float | None:
        """A record's figure; None without one."""
        if self.name.startswith("matrix."):
            return number(record, self.name)
        value: Any = record
        for part in self.name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def goal_of(text: str) -> Goal:
    """Reads `name`, `name:min` or `name:max`; by default rates and hits should be large, all else small.

    Raises:
        ConfigError: The record has no such figure; with the nearest name.

    >>> goal_of("waf"), goal_of("throughput.requests_per_s").maximise, goal_of("wear.min:max").maximise
    (Goal(name='waf', maximise=False), True, True)
    >>> goal_of("latency.write.p99_us").name
    'latency_us.write.p99'

    """
    name, separator, direction = (part.strip() for part in text.partition(":"))
    if separator and direction not in DIRECTIONS:
        raise ConfigError(f"the goal {text}: {direction!r} is neither min nor max")
    # Frames have the unit at a percentile's name: latency, write, p99_us.
    moved = re.sub(r"^(\w+?)\.(.+)_us$", r"\1_us.\2", name)
    name = moved if moved in figures() and not _is_known(name) else name
    if not _is_known(name):
        # Most names people try are the last part of one, and whole-flash names come first.
        last = [known for known in figures() if known.endswith(f".{name}")]
        near = sorted(last, key=lambda known: not known.startswith("flash."))[:1]
        near = near or difflib.get_close_matches(name, figures(), 1, 0.5)
        hint = f"did you mean {near[0]}?" if near else "docs/record.md has them all"
        raise ConfigError(f"the goal {name!r} is no figure of the result record; {hint}")
    return Goal(name, direction == "max" or (not separator and name.startswith(LARGE_IS_GOOD)))


def _is_known(name: str) -> bool:
    parts = name.split(".")
    if parts[0] == "matrix":
        return len(parts) == 4 and parts[3] in hints(Cell)
    return name in figures() or any(name.startswith(f"{table}.") for table in OPEN)


@lru_cache(maxsize=1)
def figures() -> tuple[str, ...]:
    """Names of a record's numbers, lists left out."""
    return tuple(_figures(Record, ""))


def _figures(view: type[View], prefix: str) -> Iterator[str]:
    for name, hint in hints(view).items():
        if name == "speed":
            # No result: it differs from machine to machine.
            continue
        parts = [part for part in typing.get_args(hint) if part is not type(None)] or [hint]
        for part in parts if typing.get_origin(hint) not in (list, dict) else []:
            if isinstance(part, type) and issubclass(part, View):
                yield from _figures(part, f"{prefix}{name}.")
            elif part in (int, float):
                yield prefix + name


def front(rows: Sequence[Sequence[float | None]], goals: Sequence[Goal]) -> list[bool]:
    """Whether each row of figures is on the Pareto front: no other row is as good in all and better in one.

    A row without one figure is not; equal rows are all on it, or none.

    >>> front([(1, 9), (2, 5), (3, 6), (4, 1), (None, 0)], [Goal("waf"), Goal("flash.erases")])
    [True, True, False, True, False]
    >>> front([(1, 9), (2, 5), (3, 6)], [Goal("waf"), Goal("host.requests", maximise=True)])
    [True, False, False]
    """
    costs = [_cost(row, goals) for row in rows]
    best: set[tuple[float, ...]] = set()
    for cost in sorted({cost for cost in costs if cost is not None}):
        # In this order whatever beats a row comes before it.
        if not any(all(mine <= its for mine, its in zip(other, cost, strict=True)) for other in best):
            best.add(cost)
    return [cost in best for cost in costs]


def _cost(row: Sequence[float | None], goals: Sequence[Goal]) -> tuple[float, ...] | None:
    """A row's figures, each to be small; None if one is missing."""
    known = [value for value in row if value is not None]
    if len(known) < len(row):
        return None
    return tuple(-value if goal.maximise else value for value, goal in zip(known, goals, strict=True))


def fronts(
    rows: Sequence[Sequence[float | None]], goals: Sequence[Goal], groups: Sequence[Hashable]
) -> list[bool]:
    """As `front`, for each group of rows on its own.

    >>> fronts([(1, 9), (2, 5), (3, 6)], [Goal("waf"), Goal("flash.erases")], ["a", "a", "b"])
    [True, True, True]
    """
    on_front = [False] * len(rows)
    for group in dict.fromkeys(groups):
        places = [at for at, each in enumerate(groups) if each == group]
        for at, best in zip(places, front([rows[at] for at in places], goals), strict=True):
            on_front[at] = best
    return on_front
