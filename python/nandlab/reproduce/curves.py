"""Curves from other people's measurements, drawn beside simulated ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nandlab.reproduce.claim import Claim
from nandlab.reproduce.document import Table


@dataclass(frozen=True)
class Curve:
    """Points in one panel."""

    line: str
    """The name for a line through them; empty if they stand alone."""
    panel: str
    x: tuple[float, ...]
    y: tuple[float | str, ...]
    """Numbers, or claims' ids for their published numbers."""

    def points(self, labels: Mapping[str, str], claims: Sequence[Claim]) -> list[dict[str, Any]]:
        """Its points: `panel`, `colour`, `x` and `y`, and their `order` on the line."""
        place = {"panel": labels.get(self.panel, self.panel), "colour": self.line}
        printed = {claim.id: claim.published for claim in claims}
        values = [printed[y] if isinstance(y, str) else y for y in self.y]
        return [
            {**place, "x": x, "y": y, "order": at, "point": self.line}
            for at, (x, y) in enumerate(zip(self.x, values, strict=True))
        ]


def parse_curves(table: Table) -> tuple[Curve, ...]:
    """Reads `[[measured]]` in a figure or a timeline.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    return tuple(_curve(each) for each in table.tables("measured"))


def _curve(table: Table) -> Curve:
    x, y = table.values("x"), table.values("y")
    found = Curve(table.text("line", ""), table.text("panel"), tuple(x), tuple(y))
    table.end()
    if not all(_is_number(each) for each in x):
        raise table.error("x", "expected numbers")
    if not all(_is_number(each) or isinstance(each, str) for each in y):
        raise table.error("y", "expected numbers, or ids of claims")
    if len(x) != len(y):
        raise table.error("y", f"expected as many values as x has, {len(x)}, given {len(y)}")
    return found


def _is_number(value: Any) -> bool:  # noqa: ANN401 - a TOML value
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_curves(
    table: Table, curves: Sequence[Curve], panels: Sequence[str], claims: Sequence[Claim]
) -> None:
    """Refuses curves with claims that print no number, and in unknown panels.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    printed = {claim.id for claim in claims if claim.published is not None}
    for entry, curve in zip(table.tables("measured"), curves, strict=True):
        if curve.panel not in panels:
            raise entry.error("panel", f"expected one of {', '.join(panels)}; given {curve.panel!r}")
        for name in curve.y:
            if isinstance(name, str) and name not in printed:
                raise entry.error("y", f"{name} is no claim that prints a number")
