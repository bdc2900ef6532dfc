"""The fates of single log blocks in the result record."""

from __future__ import annotations

from typing import Literal

from nandlab.record.view import View


class Recycled(View):
    """A log block's fate: its valid pages, migrations before in its logical block, pages copied."""

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
    """The fates of the last log blocks in `[ftl.migration]`, and the growth of migrations in a row."""

    list: list[Recycled]
    migration_valid: float | None
    merge_valid: float | None
    longest_row: int
    alpha: float | None
    slope: float | None
    intercept: float | None
    r2: float | None
