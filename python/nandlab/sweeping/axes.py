"""The values keys take in turn: lists, linear ranges and logarithmic ones.

A list is `a,b,c`. A range is `FROM..TO:N`, N values from FROM to TO, both included: evenly spaced, or with
`FROM..TO:N:log` each a constant multiple of the one before. `FROM..TO` alone is every whole number between
whole numbers. A list item may be a range. Whole-number ends give whole numbers, the nearest
ones; ends in bytes give texts with the first one's unit.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from nandlab._native import ConfigError
from nandlab.running.varied import split_commas
from nandlab.writing.plain import plain, refused
from nandlab.writing.sizes import UNITS, bytes_of
from nandlab.writing.toml_text import toml_value

MOST = 10_000
"""Most values in a range, and points in a sweep: more is a slip of the hand."""

SPACINGS = ("linear", "log")

_NUMBER = r"[+-]?(?:\d[\d_]*(?:\.\d[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\s*([A-Za-z]*)\s*\.\.\s*(.*)", re.DOTALL)
_END = re.compile(rf"({_NUMBER})\s*([A-Za-z]*)\s*(?::\s*(.*?)\s*)?", re.DOTALL)
_SIZE = re.compile(rf"({_NUMBER})\s*({'|'.join(UNITS)})")

Value = int | float | bool | str


@dataclass(frozen=True)
class Axis:
    """A key and the texts for its values in turn, as `--set` takes them."""

    key: str
    values: tuple[str, ...]
    spacing: str = "list"
    """How its values are spaced: "list", "linear" or "log"."""

    def meant(self) -> list[Value]:
        """The values as numbers, truth values or texts; as bytes if all are sizes.

        >>> Axis("device.capacity", ("16 MiB", "1 GiB")).meant()
        [16777216, 1073741824]
        >>> Axis("ftl", ("page", "bast")).meant(), Axis("seed", ("1", "2")).meant()
        (['page', 'bast'], [1, 2])
        """
        sizes = [bytes_of(text) for text in self.values]
        if any(re.search("[A-Za-z]$", text) for text in self.values) and None not in sizes:
            return [size for size in sizes if size is not None]
        found = [_scalar(text) for text in self.values]
        kinds = {
            bool if isinstance(value, bool) else str if isinstance(value, str) else int for value in found
        }
        return found if len(kinds) == 1 else list(self.values)

    def is_workload(self) -> bool:
        """Whether its values are workloads, or their options."""
        return self.key.split(".")[0] == "workload"

    def is_given(self) -> bool:
        """Whether its values are no design choice: workloads, and seeds."""
        return self.key == "seed" or self.is_workload()

    def is_numeric(self) -> bool:
        """Whether a curve can be drawn over it."""
        return all(isinstance(value, int | float) and not isinstance(value, bool) for value in self.meant())

    def is_size(self) -> bool:
        """Whether its values are sizes with a unit, or bytes by the key's name."""
        with_unit = all(_SIZE.fullmatch(text.strip("\"'")) for text in self.values)
        return self.is_numeric() and (with_unit or self.key.endswith("_bytes"))


def _scalar(text: str) -> Value:
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(_NUMBER, text):
        digits = text.replace("_", "")
        return int(digits) if re.fullmatch(r"[+-]?\d+", digits) else float(digits)
    return text.strip("\"'")


def axis_of(key: str, values: str | Iterable[Any] | Any) -> Axis:  # noqa: ANN401 - a TOML value
    """An axis from a text with values and ranges, or from Python values.

    Raises:
        ConfigError: With `key`; a malformed range.

    >>> axis_of("device.over_provisioning", "0.07..0.28:4").values
    ('0.07', '0.14', '0.21', '0.28')
    >>> axis_of("ftl.bast.log_blocks", "4..64:5:log").values
    ('4', '8', '16', '32', '64')
    >>> axis_of("device.capacity", "512 KiB..2 MiB:3:log").values
    ('512 KiB', '1024 KiB', '2048 KiB')
    >>> axis_of("seed", range(1, 4)).values, axis_of("ftl", ["page", {"bast": {"log_blocks": 4}}]).values
    (('1', '2', '3'), ('page', '{ bast = { log_blocks = 4 } }'))

    """
    if not isinstance(values, str):
        return _of_python(key, values)
    items = [item.strip() for item in split_commas(values)]
    if not all(items):
        raise refused(
            key, f"{values!r} has an empty value" if values.strip() else "expected values, given none"
        )
    found: list[str] = []
    spacings = set()
    for item in items:
        spacing, parts = _expanded(key, item)
        found += parts
        spacings.add(spacing)
    return Axis(key, tuple(found), spacings.pop() if len(spacings) == 1 else "list")


def axes_of(vary: Mapping[str, Any]) -> list[Axis]:
    """An axis for each key; raises as `axis_of`."""
    axes = [axis_of(key, values) for key, values in vary.items()]
    if not axes:
        raise ConfigError(
            "nothing is varied: name a key and its values, as in device.over_provisioning=0.07..0.5:8"
        )
    points = 1
    for axis in axes:
        points *= len(axis.values)
    if points > MOST:
        sizes = " x ".join(str(len(axis.values)) for axis in axes)
        raise ConfigError(f"{sizes} values make {points:,} points; a sweep has at most {MOST:,}")
    return axes


def _of_python(key: str, values: Any) -> Axis:  # noqa: ANN401 - a TOML value
    is_one = isinstance(values, Mapping) or not isinstance(values, Iterable)
    listed = [values] if is_one else list(values)
    if not listed:
        raise refused(key, "expected values, given none")
    texts = []
    for value in listed:
        meant = plain(value, key)
        if meant is None:
            raise refused(key, "expected a value, given None")
        texts.append(meant if isinstance(meant, str) and not _is_toml(meant) else toml_value(meant))
    return Axis(key, tuple(texts))


def _is_toml(text: str) -> bool:
    """Whether `--set` would take a text for something else than a text."""
    return bool(re.match(r"[\[{\"'\d+.-]|true$|false$|inf$|nan$", text)) and not _SIZE.fullmatch(text)


def _expanded(key: str, item: str) -> tuple[str, list[str]]:
    """How a list item is spaced, and its values."""
    start = _RANGE.fullmatch(item)
    if start is None:
        return "list", [item]
    end = _END.fullmatch(start[3])
    if end is None:
        raise refused(key, f"{item}: expected a number behind the two points, as in 0.07..0.5:8")
    unit = _unit(key, item, start[2], end[2])
    for number in (start[1], end[1]):
        if math.isinf(float(number.replace("_", ""))):
            raise refused(key, f"{item}: {number} is larger than any number")
    low, high = (Fraction(number.replace("_", "")) for number in (start[1], end[1]))
    if end[2] and end[2] != start[2]:
        high = high * UNITS[end[2]] / UNITS[start[2]]
    if low == high:
        raise refused(key, f"{item}: both ends are {start[1]}; a single value stands alone")
    whole = all(re.fullmatch(r"[+-]?[\d_]+", number) for number in (start[1], end[1]))
    count, spacing = _count(key, item, end[3], low, high, whole)
    if spacing == "log" and (low <= 0 or high <= 0):
        raise refused(key, f"{item}: a logarithmic range needs ends above 0")
    places = [Fraction(at, count - 1) for at in range(count)]
    numbers = [_at(low, high, place, spacing) for place in places]
    if whole:
        numbers = [Fraction(round(number)) for number in numbers]
        distinct = len(set(numbers))
        if distinct < count:
            fractions = "" if unit else f"; {start[1]}.0..{end[1]}.0:{count} are fractions"
            raise refused(
                key, f"{item}: that gives {distinct} different whole numbers, not {count}{fractions}"
            )
    return spacing, [_text(number, whole) + (f" {unit}" if unit else "") for number in numbers]


def _unit(key: str, item: str, first: str, second: str) -> str:
    for unit in (first, second):
        if unit and unit not in UNITS:
            near = [known for known in UNITS if known.lower() == unit.lower()]
            near = near or difflib.get_close_matches(unit, UNITS, 1, 0.5)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(UNITS)}"
            raise refused(key, f"{item}: {unit} is no unit of bytes; {hint}")
    if bool(first) != bool(second):
        raise refused(key, f"{item}: give both ends a unit, or none of them")
    return first


def _count(  # noqa: PLR0913 - what there is to say about a range
    key: str, item: str, given: str | None, low: Fraction, high: Fraction, whole: bool
) -> tuple[int, str]:
    """How many values, and how they are spaced."""
    if given is None:
        if not whole:
            raise refused(
                key,
                f"{item}: say how many values, as in {item}:8; only a range of whole numbers does without",
            )
        count, spacing = int(abs(high - low)) + 1, "linear"
    else:
        number, _, spacing = (part.strip() for part in given.partition(":"))
        spacing = {"": "linear", "lin": "linear"}.get(spacing, spacing)
        if spacing not in SPACINGS:
            near = difflib.get_close_matches(spacing, SPACINGS, 1)
            hint = f"did you mean {near[0]}?" if near else "there are linear and log"
            raise refused(key, f"{item}: {spacing!r} is no way to space values; {hint}")
        if not re.fullmatch(r"\d+", number) or int(number) < 2:
            raise refused(
                key, f"{item}: expected how many values, a whole number from 2 on, given {number!r}"
            )
        count = int(number)
    if count > MOST:
        raise refused(key, f"{item}: {count:,} values; a range has at most {MOST:,}")
    return count, spacing


def _at(low: Fraction, high: Fraction, place: Fraction, spacing: str) -> Fraction:
    """The number at a place from 0 to 1 in a range, the same on every machine."""
    if spacing == "linear":
        return low + (high - low) * place
    if place in (0, 1):
        return high if place else low
    with localcontext() as context:
        # Many more digits than a float has: then the nearest one is the same everywhere.
        context.prec = 40
        ratio = _decimal(high) / _decimal(low)
        return Fraction(_decimal(low) * (ratio.ln() * _decimal(place)).exp())


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def _text(number: Fraction, whole: bool) -> str:
    return str(number.numerator) if whole else repr(float(number))


def numbered(values: Sequence[Value]) -> list[str]:
    """Values in as few digits as tell them apart, at least four.

    >>> numbered([0.07, 0.13142857142857142]), numbered(["greedy"])
    (['0.07', '0.1314'], ['greedy'])
    """
    for digits in range(4, 17):
        texts = [_short(value, digits) for value in values]
        if len(set(texts)) == len(set(values)):
            return texts
    return [str(value) for value in values]


def _short(value: Value, digits: int) -> str:
    return f"{value:.{digits}g}" if isinstance(value, float) else json.dumps(value).strip('"')
