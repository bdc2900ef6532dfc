"""A search's measurements: points, and each claim there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nandlab.reproduce.search_settings import PointKind

MET = ("reproduced", "loose", "direction")


@dataclass(frozen=True)
class Seen:
    """A claim at a point."""

    measured: float | None
    """A number's mean; for an order the margin of its worst condition, a share of its larger side."""
    word: str
    """A verdict, `not_runnable` if a run failed or was refused, `no_value` if a formula has none."""

    @property
    def is_met(self) -> bool:
        """Whether the paper's claim comes out."""
        return self.word in MET


@dataclass(frozen=True)
class Row:
    """A point, and each claim there."""

    kind: PointKind
    values: Mapping[str, str]
    """In one line each, as `Open.text` writes them."""
    seen: Mapping[str, Seen]


@dataclass(frozen=True)
class Found:
    """A search; all texts about one are computed from this."""

    fingerprint: str
    points: int
    """Joint points requested."""
    seed: int
    seeds: int
    rows: tuple[Row, ...]
    failed: tuple[str, ...] = ()
    """Why runs were refused or failed."""
    stopped: bool = False

    def of_kind(self, kind: PointKind) -> list[Row]:
        """The chosen point, the values alone, the points found by hand, or the joint points."""
        return [row for row in self.rows if row.kind == kind]

    @property
    def chosen(self) -> Row | None:
        """The point with the file's own values."""
        return next(iter(self.of_kind("chosen")), None)
