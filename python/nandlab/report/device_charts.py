"""Charts of a file system's work on flash: block by block, and designs side by side."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from nandlab.report.bars import diamonds
from nandlab.report.charts import COLOURS, Drawing, Rows, Spec, svg

GREY = "#8a9099"
FREE, INVALID = "free", "invalid"
"""Page states outside the host."""
LOG_AXIS = {
    "format": ",~s",
    "grid": False,
    "labelExpr": "indexof([1, 2, 5], round(datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9)))) < 0"
    " ? '' : datum.value < 1 ? format(datum.value, '~r') : datum.label",
    "labelOverlap": "greedy",
    "labelSeparation": 8,
}
"""A logarithmic axis short enough for a panel."""
STEP = 22
"""A bar's height with its gap."""


def block_map(rows: Rows, columns: Sequence[str], lines: Sequence[str], y_title: str) -> Drawing:
    """A number for each block over its address, in panels beside and below one another.

    Args:
        rows: `column`, `row`, `x` and `y`.
        columns: From left to right.
        lines: From top to bottom.
        y_title: The number's title.

    """
    named = [{"panel": f"{row['column']}, {row['row']}", "x": row["x"], "y": row["y"]} for row in rows]
    order = [f"{column}, {line}" for line in lines for column in columns]
    panel: Spec = {
        "width": 400,
        "height": 60,
        "mark": {"type": "area", "interpolate": "step", "color": COLOURS[0]},
        "encoding": {
            "x": {
                "field": "x",
                "type": "quantitative",
                "title": "block",
                "scale": {"nice": False},
                "axis": {"format": ",.0f", "tickCount": 5, "grid": False},
            },
            "y": {
                "field": "y",
                "type": "quantitative",
                "title": y_title,
                "axis": {"tickMinStep": 1, "tickCount": 3, "format": ",.0f"},
            },
        },
    }
    facet = {"field": "panel", "type": "nominal", "sort": order, "title": None}
    chart: Spec = {
        "facet": facet,
        "columns": len(columns),
        "spec": panel,
        "spacing": {"row": 4, "column": 30},
    }
    drawn = svg({"data": {"values": named}, **chart})
    return _rounded(drawn)


def _rounded(drawn: Drawing) -> Drawing:
    """With thousands of marks, a tenth of a pixel is enough."""
    return Drawing.of(re.sub(r"(\d\.\d)\d+", r"\1", drawn), drawn.wide)


def pages(cells: Rows) -> Drawing:
    """Every page in some blocks, before and after something.

    Args:
        cells: `block`, `when`, `column`, `row` and `state`, in display order.

    """
    states = colours_of(list(cells), "state")
    known = {FREE: "transparent", INVALID: "#c9cdd3"}
    rest = iter(COLOURS)
    shades = [known.get(state) or next(rest) for state in states]
    legend = {"orient": "bottom", "symbolType": "square", "symbolStrokeColor": GREY}
    panel: Spec = {
        "width": 208,
        "height": 104,
        "mark": {"type": "rect", "stroke": GREY, "strokeWidth": 0.5},
        "encoding": {
            "x": {"field": "column", "type": "ordinal", "axis": None},
            "y": {"field": "row", "type": "ordinal", "axis": None},
            "color": {
                "field": "state",
                "type": "nominal",
                "title": None,
                "scale": {"domain": states, "range": shades},
                "legend": legend,
            },
        },
    }
    order = {name: list(dict.fromkeys(cell[name] for cell in cells)) for name in ("when", "block")}
    facet = {
        "row": {"field": "when", "sort": order["when"], "title": None},
        "column": {"field": "block", "sort": order["block"], "title": None},
    }
    return svg({"data": {"values": list(cells)}, "facet": facet, "spec": panel})


def writes(points: Rows) -> Drawing:
    """The address of each written page, one after the other: `x`, `y` and `colour`."""
    chart: Spec = {
        "data": {"values": list(points)},
        "width": 640,
        "height": 260,
        # With thousands of points, a screen reader gets the caption.
        "mark": {"type": "point", "shape": "square", "filled": True, "size": 6, "aria": False},
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "title": "page write"},
            "y": {"field": "y", "type": "quantitative", "title": "address (sectors of 512 B)"},
            "color": {
                "field": "colour",
                "type": "nominal",
                "title": None,
                "sort": colours_of(list(points), "colour"),
                "legend": {"orient": "top", "symbolSize": 60},
            },
        },
    }
    return _rounded(svg(chart))


def bars(rows: Rows, designs: Sequence[str], panels: Sequence[str], log: bool = False) -> Drawing:
    """Bars with their figures, a panel for each quantity.

    On logarithmic axes a length says nothing: there a line leads to a point, from a power of ten below the
    whole panel.

    Args:
        rows: `design`, `panel`, `value`, `text` (the value as shown), and `shade`, under 1 for a bar that
            stands back; `published` for a diamond at this value.
        designs: From top to bottom.
        panels: The quantities with their units, from left to right.
        log: Whether axes are logarithmic; values of 0 are not drawn then.

    """
    # A number stands behind its bar, and behind the published value.
    rows = [{**row, "end": max(row["value"], row.get("published", row["value"]))} for row in rows]
    if log:
        rows = _from_a_power(rows, panels)
    y = {"field": "design", "type": "nominal", "sort": list(designs), "title": None}
    x: Spec = {"field": "value", "type": "quantitative", "title": None, "axis": None}
    if log:
        x |= {"scale": {"type": "log", "nice": False}, "axis": LOG_AXIS}
    panel: Spec = {
        "width": 190,
        "height": {"step": STEP},
        "layer": [
            # A measured point is smaller than a diamond, and lies on it.
            *([_one(x)] if log and all(_is_ratio(panel) for panel in panels) else []),
            *([] if log else [_bar(x, y)]),
            *([_diamonds(x, y)] if any("published" in row for row in rows) else []),
            *(_lines_to_points(x, y) if log else []),
            {
                "mark": {
                    "type": "text",
                    "align": "left",
                    "dx": 10 if log or any("published" in row for row in rows) else 4,
                    "color": "var(--ink)",
                    "fontSize": 11,
                },
                "encoding": {
                    "y": y,
                    "x": {**x, "field": "end"},
                    "text": {"field": "text", "type": "nominal"},
                },
            },
        ],
    }
    facet = {"field": "panel", "type": "nominal", "sort": list(panels), "title": None}
    own = {"scale": {"x": "independent"}}
    chart: Spec = {"facet": facet, "columns": 3, "spec": panel, "resolve": own, "spacing": 40}
    return svg({"data": {"values": list(rows)}, **chart}, designs)


def _is_ratio(panel: str) -> bool:
    """Whether a panel's unit says that 1 is equality."""
    return panel.endswith("(times)")


def _one(x: Spec) -> Spec:
    """A dashed line at 1: on a logarithmic axis no end of a line says which side is more."""
    rule = {"type": "rule", "strokeDash": [5, 4], "color": "var(--ink)", "strokeWidth": 1}
    at: Spec = {"datum": 1, "type": "quantitative", "scale": x["scale"], "axis": x["axis"], "title": None}
    one_row = [{"aggregate": [{"op": "count", "as": "rows"}]}]
    return {"transform": one_row, "mark": rule, "encoding": {"x": at}}


def _bar(x: Spec, y: Spec) -> Spec:
    shade = {"field": "shade", "type": "quantitative", "scale": None, "legend": None}
    mark = {"type": "bar", "height": {"band": 0.7}, "color": COLOURS[0]}
    return {"mark": mark, "encoding": {"y": y, "x": x, "opacity": shade}}


def _diamonds(x: Spec, y: Spec) -> Spec:
    there = [{"filter": "isValid(datum.published)"}]
    return {"transform": there, **diamonds({"y": y, "x": {**x, "field": "published"}})}


def _lines_to_points(x: Spec, y: Spec) -> list[Spec]:
    line = {"type": "rule", "color": COLOURS[0], "strokeWidth": 1.5}
    point = {"type": "point", "filled": True, "size": 36, "opacity": 1, "color": COLOURS[0]}
    return [
        {"mark": line, "encoding": {"y": y, "x": x, "x2": {"field": "from"}}},
        {"mark": point, "encoding": {"y": y, "x": x}},
    ]


def _from_a_power(rows: Rows, panels: Sequence[str]) -> list[Spec]:
    """Rows above 0 with `from`: the power of ten at or below the panel's least value."""
    found: list[Spec] = []
    for panel in panels:
        here = [row for row in rows if row["panel"] == panel and row["value"] > 0]
        least = min((row["value"] for row in here), default=1)
        found += [{**row, "from": 10 ** math.floor(math.log10(least))} for row in here]
    return found


def colours_of(cells: Rows, field: str) -> list[str]:
    """A field's values in their order, `free` and `invalid` before all others."""
    found = dict.fromkeys(str(cell[field]) for cell in cells)
    return [
        *(name for name in (FREE, INVALID) if name in found),
        *(n for n in found if n not in (FREE, INVALID)),
    ]
