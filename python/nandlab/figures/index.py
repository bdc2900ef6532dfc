"""An index's work, in figure rows for the terminal and for reports."""

from __future__ import annotations

from nandlab.record.index import IndexFigures, PageKinds
from nandlab.writing import units

Row = tuple[str, str, str]
"""Name, value and explanation."""


def rows(index: IndexFigures) -> list[Row]:
    """Name, value and explanation for an index's figures."""
    levels = "1 level" if index.height == 1 else f"{index.height} levels"
    pool = index.pool
    return [
        ("operations", units.count(index.operations.total), _operations(index)),
        ("index", levels, _pages(index)),
        ("index reads", f"{units.count(index.page_reads.total)} pages", _kinds(index.page_reads)),
        ("index writes", f"{units.count(index.page_writes.total)} pages", _kinds(index.page_writes)),
        ("index pool", percent(hit_share(index)), f"hits; {units.size(pool.bytes)}, {pool.frames:,} frames"),
    ]


def hit_share(index: IndexFigures | None) -> float | None:
    """The pool's hit ratio in pages."""
    asked = 0 if index is None else index.pool.hits + index.pool.misses
    return index.pool.hits / asked if index is not None and asked else None


def percent(share: float | None) -> str:
    """A share that may be unknown, as a percentage."""
    return units.NO_VALUE if share is None else units.percent(share)


def _operations(index: IndexFigures) -> str:
    done = index.operations.to_dict()
    words = [
        f"{units.count(number)} {name.replace('_', '-')}"
        for name, number in done.items()
        if number and name != "total"
    ]
    others = {
        "records scanned": index.scanned_records,
        "keys not there": index.absent,
        "keys there already": index.present,
        "flushes": index.flushes,
    }
    told = [f"{units.count(number)} {name}" for name, number in others.items() if number]
    return ", ".join(words) + (f"; {', '.join(told)}" if told else "")


def _pages(index: IndexFigures) -> str:
    records = f"{units.count(index.records)} records"
    if index.leaves is None:
        return f"{records}; its pages were not counted, since an operation ended on the way"
    leaves = f"{_counted(index.leaves, 'leaf', 'leaves')}, {percent(index.leaf_fill)} full"
    inner = _counted(index.inner_pages, "inner page", "inner pages")
    free = f", {_counted(index.free_pages, 'free page', 'free pages')}" if index.free_pages else ""
    return f"{records}; {leaves}; {inner}{free}"


def _counted(number: int | None, one: str, more: str) -> str:
    return f"{units.count(number)} {one if number == 1 else more}"


def _kinds(pages: PageKinds) -> str:
    found = ((name, number) for name, number in pages.to_dict().items() if name != "total" and number)
    return ", ".join(f"{name} {units.count(number)}" for name, number in found)
