"""A run's course in equal parts, such as its rate in each twentieth of a pass over the device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nandlab.reproduce.document import Table
from nandlab.reproduce.formula import FUNCTIONS, NAME, Formula, FormulaError, parse_formula
from nandlab.reproduce.timeline import at_path

MOST_PARTS = 1000
"""Parts of a course at most; a record has fewer samples."""


@dataclass(frozen=True)
class Course:
    """A record's list of samples, cut into equal parts of one of its numbers, and a figure for each."""

    name: str
    path: str
    """The list: a key in the record. Its numbers count from the run's start."""
    by: str
    """The number to cut by, such as `written_sectors`."""
    start: float
    """The first part's beginning, in the unit of `by`."""
    end: float
    """The last part's end, in the unit of `by`."""
    parts: int
    value: Formula
    """Over the increase of each number during a part."""

    @property
    def names(self) -> list[str]:
        """The parts' names in a formula.

        >>> course = Course("rate", "series", "requests", 0, 30, 3, parse_formula("programs / time_us"))
        >>> course.names
        ['rate.1', 'rate.2', 'rate.3']
        """
        return [f"{self.name}.{part}" for part in range(1, self.parts + 1)]

    def figure(self, record: Mapping[str, Any], part: int) -> float:
        """A part's figure; between two samples each number grows in proportion.

        Raises:
            FormulaError: The record has no such list or number, or the list ends before the part does.

        >>> course = Course("rate", "series", "requests", 0, 30, 3, parse_formula("programs / requests"))
        >>> record = {"series": [{"requests": 20, "programs": 20}, {"requests": 30, "programs": 50}]}
        >>> [course.figure(record, part) for part in (1, 2, 3)]
        [1.0, 1.0, 3.0]

        """
        samples = at_path(record, self.path)
        if not isinstance(samples, list) or not samples:
            raise FormulaError(f"the record has no samples {self.path}")
        # In this order the last part ends where the course does, without a rounding.
        width = self.end - self.start
        ends = [self._moment(samples, self.start + width * each / self.parts) for each in (part - 1, part)]

        def increase(name: str) -> float:
            first, last = (moment(name) for moment in ends)
            return last - first

        return self.value.value(increase)

    def _moment(self, samples: Sequence[Mapping[str, Any]], position: float) -> Moment:
        before: Mapping[str, Any] = {}
        for sample in samples:
            if _of(sample, self.by) >= position:
                least = _of(before, self.by) if before else 0.0
                width = _of(sample, self.by) - least
                return Moment(before, sample, (position - least) / width if width else 1.0)
            before = sample
        raise FormulaError(f"the samples {self.path} end before {self.by} = {position:,.0f}")


@dataclass(frozen=True)
class Moment:
    """A moment between two samples; before the first one every number is 0."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]
    share: float
    """Of the way from one to the other."""

    def __call__(self, name: str) -> float:
        """A number at this moment; raises FormulaError if the samples lack it."""
        first = _of(self.before, name) if self.before else 0.0
        return first + self.share * (_of(self.after, name) - first)


def _of(sample: Mapping[str, Any], name: str) -> float:
    value = sample.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FormulaError(f"a sample has no number {name}")
    return float(value)


def spread(text: str, courses: Mapping[str, Course]) -> str:
    """A formula's text with each course's name replaced by its parts' names.

    >>> course = Course("rate", "series", "requests", 0, 20, 2, parse_formula("requests / time_us"))
    >>> spread("max(rate) / rate.1", {"rate": course})
    'max(rate.1, rate.2) / rate.1'
    """
    return NAME.sub(
        lambda found: ", ".join(courses[found.group()].names) if found.group() in courses else found.group(),
        text,
    )


def parse_courses(table: Table) -> dict[str, Course]:
    """Reads `[courses]`, a table for each.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    found = {}
    for name in table.keys():  # noqa: SIM118 - a Table is no dictionary
        inner = table.table(name)
        if not name.isidentifier() or name in FUNCTIONS:
            raise inner.error("", "a course's name is a word, and none of a function")
        course = Course(
            name=name,
            path=inner.text("list", "series"),
            by=inner.text("by"),
            start=inner.number("from"),
            end=inner.number("to"),
            parts=inner.whole("parts", 1),
            value=inner.read("value", inner.text("value"), parse_formula),
        )
        if not 0 <= course.start < course.end:
            raise inner.error("to", "a course begins at 0 or later, and ends after its beginning")
        if course.parts > MOST_PARTS:
            raise inner.error("parts", f"expected 1 to {MOST_PARTS} parts")
        inner.end()
        found[name] = course
    return found


def figure_of(courses: Mapping[str, Course], record: Mapping[str, Any], path: str) -> float | None:
    """The figure that `<course>.<part>` names; None if the name is none of a course.

    Raises:
        FormulaError: The course has no such part, or no figure.

    """
    name, _, part = path.partition(".")
    if name not in courses:
        return None
    course = courses[name]
    if path not in course.names:
        raise FormulaError(f"{path}: the course {name} has parts 1 to {course.parts}")
    return course.figure(record, int(part))
