"""An index's work in the result record."""

from __future__ import annotations

from nandlab.record.latencies import Latencies
from nandlab.record.view import View


class Operations(View):
    """Operations in a key workload, by kind."""

    total: int
    load: int
    insert: int
    update: int
    put: int
    read: int
    read_modify_write: int
    scan: int
    delete: int


class Pool(View):
    """An index's buffer pool: its size, and its work; `evictions` with and without `write_backs`."""

    frames: int
    bytes: int
    hits: int
    misses: int
    evictions: int
    write_backs: int
    flushed: int


class PageKinds(View):
    """An index's pages by kind."""

    leaf: int
    inner: int
    root: int
    header: int
    total: int


class Level(View):
    """A level of an LSM tree: its tables at the end, and what compaction wrote there and read from there."""

    level: int
    tables: int
    bytes: int
    compaction_written: int
    compaction_read: int


class Lsm(View):
    """An LSM tree's work and its tables at the end; bytes as written and read, padding included.

    `bloom_false_positive_rate` is a share of absent keys, None before the first; `space_amplification` is
    None if an operation ended on the way.
    """

    levels: list[Level]
    wal_bytes: int
    flush_bytes: int
    load_bytes: int
    compaction_bytes: int
    manifest_bytes: int
    moved_bytes: int
    read_bytes: int
    memtables: int
    compactions: int
    moves: int
    dropped: int
    bloom_asked: int
    bloom_negative: int
    bloom_false_positive: int
    bloom_false_positive_rate: float | None
    cache_hits: int
    cache_misses: int
    table_memory_bytes: int
    space_amplification: float | None


class IndexFigures(View):
    """An index's work; `host` has its requests to the device.

    `absent` reads, updates and deletes named missing keys, `present` inserts named existing keys.
    Pages and fill are for the end; None if an operation ended on the way. An LSM tree has `lsm`, and no
    pages or pool.
    """

    operations: Operations
    scanned_records: int
    absent: int
    present: int
    flushes: int
    records: int
    user_bytes: int
    written_bytes: int
    waf_index: float | None
    waf_total: float | None
    height: int
    leaves: int | None
    inner_pages: int | None
    free_pages: int | None
    leaf_fill: float | None
    inner_fill: float | None
    pool: Pool
    page_reads: PageKinds
    page_writes: PageKinds
    latency_us: Latencies | None
    lsm: Lsm | None
