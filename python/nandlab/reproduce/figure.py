"""Lines over an experiment's key, or over a measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nandlab.reproduce.curves import Curve, parse_curves
from nandlab.reproduce.document import Table
from nandlab.reproduce.heading import Headed, parse_heading
from nandlab.reproduce.published import Mark, parse_marks


@dataclass(frozen=True)
class Figure(Headed):
    """Panels side by side, each with lines through points; a point is a run.

    Over an experiment's key (`x_key`) each one in `colours` is a line, with a point for each key
    value. Over measures (`x_measures`) each one in `colours` is a point, and `joined` groups them into lines.
    """

    panels: tuple[str, ...]
    colours: tuple[str, ...]
    x_key: str
    """Empty if x is a measure."""
    x_title: str
    x_log: bool
    x_values: tuple[Any, ...]
    x_full: tuple[Any, ...]
    measure: str
    y_title: str
    y_log: bool
    y_own: bool
    """Whether each panel has its own vertical axis."""
    lowest: bool
    """Whether the report names the lowest line at each point."""
    lowest_from: str
    """The caption tells from which x on this line is lowest; empty for none."""
    x_measures: Mapping[str, str] = field(default_factory=dict)
    """By colour, the run's measure for x; empty if x is a key."""
    joined: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Lines, each with its colours in order; any other colour stands alone."""
    marked: Mapping[str, float] = field(default_factory=dict)
    """Values of y with a horizontal line, by their names; such as no paper prints."""
    published: tuple[Mark, ...] = ()
    measured: tuple[Curve, ...] = ()
    front: bool = False
    """Whether a line joins a panel's points that no other one beats in x and y, less being better."""

    @property
    def x_is_size(self) -> bool:
        """Whether the x axis is in bytes, a KiB and more."""
        return self.x_key.endswith("_bytes") and all(value >= 1024 for value in self.x_values)

    @property
    def x_name(self) -> str:
        """The column title for x values."""
        return self.x_key or " or ".join(dict.fromkeys(self.x_measures.values()))

    @property
    def lines(self) -> tuple[str, ...]:
        """A panel's lines: joined colours come at their first one's place."""
        return tuple(dict.fromkeys(self.line_of(colour) for colour in self.colours))

    def line_of(self, colour: str) -> str:
        """The line through a colour."""
        return next((name for name, through in self.joined.items() if colour in through), colour)

    def points(self, full: bool) -> tuple[Any, ...]:
        """The values on the x axis, if it is a key."""
        return self.x_full if full else self.x_values

    def runs(self) -> list[tuple[str, str, str]]:
        """Panel, colour and run for every line, or for every point if x is a measure.

        Points come in their line's order.
        """
        through = [colour for each in self.joined.values() for colour in each]
        colours = [*through, *(colour for colour in self.colours if colour not in through)]
        return [(panel, colour, f"{panel}.{colour}") for panel in self.panels for colour in colours]


def parse_figure(table: Table) -> Figure:
    """Reads a figure.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    x, y = table.table("x"), table.table("y")
    colours, y_log = tuple(table.texts("colours")), y.truth("log", False)
    by_key = not x.has("measures")
    if not by_key and x.has("key"):
        raise x.error("measures", "x is either a key of the experiments, `key`, or `measures` of the runs")
    values = x.values("values") if by_key else []
    figure = Figure(
        **parse_heading(table),
        panels=tuple(table.texts("panels")),
        colours=colours,
        x_key=x.text("key") if by_key else "",
        x_title=x.text("title"),
        x_log=x.truth("log", False),
        x_values=tuple(values),
        x_full=tuple(x.values("full", values) if by_key else []),
        measure=y.text("measure"),
        y_title=y.text("title"),
        y_log=y_log,
        y_own=y.truth("own", False),
        lowest=y.truth("lowest", False),
        lowest_from=y.text("lowest_from", ""),
        x_measures={} if by_key else _measures(x.table("measures"), colours),
        joined=_joined(table, colours, by_key),
        marked=_marked(table.table("marked"), y_log),
        published=parse_marks(table),
        measured=parse_curves(table),
        front=table.truth("front", False),
    )
    if figure.lowest_from and figure.lowest_from not in figure.colours:
        lines = ", ".join(figure.colours)
        raise y.error("lowest_from", f"expected one of {lines}, given {figure.lowest_from!r}")
    if not by_key and (figure.lowest or figure.lowest_from):
        key = "lowest" if figure.lowest else "lowest_from"
        raise y.error(key, "no line is lowest at a point where x is a measure: each run has an x of its own")
    if by_key and figure.front:
        raise table.error("front", "a front takes an x that is measured: expected [figures.x.measures]")
    for each in (x, y, table):
        each.end()
    return figure


def _measures(table: Table, colours: tuple[str, ...]) -> dict[str, str]:
    """The measure for x, by colour."""
    found = {colour: table.text(colour) for colour in colours}
    table.end()
    return found


def _joined(table: Table, colours: tuple[str, ...], by_key: bool) -> dict[str, tuple[str, ...]]:
    """Lines with their colours."""
    lines = table.table("joined")
    found: dict[str, tuple[str, ...]] = {}
    for name in lines.keys():  # noqa: SIM118 - a Table is no dictionary
        if by_key:
            raise lines.error(name, "runs are joined where x is a measure; over a key each colour is a line")
        through = tuple(lines.texts(name))
        if len(through) < 2:
            raise lines.error(name, "expected at least two of the colours, in the order of the line")
        for colour in through:
            if colour not in colours:
                raise lines.error(name, f"expected colours of the figure, given {colour!r}")
            if through.count(colour) > 1 or any(colour in others for others in found.values()):
                raise lines.error(name, f"{colour!r} is on a line already")
        if name in colours and name not in through:
            raise lines.error(name, "there is a colour of this name that is not on the line")
        found[name] = through
    return found


def _marked(table: Table, y_log: bool) -> dict[str, float]:
    """Values of y to mark."""
    found = {name: table.number(name) for name in table.keys()}  # noqa: SIM118 - a Table is no dictionary
    for name, value in found.items():
        if y_log and value <= 0:
            raise table.error(name, f"expected a number above 0, since y is logarithmic, given {value}")
    return found
