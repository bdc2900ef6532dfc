"""Readings in words: which of them decides a claim, and what each may mean."""

from __future__ import annotations

from dataclasses import dataclass

from nandlab.reproduce.claim import Claim
from nandlab.reproduce.paper import Paper
from nandlab.reproduce.readings import Reading
from nandlab.reproduce.search_words import changed, flips

FITTED = "It rests on a value that the paper leaves open and this file chose: a fit, and no confirmation"
"""Shown with a `fitted` claim."""
READ = "It rests on how the paper is read: a fit, and no confirmation"
"""Shown with a `fitted` claim that no open value alone makes differ."""

TITLES = ("reading", "kind", "what the paper says", "read as", "or as", "decides")
"""Columns of a table with readings."""


@dataclass(frozen=True)
class Decided:
    """A claim that comes out by some choices of a reading, and differs by others."""

    claim: str
    reading: str
    met: tuple[str, ...]
    """The choices by which it comes out."""
    differs: tuple[str, ...]
    is_one_of: bool = False
    """Whether it differs by at least one of these, and perhaps not by each."""

    @property
    def words(self) -> str:
        """A sentence, with the choices."""
        met, differs = " or ".join(self.met), " or ".join(self.differs)
        if self.is_one_of and len(self.differs) > 1:
            differs = f"one of {', '.join(self.differs)}"
        return f"The reading {self.reading} decides it: as {met} it comes out, as {differs} it does not"


def decisions(paper: Paper) -> list[Decided]:
    """Every claim that a reading alone decides, by the paper's search or its file; none without a search."""
    found, judged = paper.searched, [claim.id for claim in paper.searched_claims]
    if found is None or found.chosen is None:
        return []
    decided = []
    for reading in paper.meanings:
        if not reading.is_searched:
            others = tuple(map(reading.text, reading.alone))
            met: tuple[str, ...] = (reading.text(reading.chosen),)
            decided += [Decided(claim, reading.name, met, others, True) for claim in reading.flips]
            continue
        rows = {reading.text(reading.chosen): found.chosen}
        rows |= {
            row.values[reading.name]: row
            for row in found.of_kind("alone")
            if changed(paper, row) == [reading.name]
        }
        for claim in judged:
            met = tuple(value for value, row in rows.items() if row.seen[claim].is_met)
            differs = tuple(value for value, row in rows.items() if row.seen[claim].word == "differs")
            if met and differs:
                decided.append(Decided(claim, reading.name, met, differs))
    return decided


def readings_of(paper: Paper, claim: Claim) -> tuple[str, ...]:
    """The readings that alone decide a claim; without a search those that change its formulas."""
    if paper.searched is None:
        return tuple(each.name for each in paper.meanings if each.changes(claim.id))
    return tuple(each.reading for each in decisions(paper) if each.claim == claim.id)


def fitted_in_words(paper: Paper, claim: Claim) -> str:
    """Why a claim is `fitted`."""
    names = {each.name for each in paper.meanings}
    of_claim = (
        [] if paper.searched is None else [e for e in flips(paper, paper.searched) if e.claim == claim.id]
    )
    return READ if of_claim and all(each.name in names for each in of_claim) else FITTED


def read_in_words(paper: Paper, claim: Claim) -> str:
    """What readings make of a claim; empty if none decides it."""
    if paper.searched is not None:
        return ". ".join(each.words for each in decisions(paper) if each.claim == claim.id)
    names = readings_of(paper, claim)
    if not names:
        return ""
    said = " and ".join(names)
    return f"How it is judged depends on the reading {said}; no search was run for this file as it stands"


def readings_table(paper: Paper) -> list[list[str]]:
    """A line for each reading."""
    decided = decisions(paper)
    return [
        _line(each, [one.claim for one in decided if one.reading == each.name]) for each in paper.meanings
    ]


def _line(reading: Reading, claims: list[str]) -> list[str]:
    return [
        reading.name.replace("_", " "), reading.kind, reading.what, reading.text(reading.chosen),
        ", ".join(map(reading.text, reading.alone)), ", ".join(claims) or "no claim alone",
    ]  # fmt: skip
