"""A search in words: values that flip a claim, claims a point meets, and claims that exclude each other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nandlab.reproduce.claim import Claim
from nandlab.reproduce.paper import Paper
from nandlab.reproduce.search_distance import distance
from nandlab.reproduce.search_found import Found, Row, Seen
from nandlab.reproduce.search_points import takes_all
from nandlab.reproduce.verdict import short

MOST_TRIPLES = 40
"""Most claims for a look at sets of three."""


@dataclass(frozen=True)
class Flip:
    """A claim the chosen values meet, and one changed value that makes it differ."""

    claim: str
    name: str
    value: str
    measured: float | None


def flips(paper: Paper, found: Found) -> list[Flip]:
    """Every flip, in the order of the rows: met as chosen, `differs` with one value changed."""
    return _changes(paper, found, lambda chosen, alone: alone.word == "differs" and chosen.is_met)


def gains(paper: Paper, found: Found) -> list[Flip]:
    """Every value that alone makes a claim come out, when the chosen values do not."""
    return _changes(paper, found, lambda chosen, alone: alone.is_met and chosen.word == "differs")


def _changes(paper: Paper, found: Found, is_one: Callable[[Seen, Seen], bool]) -> list[Flip]:
    """Each claim and value for which `is_one` holds, of what is seen as chosen and with that value alone."""
    chosen = found.chosen
    if chosen is None:
        return []
    return [
        Flip(claim, name, row.values[name], one.measured)
        for row in found.of_kind("alone")
        for name in changed(paper, row)
        for claim, one in row.seen.items()
        if is_one(chosen.seen[claim], one)
    ]


def changed(paper: Paper, row: Row) -> list[str]:
    """The point's values that differ from the chosen ones."""
    return [each.name for each in paper.varied if row.values[each.name] != each.text(each.chosen)]


def unmarked(paper: Paper, found: Found) -> list[str]:
    """Claims flipped by one changed value, and not marked `fitted`."""
    fitted = {claim.id for claim in paper.claims if claim.fitted}
    return list(dict.fromkeys(flip.claim for flip in flips(paper, found) if flip.claim not in fitted))


def unflipped(paper: Paper, found: Found) -> list[str]:
    """Claims marked `fitted` and met with the chosen values, but flipped by no listed value alone."""
    flipped, chosen = {flip.claim for flip in flips(paper, found)}, found.chosen
    return [
        claim.id
        for claim in paper.searched_claims
        if claim.fitted and claim.id not in flipped and chosen is not None and chosen.seen[claim.id].is_met
    ]


def met_by(found: Found, claim: str) -> int:
    """How many joint points meet a claim."""
    return sum(row.seen[claim].is_met for row in found.of_kind("joint"))


def best(paper: Paper, found: Found, count: int) -> list[Row]:
    """Joint points and points found by hand that meet the most claims; among equals the earlier first."""
    rows = [row for row in (*found.of_kind("tried"), *found.of_kind("joint")) if changed(paper, row)]
    return sorted(rows, key=lambda row: -meets(row))[:count]


def meets(row: Row) -> int:
    """How many claims a point meets."""
    return sum(one.is_met for one in row.seen.values())


def exclusions(paper: Paper, found: Found) -> list[tuple[str, ...]]:
    """Pairs and triples of claims no point meets together, though points meet each smaller set.

    All points count, also points with one value changed.
    """
    met = {
        claim.id: sum(1 << at for at, row in enumerate(found.rows) if row.seen[claim.id].is_met)
        for claim in paper.searched_claims
    }
    names = [name for name, points in met.items() if points]
    pairs = [pair for pair in itertools.combinations(names, 2) if not met[pair[0]] & met[pair[1]]]
    if len(names) > MOST_TRIPLES:
        return [*pairs]
    known = set(pairs)
    triples = [
        three
        for three in itertools.combinations(names, 3)
        if not met[three[0]] & met[three[1]] & met[three[2]]
        and known.isdisjoint(itertools.combinations(three, 2))
    ]
    return [*pairs, *triples]


def distance_of(paper: Paper, row: Row, claims: Sequence[str]) -> float:
    """The claims' largest distance at a point, in half-widths of their tolerances."""
    by_id = {claim.id: claim for claim in paper.claims}
    return max(distance(by_id[name], row.seen[name].measured, row.seen[name].is_met) for name in claims)


def nearest(paper: Paper, found: Found, claims: Sequence[str]) -> tuple[Row, float] | None:
    """The point nearest to all the claims, and its distance; among equals the earlier."""
    rows = [(row, distance_of(paper, row, claims)) for row in found.rows]
    return min(rows, key=lambda each: each[1], default=None)


def values_in_words(paper: Paper, row: Row) -> str:
    """A point's values that differ from the chosen ones, `name = value`."""
    names = changed(paper, row)
    if not names:
        return "the chosen values"
    others = ", the rest as chosen" if len(names) < len(paper.varied) else ""
    return ", ".join(f"{name} = {row.values[name]}" for name in names) + others


def figures_in_words(paper: Paper, row: Row, claims: Sequence[str]) -> str:
    """The claims' figures at a point."""
    by_id = {claim.id: claim for claim in paper.claims}
    return ", ".join(_figure(by_id[name], row) for name in claims)


def _figure(claim: Claim, row: Row) -> str:
    one = row.seen[claim.id]
    if claim.published is None or one.measured is None:
        return f"{claim.id} {'holds' if one.is_met else one.word.replace('_', ' ')}"
    return f"{claim.id} = {short(one.measured)} (published {short(claim.published)})"


def points_in_words(paper: Paper, found: Found) -> str:
    """The point count by kind."""
    joint, alone, tried = (len(found.of_kind(kind)) for kind in ("joint", "alone", "tried"))
    how = (
        "every combination of the listed values"
        if takes_all(paper)
        else f"drawn at random with seed {found.seed}"
    )
    by_hand = f"{tried} found by hand, " if tried else ""
    kinds = f"{joint:,} joint ones, {how}, {by_hand}{alone} with one value changed, and the chosen one"
    return f"{len(found.rows):,} points ({kinds})"


def together(paper: Paper, claim: Claim) -> str:
    """Whether claims come out together, in sentences; empty if the file does not ask."""
    if not claim.together:
        return ""
    names = [claim.id, *claim.together]
    said = " and ".join([", ".join(names[:-1]), names[-1]])
    found = paper.searched
    if found is None or not found.rows:
        return (
            f"Whether {said} come out together is not known: no search was run for this file as it stands; "
            f"nandlab reproduce {paper.file} --search runs it"
        )
    count = sum(all(row.seen[name].is_met for name in names) for row in found.rows)
    near = nearest(paper, found, names)
    assert near is not None
    row, gap = near
    where = values_in_words(paper, row)
    figures = figures_in_words(paper, row, names)
    meet = "none meets" if count == 0 else "1 meets" if count == 1 else f"{count:,} meet"
    far = "" if count else f", {gap:.2f} half-widths of the tolerance off"
    points = points_in_words(paper, found)
    return f"Of {points}, {meet} {said} together. The nearest one has {where}: {figures}{far}"


def excluded_in_words(paper: Paper, found: Found, names: Sequence[str]) -> str:
    """Claims that exclude each other, and the point nearest to all."""
    near = nearest(paper, found, names)
    if near is None:
        return ", ".join(names)
    row, gap = near
    where = values_in_words(paper, row)
    return f"{' | '.join(names)}: {gap:.2f} off with {where}: {figures_in_words(paper, row, names)}"


def search_document(paper: Paper, found: Found) -> dict[str, Any]:
    """A search's JSON document."""
    lost = flips(paper, found)

    def row_document(row: Row) -> dict[str, Any]:
        claims = {name: {"measured": one.measured, "verdict": one.word} for name, one in row.seen.items()}
        return {"point": row.kind, "meets": meets(row), "values": dict(row.values), "claims": claims}

    def excluded(names: tuple[str, ...]) -> dict[str, Any]:
        near = nearest(paper, found, names)
        if near is None:
            return {"claims": list(names), "nearest": None, "half_widths": None}
        half_widths = near[1] if math.isfinite(near[1]) else None
        return {"claims": list(names), "nearest": row_document(near[0]), "half_widths": half_widths}

    return {
        "paper": paper.name,
        "fingerprint": found.fingerprint,
        "points": found.points,
        "seed": found.seed,
        "seeds": found.seeds,
        "open": [
            {"name": each.name, "what": each.what, "chosen": each.chosen, "alone": list(each.alone)}
            for each in paper.opens
            if each.is_searched
        ],
        "readings": [
            {
                "name": each.name,
                "kind": each.kind,
                "what": each.what,
                "chosen": each.chosen,
                "alone": list(each.alone),
            }
            for each in paper.meanings
            if each.is_searched
        ],
        "claims": [
            {
                "id": claim.id,
                "published": claim.published,
                "tolerance": claim.tolerance,
                "fitted": claim.fitted,
                "flipped_by": [
                    {"name": flip.name, "value": flip.value, "measured": flip.measured}
                    for flip in lost
                    if flip.claim == claim.id
                ],
                "met_by": met_by(found, claim.id),
            }
            for claim in paper.searched_claims
        ],
        "unmarked": unmarked(paper, found),
        "unflipped": unflipped(paper, found),
        "best": [row_document(row) for row in best(paper, found, 5)],
        "excluded": [excluded(names) for names in exclusions(paper, found)],
        "failed": list(found.failed),
        "stopped": found.stopped,
        "rows": [row_document(row) for row in found.rows],
    }
