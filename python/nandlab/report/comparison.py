"""The report on several runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from nandlab.figures import conclusions, frames, summary
from nandlab.figures.best import Figure, best_of_groups
from nandlab.figures.headline import headline
from nandlab.record.record import Record
from nandlab.report import compared, html, parts, tables, theme
from nandlab.report.course import gathered
from nandlab.report.picture import Picture
from nandlab.report.pictures import WINDOWED
from nandlab.writing import units

MOST_COLOURS = len(theme.COLOURS)

Labels = dict[str, str]


@dataclass(frozen=True)
class Shown:
    """A run with a result, and its place in a chart."""

    labels: Labels
    result: Record
    panel: str
    """The workload, if several are compared."""
    design: str
    """Labels that set it apart within its panel."""
    repeats: Sequence[Record] = ()
    """The same run with other seeds."""

    @property
    def name(self) -> str:
        """One line."""
        name = summary.run_name(self.labels)
        return f"{name} (partial)" if self.result.partial else name


@dataclass(frozen=True)
class Runs:
    """The runs to compare, in order: labels, and a result or a sentence about the failure."""

    pairs: Sequence[tuple[Labels, Record | str]]
    repeats: Sequence[Sequence[Record]] = ()
    """For each run, the results with other seeds."""

    @cached_property
    def titles(self) -> list[str]:
        """Titles of the labels."""
        return list(self.pairs[0][0])

    @cached_property
    def panel_titles(self) -> list[str]:
        """The first titles that tell the workloads apart; none if every run has its own workload."""
        for length in range(len(self.titles)):
            workloads: dict[str, list[Any]] = {}
            for labels, result in self.pairs:
                if isinstance(result, Record):
                    workloads.setdefault(_name(labels, self.titles[:length]), []).append(
                        result.experiment["workload"]
                    )
            if all(each == group[0] for group in workloads.values() for each in group):
                return self.titles[:length]
        return []

    @cached_property
    def shown(self) -> list[Shown]:
        """The runs with a result."""
        rest = [title for title in self.titles if title not in self.panel_titles]
        repeats = self.repeats or [()] * len(self.pairs)
        return [
            Shown(
                labels,
                result,
                _name(labels, self.panel_titles),
                _name(labels, rest) + (" (partial)" if result.partial else ""),
                again,
            )
            for (labels, result), again in zip(self.pairs, repeats, strict=True)
            if isinstance(result, Record)
        ]

    @cached_property
    def results(self) -> list[Record]:
        """The results."""
        return [run.result for run in self.shown]

    @cached_property
    def panels(self) -> list[str]:
        """The workloads, if several are compared."""
        return list(dict.fromkeys(run.panel for run in self.shown))

    @cached_property
    def designs(self) -> list[str]:
        """The designs."""
        return list(dict.fromkeys(run.design for run in self.shown))


def _name(labels: Labels, titles: Sequence[str]) -> str:
    return summary.run_name({title: labels[title] for title in titles})


def _by_panel(runs: Runs) -> dict[str, dict[str, Sequence[Record]]]:
    """By workload and design the results of all seeds."""
    found: dict[str, dict[str, Sequence[Record]]] = {}
    for run in runs.shown:
        found.setdefault(run.panel, {})[run.design] = [run.result, *run.repeats]
    return found


def comparison_page(
    pairs: Sequence[tuple[Labels, Record | str]],
    command: str | None,
    repeats: Sequence[Sequence[Record]] = (),
) -> str:
    """The page as text; at least one run has a result."""
    runs = Runs(pairs, repeats)
    drawn = pictures(runs)
    workloads = list(dict.fromkeys(summary.workload_name(result) for result in runs.results))
    count = len(pairs)
    return html.page(
        f"{count} runs compared" if count > 1 else f"One run: {summary.run_name(pairs[0][0])}",
        f"Workload: {', '.join(workloads)}. nandlab {runs.results[0].version}.",
        [
            _warning(runs),
            html.conclusions(conclusions.of_comparison(_by_panel(runs))),
            html.section("What they cost", _headline(runs), note=_how_to_read(runs)),
            html.section("Write amplification by cause", _figure(drawn, "waf")),
            html.section(
                "Who made the device erase",
                _origins(runs),
                note="Share of the erases by the part of the host whose pages were erased.",
            ),
            html.section("Write latency", _figure(drawn, "latency")),
            html.section("Wear", _figure(drawn, "wear") or html.paragraph("No block was erased.")),
            html.section("Lifetime", _figure(drawn, "lifetime"), _untold_lives(runs)),
            html.section("Energy", _figure(drawn, "energy")),
            html.section(
                "The course of the runs",
                *(html.titled(title, _figure(drawn, name)) for name, title in COURSES.items()),
                note=WINDOWED,
            ),
            html.section("Memory that firmware would need", _figure(drawn, "ram")),
            html.section(
                "Each design", *_details(runs), note="Matrix, latencies, memory and the experiment of each."
            ),
            html.section("Make it again", parts.remake(command, [*runs.results, *_again(runs)])),
        ],
    )


COURSES = {
    "waf-over-time": "write amplification",
    "throughput-over-time": "throughput",
    "free-blocks-over-time": "free blocks",
}


def _again(runs: Runs) -> list[Record]:
    return [result for run in runs.shown for result in run.repeats]


def _figure(drawn: dict[str, Picture], name: str) -> str:
    picture = drawn.get(name)
    return "" if picture is None else html.figure(picture.svg(), picture.caption)


def pictures(runs: Runs) -> dict[str, Picture]:
    """A comparison's pictures by name; pictures with nothing to show are left out."""
    drawn: dict[str, Picture | None] = {
        "waf": _waf(runs),
        "latency": _latency(runs),
        "wear": _wear(runs),
        "lifetime": _lifetime(runs),
        "energy": _energy(runs),
        "waf-over-time": _over_time(runs, "waf", "WAF (ratio)"),
        "throughput-over-time": _over_time(runs, "mb_per_s", "read and written (MB/s)"),
        "free-blocks-over-time": _over_time(runs, "free_blocks", "free blocks"),
        "ram": _ram(runs),
    }
    return {name: picture for name, picture in drawn.items() if picture is not None}


def _how_to_read(runs: Runs) -> str:
    seeds = 1 + max((len(run.repeats) for run in runs.shown), default=0)
    if seeds > 1:
        said = (
            f"Means over {seeds} seeds, ± half the 95 % interval where they differ; ★: the best, where its "
            "interval meets no other. Pictures and details are those of the first seed."
        )
    elif len(runs.shown) > 1:
        said = (
            "★: the best. One seed does not tell whether a small difference is chance; --seeds 5 does. A "
            "trace gives the same figures with every seed, unless the design draws at random."
        )
    else:
        said = ""
    results = [run.result for run in runs.shown]
    return (
        f"{summary.note(results)} The more colour, the more it is than others in the column. {said}".strip()
    )


def _warning(runs: Runs) -> str:
    missing = len(runs.pairs) - len(runs.shown)
    partial = sum(result.partial for result in runs.results)
    said = []
    if missing:
        said.append(f"{missing} of {len(runs.pairs)} runs {'has' if missing == 1 else 'have'} no result.")
    if partial:
        said.append(
            f"{partial} {'was' if partial == 1 else 'were'} stopped before the end; "
            "such figures are those up to then, and do not compare with others."
        )
    return html.paragraph(" ".join([*said, "The table says which."]), "warning") if said else ""


def _headline(runs: Runs) -> str:
    """The table; a run without a result has its reason in the last column."""
    columns = summary.columns(runs.results)
    states = any(not isinstance(result, Record) or result.partial for _, result in runs.pairs)
    own = [title for title in runs.titles if title not in runs.panel_titles or len(runs.panels) < 2]
    titles = [*map(summary.plain, own), *(column.title for column in columns), *[""] * states]
    shown = {id(run.labels): run for run in runs.shown}
    each = [shown.get(id(labels)) for labels, _ in runs.pairs]
    cells = [
        [Figure.of(column, [run.result, *run.repeats]) if run else None for column in columns] for run in each
    ]
    groups = [_name(labels, runs.panel_titles) if len(runs.panels) > 1 else "" for labels, _ in runs.pairs]
    # A stopped run may have the least figures in everything.
    whole = [
        line if run and not run.result.partial else [None] * len(columns)
        for run, line in zip(each, cells, strict=True)
    ]
    best = best_of_groups(columns, whole, groups)
    peaks = [_peak([one.mean or 0 for one in line if one]) for line in zip(*cells, strict=True)]
    rows, heat, marks = [], [], []
    for (labels, result), line, line_best in zip(runs.pairs, cells, best, strict=True):
        texts = [units.NO_VALUE if one is None else one.text for one in line]
        state = (parts.stopped(result) if isinstance(result, Record) else result) if states else ""
        rows.append([*(labels[title] for title in own), *texts, *[state] * states])
        shares = [(one.mean or 0) / peak if one else 0.0 for one, peak in zip(line, peaks, strict=True)]
        heat.append([0.0] * len(own) + shares + [0.0] * states)
        marks.append([False] * len(own) + line_best + [False] * states)
    numbers = range(len(own), len(own) + len(columns))
    return tables.in_page(tables.comparison(titles, rows, numbers, heat, marks, groups))


def _peak(numbers: Sequence[float]) -> float:
    """The largest; if all are equal, infinity, so that none stands out."""
    return max(numbers) if numbers and min(numbers) < max(numbers) else float("inf")


def _waf(runs: Runs) -> Picture | None:
    rows: list[dict[str, Any]] = [
        {"design": run.design, "panel": run.panel, "cause": summary.plain(cause), "value": part}
        for run in runs.shown
        for cause, part in run.result.waf_by_cause().items()
    ]
    totals: dict[str, float] = {}
    for row in rows:
        totals[row["cause"]] = totals.get(row["cause"], 0.0) + row["value"]
    causes = sorted(totals, key=lambda cause: (cause != "host", cause != "gc", -totals[cause]))
    title = "write amplification (flash programs / host writes)"
    return compared.stacked(rows, "cause", causes, runs.designs, runs.panels, title) if rows else None


def _origins(runs: Runs) -> str:
    """A table with designs and origins; empty if all erases have one origin: it would say little."""
    shares = [summary.erases_by_origin(result) for result in runs.results]
    totals: dict[str, float] = {}
    for each in shares:
        for origin, share in each.items():
            totals[origin] = totals.get(origin, 0.0) + share
    if len(totals) < 2:
        return ""
    origins = sorted(totals, key=lambda origin: -totals[origin])
    rows, heat = [], []
    for run, each in zip(runs.shown, shares, strict=True):
        cells = [f"{100 * each[origin]:.1f} %" if origin in each else units.NO_VALUE for origin in origins]
        rows.append([*run.labels.values(), *cells, units.count(run.result.flash.erases)])
        heat.append([0.0] * len(run.labels) + [each.get(origin, 0.0) for origin in origins])
    titles = [*map(summary.plain, [*runs.titles, *origins]), "erases"]
    panels = [run.panel for run in runs.shown]
    starts = [at for at in range(1, len(panels)) if panels[at] != panels[at - 1]]
    return html.table(titles, rows, range(len(runs.titles), len(titles)), heat, starts)


def _over_time(runs: Runs, figure: str, title: str) -> Picture | None:
    colours, rest = _colours_and_panels(runs)
    rows: list[dict[str, Any]] = []
    for run in runs.shown:
        line, panel = _name(run.labels, colours), _name(run.labels, rest)
        for one in gathered(run.result, by_writes=figure == "waf").iter_rows(named=True):
            moved = one["read_mb_per_s"]
            one["mb_per_s"] = None if moved is None else moved + one["written_mb_per_s"]
            if one[figure] is not None:
                rows.append(
                    {"requests": one["requests"], "value": float(one[figure]), "line": line, "panel": panel}
                )
    if len(rows) <= len(runs.shown):
        return None
    names = list(dict.fromkeys(row["line"] for row in rows))
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    line_title = summary.plain(colours[0]) if len(colours) == 1 else None
    return compared.over_time(rows, names, line_title, panels, title)


def _colours_and_panels(runs: Runs) -> tuple[list[str], list[str]]:
    """The labels for a line's colour, and the labels for its panel.

    All designs under a workload share a panel while colours suffice; else the colour follows
    the label with most values, among labels for which colours suffice.
    """
    rest = [title for title in runs.titles if title not in runs.panel_titles]
    if len(runs.designs) <= MOST_COLOURS:
        return rest, runs.panel_titles
    values = {title: {run.labels[title] for run in runs.shown} for title in rest}
    fit = [title for title in rest if len(values[title]) <= MOST_COLOURS]
    colour = max(fit, key=lambda title: len(values[title])) if fit else rest[-1]
    return [colour], [title for title in runs.titles if title != colour and len(_values(runs, title)) > 1]


def _values(runs: Runs, title: str) -> set[str]:
    return {run.labels[title] for run in runs.shown}


def _latency(runs: Runs) -> Picture | None:
    percentiles = {"p50": "p50", "p99": "p99", "p999": "p99.9", "max": "longest"}
    rows = []
    for run in runs.shown:
        latency = summary.latency_of(run.result, "write")
        for key, title in percentiles.items():
            value = None if latency is None else getattr(latency, key)
            if value:
                rows.append(
                    {"design": run.design, "panel": run.panel, "percentile": title, "latency_us": value}
                )
    names = list(percentiles.values())
    return compared.latency(rows, runs.designs, names, runs.panels) if rows else None


def _wear(runs: Runs) -> Picture | None:
    rows = [
        {"design": run.design, "panel": run.panel, "min": wear.min, "mean": wear.mean, "max": wear.max}
        for run in runs.shown
        for wear in [run.result.wear]
    ]
    return compared.wear(rows, runs.designs, runs.panels) if any(row["max"] for row in rows) else None


def _untold_lives(runs: Runs) -> str:
    """The runs without a place in the picture of lifetimes, each with its reason."""
    several = len(runs.panels) > 1
    reasons = []
    for run in runs.shown:
        life = run.result.lifetime
        if life is not None and life.even is not None:
            continue
        name = f"{run.design}, {run.panel}" if several else run.design
        why = "no block was erased" if life is None else life.too_short
        reasons.append(f"{name}: {why}")
    if not reasons:
        return ""
    return html.paragraph(f"Too short to tell a lifetime: {'; '.join(reasons)}.", "note")


def _lifetime(runs: Runs) -> Picture | None:
    rows = [
        {
            "design": run.design,
            "panel": run.panel,
            "least": least / 1e9,
            "most": most / 1e9,
            "even": life.even.host_bytes / 1e9,
        }
        for run in runs.shown
        if (life := run.result.lifetime) is not None and life.even is not None
        for least, most in [life.first_block.host_bytes if life.first_block else [life.even.host_bytes] * 2]
    ]
    return compared.lifetime(rows, runs.designs, runs.panels) if rows else None


def _energy(runs: Runs) -> Picture | None:
    rows = [
        {"design": run.design, "panel": run.panel, "part": f"{memory}: {kind}", "value": joules}
        for run in runs.shown
        for memory, kind, joules in frames.energy(run.result).iter_rows()
    ]
    names = list(dict.fromkeys(row["part"] for row in rows))
    return compared.stacked(rows, "part", names, runs.designs, runs.panels, "energy (J)") if rows else None


def _ram(runs: Runs) -> Picture | None:
    rows = [
        {"design": run.design, "panel": run.panel, "part": summary.plain(structure), "value": number / 1024}
        for run in runs.shown
        for _, structure, number in frames.ram(run.result).iter_rows()
        if number
    ]
    totals: dict[str, float] = {}
    for row in rows:
        totals[row["part"]] = totals.get(row["part"], 0.0) + row["value"]
    largest = sorted(totals, key=lambda name: -totals[name])
    # More parts than colours would be told apart by nothing.
    kept = largest if len(largest) <= MOST_COLOURS else largest[: MOST_COLOURS - 1]
    sums: dict[tuple[str, str, str], float] = {}
    for row in rows:
        key = (row["design"], row["panel"], row["part"] if row["part"] in kept else "other")
        sums[key] = sums.get(key, 0.0) + row["value"]
    shown = [
        {"design": design, "panel": panel, "part": part, "value": value}
        for (design, panel, part), value in sums.items()
    ]
    names = [*kept, *(["other"] if len(kept) < len(largest) else [])]
    return compared.stacked(shown, "part", names, runs.designs, runs.panels, "memory (KiB)") if rows else None


def _details(runs: Runs) -> list[str]:
    return [
        html.folded(
            f"{run.name}: WAF {units.ratio(run.result.waf)}",
            "".join(
                [
                    html.table([], headline(run.result)),
                    parts.matrix(run.result),
                    html.titled("latency", parts.latencies(run.result)),
                    html.titled("memory that firmware would need", parts.ram(run.result)),
                    html.titled("the experiment", parts.experiment(run.result)),
                ]
            ),
        )
        for run in runs.shown
    ]
