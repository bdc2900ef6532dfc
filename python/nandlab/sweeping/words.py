"""A sweep's values and figures for readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from nandlab.figures import summary
from nandlab.figures.table import Column
from nandlab.policy import words as policies_in_words
from nandlab.running.varied import TITLES, label, titles_of
from nandlab.sweeping.axes import Axis, numbered
from nandlab.sweeping.goals import Goal
from nandlab.writing import units

if TYPE_CHECKING:
    from nandlab.record.record import Record
    from nandlab.sweeping import Point, Sweep


def axis_titles(axes: Sequence[Axis]) -> list[str]:
    """A short head for each varied key."""
    return [title.replace("_", " ") for title in titles_of([axis.key for axis in axes])]


def labels(axes: Sequence[Axis]) -> list[dict[str, str]]:
    """For each axis its values' labels; two values never share a label.

    >>> labels([Axis("device.over_provisioning", ("0.07", "0.13142857142857142"))])
    [{'0.07': '7 %', '0.13142857142857142': '13.1 %'}]
    >>> labels([Axis("precondition.from_state", ("states/a.bin", "b.bin"))])
    [{'states/a.bin': 'a.bin', 'b.bin': 'b.bin'}]
    """
    found = []
    for axis, title in zip(axes, titles_of([axis.key for axis in axes]), strict=True):
        meant = axis.meant()
        is_number = axis.is_numeric() and title not in TITLES.values()
        shown = numbered(meant) if is_number else [label(title, text) for text in axis.values]
        if axis.is_size():
            shown = [units.size(value) for value in meant if not isinstance(value, str)]
        own = [policies_in_words(text) for text in axis.values]
        shown = [
            each if words == text else words
            for each, words, text in zip(shown, own, axis.values, strict=True)
        ]
        if len(set(shown)) < len(set(axis.values)):
            shown = list(axis.values)
        found.append(dict(zip(axis.values, shown, strict=True)))
    return found


_TWINS = {"waf": "WAF", "flash.erases": "erases", "time_us": "time", "ram.total_bytes": "RAM"}
"""Goals with a column in comparisons."""


def columns(found: Sweep) -> list[Column[Point]]:
    """The columns in a table with all points: varied keys, goals, the front for several goals, other figures.

    All but the varied keys are for points with a result.
    """
    results = [point.result for point in found.points if point.result is not None]
    named = {_TWINS.get(goal.name) for goal in found.goals}
    others = [column for column in summary.columns(results) if column.title not in named]
    on_front = {id(point) for point, is_on in zip(found.points, found.front, strict=True) if is_on}
    front: Column[Point] = Column(
        "front", lambda point: id(point) in on_front, lambda is_on: "◆" if is_on else ""
    )
    return [
        *_keys(found.axes),
        *(Column(goal.name, partial(_goal, goal), partial(figure, goal.name)) for goal in found.goals),
        *[front] * (len(found.goals) > 1),
        *(Column(each.title, partial(_other, each), each.text) for each in others),
        *_OPTIMUM * any(point.optimum is not None for point in found.points),
    ]


_OPTIMUM: list[Column[Point]] = [
    Column("optimum", lambda point: getattr(point.optimum, "waf", None), units.ratio),
    Column(
        "above optimum",
        lambda point: point.above_optimum,
        lambda share: units.NO_VALUE if share is None else units.percent(share),
    ),
]
"""For a sweep that ran placements that know the future."""


def _keys(axes: Sequence[Axis]) -> Iterator[Column[Point]]:
    for at, (axis, title, shown) in enumerate(zip(axes, axis_titles(axes), labels(axes), strict=True)):
        yield Column(title, partial(_text, at), shown.__getitem__, is_number=axis.is_numeric())


def _text(at: int, point: Point) -> str:
    return point.texts[at]


def _goal(goal: Goal, point: Point) -> float | None:
    return None if point.record is None else goal.of(point.record)


def _other(column: Column[Record], point: Point) -> float | None:
    return None if point.result is None else column.value(point.result)


@dataclass(frozen=True)
class Quantity:
    """How to show a record figure: its unit on an axis, the divisor there, and its text."""

    unit: str
    divisor: float
    text: Callable[[float | None], str]


def figure(name: str, value: float | None) -> str:
    """A record figure with its unit.

    >>> figure("flash.erases", 1234), figure("waf", 2.34567), figure("latency_us.write.p99", 1500)
    ('1,234', '2.346', '1.5 ms')
    """
    return quantity(name, [] if value is None else [value]).text(value)


def quantity(name: str, values: Sequence[float]) -> Quantity:
    """The unit and text for a figure with this name, for values this large."""
    most = max((abs(value) for value in values), default=0.0)
    last = name.rsplit(".", 1)[-1]
    if "_us" in name:
        return _in(most, [("µs", 1.0), ("ms", 1e3), ("s", 1e6), ("h", 3.6e9)], units.time_us)
    if last.endswith("bytes") or name.startswith(("ram.sram.", "ram.dram.")):
        return _in(most, [("B", 1.0), ("KiB", 2.0**10), ("MiB", 2.0**20), ("GiB", 2.0**30)], units.size)
    if "energy_j" in name:
        return _in(most, [("µJ", 1e-6), ("mJ", 1e-3), ("J", 1.0)], units.energy_j)
    if last.endswith("_per_s"):
        unit = "10^6 B/s" if "mb_per_s" in last else f"{last.removesuffix('_per_s')}/s"
        return Quantity(unit, 1.0, _short)
    if "sectors" in last:
        return Quantity("sectors of 512 B", 1.0, units.count)
    whole = all(float(value).is_integer() for value in values) and name != "waf"
    unit = _UNITS.get(name, _UNITS.get(last, "")) if whole else _UNITS.get(name, "ratio")
    return Quantity(unit, 1.0, units.count if whole else units.ratio)


_UNITS = {
    "waf": "ratio",
    "erases": "blocks",
    "programs": "pages",
    "reads": "pages",
    "copies": "pages",
    "host.reads": "requests",
    "requests": "requests",
    "wear.mean": "P/E cycles",
    "wear.min": "P/E cycles",
    "wear.max": "P/E cycles",
    "wear.stddev": "P/E cycles",
}


def _short(value: float | None) -> str:
    return units.NO_VALUE if value is None else units.short(value)


def _in(most: float, steps: Sequence[tuple[str, float]], text: Callable[[float | None], str]) -> Quantity:
    """The largest unit that leaves the largest value at 1 or more."""
    unit, divisor = steps[0]
    for name, size in steps[1:]:
        if most >= size:
            unit, divisor = name, size
    return Quantity(unit, divisor, text)
