"""A search's points: a value for every open thing."""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nandlab.reproduce.claim import Claim
from nandlab.reproduce.formula import parse_formula
from nandlab.reproduce.open_values import Open
from nandlab.reproduce.paper import Paper
from nandlab.reproduce.readings import Reading
from nandlab.reproduce.search_settings import PointKind
from nandlab.reproduce.tree import Tree, merged


@dataclass(frozen=True)
class Point:
    """A value for everything open."""

    kind: PointKind
    values: Mapping[str, Any]


def names_of(claims: Iterable[Claim]) -> list[str]:
    """Every figure the claims read, once."""
    return list(dict.fromkeys(name for claim in claims for name in claim.names))


def paper_at(paper: Paper, values: Mapping[str, Any], kind: PointKind = "chosen") -> Paper:
    """The paper with values for everything open, and its claims by these readings.

    Its runs are as short as its search says; points found by hand run as long as usual.
    """
    shorter = {} if kind == "tried" else paper.search.parts
    measures = {key: formula.text for key, formula in paper.measures.items()}
    file: Tree = {
        "template": paper.template,
        "parts": merged(paper.parts, shorter),
        "measures": measures,
    }
    for each in (*paper.opens, *paper.meanings):
        if each.name in values:
            file = each.put_into(file, values[each.name])
    claims = paper.claims
    for reading in paper.meanings:
        claims = reading.judged(claims, values.get(reading.name, reading.chosen))
    formulas = {
        key: paper.measures[key] if text == measures[key] else parse_formula(str(text))
        for key, text in file["measures"].items()
    }
    return replace(paper, template=file["template"], parts=file["parts"], measures=formulas, claims=claims)


def points_of(paper: Paper) -> list[Point]:
    """A search's points: the chosen values, each value alone, finds by hand, and all values at random.

    The draws come from Python's `random.Random(seed)`: one number from 0 to 1 for each open value in each
    point, in the file's order. With `keeps_chosen` a number before these sets the share of values
    that stay as chosen: so some points are near the file, and others far from it. Readings have a
    generator of their own, `random.Random(f"{seed} readings")`: one more changes no draw of an open value.

    No joint point comes twice. With no more combinations than points, each combination is a point.
    """
    chosen = chosen_of(paper)
    alone = [Point("alone", {**chosen, each.name: value}) for each in paper.varied for value in each.alone]
    tried = [Point("tried", {**chosen, **values}) for values in paper.search.tried]
    return [Point("chosen", chosen), *alone, *tried, *_joint(paper)]


def chosen_of(paper: Paper) -> dict[str, Any]:
    """The file's value for everything open and read."""
    return {each.name: each.chosen for each in paper.varied}


def combinations(paper: Paper) -> float:
    """How many combinations of values exist; infinite with a range."""
    return math.prod(math.inf if each.range is not None else len(each.values) for each in paper.varied)


def takes_all(paper: Paper) -> bool:
    """Whether a search's joint points are all combinations."""
    return combinations(paper) <= paper.search.points


def _joint(paper: Paper) -> list[Point]:
    search, count = paper.search, paper.search.points
    if takes_all(paper):
        found: list[dict[str, Any]] = [{}]
        for each in paper.varied:
            found = [{**values, each.name: value} for values in found for value in each.values]
        return [Point("joint", values) for values in found]
    draws = random.Random(search.seed)  # noqa: S311 - not for secrets
    readings = random.Random(f"{search.seed} readings")  # noqa: S311
    seen, tries = dict[str, Point](), 0
    while len(seen) < count and tries < 1000 * count:
        kept = draws.random() if search.keeps_chosen else 0.0
        values = {
            each.name: _drawn(each, (readings if isinstance(each, Reading) else draws).random(), kept)
            for each in paper.varied
        }
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
    claims = paper.searched_claims
    search = paper.search
    kinds: tuple[PointKind, ...] = ("chosen", "tried") if search.tried else ("chosen",)
    chosen, runs = chosen_of(paper), dict[str, list[Any]]()
    meanings = [each for each in paper.varied if isinstance(each, Reading)]
    read = [each for one in meanings for value in one.alone for each in one.judged(claims, value)]
    for at in (paper_at(paper, chosen, kind) for kind in kinds):
        for name in names_of([*claims, *read]):
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
        "open": [each.meaning() for each in paper.varied],
        "search": [search.points, search.seed, search.seeds, search.parts]
        + ["keeps_chosen"] * search.keeps_chosen
        + [dict(values) for values in search.tried],
    }  # fmt: skip
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]
