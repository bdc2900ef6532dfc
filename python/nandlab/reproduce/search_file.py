"""What a search has measured: rows, and the file `papers/search/<paper>.csv` that keeps them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from nandlab._native import ConfigError
from nandlab.reproduce.search_points import Point, PointKind, searched_claims

if TYPE_CHECKING:
    from nandlab.reproduce.paper import Paper

DIGITS = 10
"""Of a measured figure in the file."""
_HEAD = re.compile(r"# search (\S+), fingerprint ([0-9a-f]{16}), points (\d+), seed (\d+), seeds (\d+)")


MET = ("reproduced", "loose", "direction")


@dataclass(frozen=True)
class Seen:
    """A claim at a point."""

    measured: float | None
    """The mean of a number; of an order by how much its worst condition holds, a share of its larger side."""
    word: str
    """A verdict, `not_runnable` where a run failed or was refused, `no_value` where a formula has none."""

    @property
    def is_met(self) -> bool:
        """Whether the paper's claim comes out."""
        return self.word in MET


@dataclass(frozen=True)
class Row:
    """A point, and each claim there."""

    kind: PointKind
    values: Mapping[str, str]
    """In one line each, as `Open.text` writes them."""
    seen: Mapping[str, Seen]


@dataclass(frozen=True)
class Found:
    """A search: everything that is said of one is computed from this."""

    fingerprint: str
    points: int
    """Joint points that were asked for."""
    seed: int
    seeds: int
    rows: tuple[Row, ...]
    failed: tuple[str, ...] = ()
    """Why runs were refused or failed."""
    stopped: bool = False

    def of_kind(self, kind: PointKind) -> list[Row]:
        """The chosen point, the values alone, the points found by hand, or the joint points."""
        return [row for row in self.rows if row.kind == kind]

    @property
    def chosen(self) -> Row | None:
        """The point of the file as it stands."""
        return next(iter(self.of_kind("chosen")), None)


def row_of(paper: Paper, point: Point, seen: Mapping[str, Seen]) -> Row:
    """A row; figures are rounded as the file keeps them."""
    values = {each.name: each.text(point.values[each.name]) for each in paper.opens}
    rounded = {
        name: Seen(None if one.measured is None else float(_text(one.measured)), one.word)
        for name, one in seen.items()
    }
    return Row(point.kind, values, rounded)


def point_of(paper: Paper, row: Row) -> Point:
    """The point of a row, to be measured again.

    Raises:
        ValueError: It has a value that is none of the paper's.

    """
    return Point(row.kind, {each.name: each.read(row.values[each.name]) for each in paper.opens})


def _text(value: float) -> str:
    return f"{value:.{DIGITS}g}"


def csv_text(paper: Paper, found: Found) -> str:
    """The file of a search."""
    text = io.StringIO()
    text.write(
        f"# search {paper.name}, fingerprint {found.fingerprint}, points {found.points}, seed {found.seed}, "
        f"seeds {found.seeds}\n"
    )
    writer = csv.writer(text, lineterminator="\n")
    ids = [claim.id for claim in searched_claims(paper)]
    opens = [each.name for each in paper.opens]
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
    """Reads the file of a search.

    Raises:
        ConfigError: It is none, with file and line.

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
    """Where the search of a paper's file is kept."""
    return file.parent / "search" / f"{file.stem}.csv"
