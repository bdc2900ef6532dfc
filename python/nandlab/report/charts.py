"""Charts of claims as SVG text, drawn by Vega-Lite. Every axis with a quantity names its unit."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nandlab.report.theme import COLOURS, DASHES, HALO, Drawing, Spec, require_vl_convert, standalone, svg

__all__ = [
    "COLOURS",
    "DASHES",
    "Axes",
    "Drawing",
    "Mark",
    "Rows",
    "Spec",
    "curves",
    "require_vl_convert",
    "standalone",
    "svg",
]

Rows = Sequence[dict[str, Any]]

SHAPES = ("circle", "square", "triangle-up", "cross", "diamond", "triangle-down", "triangle-right")
"""Point shapes for overlapping lines; their count has no divisor in common with the dashes'."""

COLUMNS = 3
"""Most panels in a row."""

MARGIN = 10
"""Pixels between measured points and the panel's sides: a point is no smaller."""

WIDTHS = {1: 540, 2: 390}
"""Panel widths in pixels, by panel count; three or more stand in rows of three."""

LANE = 13
"""Pixels between the names of vertical lines."""

MOST_SHAPES = 24
"""Most points in a line whose shapes can be told apart."""


def _data(rows: Rows) -> Spec:
    return {"data": {"values": list(rows)}}


def _colour(field: str, title: str | None, order: Sequence[str]) -> Spec:
    return {
        "field": field,
        "type": "nominal",
        "title": title,
        "scale": {"domain": list(order)},
        "sort": list(order),
    }


@dataclass(frozen=True)
class Mark:
    """A value beside measured ones: a dashed line at y or at x, with both a point."""

    name: str
    x: float | None = None
    y: float | None = None
    panels: Sequence[str] = ()
    """Titles of panels with the mark; empty for all."""


@dataclass(frozen=True)
class Axes:
    """Titles for two axes with units, whether they are logarithmic, and whether x is bytes, shown as KiB.

    `own`: each panel has its own vertical axis.
    """

    x: str
    y: str
    x_log: bool
    y_log: bool
    x_is_size: bool
    own: bool = False


def curves(
    rows: Rows,
    colours: Sequence[str],
    panels: Sequence[str],
    axes: Axes,
    marks: Sequence[Mark] = (),
) -> Drawing:
    """Lines with points, in panels side by side with one vertical axis.

    Overlapping lines each have their own pattern and points, so that both are seen.

    Args:
        rows: `panel`, `colour`, `x` and `y`; if x is no key, also `order`, the sequence of a line's points.
        colours: Lines in a panel.
        panels: In order.
        axes: The quantities to draw.
        marks: Values beside measured ones, such as published ones.

    """
    is_measured = any("order" in row for row in rows)
    scale: Spec = {"type": "log", "nice": False} if axes.x_log else {"zero": False}
    if is_measured:
        scale["padding"] = MARGIN
    x_axis: Spec = {"format": ",~f", "labelOverlap": "greedy", "labelFlush": False}
    x_axis |= _ticks(rows, is_measured, axes.x_log)
    if axes.x_is_size:
        x_axis["labelExpr"] = "format(datum.value / 1024, ',.0f')"
    y_scale = _log_scale(rows, marks, axes.own) if axes.y_log else {"zero": True}
    y_axis = {"format": ",~r", "tickCount": 5}
    encoding: Spec = {
        "x": {"field": "x", "type": "quantitative", "title": axes.x, "scale": scale, "axis": x_axis},
        "y": {"field": "y", "type": "quantitative", "title": axes.y, "scale": y_scale, "axis": y_axis},
        "color": _colour("colour", None, colours),
        **({"order": {"field": "order", "type": "quantitative"}} if is_measured else {}),
    }
    if coincide(rows, axes):
        layers = _patterns(encoding, colours)
    else:
        mark = {"type": "line", "point": {"size": 44 if is_measured else 22}}
        layers = [{"mark": mark, "encoding": encoding}]
    if any(row.get("front") for row in rows):
        layers.append(_front(encoding))
    ends = [end(row["x"] for row in rows) for end in (min, max)]
    named = _drawn(marks, panels, statistics.fmean(ends))
    lanes = max((row["lane"] + 1 for row in named if row["mark"] == "along"), default=0)
    if marks:
        # A panel's rows are line points and marks.
        for layer in layers:
            layer["transform"] = [*layer.get("transform", []), {"filter": "!isValid(datum.mark)"}]
        layers += _marks(encoding, lanes)
    size: Spec = {"width": WIDTHS.get(len(panels), 250), "height": 200}
    spec: Spec = {**size, **layers[0]} if len(layers) == 1 else {**size, "layer": layers}
    facet: Spec = {"field": "panel", "type": "nominal", "sort": list(panels), "title": None}
    drawn = [*rows, *named]
    resolve = _resolved(len(panels), axes.own)
    return svg(
        {**_data(drawn), "facet": facet, "columns": COLUMNS, "spec": spec, "spacing": 30, **resolve}, colours
    )


def _log_scale(rows: Rows, marks: Sequence[Mark], own: bool) -> Spec:
    """A logarithmic scale of y from 1, 2 or 5 times a power of ten to such a number.

    From power to power of ten the lines could lie in a small part of the panel. Panels with axes of their own
    end a little beyond their own values.
    """
    values = [*(row["y"] for row in rows), *(mark.y for mark in marks if mark.y is not None)]
    if own:
        return {"type": "log", "nice": False, "padding": MARGIN}
    if min(values) <= 0:
        return {"type": "log"}
    steps = [step * 10.0**power for power in range(-12, 16) for step in (1, 2, 5)]
    low = max(step for step in steps if step <= min(values) * (1 + 1e-9))
    high = min(step for step in steps if step >= max(values) * (1 - 1e-9) and step > low)
    return {"type": "log", "domain": [low, high]}


def _resolved(panels: int, own: bool) -> Spec:
    """Axes that panels do not share.

    Panels below one another share an axis of x at the lowest place of each column. If the last row is not
    full, such an axis would stand under nothing: each panel then has one.
    """
    found: Spec = {"scale": {"y": "independent"}} if own else {}
    if panels > COLUMNS and panels % COLUMNS:
        found["axis"] = {"x": "independent"}
    return {"resolve": found} if found else {}


def coincide(rows: Rows, axes: Axes) -> bool:
    """Whether two lines in a panel lie on one another.

    Two points on one line, or its only point, must lie on points in the other; lines with very many points
    have no room for shapes.
    """
    places = [_places([row[key] for row in rows], log) for key, log in (("x", axes.x_log), ("y", axes.y_log))]
    lines: dict[tuple[str, str], set[tuple[int, int]]] = {}
    for row, x, y in zip(rows, *places, strict=True):
        lines.setdefault((row["panel"], row["colour"]), set()).add((x, y))
    if any(len(line) > MOST_SHAPES for line in lines.values()):
        return False
    return any(
        one != other and one[0] == other[0] and len(lines[one] & lines[other]) >= min(2, len(lines[one]))
        for one in lines
        for other in lines
    )


def _places(values: Sequence[float], log: bool) -> list[int]:
    """Places on an axis, in hundredths."""
    if log and min(values, default=1) <= 0:
        return list(range(len(values)))
    found = [math.log(value) if log else value for value in values]
    least, width = min(found, default=0), max(found, default=0) - min(found, default=0)
    return [round(100 * (value - least) / width) if width else 0 for value in found]


def _patterns(encoding: Spec, colours: Sequence[str]) -> list[Spec]:
    """Lines with a pattern for each colour, and points with a shape for each."""
    ranges = [[each[at % len(each)] for at in range(len(colours))] for each in (DASHES, SHAPES)]
    dash, shape = (
        {**_colour("colour", None, colours), "scale": {"domain": list(colours), "range": each}}
        for each in ranges
    )
    point = {"type": "point", "size": 60, "strokeWidth": 1.6, "opacity": 1}
    return [
        {"mark": "line", "encoding": {**encoding, "strokeDash": dash}},
        {"mark": point, "encoding": {**encoding, "shape": shape}},
    ]


def _ticks(rows: Rows, is_measured: bool, is_log: bool) -> Spec:
    """Ticks at some points; for measured x values, at round numbers."""
    ticks = sorted({row["x"] for row in rows})
    if not is_measured:
        return {"values": ticks[:: max(1, len(ticks) // 4)]}
    if not is_log or ticks[0] <= 0:
        return {"tickCount": 5}
    # Powers of ten over two decades and more, else of two.
    base = 10 if ticks[-1] >= 100 * ticks[0] else 2
    first = math.ceil(math.log(ticks[0], base) - 1e-9)
    return {"values": [base**at for at in range(first, 64) if base**at <= ticks[-1]]}


def _front(encoding: Spec) -> Spec:
    """A dashed line through the points marked `front`."""
    line = {"type": "line", "strokeDash": [5, 4], "strokeWidth": 1, "color": "var(--ink)"}
    along = {axis: encoding[axis] for axis in ("x", "y")}
    order = {"field": "x", "type": "quantitative"}
    return {"transform": [{"filter": "datum.front"}], "mark": line, "encoding": {**along, "order": order}}


def _drawn(marks: Sequence[Mark], panels: Sequence[str], middle: float) -> Rows:
    """Each mark in each panel.

    Names at vertical lines stand above the panel in lanes, on their side of x's `middle`.
    """
    rows: list[dict[str, Any]] = []
    for mark in marks:
        kind = "point" if None not in (mark.x, mark.y) else "across" if mark.x is None else "along"
        place = {"at_x": mark.x, "at_y": mark.y, "mark": kind, "name": mark.name}
        for panel in panels:
            if panel in (mark.panels or panels):
                before = [row for row in rows if (row["panel"], row["mark"]) == (panel, kind)]
                side = "left" if mark.x is not None and mark.x < middle else "right"
                rows.append({**place, "panel": panel, "lane": len(before), "side": side})
    return rows


def _marks(encoding: Spec, lanes: int) -> list[Spec]:
    """Dashed lines from side to side and from top to bottom, and points, each with its name."""
    x, y = (
        {"field": f"at_{axis}", "type": "quantitative", "scale": encoding[axis]["scale"]}
        for axis in ("x", "y")
    )
    rule: Spec = {"type": "rule", "strokeDash": [5, 4], "color": "var(--ink)", "strokeWidth": 1}
    point: Spec = {"type": "point", "shape": "diamond", "size": 90, "color": "var(--ink)", "opacity": 1}
    over: Spec = {"type": "text", "stroke": HALO, "strokeWidth": 3}
    words: Spec = {**over, "align": "right", "dx": -3, "dy": -6}
    name = {"text": {"field": "name"}}
    kinds: dict[str, list[tuple[Spec, Spec]]] = {
        "datum.mark === 'across'": [(rule, {"y": y}), (words, {"y": y, "x": {"value": "width"}, **name})],
        "datum.mark === 'along'": [(rule, {"x": x})],
        "datum.mark === 'point'": [(point, {"x": x, "y": y})],
    }
    for side, dx in (("left", 9), ("right", -9)):
        beside = {**over, "align": side, "dx": dx}
        which = f"datum.mark === 'point' && datum.side === '{side}'"
        kinds[which] = [(beside, {"x": x, "y": y, **name})]
    for lane in range(lanes):
        for side, dx in (("left", 3), ("right", -3)):
            which = f"datum.mark === 'along' && datum.lane === {lane} && datum.side === '{side}'"
            there = {**words, "align": side, "dx": dx, "dy": -LANE * lane}
            kinds[which] = [(there, {"x": x, "y": {"value": -7}, **name})]
    return [
        {"transform": [{"filter": which}], "mark": mark, "encoding": channels}
        for which, layers in kinds.items()
        for mark, channels in layers
    ]
