"""Room for letters in pictures: text widths, and places for names beside points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SIZE = 11
"""Letter size beside points, in pixels."""

_NARROW, _BROAD = frozenset("ijlt.,:;'|!()[]/ f-I"), frozenset("mwMWGOQ%@&+=<>~")
_SHARES = (0.34, 0.95, 0.73, 0.58)
"""Width over size for a narrow, a broad and a capital letter, and for all others, in Helvetica or wider."""


def width(text: str, size: float = SIZE) -> float:
    """A text's width in pixels, in Helvetica or Arial, rather too large than too small."""
    narrow, broad, capital, other = _SHARES
    return size * sum(
        narrow if c in _NARROW else broad if c in _BROAD else capital if c.isupper() else other for c in text
    )


def lines(text: str, room: float, size: float) -> str:
    """A text broken between its parts at `, `, so that no line with several parts is wider than `room`."""
    done: list[str] = []
    for part in text.split(", "):
        if done and width(f"{done[-1]}, {part}", size) <= room:
            done[-1] += f", {part}"
        else:
            done.append(part)
    return "\n".join(done)


@dataclass(frozen=True)
class Box:
    """A rectangle in pixels; y goes down."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """True if both have a place in common."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


@dataclass(frozen=True)
class Placed:
    """A name with its start and its base line, in pixels.

    `align` is the side of the name that keeps `edge`, close to its point: a wider picture spreads names as it
    spreads their points, and none comes over another.
    """

    name: str
    x: float
    y: float
    align: str = "left"

    @property
    def edge(self) -> float:
        """Where the aligned side is, in pixels."""
        return self.x + {"left": 0.0, "center": 0.5, "right": 1.0}[self.align] * width(self.name)


DOT, FRONT = 4.0, 7.0
"""Half a point's width in pixels, and half a named point's."""


def placed(
    names: Sequence[tuple[str, float, float]],
    dots: Sequence[tuple[float, float]],
    room: tuple[float, float],
) -> list[Placed]:
    """Places for names beside their points, in order; a name without room is left out.

    No name covers another, leaves the picture or covers a point.

    Args:
        names: Each with its point's x and y.
        dots: All points.
        room: The picture's width and height.

    """
    taken = [_around(x, y, DOT) for x, y in dots] + [_around(x, y, FRONT) for _, x, y in names]
    found = []
    for name, x, y in names:
        long = width(name)
        for at, base, align in _offers(x, y, long):
            box = Box(at - 1, base - SIZE, at + long + 1, base + 3)
            inside = box.left >= 0 and box.top >= 0 and box.right <= room[0] and box.bottom <= room[1]
            if inside and not any(box.meets(other) for other in taken):
                taken.append(box)
                found.append(Placed(name, at, base, align))
                break
    return found


def _around(x: float, y: float, half: float) -> Box:
    return Box(x - half, y - half, x + half, y + half)


def _offers(x: float, y: float, long: float) -> Iterator[tuple[float, float, str]]:
    """Places for a name in order, each with its aligned side: beside its point, above and below."""
    right, left = x + FRONT + 2, x - FRONT - 2 - long
    for base in (y - 5, y + 4, y + 13):
        yield right, base, "left"
        yield left, base, "right"
    for start, align in ((x - long / 2, "center"), (x - FRONT, "left"), (x + FRONT - long, "right")):
        yield start, y - FRONT - 5, align
        yield start, y + FRONT + 12, align
