"""Lines over a key of the experiments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nandlab.reproduce.document import Table
from nandlab.reproduce.heading import Headed, parse_heading


@dataclass(frozen=True)
class Figure(Headed):
    """Lines over a key of the experiments: panels side by side, a line for each value of `colours`."""

    panels: tuple[str, ...]
    colours: tuple[str, ...]
    x_key: str
    x_title: str
    x_log: bool
    x_values: tuple[Any, ...]
    x_full: tuple[Any, ...]
    measure: str
    y_title: str
    y_log: bool
    lowest: bool
    """Whether the report says which line is lowest at each point."""
    lowest_from: str
    """The line of which the caption says from where on it is lowest; empty for none."""

    @property
    def x_is_size(self) -> bool:
        """Whether the x axis is in bytes."""
        return self.x_key.endswith("_bytes")

    def points(self, full: bool) -> tuple[Any, ...]:
        """The values on the x axis."""
        return self.x_full if full else self.x_values

    def runs(self) -> list[tuple[str, str, str]]:
        """Panel, colour and run of every line."""
        return [(panel, colour, f"{panel}.{colour}") for panel in self.panels for colour in self.colours]


def parse_figure(table: Table) -> Figure:
    """Reads a figure.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    x, y = table.table("x"), table.table("y")
    values = x.values("values")
    figure = Figure(
        **parse_heading(table),
        panels=tuple(table.texts("panels")),
        colours=tuple(table.texts("colours")),
        x_key=x.text("key"),
        x_title=x.text("title"),
        x_log=x.truth("log", False),
        x_values=tuple(values),
        x_full=tuple(x.values("full", values)),
        measure=y.text("measure"),
        y_title=y.text("title"),
        y_log=y.truth("log", False),
        lowest=y.truth("lowest", False),
        lowest_from=y.text("lowest_from", ""),
    )
    if figure.lowest_from and figure.lowest_from not in figure.colours:
        lines = ", ".join(figure.colours)
        raise y.error("lowest_from", f"expected one of {lines}, given {figure.lowest_from!r}")
    for each in (x, y, table):
        each.end()
    return figure
