"""Charts of claims as SVG text: specifications of Vega-Lite. Every axis with a quantity names its unit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nandlab.report.theme import COLOURS, DASHES, Spec, require_vl_convert, standalone, svg

__all__ = ["COLOURS", "DASHES", "Axes", "Rows", "Spec", "curves", "require_vl_convert", "standalone", "svg"]

Rows = Sequence[dict[str, Any]]

SHAPES = ("circle", "square", "triangle-up", "cross", "diamond", "triangle-down", "triangle-right")
"""Points of lines that lie on one another; no divisor in common with the dashes."""

MOST_SHAPES = 24
"""Points of a line that can be told apart by their shapes."""


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
class Axes:
    """Titles of two axes with units, whether they are logarithmic, and whether x is bytes, shown as KiB.

    `own`: each panel has a vertical axis of its own.
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
    marked: Mapping[str, float] | None = None,
) -> str:
    """Lines with points, in panels side by side that share the vertical axis.

    Where lines lie on one another, each has a pattern and points of its own, so that both are seen.

    Args:
        rows: `panel`, `colour`, `x` and `y`; where x is no key, `order`, in which a line joins its points.
        colours: The lines of a panel.
        panels: In order.
        axes: What is drawn over what.
        marked: Values of y that a dashed line marks in every panel, by what they are called.

    """
    is_measured = any("order" in row for row in rows)
    scale = {"type": "log", "nice": False} if axes.x_log else {"zero": False}
    x_axis: Spec = {"format": ",~r", "labelOverlap": "greedy", **_ticks(rows, is_measured, axes.x_log)}
    if axes.x_is_size:
        x_axis["labelExpr"] = "format(datum.value / 1024, ',.0f')"
    y_scale = {"type": "log"} if axes.y_log else {"zero": True}
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
    layers += _marks(marked or {}, y_scale)
    size: Spec = {"width": 250, "height": 200}
    spec: Spec = {**size, **layers[0]} if len(layers) == 1 else {**size, "layer": layers}
    facet = {"field": "panel", "type": "nominal", "sort": list(panels), "title": None}
    own: Spec = {"resolve": {"scale": {"y": "independent"}}} if axes.own else {}
    return svg({**_data(rows), "facet": facet, "columns": 3, "spec": spec, "spacing": 16, **own}, colours)


def coincide(rows: Rows, axes: Axes) -> bool:
    """Whether two lines of a panel lie on one another.

    That is where two points of one, or its only one, lie on points of the other; lines of very many points
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
    """Where values lie on an axis, in hundredths of it."""
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
    """Ticks at some of the points; where these are wherever they were measured, at round numbers."""
    ticks = sorted({row["x"] for row in rows})
    if not is_measured:
        return {"values": ticks[:: max(1, len(ticks) // 4)]}
    if not is_log or ticks[0] <= 0:
        return {"tickCount": 5}
    # Powers of ten over two decades and more, else of two.
    base = 10 if ticks[-1] >= 100 * ticks[0] else 2
    first = math.ceil(math.log(ticks[0], base) - 1e-9)
    return {"values": [base**at for at in range(first, 64) if base**at <= ticks[-1]]}


def _marks(marked: Mapping[str, float], scale: Spec) -> list[Spec]:
    """Dashed lines from side to side, each with its name above."""
    data = _data([{"marked": value, "name": name} for name, value in marked.items()])
    y = {"field": "marked", "type": "quantitative", "scale": scale}
    rule = {"type": "rule", "strokeDash": [5, 4], "color": "var(--ink)", "strokeWidth": 1}
    text = {"type": "text", "align": "right", "dx": -3, "dy": -6}
    return [
        {**data, "mark": rule, "encoding": {"y": y}},
        {**data, "mark": text, "encoding": {"y": y, "x": {"value": "width"}, "text": {"field": "name"}}},
    ]
