"""Bars side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nandlab.report import theme

WIDTH = 560


PALE = 0.22
"""Fill for a published bar; its outline has the measured one's colour."""


def grouped_bars(
    rows: Sequence[dict[str, Any]],
    groups: Sequence[str],
    colours: Sequence[str],
    title: str,
    marks: Sequence[tuple[str, float]] = (),
) -> theme.Drawing:
    """Bars in groups, as SVG.

    Args:
        rows: `group`, `colour`, `value`, and `is_published` for a pale bar.
        groups: From left to right.
        colours: A group's colours, from left to right; a published bar comes after the measured one.
        title: The measured quantity.
        marks: Names and values for dashed lines over all groups.

    """
    slots = [f"{colour}{end}" for colour in colours for end in ("", PUBLISHED)]
    drawn = [_bar(row) for row in rows]
    used = {row["slot"] for row in drawn}
    colour = {"field": "colour", "type": "nominal", "title": None, "sort": list(colours)}
    y: dict[str, Any] = {"type": "quantitative", "title": title}
    bars: dict[str, Any] = {
        "mark": {"type": "bar", "strokeWidth": 1.2},
        "encoding": {
            "x": {
                "field": "group",
                "type": "nominal",
                "sort": list(groups),
                "title": None,
                "axis": {"labelAngle": 0},
            },
            "xOffset": {
                "field": "slot",
                "type": "nominal",
                "sort": [slot for slot in slots if slot in used],
            },
            "y": {**y, "field": "value"},
            "color": {**colour, "scale": {"domain": list(colours)}},
            "stroke": {**colour, "scale": {"domain": list(colours)}},
            "fillOpacity": _fill(any(row["fill"] == KINDS[1] for row in drawn)),
        },
    }
    chart: dict[str, Any] = {
        "data": {"values": drawn},
        "width": WIDTH,
        "height": 240,
        "layer": [bars, *(_lines(marks, y) if marks else [])],
    }
    return theme.svg(chart, [*groups, *colours])


def _fill(has_published: bool) -> dict[str, Any]:
    """Full bars and pale ones, and a legend if there are both."""
    scale = {"domain": list(KINDS), "range": [1, PALE]}
    legend = {"symbolType": "square", "symbolFillColor": "var(--ink)", "symbolStrokeColor": "var(--ink)"}
    return {
        "field": "fill",
        "type": "nominal",
        "title": None,
        "scale": scale,
        "legend": legend if has_published else None,
    }


KINDS = ("measured", "published")
PUBLISHED = ", published"


def _bar(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its place in the group and its kind."""
    is_published = bool(row.get("is_published"))
    slot = f"{row['colour']}{PUBLISHED if is_published else ''}"
    kept = {key: value for key, value in row.items() if key != "is_published"}
    return {**kept, "slot": slot, "fill": KINDS[is_published]}


def _lines(marks: Sequence[tuple[str, float]], y: dict[str, Any]) -> list[dict[str, Any]]:
    data = {"values": [{"name": name, "at": value} for name, value in marks]}
    at = {**y, "field": "at"}
    rule = {"type": "rule", "strokeDash": [5, 4], "color": "var(--ink)"}
    text = {"type": "text", "align": "right", "dx": -3, "dy": -6, "stroke": theme.HALO, "strokeWidth": 3}
    words = {"y": at, "x": {"value": "width"}, "text": {"field": "name"}}
    return [
        {"data": data, "mark": rule, "encoding": {"y": at}},
        {"data": data, "mark": text, "encoding": words},
    ]
