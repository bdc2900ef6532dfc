"""A paper as data: its claims, the experiments that measure them, and the figures to draw.

docs/reproduce.md describes the file.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, get_args

from nandlab._native import ConfigError, papers
from nandlab.reproduce.block_map import BlockMap, parse_block_map
from nandlab.reproduce.document import Table
from nandlab.reproduce.formula import Condition, Formula, parse_condition, parse_formula
from nandlab.reproduce.grid import Grid, parse_grid
from nandlab.reproduce.heading import Headed, parse_heading
from nandlab.reproduce.op_figures import OpFigure, parse_op_figure
from nandlab.reproduce.timeline import Timeline, parse_timeline
from nandlab.reproduce.tolerance import Tolerance, parse_tolerance
from nandlab.reproduce.verdict import Kind
from nandlab.reproduce.words import Why, parse_why

T = TypeVar("T")
Tree = dict[str, Any]

TRUE_UNITS = "true_units"
"""The reading in which a figure is what the flash did."""

KINDS: tuple[str, ...] = get_args(Kind)


@dataclass(frozen=True)
class Claim:
    """Something that the paper says."""

    id: str
    where: str
    kind: Kind
    statement: str
    published: float | None
    unit: str
    tolerance: str
    limits: Tolerance | None
    """The interval of `tolerance`."""
    loose: Tolerance | None
    reading: str
    measured: Formula | None
    holds: tuple[Condition, ...]
    also: tuple[Condition, ...]
    """What the statement says beside the number, for every seed."""
    true_units: Formula | None
    """The same figure in true units, where `reading` is another one."""
    true_holds: tuple[Condition, ...]
    exercised: tuple[Condition, ...]
    """What shows that the mechanism ran that the claim is about."""
    to_exercise: str
    """What would make it run."""
    note: Why
    """What is worth knowing whatever the verdict is."""
    why: Why
    """Why it differs, if it does."""
    table: Table = field(repr=False, compare=False)
    """Where it stands in the file."""

    @property
    def read_from(self) -> str:
        """The formula or the conditions over runs and measures."""
        return "; ".join(
            [
                *([self.measured.text] if self.measured else []),
                *(each.text for each in (*self.holds, *self.also)),
            ]
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The figures that it is read from: each a run and a measure."""
        read = [each for each in (self.measured, self.true_units) if each is not None]
        sources: list[Formula | Condition] = [
            *read,
            *self.holds,
            *self.also,
            *self.true_holds,
            *self.exercised,
        ]
        found = [name for source in sources for name in source.names]
        return tuple(dict.fromkeys([*found, *self.note.names, *self.why.names]))


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


@dataclass(frozen=True)
class Paper:
    """What a file in `papers/` holds."""

    name: str
    file: str
    text: str
    title: str
    source: str
    seeds: int
    full_seeds: int
    template: Tree
    parts: dict[str, Tree]
    measures: dict[str, Formula]
    readings: dict[str, str]
    """What each reading but true units counts, in words."""
    claims: tuple[Claim, ...]
    figures: tuple[Figure, ...]
    grids: tuple[Grid, ...]
    timelines: tuple[Timeline, ...] = ()
    block_maps: tuple[BlockMap, ...] = ()
    full_parts: dict[str, Tree] = field(default_factory=dict)
    """What a full run lays over parts."""

    op_figures: tuple[OpFigure, ...] = ()
    same_for_all_seeds: tuple[str, ...] = ()
    """Parts whose runs no seed changes: they run once."""
    top: Table | None = field(default=None, repr=False, compare=False)
    """The file."""

    @property
    def pictures(self) -> tuple[Timeline | BlockMap, ...]:
        """The figures of single runs."""
        return (*self.timelines, *self.block_maps)

    def has_one_course(self, run: str) -> bool:
        """Whether no seed changes a run."""
        return any(part in self.same_for_all_seeds for part in run.split("."))

    def in_full(self) -> Paper:
        """The paper as a full run takes it."""
        return replace(self, parts=merged(self.parts, self.full_parts), full_parts={})

    def place(self, run: str, key: str, is_point: bool) -> tuple[str, int | None]:
        """Where a key of the experiment of a run comes from: the table of the file, and the line.

        The part that stands last in the name of the run has the last word; of a point, the key of the figure.
        """
        if is_point:
            for at, figure in enumerate(self.figures):
                if figure.x_key == key and self.top is not None:
                    return f"figures[{at}].x", self.top.line_of(f"figures[{at}].x.key")
        parts = [f"parts.{part}" for part in reversed(run.split("."))]
        wholes = [*(f"full.{part}" for part in parts), *parts, "template"]
        keys = key.split(".")
        # What an experiment lacks is told of the table that should hold it.
        for depth in range(len(keys), 0, -1):
            for whole in wholes:
                if self.top is not None and self.top.holds(f"{whole}.{'.'.join(keys[:depth])}"):
                    return whole, self.top.line_of(f"{whole}.{key}")
        return "", None

    def split(self, name: str) -> tuple[str, str]:
        """The run and the measure that a name in a formula stands for.

        Raises:
            ValueError: With a sentence; there is no such run or measure.

        """
        run, _, measure = name.rpartition(".")
        if measure not in self.measures:
            raise ValueError(f"{name}: there is no measure {measure!r}; there are {', '.join(self.measures)}")
        self.tree(run)
        return run, measure

    def tree(self, run: str) -> Tree:
        """The experiment of a run: the template, under each part that its name joins by full stops.

        Raises:
            ValueError: With a sentence; there is no such part.

        """
        tree = self.template
        for part in run.split("."):
            if part not in self.parts:
                raise ValueError(f"run {run!r}: there is no part {part!r}; there are {', '.join(self.parts)}")
            tree = merged(tree, self.parts[part])
        return tree


def merged(below: Tree, above: Tree) -> Tree:
    """Two trees of tables as one; where both have a value that is no table, that of `above` stands.

    >>> merged({"ftl": {"fast": {"log_blocks": 8}}}, {"ftl": {"fast": {"skip_stale": False}}})
    {'ftl': {'fast': {'log_blocks': 8, 'skip_stale': False}}}
    """
    tree = dict(below)
    for key, value in above.items():
        old = tree.get(key)
        tree[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return tree


def bundled() -> list[str]:
    """The names of the papers that come with nandlab."""
    return [name for name, _ in papers()]


def load(paper: str) -> Paper:
    """Reads a paper: the name of a bundled one, or the path of a file.

    Raises:
        ConfigError: There is no such paper, or its file is wrong; with `file`, `line` and `key`.
        OSError: The file cannot be read.

    """
    texts = dict(papers())
    if paper in texts:
        return parse(texts[paper], paper, f"papers/{paper}.toml")
    path = Path(paper)
    if path.suffix != ".toml":
        near = difflib.get_close_matches(paper, texts, 1)
        hint = (
            f"did you mean {near[0]}?"
            if near
            else f"there are {', '.join(texts)}, or the path of a .toml file"
        )
        raise ConfigError(f"there is no paper {paper!r}; {hint}")
    try:
        return parse(path.read_text(encoding="utf-8"), path.stem, paper)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: byte {error.start} is not UTF-8 text") from None


def parse(text: str, name: str, source: str) -> Paper:
    """Reads the text of a paper; `source` names it in errors.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    top = Table.parse(text, source)
    full, measures, readings = top.table("full"), top.table("measures"), top.table("readings")
    parts = top.table("parts")
    full_parts = _full_parts(full.table("parts"), parts)
    seeds = top.whole("seeds", 5)
    paper = Paper(
        name=name,
        file=source,
        text=text,
        title=top.text("title"),
        source=top.text("source"),
        seeds=seeds,
        full_seeds=full.whole("seeds", seeds),
        template=top.plain("template"),
        parts={key: parts.plain(key) for key in parts.keys()},  # noqa: SIM118 - a Table is no dictionary
        measures={
            key: measures.read(key, measures.text(key), parse_formula)
            for key in measures.keys()  # noqa: SIM118
        },
        readings={key: readings.text(key) for key in readings.keys()},  # noqa: SIM118
        claims=(),
        figures=tuple(_figure(table) for table in top.tables("figures")),
        grids=tuple(parse_grid(table) for table in top.tables("tables")),
        timelines=tuple(parse_timeline(table) for table in top.tables("timelines")),
        block_maps=tuple(parse_block_map(table) for table in top.tables("block_maps")),
        op_figures=tuple(parse_op_figure(table) for table in top.tables("op_figures")),
        same_for_all_seeds=tuple(top.texts("same_for_all_seeds")),
        full_parts=full_parts,
        top=top,
    )
    tables = top.tables("claims")
    claims = tuple(_claim(table, paper) for table in tables)
    for table in (top, full):
        table.end()
    _refuse_twice(tables, claims)
    for table, figure in zip(top.tables("figures"), paper.figures, strict=True):
        _check_figure(table, figure, paper)
    for table, grid in zip(top.tables("tables"), paper.grids, strict=True):
        _check_grid(table, grid, paper)
    pictures = [*top.tables("timelines"), *top.tables("block_maps")]
    for table, picture in zip(pictures, paper.pictures, strict=True):
        _check_picture(table, picture, paper)
    for table, drawn in zip(top.tables("op_figures"), paper.op_figures, strict=True):
        table.read("run", drawn.run, paper.tree)
        for name in drawn.caption.names:
            table.read("caption", name, paper.split)
    return Paper(**{**vars(paper), "claims": claims})


def _claim(table: Table, paper: Paper) -> Claim:
    kind: Any = table.chosen("kind", KINDS)
    reading = table.chosen("reading", (TRUE_UNITS, *paper.readings), TRUE_UNITS)
    published = table.number("published") if kind in ("value", "model") else None
    tolerance, loose = table.text("tolerance", ""), table.text("loose", "")
    limits = None if published is None else table.read("tolerance", tolerance, _within(published))
    wide = table.read("loose", loose, _within(published)) if loose and published is not None else None
    if limits is not None and wide is not None and not wide.contains(limits):
        raise table.error("loose", f"expected a wider tolerance than {tolerance!r}, given {loose!r}")
    has_formula = kind not in ("order", "sign")
    true_units = table.texts("true_units")
    claim = Claim(
        id=table.text("id"),
        where=table.text("where"),
        kind=kind,
        statement=table.text("statement"),
        published=published,
        unit=table.text("unit", ""),
        tolerance=tolerance,
        limits=limits,
        loose=wide,
        reading=reading,
        measured=_formula(table, "measured"),
        holds=_conditions(table, "holds", table.texts("holds")),
        also=_conditions(table, "also", table.texts("also")),
        true_units=_formula(table, "true_units") if has_formula and true_units else None,
        true_holds=() if has_formula else _conditions(table, "true_units", true_units),
        exercised=_conditions(table, "exercised", table.texts("exercised")),
        to_exercise=table.text("to_exercise", ""),
        note=table.read("note", table.text("note", ""), parse_why),
        why=table.read("why", table.text("why", ""), parse_why),
        table=table,
    )
    table.end()
    _check_claim(table, claim, paper)
    return claim


def _full_parts(table: Table, parts: Table) -> dict[str, Tree]:
    for key in table.keys():  # noqa: SIM118 - a Table is no dictionary
        if not parts.has(key):
            raise table.error(key, f"there is no part {key!r} that a full run could change")
    return {key: table.plain(key) for key in table.keys()}  # noqa: SIM118


def _within(published: float) -> Callable[[str], Tolerance]:
    return lambda text: parse_tolerance(text, published)


def _formula(table: Table, key: str) -> Formula | None:
    return table.read(key, table.text(key), parse_formula) if table.has(key) else None


def _conditions(table: Table, key: str, texts: Iterable[str]) -> tuple[Condition, ...]:
    return tuple(table.read(key, text, parse_condition) for text in texts)


def _check_claim(table: Table, claim: Claim, paper: Paper) -> None:
    """Refuses claims that could not be measured as they are written."""
    kind = claim.kind
    if kind in ("value", "model", "not_printed") and claim.measured is None:
        raise table.error("measured", f"a claim of kind {kind} is read from a formula")
    _check_comparisons(table, claim)
    if kind == "not_reproducible" and not claim.why.text:
        raise table.error("why", "expected what it would take that nobody has")
    if claim.reading != TRUE_UNITS and claim.true_units is None and not claim.true_holds:
        raise table.error(
            "true_units", f"a claim that is read in {claim.reading} is shown in true units, too"
        )
    if claim.exercised and not claim.to_exercise:
        raise table.error("to_exercise", "expected what would make the mechanism run")
    if kind == "model" and claim.names:
        raise table.error("measured", f"a model claim is a formula, and {claim.names[0]} is a measurement")
    if kind == "value" and claim.measured is not None and not claim.measured.names:
        raise table.error("measured", "a formula without a measurement is a claim of kind model")
    for key, names in (
        ("measured", claim.measured.names if claim.measured is not None else ()),
        ("why", claim.why.names),
        ("holds", claim.names),
    ):
        for name in names:
            table.read(key, name, paper.split)


def _check_comparisons(table: Table, claim: Claim) -> None:
    """Refuses an order without comparisons, and comparisons beside a number where there is none."""
    has_order = claim.kind in ("order", "sign")
    if has_order and not claim.holds:
        raise table.error("holds", f"a claim of kind {claim.kind} holds or does not: expected a comparison")
    if claim.also and claim.kind != "value":
        raise table.error(
            "also", f"it stands beside a number; a claim of kind {claim.kind} has its comparisons in holds"
        )


def _refuse_twice(tables: list[Table], claims: tuple[Claim, ...]) -> None:
    seen: set[str] = set()
    for table, claim in zip(tables, claims, strict=True):
        if claim.id in seen:
            raise table.error("id", f"{claim.id} stands twice")
        seen.add(claim.id)


def _figure(table: Table) -> Figure:
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


def _check_figure(table: Table, figure: Figure, paper: Paper) -> None:
    for name in (*(f"{run}.{figure.measure}" for _, _, run in figure.runs()), *figure.caption.names):
        table.read("panels", name, paper.split)


def _check_grid(table: Table, grid: Grid, paper: Paper) -> None:
    for row in grid.rows:
        for column in grid.columns:
            cell = table.read("columns", column, lambda text, row=row: grid.cell(row, text))  # type: ignore[misc]
            for name in cell.names:
                table.read("columns", name, paper.split)
    for name in grid.caption.names:
        table.read("caption", name, paper.split)


def _check_picture(table: Table, picture: Timeline | BlockMap, paper: Paper) -> None:
    for name in picture.caption.names:
        table.read("caption", name, paper.split)
    for run in picture.runs:
        table.read("runs", run, paper.tree)
