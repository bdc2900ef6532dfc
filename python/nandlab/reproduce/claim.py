"""A claim in a paper: its statement, and its measurement."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from nandlab.reproduce.document import Table
from nandlab.reproduce.formula import Condition, Formula, parse_condition, parse_formula
from nandlab.reproduce.tolerance import Tolerance, parse_tolerance
from nandlab.reproduce.verdict import Kind
from nandlab.reproduce.words import Why, parse_why

TRUE_UNITS = "true_units"
"""The reading that counts real flash operations."""

KINDS: tuple[str, ...] = get_args(Kind)
JUDGED = ("value", "order", "sign")
"""Kinds of claims a point in a search can meet."""


@dataclass(frozen=True)
class Claim:
    """A statement in the paper."""

    id: str
    where: str
    kind: Kind
    statement: str
    published: float | None
    unit: str
    tolerance: str
    limits: Tolerance | None
    """The interval for `tolerance`."""
    loose: Tolerance | None
    fitted: bool
    """Whether it comes out with the file's choice, but not with every open value."""
    reading: str
    measured: Formula | None
    holds: tuple[Condition, ...]
    also: tuple[Condition, ...]
    """Conditions beside the number, for every seed."""
    true_units: Formula | None
    """The same figure in true units, if `reading` is another one."""
    true_holds: tuple[Condition, ...]
    exercised: tuple[Condition, ...]
    """Conditions that show the claim's mechanism ran."""
    to_exercise: str
    """How to make it run."""
    note: Why
    """A remark for every verdict."""
    why: Why
    """Why it differs, if it does."""
    table: Table = field(repr=False, compare=False)
    """Its place in the file."""
    together: tuple[str, ...] = ()
    """Claims the search tests for coming out together with this one."""

    @property
    def read_from(self) -> str:
        """The formula or the conditions over runs and measures."""
        return "; ".join(
            [
                *([self.measured.text] if self.measured else []),
                *(each.text for each in (*self.holds, *self.also)),
            ]
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The figures it reads: each a run and a measure."""
        read = [each for each in (self.measured, self.true_units) if each is not None]
        sources: list[Formula | Condition] = [
            *read,
            *self.holds,
            *self.also,
            *self.true_holds,
            *self.exercised,
        ]
        found = [name for source in sources for name in source.names]
        return tuple(dict.fromkeys([*found, *self.note.names, *self.why.names]))

    def without(self, is_absent: Callable[[str], bool]) -> Claim:
        """The claim over existing runs, if `min` and `max` over several leave some out."""
        return replace(
            self,
            measured=self.measured and self.measured.without(is_absent),
            note=self.note.without(is_absent),
            why=self.why.without(is_absent),
        )


def parse_claim(table: Table, readings: Iterable[str]) -> Claim:
    """Reads a claim in true units or one of the paper's own `readings`.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    kind: Any = table.chosen("kind", KINDS)
    reading = table.chosen("reading", (TRUE_UNITS, *readings), TRUE_UNITS)
    published = table.number("published") if kind in ("value", "model") else None
    tolerance, loose = table.text("tolerance", ""), table.text("loose", "")
    limits = None if published is None else table.read("tolerance", tolerance, _within(published))
    wide = table.read("loose", loose, _within(published)) if loose and published is not None else None
    if limits is not None and wide is not None and not wide.contains(limits):
        raise table.error("loose", f"expected a wider tolerance than {tolerance!r}, given {loose!r}")
    has_formula = kind not in ("order", "sign")
    true_units = table.texts("true_units")
    claim = Claim(
        id=table.text("id"),
        where=table.text("where"),
        kind=kind,
        statement=table.text("statement"),
        published=published,
        unit=table.text("unit", ""),
        tolerance=tolerance,
        limits=limits,
        loose=wide,
        fitted=table.truth("fitted", False),
        reading=reading,
        measured=_formula(table, "measured"),
        holds=_conditions(table, "holds", table.texts("holds")),
        also=_conditions(table, "also", table.texts("also")),
        true_units=_formula(table, "true_units") if has_formula and true_units else None,
        true_holds=() if has_formula else _conditions(table, "true_units", true_units),
        exercised=_conditions(table, "exercised", table.texts("exercised")),
        to_exercise=table.text("to_exercise", ""),
        note=table.read("note", table.text("note", ""), parse_why),
        why=table.read("why", table.text("why", ""), parse_why),
        table=table,
        together=tuple(table.texts("together")),
    )
    table.end()
    _check_claim(table, claim)
    return claim


def _within(published: float) -> Callable[[str], Tolerance]:
    return lambda text: parse_tolerance(text, published)


def _formula(table: Table, key: str) -> Formula | None:
    return table.read(key, table.text(key), parse_formula) if table.has(key) else None


def _conditions(table: Table, key: str, texts: Iterable[str]) -> tuple[Condition, ...]:
    return tuple(table.read(key, text, parse_condition) for text in texts)


def _check_claim(table: Table, claim: Claim) -> None:
    """Refuses claims that cannot be measured as written."""
    kind = claim.kind
    if kind in ("value", "model", "not_printed") and claim.measured is None:
        raise table.error("measured", f"a claim of kind {kind} is read from a formula")
    _check_comparisons(table, claim)
    if kind == "not_reproducible" and not claim.why.text:
        raise table.error("why", "expected what it would take that nobody has")
    if claim.reading != TRUE_UNITS and claim.true_units is None and not claim.true_holds:
        raise table.error(
            "true_units", f"a claim that is read in {claim.reading} is shown in true units, too"
        )
    if claim.exercised and not claim.to_exercise:
        raise table.error("to_exercise", "expected what would make the mechanism run")
    if kind == "model" and claim.names:
        raise table.error("measured", f"a model claim is a formula, and {claim.names[0]} is a measurement")
    if kind == "value" and claim.measured is not None and not claim.measured.names:
        raise table.error("measured", "a formula without a measurement is a claim of kind model")


def _check_comparisons(table: Table, claim: Claim) -> None:
    """Refuses an order without comparisons, and comparisons beside a missing number."""
    has_order = claim.kind in ("order", "sign")
    if has_order and not claim.holds:
        raise table.error("holds", f"a claim of kind {claim.kind} holds or does not: expected a comparison")
    if claim.holds and not has_order:
        raise table.error("holds", f"a claim of kind {claim.kind} has comparisons beside its number in also")
    if claim.fitted and not (has_order or claim.kind == "value"):
        raise table.error("fitted", f"a claim of kind {claim.kind} rests on nothing that could be fitted")
    if claim.also and claim.kind != "value":
        raise table.error(
            "also", f"it stands beside a number; a claim of kind {claim.kind} has its comparisons in holds"
        )
