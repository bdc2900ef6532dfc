"""Figures over a list in a run's record, such as its log blocks' fates one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nandlab.reproduce.curves import Curve, parse_curves
from nandlab.reproduce.document import Table
from nandlab.reproduce.formula import Formula, FormulaError, parse_formula
from nandlab.reproduce.heading import Headed, parse_heading
from nandlab.reproduce.published import Mark, parse_marks


@dataclass(frozen=True)
class Timeline(Headed):
    """Lines through a list's entries, a panel for each run; with the first seed."""

    runs: tuple[str, ...]
    path: str
    """The list: a key in the record, names joined by full stops."""
    first: int
    """The first entry to draw, counted from 1."""
    entries: int
    """Most entries to draw."""
    x: Formula
    x_title: str
    lines: dict[str, Formula]
    """Lines to draw: formulas over an entry's numbers; `entry` is its place in the list, from 1.

    `before.x` is the number `x` in the entry before, 0 for the first one.
    """
    y_title: str
    y_log: bool
    compares: bool
    """Whether each one in `lines` is a panel with a line for each run, and not the other way round."""
    published: tuple[Mark, ...] = ()
    measured: tuple[Curve, ...] = ()

    @property
    def panels(self) -> list[str]:
        """The panels' titles."""
        return self._named(self.lines if self.compares else self.runs)

    @property
    def colours(self) -> list[str]:
        """The lines' names in a panel."""
        return self._named(self.runs if self.compares else self.lines)

    def _named(self, names: Iterable[str]) -> list[str]:
        return [self.labels.get(name, name) for name in names]

    def points(self, run: str, record: Mapping[str, Any]) -> list[dict[str, Any]]:
        """A run's points: `panel`, `colour`, `x` and `y`; none if an entry lacks a number."""
        entries = [{**entry, "entry": at} for at, entry in enumerate(at_path(record, self.path) or (), 1)]
        start = self.first - 1
        pairs = zip([None, *entries], entries, strict=False)
        keys = ("colour", "panel") if self.compares else ("panel", "colour")
        return [
            {**dict(zip(keys, self._named([run, line]), strict=True)), "x": x, "y": y}
            for before, entry in list(pairs)[start : start + self.entries]
            for line, formula in self.lines.items()
            for x, y in _point(self.x, formula, entry, before)
        ]


def at_path(tree: Any, path: str) -> Any:  # noqa: ANN401 - JSON
    """The value at a key path in a tree; nothing if the path ends before.

    >>> at_path({"fs": {"samples": [1]}}, "fs.samples"), at_path({"fs": None}, "fs.samples")
    ([1], None)
    """
    for part in path.split("."):
        tree = tree.get(part) if isinstance(tree, Mapping) else None
    return tree


def _point(
    x: Formula, y: Formula, entry: Mapping[str, Any], before: Mapping[str, Any] | None
) -> Iterable[tuple[float, float]]:
    def number(name: str) -> float:
        path = name.removeprefix("before.")
        if path != name and before is None:
            return 0.0
        value = at_path(entry if path == name else before, path)
        if not isinstance(value, int | float):
            raise FormulaError(f"the entry has no number {name}")
        return float(value)

    try:
        yield x.value(number), y.value(number)
    except FormulaError:
        return


def parse_timeline(table: Table) -> Timeline:
    """Reads an entry in `[[timelines]]`.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    x, lines = table.table("x"), table.table("lines")
    timeline = Timeline(
        **parse_heading(table),
        runs=tuple(table.texts("runs")),
        path=table.text("list"),
        first=table.whole("first", 1),
        entries=table.whole("entries"),
        x=x.read("value", x.text("value"), parse_formula),
        x_title=x.text("title"),
        lines={key: lines.read(key, lines.text(key), parse_formula) for key in lines.keys()},  # noqa: SIM118
        y_title=table.text("y_title"),
        y_log=table.truth("y_log", False),
        compares=table.truth("compares", False),
        published=parse_marks(table),
        measured=parse_curves(table),
    )
    for each in (x, table):
        each.end()
    return timeline
