"""Charts of what file systems do to a flash: its blocks one by one, and designs side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nandlab.report.charts import COLOURS, Rows, Spec, svg

STEP = 22
"""Height of a bar with its gap."""


def block_map(rows: Rows, columns: Sequence[str], lines: Sequence[str], y_title: str) -> str:
    """A number of each block over its address, in panels beside and below one another.

    Args:
        rows: `column`, `row`, `x` and `y`.
        columns: From left to right.
        lines: From top to bottom.
        y_title: What the number is.

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
    # Thousands of blocks: a tenth of a pixel is enough.
    return re.sub(r"(\d\.\d)\d+", r"\1", drawn)


def bars(rows: Rows, designs: Sequence[str], panels: Sequence[str]) -> str:
    """Bars with their figures, a panel for each quantity.

    Args:
        rows: `design`, `panel`, `value`, `text`, how the value is shown, and `shade`, under 1 for a bar that
            stands back.
        designs: From top to bottom.
        panels: The quantities with their units, from left to right.

    """
    y = {"field": "design", "type": "nominal", "sort": list(designs), "title": None}
    x = {"field": "value", "type": "quantitative", "title": None, "axis": None}
    shade = {"field": "shade", "type": "quantitative", "scale": None, "legend": None}
    panel: Spec = {
        "width": 190,
        "height": {"step": STEP},
        "layer": [
            {
                "mark": {"type": "bar", "height": {"band": 0.7}, "color": COLOURS[0]},
                "encoding": {"y": y, "x": x, "opacity": shade},
            },
            {
                "mark": {
                    "type": "text",
                    "align": "left",
                    "dx": 4,
                    "color": "var(--ink)",
                    "fontSize": 11,
                },
                "encoding": {"y": y, "x": x, "text": {"field": "text", "type": "nominal"}},
            },
        ],
    }
    facet = {"field": "panel", "type": "nominal", "sort": list(panels), "title": None}
    own = {"scale": {"x": "independent"}}
    chart: Spec = {"facet": facet, "columns": 3, "spec": panel, "resolve": own, "spacing": 40}
    return svg({"data": {"values": list(rows)}, **chart}, designs)
