"""What a write buffer did, a part of the result record."""

from __future__ import annotations

from nandlab.record.view import View


class Accesses(View):
    """Accesses to a memory, a page or a part of one at a time."""

    reads: int
    writes: int


class NvramAccesses(View):
    """Accesses to the NVRAM of a buffer, and the words of 8 bytes stored, headers included."""

    reads: int
    writes: int
    stored_words: int
    time_us: float
    energy_j: float


class MemoryEnergy(View):
    """Energy of a memory of a buffer in joules: of reads, writes, headers, and of the time it is powered.

    `static` and `total` are None where no time is kept.
    """

    bytes: int
    read: float
    write: float
    header: float
    static: float | None
    total: float | None


class BufferEnergy(View):
    """Energy of the memories of a buffer in joules, and how long they are powered."""

    dram: MemoryEnergy
    nvram: MemoryEnergy | None
    dynamic: float
    static: float | None
    total: float | None
    powered_us: float | None


class Saving(View):
    """What a capacitor must cover to save the DRAM: dirty bytes, and the time to program them."""

    bytes: int
    ms: float


class Placement(View):
    """What `wap_lru` decided by patterns; degenerate where one state or place has less than 1 %."""

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
    """What the write buffer did; a request that touches three pages is three accesses.

    Hits are pages read without the FTL, or written while something of them was here. Demotions are
    pages moved from one memory of the buffer to another, flushes batches of dirty pages written
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
