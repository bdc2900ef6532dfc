"""Published values in pictures: claims' numbers, by their ids, and their places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nandlab.reproduce.claim import Claim
from nandlab.reproduce.document import Table
from nandlab.reproduce.formula import Formula, FormulaError, parse_formula

LABEL = "published"
"""A published value's name by default."""


@dataclass(frozen=True)
class Mark:
    """A published value in a chart with lines.

    With `y` alone it is a line from side to side, with `x` alone one from top to bottom, with both a point.
    """

    x: Formula | None
    y: Formula | None
    """Formulas over claims' published numbers."""
    panels: tuple[str, ...]
    """Its panels; empty for all."""
    label: str


@dataclass(frozen=True)
class Cell:
    """A published value in a table: for a row and a column, or for all rows."""

    row: str
    """Empty for a value over the whole column."""
    column: str
    value: Formula
    label: str

    def number(self, claims: Sequence[Claim]) -> float:
        """The published number."""
        return value(self.value, claims)


def parse_marks(table: Table) -> tuple[Mark, ...]:
    """Reads `[[published]]` in a figure or a timeline.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    return tuple(_mark(each) for each in table.tables("published"))


def _mark(table: Table) -> Mark:
    found = Mark(_number(table, "x"), _number(table, "y"), tuple(table.texts("panels")), _label(table))
    table.end()
    if not any(each.names for each in (found.x, found.y) if each):
        raise table.error("y", "expected x, y or both, and the id of a claim in one of them")
    return found


def _number(table: Table, key: str) -> Formula | None:
    return table.read(key, table.text(key), parse_formula) if table.has(key) else None


def _label(table: Table) -> str:
    return table.text("label", LABEL)


def parse_cells(table: Table, rows: Sequence[str], columns: Sequence[str]) -> tuple[Cell, ...]:
    """Reads `[[published]]` in a table with these rows and columns.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    found = []
    for each in table.tables("published"):
        cell = Cell(
            row=each.text("row", ""),
            column=each.text("column"),
            value=each.read("value", each.text("value"), parse_formula),
            label=_label(each),
        )
        each.end()
        for key, name, known in (("row", cell.row, rows), ("column", cell.column, columns)):
            if name not in known and (name or key == "column"):
                raise each.error(key, f"expected a {key} of the table, given {name!r}")
        if not cell.value.names:
            raise each.error("value", "expected the id of a claim with a published number")
        found.append(cell)
    return tuple(found)


def check_marks(table: Table, marks: Sequence[Mark], panels: Sequence[str], claims: Sequence[Claim]) -> None:
    """Refuses published values from claims without a number, and in unknown panels.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    for entry, mark in zip(table.tables("published"), marks, strict=True):
        for key, formula in (("x", mark.x), ("y", mark.y)):
            if formula is not None:
                _check(entry, key, formula, claims)
        for name in mark.panels:
            if name not in panels:
                raise entry.error("panels", f"expected some of {', '.join(panels)}; given {name!r}")


def check_cells(table: Table, cells: Sequence[Cell], claims: Sequence[Claim]) -> None:
    """The same for a table."""
    for entry, cell in zip(table.tables("published"), cells, strict=True):
        _check(entry, "value", cell.value, claims)


def _check(entry: Table, key: str, formula: Formula, claims: Sequence[Claim]) -> None:
    entry.read(key, formula.text, lambda _: value(formula, claims))


def value(formula: Formula, claims: Iterable[Claim]) -> float:
    """The value of a formula over published numbers.

    Raises:
        FormulaError: There is no such claim, or it prints no number.

    """
    printed: Mapping[str, float | None] = {claim.id: claim.published for claim in claims}

    def number(name: str) -> float:
        found = printed.get(name)
        if found is None:
            what = "prints no number" if name in printed else "is no claim"
            raise FormulaError(f"{name} {what}: a published value comes from a claim, by its id")
        return found

    return formula.value(number)
