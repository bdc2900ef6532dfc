"""A file system's work in the result record."""

from __future__ import annotations

from nandlab.record.view import View


class FileCounts(View):
    """Operations in a file workload, by kind."""

    total: int
    mkdir: int
    rmdir: int
    create: int
    open: int
    close: int
    read: int
    write: int
    truncate: int
    sync: int
    rename: int
    unlink: int


class Volume(View):
    """A volume in its allocation units, and the free ones at the end."""

    unit_bytes: int
    units: int
    free_bytes: int | None


class FsCollections(View):
    """Collections by a file system on bare flash, as in `Gc`, since the first transaction began."""

    passive: int
    aggressive: int
    emptied: int


class FsFirst(View):
    """The transactions, from 1, in which a file system on bare flash did something first.

    `passive` and `aggressive`: a collection with enough erased blocks, with few; `all_used`: every block
    had been written once; None if it never happened.
    """

    passive: int | None
    aggressive: int | None
    all_used: int | None


class FsBlocks(View):
    """A bare-flash file system's blocks: never written, with nothing in them, and by live pages.

    `live` pairs a live page count with its block count; `live_pages`, with `host.sample_blocks`,
    has each block's live pages.
    """

    unused: int
    empty: int
    live: list[list[int]]
    live_pages: list[int] | None


class Nvram(View):
    """A file system's NVRAM: metadata size in bytes, accesses, and the 8-byte words stored."""

    bytes: int
    reads: int
    writes: int
    stored_words: int
    time_us: float
    energy_j: float
