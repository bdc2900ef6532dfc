"""A record's numbers, found by their paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

LEFT_OUT = ("experiment", "latency_histogram", "recorded_latency_histogram", "seed", "version")
"""Record tables without figures, and facts shared by all points in a sweep."""


class NoNumber(ValueError):
    """A path that leads to no number; the message is a sentence."""


def number(record: Mapping[str, Any], path: str) -> float:
    """The number at a path in a record; `matrix.<origin>.<cause>.<count>` sums matrix rows.

    Raises:
        NoNumber: There is none.

    """
    value: Any = record
    if path.startswith("matrix."):
        return _cells_of_matrix(record, path)
    for part in path.split("."):
        value = _entry(value, part) if isinstance(value, list) else _get(value, part)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NoNumber(f"the record has no number {path}")
    return value


def _get(value: object, key: str) -> object:
    """A table's value under a key; with `any` the sum over its numbers, such as `ram.sram.any`.

    >>> _get({"map": 3, "lists": 4}, "any"), _get({"map": 3}, "map"), _get({"map": "no"}, "any")
    (7, 3, None)
    """
    if not isinstance(value, dict):
        return None
    if key == "any" and value and all(isinstance(each, int | float) for each in value.values()):
        return sum(value.values())
    return value.get(key)


def _entry(entries: list[Any], number: str) -> object:
    """The list entry whose first figure is this number, such as the sample after so many transactions.

    With a word it is the sum over the entries that have the word, such as `recyclings.list.full.evicted`; a
    truth value counts 1.

    >>> _entry([{"transactions": 500, "erases": 3}, {"transactions": 1000, "erases": 7}], "1000")
    {'transactions': 1000, 'erases': 7}
    >>> ends = [("full", True), ("full", True), ("switch", True)]
    >>> _entry([{"number": 4, "kind": kind, "evicted": evicted} for kind, evicted in ends], "full")
    {'number': 8, 'evicted': 2}
    """
    for entry in entries:
        if isinstance(entry, dict) and str(next(iter(entry.values()), None)) == number:
            return entry
    having = [entry for entry in entries if isinstance(entry, dict) and number in entry.values()]
    keys = [key for key, value in having[0].items() if isinstance(value, int | float)] if having else []
    return {key: sum(entry[key] for entry in having) for key in keys} or None


def _cells_of_matrix(record: Mapping[str, Any], path: str) -> float:
    """`matrix.<origin>.<cause>.<count>`: the sum over its rows; 0 without one.

    `any` stands for every origin or cause.

    >>> rows = [{"origin": "fat", "cause": cause, "reads": 2} for cause in ("host", "gc")]
    >>> cells = ("fat.gc", "any.any", "wal.gc")
    >>> [_cells_of_matrix({"matrix": rows}, f"matrix.{cell}.reads") for cell in cells]
    [2, 4, 0]
    """
    _, *place, count = path.split(".")
    if len(place) != 2:
        raise NoNumber(f"{path}: expected matrix.<origin>.<cause>.<count>")
    sought = {key: each for key, each in zip(("origin", "cause"), place, strict=True) if each != "any"}
    found = [row for row in record["matrix"] if all(row[key] == each for key, each in sought.items())]
    if any(count not in row for row in found):
        raise NoNumber(f"the rows of the matrix have no number {count}")
    return sum(row[count] for row in found)


def numbers(value: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Every number, truth value and text in a record by its path, after `prefix`; lists are left out."""
    for name, inner in value.items():
        if not prefix and name in LEFT_OUT:
            continue
        if isinstance(inner, Mapping):
            yield from numbers(inner, f"{prefix}{name}.")
        elif isinstance(inner, bool | int | float | str):
            yield prefix + name, inner
