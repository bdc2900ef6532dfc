"""Numbers the rows do not determine: directions in which free numbers move together and no figure follows.

If the numbers move by v, as shares of their ranges, the fit's misses change by J v. J's singular vectors
with small singular values are candidates. Each one is tried: the numbers move both ways along it, and the
runs show how much the figures change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nandlab.calibrate.fit import Measured, Places, Search, Spent, Stopped, jacobian
from nandlab.calibrate.free import Free
from nandlab.calibrate.rows import ACCURACY

STEP = 0.05
"""Step for a derivative to both sides, as a share of the range."""
MOVE = 0.1
"""The most moved number in a direction moves by this share of its range."""
PART = 0.3
"""Numbers that move less than this, relative to the most moved one, are not named."""


@dataclass(frozen=True)
class Flat:
    """A direction along which the figures stay within their accuracy."""

    moves: tuple[tuple[str, float, float], ...]
    """For each number that moves: its key, and the values at both ends."""
    change: float
    """A figure's largest relative change on the way from the fit to either end."""

    @property
    def sentence(self) -> str:
        """The sentence for the user."""
        most = f" by more than {100 * self.change:.2g} %" if self.change else ""
        tell = f"no figure changes{most}"
        ends = [f"{key} from {low:.4g} to {high:.4g}" for key, low, high in self.moves]
        if len(ends) == 1:
            key, _, way = ends[0].partition(" ")
            return f"The rows say little about {key}: if it moves {way}, {tell}."
        keys = " and ".join([", ".join(key for key, _, _ in self.moves[:-1]), self.moves[-1][0]])
        return f"The rows cannot tell {keys} apart: if they move together ({'; '.join(ends)}), {tell}."


@dataclass(frozen=True)
class Known:
    """How well the rows fix the numbers."""

    alone: tuple[float | None, ...]
    """For each number how far it alone can move before a figure changes by its accuracy; None if
    further than the range."""
    flat: tuple[Flat, ...]


def known_of(wanted: Search, best: Measured) -> Known | None:
    """How well the rows fix a fit's numbers; None if Ctrl-C ended it.

    Its runs come on top of the search budget.
    """
    import numpy as np

    count = len(wanted.free)
    wanted.budget = wanted.spent + 4 * count + 1
    try:
        changes = jacobian(wanted, best.places, STEP, both=True)
        _, sizes, vectors = np.linalg.svd(changes, full_matrices=True)
        strengths = [float(sizes[at]) if at < len(sizes) else 0.0 for at in range(count)]
        flat = []
        for strength, vector in sorted(
            zip(strengths, vectors.tolist(), strict=True), key=lambda pair: pair[0]
        ):
            most = max(abs(part) for part in vector)
            if strength * MOVE / most > 3 * len(changes) ** 0.5:
                break
            tried = _tried(wanted, best, [part / most for part in vector])
            if tried is not None:
                flat.append(tried)
    except (Stopped, Spent, KeyboardInterrupt):
        return None
    alone = [
        _alone(free, place, column)
        for free, place, column in zip(wanted.free, best.places, changes.T, strict=True)
    ]
    return Known(tuple(alone), tuple(flat))


def _alone(free: Free, place: float, column: Sequence[float]) -> float | None:
    steepest = max((abs(float(each)) for each in column), default=0.0)
    if steepest < 1:
        return None
    far = min(1.0, place + 1 / steepest), max(0.0, place - 1 / steepest)
    return max(abs(free.value(end) - free.value(place)) for end in far)


def _tried(wanted: Search, best: Measured, vector: Sequence[float]) -> Flat | None:
    """The direction, if the figures stay within their accuracy at both ends."""
    ends = [_end(best.places, vector, way) for way in (-MOVE, MOVE)]
    found = wanted.measure(ends)
    moved = max(abs(new - old) for each in found for new, old in zip(each.misses, best.misses, strict=True))
    if moved > 1:
        return None
    names = [at for at, part in enumerate(vector) if abs(part) >= PART]
    names.sort(key=lambda at: -abs(vector[at]))
    if vector[names[0]] < 0:
        found.reverse()
    moves = [
        (
            wanted.free[at].key,
            wanted.free[at].value(found[0].places[at]),
            wanted.free[at].value(found[1].places[at]),
        )
        for at in names
    ]
    if any(low == high for _, low, high in moves):
        return None
    return Flat(tuple(moves), _change(wanted, best, found))


def _end(places: Places, vector: Sequence[float], way: float) -> Places:
    """The end of a way along a direction; it stops at a range's end."""
    room = [way * part for part in vector]
    shares = [
        (1 - place if move > 0 else place) / abs(move)
        for place, move in zip(places, room, strict=True)
        if move
    ]
    share = min(1.0, *shares)
    return tuple(place + share * move for place, move in zip(places, room, strict=True))


def _change(wanted: Search, best: Measured, ends: Sequence[Measured]) -> float:
    scales = [
        ACCURACY[figure]
        for case in wanted.cases
        for row in case.rows
        if not row.hold_out
        for figure in row.measured
    ]
    return max(
        abs(new - old) * scale
        for end in ends
        for new, old, scale in zip(end.misses, best.misses, scales, strict=True)
    )
