"""What a sentence in a paper may mean: `[[reading]]`, with the meaning the file chose and the others."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from nandlab.reproduce.claim import JUDGED, Claim
from nandlab.reproduce.document import Table
from nandlab.reproduce.formula import Condition, Formula, parse_condition, parse_formula
from nandlab.reproduce.open_values import Open, Value, beside_search, parse_choices
from nandlab.reproduce.tree import Tree

Kind = Literal["definition", "average", "unit", "amount", "order", "rule"]
KINDS: tuple[str, ...] = get_args(Kind)


@dataclass(frozen=True)
class Change:
    """How a choice judges a claim; what is None stays as in the claim."""

    measured: Formula | None = None
    holds: tuple[Condition, ...] | None = None
    also: tuple[Condition, ...] | None = None

    def of(self, claim: Claim) -> Claim:
        """The claim, judged this way."""
        return replace(
            claim,
            measured=claim.measured if self.measured is None else self.measured,
            holds=claim.holds if self.holds is None else self.holds,
            also=claim.also if self.also is None else self.also,
        )

    def changes(self, claim: Claim) -> bool:
        """Whether it judges the claim in another way than the file."""
        return _formulas(self.of(claim)) != _formulas(claim)

    def meaning(self) -> dict[str, Any]:
        """The formulas as texts."""
        lists = {"holds": self.holds, "also": self.also}
        found: dict[str, Any] = {key: _texts(each) for key, each in lists.items() if each is not None}
        return found if self.measured is None else {"measured": self.measured.text, **found}


def _texts(conditions: Sequence[Condition]) -> list[str]:
    return [each.text for each in conditions]


def _formulas(claim: Claim) -> list[object]:
    """What a claim is judged by, as texts."""
    return [claim.measured and claim.measured.text, _texts(claim.holds), _texts(claim.also)]


@dataclass(frozen=True)
class Reading(Open):
    """A sentence with several meanings: the file's choice, and the others."""

    kind: Kind = "definition"
    claims: Mapping[str, Mapping[str, Change]] = field(default_factory=dict)
    """For each choice, changes to claims, by their ids."""

    def judged(self, claims: Sequence[Claim], value: Value) -> tuple[Claim, ...]:
        """The claims as a choice judges them."""
        changes = self.claims[value]
        return tuple(changes[each.id].of(each) if each.id in changes else each for each in claims)

    def changes(self, claim: str) -> bool:
        """Whether a choice judges this claim by other formulas."""
        return any(claim in each for each in self.claims.values())

    def meaning(self) -> dict[str, Any]:
        """All but the words."""
        claims = {
            value: {name: change.meaning() for name, change in changes.items()}
            for value, changes in self.claims.items()
        }
        return {**super().meaning(), "claims": claims}


@dataclass(frozen=True)
class Context:
    """What a reading in a file may change."""

    file: Tree
    """The tables `template`, `parts` and `measures`."""
    claims: Mapping[str, Claim]
    """Every claim, by its id."""
    judged: Sequence[str]
    """Ids of the claims a search judges."""
    split: Callable[[str], object]
    """Raises `ValueError` for a name that is no run and measure of the file."""


def parse_readings(top: Table, context: Context, opens: Sequence[Open]) -> tuple[Reading, ...]:
    """A paper's `[[reading]]` entries; `opens` has its `[[open]]` entries.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    found: list[Reading] = []
    for table in top.tables("reading"):
        one = _parse_reading(table, context)
        if one.name in [each.name for each in (*opens, *found)]:
            raise table.error("name", f"{one.name} stands twice in [[open]] and [[reading]]")
        _refuse_two(table, one, found)
        table.end()
        found.append(one)
    return tuple(found)


def _refuse_two(table: Table, one: Reading, others: Sequence[Reading]) -> None:
    """Refuses a second reading of a claim: its formulas would replace those of the first."""
    for value, changes in one.claims.items():
        for claim in changes:
            for other in others:
                if other.changes(claim):
                    place = table.table("choices").table(value).table("claims")
                    words = (
                        f"the reading {other.name} changes this claim, too: change a measure in one of them"
                    )
                    raise place.error(claim, words)


def _parse_reading(table: Table, context: Context) -> Reading:
    kind: Any = table.chosen("kind", KINDS)
    changes: dict[str, dict[str, Change]] = {}
    if not table.truth("searched", True):
        context = replace(context, judged=tuple(context.claims))

    def more(value: str, choice: Table) -> None:
        below = choice.table("claims")
        changes[value] = {name: _parse_change(below, name, context) for name in below.keys()}  # noqa: SIM118

    base = parse_choices(table, table.text("name"), table.text("what"), context.file, more)
    found = Reading(
        base.name, base.what, (), base.chosen, base.values, choices=base.choices, removed=base.removed,
        kind=kind, claims=changes,
    )  # fmt: skip
    if changes[found.chosen]:
        words = f"the claims stand for the choice {found.chosen}, so that one cannot change any of them"
        raise table.error("chosen", words)
    for value in found.alone:
        if not changes[value] and found.put_into(context.file, value) == context.file:
            raise table.table("choices").error(value, "this choice changes nothing")
    return beside_search(table, found)


def _parse_change(below: Table, name: str, context: Context) -> Change:
    """A choice's formulas for a claim."""
    if name not in context.claims:
        near = difflib.get_close_matches(name, context.claims, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise below.error(name, f"there is no claim {name!r}{hint}")
    claim, table = context.claims[name], below.table(name)
    if claim.kind not in JUDGED:
        raise below.error(name, f"a claim of kind {claim.kind} is not judged: no reading can change it")
    if name not in context.judged:
        raise below.error(name, "no search judges this claim: see [search]")
    allowed = ("measured", "also") if claim.kind == "value" else ("holds",)
    if not table.keys():
        raise below.error(name, f"expected {' or '.join(allowed)}")
    for key in ("measured", "holds", "also"):
        if table.has(key) and key not in allowed:
            words = f"a claim of kind {claim.kind} is judged by {' and '.join(allowed)}"
            raise table.error(key, words)
    change = Change(
        table.read("measured", table.text("measured"), parse_formula) if table.has("measured") else None,
        _conditions(table, "holds"),
        _conditions(table, "also"),
    )
    table.end()
    if not change.changes(claim):
        raise below.error(name, "this is how the claim stands in the file: it changes nothing")
    for each in change.of(claim).names:
        if each not in claim.names:
            table.read("measured" if claim.kind == "value" else "holds", each, context.split)
    return change


def _conditions(table: Table, key: str) -> tuple[Condition, ...] | None:
    if not table.has(key):
        return None
    return tuple(table.read(key, text, parse_condition) for text in table.texts(key))
