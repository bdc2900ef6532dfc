"""The report of several runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from nandlab import summary, units
from nandlab.report import charts, html, parts
from nandlab.result import Result

MOST_COLOURS = len(charts.COLOURS)

Labels = dict[str, str]


@dataclass(frozen=True)
class Shown:
    """A run that has a result, and where it stands in a chart."""

    labels: Labels
    result: Result
    panel: str
    """The workload, where several are compared."""
    design: str
    """What sets it apart within its panel."""

    @property
    def name(self) -> str:
        """One line."""
        name = summary.run_name(self.labels)
        return f"{name} (partial)" if self.result.partial else name


@dataclass(frozen=True)
class Runs:
    """What is compared, in order: labels, and a result or the sentence that says why there is none."""

    pairs: Sequence[tuple[Labels, Result | str]]

    @cached_property
    def titles(self) -> list[str]:
        """What the runs differ in."""
        return list(self.pairs[0][0])

    @cached_property
    def panel_titles(self) -> list[str]:
        """The first titles as far as they say which workload ran; none where every run has one of its own."""
        for length in range(len(self.titles)):
            workloads: dict[str, list[Any]] = {}
            for labels, result in self.pairs:
                if isinstance(result, Result):
                    workloads.setdefault(_name(labels, self.titles[:length]), []).append(
                        result.experiment["workload"]
                    )
            if all(each == group[0] for group in workloads.values() for each in group):
                return self.titles[:length]
        return []

    @cached_property
    def shown(self) -> list[Shown]:
        """Those with a result."""
        rest = [title for title in self.titles if title not in self.panel_titles]
        return [
            Shown(
                labels,
                result,
                _name(labels, self.panel_titles),
                _name(labels, rest) + (" (partial)" if result.partial else ""),
            )
            for labels, result in self.pairs
            if isinstance(result, Result)
        ]

    @cached_property
    def results(self) -> list[Result]:
        """The results that there are."""
        return [run.result for run in self.shown]

    @cached_property
    def panels(self) -> list[str]:
        """The workloads, where several are compared."""
        return list(dict.fromkeys(run.panel for run in self.shown))

    @cached_property
    def designs(self) -> list[str]:
        """The designs."""
        return list(dict.fromkeys(run.design for run in self.shown))


def _name(labels: Labels, titles: Sequence[str]) -> str:
    return summary.run_name({title: labels[title] for title in titles})


def comparison_page(pairs: Sequence[tuple[Labels, Result | str]], command: str | None) -> str:
    """The page as text; at least one run has a result."""
    runs = Runs(pairs)
    workloads = list(dict.fromkeys(summary.workload_name(result) for result in runs.results))
    count = len(pairs)
    return html.page(
        f"{count} runs compared" if count > 1 else f"One run: {summary.run_name(pairs[0][0])}",
        f"Workload: {', '.join(workloads)}. nandlab {runs.results[0].version}.",
        [
            _warning(runs),
            html.section(
                "What they cost",
                _headline(runs),
                note=f"{summary.NOTE} Darker: more than others in the column.",
            ),
            html.section("Write amplification by cause", _waf(runs)),
            html.section(
                "Who made the device erase",
                _origins(runs),
                note="Share of the erases by the part of the host whose pages were erased.",
            ),
            html.section("Write latency", _latency(runs)),
            html.section("Wear", _wear(runs)),
            html.section("Write amplification over the run", _over_time(runs), note=parts.WINDOWED),
            html.section(
                "Each design", *_details(runs), note="Matrix, latencies, memory and the experiment of each."
            ),
            html.section("Make it again", parts.remake(command, runs.results)),
        ],
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
    columns = summary.columns(runs.results)
    states = any(not isinstance(result, Result) or result.partial for _, result in runs.pairs)
    titles = [*(summary.plain(title) for title in runs.titles), *(column.title for column in columns)]
    peaks = [_peak([column.number(result) or 0 for result in runs.results]) for column in columns]
    rows: list[list[str | html.Wide]] = []
    heat: list[list[float]] = []
    for labels, result in runs.pairs:
        if not isinstance(result, Result):
            rows.append([*labels.values(), html.Wide(result, len(columns) + 1)])
            heat.append([])
            continue
        numbers = [column.number(result) for column in columns]
        texts = [column.text(number) for column, number in zip(columns, numbers, strict=True)]
        state = [html.Wide(parts.stopped(result), 1) if result.partial else ""] * states
        rows.append([*labels.values(), *texts, *state])
        shares = ((number or 0) / peak for number, peak in zip(numbers, peaks, strict=True))
        heat.append([0.0] * len(labels) + list(shares))
    right = range(len(runs.titles), len(titles))
    return html.table([*titles, *[""] * states], rows, right, heat, _starts(runs))


def _starts(runs: Runs) -> list[int]:
    """Rows where another workload begins."""
    panels = [_name(labels, runs.panel_titles) for labels, _ in runs.pairs]
    return [at for at in range(1, len(panels)) if panels[at] != panels[at - 1]]


def _peak(numbers: Sequence[float]) -> float:
    """The largest; where all are equal, so much that none of them stands out."""
    return max(numbers) if min(numbers) < max(numbers) else float("inf")


def _waf(runs: Runs) -> str:
    rows: list[dict[str, Any]] = [
        {"design": run.design, "panel": run.panel, "cause": summary.plain(cause), "waf": part}
        for run in runs.shown
        for cause, part in run.result.waf_by_cause().items()
    ]
    totals: dict[str, float] = {}
    for row in rows:
        totals[row["cause"]] = totals.get(row["cause"], 0.0) + row["waf"]
    causes = sorted(totals, key=lambda cause: (cause != "host", cause != "gc", -totals[cause]))
    return html.figure(charts.waf_bars(rows, runs.designs, causes, runs.panels)) if rows else ""


def _origins(runs: Runs) -> str:
    """A table of designs and origins; nothing where all erases have one origin, which then says little."""
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


def _over_time(runs: Runs) -> str:
    colours, rest = _colours_and_panels(runs)
    rows: list[dict[str, Any]] = [
        {
            "requests": requests,
            "waf": waf,
            "colour": _name(run.labels, colours),
            "panel": _name(run.labels, rest),
        }
        for run in runs.shown
        for requests, waf in charts.windows(
            (sample.requests, sample.written_sectors, sample.waf) for sample in run.result.series
        )
        if waf
    ]
    if not rows:
        return ""
    names = list(dict.fromkeys(row["colour"] for row in rows))
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    title = summary.plain(colours[0]) if len(colours) == 1 else None
    return html.figure(charts.over_time(rows, names, title, panels))


def _colours_and_panels(runs: Runs) -> tuple[list[str], list[str]]:
    """The labels that set the colour of a line, and those that set its panel.

    All designs under a workload share a panel while there are colours for them; else the colour is that of
    the label with most values among those that there are colours for.
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


def _latency(runs: Runs) -> str:
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
    return html.figure(charts.latency_ranges(rows, runs.designs, names, runs.panels)) if rows else ""


def _wear(runs: Runs) -> str:
    rows = [
        {"design": run.design, "panel": run.panel, "min": wear.min, "mean": wear.mean, "max": wear.max}
        for run in runs.shown
        for wear in [run.result.wear]
    ]
    if not any(row["max"] for row in rows):
        return html.paragraph("No block was erased.")
    return html.figure(charts.wear_ranges(rows, runs.designs, runs.panels))


def _details(runs: Runs) -> list[str]:
    return [
        html.folded(
            f"{run.name}: WAF {units.ratio(run.result.waf)}",
            "".join(
                [
                    html.table([], summary.headline(run.result)),
                    parts.matrix(run.result),
                    html.titled("latency", parts.latencies(run.result)),
                    html.titled("memory that firmware would need", parts.ram(run.result)),
                    html.titled("the experiment", parts.experiment(run.result)),
                ]
            ),
        )
        for run in runs.shown
    ]
