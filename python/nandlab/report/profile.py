"""A profile's picture: a trace's intervals, and the thresholds among them."""

from __future__ import annotations

from typing import Any

from nandlab.report.charts import COLOURS, Spec, standalone, svg

WIDTH, HEIGHT = 240, 200

PANELS = (
    ("w_eval", "t_state", "written in a row, mean of an interval ({whole})"),
    ("longest_write", "t_write", "longest write of an interval ({unit})"),
    ("longest_read", "t_read", "longest read of an interval ({unit})"),
)


def pictures(found: dict[str, Any]) -> dict[str, str]:
    """The picture for the interval `chosen` in a result of `traces.profiling.profile`, as SVG by name."""
    one = next(one for one in found["intervals"] if one["interval"] == found["chosen"])
    unit = {"page": "pages", "sector": "sectors", "run": "pages of a run"}[found["size_unit"]]
    whole = "sectors" if found["size_unit"] == "sector" else "pages"
    panels = [
        _panel(one[values], one[threshold], threshold, title.format(unit=unit, whole=whole))
        for values, threshold, title in PANELS
        if one[values]
    ]
    return {"profile": standalone(svg({"hconcat": panels, "spacing": 24}))}


def _panel(values: list[float], threshold: float, name: str, title: str) -> Spec:
    # One interval is a level line, since nobody would see a single point.
    values = values * 2 if len(values) == 1 else values
    last = len(values) - 1
    rows = [{"share": 100 * at / last, "value": value} for at, value in enumerate(values)]
    # If all values are close together, the axis does not begin at 0.
    scale = {"zero": values[0] < values[-1] / 3, "nice": True}
    x = {"field": "share", "type": "quantitative", "title": "intervals up to it (%)"}
    y = {"field": "value", "type": "quantitative", "title": title, "scale": scale}
    line: Spec = {
        "data": {"values": rows},
        "mark": {"type": "line", "interpolate": "step-after", "color": COLOURS[0]},
        "encoding": {"x": x, "y": y},
    }
    at: Spec = {"data": {"values": [{"value": threshold, "name": f"{name} = {threshold:.4g}"}]}}
    rule: Spec = {
        **at,
        "mark": {"type": "rule", "strokeDash": [5, 3], "color": COLOURS[1], "size": 1.5},
        "encoding": {"y": {"field": "value", "type": "quantitative"}},
    }
    words: Spec = {
        **at,
        "mark": {"type": "text", "align": "left", "dx": 4, "dy": -6, "color": COLOURS[1]},
        "encoding": {
            "x": {"value": 0},
            "y": {"field": "value", "type": "quantitative"},
            "text": {"field": "name"},
        },
    }
    return {"width": WIDTH, "height": HEIGHT, "layer": [line, rule, words]}
