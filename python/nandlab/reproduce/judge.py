"""A claim beside what was measured: the verdict, and the reason for it in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nandlab.reproduce.formula import FormulaError
from nandlab.reproduce.paper import Claim
from nandlab.reproduce.records import Missing, Records
from nandlab.reproduce.verdict import (
    SEEDS_FOR_DIRECTION,
    VERDICTS,
    Held,
    Word,
    check,
    check_every,
    distance,
    of_order,
    of_value,
    off,
)


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict; none where a run is missing, or there are too few seeds for an order."""

    claim: Claim
    measured: float | None
    held: list[Held]
    """The conditions of an order or a sign, with figures."""
    true_units: float | None
    true_held: list[Held]
    verdict: Word | None
    why: str

    @property
    def off(self) -> str:
        """How far off the measured value is; empty where no value is printed."""
        if self.measured is None or self.claim.published is None:
            return ""
        return off(self.measured, self.claim.published)

    def to_dict(self) -> dict[str, Any]:
        """The claim in the JSON document."""
        claim = self.claim
        return {
            "id": claim.id,
            "where": claim.where,
            "published": claim.published,
            "measured": self.measured if self.measured is not None else _said(self.held),
            "unit": claim.unit,
            "tolerance": claim.tolerance,
            "verdict": self.verdict,
            "why": self.why,
            "statement": claim.statement,
            "true_units": self.true_units if self.true_units is not None else _said(self.true_held),
            "read_from": claim.read_from,
        }


def _said(held: Sequence[Held]) -> str | None:
    return "; ".join(each.text for each in held) or None


def judge(claim: Claim, records: Records) -> Judged:
    """Reads a claim from the records."""
    try:
        return _judge(claim, records)
    except (Missing, FormulaError) as error:
        return Judged(claim, None, [], None, [], None, f"not measured: {error}")


def _judge(claim: Claim, records: Records) -> Judged:
    measured = None if claim.measured is None else records.mean(claim.measured)
    true_units = None if claim.true_units is None else records.mean(claim.true_units)
    held = [check(each, records.sides(each)) for each in claim.holds]
    true_held = [check(each, records.sides(each)) for each in claim.true_holds]
    idle = [
        each for each in (check_every(one, records.sides(one)) for one in claim.exercised) if not each.holds
    ]
    verdict: Word | None
    if claim.kind == "not_reproducible":
        verdict, parts = "not_reproducible", [_words(claim, records, True)]
    elif idle:
        verdict, parts = "not_exercised", [f"{_said(idle)}: it takes {claim.to_exercise}"]
    else:
        verdict = _verdict(claim, measured, held, records.seeds)
        has_reason = verdict in ("differs", "loose") or (verdict == "direction" and claim.kind == "value")
        parts = [
            _distance(claim, measured),
            "; ".join(each for each in (_order(claim, held, records.seeds), _true(true_held)) if each),
            _words(claim, records, has_reason),
        ]
    why = ". ".join(part.rstrip(".") for part in parts if part)
    return Judged(claim, measured, held, true_units, true_held, verdict, why)


def _verdict(claim: Claim, measured: float | None, held: Sequence[Held], seeds: int) -> Word | None:
    if claim.kind == "not_printed":
        return "not_printed"
    if measured is not None and claim.limits is not None:
        return of_value(measured, claim.limits, claim.loose, held, seeds)
    return of_order(held, seeds)


def _distance(claim: Claim, measured: float | None) -> str:
    return "" if measured is None or claim.published is None else distance(measured, claim.published)


def _order(claim: Claim, held: Sequence[Held], seeds: int) -> str:
    """Whether the conditions of an order hold, and which do not."""
    if claim.kind not in ("order", "sign"):
        return ""
    if seeds < SEEDS_FOR_DIRECTION:
        given = "is 1" if seeds == 1 else f"are {seeds}"
        return f"an order takes {SEEDS_FOR_DIRECTION} seeds, and there {given}"
    failing = [each for each in held if not each.holds]
    return f"does not hold: {_said(failing)}" if failing else f"holds over {seeds} seeds"


def _true(held: Sequence[Held]) -> str:
    if not held:
        return ""
    failing = [each for each in held if not each.holds]
    return f"in true units it does not hold: {_said(failing)}" if failing else "in true units it holds, too"


def _words(claim: Claim, records: Records, with_reason: bool) -> str:
    """What the paper's file says about the claim, its reason where that is asked for, with figures."""
    texts = [claim.note, *([claim.why] if with_reason else [])]
    filled = (text.filled(records.mean).strip() for text in texts if text.text)
    return ". ".join(each.rstrip(".") for each in filled)


def counted(claims: Sequence[Judged]) -> str:
    """How many claims there are of each verdict, in one line."""
    found = [claim.verdict for claim in claims]
    parts = [f"{found.count(word)} {word.replace('_', ' ')}" for word in VERDICTS if word in found]
    if None in found:
        parts.append(f"{found.count(None)} without a verdict")
    return f"{len(claims)} claims: {', '.join(parts)}"
