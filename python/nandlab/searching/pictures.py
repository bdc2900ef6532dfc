"""Pictures of a search: the figures try by try, the front, and which keys mattered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nandlab.report import charts
from nandlab.sweeping.charts import axis_text
from nandlab.sweeping.charts import pictures as of_sweep
from nandlab.sweeping.goals import Goal
from nandlab.sweeping.words import quantity

if TYPE_CHECKING:
    from nandlab.searching import Search

WIDTH, HEIGHT = 620, 220


def pictures(found: Search) -> dict[str, charts.Drawing]:
    """Every picture as SVG with a page's colours, by name."""
    drawn = {}
    if len(found.goals) == 2 and len(found.best) > 1:
        drawn["pareto"] = of_sweep(found.as_sweep(within=True))["pareto"]
    for at, goal in enumerate(found.goals):
        if any(found.figures(point)[at] is not None for point in found.points):
            drawn[f"tries-{goal.name.replace('.', '-')}"] = _tries(found, at, goal)
    if len(found.importances) == len(found.goals) and len(found.space) > 1:
        drawn["importance"] = _importance(found)
    return drawn


def _tries(found: Search, at: int, goal: Goal) -> charts.Drawing:
    """A goal try by try, and the best one so far."""
    known = [value for point in found.points if (value := found.figures(point)[at]) is not None]
    unit = quantity(goal.name, known)
    rows: list[dict[str, Any]] = []
    best: float | None = None
    for number, point in enumerate(found.points, 1):
        value = found.figures(point)[at]
        within = found.is_within(point)
        if value is not None and within:
            better = best is None or (value > best if goal.maximise else value < best)
            best = value if better else best
        rows.append(
            {
                "try": number,
                "value": None if value is None else value / unit.divisor,
                "kind": "within the limits" if within else "beyond a limit",
                "best": None if best is None else best / unit.divisor,
            }
        )
    title = axis_text(goal.name, unit)
    kinds = list(dict.fromkeys(row["kind"] for row in rows if row["value"] is not None))
    x = {"field": "try", "type": "quantitative", "title": "try", "scale": {"nice": False, "padding": 8}}
    y = {"field": "value", "type": "quantitative", "title": title, "scale": {"zero": False}}
    order = ["within the limits", "beyond a limit"]
    legend: charts.Spec | None = None if kinds == order[:1] else {}
    colour = {"field": "kind", "type": "nominal", "title": None, "legend": legend, "scale": {"domain": order}}
    shape = {**colour, "scale": {"domain": order, "range": ["circle", "cross"]}}
    dots = {
        "transform": [{"filter": "isValid(datum.value)"}],
        "mark": {"type": "point", "filled": True, "size": 40, "opacity": 1},
        "encoding": {"x": x, "y": y, "color": colour, "shape": shape},
    }
    line = {
        "transform": [{"filter": "isValid(datum.best)"}],
        "mark": {"type": "line", "interpolate": "step-after", "color": "var(--soft)", "strokeDash": [5, 4]},
        "encoding": {"x": x, "y": {**y, "field": "best"}},
    }
    spec = {"data": {"values": rows}, "width": WIDTH, "height": HEIGHT, "layer": [line, dots]}
    return charts.svg(spec, order)


def _importance(found: Search) -> charts.Drawing:
    """Each key's share, a bar for each goal."""
    rows = [
        {"key": key, "share": 100 * share, "goal": goal.name}
        for goal, shares in zip(found.goals, found.importances, strict=True)
        for key, share in shares.items()
    ]
    names = [goal.name for goal in found.goals]
    order = sorted(found.importances[0], key=lambda key: -found.importances[0][key])
    spec = {
        "data": {"values": rows},
        "width": WIDTH - 120,
        "height": {"step": 16},
        "mark": "bar",
        "encoding": {
            "y": {
                "field": "key",
                "type": "nominal",
                "sort": order,
                "title": None,
                "axis": {"labelLimit": 260},
            },
            "yOffset": {"field": "goal", "sort": names},
            "x": {
                "field": "share",
                "type": "quantitative",
                "title": "share in what tells the best tenth of the tries apart (%)",
                "scale": {"domain": [0, 100]},
            },
            "color": {
                "field": "goal",
                "type": "nominal",
                "title": None,
                "sort": names,
                "scale": {"domain": names},
            },
        },
    }
    return charts.svg(spec, names)
