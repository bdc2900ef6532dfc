"""The file `papers/search/<paper>.csv` with a search's measurements."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from nandlab._native import ConfigError
from nandlab.reproduce.paper import Paper
from nandlab.reproduce.search_found import Found, Row, Seen
from nandlab.reproduce.search_points import Point
from nandlab.reproduce.search_settings import PointKind

DIGITS = 10
"""Digits for a measured figure in the file."""
_HEAD = re.compile(r"# search (\S+), fingerprint ([0-9a-f]{16}), points (\d+), seed (\d+), seeds (\d+)")


def row_of(paper: Paper, point: Point, seen: Mapping[str, Seen]) -> Row:
    """A row; figures are rounded as the file keeps them."""
    values = {each.name: each.text(point.values[each.name]) for each in paper.varied}
    rounded = {
        name: Seen(None if one.measured is None else float(_text(one.measured)), one.word)
        for name, one in seen.items()
    }
    return Row(point.kind, values, rounded)


def point_of(paper: Paper, row: Row) -> Point:
    """A row's point, to be measured again.

    Raises:
        ValueError: It has a value unknown to the paper.

    """
    return Point(row.kind, {each.name: each.read(row.values[each.name]) for each in paper.varied})


def _text(value: float) -> str:
    return f"{value:.{DIGITS}g}"


def csv_text(paper: Paper, found: Found) -> str:
    """A search's file."""
    text = io.StringIO()
    text.write(
        f"# search {paper.name}, fingerprint {found.fingerprint}, points {found.points}, seed {found.seed}, "
        f"seeds {found.seeds}\n"
    )
    writer = csv.writer(text, lineterminator="\n")
    ids = [claim.id for claim in paper.searched_claims]
    opens = [each.name for each in paper.varied]
    writer.writerow(
        [
            "point",
            *(f"open {name}" for name in opens),
            *(cell for name in ids for cell in (name, f"{name} verdict")),
        ]
    )
    for row in found.rows:
        cells: list[Any] = [row.kind, *(row.values[name] for name in opens)]
        for name in ids:
            one = row.seen[name]
            cells += ["" if one.measured is None else _text(one.measured), one.word]
        writer.writerow(cells)
    return text.getvalue()


def parse_csv(text: str, file: str) -> Found:
    """Reads a search's file.

    Raises:
        ConfigError: It is no such file; with file and line.

    """
    first, _, rest = text.partition("\n")
    head = _HEAD.fullmatch(first.strip())
    if head is None:
        raise _error(file, 1, "expected '# search <paper>, fingerprint ..., points ..., seed ..., seeds ...'")
    lines = list(csv.reader(io.StringIO(rest)))
    if not lines:
        raise _error(file, 2, "expected the names of the columns")
    titles = lines[0]
    rows = tuple(_row(file, at, titles, line) for at, line in enumerate(lines[1:], 3))
    points, seed, seeds = (int(head.group(at)) for at in (3, 4, 5))
    return Found(head.group(2), points, seed, seeds, rows)


def _row(file: str, at: int, titles: list[str], line: list[str]) -> Row:
    if len(line) != len(titles):
        raise _error(file, at, f"expected {len(titles)} cells, given {len(line)}")
    cells = dict(zip(titles, line, strict=True))
    kind: Any = cells.get("point")
    if kind not in get_args(PointKind):
        raise _error(
            file, at, f"expected a point that is one of {', '.join(get_args(PointKind))}, given {kind!r}"
        )
    values = {title.removeprefix("open "): cell for title, cell in cells.items() if title.startswith("open ")}
    seen = {}
    for title in titles:
        if f"{title} verdict" in cells:
            try:
                measured = float(cells[title]) if cells[title] else None
            except ValueError:
                raise _error(file, at, f"{title}: expected a number, given {cells[title]!r}") from None
            seen[title] = Seen(measured, cells[f"{title} verdict"])
    return Row(kind, values, seen)


def _error(file: str, line: int, message: str) -> ConfigError:
    error = ConfigError(f"{file}, line {line}: {message}")
    error.file, error.line = file, line
    return error


def beside(file: Path) -> Path:
    """The file for a paper's search."""
    return file.parent / "search" / f"{file.stem}.csv"
