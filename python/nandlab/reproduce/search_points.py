"""`[search]` in a paper's file, and a search's points: a value for every open thing."""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from nandlab.reproduce.document import Table
from nandlab.reproduce.formula import parse_formula
from nandlab.reproduce.tree import Tree, merged
from nandlab.reproduce.words import Why

if TYPE_CHECKING:
    from nandlab.reproduce.claim import Claim
    from nandlab.reproduce.open_values import Open
    from nandlab.reproduce.paper import Paper

PointKind = Literal["chosen", "alone", "tried", "joint"]
JUDGED = ("value", "order", "sign")
"""Kinds of claims a point can meet."""
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


@dataclass(frozen=True)
class Point:
    """A value for everything open."""

    kind: PointKind
    values: Mapping[str, Any]


def parse_search(top: Table, parts: Iterable[str]) -> Search:
    """The table `[search]`.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    table = top.table("search")
    if top.has("search") and not top.has("open"):
        raise top.error("search", "there is no [[open]] value that could be searched")
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


def _check_tried(top: Table, paper: Paper) -> None:
    opens = {each.name: each for each in paper.opens}
    for table, values in zip(top.table("search").tables("tried"), paper.search.tried, strict=True):
        for name, value in values.items():
            if name not in opens:
                raise table.table("values").error(
                    name, f"nothing of this name is open; there are {', '.join(opens)}"
                )
            if not opens[name].has(value):
                raise table.table("values").error(
                    name, f"{value!r} is no value that the entry [[open]] of {name} allows"
                )


def check_search(top: Table, paper: Paper) -> None:
    """Refuses points found by hand with values that are not open, and claims no point judges.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    _check_tried(top, paper)
    kinds = {claim.id: claim.kind for claim in paper.claims}
    for name in paper.search.claims:
        if name not in kinds:
            raise top.table("search").error("claims", f"there is no claim {name!r}")
        if kinds[name] not in JUDGED:
            words = f"{name} is of kind {kinds[name]}: expected claims of kind {', '.join(JUDGED)}"
            raise top.table("search").error("claims", words)
    judged = {claim.id for claim in searched_claims(paper)}
    for claim in paper.claims:
        for name in claim.together:
            if name not in kinds or name == claim.id:
                raise claim.table.error("together", f"there is no other claim {name!r}")
        for name in (claim.id, *claim.together) if claim.together else ():
            if not paper.opens or name not in judged:
                raise claim.table.error("together", f"no search judges {name}: see [search] and [[open]]")


def searched_claims(paper: Paper) -> tuple[Claim, ...]:
    """The claims judged at each point, reduced to their verdict's inputs."""
    wanted = paper.search.claims or tuple(claim.id for claim in paper.claims if claim.kind in JUDGED)
    bare = {"note": Why("", ()), "why": Why("", ()), "true_units": None, "true_holds": ()}
    return tuple(replace(claim, **bare) for claim in paper.claims if claim.id in wanted)  # type: ignore[arg-type]


def names_of(claims: Iterable[Claim]) -> list[str]:
    """Every figure the claims read, once."""
    return list(dict.fromkeys(name for claim in claims for name in claim.names))


def paper_at(paper: Paper, values: Mapping[str, Any], kind: PointKind = "chosen") -> Paper:
    """The paper with values for everything open.

    Its runs are as short as its search says; points found by hand run as long as usual.
    """
    shorter = {} if kind == "tried" else paper.search.parts
    measures = {key: formula.text for key, formula in paper.measures.items()}
    file: Tree = {
        "template": paper.template,
        "parts": merged(paper.parts, shorter),
        "measures": measures,
    }
    for each in paper.opens:
        file = each.put_into(file, values[each.name])
    formulas = {
        key: paper.measures[key] if text == measures[key] else parse_formula(str(text))
        for key, text in file["measures"].items()
    }
    return replace(paper, template=file["template"], parts=file["parts"], measures=formulas)


def points_of(paper: Paper) -> list[Point]:
    """A search's points: the chosen values, each value alone, finds by hand, and all values at random.

    The draws come from Python's `random.Random(seed)`: one number from 0 to 1 for each open value in each
    point, in the file's order. With `keeps_chosen` a number before these sets the share of values
    that stay as chosen: so some points are near the file, and others far from it.

    No joint point comes twice. With no more combinations than points, each combination is a point.
    """
    chosen = {each.name: each.chosen for each in paper.opens}
    alone = [Point("alone", {**chosen, each.name: value}) for each in paper.opens for value in each.alone]
    tried = [Point("tried", {**chosen, **values}) for values in paper.search.tried]
    return [Point("chosen", chosen), *alone, *tried, *_joint(paper)]


def combinations(paper: Paper) -> float:
    """How many combinations of values exist; infinite with a range."""
    return math.prod(math.inf if each.range is not None else len(each.values) for each in paper.opens)


def takes_all(paper: Paper) -> bool:
    """Whether a search's joint points are all combinations."""
    return combinations(paper) <= paper.search.points


def _joint(paper: Paper) -> list[Point]:
    opens, count = paper.opens, paper.search.points
    if takes_all(paper):
        found: list[dict[str, Any]] = [{}]
        for each in opens:
            found = [{**values, each.name: value} for values in found for value in each.values]
        return [Point("joint", values) for values in found]
    draws, seen = random.Random(paper.search.seed), dict[str, Point]()  # noqa: S311 - not for secrets
    tries = 0
    while len(seen) < count and tries < 1000 * count:
        kept = draws.random() if paper.search.keeps_chosen else 0.0
        values = {each.name: _drawn(each, draws.random(), kept) for each in opens}
        seen.setdefault(json.dumps(values, sort_keys=True), Point("joint", values))
        tries += 1
    return list(seen.values())


def _drawn(each: Open, share: float, kept: float) -> Any:  # noqa: ANN401 - a TOML value
    """The chosen value for draws below `kept`, and all values for those above it."""
    return each.chosen if share < kept else each.at((share - kept) / (1 - kept))


def fingerprint(paper: Paper) -> str:
    """A digest of the file's meaning, without its words: a search belongs to the paper if it agrees.

    It is the first 16 digits of a SHA-256 over the judged claims, their experiments and measures,
    the open values, and the search's settings.
    """
    claims = searched_claims(paper)
    search = paper.search
    kinds: tuple[PointKind, ...] = ("chosen", "tried") if search.tried else ("chosen",)
    chosen, runs = {each.name: each.chosen for each in paper.opens}, dict[str, list[Any]]()
    for at in (paper_at(paper, chosen, kind) for kind in kinds):
        for name in names_of(claims):
            run, measure = at.split(name)
            runs.setdefault(name, []).extend(
                [at.tree(run), at.measures[measure].text, at.has_one_course(run)]
            )
    document = {
        "claims": [
            [claim.id, claim.kind, claim.published, claim.tolerance, claim.loose and claim.loose.text,
             claim.measured and claim.measured.text]
            + [[each.text for each in part] for part in (claim.holds, claim.also, claim.exercised)]
            for claim in claims
        ],
        "runs": runs,
        "open": [each.meaning() for each in paper.opens],
        "search": [search.points, search.seed, search.seeds, search.parts]
        + ["keeps_chosen"] * search.keeps_chosen
        + [dict(values) for values in search.tried],
    }  # fmt: skip
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]
