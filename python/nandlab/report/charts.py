"""Charts as SVG text: Vega-Lite specifications, drawn by vl-convert.

Colours are CSS variables of the page (`style.css`). Every axis with a quantity names its unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

Rows = Sequence[dict[str, Any]]
Spec = dict[str, Any]

TIME_AXIS = {
    "tickCount": 8,
    "labelExpr": "indexof([1, 2, 5], round(datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9)))) < 0"
    " ? '' "
    ": datum.value >= 1e6 ? datum.value / 1e6 + ' s' "
    ": datum.value >= 1e3 ? datum.value / 1e3 + ' ms' : datum.value + ' µs'",
}
"""Labels of an axis in microseconds, with their unit."""

COLOURS = tuple(f"var(--c{at})" for at in range(8))

_TEXT = {"labelColor": "var(--ink)", "titleColor": "var(--ink)", "labelFontSize": 12, "titleFontSize": 12}
_CONFIG = {
    "background": "transparent",
    "font": "Arial, Helvetica, Liberation Sans, sans-serif",
    "view": {"stroke": None},
    "axis": {
        **_TEXT,
        "titleFontWeight": "normal",
        "gridColor": "var(--grid)",
        "domainColor": "var(--line)",
        "tickColor": "var(--line)",
        "labelLimit": 320,
    },
    "legend": {**_TEXT, "titleFontWeight": "bold", "labelLimit": 320},
    "header": {**_TEXT, "titleFontWeight": "bold"},
    "range": {"category": list(COLOURS)},
    "line": {"strokeWidth": 1.8},
}


def svg(spec: Spec, names: Iterable[str] = ()) -> str:
    """Draws a specification; `names` stand on the left and on the right of it."""
    import vl_convert

    # The fonts of the reader may be wider than those that the text was measured with.
    room = 10 + max((len(name) for name in names), default=0)
    padding = {"left": room, "right": room + 20, "top": 5, "bottom": 5}
    text = vl_convert.vegalite_to_svg({**spec, "padding": padding, "config": _CONFIG})
    # The chart takes the width of the page where that is smaller; its own size is in the view box.
    return re.sub(r"(<svg [^>]*?)\s*xmlns:xlink=\"[^\"]*\"", r"\1", text, count=1)


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


def waf_bars(rows: Rows, designs: Sequence[str], causes: Sequence[str]) -> str:
    """Stacked bars: write amplification of each design, by cause.

    Args:
        rows: `design`, `cause`, `waf`.
        designs: From top to bottom.
        causes: From left to right.

    """
    rank = {cause: at for at, cause in enumerate(causes)}
    return svg(
        {
            **_data([{**row, "rank": rank[row["cause"]]} for row in rows]),
            "width": 620,
            "height": {"step": 22},
            "mark": {"type": "bar", "height": {"band": 0.75}},
            "encoding": {
                "y": {"field": "design", "type": "nominal", "sort": list(designs), "title": None},
                "x": {
                    "field": "waf",
                    "type": "quantitative",
                    "title": "write amplification (flash programs / host writes)",
                },
                "color": _colour("cause", "cause", causes),
                "order": {"field": "rank", "type": "quantitative"},
            },
        },
        [*designs, *causes],
    )


def over_time(rows: Rows, colours: Sequence[str], colour_title: str | None, panels: Sequence[str]) -> str:
    """Lines: write amplification as the run goes on; on a logarithmic axis where it varies a lot.

    Args:
        rows: `requests`, `waf` (over 0), `colour`, `panel`.
        colours: The lines of a panel.
        colour_title: What the lines differ in.
        panels: The charts, one after the other.

    """
    values = [row["waf"] for row in rows]
    scale = {"type": "log"} if max(values) > 10 * min(values) else {"zero": False}
    chart: Spec = {
        "mark": {"type": "line", "interpolate": "linear"},
        "encoding": {
            "x": {
                "field": "requests",
                "type": "quantitative",
                "title": "host requests",
                "axis": {"format": ",.0f", "tickCount": 4},
            },
            "y": {
                "field": "waf",
                "type": "quantitative",
                "title": "WAF (ratio)",
                "scale": scale,
                "axis": {"format": "~g", "tickCount": 6},
            },
            "color": {
                **_colour("colour", colour_title, colours),
                **({} if len(colours) > 1 else {"legend": None}),
            },
        },
    }
    if len(panels) <= 1:
        return svg({**_data(rows), **chart, "width": 760, "height": 280}, colours)
    facet = {"field": "panel", "type": "nominal", "sort": list(panels), "title": None}
    few = len(panels) == 2
    inner = {**chart, "width": 400 if few else 260, "height": 240 if few else 150}
    # Traces differ in length.
    own = {"scale": {"x": "independent"}}
    return svg({**_data(rows), "facet": facet, "columns": 3, "spec": inner, "resolve": own}, colours)


def slower_than(rows: Rows, kinds: Sequence[str]) -> str:
    """Lines: which share of the requests took longer than a latency; both axes logarithmic.

    Args:
        rows: `latency_us`, `share` (over 0), `kind`.
        kinds: Kinds of request.

    """
    return svg(
        {
            **_data(rows),
            "width": 760,
            "height": 280,
            "mark": {"type": "line", "interpolate": "step-after"},
            "encoding": {
                "x": {
                    "field": "latency_us",
                    "type": "quantitative",
                    "title": "latency (simulated time)",
                    "scale": {"type": "log", "nice": False},
                    "axis": TIME_AXIS,
                },
                "y": {
                    "field": "share",
                    "type": "quantitative",
                    "title": "share of requests that took longer (%)",
                    "scale": {"type": "log"},
                    "axis": {"format": "~g", "tickCount": 5},
                },
                "color": _colour("kind", "request", kinds),
            },
        }
    )


def latency_ranges(rows: Rows, designs: Sequence[str], percentiles: Sequence[str]) -> str:
    """Points: percentiles of a latency for each design, on a logarithmic axis.

    Args:
        rows: `design`, `percentile`, `latency_us` (over 0).
        designs: From top to bottom.
        percentiles: From left to right.

    """
    y = {"field": "design", "type": "nominal", "sort": list(designs), "title": None}
    x = {
        "field": "latency_us",
        "type": "quantitative",
        "title": "write latency (simulated time)",
        "scale": {"type": "log", "nice": False, "padding": 12},
        "axis": TIME_AXIS,
    }
    shape = _colour("percentile", "percentile", percentiles)
    return svg(
        {
            **_data(rows),
            "width": 620,
            "height": {"step": 22},
            "layer": [
                {
                    "mark": {"type": "line", "color": "var(--line)", "strokeWidth": 2},
                    "encoding": {"x": x, "y": y, "detail": {"field": "design"}},
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                    "encoding": {"x": x, "y": y, "color": shape, "shape": shape},
                },
            ],
        },
        designs,
    )


def wear_bars(rows: Rows) -> str:
    """Bars: how many blocks have seen how many P/E cycles.

    Args:
        rows: `from`, `to` (cycles, `to` not included) and `blocks`.

    """
    return svg(
        {
            **_data(rows),
            "width": 760,
            "height": 200,
            "mark": {"type": "bar", "binSpacing": 1, "color": COLOURS[0]},
            "encoding": {
                "x": {
                    "field": "from",
                    "type": "quantitative",
                    "title": "P/E cycles of a block",
                    "bin": {"binned": True},
                    "axis": {"tickMinStep": 1},
                },
                "x2": {"field": "to"},
                "y": {
                    "field": "blocks",
                    "type": "quantitative",
                    "title": "blocks",
                    "axis": {"tickMinStep": 1},
                },
            },
        }
    )


def wear_ranges(rows: Rows, designs: Sequence[str]) -> str:
    """Least, mean and most P/E cycles of a block, for each design.

    Args:
        rows: `design`, `min`, `mean`, `max`.
        designs: From top to bottom.

    """
    y = {"field": "design", "type": "nominal", "sort": list(designs), "title": None}
    x_title = "P/E cycles of a block: least, mean, most"
    return svg(
        {
            **_data(rows),
            "width": 620,
            "height": {"step": 22},
            "layer": [
                {
                    "mark": {"type": "bar", "height": 6, "color": COLOURS[5], "cornerRadius": 3},
                    "encoding": {
                        "y": y,
                        "x": {"field": "min", "type": "quantitative", "title": x_title},
                        "x2": {"field": "max"},
                    },
                },
                {
                    "mark": {"type": "tick", "thickness": 3, "height": 14, "color": COLOURS[0]},
                    "encoding": {"y": y, "x": {"field": "mean", "type": "quantitative", "title": x_title}},
                },
            ],
        },
        designs,
    )


def bins(histogram: Iterable[Sequence[int]], most: int = 60) -> list[dict[str, int]]:
    """Pairs of P/E cycles and blocks, gathered into at most so many bins of equal width.

    >>> bins([[3, 10], [4, 20]])
    [{'from': 3, 'to': 4, 'blocks': 10}, {'from': 4, 'to': 5, 'blocks': 20}]
    >>> bins([[0, 1], [99, 2]], most=2)
    [{'from': 0, 'to': 50, 'blocks': 1}, {'from': 50, 'to': 100, 'blocks': 2}]
    """
    pairs = sorted((cycles, blocks) for cycles, blocks in histogram)
    if not pairs:
        return []
    low, high = pairs[0][0], pairs[-1][0] + 1
    width = -(-(high - low) // most)
    found: dict[int, int] = {}
    for cycles, blocks in pairs:
        start = low + (cycles - low) // width * width
        found[start] = found.get(start, 0) + blocks
    return [{"from": start, "to": start + width, "blocks": blocks} for start, blocks in found.items()]


def tail(histogram: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    """Pairs of a latency and the percentage of requests that took longer, as long as there are any.

    >>> tail([[10, 3], [20, 1]])
    [(8.4, 100.0), (10, 25.0)]
    """
    total = sum(count for _, count in histogram)
    longer = total
    points: list[tuple[float, float]] = []
    for upper, count in histogram:
        if count and not points:
            # Where the first bucket starts: there are four an octave.
            points.append((0.84 * upper, 100.0))
        longer -= count
        if count and longer > 0:
            points.append((upper, 100 * longer / total))
    return points
