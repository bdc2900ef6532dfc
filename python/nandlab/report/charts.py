"""Charts as SVG text: Vega-Lite specifications, drawn by vl-convert.

Colours are CSS variables of the page (`style.css`). Every axis with a quantity names its unit.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from nandlab._native import NandlabError

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

WIDTH, STEP = 560, 22
"""Pixels of a chart with a row for each design: its width, and the height of a row."""

COLOURS = tuple(f"var(--c{at})" for at in range(8))

DASHES: tuple[list[int], ...] = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [14, 3])
"""Patterns of lines; as many as have no divisor in common with the colours, so that 40 lines all differ."""

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
    # Beside the chart a legend would take the width of a narrow page.
    "legend": {
        **_TEXT,
        "titleFontWeight": "bold",
        "labelLimit": 320,
        "orient": "top",
        "direction": "horizontal",
        "columns": 5,
    },
    "header": {**_TEXT, "labelFontWeight": "bold", "labelFontSize": 13, "labelAnchor": "start"},
    "range": {"category": list(COLOURS)},
    "line": {"strokeWidth": 1.8},
}


def require_vl_convert() -> None:
    """Says how to get what draws, before a run whose report would end without it."""
    try:
        importlib.import_module("vl_convert")
    except ImportError as error:
        raise NandlabError(f"a report needs vl-convert: pip install vl-convert-python ({error})") from None


def svg(spec: Spec, names: Iterable[str] = ()) -> str:
    """Draws a specification; `names` stand on the left and on the right of it."""
    require_vl_convert()
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


def _panels_below(chart: Spec, rows: Rows, panels: Sequence[str]) -> Spec:
    """One chart for each value of `panel`, one below the other; the chart alone where there is one panel."""
    if len(panels) <= 1:
        return {**_data(rows), **chart}
    row = {
        "field": "panel",
        "type": "nominal",
        "sort": list(panels),
        "title": None,
        "header": {"labelOrient": "top"},
    }
    # A design that is missing from a panel leaves no gap there.
    own = {"scale": {"y": "independent"}}
    return {**_data(rows), "facet": {"row": row}, "spec": chart, "resolve": own, "spacing": 12}


def waf_bars(rows: Rows, designs: Sequence[str], causes: Sequence[str], panels: Sequence[str] = ()) -> str:
    """Stacked bars: write amplification of each design, by cause, with their sum.

    Args:
        rows: `design`, `cause`, `waf`, `panel`.
        designs: From top to bottom.
        causes: From left to right.
        panels: The charts, one below the other.

    """
    rank = {cause: at for at, cause in enumerate(causes)}
    y = {"field": "design", "type": "nominal", "sort": list(designs), "title": None}
    bars: Spec = {
        "mark": {"type": "bar", "height": {"band": 0.75}},
        "encoding": {
            "y": y,
            "x": {
                "field": "waf",
                "type": "quantitative",
                "title": "write amplification (flash programs / host writes)",
            },
            "color": _colour("cause", "cause", causes),
            "order": {"field": "rank", "type": "quantitative"},
        },
    }
    sums: Spec = {
        "transform": [
            {"aggregate": [{"op": "sum", "field": "waf", "as": "sum"}], "groupby": ["design", "panel"]}
        ],
        "mark": {"type": "text", "align": "left", "dx": 5, "color": "var(--ink)", "fontSize": 11},
        "encoding": {
            "y": y,
            "x": {"field": "sum", "type": "quantitative"},
            "text": {"field": "sum", "type": "quantitative", "format": ".2f"},
        },
    }
    chart: Spec = {"width": WIDTH, "height": {"step": STEP}, "layer": [bars, sums]}
    ranked = [{**row, "rank": rank[row["cause"]]} for row in rows]
    return svg(_panels_below(chart, ranked, panels), [*designs, *causes])


def over_time(  # noqa: PLR0913 - what the lines are, and what stands beside them
    rows: Rows,
    colours: Sequence[str],
    colour_title: str | None,
    panels: Sequence[str],
    mean: float | None = None,
) -> str:
    """Lines: write amplification as the run goes on; on a logarithmic axis where it varies a lot.

    Args:
        rows: `requests`, `waf` (over 0), `colour`, `panel`.
        colours: The lines of a panel.
        colour_title: What the lines differ in.
        panels: The charts, one after the other.
        mean: Drawn as a dashed line.

    """
    values = [row["waf"] for row in rows]
    scale = {"type": "log"} if max(values) > 10 * min(values) else {"zero": False}
    y = {
        "field": "waf",
        "type": "quantitative",
        "title": "WAF (ratio)",
        "scale": scale,
        "axis": {"format": "~g", "tickCount": 6},
    }
    colour = _colour("colour", colour_title, colours)
    dashes = [DASHES[at % len(DASHES)] for at in range(len(colours))]
    # Long enough to show the pattern.
    legend = {"symbolType": "stroke", "symbolSize": 900} if len(colours) > 1 else None
    lines: Spec = {
        "mark": {"type": "line", "interpolate": "linear"},
        "encoding": {
            "x": {
                "field": "requests",
                "type": "quantitative",
                "title": "host requests",
                "axis": {"format": ",.0f", "tickCount": 4},
            },
            "y": y,
            "color": {**colour, "legend": legend},
            "strokeDash": {**colour, "scale": {"domain": list(colours), "range": dashes}, "legend": legend},
        },
    }
    if len(panels) <= 1:
        rule: Spec = {
            **_data([{"waf": mean}]),
            "mark": {"type": "rule", "strokeDash": [5, 4], "color": "var(--soft)"},
            "encoding": {"y": y},
        }
        layers = [lines] if mean is None else [lines, rule]
        return svg({**_data(rows), "layer": layers, "width": 700, "height": 260}, colours)
    facet = {"field": "panel", "type": "nominal", "sort": list(panels), "title": None}
    inner = {**lines, "width": 380, "height": 230}
    # Traces differ in length.
    own = {"scale": {"x": "independent"}}
    return svg({**_data(rows), "facet": facet, "columns": 2, "spec": inner, "resolve": own}, colours)


def slower_than(rows: Rows, kinds: Sequence[str]) -> str:
    """Lines: which share of the requests took longer than a latency; both axes logarithmic.

    Args:
        rows: `latency_us`, `share` (over 0), `kind`.
        kinds: Kinds of request.

    """
    return svg(
        {
            **_data(rows),
            "width": 700,
            "height": 260,
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


def latency_ranges(
    rows: Rows, designs: Sequence[str], percentiles: Sequence[str], panels: Sequence[str] = ()
) -> str:
    """Points: percentiles of a latency for each design, on a logarithmic axis.

    Args:
        rows: `design`, `percentile`, `latency_us` (over 0), `panel`.
        designs: From top to bottom.
        percentiles: From left to right.
        panels: The charts, one below the other.

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
    chart: Spec = {
        "width": WIDTH,
        "height": {"step": STEP},
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
    }
    return svg(_panels_below(chart, rows, panels), designs)


def wear_bars(rows: Rows) -> str:
    """Bars: how many blocks have seen how many P/E cycles.

    Args:
        rows: `from`, `to` (cycles, `to` not included) and `blocks`.

    """
    # A number of cycles stands in the middle of its bar.
    middle = [{**row, "from": row["from"] - 0.5, "to": row["to"] - 0.5} for row in rows]
    return svg(
        {
            **_data(middle),
            "width": 700,
            "height": 200,
            "mark": {"type": "bar", "binSpacing": 1, "color": COLOURS[0]},
            "encoding": {
                "x": {
                    "field": "from",
                    "type": "quantitative",
                    "title": "P/E cycles of a block",
                    "bin": {"binned": True},
                    "axis": {"tickMinStep": 1, "tickCount": 12, "format": ",.0f"},
                },
                "x2": {"field": "to"},
                "y": {
                    "field": "blocks",
                    "type": "quantitative",
                    "title": "blocks",
                    "axis": {"tickMinStep": 1, "format": ",.0f"},
                },
            },
        }
    )


def wear_ranges(rows: Rows, designs: Sequence[str], panels: Sequence[str] = ()) -> str:
    """Least, mean and most P/E cycles of a block, for each design.

    Args:
        rows: `design`, `min`, `mean`, `max`, `panel`.
        designs: From top to bottom.
        panels: The charts, one below the other.

    """
    y = {"field": "design", "type": "nominal", "sort": list(designs), "title": None}
    x = {
        "type": "quantitative",
        "title": "P/E cycles of a block: least, mean, most",
        "axis": {"tickMinStep": 1, "tickCount": 8, "format": ",.0f"},
    }
    chart: Spec = {
        "width": WIDTH,
        "height": {"step": STEP},
        "layer": [
            {
                "mark": {"type": "bar", "height": 6, "color": COLOURS[5], "cornerRadius": 3},
                "encoding": {"y": y, "x": {**x, "field": "min"}, "x2": {"field": "max"}},
            },
            {
                "mark": {"type": "tick", "thickness": 3, "height": 14, "color": COLOURS[0]},
                "encoding": {"y": y, "x": {**x, "field": "mean"}},
            },
        ],
    }
    return svg(_panels_below(chart, rows, panels), designs)


@dataclass(frozen=True)
class Axes:
    """Titles of two axes with units, whether they are logarithmic, and whether x is bytes, shown as KiB."""

    x: str
    y: str
    x_log: bool
    y_log: bool
    x_is_size: bool


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
    return svg({**_data(rows), "facet": facet, "columns": 3, "spec": lines, "spacing": 16}, colours)


def standalone(text: str) -> str:
    """A drawing for a file of its own: the plain colours of a light page, for every program."""
    style = resources.files("nandlab.report").joinpath("style.css").read_text(encoding="utf-8")
    colours = dict(re.findall(r"(--\w+): (#[0-9a-f]{6});", style.split("@media", 1)[0]))
    plain = re.sub(r"var\((--\w+)\)", lambda found: colours[found[1]], text)
    paper = f'<rect width="100%" height="100%" fill="{colours["--paper"]}"/>'
    return re.sub(r"(<svg [^>]*>)", lambda found: found[1] + paper, plain, count=1)


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


def windows(series: Iterable[tuple[int, int, float | None]], most: int = 80) -> list[tuple[int, float]]:
    """Samples gathered into windows of about equal host writes: requests at the end of each, and its WAF.

    A ratio over a moment with hardly a host write says little, so a window is as long as it takes to hold its
    part of all writes; a last one under half of the usual is a part of the one before.

    Args:
        series: Requests and sectors written so far, and the WAF since the sample before.
        most: Windows at most.

    >>> windows([(10, 80, 1.0), (20, 160, 3.0), (21, 168, 30.0)])
    [(10, 1.0), (21, 5.454545454545454)]
    >>> windows([(10, 80, 1.0), (20, 80, None), (30, 160, 3.0)], most=1)
    [(30, 2.0)]

    """
    samples = list(series)
    total = samples[-1][1] if samples else 0
    # Requests at the end, sectors that the host wrote, sectors programmed for them.
    found: list[tuple[int, int, float]] = []
    before, sectors, programmed = 0, 0, 0.0
    for requests, written, waf in samples:
        sectors += written - before
        programmed += (waf or 0.0) * (written - before)
        before = written
        if sectors and sectors * most >= total:
            found.append((requests, sectors, programmed))
            sectors, programmed = 0, 0.0
    if sectors:
        found.append((samples[-1][0], sectors, programmed))
    if len(found) > 1 and 2 * found[-1][1] < sum(part for _, part, _ in found[:-1]) / (len(found) - 1):
        last, before_last = found.pop(), found.pop()
        found.append((last[0], last[1] + before_last[1], last[2] + before_last[2]))
    return [(requests, programmed / sectors) for requests, sectors, programmed in found]
