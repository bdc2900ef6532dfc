"""The records from a paper's runs, and the figures read from them."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nandlab.record.numbers import number
from nandlab.reproduce.block_map import BlockMap
from nandlab.reproduce.claim import Claim
from nandlab.reproduce.course import figure_of
from nandlab.reproduce.figure import Figure
from nandlab.reproduce.formula import Condition, Formula, FormulaError
from nandlab.reproduce.grid import Grid
from nandlab.reproduce.heading import Headed
from nandlab.reproduce.paper import Paper
from nandlab.reproduce.timeline import Timeline
from nandlab.reproduce.tree import Tree, put
from nandlab.reproduce.verdict import short
from nandlab.reproduce.words import Why

Key = tuple[str, int]
"""An experiment as JSON, and its seed."""


PUBLISHED = "– published"
"""A line's name if it has the published numbers for the line above it."""


class Missing(Exception):
    """A missing figure, since its run did not come to its end; the message says why."""


@dataclass
class Records:
    """The runs' records by experiment and seed; and the reason for a missing one."""

    paper: Paper
    seeds: int
    full: bool
    found: dict[Key, dict[str, Any]] = field(default_factory=dict)
    failed: dict[Key, str] = field(default_factory=dict)
    names: dict[Key, str] = field(default_factory=dict)
    """A run's name, for people."""
    drawn: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Pictures from operation logs, by the figure's name."""
    order_seeds: int = 1
    """Seeds for orders and signs, if these are more."""
    stopped: bool = False
    """Whether somebody stopped the runs."""

    def lookup(self, name: str, seed: int) -> float:
        """The figure for a name in a formula, such as `fast.4k.writes`.

        Raises:
            Missing: Its run has no record.
            FormulaError: The record has no such number.

        """
        run, measure = self.paper.split(name)
        return self.figure(self.paper.tree(run), measure, seed, run)

    def figure(self, tree: Tree, measure: str, seed: int, run: str) -> float:
        """A measure from an experiment's run; raises as `lookup`."""
        key = self.key(tree, seed, run)
        if key not in self.found:
            why = self.failed.get(key, "was stopped before its end")
            raise Missing(f"the run {run} with seed {seed} {why}")
        record = self.found[key]
        try:
            return self.paper.measures[measure].value(lambda path: self._number(record, path))
        except FormulaError as error:
            raise FormulaError(f"measure {measure} of the run {run}: {error}") from None

    def _number(self, record: dict[str, Any], path: str) -> float:
        part = figure_of(self.paper.courses, record, path)
        return number(record, path) if part is None else part

    def key(self, tree: Tree, seed: int, run: str) -> Key:
        """A run's key; if no seed changes a run, the first stands for all."""
        return key_of(tree, 1 if self.paper.has_one_course(run) else seed)

    def values(self, formula: Formula, seeds: range | None = None) -> list[float]:
        """A formula's value for each seed, or for each in `seeds`; raises as `lookup`."""
        wanted = seeds or self.all_seeds()
        return [formula.value(lambda name, seed=seed: self.lookup(name, seed)) for seed in wanted]  # type: ignore[misc]

    def mean(self, formula: Formula) -> float:
        """A formula's mean over the seeds; raises as `lookup`."""
        return statistics.fmean(self.values(formula))

    def filled(self, words: Why, seeds: range | None = None) -> str:
        """Words with their figures over all seeds or over `seeds`; a dash for a missing one."""
        return words.filled(lambda formula: _cell(self, formula, seeds or self.all_seeds()))

    def sides(self, condition: Condition) -> list[tuple[float, float]]:
        """A condition's two sides, for each seed; raises as `lookup`."""
        return list(zip(self.values(condition.left), self.values(condition.right), strict=True))

    def by_name(self) -> dict[str, dict[str, Any]]:
        """Every record, by its run's name and its seed, in letters fit for a file name."""
        return {f"{_slug(self.names[key])}-seed-{key[1]}": record for key, record in self.found.items()}

    def of_claim(self, claim: Claim) -> Records:
        """These records, with the seeds to judge the claim by: an order takes more seeds."""
        is_order = claim.kind in ("order", "sign")
        return replace(self, seeds=max(self.seeds, self.order_seeds)) if is_order else self

    def all_seeds(self) -> range:
        """The runs' seeds."""
        return range(1, self.seeds + 1)


def figure_seeds(records: Records) -> range:
    """The seeds behind a figure's means: one, or all in a full run."""
    return records.all_seeds() if records.full else range(1, 2)


def seeds_of(records: Records, headed: Headed) -> range:
    """The seeds for a table or a figure, and for its caption.

    A picture with single runs shows the first seed.
    """
    if isinstance(headed, Figure):
        return figure_seeds(records)
    if isinstance(headed, Grid) and not headed.one_seed:
        return records.all_seeds()
    return range(1, 2)


def caption(records: Records, headed: Headed) -> str:
    """A table's or a figure's caption, a sentence, with figures from the shown seeds; or nothing.

    If the claims are means over several seeds and this is the first alone, it says so.
    """
    seeds = seeds_of(records, headed)
    words = records.filled(headed.caption, seeds).rstrip(".")
    is_first = isinstance(headed, Figure | Grid) and len(seeds) < records.seeds
    return " ".join(f"{part}." for part in (words, "First seed" if is_first else "") if part)


def points(paper: Paper, figure: Figure, full: bool) -> Iterable[tuple[str, Any, Tree]]:
    """Run, x value and experiment for every point in a figure; no x value if x is a measure."""
    for _, _, run in figure.runs():
        tree = paper.tree(run)
        if figure.x_measures:
            yield run, None, tree
        for x in figure.points(full):
            yield run, x, put(tree, figure.x_key.split("."), x)


def rows(records: Records, figure: Figure) -> list[dict[str, Any]]:
    """A figure's existing points: `panel`, `colour`, `x` and `y`, means over seeds.

    If x is a measure, also the point's place on its line, `order`, and its name, `point`.
    """
    place = {run: (panel, colour) for panel, colour, run in figure.runs()}

    def mean(tree: Tree, measure: str, run: str) -> float:
        return statistics.fmean(records.figure(tree, measure, seed, run) for seed in figure_seeds(records))

    found: list[dict[str, Any]] = []
    for run, value, tree in points(records.paper, figure, records.full):
        panel, colour = place[run]
        named = {"panel": figure.labels.get(panel, panel)}
        line = figure.line_of(colour)
        named["colour"] = figure.labels.get(line, line)
        try:
            x = mean(tree, figure.x_measures[colour], run) if figure.x_measures else value
            point = {**named, "x": x, "y": mean(tree, figure.measure, run)}
        except (Missing, FormulaError):
            continue
        called = {"order": len(found), "point": figure.labels.get(colour, colour)}
        found.append({**point, **called} if figure.x_measures else point)
    return with_front(found) if figure.front else found


def with_front(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Points with `front`: true if no other point in the panel is at most as large in x and y.

    >>> points = [{"panel": "a", "x": x, "y": y} for x, y in ((1, 9), (2, 5), (3, 5), (4, 1))]
    >>> [point["x"] for point in with_front(points) if point["front"]]
    [1, 2, 4]
    """
    return [
        {**one, "front": not any(_beats(other, one) for other in points if other["panel"] == one["panel"])}
        for one in points
    ]


def _beats(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    there, here = (one["x"], one["y"]), (other["x"], other["y"])
    return there != here and there[0] <= here[0] and there[1] <= here[1]


def front_in_words(records: Records, figure: Figure) -> str:
    """The points on each panel's front, from the least x on; empty for a figure without."""
    if not figure.front:
        return ""
    found = sorted(rows(records, figure), key=lambda row: (row["panel"], row["x"]))
    parts = [
        f"{panel}: {_all([row['point'] for row in found if row['panel'] == panel and row['front']])}"
        for panel in dict.fromkeys(figure.labels.get(panel, panel) for panel in figure.panels)
    ]
    return f"On the front, where no other point is better in both: {'; '.join(parts)}"


def drawn_rows(records: Records, drawn: Timeline | BlockMap) -> list[dict[str, Any]]:
    """The points for each run in a timeline or a block map."""
    keys = [(run, key_of(records.paper.tree(run), 1)) for run in drawn.runs]
    return [
        point for run, key in keys if key in records.found for point in drawn.points(run, records.found[key])
    ]


def lowest(records: Records, figure: Figure) -> list[list[str]]:
    """For each panel its name, and at each point the lowest line, with all lines within 2 %."""
    found = rows(records, figure)
    table = []
    for panel in dict.fromkeys(row["panel"] for row in found):
        line = [panel]
        for x in figure.points(records.full):
            here = [row for row in found if row["panel"] == panel and row["x"] == x]
            least = min((row["y"] for row in here), default=0.0)
            line.append(" ≈ ".join(row["colour"] for row in here if row["y"] <= 1.02 * least))
        table.append(line)
    return table


def from_where_lowest(records: Records, figure: Figure) -> str:
    """For each panel the point from where the line `lowest_from` stays lowest, in a sentence.

    Empty if no line is named, or a point is missing.
    """
    name = figure.labels.get(figure.lowest_from, figure.lowest_from)
    found = rows(records, figure)
    points = sorted(figure.points(records.full))
    if not name or len(found) < len(points) * len(figure.runs()):
        return ""
    starts: dict[Any, list[str]] = {}
    for panel in dict.fromkeys(row["panel"] for row in found):
        start = None
        for x in reversed(points):
            here = {row["colour"]: row["y"] for row in found if row["panel"] == panel and row["x"] == x}
            if here[name] > min(here.values()):
                break
            start = x
        starts.setdefault(start, []).append(panel)
    parts = [f"from {x:,} on with {_all(starts[x])}" for x in points if x in starts]
    never = [f"not at the end with {_all(starts[None])}"] if None in starts else []
    return f"Of the points that are drawn, {name} is lowest {'; '.join([*parts, *never])}"


def _all(names: Sequence[str]) -> str:
    """Names in a row.

    >>> _all(["a"]), _all(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([part for part in (", ".join(names[:-1]), names[-1]) if part])


def cells(records: Records, grid: Grid) -> list[list[float | None]]:
    """A table's figures, row by row, each the mean over seeds; `None` for a missing one."""
    seeds = seeds_of(records, grid)
    return [[_cell(records, grid.cell(row, column), seeds) for column in grid.columns] for row in grid.rows]


def lines(records: Records, grid: Grid) -> list[list[str]]:
    """A table's lines for people, each with its name first.

    Below a row with published figures there is a line with these numbers.
    """
    printed = grid.printed(records.paper.claims)
    found = []
    for row, shown in zip(grid.rows, texts(records, grid), strict=True):
        found.append([grid.labels.get(row, row), *shown])
        numbers = [printed.get((row, column)) for column in grid.columns]
        if any(number is not None for number in numbers):
            found.append([PUBLISHED, *("" if number is None else short(number) for number in numbers)])
    return found


def texts(records: Records, grid: Grid) -> list[list[str]]:
    """A table's cells for people, a dash for a missing figure.

    If the table tells the seeds' spread, the least and the most stand behind a mean, if they differ.
    """
    found = []
    for row, line in zip(grid.rows, cells(records, grid), strict=True):
        shown = ["–" if value is None else short(value) for value in line]
        if grid.spread:
            ends = [_ends(records, grid.cell(row, column)) for column in grid.columns]
            shown = [
                text if least == most else f"{text} ({least} to {most})"
                for text, (least, most) in zip(shown, ends, strict=True)
            ]
        found.append(shown)
    return found


def _ends(records: Records, formula: Formula) -> tuple[str, str]:
    """A formula's least and most over the seeds, for people."""
    try:
        values = records.values(formula)
    except (Missing, FormulaError):
        return "", ""
    return short(min(values)), short(max(values))


def _cell(records: Records, formula: Formula, seeds: range) -> float | None:
    try:
        return statistics.fmean(records.values(formula, seeds))
    except (Missing, FormulaError):
        return None


def _slug(name: str) -> str:
    words = name.replace(" = ", "-").replace(", ", "-")
    return "".join(letter if letter.isalnum() or letter in ".-_" else "-" for letter in words)


def key_of(tree: Tree, seed: int) -> Key:
    """A run's key."""
    return json.dumps(tree, sort_keys=True), seed
