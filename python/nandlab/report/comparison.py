"""The report of several runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from nandlab import summary
from nandlab.report import charts, html, parts
from nandlab.result import Result

MOST_COLOURS = len(charts.COLOURS)


@dataclass(frozen=True)
class Runs:
    """What is compared: labels and results, in order."""

    pairs: Sequence[tuple[dict[str, str], Result]]

    @cached_property
    def results(self) -> list[Result]:
        """The results."""
        return [result for _, result in self.pairs]

    @cached_property
    def names(self) -> list[str]:
        """One line for each."""
        return [summary.run_name(labels) for labels, _ in self.pairs]

    @cached_property
    def titles(self) -> list[str]:
        """What the runs differ in."""
        return list(self.pairs[0][0])


def comparison_page(
    pairs: Sequence[tuple[dict[str, str], Result]], command: str | None, missing: Sequence[str] = ()
) -> str:
    """The page as text."""
    runs = Runs(pairs)
    first = runs.results[0]
    partial = [name for name, result in zip(runs.names, runs.results, strict=True) if result.partial]
    workloads = list(dict.fromkeys(summary.workload_name(result) for result in runs.results))
    return html.page(
        f"{len(runs.names)} runs compared",
        f"Workload: {', '.join(workloads)}. nandlab {first.version}.",
        [
            parts.partial_warning(partial),
            *(html.paragraph(sentence, "warning") for sentence in missing),
            html.section(
                "What they cost",
                _headline(runs),
                note="Times are simulated; WAF is flash programs / host writes.",
            ),
            html.section("Write amplification by cause", _waf(runs)),
            html.section("Write amplification over the run", _over_time(runs), note=parts.WINDOWED),
            html.section("Write latency", _latency(runs)),
            html.section("Wear", _wear(runs)),
            html.section(
                "Each design", *_details(runs), note="Matrix, latencies, memory and the experiment of each."
            ),
            html.section("Make it again", parts.remake(command, runs.results)),
        ],
    )


def _headline(runs: Runs) -> str:
    columns = summary.columns(runs.results)
    titles = [*(summary.plain(title) for title in runs.titles), *(column.title for column in columns)]
    rows, heat = [], []
    peaks = [_peak([column.number(result) or 0 for result in runs.results]) for column in columns]
    for labels, result in runs.pairs:
        numbers = [column.number(result) for column in columns]
        rows.append(
            [
                *labels.values(),
                *(column.text(number) for column, number in zip(columns, numbers, strict=True)),
            ]
        )
        shares = ((number or 0) / peak for number, peak in zip(numbers, peaks, strict=True))
        heat.append([0.0] * len(labels) + list(shares))
    return html.table(titles, rows, right=range(len(runs.titles), len(titles)), heat=heat)


def _peak(numbers: Sequence[float]) -> float:
    """The largest; where all are equal, so much that none of them stands out."""
    return max(numbers) if min(numbers) < max(numbers) else float("inf")


def _waf(runs: Runs) -> str:
    rows: list[dict[str, Any]] = [
        {"design": name, "cause": summary.plain(cause), "waf": part}
        for name, result in zip(runs.names, runs.results, strict=True)
        for cause, part in result.waf_by_cause().items()
    ]
    totals: dict[str, float] = {}
    for row in rows:
        totals[row["cause"]] = totals.get(row["cause"], 0.0) + row["waf"]
    causes = sorted(totals, key=lambda cause: (cause != "host", cause != "gc", -totals[cause]))
    return html.figure(charts.waf_bars(rows, runs.names, causes)) if rows else ""


def _over_time(runs: Runs) -> str:
    colour, rest = _colour_and_panels(runs)
    rows: list[dict[str, Any]] = [
        {
            "requests": sample.requests,
            "waf": sample.waf,
            "colour": labels[colour] if colour else name,
            "panel": summary.run_name({title: labels[title] for title in rest}),
        }
        for name, (labels, result) in zip(runs.names, runs.pairs, strict=True)
        for sample in result.series
        if sample.waf
    ]
    if not rows:
        return ""
    colours = list(dict.fromkeys(row["colour"] for row in rows))
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    return html.figure(charts.over_time(rows, colours, summary.plain(colour) if colour else None, panels))


def _colour_and_panels(runs: Runs) -> tuple[str | None, list[str]]:
    """The label that sets the colour of a line, and those that set its panel.

    All lines share one chart while there are colours for them; else the label with most values that there are
    colours for sets the colour.
    """
    if len(runs.names) <= MOST_COLOURS:
        return None, []
    values = {title: {labels[title] for labels, _ in runs.pairs} for title in runs.titles}
    fit = [title for title in runs.titles if len(values[title]) <= MOST_COLOURS]
    colour = max(fit, key=lambda title: len(values[title])) if fit else runs.titles[-1]
    return colour, [title for title in runs.titles if title != colour and len(values[title]) > 1]


def _latency(runs: Runs) -> str:
    percentiles = {"p50": "p50", "p99": "p99", "p999": "p99.9", "max": "longest"}
    rows = []
    for name, result in zip(runs.names, runs.results, strict=True):
        latency = summary.latency_of(result, "write")
        for key, title in percentiles.items():
            value = None if latency is None else getattr(latency, key)
            if value:
                rows.append({"design": name, "percentile": title, "latency_us": value})
    return html.figure(charts.latency_ranges(rows, runs.names, list(percentiles.values()))) if rows else ""


def _wear(runs: Runs) -> str:
    rows = [
        {"design": name, "min": result.wear.min, "mean": result.wear.mean, "max": result.wear.max}
        for name, result in zip(runs.names, runs.results, strict=True)
    ]
    return html.figure(charts.wear_ranges(rows, runs.names))


def _details(runs: Runs) -> list[str]:
    return [
        html.folded(
            f"{name}: WAF {summary.units.ratio(result.waf)}",
            "".join(
                [
                    html.table([], summary.headline(result)),
                    parts.matrix(result),
                    html.titled("latency", parts.latencies(result)),
                    html.titled("memory that firmware would need", parts.ram(result)),
                    html.titled("the experiment", parts.experiment(result)),
                ]
            ),
        )
        for name, result in zip(runs.names, runs.results, strict=True)
    ]
