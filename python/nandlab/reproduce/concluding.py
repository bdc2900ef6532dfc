"""Conclusions with a measurement's verdicts and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nandlab.reproduce.conclusion import Conclusion, Kind
from nandlab.reproduce.judge import Judged
from nandlab.reproduce.records import Records
from nandlab.reproduce.verdict import Word


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
