"""Tables of the result record, written by docs/record.py from crates/lab; not by hand."""

from __future__ import annotations

from typing import Any, Literal

from nandlab.record.view import View


class Stopped(View):
    """Why a run ended early.

    Attributes:
        why: Kind of reason. `cancelled`: the caller, such as Ctrl-C; `worn_out`: too few good blocks are left
            for another write; `index_full`: the index has no page left for a worst-case change; `fs_full`:
            the file system has no room for the workload's write; `unreadable`: bit errors lost a page of the
            index or the file system; `firmware_failed`: a firmware in C refused a call, broke a rule of its
            chip or read wrong bytes; `fs_failed`: this machine's system refused an operation in a real
            directory.
        message: The run's progress at this point, as a sentence.

    """

    why: Literal[
        "cancelled", "worn_out", "index_full", "fs_full", "unreadable", "firmware_failed", "fs_failed"
    ]
    message: str


class HostCounts(View):
    """Requests of the host.

    A failed request counts, but its sectors do not. A file system on bare flash and a real directory make no
    requests: there these are the workload's reads, writes and syncs, in sectors of their files.

    Attributes:
        requests: All requests.
        reads: Reads.
        writes: Writes.
        trims: Trims.
        flushes: Flushes.
        read_sectors: 512-byte sectors read.
        written_sectors: 512-byte sectors written.
        trimmed_sectors: 512-byte sectors trimmed.
        partial_writes: Writes with a start or end inside a device page.
        unaligned_writes: Writes with a start inside a device page.
        unreadable: Requests failed because bit errors lost their data.

    """

    requests: int
    reads: int
    writes: int
    trims: int
    flushes: int
    read_sectors: int
    written_sectors: int
    trimmed_sectors: int
    partial_writes: int
    unaligned_writes: int
    unreadable: int


class FlashCounts(View):
    """Flash operations.

    Reads and programs include metadata pages and both halves of copies, but not operations on a spare area
    alone.

    Attributes:
        reads: Page reads.
        programs: Page programs.
        copies: Copies; each is also a read and a program.
        erases: Block erases.
        spare_reads: Spare-only reads.
        spare_programs: Spare-only programs.
        meta_reads: Metadata-page reads, included in `reads`.
        meta_programs: Metadata-page programs, included in `programs`.

    """

    reads: int
    programs: int
    copies: int
    erases: int
    spare_reads: int
    spare_programs: int
    meta_reads: int
    meta_programs: int


class Path(View):
    """How long each part between host and FTL worked.

    Attributes:
        processor_us: Processor of the controller, us (`device.controller.*_command_us`, `*_list_us`).
        firmware_us: Processor of the firmware, us (`host.firmware_us`, `host.lookup_us`).
        link_read_us: Link from device to host, us.
        link_write_us: Link from host to device, us.
        buffer_waits: Writes that waited for space in the controller's write buffer.
        buffer_wait_us: Their wait, us, summed over the writes.
        buffer_reads: Reads that the controller's write buffer answered.
        packed_writes: Writes that shared their command with others.

    """

    processor_us: float
    firmware_us: float
    link_read_us: float
    link_write_us: float
    buffer_waits: int
    buffer_wait_us: float
    buffer_reads: int
    packed_writes: int


class Units(View):
    """Parts of one kind.

    Shares are of the time until flash was at rest, `time_us + drain_us`. A part is busy with array time and
    transfers, not while it waits for its channel.

    Attributes:
        mean: Mean busy share.
        most: The busiest part's share.
        which: The busiest part's number; the first in a tie.
        busy_us: Busy time of each, us; None for more than 64.

    """

    mean: float
    most: float
    which: int
    busy_us: list[float] | None


class Waits(View):
    """Waits by part, us.

    Operations count that the host waits for: causes `host`, `read_modify_write` and `map`, without those of
    writes that a buffer has answered.

    Attributes:
        dies: For dies (or planes): mean over the pages of a request.
        channels: For channels: mean over the pages of a request.
        processor: For the controller's processor.
        firmware: For the firmware's processor.
        write_buffer: For space in the controller's write buffer, also of commands behind a write that waits.
        link_read: For the link to the host.
        link_write: For the link from the host.

    """

    dies: float
    channels: float
    processor: float
    firmware: float
    write_buffer: float
    link_read: float
    link_write: float


class Parts(View):
    """How busy the parts of a device were, and how long requests waited for each.

    Attributes:
        dies: Dies; planes if they work independently.
        channels: Channels.
        waits_us: Waits, summed over the requests.
        limit: The part that limits the run: the one that requests waited for longest, by its name in
            `waits_us`. If none waited, the busiest part; dies and channels only if flash was nearly at rest
            with the last answer: what it does behind the host's back does not hold up the host. None if
            nothing was done.

    """

    dies: Units
    channels: Units
    waits_us: Waits
    limit: str | None


class Merges(View):
    """Log-block merges.

    Attributes:
        switch: Switch merges: a log block became the data block unchanged.
        partial: Partial merges: copies of other pages completed the log block.
        full: Full merges: a new data block was gathered.

    """

    switch: int
    partial: int
    full: int


class Recycled(View):
    """What became of a log block.

    Attributes:
        number: Its place among all of them since the mount, from 0.
        written_pages: Pages that the host had written since the mount.
        logical_block: The logical block.
        kind: What was done. `switch`: it became the data block as it was; `partial`: it became the data block
            after completion; `full`: its logical block was gathered anew; `migration`: its valid pages were
            moved to a new log block; `dropped`: it held nothing and was given back.
        evicted: Whether the log block had to go for another one, full or not.
        valid: Valid pages that the log block held.
        migrations: Migrations of the logical block since its last merge, this one left out.
        copies: Pages copied.
        alpha: Pages by which a migration is thought to copy more than the one before; None where the policy
            does not ask.

    """

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
    """The recorded recyclings, and derived figures.

    Attributes:
        list: All recyclings, oldest first.
        migration_valid: Mean pages copied by a migration; None if there was none.
        merge_valid: Mean valid pages in full log blocks at full merges; None if there was none.
        longest_row: Longest row of migrations in one logical block; the figures below use this row. Rows
            after a merge come before rows after a log block's initial contents.
        alpha: Growth in the cost model, in which the k-th migration copies alpha k pages: slope of the least-
            squares line through the origin, as estimated by `recycling = "macro"`; None without migrations.
        slope: Additional pages from one migration to the next.
        intercept: Pages before the first migration.
        r2: Variance explained by this line, as a share; None if the pages never change.

    """

    list: list[Recycled]
    migration_valid: float | None
    merge_valid: float | None
    longest_row: int
    alpha: float | None
    slope: float | None
    intercept: float | None
    r2: float | None


class Handle(View):
    """A reclaim unit handle.

    Attributes:
        host_pages: Host pages written through it.
        host_bytes: Bytes of these pages that the host wrote. Each page is programmed whole; the rest is what
            was there before, or the list of a page that gathers sectors, and blanks. What is written again
            while it waits for its page counts once.
        moved_pages: Pages last written through it that were moved; where sectors are gathered, pages of
            sectors that were moved.
        waf: Pages written and moved over pages written; None without a page written.
        bytes_waf: Bytes of pages written and moved over `host_bytes`; None without one. It is larger than
            `waf` if writes are smaller than pages.
        units: Reclaim units begun for host pages.
        unfilled_units: Updates by the host that found room left in its reclaim unit.
        flushed_pages: Host pages that a flush programmed before they were full; 0 where no sectors are
            gathered.
        buffered_reads: Sectors read by the host while they still waited in memory for their page.

    """

    host_pages: int
    host_bytes: int
    moved_pages: int
    waf: float | None
    bytes_waf: float | None
    units: int
    unfilled_units: int
    flushed_pages: int
    buffered_reads: int


class PlacementEvent(View):
    """An event of data placement.

    Attributes:
        after_us: Arrival of the request that wrote the host's last page before it, us from the workload's
            start.
        event: What happened. `ended`: a full unit was replaced; `unfilled`: the host ended a unit that had
            room left; `moved`: pages moved from a collected block; `invalid_identifier`: a request named an
            unknown group or handle.
        group: Its reclaim group, or the one that the request named.
        handle: Its handle, or the one that the request named.
        pages: Pages that moved; 0 for other events.

    """

    after_us: float
    event: Literal["ended", "unfilled", "moved", "invalid_identifier"]
    group: int
    handle: int
    pages: int


class Fdp(View):
    """Data placement by the host.

    Attributes:
        handles: By handle.
        units_for_moved: Reclaim units begun for moved pages.
        erased_units: Reclaim units erased: their last block holds nothing any more.
        invalid_identifiers: Writes and updates with an identifier of an unknown group or handle; the writes
            went through handle 0 of group 0.
        implicit_changes: Host pages taken by another group than the one that they were meant for.
        pages_left: By group and handle: pages that can still be written to its reclaim unit at the end.
        events: Events: full units replaced, units ended with room left, blocks whose pages moved, and invalid
            identifiers.
        newest_events: The newest of them, at most 64, the oldest first.

    """

    handles: list[Handle]
    units_for_moved: int
    erased_units: int
    invalid_identifiers: int
    implicit_changes: int
    pages_left: list[list[int]]
    events: int
    newest_events: list[PlacementEvent]


class Groups(View):
    """A placement's groups.

    Attributes:
        blocks: Blocks on each die at the end: the hot group, then the chain's groups before the last one.
            Empty while no group has a size.
        predicted_waf: Write amplification foretold by the model for these sizes; None before the first epoch
            has ended.
        epoch_waf: Write amplification in the last whole epoch; None before the first one has ended.
        epochs: Epochs after which the model was asked.
        adopted: Times other sizes were taken.
        merged: Times groups lost their sizes, as their victims did not follow the model.

    """

    blocks: list[int]
    predicted_waf: float | None
    epoch_waf: float | None
    epochs: int
    adopted: int
    merged: int


class Latency(View):
    """From a request's arrival to its end, us; percentiles to three significant digits.

    Attributes:
        mean: Arithmetic mean.
        p50: Median.
        p90: 90th percentile.
        p99: 99th percentile.
        p999: 99.9th percentile.
        max: The longest.
        count: Requests.

    """

    mean: float
    p50: float
    p90: float
    p99: float
    p999: float
    max: float
    count: int


class ZoneRun(View):
    """Neighbouring zones that are alike at the end of a run.

    Attributes:
        first: The first zone, counted from 0.
        zones: Zones in the row.
        state: Their state: empty, implicitly_opened, explicitly_opened, closed, full, read_only, or
            not_write_pointer for conventional zones.
        write_pointer_bytes: Bytes from a zone's start to its write pointer; None for a zone that takes no
            writes.
        written_bytes: Bytes that the host wrote to each of them; in a random write area a sector counts each
            time.
        resets: Times that the host emptied each of them by a command.

    """

    first: int
    zones: int
    state: str
    write_pointer_bytes: int | None
    written_bytes: int
    resets: int


class Zones(View):
    """A device of zones as its host used it.

    Attributes:
        appends: Appends that were carried out.
        opens: Zones opened by a command.
        closes: Zones closed by a command.
        finishes: Zones finished by a command.
        resets: Zones emptied by a command.
        random_opens: Zones opened with a random write area.
        commits: Commands that made a part of such an area final.
        implicit_commit_pages: Pages that became final because a write went beyond the area.
        implicit_closes: Open zones that the device closed because another one needed the place.
        filled_pages: Pages written to fill finished zones.
        most_open: Most zones open at a time since the mount.
        most_active: Most zones active at a time since the mount.
        refused: Refused requests by the reason's name; a reason without one is left out.
        open_us: Latencies of commands that opened a zone; None without one, or without time.
        close_us: Latencies of commands that closed a zone; None without one, or without time.
        finish_us: Latencies of finishes; None without one, or without time.
        reset_us: Latencies of resets; None without one, or without time.
        report: All zones at the end in the order of their sectors; neighbours that are alike share a row.

    """

    appends: int
    opens: int
    closes: int
    finishes: int
    resets: int
    random_opens: int
    commits: int
    implicit_commit_pages: int
    implicit_closes: int
    filled_pages: int
    most_open: int
    most_active: int
    refused: dict[str, int]
    open_us: Latency | None
    close_us: Latency | None
    finish_us: Latency | None
    reset_us: Latency | None
    report: list[ZoneRun]


class Gc(View):
    """Garbage collection.

    Attributes:
        runs: Victim blocks collected.
        empty_runs: Victims without valid pages: erased without moves or merges.
        idle_runs: Victims chosen in a gap between requests.
        idle_steps: Collection steps in such gaps, mostly copies and erases, whenever the victim was chosen.
        wear_moves: Blocks emptied for wear levelling.
        passive: On bare flash, a file system's runs with enough erased blocks; None for others.
        aggressive: Its other runs.
        emptied: Blocks erased outside collection, after their last used page was freed.

    """

    runs: int
    empty_runs: int
    idle_runs: int
    idle_steps: int
    wear_moves: int
    passive: int | None
    aggressive: int | None
    emptied: int | None


class MapCounts(View):
    """Activity of a map on flash.

    The matrix contains its page reads and programs.

    Attributes:
        hits: Map entries, or units, found in memory.
        misses: Entries or units not found in memory.
        dirty_evictions: Entries or units evicted after a change.
        double_reads: Host reads of a page that had to read its map page from flash first, or with LeaFTL a
            wrong page. A request of several pages counts each.
        gc_runs: Victim blocks with map pages, included in `gc.runs`.
        gc_copies: Map pages moved by these collections.
        folded_pages: Logical pages with scattered sectors, put together by collection in `ftl.hybrid_map`, by
            collection and log merges in `ftl.sector_log`.

    """

    hits: int
    misses: int
    dirty_evictions: int
    double_reads: int
    gc_runs: int
    gc_copies: int
    folded_pages: int


class SlcCounts(View):
    """Blocks with one bit per cell.

    Attributes:
        written_pages: Host pages written to them.
        direct_pages: Host pages written directly to other blocks for lack of room.
        folded_pages: Pages moved out to make room.
        folds: Blocks emptied to make room.
        reads: Page reads in such blocks, including copies.
        programs: Page programs in such blocks, including copies.
        erases: Erases in such blocks.

    """

    written_pages: int
    direct_pages: int
    folded_pages: int
    folds: int
    reads: int
    programs: int
    erases: float


class Cell(View):
    """Counts for one origin and one cause.

    Attributes:
        origin: The page's author.
        cause: Reason for the operation.
        reads: Page reads.
        programs: Page programs.
        copies: Copies.
        erases: Block erases. Origins share an erase in proportion to their invalid pages in the block. It
            counts for the cause that freed the block, even if it waits until the block is taken (`erase_when
            = "on_alloc"`).
        spare_reads: Spare-only reads.
        spare_programs: Spare-only programs.
        meta_reads: Metadata-page reads.
        meta_programs: Metadata-page programs.
        busy_us: Summed data-sheet times of these operations, us.

    """

    origin: str
    cause: str
    reads: int
    programs: int
    copies: int
    erases: float
    spare_reads: int
    spare_programs: int
    meta_reads: int
    meta_programs: int
    busy_us: float


class Accesses(View):
    """Memory accesses; a page or a part counts as one.

    Attributes:
        reads: Reads.
        writes: Writes.

    """

    reads: int
    writes: int


class NvramAccesses(View):
    """Accesses to NVRAM.

    Attributes:
        reads: Reads; a page or a part counts as one.
        writes: Writes; a page or a part counts as one.
        stored_words: 8-byte words stored, headers included.
        time_us: Time for all accesses, us.
        energy_j: Energy for all accesses, J.

    """

    reads: int
    writes: int
    stored_words: int
    time_us: float
    energy_j: float


class Saving(View):
    """Dirty pages in DRAM at power loss.

    Attributes:
        bytes: Their size in bytes.
        ms: Time to program them, evenly over all dies, ms.

    """

    bytes: int
    ms: float


class MemoryEnergy(View):
    """A memory's energy, J.

    Attributes:
        bytes: Bytes assigned by the experiment, before rounding to pages or blocks.
        read: Read energy; a partial read counts as a page.
        write: Write energy; a partial write counts as a page.
        header: Energy for headers read by a mount, by their words; 0 for DRAM.
        static: Standing energy while powered.
        total: The sum.

    """

    bytes: int
    read: float
    write: float
    header: float
    static: float | None
    total: float | None


class BufferEnergy(View):
    """A buffer's energy, J.

    Attributes:
        dram: DRAM energy.
        nvram: NVRAM energy; None without.
        dynamic: Access energy for both.
        static: Standing energy of both while powered; None if no time is kept.
        total: The sum.
        powered_us: Powered time, us, by `memory.powered`: from the first recorded arrival to the last, or to
            the end of the last operation. None if no time is kept.

    """

    dram: MemoryEnergy
    nvram: MemoryEnergy | None
    dynamic: float
    static: float | None
    total: float | None
    powered_us: float | None


class Placement(View):
    """Decisions by a pattern-based policy.

    Attributes:
        balanced_intervals: Intervals in the balanced state.
        write_intensive_intervals: Intervals in the write-intensive state.
        dram_requests: Requests placed in DRAM.
        nvram_requests: Requests placed in NVRAM.
        write_intensive_share: Write-intensive share among the intervals; None without intervals.
        nvram_share: Share placed in NVRAM; None without requests.
        t_state: Mean pages written in a row that make an interval write-intensive; a learned threshold has
            its final value.
        t_read: Smallest read size placed in NVRAM while balanced.
        t_write: Smallest write size placed in NVRAM while balanced.
        degenerate: True if one state, or one place, has less than 1 %: the thresholds do not fit the
            workload.

    """

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
    """Buffer activity during the workload; a request that touches three pages counts as three accesses.

    Attributes:
        hits: Pages read entirely from the buffer, or written while partly buffered.
        misses: All other pages read or written.
        read_hits: Read hits.
        read_misses: Read misses.
        write_hits: Write hits.
        write_misses: Write misses.
        demotions: Pages moved from one buffer memory to another.
        flushes: Write-backs: batches with dirty pages.
        flushed_pages: Pages in these batches, without padding.
        fill_reads: Pages read to complete written-back pages.
        padded_pages: Clean pages written back with dirty ones to complete a block.
        dram: Accesses to DRAM.
        nvram: Accesses to NVRAM, and their cost; None without NVRAM.
        saving_max: Highest number of dirty DRAM pages for a capacitor to save at power loss.
        saving_at_end: The same when the run ends.
        energy_j: Energy for its memories, J; None if `[memory]` states none.
        placement: Decisions by a pattern-based policy; None for the others.

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


class Operations(View):
    """Operations in a key workload.

    Attributes:
        total: All operations.
        load: Bulk-load records.
        insert: Inserts.
        update: Updates.
        put: Inserts or updates.
        read: Reads.
        read_modify_write: Reads followed by an update.
        scan: Scans.
        delete: Deletes.

    """

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
    """An index's buffer pool.

    Attributes:
        frames: Pages in the pool.
        bytes: Pool size, bytes.
        hits: Requested pages found in the pool.
        misses: Requested pages read from the device.
        evictions: Pages evicted to make room.
        write_backs: Dirty pages written at eviction.
        flushed: Dirty pages written by a flush.

    """

    frames: int
    bytes: int
    hits: int
    misses: int
    evictions: int
    write_backs: int
    flushed: int


class PageKinds(View):
    """Index pages by kind.

    Attributes:
        leaf: Leaves.
        inner: Pages above the leaves.
        root: The root, whether it is a leaf or not.
        header: Headers, the page table, and free pages.
        total: All pages.

    """

    leaf: int
    inner: int
    root: int
    header: int
    total: int


class Latencies(View):
    """Latencies by request kind; None for kinds without requests.

    Attributes:
        read: Reads.
        write: Writes.
        trim: Trims.
        flush: Flushes.

    """

    read: Latency | None
    write: Latency | None
    trim: Latency | None
    flush: Latency | None


class Level(View):
    """A level of an LSM tree.

    Attributes:
        level: Its number, from 0.
        tables: Tables at the end.
        bytes: Their bytes.
        compaction_written: Bytes that compaction wrote to the level.
        compaction_read: Bytes that compaction read from the level.

    """

    level: int
    tables: int
    bytes: int
    compaction_written: int
    compaction_read: int


class Stall(View):
    """Waits of one kind.

    Attributes:
        count: Waits.
        time_us: Their time together, us.

    """

    count: int
    time_us: float


class Stalls(View):
    """Waits of puts for flushes and compactions in the background.

    Attributes:
        memtables: Both memtables were full.
        level_0: Level 0 had `level0_stop` tables.
        pending: Compaction had `pending_stop_bytes` still to write.
        slow: Puts slowed down by the lower triggers; each put counts.

    """

    memtables: Stall
    level_0: Stall
    pending: Stall
    slow: Stall


class Lsm(View):
    """An LSM tree's work and its tables at the end; bytes as written and read, padding included.

    Attributes:
        levels: By level, from level 0.
        wal_bytes: Written to the write-ahead log.
        flush_bytes: Written by memtables that became tables.
        load_bytes: Written by bulk loads.
        compaction_bytes: Written by compaction.
        manifest_bytes: Written to the manifest.
        moved_bytes: Written to move tables out of zones that are emptied, over `ftl.zns`.
        trims: Trim requests to a block device; 0 over `ftl.zns`.
        trimmed_bytes: Bytes of these requests.
        untrimmed_bytes: Free space at the end that the device still holds deleted files for.
        read_bytes: Read by lookups and scans, and to open tables.
        memtables: Memtables that became tables.
        compactions: Compactions that wrote tables.
        moves: Tables that moved a level down without being written.
        dropped: Deleted keys that compaction dropped.
        bloom_asked: Questions to Bloom filters.
        bloom_negative: Answers that the key is not there.
        bloom_false_positive: Answers that it may be there, when it was not.
        bloom_false_positive_rate: Share of absent keys that passed; None before the first.
        cache_hits: Data blocks found in the cache.
        cache_misses: Data blocks read.
        stalls: Waits of puts for jobs in the background; zeros without them.
        table_memory_bytes: Memory of the tables' indexes and filters, bytes.
        space_amplification: Bytes in tables over bytes of keys with a value; None if the run ended inside an
            operation.

    """

    levels: list[Level]
    wal_bytes: int
    flush_bytes: int
    load_bytes: int
    compaction_bytes: int
    manifest_bytes: int
    moved_bytes: int
    trims: int
    trimmed_bytes: int
    untrimmed_bytes: int
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
    stalls: Stalls
    table_memory_bytes: int
    space_amplification: float | None


class IndexFigures(View):
    """Index activity during the workload.

    Its requests to the device below are in `host`.

    Attributes:
        operations: Workload operations, by kind.
        scanned_records: Records returned by scans.
        absent: Reads, updates, read-modify-writes and deletes with an absent key; an LSM tree deletes without
            a look.
        present: Inserts with an existing key, which change nothing.
        flushes: Index flushes.
        records: Records at the end.
        user_bytes: Bytes of keys and values that the workload put there, and of keys it deleted.
        written_bytes: Bytes that the index wrote to the device below.
        waf_index: The index's write amplification: `written_bytes / user_bytes`; None before the first
            change.
        waf_total: The product of `waf_index` and the device's `waf`: bytes programmed over bytes of the user.
        height: Page levels at the end; 1: the root is a leaf. In an LSM tree the levels with tables.
        leaves: Pages with records; None if the run ended inside an operation.
        inner_pages: Pages above the leaves.
        free_pages: Freed pages, not used again.
        leaf_fill: Leaf fill factor: share taken by records.
        inner_fill: The same for inner pages; None too if there are none.
        pool: The buffer pool.
        page_reads: Pages read by the index, by kind.
        page_writes: Pages written by the index, by kind; partial page writes count, too.
        latency_us: Operation times in the device, us: `read` for reads and scans, `write` for changes,
            `flush`; None without time.
        lsm: The LSM tree; None for another index. Pages and pool are then 0.

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


class FileCounts(View):
    """Operations in a file workload.

    Attributes:
        total: All operations.
        mkdir: Directories made.
        rmdir: Directories removed.
        create: Files created, or truncated to nothing and opened.
        open: Files opened.
        close: Files closed.
        read: Reads.
        write: Writes.
        truncate: Files truncated or extended.
        sync: Files synced.
        rename: Renames.
        unlink: Files removed.

    """

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


class FsPhase(View):
    """Cost of one part.

    Attributes:
        operations: Workload operations.
        requests: File-system requests.
        read_sectors: 512-byte sectors read by the file system.
        written_sectors: 512-byte sectors written by the file system.
        flash: Flash operations.
        merges: Log-block merges.
        migrations: Log blocks renewed by moving their valid pages.
        busy_us: Summed data-sheet times of all flash operations, us.
        time_us: Simulated time, us; None without time.

    """

    operations: int
    requests: int
    read_sectors: int
    written_sectors: int
    flash: FlashCounts
    merges: Merges
    migrations: int
    busy_us: float
    time_us: float | None


class FsPhases(View):
    """Parts of a run.

    The whole record covers the last three.

    Attributes:
        format: Formatting the volume.
        mount: Mounting it.
        set_up: The workload before its first transaction.
        transactions: The transactions.
        clean_up: The workload after the last transaction, and the unmount.

    """

    format: FsPhase
    mount: FsPhase
    set_up: FsPhase
    transactions: FsPhase
    clean_up: FsPhase


class Volume(View):
    """A volume, and its free space at the end.

    Attributes:
        unit_bytes: File allocation unit, bytes.
        units: Unit count.
        free_bytes: Bytes not used by files; None if the run ended inside an operation.

    """

    unit_bytes: int
    units: int
    free_bytes: int | None


class FsFirst(View):
    """Transaction number, from 1, at which each event first occurred; None if it never did.

    Attributes:
        passive: A collection with enough erased blocks at hand.
        aggressive: A collection with few erased blocks.
        all_used: No block was left unused since the start.

    """

    passive: int | None
    aggressive: int | None
    all_used: int | None


class FsCollections(View):
    """Garbage collection by a file system on bare flash.

    Attributes:
        passive: Blocks collected while enough blocks were erased.
        aggressive: Blocks collected while few blocks were erased.
        emptied: Blocks erased outside collection, after their last used page was freed.

    """

    passive: int
    aggressive: int
    emptied: int


class FsBlocks(View):
    """Block states under a file system on bare flash.

    Attributes:
        unused: Never-written blocks.
        empty: Blocks without content, never-written ones included.
        live: Pairs: live-page count, blocks with that count; ascending.
        live_pages: Live pages per block; None unless asked for.

    """

    unused: int
    empty: int
    live: list[list[int]]
    live_pages: list[int] | None


class FsSample(View):
    """Counts since the first transaction.

    Attributes:
        transactions: Finished transactions.
        requests: File-system requests.
        written_sectors: 512-byte sectors written by the file system.
        reads: Flash page reads.
        programs: Page programs.
        copies: Copies; each is also a read and a program.
        erases: Block erases.
        busy_us: Summed data-sheet times of all flash operations, us.
        time_us: Simulated time, us; None without time.
        gc: Garbage collection by a file system on bare flash; None for others.
        blocks: Block states at this moment; None but on bare flash.

    """

    transactions: int
    requests: int
    written_sectors: int
    reads: int
    programs: int
    copies: int
    erases: int
    busy_us: float
    time_us: float | None
    gc: FsCollections | None
    blocks: FsBlocks | None


class FsFigures(View):
    """File-system activity.

    Its requests to the device below are in `host`.

    Attributes:
        operations: Workload operations, by kind.
        transactions: Transactions begun.
        read_bytes: Bytes read by the workload.
        written_bytes: Bytes written by the workload.
        phases: Cost by part of the run.
        volume: The volume.
        latency_us: Operation times in the device, us: `read` for reads, `write` for changes, `flush` for
            syncs; None without time.
        first: First transactions with certain events; None but on bare flash.
        samples: Time series over the transactions: counts since the first one.

    """

    operations: FileCounts
    transactions: int
    read_bytes: int
    written_bytes: int
    phases: FsPhases
    volume: Volume
    latency_us: Latencies | None
    first: FsFirst | None
    samples: list[FsSample]


class Nvram(View):
    """A file system's NVRAM.

    Attributes:
        bytes: Bytes for the device's metadata.
        reads: Reads; a page or a part counts as one.
        writes: Writes; a page or a part counts as one.
        stored_words: 8-byte words stored, headers included.
        time_us: Time for all accesses, us.
        energy_j: Energy for all accesses, J.

    """

    bytes: int
    reads: int
    writes: int
    stored_words: int
    time_us: float
    energy_j: float


class Preconditioning(View):
    """Preconditioning cost.

    Attributes:
        requests: Page writes, plus requests before the measurement: those of a warm-up, and of the tenants'
            loads.
        flash: Flash operations for them.
        waf: Write amplification; None if nothing was written.
        windows: Capacities written until the device was steady, or up to the limit; None if the experiment
            does not ask for a steady device.
        steady: Whether it was steady at the end.
        time_us: Simulated time, us; None without time.

    """

    requests: int
    flash: FlashCounts
    waf: float | None
    windows: int | None
    steady: bool | None
    time_us: float | None


class MountShare(View):
    """A file system's reads through an FTL during its mount.

    Attributes:
        page_reads: Page reads.
        time_us: Simulated time, us; None without time.

    """

    page_reads: int
    time_us: float | None


class Mount(View):
    """Operations of a mount, and their time.

    Attributes:
        page_reads: Page reads.
        spare_reads: Spare-only reads.
        nvram_accesses: Accesses to a file system's NVRAM, reads and writes; None without.
        time_us: Simulated time, us; None without time.
        fs: A file system's share, over an FTL; None elsewhere, and before the file system is made.

    """

    page_reads: int
    spare_reads: int
    nvram_accesses: int | None
    time_us: float | None
    fs: MountShare | None


class OriginLatency(View):
    """Request latencies for one part of the host.

    Attributes:
        origin: Its name.
        latency_us: By request kind, us.
        latency_histogram: By request kind, as histograms.

    """

    origin: str
    latency_us: Latencies
    latency_histogram: dict[str, list[list[float]]]


class TenantFiles(View):
    """Operations on a tenant's file system, format and mount not among them.

    Attributes:
        operations: Operations, by kind.
        transactions: Transactions begun.
        read_bytes: Bytes of files read.
        written_bytes: Bytes of files written.
        volume: The volume.
        latency_us: Times of operations, us: `read` for reads, `write` for changes, `flush` for syncs; None
            without operations.

    """

    operations: FileCounts
    transactions: int
    read_bytes: int
    written_bytes: int
    volume: Volume
    latency_us: Latencies | None


class Tenant(View):
    """A tenant's part in a run.

    Attributes:
        name: Its name.
        requests: Requests that the controller took from its queues.
        bytes: Bytes read and written.
        share: Its share of the bytes that all tenants read and wrote; None if there are none.
        time_us: Time from the workload's start to the answer to its last request, us.
        requests_per_s: Requests a second in this time; 0 without requests.
        mb_per_s: 10^6 bytes a second in this time; 0 without requests.
        reserve_met: The part of its reservation that it got, up to 1: the smaller one of requests and bytes;
            None without a reservation. A tenant that asks for less gets less.
        wait_us: Mean wait in a submission queue, us, and before it for room; None without requests.
        mean_us: Mean latency of all its requests, us, with the wait; None without requests.
        latency_us: Latencies by request kind, us, with the wait; None without requests.
        index: Its index; None without one.
        files: Its file system; None without one.
        stopped: Why its index or file system could not go on; None if it went on to its end or that of the
            run.

    """

    name: str
    requests: int
    bytes: int
    share: float | None
    time_us: float
    requests_per_s: float
    mb_per_s: float
    reserve_met: float | None
    wait_us: float | None
    mean_us: float | None
    latency_us: Latencies | None
    index: IndexFigures | None
    files: TenantFiles | None
    stopped: Stopped | None


class LatencyPart(View):
    """A request's time in operations with one cause.

    Attributes:
        cause: Reason for the operations.
        own_us: Time in the request's own operations, us.
        waited_us: Time waiting for earlier requests' operations, us.

    """

    cause: str
    own_us: float
    waited_us: float


class LatencyStep(View):
    """A step in a request's time.

    Attributes:
        from_us: Its begin, us from the request's arrival.
        to_us: Its end, us from the request's arrival.
        part: The die or the plane at work, `die 3` or `plane 3`; None outside the flash.
        cause: Reason for its operation; None outside the flash.
        own: Whether the operation is the request's own, not an earlier one's.

    """

    from_us: float
    to_us: float
    part: str | None
    cause: str | None
    own: bool


class LongestRequest(View):
    """The request with the longest latency; in a tie, the first.

    Attributes:
        number: Its number, from 1.
        op: Its operation: `read`, `write`, `trim` or `flush`.
        origin: The host part behind it.
        arrival_us: Arrival, us from the workload's start.
        latency_us: Latency, us: the sum of the parts below.
        parts: Its time by cause, longest part first; None unless `host.explain_longest` asks for it.
        space_us: Time waiting for space in the controller's write buffer, us; None if `parts` is None.
        elsewhere_us: Other time without waiting for the flash, us: spent in the memories of a buffer, in
            firmware, in the controller or on the link. None if `parts` is None.
        unknown_us: Time in operations already forgotten by the simulator, us; None if `parts` is None.
        steps: The time step by step: the longest 300 steps. None if `parts` is None.

    """

    number: int
    op: str
    origin: str
    arrival_us: float
    latency_us: float
    parts: list[LatencyPart] | None
    space_us: float | None
    elsewhere_us: float | None
    unknown_us: float | None
    steps: list[LatencyStep] | None


class Throughput(View):
    """Throughput in simulated time, over `time_us`, without requests that zones refused.

    MB are 1,000,000 bytes.

    Attributes:
        requests_per_s: Requests a second.
        read_mb_per_s: Megabytes read a second.
        written_mb_per_s: Megabytes written a second.

    """

    requests_per_s: float
    read_mb_per_s: float
    written_mb_per_s: float


class Energy(View):
    """Flash energy, J; a copy counts as a read and a program.

    Attributes:
        read: Reads.
        program: Programs.
        erase: Erases.
        total: The sum.

    """

    read: float
    program: float
    erase: float
    total: float


class WholeEnergy(View):
    """Total energy where stated, J: flash, buffer, a file system's NVRAM.

    Attributes:
        dynamic: Operation energy.
        static: Standing energy of the buffer's memories while powered; None if no time is kept.
        total: Sum of both.
        per_gb_written: The sum per 10^9 bytes written by the host; None if it wrote nothing.

    """

    dynamic: float
    static: float | None
    total: float | None
    per_gb_written: float | None


class Controller(View):
    """The controller's memories, and the need of the FTL and the write buffer.

    A file system uses the host's memory.

    Attributes:
        sram_bytes: Fast memory on the controller, bytes.
        dram_bytes: Memory beside it, bytes; None if the profile does not say.
        used_sram_bytes: Used fast memory, bytes.
        used_dram_bytes: Used memory beside it, bytes.

    """

    sram_bytes: int
    dram_bytes: int | None
    used_sram_bytes: int
    used_dram_bytes: int


class Ram(View):
    """Memory needed by firmware, bytes by structure.

    Attributes:
        sram: Fast memory on the controller.
        dram: Memory beside the controller.
        total_bytes: The sum.
        controller: The controller's memory and its use; None if the profile has no controller, and without an
            FTL.

    """

    sram: dict[str, int]
    dram: dict[str, int]
    total_bytes: int
    controller: Controller | None


class Wear(View):
    """P/E cycles over the blocks.

    Attributes:
        min: Fewest cycles on one block.
        mean: Mean.
        max: Most cycles on one block.
        stddev: Standard deviation.
        histogram: Pairs: cycle count, blocks with that count; ascending.

    """

    min: int
    mean: float
    max: int
    stddev: float
    histogram: list[list[int]]


class BlockGroup(View):
    """Adjacent blocks.

    Attributes:
        first: First block.
        blocks: Blocks in the group.
        free: Free blocks in the group.
        valid_pages: Mean valid pages per block.
        pe_cycles_min: Fewest P/E cycles on one block.
        pe_cycles_mean: Mean P/E cycles.
        pe_cycles_max: Most P/E cycles on one block.

    """

    first: int
    blocks: int
    free: int
    valid_pages: float
    pe_cycles_min: int
    pe_cycles_mean: float
    pe_cycles_max: int


class Blocks(View):
    """Block contents when a run ends.

    Attributes:
        free: Empty blocks ready to fill: erased already, or erased just before their next use.
        valid_pages: Pages with current data; garbage collection would have to copy them. A trimmed page
            counts until a note of the trim is on flash.
        histogram: Pairs: valid-page count, non-free blocks with that count; ascending.
        groups: The blocks in address order, in at most 256 equal groups; the last may be shorter.

    """

    free: int
    valid_pages: int
    histogram: list[list[int]]
    groups: list[BlockGroup]


class Life(View):
    """Work done until end-of-life.

    Attributes:
        host_bytes: Bytes written by the host.
        time_s: Simulated time, s, at this run's pace; None without time.
        years: Years (365 days each) at `daily_bytes` a day; None without them.

    """

    host_bytes: float
    time_s: float | None
    years: float | None


class LifeRange(View):
    """Work done until end-of-life: at least, at most.

    Attributes:
        host_bytes: Bytes written by the host.
        time_s: Simulated time, s, at this run's pace; None without time.
        years: Years (365 days each) at `daily_bytes` a day; None without them.

    """

    host_bytes: list[float]
    time_s: list[float] | None
    years: list[float] | None


class Lifetime(View):
    """A new device's lifetime if the workload goes on as at the end of this run.

    Attributes:
        endurance: Rated P/E cycles per block.
        cycles: Mean P/E cycles of a block in this run; a block that is not erased yet counts by its
            programmed pages.
        even: Until the mean over all blocks reaches the rating: ideal wear leveling, at the pace of this
            run's second half. None if the run is too short to say: the last quarter wears the flash by over 5
            % more or less a byte than the third (2 % while the device still fills).
        first_block: Until the first block reaches it. None if the run is too short to say: the most worn
            block had fewer than 5 cycles in its second half.
        one_percent: Until 1 % of the blocks, at least one, reach it. None if the run is too short to say.
        daily_bytes: Bytes a day for the years: `host.daily`, or by the times in a trace at least a day long;
            None otherwise.
        too_short: Why the run is too short for one of them, as a sentence; None if it tells all.

    """

    endurance: int
    cycles: float
    even: Life | None
    first_block: LifeRange | None
    one_percent: LifeRange | None
    daily_bytes: float | None
    too_short: str | None


class Faults(View):
    """Flash failures.

    Attributes:
        failed_programs: Failed programs, copies and spare programs.
        failed_erases: Failed erases.
        corrected_bits: Bits corrected by the ECC, counted again at every read.
        uncorrectable_reads: Page reads, copies included, with more errors than the ECC corrects.
        retired_blocks: Blocks retired after a failure.
        lost_pages: Pages lost to bit errors during a move.

    """

    failed_programs: int
    failed_erases: int
    corrected_bits: int
    uncorrectable_reads: int
    retired_blocks: int
    lost_pages: int


class Reliability(View):
    """ECC activity.

    Attributes:
        retried_reads: Reads, copies included, with at least one retry.
        retries: Repeated reads, all steps; the matrix's cause `read_retry`.
        most_retries: Most retry steps for one read, preconditioning included.
        uncorrectable_reads: Page reads, copies included, still uncorrectable after all steps.
        most_errors: Most expected wrong bits in a codeword at a read, before any retry; preconditioning
            included.
        refreshes: Blocks rewritten because their bit errors came near the ECC's limit.
        lost_pages: Pages lost to bit errors during a move.

    """

    retried_reads: int
    retries: int
    most_retries: int
    uncorrectable_reads: int
    most_errors: float
    refreshes: int
    lost_pages: int


class Estimate(View):
    """A mean over windows.

    Attributes:
        mean: The mean.
        half_width: Half the width of its 95 % confidence interval, by batch means.

    """

    mean: float
    half_width: float


class Sampled(View):
    """Estimates for the whole workload.

    All other counts in the record belong to the simulated requests.

    Attributes:
        windows: Windows measured.
        measured: Requests in the windows.
        simulated: Requests simulated: in the windows and their warm-ups. All other counts in the record are
            theirs.
        requests: Requests in the whole workload.
        simulated_share: The simulated share.
        time_us: Simulated time for the whole workload, jumps included, us; None without time, and if the run
            was stopped.
        waf: Write amplification; None if no window wrote. This and the other estimates are None with fewer
            than three windows.
        mean_us: Mean latency over all requests, us; None without time.
        p99_us: 99th percentile latency in a window, its mean over windows, us; None without time.
        requests_per_s: Requests a second; None without time.
        erases_per_byte: Erases per byte written by the host; None if no window wrote.
        erases: Projected erases for the whole workload.
        pe_cycles: Projected P/E cycles for the mean block over the whole workload.
        trends: Estimates whose windows rise or fall along the run, by name (the test of Mann and Kendall at 1
            %, or the first third's interval beyond the last third's): their intervals do not cover such a
            course.

    """

    windows: int
    measured: int
    simulated: int
    requests: int
    simulated_share: float
    time_us: float | None
    waf: Estimate | None
    mean_us: Estimate | None
    p99_us: Estimate | None
    requests_per_s: Estimate | None
    erases_per_byte: Estimate | None
    erases: Estimate | None
    pe_cycles: Estimate | None
    trends: list[str]


class Sample(View):
    """A run's state after some requests.

    Attributes:
        requests: Requests so far.
        refused: The refused ones among them: zones did not take them.
        time_us: Simulated time so far, us; None without time.
        waf: Write amplification since the previous sample; None if nothing was written.
        read_sectors: Sectors read so far.
        written_sectors: Sectors written so far.
        programs: Page programs so far.
        erases: Erases so far.
        free_blocks: Empty blocks at this moment.

    """

    requests: int
    refused: int
    time_us: float | None
    waf: float | None
    read_sectors: int
    written_sectors: int
    programs: int
    erases: int
    free_blocks: int


class DeviceFacts(View):
    """The run's device; "none", with zeros, if a real directory takes its place.

    Attributes:
        name: Profile name.
        blocks: Blocks.
        pages_per_block: Pages per block.
        page_bytes: Page size, bytes.
        physical_bytes: Flash size, bytes.
        logical_bytes: Bytes exported.
        over_provisioning: Physical over logical size, minus 1.
        dies: Dies.
        endurance: Rated P/E cycles per block.

    """

    name: str
    blocks: int
    pages_per_block: int
    page_bytes: int
    physical_bytes: int
    logical_bytes: int
    over_provisioning: float
    dies: int
    endurance: int


class SpeedPhases(View):
    """Seconds for each part in a file workload, as in `FsPhases`.

    Attributes:
        set_up_s: Before the first transaction, format and mount included.
        transactions_s: The transactions.
        clean_up_s: After the last.

    """

    set_up_s: float
    transactions_s: float
    clean_up_s: float


class Speed(View):
    """Simulation speed in real time, without preconditioning and mount.

    Attributes:
        wall_s: Seconds.
        phases: Seconds for each part, in a file workload; None for other workloads.
        requests_per_s: Requests a second.
        programs_per_s: Page programs a second.

    """

    wall_s: float
    phases: SpeedPhases | None
    requests_per_s: float
    programs_per_s: float


class Figures(View):
    """A run's cost, and the inputs that reproduce it.

     Everything but `speed` is the same for the same experiment on every machine.

    Attributes:
        version: Program version.
        seed: Seed for everything random.
        experiment: The experiment with every default explicit; it can be run again as it is.
        partial: Whether the run was stopped before its end; if so, all counts end there.
        stopped: Why it was stopped; None if it reached its end.
        host: Host requests.
        flash: Flash operations.
        busy_us: Summed data-sheet times of all operations, us; with one die and a queue depth of 1, also
            their elapsed time.
        joined_programs: Programs without array time of their own, because another plane of the die programmed
            at the same time (`plane_overlap = "multi_plane"`); `busy_us` includes their full time.
        reads_ahead: Reads that overtook an erase or a program on their die, by suspending it or by going
            first.
        spared_transfer_us: Channel time that reads of a part of a page did not take, us; `busy_us` includes
            it.
        path: Work of the controller, the link and the firmware; None if none takes time, or no request comes
            by itself.
        parts: How busy dies and channels were, what requests waited for, and which part limits the run; None
            without time.
        waf: Write amplification: `flash.programs` x sectors per page / `host.written_sectors`; None without a
            write or a device.
        merges: Log-block merges.
        migrations: Log blocks renewed by moving their valid pages.
        recyclings: History of single log blocks; None if none was kept, or if the FTL's options keep none.
        fdp: Data placement by the host; None without it.
        groups: Groups of blocks with sizes from a model; None without any.
        zones: Changes of zones, and refused requests; None without a zoned drive.
        gc: Garbage collection.
        map: Activity of a map paged in from flash; None for other FTLs.
        slc: Blocks with one bit per cell; None if there are none.
        matrix: Operations by origin (who wrote the page) and cause (why the flash was asked); columns sum to
            `flash`.
        buffer: Buffer activity; None without one.
        index: Index activity; None without one.
        fs: File-system activity; None without one.
        nvram: A file system's NVRAM; None without.
        precondition: Cost of the part before the measurement; None if there was none. No other figure but
            `wear` includes it. A state brings the cost of its own preparation.
        mount: Cost to open the device.
        remount: Cost to mount a file system once more after the last unmount, and the FTL below it; in no
            other figure. None without a file system, under a buffer, and after a run unable to go on.
        time_us: Simulated time of the host from the workload's start to the answer to its last request, us;
            None without time.
        drain_us: How long flash was still busy after that, us; None without time.
        in_flight: Mean number of requests under way in `time_us`: rate times mean latency gives the same
            (Little's law). None without time, and where the requests took none.
        latency_us: Request latencies, us; None without time.
        latency_by_origin: Latencies and histograms by origin; None without time, and if one origin made all
            requests.
        tenants: Each tenant's part in the run; None without tenants.
        latency_histogram: Latencies as histograms; None without time.
        recorded_latency_us: From arrival to end of all trace requests when the trace was recorded, us; None
            without `host.arrival = "recorded"`, and if the trace has no such times.
        recorded_service_us: The recorded device's own share in these times, us; None if the trace does not
            give it.
        recorded_latency_histogram: `recorded_latency_us` as histograms.
        longest_request: The slowest request, and its explanation if the experiment asks for one; None without
            time, and if no request took any.
        throughput: Simulated throughput; None without time, and where the requests took none.
        energy_j: Flash energy, J; None if the profile states none.
        energy_all_j: Energy of flash, buffer and NVRAM together, J; None if all three lack figures.
        ram: Memory needed by firmware, bytes.
        wear: Blocks' P/E cycles at the end, preconditioning included.
        blocks: Block contents at the end.
        lifetime: Device lifetime under this workload; None if nothing was written or no block was erased.
        faults: Failures, if the experiment asks for faults.
        reliability: Bit errors in aging cells, if the experiment asks for them.
        sample: Estimates for the whole workload from windows; None without `host.sample`.
        series: Time series from the workload's start; at most 200 samples.
        device: The device.
        speed: Simulation speed; not a result.
        notices: Sentences: inputs that were rounded or had no effect, a device that fell behind recorded
            arrivals, a trace that erased nothing on a new device, reads of pages never written.

    """

    version: str
    seed: int
    experiment: dict[str, Any]
    partial: bool
    stopped: Stopped | None
    host: HostCounts
    flash: FlashCounts
    busy_us: float
    joined_programs: int
    reads_ahead: int
    spared_transfer_us: float
    path: Path | None
    parts: Parts | None
    waf: float | None
    merges: Merges
    migrations: int
    recyclings: Recyclings | None
    fdp: Fdp | None
    groups: Groups | None
    zones: Zones | None
    gc: Gc
    map: MapCounts | None
    slc: SlcCounts | None
    matrix: list[Cell]
    buffer: BufferCounts | None
    index: IndexFigures | None
    fs: FsFigures | None
    nvram: Nvram | None
    precondition: Preconditioning | None
    mount: Mount
    remount: Mount | None
    time_us: float | None
    drain_us: float | None
    in_flight: float | None
    latency_us: Latencies | None
    latency_by_origin: list[OriginLatency] | None
    tenants: list[Tenant] | None
    latency_histogram: dict[str, list[list[float]]] | None
    recorded_latency_us: Latencies | None
    recorded_service_us: Latencies | None
    recorded_latency_histogram: dict[str, list[list[float]]] | None
    longest_request: LongestRequest | None
    throughput: Throughput | None
    energy_j: Energy | None
    energy_all_j: WholeEnergy | None
    ram: Ram
    wear: Wear
    blocks: Blocks
    lifetime: Lifetime | None
    faults: Faults | None
    reliability: Reliability | None
    sample: Sampled | None
    series: list[Sample]
    device: DeviceFacts
    speed: Speed
    notices: list[str]
