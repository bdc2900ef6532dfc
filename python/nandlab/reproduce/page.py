"""The report on papers measured again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nandlab.report import charts, html
from nandlab.reproduce import page_verdicts
from nandlab.reproduce.block_map import BlockMap
from nandlab.reproduce.drawing import picture, pictured
from nandlab.reproduce.figure import Figure
from nandlab.reproduce.grid import Grid
from nandlab.reproduce.heading import Headed
from nandlab.reproduce.judge import counted
from nandlab.reproduce.measure import Reproduction
from nandlab.reproduce.op_figures import OpFigure
from nandlab.reproduce.paper import Paper
from nandlab.reproduce.records import (
    caption,
    from_where_lowest,
    front_in_words,
    lines,
    lowest,
)
from nandlab.reproduce.timeline import Timeline
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
        *(_picture_section(found, part) for part in paper.pictures),
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
    drawn = _drawn(found, figure)
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


def _op_section(found: Reproduction, figure: OpFigure) -> str:
    drawn = _drawn(found, figure)
    if not drawn:
        return ""
    return html.section(figure.title, html.figure(drawn, caption(found.records, figure)))


def _picture_section(found: Reproduction, part: Timeline | BlockMap) -> str:
    drawn = _drawn(found, part)
    if not drawn:
        return ""
    return html.section(part.title, html.figure(drawn, caption(found.records, part)))


def _bars(found: Reproduction, grid: Grid) -> str:
    drawn = _drawn(found, grid)
    return html.figure(drawn, "") if drawn else ""


def _drawn(found: Reproduction, part: Headed) -> str:
    """A part's picture as SVG; empty if there is none."""
    drawn = picture(found, part)
    return "" if drawn is None else drawn.draw()


def figures(found: Reproduction) -> dict[str, str]:
    """The figures as standalone SVG files, by name."""
    return {name: charts.standalone(each.draw()) for name, each in pictured(found).items()}


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
