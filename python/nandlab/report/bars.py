"""Bars side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nandlab.report import theme

WIDTH = 560
PATTERNS = ([6, 4], [2, 3], [9, 3, 2, 3])
"""Of dashed lines."""


def grouped_bars(
    rows: Sequence[dict[str, Any]],
    groups: Sequence[str],
    colours: Sequence[str],
    title: str,
    marks: Sequence[tuple[str, float]] = (),
) -> theme.Drawing:
    """Bars in groups, as SVG.

    Args:
        rows: `group`, `colour`, `value`, and `is_published` for a diamond on the bar.
        groups: From left to right.
        colours: A group's colours, from left to right.
        title: The measured quantity.
        marks: Names and values for dashed lines over all groups.

    """
    x: dict[str, Any] = {
        "field": "group",
        "type": "nominal",
        "sort": list(groups),
        "title": None,
        "axis": {"labelAngle": 0},
    }
    beside = {"field": "colour", "type": "nominal", "sort": list(colours)}
    colour = {**beside, "title": None, "scale": {"domain": list(colours)}}
    y: dict[str, Any] = {"type": "quantitative", "title": title}
    places = {"x": x, "xOffset": beside, "y": {**y, "field": "value"}}
    measured = [row for row in rows if not row.get("is_published")]
    published = [row for row in rows if row.get("is_published")]
    chart: dict[str, Any] = {
        "width": WIDTH,
        "height": 240,
        "layer": [
            {"data": {"values": measured}, "mark": "bar", "encoding": {**places, "color": colour}},
            *([_diamonds(published, places)] if published else []),
            *([_lines(marks, y)] if marks else []),
        ],
    }
    return theme.svg(chart, [*groups, *colours])


def _diamonds(rows: Sequence[dict[str, Any]], places: dict[str, Any]) -> dict[str, Any]:
    values = [{key: value for key, value in row.items() if key != "is_published"} for row in rows]
    return {"data": {"values": values}, **diamonds(places)}


def diamonds(places: dict[str, Any]) -> dict[str, Any]:
    """A layer with published values at `places`, and the legend that says so."""
    mark = {
        "type": "point",
        "filled": True,
        "size": 110,
        "color": "var(--ink)",
        "stroke": theme.HALO,
        "strokeWidth": 1.5,
        "opacity": 1,
    }
    name = {
        "datum": "published",
        "type": "nominal",
        "scale": {"domain": ["published"], "range": ["diamond"]},
        "legend": {"title": None, "symbolFillColor": "var(--ink)", "symbolStrokeColor": "var(--ink)"},
    }
    return {"mark": mark, "encoding": {**places, "shape": name}}


def _lines(marks: Sequence[tuple[str, float]], y: dict[str, Any]) -> dict[str, Any]:
    """Dashed lines over all groups, named in a legend: bars leave no room for words."""
    names = [name for name, _ in marks]
    dashes = [PATTERNS[at % len(PATTERNS)] for at in range(len(marks))]
    legend = {
        "orient": "bottom",
        "symbolType": "stroke",
        "symbolSize": 500,
        "symbolStrokeColor": "var(--ink)",
    }
    name = {
        "field": "name",
        "type": "nominal",
        "title": None,
        "sort": names,
        "scale": {"domain": names, "range": dashes},
        "legend": legend,
    }
    data = {"values": [{"name": name, "at": value} for name, value in marks]}
    mark = {"type": "rule", "color": "var(--ink)", "strokeWidth": 1.5}
    return {"data": data, "mark": mark, "encoding": {"y": {**y, "field": "at"}, "strokeDash": name}}
