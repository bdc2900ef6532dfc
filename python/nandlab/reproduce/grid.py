"""Tables in a paper's file: a run for each row, a measure or a formula for each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nandlab.reproduce.claim import Claim
from nandlab.reproduce.document import Table
from nandlab.reproduce.formula import Formula, parse_formula
from nandlab.reproduce.heading import Headed, parse_heading
from nandlab.reproduce.published import Cell, parse_cells


@dataclass(frozen=True)
class Grid(Headed):
    """A table: a row for each run, a column for each name ending, such as `4k.cost`.

    A column with `$` is a formula; `$` stands for the row.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    one_seed: bool
    """Whether it shows the first seed alone, and no means."""
    spread: bool = False
    """Whether cells also show the seeds' least and most values."""
    bars: tuple[str, ...] = ()
    """Columns to draw as well: a bar each, side by side for every row."""
    bars_title: str = ""
    bars_log: bool = False
    """Whether their axes are logarithmic."""
    published: tuple[Cell, ...] = ()
    """Published values beside the ones from claims with a cell's formula."""

    def names(self) -> list[str]:
        """The figures in its cells."""
        cells = [self.cell(row, column) for row in self.rows for column in self.columns]
        return [name for cell in cells for name in cell.names]

    def cell(self, row: str, column: str) -> Formula:
        """The text in a row and a column.

        Raises:
            FormulaError: The column is no formula.

        """
        return parse_formula(column.replace("$", row) if "$" in column else f"{row}.{column}")

    def printed(self, claims: Sequence[Claim]) -> dict[tuple[str, str], float]:
        """The published numbers, by row and column.

        Beside values named in the file, a claim with a cell's formula gives the cell its number.
        """
        read = {
            _bare(claim.measured.text): claim.published
            for claim in reversed(claims)
            if claim.measured is not None and claim.published is not None
        }
        found = {}
        for row in self.rows:
            for column in self.columns:
                number = read.get(_bare(self.cell(row, column).text))
                if number is not None:
                    found[row, column] = number
        named = {(each.row, each.column): each.number(claims) for each in self.published if each.row}
        return {**found, **named}


def _bare(formula: str) -> str:
    return "".join(formula.split())


def parse_grid(table: Table) -> Grid:
    """Reads an entry in `[[tables]]`.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    rows, columns = tuple(table.texts("rows")), tuple(table.texts("columns"))
    grid = Grid(
        **parse_heading(table),
        rows=rows,
        columns=columns,
        one_seed=table.truth("one_seed", False),
        spread=table.truth("spread", False),
        bars=tuple(table.texts("bars")),
        bars_title=table.text("bars_title", ""),
        bars_log=table.truth("bars_log", False),
        published=parse_cells(table, rows, columns),
    )
    table.end()
    if grid.bars_log and (grid.bars_title or not grid.bars):
        raise table.error("bars_log", "expected `bars` without `bars_title`, each in a panel of its own")
    for column in grid.bars:
        if column not in grid.columns:
            raise table.error("bars", f"expected columns of the table, given {column!r}")
    return grid
