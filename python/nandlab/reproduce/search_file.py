"""A search's measurements: rows, and the file `papers/search/<paper>.csv` to keep them."""

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
"""Digits for a measured figure in the file."""
_HEAD = re.compile(r"# search (\S+), fingerprint ([0-9a-f]{16}), points (\d+), seed (\d+), seeds (\d+)")


MET = ("reproduced", "loose", "direction")


@dataclass(frozen=True)
class Seen:
    """A claim at a point."""

    measured: float | None
    """A number's mean; for an order the margin of its worst condition, a share of its larger side."""
    word: str
    """A verdict, `not_runnable` if a run failed or was refused, `no_value` if a formula has none."""

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
    """A search; all texts about one are computed from this."""

    fingerprint: str
    points: int
    """Joint points requested."""
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
        """The point with the file's own values."""
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
    """A row's point, to be measured again.

    Raises:
        ValueError: It has a value unknown to the paper.

    """
    return Point(row.kind, {each.name: each.read(row.values[each.name]) for each in paper.opens})


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
