"""Conclusions, one line each and drawn from the verdicts: correct results, fits, and errors."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from nandlab.reproduce.claim import Claim
from nandlab.reproduce.document import Table
from nandlab.reproduce.verdict import Word
from nandlab.reproduce.words import Why, parse_why

Kind = Literal["holds", "fit", "wrong", "differs"]
KINDS: tuple[str, ...] = get_args(Kind)

MOST = 8
"""Most conclusions for a paper."""

_HOLDS = ("reproduced", "loose", "direction")
_VERDICTS: dict[Kind, tuple[str, ...]] = {
    "holds": _HOLDS,
    "fit": ("fitted",),
    "wrong": ("differs",),
    "differs": ("differs",),
}
"""Verdicts on the paper's claims that let a conclusion stand."""

OURS = "beyond."
"""The file's claims beyond the paper: whatever a conclusion says, they must hold."""


@dataclass(frozen=True)
class Conclusion:
    """A line in a paper's file, and the claims it rests on."""

    kind: Kind
    claims: tuple[str, ...]
    says: Why
    otherwise: Why
    """The text if the verdicts do not agree with the kind; empty for none."""
    table: Table = field(repr=False, compare=False)
    """Its place in the file."""

    @property
    def names(self) -> tuple[str, ...]:
        """The figures in its words: each a run and a measure."""
        return tuple(dict.fromkeys((*self.says.names, *self.otherwise.names)))

    def without(self, is_absent: Callable[[str], bool]) -> Conclusion:
        """The conclusion over existing runs, if `min` and `max` over several leave some out."""
        return replace(self, says=self.says.without(is_absent), otherwise=self.otherwise.without(is_absent))

    def agrees(self, claim: str, verdict: Word | None) -> bool:
        """Whether it stands with this verdict on a claim."""
        if claim.startswith(OURS):
            return verdict in (*_HOLDS, "fitted")
        return verdict in _VERDICTS[self.kind]


def parse_conclusions(top: Table, claims: Sequence[Claim]) -> tuple[Conclusion, ...]:
    """Reads `[[conclusions]]` over these claims.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    tables = top.tables("conclusions")
    if len(tables) > MOST:
        raise tables[MOST].error("", f"expected at most {MOST} conclusions, given {len(tables)}")
    by_id = {claim.id: claim for claim in claims}
    return tuple(_parsed(table, by_id) for table in tables)


def _parsed(table: Table, claims: Mapping[str, Claim]) -> Conclusion:
    kind: Any = table.chosen("kind", KINDS)
    conclusion = Conclusion(
        kind=kind,
        claims=tuple(table.texts("claims")),
        says=table.read("says", table.text("says"), parse_why),
        otherwise=table.read("otherwise", table.text("otherwise", ""), parse_why),
        table=table,
    )
    table.end()
    if not conclusion.claims:
        raise table.error("claims", "expected the claims that it rests on, by their ids")
    for name in conclusion.claims:
        if name not in claims:
            near = difflib.get_close_matches(name, claims, 1)
            raise table.error(
                "claims", f"there is no claim {name!r}" + (f"; did you mean {near[0]}?" if near else "")
            )
    if kind == "holds" and all(claims[name].fitted for name in conclusion.claims):
        words = "every claim here is fitted: a conclusion that holds rests on one that is not, or is a fit"
        raise table.error("claims", words)
    return conclusion
