"""What a file system did, a part of the result record."""

from __future__ import annotations

from nandlab.record.view import View


class FileCounts(View):
    """Operations of a workload of files, by kind."""

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
    """A volume in units in which files take space, and what is free on it at the end."""

    unit_bytes: int
    units: int
    free_bytes: int | None


class FsCollections(View):
    """Collections of a file system on bare flash, as in `Gc`, since the first transaction began."""

    passive: int
    aggressive: int
    emptied: int


class FsFirst(View):
    """The transactions, from 1, in which a file system on bare flash did something first.

    `passive` and `aggressive`: a collection with enough erased blocks, with few; `all_used`: no block was
    left that was never written; None where it never was so.
    """

    passive: int | None
    aggressive: int | None
    all_used: int | None


class FsBlocks(View):
    """Blocks of a file system on bare flash: never written, with nothing in them, and by live pages.

    `live` has pairs of live pages and the blocks that hold so many; `live_pages`, with `host.sample_blocks`,
    those of each block.
    """

    unused: int
    empty: int
    live: list[list[int]]
    live_pages: list[int] | None


class Nvram(View):
    """NVRAM of a file system: bytes that its metadata takes, accesses, and the words of 8 bytes stored."""

    bytes: int
    reads: int
    writes: int
    stored_words: int
    time_us: float
    energy_j: float
