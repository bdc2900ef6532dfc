"""Reasons in words with figures in them, which are measured like the rest: `{fast.4k.writes / 2:,.0f}`."""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import dataclass, replace

from nandlab.reproduce.formula import Formula, parse_formula
from nandlab.reproduce.verdict import short


@dataclass(frozen=True)
class Why:
    """A reason: words, and formulas between them."""

    text: str
    pieces: tuple[str | tuple[Formula, str], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names in its formulas."""
        return tuple(name for piece in self.pieces if not isinstance(piece, str) for name in piece[0].names)

    def filled(self, value: Callable[[Formula], float | None]) -> str:
        """The words with the figures that `value` finds; a dash where there is none."""
        return "".join(piece if isinstance(piece, str) else _figure(piece, value) for piece in self.pieces)

    def without(self, is_absent: Callable[[str], bool]) -> Why:
        """The words, with each formula as `Formula.without` leaves it."""
        return replace(
            self,
            pieces=tuple(
                piece if isinstance(piece, str) else (piece[0].without(is_absent), piece[1])
                for piece in self.pieces
            ),
        )


def _figure(piece: tuple[Formula, str], value: Callable[[Formula], float | None]) -> str:
    formula, form = piece
    found = value(formula)
    if found is None:
        return "–"
    return format(found, form) if form else short(found)


def parse_why(text: str) -> Why:
    """Reads a reason.

    Raises:
        ValueError: With a sentence; a formula in it is none, or its format is not one of Python for numbers.

    >>> why = parse_why("a merge copies {bast.512.copies / 10:.1f} pages")
    >>> why.names, why.filled(lambda formula: 3.14159)
    (('bast.512.copies',), 'a merge copies 3.1 pages')

    """
    text = " ".join(text.split())
    pieces: list[str | tuple[Formula, str]] = []
    for words, formula, form, _ in string.Formatter().parse(text):
        pieces.append(words)
        if formula is not None:
            format(1.0, form or "")
            pieces.append((parse_formula(formula), form or ""))
    return Why(text, tuple(pieces))
