"""Bars side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nandlab.report import theme

WIDTH = 560


def grouped_bars(
    rows: Sequence[dict[str, Any]], groups: Sequence[str], colours: Sequence[str], title: str
) -> str:
    """Bars in groups, as SVG.

    Args:
        rows: `group`, `colour`, `value`.
        groups: From left to right.
        colours: Those of a group, from left to right.
        title: What a bar measures.

    """
    colour = {"field": "colour", "type": "nominal", "title": None, "sort": list(colours)}
    chart: dict[str, Any] = {
        "data": {"values": list(rows)},
        "width": WIDTH,
        "height": 240,
        "mark": {"type": "bar"},
        "encoding": {
            "x": {
                "field": "group",
                "type": "nominal",
                "sort": list(groups),
                "title": None,
                "axis": {"labelAngle": 0},
            },
            "xOffset": {"field": "colour", "type": "nominal", "sort": list(colours)},
            "y": {"field": "value", "type": "quantitative", "title": title},
            "color": {**colour, "scale": {"domain": list(colours)}},
        },
    }
    return theme.svg(chart, [*groups, *colours])
