"""Claims and conclusions on a page: verdicts as marks whose colours also read in grey."""

from __future__ import annotations

from collections.abc import Sequence

from nandlab.report import html
from nandlab.reproduce.claim import TRUE_UNITS
from nandlab.reproduce.judge import Judged, folded
from nandlab.reproduce.measure import Reproduction
from nandlab.reproduce.reading_words import TITLES as TITLES_READ
from nandlab.reproduce.reading_words import readings_table
from nandlab.reproduce.verdict import VERDICTS, short

MEANINGS = {
    "reproduced": "within the tolerance",
    "fitted": "it holds, but something that the paper leaves open was chosen for it",
    "loose": "within a wider tolerance, which the table states",
    "direction": "the order or the sign holds, beyond the 95 % interval over the seeds",
    "differs": "it does not, for the reason given",
    "not_exercised": "what the claim is about did not happen",
    "not_printed": "the paper's text has no number: ours alone",
    "not_reproducible": "it takes what nobody has",
}

SYMBOLS = {
    "reproduced": "✓",
    "direction": "↗",
    "loose": "≈",
    "fitted": "F",
    "differs": "✗",
    "not_exercised": "–",
    "not_printed": "·",
    "not_reproducible": "?",
    None: "…",
}
"""Letters that tell verdicts apart without a colour. The style has one lightness step for each."""

TITLES = ("claim", "published", "measured", "off", "tolerance", "verdict")
"""Columns in the table with claims."""

IN_TRUE_UNITS = ("true units", "verdict there")
"""Columns for a paper with claims in other units."""

KINDS = {"holds": "reproduced", "fit": "fitted", "wrong": "differs", "differs": "differs"}
"""The verdict whose colour a conclusion has."""


def mark(verdict: str | None, word: str | None = None) -> html.Mark:
    """A verdict with its symbol and colour; `word` replaces its name."""
    name = word or (verdict or "no verdict").replace("_", " ")
    return html.Mark(f"{SYMBOLS[verdict]} {name}", (verdict or "none").replace("_", "-"))


def conclusions(found: Reproduction) -> str:
    """A paper's conclusions; empty if its file has none."""
    lines: list[list[html.Cell]] = [
        [mark(KINDS[each.kind] if each.stands else None, each.label), html.Wide(each.text, 1)]
        for each in found.conclusions
    ]
    return html.section("Conclusions", html.table((), lines, kind="conclusions") if lines else "")


def tiles(found: Reproduction) -> str:
    """How many claims have each verdict."""
    verdicts = [claim.verdict for claim in found.claims]
    return html.tiles(
        (mark(word), str(verdicts.count(word)), MEANINGS[word]) for word in VERDICTS if word in verdicts
    )


def claims(found: Reproduction) -> str:
    """Every claim in a line, with its statement."""
    titles = (*TITLES, *(IN_TRUE_UNITS if found.paper.readings else ()))
    lines = [_claim(each, bool(found.paper.readings)) for each in found.claims]
    right = (1, 2, 3, 6) if found.paper.readings else (1, 2, 3)
    return html.table(titles, lines, right, kind="claims")


def _claim(each: Judged, has_readings: bool) -> list[html.Cell]:
    claim = each.claim
    in_true_units: list[html.Cell] = [
        _measured(each.true_units, each.true_held) if claim.reading != TRUE_UNITS else _same(each),
        mark(each.true_verdict),
    ]
    return [
        html.Named(claim.id, f"{claim.statement} ({claim.where})"),
        "" if claim.published is None else short(claim.published),
        _measured(each.measured, each.held),
        each.off,
        claim.tolerance + (f", loose: {claim.loose.text}" if claim.loose else ""),
        mark(each.verdict),
        *(in_true_units if has_readings else []),
    ]


def _same(judged: Judged) -> str:
    """The mark for a number in true units; an order or a sign has no units."""
    return "" if judged.measured is None else "the same"


def _measured(value: float | None, held: Sequence[object]) -> str:
    if value is not None:
        return short(value)
    return (
        ""
        if not held
        else "holds"
        if all(getattr(each, "holds", False) for each in held)
        else "does not hold"
    )


def readings(found: Reproduction) -> str:
    """What the paper's sentences may mean, and the claims each reading decides; empty if there are none."""
    lines: list[list[html.Cell]] = [
        [*line[:2], html.Wide(line[2], 1), *line[3:]] for line in readings_table(found.paper)
    ]
    note = "Decides: the claims that come out as one of these is read, and differ as another one is."
    return html.section("How the paper is read", html.table(TITLES_READ, lines), note=note) if lines else ""


def reasons(found: Reproduction) -> str:
    """The reasons behind the verdicts; claims with the same reason have one entry."""
    return "\n".join(_reason(group) for group in folded(found.claims))


def _reason(group: Sequence[Judged]) -> str:
    first = group[0]
    verdict = (first.verdict or "no verdict").replace("_", " ")
    title = f"{', '.join(each.claim.id for each in group)}: {verdict}"
    if len(group) == 1:
        parts = [html.paragraph(f"{first.claim.statement}: {first.why}.")]
    else:
        lines: list[list[html.Cell]] = [
            [each.claim.id, html.Wide(f"{each.claim.statement}: {each.found}.", 1)] for each in group
        ]
        parts = [html.paragraph(f"{first.reason}.") if first.reason else "", html.table((), lines)]
    held = [[each.text, "holds" if each.holds else "does not hold"] for one in group for each in one.held]
    if held:
        parts.append(html.folded("The conditions, with figures", html.table((), held)))
    return html.titled(title, "".join(parts))
