"""Everything that a reproduction rests on, in one file."""

from __future__ import annotations

import csv
import io
import json
import os
import zipfile
from collections.abc import Iterable, Sequence

from nandlab.experiment.result import Result
from nandlab.reproduce.measure import Reproduction
from nandlab.reproduce.page import figures, reproduction_page
from nandlab.reproduce.records import cells, drawn_rows, rows
from nandlab.writing.new_file import write_page, write_whole
from nandlab.writing.toml_text import toml_text

# The same reproduction makes the same bytes.
_WHEN = (1980, 1, 1, 0, 0, 0)


def write_bundle(
    found: Sequence[Reproduction], path: str | os.PathLike[str], command: str | None = None
) -> None:
    """Writes a .zip file: a folder for each paper, and the report.

    A folder holds `paper.toml`, `claims.json`, `experiments/*.toml` (each runs with `nandlab run`),
    `records/*.json`, `figures/*.svg` with their points, and `tables/*.csv`.

    Raises:
        OSError: With a sentence; an older file at `path` is then as it was.

    """
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for each in found:
            for name, text in _files(each):
                _add(archive, f"{each.paper.name}/{name}", text)
        _add(archive, "report.html", reproduction_page(found, command))
    write_whole(path, whole.getvalue())


def write_reproduction(
    found: Sequence[Reproduction], path: str | os.PathLike[str], command: str | None = None
) -> None:
    """Writes the report of papers that were measured again.

    Raises:
        OSError: With a sentence; an older file at `path` is then as it was.

    """
    write_page(path, reproduction_page(found, command))


def _add(archive: zipfile.ZipFile, name: str, text: str) -> None:
    entry = zipfile.ZipInfo(name, _WHEN)
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, text)


def _files(found: Reproduction) -> Iterable[tuple[str, str]]:
    yield "paper.toml", found.paper.text
    yield "claims.json", _json(found.to_dict())
    for name, record in found.records.by_name().items():
        yield f"experiments/{name}.toml", toml_text(Result(record).experiment)
        yield f"records/{name}.json", _json(Result(record).without_speed())
    for name, svg in figures(found).items():
        yield f"figures/{name}.svg", svg
    for figure in found.paper.figures:
        lines = [list(row.values()) for row in rows(found.records, figure)]
        more = ["order", "point"] if figure.x_measures else []
        front = ["front"] if figure.front else []
        heads = ["panel", "line", figure.x_name, figure.measure, *more, *front]
        yield f"figures/{figure.name}.csv", _csv([heads, *lines])
    for timeline in found.paper.timelines:
        lines = [list(row.values()) for row in drawn_rows(found.records, timeline)]
        yield f"figures/{timeline.name}.csv", _csv([["panel", "line", timeline.x.text, "value"], *lines])
    for name, cells_drawn in found.records.drawn.items():
        heads = list(cells_drawn[0]) if cells_drawn else []
        yield f"figures/{name}.csv", _csv([heads, *(list(cell.values()) for cell in cells_drawn)])
    for drawn in found.paper.block_maps:
        lines = [list(row.values()) for row in drawn_rows(found.records, drawn)]
        yield f"figures/{drawn.name}.csv", _csv([["run", drawn.moment_title, "block", "value"], *lines])
    for grid in found.paper.grids:
        values = cells(found.records, grid)
        lines = [[name, *line] for name, line in zip(grid.rows, values, strict=True)]
        printed = grid.printed(found.paper.claims)
        lines += [
            [f"{row}, published", *(printed.get((row, column)) for column in grid.columns)]
            for row in dict.fromkeys(row for row, _ in printed)
        ]
        yield f"tables/{grid.name}.csv", _csv([["run", *grid.columns], *lines])


def _csv(lines: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def _json(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
