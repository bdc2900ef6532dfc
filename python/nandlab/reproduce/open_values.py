"""Values the paper leaves open and its file chose: `[[open]]`, with the other possible values."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from nandlab.reproduce.document import Table
from nandlab.reproduce.formula import parse_formula
from nandlab.reproduce.tree import Tree, get, merged, put, without
from nandlab.running.ranges import Range

SECTIONS = ("template", "parts", "measures")
"""Tables in a file where something can be open."""

Value = Any
"""A TOML value, or a choice's name."""

AnyOpen = TypeVar("AnyOpen", bound="Open")


@dataclass(frozen=True)
class Open:
    """Something a paper leaves open: the file's choice, and the other possible ones."""

    name: str
    what: str
    keys: tuple[str, ...]
    """Paths in the file for the value; none with named choices."""
    chosen: Value
    values: tuple[Value, ...]
    """Every value, or all choices' names; for a range the values tried alone."""
    range: Range | None = None
    unit: str = ""
    """Stands behind each number in a range, as in `"32 MiB"`."""
    choices: dict[str, Tree] = field(default_factory=dict)
    """Each is a tree merged over the file."""
    removed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Paths to remove from the file before a choice."""
    is_searched: bool = True
    """Whether a search varies it."""
    flips: tuple[str, ...] = ()
    """Without a search: the claims that come out as chosen, and differ with another value."""

    @property
    def alone(self) -> tuple[Value, ...]:
        """The values to try one at a time: all but the chosen one."""
        return tuple(value for value in self.values if value != self.chosen)

    def at(self, share: float) -> Value:
        """The value at a share of all values, 0 to 1."""
        if self.range is not None:
            return self._value(self.range.at(share))
        return self.values[min(int(share * len(self.values)), len(self.values) - 1)]

    def has(self, value: Value) -> bool:
        """Whether this is the chosen value, a listed one or one in the range."""
        if value == self.chosen or value in self.values:
            return True
        number = None if self.range is None else _number_of(value, self.unit)
        return number is not None and self.range is not None and self.range.low <= number <= self.range.high

    def _value(self, number: float) -> Value:
        return f"{number:g} {self.unit}" if self.unit else number

    def text(self, value: Value) -> str:
        """A value in one line."""
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def read(self, text: str) -> Value:
        """Reads a value as `text()` writes it.

        Raises:
            ValueError: With a sentence; no such value.

        """
        known = {self.text(value): value for value in (self.chosen, *self.values)}
        if text in known:
            return known[text]
        if self.range is None:
            raise ValueError(f"{self.name} has no value {text!r}; there are {', '.join(known)}")
        number = json.loads(text.removesuffix(f" {self.unit}") if self.unit else text)
        return self._value(number) if self.unit else number

    def put_into(self, file: Tree, value: Value) -> Tree:
        """The file's tree with this value."""
        if self.choices:
            for path in self.removed[value]:
                file = without(file, path.split("."))
            return merged(file, self.choices[value])
        for path in self.keys:
            file = put(file, path.split("."), value)
        return file

    def meaning(self) -> dict[str, Any]:
        """All but the words."""
        limits = None if self.range is None else vars(self.range)
        return {"name": self.name, "keys": self.keys, "chosen": self.chosen, "values": self.values,
                "range": limits, "unit": self.unit, "choices": self.choices,
                "removed": self.removed}  # fmt: skip


def parse_opens(top: Table, file: Tree) -> tuple[Open, ...]:
    """A paper's `[[open]]` entries; `file` has its tables.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    found: list[Open] = []
    for table in top.tables("open"):
        one = _parse_open(table, file)
        if one.name in [each.name for each in found]:
            raise table.error("name", f"{one.name} stands twice")
        one = beside_search(table, one)
        table.end()
        found.append(one)
    return tuple(found)


def beside_search(table: Table, one: AnyOpen) -> AnyOpen:
    """The entry with `searched` and `flips`.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    is_searched, flips = table.truth("searched", True), tuple(table.texts("flips"))
    if is_searched and flips:
        raise table.error("flips", "the search tells which claims this flips: expected searched = false")
    return replace(one, is_searched=is_searched, flips=flips)


def _parse_open(table: Table, file: Tree) -> Open:
    name, what = table.text("name"), table.text("what")
    kinds = [key for key in ("values", "range", "choices") if table.has(key)]
    if len(kinds) != 1:
        given = " and ".join(kinds) or "none of them"
        raise table.error("", f"expected one of values, range and [open.choices.<name>], given {given}")
    if kinds == ["choices"]:
        return parse_choices(table, name, what, file)
    keys = tuple(table.texts("keys"))
    chosen = _chosen(table, keys, file)
    if kinds == ["range"]:
        return _range(table, name, what, keys, chosen)
    values = [chosen if value == chosen else value for value in table.values("values")]
    if chosen not in values:
        raise table.error("values", f"expected the chosen value {chosen!r} of {keys[0]} among them")
    if len(values) < 2 or any(value in values[:at] for at, value in enumerate(values)):
        raise table.error("values", "expected at least two values, each of them once")
    if any(path.startswith("measures.") for path in keys):
        for value in values:
            table.read("values", str(value), parse_formula)
    return Open(name, what, keys, chosen, tuple(values))


def _chosen(table: Table, keys: tuple[str, ...], file: Tree) -> Value:
    """The file's value under the keys."""
    if not keys:
        raise table.error("keys", "expected paths in this file, such as parts.bast.ftl.bast.log_blocks")
    found = []
    for path in keys:
        if path.partition(".")[0] not in SECTIONS:
            raise table.error("keys", f"{path}: expected a path that begins with {', '.join(SECTIONS)}")
        value = get(file, path.split("."))
        if value is None:
            raise table.error(
                "keys", f"{path}: there is no such key in this file: write the chosen value there"
            )
        found.append(value)
    for path, value in zip(keys, found, strict=True):
        if value != found[0]:
            raise table.error(
                "keys", f"{keys[0]} is {found[0]!r}, and {path} is {value!r}: expected one value"
            )
    return found[0]


def _range(table: Table, name: str, what: str, keys: tuple[str, ...], chosen: Value) -> Open:
    ends, scale, unit = (
        table.values("range"),
        table.chosen("scale", ("linear", "log"), "linear"),
        table.text("unit", ""),
    )
    is_whole = table.truth("whole", False)
    if len(ends) != 2 or not all(_is_number(end, is_whole) for end in ends) or not ends[0] < ends[1]:
        kind = "whole numbers" if is_whole else "numbers"
        raise table.error("range", f"expected two {kind}, the lower one first, given {json.dumps(ends)}")
    if scale == "log" and ends[0] <= 0:
        raise table.error(
            "range", f"expected numbers above 0 on a logarithmic scale, given {json.dumps(ends)}"
        )
    limits = Range(ends[0], ends[1], scale == "log", is_whole)
    number = _number_of(chosen, unit)
    if number is None or not limits.low <= number <= limits.high:
        raise table.error(
            "range",
            f"expected a range of {unit or 'numbers'} that holds the chosen value {chosen!r} of {keys[0]}",
        )
    alone = table.values("alone", [limits.at(share) for share in (0.0, 0.5, 1.0)])
    for value in alone:
        if not _is_number(value, is_whole) or not limits.low <= value <= limits.high:
            raise table.error(
                "alone", f"expected numbers from {ends[0]} to {ends[1]}, given {json.dumps(value)}"
            )
    values = tuple(f"{value:g} {unit}" if unit else value for value in alone)
    return Open(name, what, keys, chosen, values, limits, unit)


def _is_number(value: object, is_whole: bool) -> bool:
    return isinstance(value, int if is_whole else int | float) and not isinstance(value, bool)


def _number_of(value: Value, unit: str) -> float | None:
    """The number in a value, such as 32 in `"32 MiB"`.

    >>> _number_of("32 MiB", "MiB"), _number_of(3, ""), _number_of("32 KiB", "MiB")
    (32.0, 3, None)
    """
    if not unit:
        return value if _is_number(value, False) else None
    if not isinstance(value, str) or not value.endswith(f" {unit}"):
        return None
    try:
        return float(value.removesuffix(f" {unit}"))
    except ValueError:
        return None


def parse_choices(
    table: Table, name: str, what: str, file: Tree, more: Callable[[str, Table], object] | None = None
) -> Open:
    """An entry with named choices; `more` reads what a choice has beside a tree.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    chosen, choices = table.text("chosen"), table.table("choices")
    names = choices.keys()
    if chosen not in names:
        raise table.error("chosen", f"expected one of the choices {', '.join(names)}, given {chosen!r}")
    if len(names) < 2:
        raise table.error("choices", "expected at least two choices")
    trees, removed = {}, {}
    for each in names:
        choice = choices.table(each)
        if more is not None:
            more(each, choice)
        trees[each], removed[each] = _choice(choice, file)
    found = Open(name, what, (), chosen, tuple(names), choices=trees, removed=removed)
    if found.put_into(file, chosen) != file:
        raise table.error(
            "chosen", f"the file stands for the choice {chosen}, so that one cannot change anything in it"
        )
    return found


def _choice(table: Table, file: Tree) -> tuple[Tree, tuple[str, ...]]:
    removed = tuple(table.texts("without"))
    tree = {section: table.plain(section) for section in SECTIONS if table.has(section)}
    for section in SECTIONS:
        table.plain(section)
    table.end()
    for section in ("parts", "measures"):
        for key in tree.get(section, {}):
            if key not in file[section]:
                known = ", ".join(file[section])
                raise table.table(section).error(
                    key, f"there is no {section[:-1]} {key!r}; there are {known}"
                )
    for key, text in tree.get("measures", {}).items():
        table.table("measures").read(key, table.table("measures").text(key), parse_formula)
        del text
    for path in removed:
        if path.partition(".")[0] not in ("template", "parts") or get(file, path.split(".")) is None:
            raise table.error("without", f"{path}: there is no such key in template or parts of this file")
    return tree, removed
