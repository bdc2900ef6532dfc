"""Pictures of a sweep: curves over the varied keys, and the Pareto front for two goals."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from nandlab._native import NandlabError
from nandlab.figures import summary
from nandlab.figures.interval import half_width
from nandlab.report import charts, theme
from nandlab.sweeping.axes import Axis
from nandlab.sweeping.goals import Goal, fronts
from nandlab.sweeping.lettering import SIZE as LETTERS
from nandlab.sweeping.lettering import lines, placed, width
from nandlab.sweeping.shading import is_log, is_narrow, scale_words, shades
from nandlab.sweeping.words import Quantity, axis_titles, labels, quantity

if TYPE_CHECKING:
    import altair

    from nandlab.sweeping import Point, Sweep

WIDTH, HEIGHT = 620, 280
PANEL_WIDTH, PANEL_HEIGHT = 330, 220
MOST_COLOURS = len(charts.COLOURS)
SIZE, LINE = 12, 14
"""Pixels for letters at an axis, and for a line."""
MARGIN = 0.07
"""Room around a front's points, as a share in the picture."""
STEEP, STEEP_BAND = -40, 26
"""Degrees for names too long to stand level, and the least pixels between two names."""


def require_altair() -> None:
    """Says how to install altair, before runs and not after them."""
    charts.require_vl_convert()
    try:
        import altair  # noqa: F401 - only asked whether it is there
    except ImportError as error:
        raise NandlabError(f"a report needs altair: pip install altair ({error})") from None


@dataclass(frozen=True)
class Shown:
    """A point, or the mean over points differing in their seed alone."""

    point: Point
    figures: list[float | None]
    spread: list[float]
    """Half the 95 % interval for each figure; 0 with one seed."""


@dataclass(frozen=True)
class Layout:
    """A place for each varied key."""

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
    def is_grid(self) -> bool:
        """True for two keys with too many values for colours: cells show them, not panels of one line."""
        return self.colour is None and len(self.panels) == 1

    @cached_property
    def names(self) -> dict[str, dict[str, str]]:
        """A label for each value, by key."""
        return {axis.key: names for axis, names in zip(self.found.axes, labels(self.found.axes), strict=True)}

    @cached_property
    def titles(self) -> dict[str, str]:
        """By key its short title."""
        return dict(zip((axis.key for axis in self.found.axes), axis_titles(self.found.axes), strict=True))

    def label(self, point: Point, axis: Axis) -> str:
        """A point's value on an axis, for people."""
        return self.names[axis.key][point.texts[self.found.axes.index(axis)]]

    def name(self, point: Point, axes: Sequence[Axis]) -> str:
        """A point's distinguishing values, in one line."""
        return summary.run_name({self.titles[axis.key]: self.label(point, axis) for axis in axes})

    @cached_property
    def shown(self) -> list[Shown]:
        """The points with a result, all seeds together."""
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


def pictures(found: Sweep) -> dict[str, charts.Drawing]:
    """Every picture as SVG with a page's colours, by name."""
    layout = Layout(found)
    drawn = {}
    for at, goal in enumerate(found.goals):
        if any(each.figures[at] is not None for each in layout.shown):
            drawn[goal.name.replace(".", "-")] = _curves(layout, at, goal)
    if len(found.goals) == 2 and any(None not in each.figures for each in layout.shown):
        wide, narrow = (_pareto(layout, width) for width in (WIDTH, theme.TELEPHONE))
        drawn["pareto"] = charts.svg(wide, narrow=narrow)
    return drawn


def _curves(layout: Layout, at: int, goal: Goal) -> charts.Drawing:
    """A goal over a key, a line for each value in another key, in panels for the others."""
    import altair as alt

    shown = [each for each in layout.shown if each.figures[at] is not None]
    values = [value for each in shown if (value := each.figures[at]) is not None]
    if layout.is_grid:
        return _grid(layout, at, goal, shown)
    unit = quantity(goal.name, values)
    rows = [_row(layout, each, at, unit) for each in shown]
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    many = len(panels) > 1
    wide, high = (PANEL_WIDTH, PANEL_HEIGHT) if many else (WIDTH, HEIGHT)
    x, colour = _x(layout.x, layout, wide), _colour(layout)
    scale = alt.Scale(type="log", nice=False, padding=10) if is_log(values) else alt.Scale(zero=False)
    y = alt.Y("y:Q", title=axis_text(goal.name, unit), scale=scale, axis=alt.Axis(format=",~r", tickCount=6))
    # Rows stand at the top alone: a layer with its own rows would be the same in every panel.
    base = alt.Chart().encode(x=x, y=y, **colour)
    dots = alt.OverlayMarkDef(size=40, filled=True)
    numeric = layout.x.is_numeric()
    marks = [base.mark_line(point=dots) if numeric else base.mark_point(filled=True, size=80, opacity=1)]
    if any(each.spread[at] for each in shown):
        bars = alt.Chart().mark_rule(strokeWidth=1.5)
        marks.append(bars.encode(x=x, y=alt.Y("low:Q", scale=scale), y2="high:Q", color=colour["color"]))
    chart = alt.layer(*marks, data=alt.Data(values=rows)).properties(width=wide, height=high)
    if many:
        header = alt.Header(labelExpr="split(datum.value, '\\n')", labelLimit=PANEL_WIDTH)
        chart = chart.facet(facet=alt.Facet("panel:N", title=None, sort=panels, header=header), columns=2)
    if is_narrow(values) or min(values) == max(values):
        chart = chart.properties(title=_range(goal, values, unit))
    return charts.svg(_spec(chart))


def _range(goal: Goal, values: Sequence[float], unit: Quantity) -> altair.TitleParams:
    """A line above a picture with a goal's range."""
    import altair as alt

    named = axis_text(goal.name, replace(unit, unit=""))
    words = f"{named}: {scale_words(values, unit.text)}"
    return alt.TitleParams(words, fontWeight="normal", fontSize=SIZE, color="var(--soft)")


def _grid(layout: Layout, at: int, goal: Goal, shown: Sequence[Shown]) -> charts.Drawing:
    """A goal as a cell for each pair in two keys' values, deeper if it is more."""
    import altair as alt

    across, down = layout.x, layout.panels[0]
    values = [each.figures[at] or 0.0 for each in shown]
    unit = quantity(goal.name, values)
    rows: list[dict[str, Any]] = [
        {
            "x": layout.label(each.point, across),
            "y": layout.label(each.point, down),
            "depth": 0.05 + 0.7 * shade,
            "words": unit.text(value),
        }
        for each, value, shade in zip(shown, values, shades(values), strict=True)
    ]
    columns, lines_down = (list(layout.names[axis.key].values()) for axis in (across, down))
    # Columns share the room; cells too small for their numbers have none.
    band = min(90.0, max(WIDTH / len(columns), 14.0))
    x = alt.X("x:N", sort=columns, title=x_text(across), axis=_level_or_steep(columns, band))
    y = alt.Y("y:N", sort=lines_down, title=x_text(down))
    depth = alt.Opacity("depth:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[0, 1]))
    cells = alt.Chart().mark_rect(color=charts.COLOURS[0]).encode(x=x, y=y, opacity=depth)
    words = alt.Chart().mark_text(fontSize=11, color="var(--ink)").encode(x=x, y=y, text="words:N")
    fits = max(width(row["words"]) for row in rows) <= band - 4
    chart = alt.layer(*[cells, words][: 1 + fits], data=alt.Data(values=rows))
    size = {"width": alt.Step(band), "height": alt.Step(22)}
    return charts.svg(_spec(chart.properties(title=_range(goal, values, unit), **size)))


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
        "panel": lines(layout.name(shown.point, layout.panels), PANEL_WIDTH, SIZE + 2),
    }


def _level_or_steep(names: Sequence[str], band: float) -> altair.Axis:
    """An axis with names: level if all have room, else steep; with very many, some are left out."""
    import altair as alt

    if max(width(name, SIZE) for name in names) <= band - 6:
        return alt.Axis(labelAngle=0)
    if band >= STEEP_BAND:
        return alt.Axis(labelAngle=STEEP, labelAlign="right", labelBaseline="middle")
    kept = names[:: -(-LINE // max(1, int(band)))]
    return alt.Axis(labelAngle=-90, labelAlign="right", labelBaseline="middle", values=list(kept))


def _x(axis: Axis, layout: Layout, wide: float) -> altair.X:
    import altair as alt

    title = x_text(axis)
    if not axis.is_numeric():
        names = list(layout.names[axis.key].values())
        return alt.X("x:N", title=title, sort=names, axis=_level_or_steep(names, wide / len(names)))
    numbers = sorted({value for value in axis.meant() if not isinstance(value, str)})
    is_log = axis.spacing == "log" or (numbers[0] > 0 and numbers[-1] >= 20 * numbers[0])
    scale = (
        alt.Scale(type="log", nice=False, padding=12)
        if is_log
        else alt.Scale(zero=False, nice=False, padding=12)
    )
    ticks = numbers[:: -(-len(numbers) // 9)]
    ticked = {
        str(value): text for value, text in zip(axis.meant(), layout.names[axis.key].values(), strict=True)
    }
    # The ticks are the values run, with the table's labels.
    chosen = " : ".join(f"datum.value == {tick!r} ? {ticked[str(tick)]!r}" for tick in ticks)
    return alt.X(
        "x:Q",
        title=title,
        scale=scale,
        axis=alt.Axis(values=ticks, labelExpr=f"{chosen} : ''", labelOverlap="greedy"),
    )


def _colour(layout: Layout, curves: bool = True) -> dict[str, Any]:
    """Channels to tell the second key's values apart."""
    import altair as alt

    if layout.colour is None:
        return {"color": alt.value(charts.COLOURS[0])}
    names = list(layout.names[layout.colour.key].values())
    title = layout.titles[layout.colour.key]
    dashes = [charts.DASHES[at % len(charts.DASHES)] for at in range(len(names))]
    curves = curves and layout.x.is_numeric()
    # As many beside each other as the picture is wide.
    columns = max(1, int(WIDTH / (max(width(name, SIZE) for name in names) + 50)))
    legend = (
        alt.Legend(symbolType="stroke", symbolSize=900, columns=columns)
        if curves
        else alt.Legend(columns=columns)
    )
    colours = alt.Scale(domain=names, range=charts.COLOURS[: len(names)])
    channels: dict[str, Any] = {
        "color": alt.Color("colour:N", title=title, sort=names, scale=colours, legend=legend)
    }
    # Lines and points differ in more than their colour.
    if curves:
        dashed = alt.Scale(domain=names, range=dashes)
        channels["strokeDash"] = alt.StrokeDash(
            "colour:N", title=title, sort=names, scale=dashed, legend=legend
        )
    else:
        channels["shape"] = alt.Shape("colour:N", title=title, sort=names, scale=alt.Scale(domain=names))
    return channels


def _pareto(layout: Layout, wide: int) -> charts.Spec:
    """Both goals for every point; unbeaten points are joined and named."""
    import altair as alt

    goals = layout.found.goals
    units = [_unit(layout, at) for at in (0, 1)]
    rows = _both(layout, units)
    best = sorted((row for row in rows if row["front"]), key=lambda row: (row["x"], row["y"]))
    reaches = {field: Reach.of([row[field] for row in rows]) for field in "xy"}
    x, y = (
        channel(
            f"{field}:Q",
            title=axis_text(goal.name, unit),
            scale=reaches[field].scale(),
            axis=alt.Axis(format=",~r", tickCount=6),
        )
        for channel, field, goal, unit in zip((alt.X, alt.Y), "xy", goals, units, strict=True)
    )
    # The corner between two front points is beaten by either, for small and for large goals.
    corner: Any = "step-before" if goals[0].maximise else "step-after"
    line = alt.Chart(alt.Data(values=best)).mark_line(
        color="var(--soft)", strokeDash=[5, 4], strokeWidth=1.2, interpolate=corner
    )
    points = alt.Chart(alt.Data(values=sorted(rows, key=lambda row: row["front"])))
    dots = points.mark_point(filled=True, opacity=1).encode(
        x=x,
        y=y,
        color=_colour(layout, curves=False)["color"],
        size=alt.condition("datum.front", alt.value(110), alt.value(35)),
        shape=alt.condition("datum.front", alt.value("diamond"), alt.value("circle")),
    )
    size = (wide, HEIGHT + 60)
    if layout.colour is not None and layout.colour.is_given():
        line = line.encode(color=_colour(layout, curves=False)["color"])
    named = _names(_named(best, rows, reaches, size), x, y)
    chart = alt.layer(line.encode(x=x, y=y, detail="group:N"), dots, *named)
    return _spec(chart.properties(width=size[0], height=size[1]))


def _names(named: Sequence[dict[str, Any]], x: Any, y: Any) -> list[altair.Chart]:  # noqa: ANN401 - channels
    """The names of a front's points, a layer for each side at which they begin."""
    import altair as alt

    found = []
    for align in dict.fromkeys(row["align"] for row in named):
        rows = [row for row in named if row["align"] == align]
        text = alt.Chart(alt.Data(values=rows)).mark_text(
            align=align,
            baseline="alphabetic",
            color="var(--ink)",
            fontSize=LETTERS,
            stroke=theme.HALO,
            strokeWidth=3,
        )
        found.append(text.encode(text="name:N", x=x, y=y))
    return found


@dataclass(frozen=True)
class Reach:
    """An axis's ends, with room beyond the values."""

    low: float
    high: float
    is_log: bool

    @classmethod
    def of(cls, values: Sequence[float]) -> Reach:
        """The values' reach."""
        low, high = min(values), max(values)
        if is_log(values):
            room = (high / low) ** MARGIN
            return cls(low / room, high * room, True)
        room = MARGIN * (high - low) or abs(high) / 20 or 1.0
        return cls(low - room, high + room, False)

    def share(self, value: float) -> float:
        """A value's place, 0 to 1."""
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def value(self, share: float) -> float:
        """The value at a place, 0 to 1."""
        if self.is_log:
            return self.low * (self.high / self.low) ** share
        return self.low + share * (self.high - self.low)

    def scale(self) -> altair.Scale:
        """Its axis's scale."""
        import altair as alt

        kind: dict[str, Any] = {"type": "log"} if self.is_log else {"zero": False}
        return alt.Scale(**kind, domain=[self.low, self.high], nice=False)


def _named(
    best: Sequence[dict[str, Any]],
    rows: Sequence[dict[str, Any]],
    reaches: dict[str, Reach],
    size: tuple[float, float],
) -> list[dict[str, Any]]:
    """A front's names with their places as values on the axes; a name without room is left out."""

    def pixels(row: dict[str, Any]) -> tuple[float, float]:
        across, up = (reaches[field].share(row[field]) for field in "xy")
        return across * size[0], (1 - up) * size[1]

    names = [(row["name"], *pixels(row)) for row in best]
    found = placed(names, [pixels(row) for row in rows], size)
    return [
        {
            "name": each.name,
            "align": each.align,
            "x": reaches["x"].value(each.edge / size[0]),
            "y": reaches["y"].value(1 - each.y / size[1]),
        }
        for each in found
    ]


def _unit(layout: Layout, at: int) -> Quantity:
    """How a goal is shown."""
    values = [value for each in layout.shown if (value := each.figures[at]) is not None]
    return quantity(layout.found.goals[at].name, values)


def _both(layout: Layout, units: Sequence[Quantity]) -> list[dict[str, Any]]:
    """Every point with both goals, and whether it is on the front."""
    shown = [each for each in layout.shown if None not in each.figures]
    given = [axis for axis in layout.axes if axis.is_given()]
    groups = [layout.name(each.point, given) for each in shown]
    on_front = fronts([each.figures for each in shown], layout.found.goals, groups)
    rows = []
    for each, best, group in zip(shown, on_front, groups, strict=True):
        x, y = ((value or 0.0) / unit.divisor for value, unit in zip(each.figures, units, strict=True))
        colour = layout.label(each.point, layout.colour) if layout.colour else ""
        # Fronts for several workloads have their colours, or speak for themselves.
        chosen = [axis for axis in layout.axes if not axis.is_given()] or layout.axes
        name = layout.name(each.point, chosen)
        rows.append({"x": x, "y": y, "name": name, "front": best, "colour": colour, "group": group})
    return rows


def _spec(chart: Any) -> dict[str, Any]:  # noqa: ANN401 - a chart of altair
    """The specification, without altair's rules for files written by hand."""
    import altair as alt

    with alt.data_transformers.enable(consolidate_datasets=False, max_rows=None):
        spec: dict[str, Any] = chart.to_dict()
    return spec


def x_text(axis: Axis) -> str:
    """The horizontal axis's title; sizes and shares have their units at the ticks."""
    if axis.key.endswith("over_provisioning"):
        return "over-provisioning (physical / logical size - 1)"
    return axis.key


def axis_text(name: str, unit: Quantity) -> str:
    """A figure's axis title, with its unit in the picture.

    >>> axis_text("latency_us.write.p99", quantity("latency_us.write.p99", [2000.0]))
    'latency write p99 (ms)'
    """
    words = re.sub(r"_(us|j|bytes|per_s)(?=\.|$)", "", name)
    said = "write amplification" if name == "waf" else summary.plain(words.replace(".", " "))
    return f"{said} ({unit.unit})" if unit.unit else said
