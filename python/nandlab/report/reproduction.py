"""The report of papers that were measured again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nandlab import units
from nandlab.report import charts, device_charts, html
from nandlab.report.bars import grouped_bars
from nandlab.reproduce.block_map import BlockMap
from nandlab.reproduce.claim import TRUE_UNITS
from nandlab.reproduce.figure import Figure
from nandlab.reproduce.grid import Grid
from nandlab.reproduce.judge import Judged, counted
from nandlab.reproduce.measure import Reproduction
from nandlab.reproduce.op_figures import OpFigure
from nandlab.reproduce.paper import Paper
from nandlab.reproduce.records import caption, cells, drawn_rows, from_where_lowest, lowest, rows, texts
from nandlab.reproduce.timeline import Timeline
from nandlab.reproduce.verdict import VERDICTS, short
from nandlab.toml_text import toml_text

MEANINGS = {
    "reproduced": "within the tolerance",
    "fitted": "within the tolerance, which what the paper leaves open was chosen for",
    "loose": "within a wider tolerance, which the table states",
    "direction": "the order or the sign holds, beyond the 95 % interval over the seeds",
    "differs": "it does not, for the reason given",
    "not_exercised": "what the claim is about did not happen",
    "not_printed": "the paper's text has no number: ours alone",
    "not_reproducible": "it takes what nobody has",
}


# Experiments that are listed one below the other; more of them are folded into one line.
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
        html.section(paper.title, html.paragraph(paper.source), *_played(paper), _tiles(found)),
        html.paragraph(words, "warning") if missing else "",
        html.section("Claims", _claims(found), note=_readings(found)),
        html.section(
            "What the verdicts rest on",
            _reasons(found),
            note="Numbers that are reproduced are here where there is more to say.",
        ),
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
        html.section("The experiments", *_experiments(found), note="Each runs alone with `nandlab run`."),
    ]


def _played(paper: Paper) -> list[str]:
    """Which recorded traces are played, and which generators stand for one."""
    return [html.paragraph(line) for line in paper.workloads_in_words()]


def _tiles(found: Reproduction) -> str:
    verdicts = [claim.verdict for claim in found.claims]
    return html.tiles(
        (word.replace("_", " "), str(verdicts.count(word)), MEANINGS[word])
        for word in VERDICTS
        if word in verdicts
    )


def _readings(found: Reproduction) -> str:
    seeds = found.records.seeds
    words = f"Measured: the mean over {seeds} seeds." if seeds > 1 else "Measured: one seed."
    said = [f"{name.replace('_', ' ')}: {text}" for name, text in found.paper.readings.items()]
    return " ".join([words, *said])


def _claims(found: Reproduction) -> str:
    titles = (
        "claim", "published", "measured", "off", "tolerance", "verdict", "true units", "verdict there",
        "what it says",
    )  # fmt: skip
    # Where every claim is in true units, there is nothing beside them.
    kept = [at for at, title in enumerate(titles) if found.paper.readings or title not in titles[6:8]]
    lines: list[list[str | html.Wide]] = []
    for each in found.claims:
        claim = each.claim
        lines.append(
            [
                claim.id,
                "" if claim.published is None else short(claim.published),
                _measured(each.measured, each.held),
                each.off,
                claim.tolerance + (f", loose: {claim.loose.text}" if claim.loose else ""),
                (each.verdict or "no verdict").replace("_", " "),
                _measured(each.true_units, each.true_held) if claim.reading != TRUE_UNITS else _same(each),
                (each.true_verdict or "no verdict").replace("_", " "),
                html.Wide(f"{claim.statement} ({claim.where})", 1),
            ]
        )
    right = [kept.index(at) for at in (1, 2, 3, 6) if at in kept]
    return html.table([titles[at] for at in kept], [[line[at] for at in kept] for line in lines], right=right)


def _same(judged: Judged) -> str:
    """Of a number that is in true units; an order or a sign has no units."""
    return "" if judged.measured is None else "the same"


def _measured(value: float | None, held: Sequence[object]) -> str:
    if value is not None:
        return short(value)
    return (
        ""
        if not held
        else "holds"
        if all(getattr(each, "holds", False) for each in held)
        else "does not hold"
    )


def _reasons(found: Reproduction) -> str:
    parts = [_reason(claim) for claim in found.claims if claim.is_explained]
    return "\n".join(parts)


def _reason(judged: Judged) -> str:
    verdict = (judged.verdict or "no verdict").replace("_", " ")
    parts = [html.paragraph(f"{judged.claim.statement}: {judged.why}.")]
    if judged.held:
        lines = [[each.text, "holds" if each.holds else "does not hold"] for each in judged.held]
        parts.append(html.folded("The conditions, with figures", html.table((), lines)))
    return html.titled(f"{judged.claim.id}: {verdict}", "".join(parts))


def _figure_section(found: Reproduction, at: int) -> str:
    figure = found.paper.figures[at]
    drawn = _draw(found, at)
    if not drawn:
        return ""
    said = [caption(found.records, figure), from_where_lowest(found.records, figure)]
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
    return charts.curves(values, named[0], named[1], axes, figure.marked)


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
    return charts.curves(values, picture.colours, picture.panels, axes)


def _bars(found: Reproduction, grid: Grid) -> str:
    drawn = _draw_bars(found, grid)
    return html.figure(drawn) if drawn else ""


def _draw_bars(found: Reproduction, grid: Grid) -> str:
    """Columns of a table as bars: on one axis if it has a title, else each on an axis of its own."""
    if not grid.bars:
        return ""
    named = {name: grid.labels.get(name, name) for name in (*grid.rows, *grid.columns)}
    values = [
        (named[row], named[column], value)
        for row, line in zip(grid.rows, cells(found.records, grid), strict=True)
        for column, value in zip(grid.columns, line, strict=True)
        if column in grid.bars and value is not None
    ]
    if not values:
        return ""
    rows, columns = [named[row] for row in grid.rows], [named[column] for column in grid.bars]
    if grid.bars_title:
        bars = [{"group": row, "colour": column, "value": value} for row, column, value in values]
        return grouped_bars(bars, rows, columns, grid.bars_title)
    panels = [
        {"design": row, "panel": column, "value": value, "text": short(value), "shade": 1}
        for row, column, value in values
    ]
    return device_charts.bars(panels, rows, columns, grid.bars_log)


def figures(found: Reproduction) -> dict[str, str]:
    """The figures as SVG files that stand alone, by name."""
    drawn = {figure.name: _draw(found, at) for at, figure in enumerate(found.paper.figures)}
    drawn |= {figure.name: _draw_op_figure(found, figure) for figure in found.paper.op_figures}
    drawn |= {picture.name: _draw_picture(found, picture) for picture in found.paper.pictures}
    drawn |= {grid.name: _draw_bars(found, grid) for grid in found.paper.grids}
    return {name: charts.standalone(text) for name, text in drawn.items() if text}


def _grid(found: Reproduction, grid: Grid) -> str:
    values = texts(found.records, grid)
    titles = ["", *(grid.labels.get(column, column) for column in grid.columns)]
    lines = [[grid.labels.get(row, row), *line] for row, line in zip(grid.rows, values, strict=True)]
    return html.table(titles, lines, right=range(1, len(titles)))


def _experiments(found: Reproduction) -> list[str]:
    """Every run that a claim or a table names, once."""
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
