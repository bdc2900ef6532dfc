"""A write buffer's work in the result record."""

from __future__ import annotations

from nandlab.record.view import View


class Accesses(View):
    """Accesses to a memory, each to a page or a part."""

    reads: int
    writes: int


class NvramAccesses(View):
    """Accesses to a buffer's NVRAM, and the 8-byte words stored, headers included."""

    reads: int
    writes: int
    stored_words: int
    time_us: float
    energy_j: float


class MemoryEnergy(View):
    """Energy for a buffer's memory in joules: for reads, writes, headers, and powered time.

    `static` and `total` are None if no time is kept.
    """

    bytes: int
    read: float
    write: float
    header: float
    static: float | None
    total: float | None


class BufferEnergy(View):
    """Energy for a buffer's memories in joules, and their powered time."""

    dram: MemoryEnergy
    nvram: MemoryEnergy | None
    dynamic: float
    static: float | None
    total: float | None
    powered_us: float | None


class Saving(View):
    """A capacitor's load to save the DRAM: dirty bytes, and the time to program them."""

    bytes: int
    ms: float


class Placement(View):
    """Decisions by `wap_lru` from patterns; degenerate if one state or place has less than 1 %."""

    balanced_intervals: int
    write_intensive_intervals: int
    dram_requests: int
    nvram_requests: int
    write_intensive_share: float | None
    nvram_share: float | None
    t_state: float
    t_read: float
    t_write: float
    degenerate: bool


class BufferCounts(View):
    """The write buffer's work; a request that touches three pages is three accesses.

    Hits are pages read without the FTL, or written while a part was in the buffer. Demotions are
    pages moved from one memory to another in the buffer, flushes batches of dirty pages written
    back, fill_reads pages read to complete them.
    """

    hits: int
    misses: int
    read_hits: int
    read_misses: int
    write_hits: int
    write_misses: int
    demotions: int
    flushes: int
    flushed_pages: int
    fill_reads: int
    padded_pages: int
    dram: Accesses
    nvram: NvramAccesses | None
    saving_max: Saving
    saving_at_end: Saving
    energy_j: BufferEnergy | None
    placement: Placement | None
