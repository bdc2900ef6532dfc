"""Conclusions, one line each and drawn from the verdicts: correct results, fits, and errors."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from nandlab.reproduce.document import Table
from nandlab.reproduce.words import Why, parse_why

if TYPE_CHECKING:
    from nandlab.reproduce.judge import Judged
    from nandlab.reproduce.paper import Paper
    from nandlab.reproduce.records import Records
    from nandlab.reproduce.verdict import Word

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


@dataclass(frozen=True)
class Concluded:
    """A conclusion with measured figures."""

    kind: Kind
    claims: tuple[str, ...]
    stands: bool | None
    """Whether the verdicts agree with the kind; `None` if a claim has no verdict."""
    text: str

    @property
    def label(self) -> str:
        """Its kind in a word, or a note if it does not stand."""
        return self.kind if self.stands else "no verdict" if self.stands is None else "changed"

    def to_dict(self) -> dict[str, Any]:
        """The conclusion in the JSON document."""
        return {"kind": self.kind, "claims": list(self.claims), "stands": self.stands, "text": self.text}


def parse_conclusions(top: Table, paper: Paper) -> tuple[Conclusion, ...]:
    """Reads `[[conclusions]]` over the paper's claims and runs.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    tables = top.tables("conclusions")
    if len(tables) > MOST:
        raise tables[MOST].error("", f"expected at most {MOST} conclusions, given {len(tables)}")
    return tuple(_parsed(table, paper) for table in tables)


def _parsed(table: Table, paper: Paper) -> Conclusion:
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
    known = [claim.id for claim in paper.claims]
    for name in conclusion.claims:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise table.error(
                "claims", f"there is no claim {name!r}" + (f"; did you mean {near[0]}?" if near else "")
            )
    for key, words in (("says", conclusion.says), ("otherwise", conclusion.otherwise)):
        for name in words.names:
            table.read(key, name, paper.split)
    return conclusion


def conclude(
    conclusions: Sequence[Conclusion], judged: Sequence[Judged], records: Records
) -> list[Concluded]:
    """The conclusions as the verdicts have them."""
    verdicts = {each.claim.id: each.verdict for each in judged}
    return [_concluded(each, verdicts, records) for each in conclusions]


def _concluded(conclusion: Conclusion, verdicts: Mapping[str, Word | None], records: Records) -> Concluded:
    found = {claim: verdicts.get(claim) for claim in conclusion.claims}
    against = [claim for claim, verdict in found.items() if not conclusion.agrees(claim, verdict)]
    stands = None if None in found.values() else not against
    said = records.filled(conclusion.says)
    if stands:
        text = said
    elif stands is None:
        missing = [claim for claim, verdict in found.items() if verdict is None]
        text = f"not judged in this run ({_named(found, missing)}): {said}"
    else:
        meant = f'it is not so that "{said}"'
        other = records.filled(conclusion.otherwise) if conclusion.otherwise.text else meant
        text = f"{other} ({_named(found, against)})"
    return Concluded(conclusion.kind, conclusion.claims, stands, text)


def _named(found: Mapping[str, Word | None], claims: Sequence[str]) -> str:
    """Claims with their verdicts."""
    return ", ".join(f"{each}: {(found[each] or 'no verdict').replace('_', ' ')}" for each in claims)
