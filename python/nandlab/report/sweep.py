"""The report of a sweep: curves over the varied keys, the Pareto front of two goals, and every point."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab import summary
from nandlab._native import NandlabError
from nandlab.new_file import write_whole
from nandlab.report import charts, html, parts
from nandlab.reproduce.verdict import half_width
from nandlab.sweeping.axes import Axis
from nandlab.sweeping.goals import Goal, front
from nandlab.sweeping.words import Quantity, axis_titles, figure, labels, quantity

if TYPE_CHECKING:
    import altair

    from nandlab.sweeping import Point, Sweep

WIDTH, HEIGHT = 620, 280
PANEL_WIDTH, PANEL_HEIGHT = 330, 220
MOST_COLOURS = len(charts.COLOURS)
MOST_NAMED = 12
"""Points of a front that have their names beside them."""

CURVES = "95 % interval of the mean over the seeds."


def require_altair() -> None:
    """Says how to get what draws, before runs whose report would end without it."""
    charts.require_vl_convert()
    try:
        import altair  # noqa: F401 - only asked whether it is there
    except ImportError as error:
        raise NandlabError(
            f"pictures of a sweep need altair: pip install 'nandlab[sweep]' ({error})"
        ) from None


def write_sweep(found: Sweep, path: str | os.PathLike[str], command: str | None = None) -> None:
    """Writes the report; raises as `Sweep.report`."""
    require_altair()
    write_whole(path, sweep_page(found, command).encode(errors="backslashreplace"))


def write_plots(found: Sweep, folder: str | os.PathLike[str]) -> list[str]:
    """Writes every picture as SVG and as PNG; raises as `Sweep.plots`."""
    require_altair()
    import vl_convert

    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(f"cannot write into {place}: {(error.strerror or str(error)).lower()}") from None
    paths = []
    for name, drawn in pictures(found).items():
        text = charts.standalone(drawn)
        for ending, content in ((".svg", text.encode()), (".png", vl_convert.svg_to_png(text, scale=2))):
            path = place / f"{name}{ending}"
            write_whole(path, content)
            paths.append(str(path))
    return paths


@dataclass(frozen=True)
class Shown:
    """A point, or the mean of those that differ in their seed alone."""

    point: Point
    figures: list[float | None]
    spread: list[float]
    """Half the 95 % interval of each figure; 0 with one seed."""


@dataclass(frozen=True)
class Layout:
    """Which varied key goes where."""

    found: Sweep

    @cached_property
    def axes(self) -> list[Axis]:
        """The varied keys but the seed, over which curves have a mean."""
        others = [axis for axis in self.found.axes if axis.key != "seed"]
        return others or self.found.axes

    @cached_property
    def x(self) -> Axis:
        """The key with most numbers, else the first."""
        numeric = [axis for axis in self.axes if axis.is_numeric()]
        return max(numeric, key=lambda axis: len(axis.values)) if numeric else self.axes[0]

    @cached_property
    def colour(self) -> Axis | None:
        """The first other key with no more values than there are colours, texts before numbers."""
        others = [axis for axis in self.axes if axis is not self.x and len(axis.values) <= MOST_COLOURS]
        texts = [axis for axis in others if not axis.is_numeric()]
        return next(iter([*texts, *others]), None)

    @cached_property
    def panels(self) -> list[Axis]:
        """The rest."""
        return [axis for axis in self.axes if axis is not self.x and axis is not self.colour]

    @cached_property
    def names(self) -> dict[str, dict[str, str]]:
        """By key the label of each value."""
        return {axis.key: names for axis, names in zip(self.found.axes, labels(self.found.axes), strict=True)}

    @cached_property
    def titles(self) -> dict[str, str]:
        """By key its short title."""
        return dict(zip((axis.key for axis in self.found.axes), axis_titles(self.found.axes), strict=True))

    def label(self, point: Point, axis: Axis) -> str:
        """The value of a point on an axis, for people."""
        return self.names[axis.key][point.texts[self.found.axes.index(axis)]]

    def name(self, point: Point, axes: Sequence[Axis]) -> str:
        """What sets a point apart, in one line."""
        return summary.run_name({self.titles[axis.key]: self.label(point, axis) for axis in axes})

    @cached_property
    def shown(self) -> list[Shown]:
        """The points that have a result, those of all seeds together."""
        groups: dict[tuple[str, ...], list[Point]] = {}
        for point in self.found.points:
            if point.record is not None:
                groups.setdefault(tuple(self.label(point, axis) for axis in self.axes), []).append(point)
        return [self._mean(points) for points in groups.values()]

    def _mean(self, points: Sequence[Point]) -> Shown:
        columns = list(zip(*(self.found.figures(point) for point in points), strict=True))
        known = [[value for value in column if value is not None] for column in columns]
        means = [statistics.fmean(values) if values else None for values in known]
        return Shown(points[0], means, [half_width(values) if len(values) > 1 else 0.0 for values in known])


def pictures(found: Sweep) -> dict[str, str]:
    """Every picture as SVG with the colours of a page, by name."""
    layout = Layout(found)
    drawn = {}
    for at, goal in enumerate(found.goals):
        if any(each.figures[at] is not None for each in layout.shown):
            drawn[goal.name.replace(".", "-")] = _curves(layout, at, goal)
    if len(found.goals) == 2 and any(None not in each.figures for each in layout.shown):
        drawn["pareto"] = _pareto(layout)
    return drawn


def _curves(layout: Layout, at: int, goal: Goal) -> str:
    """A goal over a key, a line for each value of another one, in panels of the others."""
    import altair as alt

    shown = [each for each in layout.shown if each.figures[at] is not None]
    values = [value for each in shown if (value := each.figures[at]) is not None]
    unit = quantity(goal.name, values)
    rows = [_row(layout, each, at, unit) for each in shown]
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    many = len(panels) > 1
    x = _x(layout.x, layout)
    scale = (
        alt.Scale(type="log") if min(values) > 0 and max(values) > 20 * min(values) else alt.Scale(zero=False)
    )
    y = alt.Y("y:Q", title=axis_text(goal.name, unit), scale=scale, axis=alt.Axis(format="~g", tickCount=6))
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y, **_colour(layout))
    numeric = layout.x.is_numeric()
    marks = [
        base.mark_line(point=alt.OverlayMarkDef(size=40, filled=True))
        if numeric
        else base.mark_point(filled=True, size=80, opacity=1)
    ]
    if any(each.spread[at] for each in shown):
        bars = alt.Chart(alt.Data(values=rows)).mark_rule(strokeWidth=1.5)
        channels = {key: value for key, value in _colour(layout).items() if key == "color"}
        marks.append(bars.encode(x=x, y=alt.Y("low:Q", scale=scale), y2="high:Q", **channels))
    width, height = (PANEL_WIDTH, PANEL_HEIGHT) if many else (WIDTH, HEIGHT)
    chart = alt.layer(*marks, data=alt.Data(values=rows)).properties(width=width, height=height)
    if many:
        chart = chart.facet(
            facet=alt.Facet("panel:N", title=None, sort=panels), columns=2, data=alt.Data(values=rows)
        )
    names = list(layout.names[layout.colour.key].values()) if layout.colour else []
    return charts.svg(_spec(chart), [] if many else names[:0])


def _row(layout: Layout, shown: Shown, at: int, unit: Quantity) -> dict[str, Any]:
    value = (shown.figures[at] or 0.0) / unit.divisor
    spread = shown.spread[at] / unit.divisor
    x = shown.point.values[layout.x.key] if layout.x.is_numeric() else layout.label(shown.point, layout.x)
    return {
        "x": x,
        "y": value,
        "low": value - spread,
        "high": value + spread,
        "colour": layout.label(shown.point, layout.colour) if layout.colour else "",
        "panel": layout.name(shown.point, layout.panels),
    }


def _x(axis: Axis, layout: Layout) -> altair.X:
    import altair as alt

    title = x_text(axis)
    if not axis.is_numeric():
        return alt.X(
            "x:N", title=title, sort=list(layout.names[axis.key].values()), axis=alt.Axis(labelAngle=0)
        )
    numbers = sorted({value for value in axis.meant() if not isinstance(value, str)})
    is_log = axis.spacing == "log" or (numbers[0] > 0 and numbers[-1] >= 20 * numbers[0])
    scale = (
        alt.Scale(type="log", nice=False, padding=12)
        if is_log
        else alt.Scale(zero=False, nice=False, padding=12)
    )
    ticks = numbers[:: -(-len(numbers) // 9)]
    names = {
        str(value): text for value, text in zip(axis.meant(), layout.names[axis.key].values(), strict=True)
    }
    # The ticks are the values that were run, with the labels that the table has.
    chosen = " : ".join(f"datum.value == {tick!r} ? {names[str(tick)]!r}" for tick in ticks)
    return alt.X(
        "x:Q",
        title=title,
        scale=scale,
        axis=alt.Axis(values=ticks, labelExpr=f"{chosen} : ''", labelOverlap="greedy"),
    )


def _colour(layout: Layout) -> dict[str, Any]:
    import altair as alt

    if layout.colour is None:
        return {"color": alt.value(charts.COLOURS[0])}
    names = list(layout.names[layout.colour.key].values())
    title = layout.titles[layout.colour.key]
    dashes = [charts.DASHES[at % len(charts.DASHES)] for at in range(len(names))]
    legend = alt.Legend(symbolType="stroke", symbolSize=900) if layout.x.is_numeric() else alt.Legend()
    channels: dict[str, Any] = {
        "color": alt.Color(
            "colour:N",
            title=title,
            sort=names,
            scale=alt.Scale(domain=names, range=charts.COLOURS[: len(names)]),
            legend=legend,
        )
    }
    if layout.x.is_numeric():
        # Lines differ in more than their colour.
        channels["strokeDash"] = alt.StrokeDash(
            "colour:N", title=title, sort=names, scale=alt.Scale(domain=names, range=dashes), legend=legend
        )
    else:
        channels["shape"] = alt.Shape("colour:N", title=title, sort=names, scale=alt.Scale(domain=names))
    return channels


def _pareto(layout: Layout) -> str:
    """Both goals of every point; those that no other beats are joined and named."""
    import altair as alt

    goals = layout.found.goals
    shown = [each for each in layout.shown if None not in each.figures]
    on_front = front([each.figures for each in shown], goals)
    quantities = [
        quantity(goal.name, [value for each in shown if (value := each.figures[at]) is not None])
        for at, goal in enumerate(goals)
    ]
    rows = []
    for each, best in zip(shown, on_front, strict=True):
        x, y = ((value or 0.0) / unit.divisor for value, unit in zip(each.figures, quantities, strict=True))
        name = layout.name(each.point, layout.axes)
        colour = layout.label(each.point, layout.colour) if layout.colour else ""
        rows.append({"x": x, "y": y, "name": name, "front": best, "colour": colour})
    best_rows = sorted((row for row in rows if row["front"]), key=lambda row: row["x"])
    titles = [axis_text(goal.name, unit) for goal, unit in zip(goals, quantities, strict=True)]
    x, y = (
        alt.X("x:Q", title=titles[0], scale=_scale(rows, "x"), axis=alt.Axis(format="~g", tickCount=6)),
        alt.Y("y:Q", title=titles[1], scale=_scale(rows, "y"), axis=alt.Axis(format="~g", tickCount=6)),
    )
    colour = {key: value for key, value in _colour(layout).items() if key == "color"}
    if "legend" in str(colour.get("color")) and layout.colour is not None:
        names = list(layout.names[layout.colour.key].values())
        colour["color"] = alt.Color(
            "colour:N",
            title=layout.titles[layout.colour.key],
            sort=names,
            scale=alt.Scale(domain=names, range=charts.COLOURS[: len(names)]),
        )
    line = (
        alt.Chart(alt.Data(values=best_rows))
        .mark_line(color="var(--soft)", strokeDash=[5, 4])
        .encode(x=x, y=y)
    )
    points = (
        alt.Chart(alt.Data(values=rows))
        .mark_point(filled=True, opacity=1)
        .encode(
            x=x,
            y=y,
            **colour,
            size=alt.condition("datum.front", alt.value(110), alt.value(35)),
            shape=alt.condition("datum.front", alt.value("diamond"), alt.value("circle")),
        )
    )
    named = best_rows[:: -(-len(best_rows) // MOST_NAMED)]
    text = alt.Chart(alt.Data(values=named)).mark_text(
        align="left", dx=9, dy=-7, color="var(--ink)", fontSize=11
    )
    chart = alt.layer(line, points, text.encode(x=x, y=y, text="name:N")).properties(
        width=WIDTH, height=HEIGHT + 60
    )
    return charts.svg(_spec(chart), [row["name"] for row in named])


def _scale(rows: Sequence[dict[str, Any]], field: str) -> altair.Scale:
    import altair as alt

    values = [row[field] for row in rows]
    if min(values) > 0 and max(values) > 20 * min(values):
        return alt.Scale(type="log", nice=False, padding=14)
    return alt.Scale(zero=False, nice=True, padding=14)


def _spec(chart: Any) -> dict[str, Any]:  # noqa: ANN401 - a chart of altair
    """The specification, without the rules that a file which was written by hand must follow."""
    import altair as alt

    with alt.data_transformers.enable(consolidate_datasets=False, max_rows=None):
        spec: dict[str, Any] = chart.to_dict()
    return spec


def x_text(axis: Axis) -> str:
    """The title of the horizontal axis, with its unit."""
    if axis.key.endswith("over_provisioning"):
        return "over-provisioning (physical / logical size - 1)"
    unit = " (bytes)" if axis.is_size() else ""
    return f"{axis.key}{unit}"


def axis_text(name: str, unit: Quantity) -> str:
    """The title of the axis of a figure of the record, with its unit."""
    said = "write amplification" if name == "waf" else name
    return f"{said} ({unit.unit})" if unit.unit else said


def sweep_page(found: Sweep, command: str | None) -> str:
    """The page as text; at least one point has a result."""
    layout = Layout(found)
    results = [point.result for point in found.points if point.result is not None]
    workload = ", ".join(dict.fromkeys(summary.workload_name(result) for result in results))
    drawn = pictures(found)
    pareto = drawn.pop("pareto", None)
    keys = ", ".join(axis.key for axis in found.axes)
    seeds = next((axis for axis in found.axes if axis.key == "seed"), None)
    note = (
        f"Each point is the mean of {len(seeds.values)} seeds; bars: {CURVES}"
        if seeds and len(found.axes) > 1
        else ""
    )
    return html.page(
        f"Sweep over {keys}",
        f"{len(found.points)} points. Workload: {workload}. nandlab {results[0].version}.",
        [
            _warning(found),
            html.tiles(_best(layout)),
            html.section("Curves", *(html.figure(text) for text in drawn.values()), note=note),
            html.section(
                "Pareto front",
                html.figure(pareto) if pareto else "",
                note="Diamonds: no other point is as good in both goals and better in one.",
            ),
            html.section(
                "Every point", _table(layout), note=f"{summary.NOTE} Darker: more than others in the column."
            ),
            html.section(
                "Make it again",
                parts.remake(command, results),
                html.folded("The experiment of the first point", parts.experiment(results[0])),
            ),
        ],
    )


def _warning(found: Sweep) -> str:
    missing = sum(point.record is None for point in found.points)
    partial = sum(point.result is not None and point.result.partial for point in found.points)
    said = [f"{missing} of {len(found.points)} points have no result."] if missing else []
    if partial:
        said.append(f"{partial} ended before their workload did; their figures do not compare with others.")
    return html.paragraph(" ".join(said), "warning") if said else ""


def _best(layout: Layout) -> list[tuple[str, str, str]]:
    """For each goal its best figure, and where it is."""
    tiles = []
    for at, goal in enumerate(layout.found.goals):
        known = [(value, each) for each in layout.shown if (value := each.figures[at]) is not None]
        if known:
            pick = max if goal.maximise else min
            value, each = pick(known, key=lambda pair: pair[0])
            word = "most" if goal.maximise else "least"
            tiles.append(
                (f"{word} {goal.name}", figure(goal.name, value), layout.name(each.point, layout.axes))
            )
    return tiles


def _table(layout: Layout) -> str:
    found = layout.found
    results = [point.result for point in found.points if point.result is not None]
    named = {goal.name for goal in found.goals}
    twins = {"waf": "WAF", "flash.erases": "erases", "time_us": "time", "ram.total_bytes": "RAM"}
    columns = [
        each for each in summary.columns(results) if each.title not in {twins.get(name) for name in named}
    ]
    with_front = len(found.goals) > 1
    titles = [
        *(layout.titles[axis.key] for axis in found.axes),
        *(goal.name for goal in found.goals),
        *["front"] * with_front,
        *(column.title for column in columns),
    ]
    peaks = [_peak(found, at) for at in range(len(found.goals))]
    rows: list[list[str | html.Wide]] = []
    heat: list[list[float]] = []
    for point, on_front in zip(found.points, found.front, strict=True):
        values: list[str | html.Wide] = [layout.label(point, axis) for axis in found.axes]
        if point.result is None:
            why = point.error or "was not run"
            rows.append([*values, html.Wide(why, len(titles) - len(values))])
            heat.append([])
            continue
        figures = found.figures(point)
        values += [figure(goal.name, value) for goal, value in zip(found.goals, figures, strict=True)]
        values += ["◆" if on_front else ""] * with_front
        result = point.result
        rows.append([*values, *(column.text(column.number(result)) for column in columns)])
        shares = [(value or 0.0) / peak if peak else 0.0 for value, peak in zip(figures, peaks, strict=True)]
        heat.append([0.0] * len(found.axes) + shares)
    return html.table(titles, rows, range(len(found.axes), len(titles)), heat)


def _peak(found: Sweep, at: int) -> float:
    values = [value for point in found.points if (value := found.figures(point)[at]) is not None]
    return max(values) if values and min(values) < max(values) else 0.0
