"""An index's work, in figure rows for the terminal and for reports."""

from __future__ import annotations

from nandlab.record.made import IndexFigures, Lsm, PageKinds
from nandlab.writing import units

Row = tuple[str, str, str]
"""Name, value and explanation."""


def rows(index: IndexFigures) -> list[Row]:
    """Name, value and explanation for an index's figures."""
    levels = "1 level" if index.height == 1 else f"{index.height} levels"
    first = ("operations", units.count(index.operations.total), _operations(index))
    amplification = ("index WAF", _ratio(index.waf_index), _amplification(index))
    if index.lsm is not None:
        return [first, ("index", levels, _tables(index, index.lsm)), amplification, *_lsm(index.lsm)]
    pool = index.pool
    return [
        first,
        ("index", levels, _pages(index)),
        amplification,
        ("index reads", f"{units.count(index.page_reads.total)} pages", _kinds(index.page_reads)),
        ("index writes", f"{units.count(index.page_writes.total)} pages", _kinds(index.page_writes)),
        ("index pool", percent(hit_share(index)), f"hits; {units.size(pool.bytes)}, {pool.frames:,} frames"),
    ]


def _ratio(value: float | None) -> str:
    return units.NO_VALUE if value is None else f"{value:.2f}"


def _amplification(index: IndexFigures) -> str:
    written, user = units.size(index.written_bytes), units.size(index.user_bytes)
    return f"{written} written for {user} of the user; with the device's {_ratio(index.waf_total)}"


def _tables(index: IndexFigures, lsm: Lsm) -> str:
    levels = [
        f"L{number} {units.size(level.bytes)} in {_counted(level.tables, 'table', 'tables')}"
        for number, level in enumerate(lsm.levels)
        if level.tables
    ]
    return "; ".join([f"{units.count(index.records)} records", *levels])


def _lsm(lsm: Lsm) -> list[Row]:
    sources = {
        "log": lsm.wal_bytes,
        "memtables": lsm.flush_bytes,
        "load": lsm.load_bytes,
        "compaction": lsm.compaction_bytes,
        "manifest": lsm.manifest_bytes,
        "moves": lsm.moved_bytes,
    }
    told = ", ".join(f"{name} {units.size(number)}" for name, number in sources.items() if number)
    asked = lsm.cache_hits + lsm.cache_misses
    passed = f"{units.count(lsm.bloom_false_positive)} of {units.count(lsm.bloom_asked)} questions"
    return [
        ("index writes", units.size(sum(sources.values())), told),
        ("Bloom filters", percent(lsm.bloom_false_positive_rate), f"of absent keys pass; {passed}"),
        ("block cache", percent(lsm.cache_hits / asked if asked else None), "hits"),
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
