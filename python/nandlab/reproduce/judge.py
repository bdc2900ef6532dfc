"""A claim beside its measured value: the verdict, and the reason in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from nandlab._native import ConfigError
from nandlab.reproduce.claim import TRUE_UNITS, Claim
from nandlab.reproduce.formula import Condition, Formula, FormulaError
from nandlab.reproduce.reading_words import fitted_in_words, read_in_words, readings_of
from nandlab.reproduce.records import Missing, Records
from nandlab.reproduce.search_words import together
from nandlab.reproduce.verdict import (
    SEEDS_FOR_DIRECTION,
    VERDICTS,
    Held,
    Printed,
    Word,
    check,
    check_every,
    distance,
    of_order,
    of_value,
    off,
)

T = TypeVar("T")
Judge = Callable[[Condition, Sequence[tuple[float, float]]], Held]

NO_REASON = "The paper's file gives no reason"
"""Shown if a claim differs and nobody has said why."""


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict; no verdict if a run is missing, or an order has too few seeds."""

    claim: Claim
    measured: float | None
    held: list[Held]
    """Conditions for an order or a sign, and conditions beside a number, with figures."""
    true_units: float | None
    true_held: list[Held]
    verdict: Word | None
    why: str
    mistake: ConfigError | None = None
    """An error in its formulas, with file, line and key: a key in no record, or no value."""
    true_verdict: Word | None = None
    """The verdict in true units; the claim's own if its reading is true units."""
    reason: str = ""
    """The end of `why`; other claims may share it."""
    readings: tuple[str, ...] = ()
    """Readings of the paper that alone decide the verdict."""

    @property
    def found(self) -> str:
        """The start of `why`: the claim's distance, and the conditions that hold."""
        return self.why.removesuffix(self.reason).rstrip(". ")

    @property
    def is_explained(self) -> bool:
        """Whether there is more to say than "the number is reproduced"."""
        claim = self.claim
        return self.verdict != "reproduced" or bool(
            claim.note.text or claim.also or claim.together or self.readings
        )

    @property
    def off(self) -> str:
        """The measured value's distance; empty without a printed value."""
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
            "true_verdict": self.true_verdict,
            "read_from": claim.read_from,
            "readings": list(self.readings),
        }


def _said(held: Sequence[Held]) -> str | None:
    return "; ".join(each.text for each in held) or None


def judge(claim: Claim, records: Records) -> Judged:
    """Reads a claim from the records."""
    try:
        return _judge(claim, records)
    except Missing as error:
        return Judged(claim, None, [], None, [], None, f"not measured: {error}")
    except ConfigError as error:
        return Judged(claim, None, [], None, [], None, f"not measured: {error}", error)


def _read(claim: Claim, key: str, read: Callable[[], T]) -> T:
    """The result of `read`; errors name `key` in the paper's file."""
    try:
        return read()
    except FormulaError as error:
        raise claim.table.error(key, str(error)) from None


def _has_value(formula: Formula, records: Records) -> bool:
    """Whether a formula has a value from these records."""
    try:
        records.mean(formula)
    except FormulaError:
        return False
    return True


def _judge(claim: Claim, records: Records) -> Judged:
    records = records.of_claim(claim)

    def mean(key: str, formula: Formula | None) -> float | None:
        return None if formula is None else _read(claim, key, lambda: records.mean(formula))

    def held_by(key: str, conditions: Sequence[Condition], judge: Judge = check) -> list[Held]:
        return _read(claim, key, lambda: [judge(each, records.sides(each)) for each in conditions])

    idle = [each for each in held_by("exercised", claim.exercised, check_every) if not each.holds]
    if idle and claim.measured is not None and not _has_value(claim.measured, records):
        # A ratio 0 / 0, since the mechanism did not run.
        words = [f"{_said(idle)}: it takes {claim.to_exercise}", records.filled(claim.note)]
        return Judged(claim, None, [], None, [], "not_exercised", _sentences(words))
    measured, true_units = mean("measured", claim.measured), mean("true_units", claim.true_units)
    held, true_held = held_by("holds", claim.holds), held_by("true_units", claim.true_holds)
    also = held_by("also", claim.also, check_every)
    verdict: Word | None
    own: list[str] = []
    if claim.kind == "not_reproducible":
        verdict, parts = "not_reproducible", [_words(claim, records, True)]
    elif idle:
        verdict = "not_exercised"
        parts = [f"{_said(idle)}: it takes {claim.to_exercise}", records.filled(claim.note)]
    else:
        seeds = SEEDS_FOR_DIRECTION if _has_one_course(claim, records) else records.seeds
        verdict = _verdict(claim, measured, held, seeds)
        if not all(each.holds for each in also):
            verdict = "differs"
        has_reason = verdict in ("differs", "loose") or (verdict == "direction" and claim.kind == "value")
        own = [
            _distance(claim, measured),
            "; ".join(each for each in (_order(claim, held, records), _also(also), _true(true_held)) if each),
        ]
        parts = [
            fitted_in_words(records.paper, claim) if verdict == "fitted" else "",
            read_in_words(records.paper, claim),
            _words(claim, records, has_reason),
            NO_REASON if verdict == "differs" and not claim.why.text else "",
            together(records.paper, claim),
        ]
    there = _true_verdict(claim, verdict, true_units, true_held, records.seeds)
    why, reason = _sentences([*own, *parts]), _sentences(parts)
    return Judged(
        claim,
        measured,
        [*held, *also],
        true_units,
        true_held,
        verdict,
        why,
        true_verdict=there,
        reason=reason,
        readings=readings_of(records.paper, claim),
    )


def _true_verdict(
    claim: Claim, verdict: Word | None, measured: float | None, held: Sequence[Held], seeds: int
) -> Word | None:
    """The verdict in true units, by the same rules."""
    if claim.reading == TRUE_UNITS:
        return verdict
    if measured is not None and claim.limits is not None and claim.published is not None:
        return of_value(
            measured, Printed(claim.published, claim.limits, claim.loose, claim.fitted), [], seeds
        )
    return of_order(held, seeds, claim.fitted) if held else None


def _sentences(parts: Sequence[str]) -> str:
    return ". ".join(part.rstrip(".") for part in parts if part)


def _verdict(claim: Claim, measured: float | None, held: Sequence[Held], seeds: int) -> Word | None:
    if claim.kind == "not_printed":
        return "not_printed"
    if measured is not None and claim.limits is not None and claim.published is not None:
        return of_value(
            measured, Printed(claim.published, claim.limits, claim.loose, claim.fitted), held, seeds
        )
    return of_order(held, seeds, claim.fitted)


def _distance(claim: Claim, measured: float | None) -> str:
    return "" if measured is None or claim.published is None else distance(measured, claim.published)


def _has_one_course(claim: Claim, records: Records) -> bool:
    """Whether no seed changes the runs behind an order's verdict."""
    names = [name for each in claim.holds for name in each.names]
    return bool(names) and all(records.paper.has_one_course(name.rpartition(".")[0]) for name in names)


def _order(claim: Claim, held: Sequence[Held], records: Records) -> str:
    """Whether an order's conditions hold, with the ones that do not."""
    if claim.kind not in ("order", "sign"):
        return ""
    seeds, has_one_course = records.seeds, _has_one_course(claim, records)
    if seeds < SEEDS_FOR_DIRECTION and not has_one_course:
        given = "is 1" if seeds == 1 else f"are {seeds}"
        least = SEEDS_FOR_DIRECTION
        return f"an order takes {least} seeds, and there {given}: take --seeds {least}"
    failing = [each for each in held if not each.holds]
    if failing:
        return f"does not hold: {_said(failing)}"
    return (
        "holds in one deterministic run, which no seed changes"
        if has_one_course
        else f"holds over {seeds} seeds"
    )


def _also(held: Sequence[Held]) -> str:
    """Whether the conditions beside the number hold."""
    if not held:
        return ""
    failing = [each for each in held if not each.holds]
    return f"Beside the number, it does not hold: {_said(failing)}" if failing else f"With {_said(held)}"


def _true(held: Sequence[Held]) -> str:
    if not held:
        return ""
    failing = [each for each in held if not each.holds]
    return f"in true units it does not hold: {_said(failing)}" if failing else "in true units it holds, too"


def _words(claim: Claim, records: Records, with_reason: bool) -> str:
    """The file's words about the claim, on request with its reason, with figures."""
    texts = [claim.note, *([claim.why] if with_reason else [])]
    keys = ["note", "why"]
    filled = [
        _read(claim, key, lambda text=text: text.filled(records.mean).strip())  # type: ignore[misc]
        for key, text in zip(keys, texts, strict=False)
        if text.text
    ]
    return _sentences(filled)


def folded(claims: Sequence[Judged]) -> list[list[Judged]]:
    """Claims with something to say; claims with the same verdict and reason together.

    Each group comes at its first claim's place.
    """
    groups: dict[tuple[Word | None, str], list[Judged]] = {}
    for claim in claims:
        if claim.is_explained:
            groups.setdefault((claim.verdict, claim.reason), []).append(claim)
    return list(groups.values())


def counted(claims: Sequence[Judged]) -> str:
    """The claim count for each verdict, in one line."""
    found = [claim.verdict for claim in claims]
    parts = [f"{found.count(word)} {word.replace('_', ' ')}" for word in VERDICTS if word in found]
    if None in found:
        parts.append(f"{found.count(None)} without a verdict")
    return f"{len(claims)} claim{'' if len(claims) == 1 else 's'}: {', '.join(parts)}"
