"""Made by `python -m nandlab.stubs` from the lists of the compiled module."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from nandlab.listing import Choice

def btree(
    *,
    page_bytes: int | None = None,
    layout: Literal['fixed', 'slotted', 'deltas'] | None = None,
    key_bytes: int | None = None,
    value_bytes: int | None = None,
    shortest_value_bytes: int | None = None,
    header_bytes: int | None = None,
    pool_bytes: int | str | None = None,
    pool_frames: int | None = None,
    policy: Literal['lru', 'clock', '2q'] | None = None,
    write_back: Literal['page', 'sectors'] | None = None,
    shadow: bool | None = None,
    load_fill: float | None = None,
    flush_every: int | None = None,
) -> Choice:
    """Records in leaves, sorted by key, over a buffer pool.

    After Bayer and McCreight 1972.

    Args:
        page_bytes: Bytes of a page, a power of two from 512 to 65536. Default 4096.
        layout: How a page holds its records. Default "fixed".
        key_bytes: Bytes of a key, 1 to 64; the number that a workload asks for, most significant byte
            first. Default 4.
        value_bytes: Bytes of a value. Default 4.
        shortest_value_bytes: Bytes of the shortest value, where `layout` takes values of any size:
            lengths from here to `value_bytes` are equally likely. As long as the others unless given.
        header_bytes: Bytes of a page before its first record, 8 to 64, where `layout` is `fixed`; 8
            unless given. The tree needs 8; more stands for what a database keeps there. Of one paper:
            btree.
        pool_bytes: Size of the buffer pool, rounded down to whole pages; `"1 MiB"` unless `pool_frames`
            is given.
        pool_frames: Size of the buffer pool in pages, in place of `pool_bytes`.
        policy: Which page leaves the pool when room is needed. Default "lru".
        write_back: What is written of a changed page. Default "page".
        shadow: Whether pages are written to free places, and switched to at a flush, so that the index
            survives power cuts. Default false.
        load_fill: Share of a page that a bulk load fills, 0.1 to 1. Default 1.0.
        flush_every: A flush after this many operations; 0: none, and what is changed in the pool at the
            end stays there. Default 0.
    """

def lsm(
    *,
    key_bytes: int | None = None,
    value_bytes: int | None = None,
    shortest_value_bytes: int | None = None,
    write_buffer_bytes: int | str | None = None,
    target_file_bytes: int | str | None = None,
    level0_trigger: int | None = None,
    level0_slowdown: int | None = None,
    threads: int | None = None,
    queue_depth: int | None = None,
    level0_stop: int | None = None,
    pending_slow_bytes: int | str | None = None,
    pending_stop_bytes: int | str | None = None,
    slow_bytes_per_s: int | str | None = None,
    compact_at_end: bool | None = None,
    compaction: Literal['leveled', 'tiered'] | Mapping[str, Any] | None = None,
    level_base_bytes: int | str | None = None,
    level_multiplier: int | None = None,
    dynamic_levels: bool | None = None,
    target_file_multiplier: int | None = None,
    file_choice: Literal['least_overlap', 'round_robin'] | None = None,
    backlog: Literal['scores', 'sizes'] | None = None,
    bloom_bits_per_key: float | None = None,
    bloom: Literal['plain', 'lines'] | None = None,
    block_bytes: int | None = None,
    cache_bytes: int | str | None = None,
    write_unit_bytes: int | None = None,
    extent_bytes: int | str | None = None,
    compaction_readahead_bytes: int | str | None = None,
    table_write_bytes: int | str | None = None,
    allocation: Literal['first_fit', 'next_fit'] | None = None,
    trim: Literal['at_once', 'discard', 'fstrim', 'never'] | Mapping[str, Any] | None = None,
    wal: bool | None = None,
    placement: Literal['none', 'levels'] | None = None,
    flush_every: int | None = None,
) -> Choice:
    """Records are gathered in memory and written as sorted tables, which are merged into larger ones.

    After O'Neil et al. 1996.

    Args:
        key_bytes: Bytes of a key, 1 to 64; the number that a workload asks for, most significant byte
            first. Default 4.
        value_bytes: Bytes of a value, up to 65534. Default 4.
        shortest_value_bytes: Bytes of the shortest value: lengths from here to `value_bytes` are
            equally likely. As long as the others unless given.
        write_buffer_bytes: Memory of the memtable that makes it a table of level 0: keys, values, and
            22 bytes a record. Default "1 MiB".
        target_file_bytes: Bytes of a table that end it, in levels from 1 on. Default "1 MiB".
        level0_trigger: Tables of level 0 that start a compaction; with `compaction = { tiered = { ... }
            }`, sorted runs. Default 4.
        level0_slowdown: Without `threads`: tables of level 0 that a put waits for; with fewer,
            compaction that is due is put off. As many as `level0_trigger` unless given, so that nothing
            is put off. With `threads`: tables of level 0 from which on puts are slowed down; RocksDB's
            20 unless given.
        threads: Compactions at once in the background, beside a flush of a memtable, up to 64; 0:
            flushes and compactions run in the foreground, and so they do on a device without times.
            Default 0.
        queue_depth: Requests that each flush or compaction keeps under way, 1 to 1024, 4 unless given;
            with `threads` only.
        level0_stop: Tables of level 0 at which puts stop, 36 unless given; with `threads` only.
        pending_slow_bytes: Bytes that compaction has still to write from which on puts are slowed down,
            `"1 GiB"` unless given; with `threads` only, leveled only.
        pending_stop_bytes: Bytes that compaction has still to write at which puts stop, `"4 GiB"`
            unless given; with `threads` only, leveled only.
        slow_bytes_per_s: Bytes a second that puts may write while they are slowed down, `"16 MiB"`
            unless given; with `threads` only.
        compact_at_end: Whether a run ends with level 0 merged into the first level below it, and that
            level into the next one: db_bench's `compact0` and `compact1`; leveled only. Default false.
        compaction: How tables are merged. Default "leveled".
        compaction.tiered.size_ratio_percent: How much larger than the joined runs the next one may be,
            %, up to 1000. Default 1.
        compaction.tiered.max_size_amplification_percent: Bytes in all runs but the oldest over those of
            the oldest that make a merge of all, %, 1 to 100000. Default 200.
        level_base_bytes: Bytes of the first level below level 0, `"4 MiB"` unless given; leveled only.
        level_multiplier: Size of a level over the one above, 2 to 100, 10 unless given; leveled only.
        dynamic_levels: Whether the last level's size sets the sizes above, and level 0 goes to the
            first level that is needed; true unless given; leveled only.
        target_file_multiplier: Size of a table over that of a table one level above, 1 to 10, 1 unless
            given; leveled only.
        file_choice: Which table of a level that is too large goes down; `"least_overlap"` unless given;
            leveled only.
        backlog: The rule for the other levels while level 0 is behind: `"scores"`, RocksDB's from 7.5
            on, unless given; `"sizes"`, RocksDB's before; counts with `dynamic_levels`, leveled only.
        bloom_bits_per_key: Bits a key in a table's Bloom filter, up to 64; 0: no filter. Default 10.0.
        bloom: Where a key's bits lie in the filter. Default "plain".
        block_bytes: Bytes of a data block; a larger record has a block of its own. Default 4096.
        cache_bytes: Size of the block cache; 0: none. Default "1 MiB".
        write_unit_bytes: Bytes of a unit: everything is appended and read in whole units, a power of
            two from 512 to 65536. Default 4096.
        extent_bytes: Bytes of an extent on a block device, a multiple of `write_unit_bytes`; on a zoned
            drive it has no effect. Default "64 KiB".
        compaction_readahead_bytes: Bytes that a compaction asks for at once, a multiple of
            `write_unit_bytes` up to 64 MiB. RocksDB's `compaction_readahead_size` is 2 MiB, for tables
            of 64 MiB; a table here has 1 MiB unless `target_file_bytes` says otherwise, and is read in
            four parts. Default "256 KiB".
        table_write_bytes: Bytes of a write to a table, and of a move on zones, a multiple of
            `write_unit_bytes` up to 64 MiB; what is left of a table's data and what is left of its
            index and filter are shorter writes. RocksDB's `writable_file_max_buffer_size` is 1 MiB, for
            tables of 64 MiB. Default "256 KiB".
        allocation: Where a new file's extents are looked for on a block device. Default "first_fit".
        trim: When a deleted file's space is trimmed on a block device; a zone is reset when its last
            file goes. Default "at_once".
        trim.discard.bytes: Bytes of deleted files that are trimmed together, 1 or more. Default "4
            MiB".
        trim.fstrim.every_bytes: Bytes written to files from one `fstrim` to the next, 1 or more.
            Default "64 MiB".
        wal: Whether records go to a log first; without it a flush makes the memtable a table. Default
            true.
        placement: Placement identifiers of what is written. Default "none".
        flush_every: A flush after this many operations; 0: none, and what is in the memtable at the end
            stays there. Default 0.
    """
