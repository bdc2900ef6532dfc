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


class IndexFigures(View):
    """An index's work; `host` has its requests to the device.

    `absent` reads, updates and deletes named missing keys, `present` inserts named existing keys.
    Pages and fill are for the end; None if an operation ended on the way.
    """

    operations: Operations
    scanned_records: int
    absent: int
    present: int
    flushes: int
    records: int
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
