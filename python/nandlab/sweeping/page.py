"""The report of a sweep: its curves, the Pareto front, and every point."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nandlab.figures import summary
from nandlab.report import charts, html, parts
from nandlab.report.notebook import shown
from nandlab.sweeping.charts import Layout, pictures, require_altair
from nandlab.sweeping.conclusions import conclusions
from nandlab.sweeping.shading import scale_words, shades
from nandlab.sweeping.words import columns, figure, quantity
from nandlab.writing import units
from nandlab.writing.new_file import made_folder, write_page, write_whole

if TYPE_CHECKING:
    from nandlab.sweeping import Sweep

CURVES = "95 % interval of the mean over the seeds."


def write_sweep(found: Sweep, path: str | os.PathLike[str], command: str | None = None) -> None:
    """Writes the report; raises as `Sweep.report`."""
    require_altair()
    write_page(path, sweep_page(found, command))


def write_plots(found: Sweep, folder: str | os.PathLike[str]) -> list[str]:
    """Writes every picture as SVG and as PNG; raises as `Sweep.plots`."""
    require_altair()
    import vl_convert

    place = made_folder(folder)
    paths = []
    for name, drawn in pictures(found).items():
        text = charts.standalone(drawn)
        for ending, content in ((".svg", text.encode()), (".png", vl_convert.svg_to_png(text, scale=2))):
            path = place / f"{name}{ending}"
            write_whole(path, content)
            paths.append(str(path))
    return paths


def sweep_page(found: Sweep, command: str | None) -> str:
    """The page as text; at least one point has a result."""
    layout = Layout(found)
    results = [point.result for point in found.points if point.result is not None]
    workload = ", ".join(dict.fromkeys(summary.workload_name(result) for result in results))
    drawn = pictures(found)
    pareto = drawn.pop("pareto", None)
    keys = ", ".join(axis.key for axis in found.axes)
    seeds = next((axis for axis in found.axes if axis.key == "seed"), None)
    note = (
        f"Each point is the mean of {len(seeds.values)} seeds; bars: {CURVES}"
        if seeds and len(found.axes) > 1
        else ""
    )
    return html.page(
        f"Sweep over {keys}",
        f"{units.counted(len(found.points), 'point')}. Workload: {workload}. nandlab {results[0].version}.",
        [
            _warning(found),
            html.conclusions(conclusions(found)),
            html.tiles(_best(layout)),
            html.section("Curves", *(html.figure(text) for text in drawn.values()), note=note),
            html.section(
                "Pareto front",
                html.figure(pareto) if pareto else "",
                note="Diamonds: no other point of their workload is as good in both goals and better in one.",
            ),
            html.section(
                "Every point",
                _table(found),
                note=f"{summary.note(results)} {_colours(found)}",
            ),
            html.section(
                "Make it again",
                parts.remake(command, results),
                html.folded("The experiment of the first point", parts.experiment(results[0])),
            ),
        ],
    )


def notebook(found: Sweep) -> str:
    """What a notebook shows of a sweep."""
    described = columns(found)
    keys = len(found.axes)
    blank = [""] * (len(described) - keys)
    rows = [
        [column.cell(point) for column in described]
        if point.result is not None
        else [*(column.cell(point) for column in described[:keys]), *blank]
        for point in found.points
    ]
    return shown(repr(found), conclusions(found), [column.title for column in described], rows)


def _warning(found: Sweep) -> str:
    missing = sum(point.record is None for point in found.points)
    partial = sum(point.result is not None and point.result.partial for point in found.points)
    said = [f"{missing} of {len(found.points)} points have no result."] if missing else []
    if partial:
        said.append(f"{partial} ended before their workload did; their figures do not compare with others.")
    return html.paragraph(" ".join(said), "warning") if said else ""


def _best(layout: Layout) -> list[tuple[str, str, str]]:
    """For each goal its best figure, and where it is."""
    tiles = []
    for at, goal in enumerate(layout.found.goals):
        known = [(value, each) for each in layout.shown if (value := each.figures[at]) is not None]
        if known:
            pick = max if goal.maximise else min
            value, each = pick(known, key=lambda pair: pair[0])
            word = "most" if goal.maximise else "least"
            tiles.append(
                (f"{word} {goal.name}", figure(goal.name, value), layout.name(each.point, layout.axes))
            )
    return tiles


def _table(found: Sweep) -> str:
    described, keys = columns(found), len(found.axes)
    figures = [found.figures(point) for point in found.points]
    depths = list(zip(*(shades(column) for column in zip(*figures, strict=True)), strict=True))
    rows: list[list[str | html.Wide]] = []
    heat: list[list[float]] = []
    for point, depth in zip(found.points, depths, strict=True):
        if point.result is None:
            why = html.Wide(point.error or "was not run", len(described) - keys)
            rows.append([*(column.cell(point) for column in described[:keys]), why])
            heat.append([])
            continue
        rows.append([column.cell(point) for column in described])
        heat.append([0.0] * keys + list(depth))
    return html.table([column.title for column in described], rows, range(keys, len(described)), heat)


def _colours(found: Sweep) -> str:
    """The range of the colours of each goal."""
    said = []
    for at, goal in enumerate(found.goals):
        values = [value for point in found.points if (value := found.figures(point)[at]) is not None]
        if values:
            said.append(f"{goal.name} {scale_words(values, quantity(goal.name, values).text)}")
    return f"Colours, from least to most: {'; '.join(said)}."
