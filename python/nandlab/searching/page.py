"""The report of a search: what it found, its front, and every try."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nandlab.figures import summary
from nandlab.report import html, parts
from nandlab.searching.pictures import pictures
from nandlab.searching.words import sentences
from nandlab.sweeping.charts import require_altair
from nandlab.sweeping.words import axis_titles, figure, labels
from nandlab.writing import units
from nandlab.writing.new_file import write_page

if TYPE_CHECKING:
    from nandlab.searching import Search
    from nandlab.sweeping import Point


def write_search(found: Search, path: str | os.PathLike[str], command: str | None = None) -> None:
    """Writes the report; raises as `Search.report`."""
    require_altair()
    write_page(path, search_page(found, command))


def search_page(found: Search, command: str | None) -> str:
    """The page as text; at least one try has a result."""
    results = [point.result for point in found.points if point.result is not None]
    workload = ", ".join(dict.fromkeys(summary.workload_name(result) for result in results))
    drawn = pictures(found)
    pareto, importance = drawn.pop("pareto", None), drawn.pop("importance", None)
    best = found.best
    first = best[0].result if best else results[0]
    assert first is not None
    title = "Front" if len(found.goals) > 1 else "Best"
    return html.page(
        f"Search over {', '.join(free.key for free in found.space)}",
        f"{units.counted(len(found.points), 'try')}, seed {found.seed}. Workload: {workload}. "
        f"nandlab {results[0].version}.",
        [
            html.conclusions(sentences(found)),
            html.section(title, html.figure(pareto) if pareto else "", _table(found, best) if best else ""),
            html.section(
                "What mattered",
                html.figure(importance) if importance else "",
                note="PED-ANOVA: how far a key's values in the best tenth of the tries differ from all.",
            ),
            html.section(
                "Try by try",
                *(html.figure(text) for text in drawn.values()),
                note="Dashed: the best so far within all limits.",
            ),
            html.section("The space", _space(found)),
            html.section("Every try", _table(found, found.points)),
            html.section(
                "Make it again",
                parts.remake(command, results),
                html.folded(
                    "The best experiment" if best else "The first experiment", parts.experiment(first)
                ),
            ),
        ],
    )


def _space(found: Search) -> str:
    rows = [[free.key, free.words] for free in found.space]
    rows += [["limit", limit.text] for limit in found.limits]
    return html.table(["key", "values"], rows)


def _table(found: Search, points: list[Point]) -> str:
    sweep = found.as_sweep()
    shown, keys = labels(sweep.axes), axis_titles(sweep.axes)
    on_front = {id(point) for point, is_on in zip(found.points, found.front, strict=True) if is_on}
    at = {id(point): number for number, point in enumerate(found.points, 1)}
    titles = [
        "try",
        *keys,
        *(goal.name for goal in found.goals),
        *(limit.goal.name for limit in found.limits),
        "",
    ]
    rows: list[list[html.Cell]] = []
    for point in points:
        values = [names[text] for names, text in zip(shown, point.texts, strict=True)]
        start: list[html.Cell] = [str(at[id(point)]), *values]
        if point.record is None:
            rows.append([*start, html.Wide(point.error or "was not run", len(titles) - len(start))])
            continue
        figures = [figure(goal.name, goal.of(point.record)) for goal in found.goals]
        bounds = [figure(limit.goal.name, limit.goal.of(point.record)) for limit in found.limits]
        partial = None in found.figures(point)
        word = (
            "◆"
            if id(point) in on_front
            else "partial"
            if partial
            else ""
            if found.is_within(point)
            else "beyond"
        )
        rows.append([*start, *figures, *bounds, word])
    return html.table(titles, rows, range(1, len(titles) - 1))
