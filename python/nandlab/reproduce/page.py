"""The report on papers measured again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nandlab.report import charts, device_charts, html
from nandlab.report.bars import grouped_bars
from nandlab.reproduce import page_verdicts, published
from nandlab.reproduce.block_map import BlockMap
from nandlab.reproduce.figure import Figure
from nandlab.reproduce.grid import Grid
from nandlab.reproduce.judge import counted
from nandlab.reproduce.measure import Reproduction
from nandlab.reproduce.op_figures import OpFigure
from nandlab.reproduce.paper import Paper
from nandlab.reproduce.records import (
    caption,
    cells,
    drawn_rows,
    from_where_lowest,
    front_in_words,
    lines,
    lowest,
    rows,
)
from nandlab.reproduce.timeline import Timeline
from nandlab.reproduce.verdict import short
from nandlab.writing import units
from nandlab.writing.toml_text import toml_text

# Most experiments listed one below the other; more are folded into one line.
UNFOLDED = 60


def reproduction_page(found: Sequence[Reproduction], command: str | None) -> str:
    """The page as text."""
    names = ", ".join(each.paper.name for each in found)
    return html.page(
        f"What {'a paper claims' if len(found) == 1 else 'papers claim'}, measured again: {names}",
        " ".join(counted(each.claims) + "." for each in found),
        [
            *(part for each in found for part in _paper(each)),
            html.section("Make it again", _remake(found, command)),
        ],
    )


def _paper(found: Reproduction) -> list[str]:
    paper = found.paper
    missing = [claim for claim in found.claims if claim.verdict is None]
    words = (
        f"{len(missing)} of {len(found.claims)} claims have no verdict: a run was stopped or failed, or "
        "there are too few seeds. What the verdicts rest on says which, and what to do."
    )
    return [
        html.section(paper.title, html.paragraph(paper.source), *_played(paper)),
        html.paragraph(words, "warning") if missing else "",
        page_verdicts.conclusions(found),
        page_verdicts.tiles(found),
        html.section("Claims", page_verdicts.claims(found), note=_units(found)),
        page_verdicts.readings(found),
        *(_op_section(found, figure) for figure in paper.op_figures),
        *(_figure_section(found, at) for at in range(len(paper.figures))),
        *(_picture_section(found, picture) for picture in paper.pictures),
        *(
            html.section(
                grid.title,
                _bars(found, grid),
                _grid(found, grid),
                note=caption(found.records, grid),
            )
            for grid in paper.grids
        ),
        html.section(
            "What the verdicts rest on",
            page_verdicts.reasons(found),
            note="Numbers that are reproduced are here where there is more to say. "
            "Claims with the same reason have one entry.",
        ),
        html.section("The experiments", *_experiments(found), note="Each runs alone with `nandlab run`."),
    ]


def _played(paper: Paper) -> list[str]:
    """The recorded traces to play, and the generators in place of one."""
    return [html.paragraph(line) for line in paper.workloads_in_words()]


def _units(found: Reproduction) -> str:
    seeds = found.records.seeds
    words = f"Measured: the mean over {seeds} seeds." if seeds > 1 else "Measured: one seed."
    said = [f"{name.replace('_', ' ')}: {text}" for name, text in found.paper.readings.items()]
    return " ".join([words, *said])


def _figure_section(found: Reproduction, at: int) -> str:
    figure = found.paper.figures[at]
    drawn = _draw(found, at)
    if not drawn:
        return ""
    records = found.records
    said = [caption(records, figure), from_where_lowest(records, figure), front_in_words(records, figure)]
    parts = [html.figure(drawn, " ".join(f"{text.rstrip('.')}." for text in said if text))]
    if figure.lowest:
        titles = (f"lowest at {figure.x_title}", *(_x(figure, x) for x in figure.points(found.records.full)))
        parts.append(html.table(titles, lowest(found.records, figure)))
    return html.section(figure.title, *parts)


def _x(figure: Figure, value: Any) -> str:  # noqa: ANN401 - a TOML value
    return units.size(value) if figure.x_is_size else f"{value:,}" if isinstance(value, int) else str(value)


def _draw(found: Reproduction, at: int) -> str:
    figure = found.paper.figures[at]
    values = rows(found.records, figure)
    if not values:
        return ""
    axes = charts.Axes(figure.x_title, figure.y_title, figure.x_log, figure.y_log, figure.x_is_size)
    named = [[figure.labels.get(name, name) for name in names] for names in (figure.lines, figure.panels)]
    marked = [charts.Mark(name, y=value) for name, value in figure.marked.items()]
    values, colours, points = _with_measured(found, figure, values, named[0])
    return charts.curves(values, colours, named[1], axes, [*marked, *points, *_published(found, figure)])


def _with_measured(
    found: Reproduction, chart: Figure | Timeline, values: list[dict[str, Any]], colours: list[str]
) -> tuple[list[dict[str, Any]], list[str], list[charts.Mark]]:
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


def _op_section(found: Reproduction, figure: OpFigure) -> str:
    drawn = _draw_op_figure(found, figure)
    if not drawn:
        return ""
    return html.section(figure.title, html.figure(drawn, caption(found.records, figure)))


def _draw_op_figure(found: Reproduction, figure: OpFigure) -> str:
    cells = found.records.drawn.get(figure.name)
    if not cells:
        return ""
    return device_charts.pages(cells) if figure.shows == "blocks" else device_charts.writes(cells)


def _picture_section(found: Reproduction, picture: Timeline | BlockMap) -> str:
    drawn = _draw_picture(found, picture)
    if not drawn:
        return ""
    return html.section(picture.title, html.figure(drawn, caption(found.records, picture)))


def _draw_picture(found: Reproduction, picture: Timeline | BlockMap) -> str:
    values = drawn_rows(found.records, picture)
    if not values:
        return ""
    if isinstance(picture, BlockMap):
        return device_charts.block_map(values, picture.columns, picture.rows, picture.y_title)
    axes = charts.Axes(picture.x_title, picture.y_title, False, picture.y_log, False, picture.compares)
    values, colours, points = _with_measured(found, picture, values, picture.colours)
    return charts.curves(values, colours, picture.panels, axes, [*points, *_published(found, picture)])


def _bars(found: Reproduction, grid: Grid) -> str:
    drawn = _draw_bars(found, grid)
    return html.figure(drawn, _how_published(found, grid)) if drawn else ""


def _how_published(found: Reproduction, grid: Grid) -> str:
    """How a table's bars show published values; empty without any."""
    if not any(column in grid.bars for _, column in grid.printed(found.paper.claims)):
        return ""
    return "Pale bars: published." if grid.bars_title else "Black strokes: published."


def _draw_bars(found: Reproduction, grid: Grid) -> str:
    """A table's columns as bars: on one axis if it has a title, else each on its own axis."""
    if not grid.bars:
        return ""
    named = {name: grid.labels.get(name, name) for name in (*grid.rows, *grid.columns)}
    values = [
        (row, column, value)
        for row, line in zip(grid.rows, cells(found.records, grid), strict=True)
        for column, value in zip(grid.columns, line, strict=True)
        if column in grid.bars and value is not None
    ]
    if not values:
        return ""
    rows, columns = [named[row] for row in grid.rows], [named[column] for column in grid.bars]
    claims = found.paper.claims
    printed = grid.printed(claims)
    if grid.bars_title:
        bars: list[dict[str, Any]] = []
        for row, column, value in values:
            bar = {"group": named[row], "colour": named[column]}
            bars.append({**bar, "value": value})
            if (row, column) in printed:
                bars.append({**bar, "value": printed[row, column], "is_published": True})
        marks = [
            (f"{each.label}: {short(each.number(claims))}", each.number(claims))
            for each in grid.published
            if not each.row
        ]
        return grouped_bars(bars, rows, columns, grid.bars_title, marks)
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
    return device_charts.bars(panels, rows, columns, grid.bars_log)


def figures(found: Reproduction) -> dict[str, str]:
    """The figures as standalone SVG files, by name."""
    drawn = {figure.name: _draw(found, at) for at, figure in enumerate(found.paper.figures)}
    drawn |= {figure.name: _draw_op_figure(found, figure) for figure in found.paper.op_figures}
    drawn |= {picture.name: _draw_picture(found, picture) for picture in found.paper.pictures}
    drawn |= {grid.name: _draw_bars(found, grid) for grid in found.paper.grids}
    return {name: charts.standalone(text) for name, text in drawn.items() if text}


def _grid(found: Reproduction, grid: Grid) -> str:
    titles = ["", *(grid.labels.get(column, column) for column in grid.columns)]
    return html.table(titles, lines(found.records, grid), right=range(1, len(titles)))


def _experiments(found: Reproduction) -> list[str]:
    """Every run named by a claim or a table, once."""
    paper = found.paper
    names = [name for claim in paper.claims for name in claim.names]
    names += [name for grid in paper.grids for name in grid.names()]
    runs = dict.fromkeys(paper.split(name)[0] for name in names)
    each = [html.folded(run, html.code(toml_text(paper.tree(run)))) for run in runs]
    return each if len(each) <= UNFOLDED else [html.folded(f"{len(each)} experiments", "\n".join(each))]


def _remake(found: Sequence[Reproduction], command: str | None) -> str:
    files = ", ".join(each.paper.file for each in found)
    words = (
        f"Claims, experiments and formulas are in {files}; the same seeds give the same figures on every "
        "machine."
    )
    return html.paragraph(words) + (html.code(command) if command else "")
