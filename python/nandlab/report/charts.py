"""Charts of claims as SVG text: specifications of Vega-Lite. Every axis with a quantity names its unit."""

from __future__ import annotations

from collections.abc import Sequence
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


def curves(rows: Rows, colours: Sequence[str], panels: Sequence[str], axes: Axes) -> str:
    """Lines with points, in panels side by side that share the vertical axis.

    Args:
        rows: `panel`, `colour`, `x` and `y`.
        colours: The lines of a panel.
        panels: In order.
        axes: What is drawn over what.

    """
    ticks = sorted({row["x"] for row in rows})
    scale = {"type": "log", "nice": False} if axes.x_log else {"zero": False}
    x_axis: Spec = {"values": ticks[:: max(1, len(ticks) // 4)], "format": ",~r", "labelOverlap": "greedy"}
    if axes.x_is_size:
        x_axis["labelExpr"] = "format(datum.value / 1024, ',.0f')"
    y_scale = {"type": "log"} if axes.y_log else {"zero": True}
    lines: Spec = {
        "width": 250,
        "height": 200,
        "mark": {"type": "line", "point": {"size": 22}},
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "title": axes.x, "scale": scale, "axis": x_axis},
            "y": {
                "field": "y",
                "type": "quantitative",
                "title": axes.y,
                "scale": y_scale,
                "axis": {"format": ",~r", "tickCount": 5},
            },
            "color": _colour("colour", None, colours),
        },
    }
    facet = {"field": "panel", "type": "nominal", "sort": list(panels), "title": None}
    own: Spec = {"resolve": {"scale": {"y": "independent"}}} if axes.own else {}
    return svg({**_data(rows), "facet": facet, "columns": 3, "spec": lines, "spacing": 16, **own}, colours)
