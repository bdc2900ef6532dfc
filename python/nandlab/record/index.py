"""What an index did, as the result record has it."""

from __future__ import annotations

from nandlab.record.latencies import Latencies
from nandlab.record.view import View


class Operations(View):
    """Operations of a key workload, by kind."""

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
    """The buffer pool of an index: its size, and what it did; `evictions` with and without `write_backs`."""

    frames: int
    bytes: int
    hits: int
    misses: int
    evictions: int
    write_backs: int
    flushed: int


class PageKinds(View):
    """Pages of an index by what they are."""

    leaf: int
    inner: int
    root: int
    header: int
    total: int


class IndexFigures(View):
    """What an index did; its requests to the device are those of `host`.

    `absent` reads, updates and deletes were of keys that were not there, `present` inserts of keys that were.
    Pages and fill are those at the end; None where an operation ended on the way.
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
