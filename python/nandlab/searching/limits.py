"""Limits of a search: a record figure below or above a number."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nandlab._native import ConfigError
from nandlab.sweeping.goals import Goal, goal_of
from nandlab.writing.sizes import bytes_of

_SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_LIMIT = re.compile(r"\s*([^<>=]+?)\s*(<=|>=|<|>)\s*([^<>=]+?)\s*")


@dataclass(frozen=True)
class Limit:
    """A bound for a figure."""

    text: str
    goal: Goal
    sign: str
    bound: float

    def holds(self, record: Mapping[str, Any]) -> bool:
        """Whether a record keeps it; a record without the figure does not."""
        value = self.goal.of(record)
        return value is not None and bool(_SIGNS[self.sign](value, self.bound))

    def over(self, record: Mapping[str, Any]) -> float:
        """How far a record is beyond it, as a share of the bound; 0 or less within."""
        value = self.goal.of(record)
        if value is None:
            return 1e9
        beyond = value - self.bound if self.sign.startswith("<") else self.bound - value
        share = beyond / (abs(self.bound) or 1.0)
        # A bound that must not be reached is not kept at the bound.
        return share if share != 0 or self.holds(record) else 1e-9


def limit_of(text: str) -> Limit:
    """Reads `NAME<NUMBER`, with `<`, `<=`, `>` or `>=`; a number of bytes may have a unit.

    Raises:
        ConfigError: It cannot be read, or the record has no such figure; with the nearest name.

    >>> limit_of("latency_us.write.p99 < 5000").bound, limit_of("ram.total_bytes<=64 KiB").bound
    (5000.0, 65536.0)

    """
    found = _LIMIT.fullmatch(text)
    if found is None:
        raise ConfigError(
            f"the limit {text!r} cannot be read: expected a figure, a sign and a number, as in "
            "'latency_us.write.p99<5000'"
        )
    name, sign, number = found.groups()
    size = bytes_of(number) if re.search("[A-Za-z]", number) else None
    try:
        bound = float(number.replace("_", "")) if size is None else float(size)
    except ValueError:
        raise ConfigError(f"the limit {text!r} cannot be read: {number!r} is no number") from None
    if bound != bound or bound in (float("inf"), float("-inf")):
        raise ConfigError(f"the limit {text!r} cannot be read: {number!r} is no number that bounds anything")
    try:
        goal = goal_of(name)
    except ConfigError as error:
        raise ConfigError(str(error).replace("the goal", "the limit", 1)) from None
    return Limit(f"{name} {sign} {number}", goal, sign, bound)
