"""`[search]` in a paper's file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from nandlab.reproduce.claim import JUDGED, Claim
from nandlab.reproduce.document import Table
from nandlab.reproduce.open_values import Open
from nandlab.reproduce.tree import Tree
from nandlab.reproduce.words import Why

PointKind = Literal["chosen", "alone", "tried", "joint"]
POINTS = 100


@dataclass(frozen=True)
class Search:
    """How to search a paper's open values."""

    points: int = POINTS
    """Joint points: every open value drawn at random."""
    seed: int = 1
    """Seed for the draws."""
    seeds: int = 1
    """Seeds for each point's runs."""
    keeps_chosen: bool = False
    """Whether joint points leave some values as chosen, a different share at each point."""
    claims: tuple[str, ...] = ()
    """Claims to judge; if empty, all measured ones."""
    parts: dict[str, Tree] = field(default_factory=dict)
    """Changes to parts, to shorten their runs."""
    tried: tuple[Mapping[str, Any], ...] = ()
    """Points found by hand: values for some open things; the others stay as chosen."""

    def judged(self, claims: Sequence[Claim]) -> tuple[Claim, ...]:
        """The claims judged at each point, reduced to their verdict's inputs."""
        wanted = self.claims or tuple(claim.id for claim in claims if claim.kind in JUDGED)
        bare = {"note": Why("", ()), "why": Why("", ()), "true_units": None, "true_holds": ()}
        return tuple(replace(claim, **bare) for claim in claims if claim.id in wanted)  # type: ignore[arg-type]


def parse_search(top: Table, parts: Iterable[str]) -> Search:
    """The table `[search]`.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    table = top.table("search")
    if top.has("search") and not (top.has("open") or top.has("reading")):
        raise top.error("search", "there is no [[open]] value and no [[reading]] that could be searched")
    over = table.table("parts")
    for key in over.keys():  # noqa: SIM118 - a Table is no dictionary
        if key not in parts:
            raise over.error(key, f"there is no part {key!r} that a search could change")
    found = Search(
        points=table.whole("points", POINTS),
        seed=table.whole("seed", 1),
        seeds=table.whole("seeds", 1),
        keeps_chosen=table.truth("keeps_chosen", False),
        claims=tuple(table.texts("claims")),
        parts={key: over.plain(key) for key in over.keys()},  # noqa: SIM118
        tried=tuple(_parse_tried(each) for each in table.tables("tried")),
    )
    table.end()
    return found


def _parse_tried(table: Table) -> Mapping[str, Any]:
    """An entry `[[search.tried]]`; its words are for the file's readers."""
    table.text("what")
    values = table.plain("values")
    table.end()
    if not values:
        raise table.error("values", "expected values of what is open")
    return values


def _check_tried(top: Table, search: Search, opens: Mapping[str, Open]) -> None:
    for table, values in zip(top.table("search").tables("tried"), search.tried, strict=True):
        for name, value in values.items():
            if name not in opens:
                raise table.table("values").error(
                    name, f"no [[open]] or [[reading]] has this name; there are {', '.join(opens)}"
                )
            if not opens[name].has(value):
                raise table.table("values").error(
                    name, f"{value!r} is no value that the entry of {name} allows"
                )


def check_search(top: Table, search: Search, claims: Sequence[Claim], opens: Sequence[Open]) -> None:
    """Refuses points found by hand with values that are not open, and claims no point judges.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    _check_tried(top, search, {each.name: each for each in opens})
    kinds = {claim.id: claim.kind for claim in claims}
    for name in search.claims:
        if name not in kinds:
            raise top.table("search").error("claims", f"there is no claim {name!r}")
        if kinds[name] not in JUDGED:
            words = f"{name} is of kind {kinds[name]}: expected claims of kind {', '.join(JUDGED)}"
            raise top.table("search").error("claims", words)
    judged = {claim.id for claim in search.judged(claims)}
    for claim in claims:
        for name in claim.together:
            if name not in kinds or name == claim.id:
                raise claim.table.error("together", f"there is no other claim {name!r}")
        for name in (claim.id, *claim.together) if claim.together else ():
            if not opens or name not in judged:
                raise claim.table.error(
                    "together", f"no search judges {name}: see [search], [[open]] and [[reading]]"
                )
