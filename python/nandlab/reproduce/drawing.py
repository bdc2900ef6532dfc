"""The pictures of a paper: what each one shows as plain data, and the way from this data to SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from nandlab.report import charts, device_charts
from nandlab.report.bars import grouped_bars
from nandlab.reproduce import published
from nandlab.reproduce.block_map import BlockMap
from nandlab.reproduce.figure import Figure
from nandlab.reproduce.grid import Grid
from nandlab.reproduce.heading import Headed
from nandlab.reproduce.measure import Reproduction
from nandlab.reproduce.op_figures import OpFigure
from nandlab.reproduce.records import cells, drawn_rows, rows
from nandlab.reproduce.timeline import Timeline
from nandlab.reproduce.verdict import short

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Picture:
    """A picture as data."""

    kind: str
    """A key of `KINDS`."""
    data: dict[str, Any]
    """The arguments of the kind's chart, fit for JSON; `rows` are its points."""

    def draw(self) -> charts.Drawing:
        """The picture as SVG."""
        return KINDS[self.kind](**self.data)


def pictured(found: Reproduction) -> dict[str, Picture]:
    """Every picture of a paper that has something to show, by name."""
    paper = found.paper
    parts = (*paper.figures, *paper.op_figures, *paper.pictures, *paper.grids)
    drawn = {each.name: picture(found, each) for each in parts}
    return {name: each for name, each in drawn.items() if each is not None}


def picture(found: Reproduction, part: Headed) -> Picture | None:
    """The picture of a figure, a table or another part of a paper; nothing if it lacks its values."""
    if isinstance(part, Figure):
        return _figure(found, part)
    if isinstance(part, OpFigure):
        return _op_figure(found, part)
    if isinstance(part, Grid):
        return _bars(found, part)
    return _single(found, part) if isinstance(part, Timeline | BlockMap) else None


def _figure(found: Reproduction, figure: Figure) -> Picture | None:
    values = rows(found.records, figure)
    if not values:
        return None
    axes = charts.Axes(
        figure.x_title, figure.y_title, figure.x_log, figure.y_log, figure.x_is_size, figure.y_own
    )
    colours, panels = (
        [figure.labels.get(name, name) for name in names] for names in (figure.lines, figure.panels)
    )
    marked = [charts.Mark(name, y=value) for name, value in figure.marked.items()]
    return _curves(found, figure, values, (colours, panels), axes, marked)


def _single(found: Reproduction, drawn: Timeline | BlockMap) -> Picture | None:
    """A picture of single runs."""
    values = drawn_rows(found.records, drawn)
    if not values:
        return None
    if isinstance(drawn, BlockMap):
        columns, lines = list(drawn.columns), list(drawn.rows)
        return Picture(
            "block_map", {"rows": values, "columns": columns, "lines": lines, "y_title": drawn.y_title}
        )
    axes = charts.Axes(drawn.x_title, drawn.y_title, False, drawn.y_log, False, drawn.compares)
    return _curves(found, drawn, values, (drawn.colours, drawn.panels), axes, [])


def _curves(  # noqa: PLR0913 - a chart's parts
    found: Reproduction,
    chart: Figure | Timeline,
    values: Rows,
    names: tuple[list[str], list[str]],
    axes: charts.Axes,
    marked: list[charts.Mark],
) -> Picture:
    values, colours, points = _with_measured(found, chart, values, names[0])
    data = {
        "rows": values,
        "colours": colours,
        "panels": names[1],
        "axes": asdict(axes),
        "marks": [asdict(each) for each in (*marked, *points, *_published(found, chart))],
    }
    return Picture("curves", data)


def _with_measured(
    found: Reproduction, chart: Figure | Timeline, values: Rows, colours: list[str]
) -> tuple[Rows, list[str], list[charts.Mark]]:
    """A chart's points and lines with other people's measurements, and measured points without a line."""
    rows = [each for curve in chart.measured for each in curve.points(chart.labels, found.paper.claims)]
    joined, alone = ([row for row in rows if bool(row["colour"]) == is_line] for is_line in (True, False))
    if not any("order" in row for row in values):
        joined = [{key: row[key] for key in ("panel", "colour", "x", "y")} for row in joined]
    lines = list(dict.fromkeys([*colours, *(row["colour"] for row in joined)]))
    return [*values, *joined], lines, [charts.Mark("", row["x"], row["y"], [row["panel"]]) for row in alone]


def _published(found: Reproduction, chart: Figure | Timeline) -> list[charts.Mark]:
    """A chart's published values, each named with its number."""
    claims = found.paper.claims
    marks = []
    for each in chart.published:
        x, y = (None if formula is None else published.value(formula, claims) for formula in (each.x, each.y))
        name = f"{each.label}: {short(x if y is None else y)}"  # type: ignore[arg-type] # one of them is there
        panels = [chart.labels.get(panel, panel) for panel in each.panels]
        marks.append(charts.Mark(name, x, y, panels))
    return marks


def _op_figure(found: Reproduction, figure: OpFigure) -> Picture | None:
    drawn = found.records.drawn.get(figure.name)
    if not drawn:
        return None
    return Picture("pages" if figure.shows == "blocks" else "writes", {"rows": drawn})


def _bars(found: Reproduction, grid: Grid) -> Picture | None:
    """A table's columns as bars: on one axis if it has a title, else each on its own axis."""
    named = {name: grid.labels.get(name, name) for name in (*grid.rows, *grid.columns)}
    values = [
        (row, column, value)
        for row, line in zip(grid.rows, cells(found.records, grid), strict=True)
        for column, value in zip(grid.columns, line, strict=True)
        if column in grid.bars and value is not None
    ]
    if not values:
        return None
    rows, columns = [named[row] for row in grid.rows], [named[column] for column in grid.bars]
    claims = found.paper.claims
    printed = grid.printed(claims)
    if grid.bars_title:
        bars: Rows = []
        for row, column, value in values:
            bar = {"group": named[row], "colour": named[column]}
            bars.append({**bar, "value": value})
            if (row, column) in printed:
                bars.append({**bar, "value": printed[row, column], "is_published": True})
        marks = [
            [f"{each.label}: {short(each.number(claims))}", each.number(claims)]
            for each in grid.published
            if not each.row
        ]
        data = {"rows": bars, "groups": rows, "colours": columns, "title": grid.bars_title, "marks": marks}
        return Picture("grouped_bars", data)
    panels = [
        {
            "design": named[row],
            "panel": named[column],
            "value": value,
            "text": short(value),
            "shade": 1,
            **({"published": printed[row, column]} if (row, column) in printed else {}),
        }
        for row, column, value in values
    ]
    return Picture("bars", {"rows": panels, "designs": rows, "panels": columns, "log": grid.bars_log})


def _draw_curves(
    rows: Rows, colours: list[str], panels: list[str], axes: dict[str, Any], marks: Iterable[dict[str, Any]]
) -> charts.Drawing:
    found = [charts.Mark(**each) for each in marks]
    return charts.curves(rows, colours, panels, charts.Axes(**axes), found)


KINDS: dict[str, Callable[..., charts.Drawing]] = {
    "curves": _draw_curves,
    "bars": device_charts.bars,
    "grouped_bars": grouped_bars,
    "block_map": device_charts.block_map,
    "pages": lambda rows: device_charts.pages(rows),
    "writes": lambda rows: device_charts.writes(rows),
}
"""The charts by their names."""
