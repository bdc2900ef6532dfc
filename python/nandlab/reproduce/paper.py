"""A paper as data: its claims, the experiments to measure them, and the figures to draw.

docs/reproduce.md describes the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from nandlab._native import ConfigError
from nandlab.reproduce.block_map import BlockMap, parse_block_map
from nandlab.reproduce.claim import Claim, parse_claim
from nandlab.reproduce.conclusion import Conclusion, parse_conclusions
from nandlab.reproduce.course import Course, parse_courses, spread
from nandlab.reproduce.curves import check_curves
from nandlab.reproduce.document import Table
from nandlab.reproduce.figure import Figure, parse_figure
from nandlab.reproduce.formula import Formula, parse_formula
from nandlab.reproduce.grid import Grid, parse_grid
from nandlab.reproduce.heading import labelled, parse_labels
from nandlab.reproduce.op_figures import OpFigure, parse_op_figure
from nandlab.reproduce.open_values import Open, parse_opens
from nandlab.reproduce.published import check_cells, check_marks
from nandlab.reproduce.readings import Context, Reading, parse_readings
from nandlab.reproduce.search_found import Found
from nandlab.reproduce.search_settings import Search, check_search, parse_search
from nandlab.reproduce.timeline import Timeline, parse_timeline
from nandlab.reproduce.traces import Recorded, parse_traces
from nandlab.reproduce.tree import Tree, merged


@dataclass(frozen=True)
class Paper:
    """A file in `papers/`."""

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
    """What each reading counts, in words; true units are left out."""
    claims: tuple[Claim, ...]
    figures: tuple[Figure, ...]
    grids: tuple[Grid, ...]
    courses: dict[str, Course] = field(default_factory=dict)
    """Time series in equal parts, for measures."""
    timelines: tuple[Timeline, ...] = ()
    block_maps: tuple[BlockMap, ...] = ()
    full_parts: dict[str, Tree] = field(default_factory=dict)
    """Changes to parts in a full run."""

    op_figures: tuple[OpFigure, ...] = ()
    same_for_all_seeds: tuple[str, ...] = ()
    """Parts whose runs no seed changes: they run once."""
    order_seeds: int = 1
    """Seeds for runs behind orders and signs, if there are more."""
    opens: tuple[Open, ...] = ()
    """Values the paper leaves open and its file chose."""
    meanings: tuple[Reading, ...] = ()
    """Sentences in the paper with several meanings, and the file's choice."""
    search: Search = field(default_factory=Search)
    searched: Found | None = field(default=None, repr=False, compare=False)
    """The search's measurements for the present file, if there are any."""
    top: Table | None = field(default=None, repr=False, compare=False)
    """The file."""

    traces: tuple[Recorded, ...] = ()
    """Recorded traces for parts, if a folder has them."""

    traces_on_full_devices: bool = False
    """Whether parts take a full run's device when recorded traces are played."""

    absent: tuple[str, ...] = ()
    """Parts made by a missing trace alone: tables leave out their rows."""

    played: tuple[tuple[str, str], ...] = ()
    """Parts with a recorded trace to play, and its path."""

    generators: dict[str, Tree] = field(default_factory=dict)
    """The file's parts in place of played traces: runs with a changed generator keep them."""

    conclusions: tuple[Conclusion, ...] = ()

    @property
    def searched_claims(self) -> tuple[Claim, ...]:
        """The claims a search judges at each point."""
        return self.search.judged(self.claims)

    @property
    def varied(self) -> tuple[Open, ...]:
        """Everything a search varies: open values, then readings."""
        return tuple(each for each in (*self.opens, *self.meanings) if each.is_searched)

    @property
    def beside_search(self) -> tuple[Open, ...]:
        """Open values and readings that the file lists and no search varies."""
        return tuple(each for each in (*self.opens, *self.meanings) if not each.is_searched)

    @property
    def pictures(self) -> tuple[Timeline | BlockMap, ...]:
        """Figures from single runs."""
        return (*self.timelines, *self.block_maps)

    def has_one_course(self, run: str) -> bool:
        """Whether no seed changes a run."""
        kept = self.generators if self.keeps_generator(run) else {}
        return any(part in self.same_for_all_seeds and part not in kept for part in run.split("."))

    def keeps_generator(self, run: str) -> bool:
        """Whether a run keeps its generator despite a trace: another part changes its workload."""
        parts = run.split(".")
        return any(part in self.generators for part in parts) and any(
            "workload" in self.parts[part] for part in parts if part not in self.generators
        )

    def with_traces(self, folder: Path) -> Paper:
        """The paper with every recorded trace found in `folder`.

        With the paper's `traces_on_full_devices`, every part with another device in a full run
        takes it here, too. A trace replaces a whole part, and plays from its first request on.
        Runs with another part that changes the workload, such as its footprint, are about the
        generator and keep it.

        Raises:
            ConfigError: The folder has none of them.

        """
        found = [(each, path) for each in self.traces if (path := each.found(folder)) is not None]
        if not found:
            wanted = ", ".join(name for each in self.traces for name in each.files)
            raise ConfigError(
                f"{folder}: there is none of the traces of {self.name}: {wanted or 'it has none'}"
            )
        parts = merged(self.parts, self._devices_with_traces())
        there = tuple(each.part for each, _ in found)
        generators = {part: parts[part] for part in there if part not in self.absent}
        for each, path in found:
            parts[each.part] = {"workload": each.workload(path)}
        return replace(
            self,
            parts=parts,
            generators=generators,
            absent=tuple(part for part in self.absent if part not in there),
            same_for_all_seeds=(*self.same_for_all_seeds, *there),
            played=tuple((each.part, path) for each, path in found),
        )

    def _devices_with_traces(self) -> dict[str, Tree]:
        """Changes to parts when recorded traces are played."""
        if not self.traces_on_full_devices:
            return {}
        return {key: {"device": tree["device"]} for key, tree in self.full_parts.items() if "device" in tree}

    def workloads_in_words(self) -> list[str]:
        """The recorded traces to play, and the generators in place of one, in sentences."""
        lines = [
            f"{each.part}: a generator in place of a trace that is not here ({each.words})"
            for each in self.stand_ins
        ]
        words = {each.part: each.words for each in self.traces}
        names = {part: path.rsplit("/", 1)[-1] for part, path in self.played}
        lines += [
            f"{part}: the recorded trace {name} ({words[part]})"
            for part, name in names.items()
            if part in self.generators
        ]
        others = [name for part, name in names.items() if part not in self.generators]
        if others:
            lines.append(f"Recorded traces in tables of their own: {', '.join(others)}.")
        if self.generators:
            lines.append("Runs that change options of a generator, such as its footprint, keep it.")
        return lines

    def is_absent(self, run: str) -> bool:
        """Whether a run plays a missing trace."""
        return any(part in self.absent for part in run.split("."))

    def lacks(self, name: str) -> bool:
        """Whether a name in a formula is a figure from such a run."""
        return self.is_absent(name.rpartition(".")[0])

    def in_full(self) -> Paper:
        """The paper for a full run."""
        played = {part: self.parts[part] for part, _ in self.played}
        full = {part: tree for part, tree in self.full_parts.items() if part in self.generators}
        return replace(
            self,
            parts={**merged(self.parts, self.full_parts), **played},
            generators=merged(self.generators, full),
            full_parts={},
        )

    @property
    def stand_ins(self) -> tuple[Recorded, ...]:
        """Recorded traces with a generator in their place."""
        played = [part for part, _ in self.played]
        return tuple(each for each in self.traces if each.part not in (*played, *self.absent))

    def place(self, run: str, key: str, is_point: bool) -> tuple[str, int | None]:
        """The source of a key in a run's experiment: the file's table, and the line.

        The last part in the run's name has the last word; for a point, the figure's key.
        """
        if is_point:
            for at, figure in enumerate(self.figures):
                if figure.x_key == key and self.top is not None:
                    return f"figures[{at}].x", self.top.line_of(f"figures[{at}].x.key")
        parts = [f"parts.{part}" for part in reversed(run.split("."))]
        wholes = [*(f"full.{part}" for part in parts), *parts, "template"]
        keys = key.split(".")
        # A missing key is reported at the table that should hold it.
        for depth in range(len(keys), 0, -1):
            for whole in wholes:
                if self.top is not None and self.top.holds(f"{whole}.{'.'.join(keys[:depth])}"):
                    return whole, self.top.line_of(f"{whole}.{key}")
        return "", None

    def split(self, name: str) -> tuple[str, str]:
        """The run and the measure behind a name in a formula.

        Raises:
            ValueError: With a sentence; there is no such run or measure.

        """
        run, _, measure = name.rpartition(".")
        if measure not in self.measures:
            raise ValueError(f"{name}: there is no measure {measure!r}; there are {', '.join(self.measures)}")
        self.tree(run)
        return run, measure

    def tree(self, run: str) -> Tree:
        """A run's experiment: the template, under each part in its dotted name.

        Raises:
            ValueError: With a sentence; there is no such part.

        """
        tree = self.template
        for part in run.split("."):
            if part not in self.parts:
                raise ValueError(f"run {run!r}: there is no part {part!r}; there are {', '.join(self.parts)}")
        kept = self.generators if self.keeps_generator(run) else {}
        for part in run.split("."):
            tree = merged(tree, kept.get(part, self.parts[part]))
        return tree


def parse(text: str, name: str, source: str) -> Paper:
    """Reads a paper's text; `source` names it in errors.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    top = Table.parse(text, source)
    full, measures, readings = top.table("full"), top.table("measures"), top.table("readings")
    parts, courses = top.table("parts"), parse_courses(top.table("courses"))
    named = dict.fromkeys([*parts.keys(), *top.table("traces").keys()])
    full_parts = _full_parts(full.table("parts"), parts)
    traces = parse_traces(top.table("traces"))
    alone = tuple(each.part for each in traces if not parts.has(each.part))
    seeds, labels = top.whole("seeds", 5), parse_labels(top)
    paper = Paper(
        name=name,
        file=source,
        text=text,
        title=top.text("title"),
        source=top.text("source"),
        seeds=seeds,
        full_seeds=full.whole("seeds", seeds),
        template=top.plain("template"),
        parts={
            **{part: {} for part in alone},
            **{key: parts.plain(key) for key in parts.keys()},  # noqa: SIM118 - a Table is no dictionary
        },
        measures={
            key: measures.read(key, spread(measures.text(key), courses), parse_formula)
            for key in measures.keys()  # noqa: SIM118
        },
        readings={key: readings.text(key) for key in readings.keys()},  # noqa: SIM118
        claims=(),
        figures=labelled(labels, map(parse_figure, top.tables("figures"))),
        grids=labelled(labels, map(parse_grid, top.tables("tables"))),
        courses=courses,
        timelines=labelled(labels, map(parse_timeline, top.tables("timelines"))),
        block_maps=labelled(labels, map(parse_block_map, top.tables("block_maps"))),
        op_figures=tuple(parse_op_figure(table) for table in top.tables("op_figures")),
        same_for_all_seeds=tuple(top.texts("same_for_all_seeds")),
        order_seeds=top.whole("order_seeds", 1),
        search=parse_search(top, named),
        full_parts=full_parts,
        top=top,
        traces=traces,
        traces_on_full_devices=_on_full_devices(top, full_parts, traces),
        absent=alone,
    )
    tables = top.tables("claims")
    claims = tuple(_claim(table, paper) for table in tables)
    conclusions = parse_conclusions(top, claims)
    _check_conclusions(conclusions, paper)
    for key in ("open", "reading"):
        top.tables(key)
    for table in (top, full):
        table.end()
    _refuse_twice(tables, claims)
    _check_drawn(top, paper, claims)
    paper = _with_choices(top, replace(paper, claims=claims, conclusions=conclusions))
    check_search(top, paper.search, claims, paper.varied)
    _check_flips(top, paper)
    return paper


def _check_flips(top: Table, paper: Paper) -> None:
    """Refuses flips of claims that do not exist, or are not marked."""
    fitted = {claim.id: claim.fitted for claim in paper.claims}
    tables = (*top.tables("open"), *top.tables("reading"))
    for table, one in zip(tables, (*paper.opens, *paper.meanings), strict=True):
        for name in one.flips:
            if name not in fitted:
                raise table.error("flips", f"there is no claim {name!r}")
            if not fitted[name]:
                raise table.error("flips", f"{name} has to be marked: expected fitted = true in this claim")


def _with_choices(top: Table, paper: Paper) -> Paper:
    """The paper with its open values and readings."""
    texts = {key: formula.text for key, formula in paper.measures.items()}
    file = {"template": paper.template, "parts": paper.parts, "measures": texts}
    opens = parse_opens(top, file)
    judged = tuple(claim.id for claim in paper.searched_claims)
    context = Context(file, {claim.id: claim for claim in paper.claims}, judged, paper.split)
    return replace(paper, opens=opens, meanings=parse_readings(top, context, opens))


def _claim(table: Table, paper: Paper) -> Claim:
    claim = parse_claim(table, paper.readings)
    for key, names in (
        ("measured", claim.measured.names if claim.measured is not None else ()),
        ("why", claim.why.names),
        ("holds", claim.names),
    ):
        for name in names:
            table.read(key, name, paper.split)
    _check_given(table, claim, paper)
    return claim


def _check_given(table: Table, claim: Claim, paper: Paper) -> None:
    """Refuses a claim that rests on a trace few people have."""
    for name in claim.without(paper.lacks).names:
        if paper.lacks(name):
            raise table.error(
                "measured",
                f"{name} plays a trace that few have: no claim can rest on it alone; min and max of several "
                "runs leave it out",
            )


def _check_conclusions(conclusions: tuple[Conclusion, ...], paper: Paper) -> None:
    for each in conclusions:
        for key, words in (("says", each.says), ("otherwise", each.otherwise)):
            for name in words.names:
                each.table.read(key, name, paper.split)


def _check_drawn(top: Table, paper: Paper, claims: tuple[Claim, ...]) -> None:
    """Refuses figures and tables with unknown names."""
    for table, figure in zip(top.tables("figures"), paper.figures, strict=True):
        _check_figure(table, figure, paper)
        check_marks(table, figure.published, figure.panels, claims)
        check_curves(table, figure.measured, figure.panels, claims)
    for table, grid in zip(top.tables("tables"), paper.grids, strict=True):
        _check_grid(table, grid, paper)
        check_cells(table, grid.published, claims)
    for table, line in zip(top.tables("timelines"), paper.timelines, strict=True):
        panels = tuple(line.lines if line.compares else line.runs)
        check_marks(table, line.published, panels, claims)
        check_curves(table, line.measured, panels, claims)
    pictures = [*top.tables("timelines"), *top.tables("block_maps")]
    for table, picture in zip(pictures, paper.pictures, strict=True):
        _check_picture(table, picture, paper)
    for table, drawn in zip(top.tables("op_figures"), paper.op_figures, strict=True):
        table.read("run", drawn.run, paper.tree)
        for name in drawn.caption.names:
            table.read("caption", name, paper.split)


def _full_parts(table: Table, parts: Table) -> dict[str, Tree]:
    for key in table.keys():  # noqa: SIM118 - a Table is no dictionary
        if not parts.has(key):
            raise table.error(key, f"there is no part {key!r} that a full run could change")
    return {key: table.plain(key) for key in table.keys()}  # noqa: SIM118


def _on_full_devices(top: Table, full_parts: dict[str, Tree], traces: tuple[Recorded, ...]) -> bool:
    """Whether recorded traces take parts to a full run's devices.

    Raises:
        ConfigError: There is no trace or no such device: the key would change nothing.

    """
    key = "traces_on_full_devices"
    wanted = top.truth(key, False)
    if wanted and not traces:
        raise top.error(key, "there is no trace, [traces.<part>], to which it could apply")
    if wanted and not any("device" in tree for tree in full_parts.values()):
        raise top.error(key, "no part has a device of a full run, [full.parts.<part>.device]")
    return wanted


def _refuse_twice(tables: list[Table], claims: tuple[Claim, ...]) -> None:
    seen: set[str] = set()
    for table, claim in zip(tables, claims, strict=True):
        if claim.id in seen:
            raise table.error("id", f"{claim.id} stands twice")
        seen.add(claim.id)


def _check_figure(table: Table, figure: Figure, paper: Paper) -> None:
    for _, colour, run in figure.runs():
        table.read("panels", f"{run}.{figure.measure}", paper.split)
        if figure.x_measures:
            table.table("x").read("measures", f"{run}.{figure.x_measures[colour]}", paper.split)
    for name in figure.caption.names:
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
