"""What became of single log blocks, a part of the result record."""

from __future__ import annotations

from typing import Literal

from nandlab.record.view import View


class Recycled(View):
    """What became of a log block: its valid pages, migrations before in its logical block, pages copied."""

    number: int
    written_pages: int
    logical_block: int
    kind: Literal["switch", "partial", "full", "migration", "dropped"]
    evicted: bool
    valid: int
    migrations: int
    copies: int
    alpha: float | None


class Recyclings(View):
    """What became of the last log blocks of `[ftl.migration]`, and how migrations grow in a row."""

    list: list[Recycled]
    migration_valid: float | None
    merge_valid: float | None
    longest_row: int
    alpha: float | None
    slope: float | None
    intercept: float | None
    r2: float | None
