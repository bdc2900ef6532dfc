"""Charts of claims as SVG text: specifications of Vega-Lite. Every axis with a quantity names its unit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nandlab.report.theme import COLOURS, DASHES, Spec, require_vl_convert, standalone, svg

__all__ = ["COLOURS", "DASHES", "Axes", "Rows", "Spec", "curves", "require_vl_convert", "standalone", "svg"]

Rows = Sequence[dict[str, Any]]


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
    lines: Spec = {
        "mark": {"type": "line", "point": {"size": 44 if is_measured else 22}},
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "title": axes.x, "scale": scale, "axis": x_axis},
            "y": {"field": "y", "type": "quantitative", "title": axes.y, "scale": y_scale, "axis": y_axis},
            "color": _colour("colour", None, colours),
            **({"order": {"field": "order", "type": "quantitative"}} if is_measured else {}),
        },
    }
    size: Spec = {"width": 250, "height": 200}
    spec: Spec = {**size, **lines} if not marked else {**size, "layer": [lines, *_marks(marked, y_scale)]}
    facet = {"field": "panel", "type": "nominal", "sort": list(panels), "title": None}
    own: Spec = {"resolve": {"scale": {"y": "independent"}}} if axes.own else {}
    return svg({**_data(rows), "facet": facet, "columns": 3, "spec": spec, "spacing": 16, **own}, colours)


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
