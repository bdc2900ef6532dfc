"""Made by `python -m nandlab.stubs` from the lists of the compiled module."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from nandlab.listing import Choice

def page(
    *,
    stripe: Literal['dies', 'planes'] | Mapping[str, Any] | None = None,
    victim: Literal['greedy', 'fifo', 'random', 'd_choices', 'windowed_greedy', 'cost_benefit', 'cost_benefit_flash', 'cat'] | Mapping[str, Any] | None = None,
    placement: Literal['one', 'two', 'origin', 'dac', 'sepbit'] | Mapping[str, Any] | None = None,
    wear: Literal['none', 'dynamic', 'threshold', 'bet', 'dual_pool'] | Mapping[str, Any] | None = None,
    refresh_percent: int | None = None,
    reserve_blocks: int | None = None,
    idle: Literal['none', 'collect'] | Mapping[str, Any] | None = None,
    valid_pages: Literal['bitmap', 'spare'] | None = None,
    durable_trim: bool | None = None,
    slc_cache: Literal['none', 'fixed', 'dynamic'] | Mapping[str, Any] | None = None,
) -> Choice:
    """A map entry for every logical page.

    After Gal & Toledo 2005 (survey); Desnoyers 2014.

    Args:
        stripe: What consecutive pages of the host go to in turn, and what has frontiers, a reserve and
            victims of its own. Default "dies".
        stripe.dies.pages: Consecutive pages of the host that one die takes before the next one, 1 to
            65536: with `device.timing.program_pages`, the pages that it programs at once. Default 1.
        victim: Which block garbage collection empties next. Default "greedy".
        victim.d_choices.choices: Blocks drawn for each pick, 1 to 4096: with more it is greedy, and
            each pick needs as many draws. Default 5.
        victim.windowed_greedy.window: How many of the oldest blocks are compared, at least 1. Default
            64.
        placement: Which pages are kept in blocks apart. Each kind needs a block of every die that is
            being filled. Default "two".
        placement.origin.streams: Kinds of pages of the host, 1 to 14. Default 8.
        placement.dac.regions: Regions of temperature, 2 to 15. Default 6.
        placement.pools.pages: Logical pages of the first pool, at least 1; all others are in the second
            one.
        placement.pools.blocks: Blocks of each die for the first pool, at least 2. One of them is being
            filled, so that its over-provisioning is `(blocks - 1) * pages_per_block * dies / pages -
            1`. Blocks of data of the second pool are all others but `reserve_blocks`.
        wear: How the wear of blocks is evened out. Default "none".
        wear.threshold.erases: Data moves where the erases of two blocks differ by more; at least 1.
            Default 20.
        wear.bet.erases: Erases for each set that was erased at which the other sets are emptied; at
            least 1. Default 20.
        wear.bet.set_blocks: Blocks of a set, at least 1. Default 1.
        wear.dual_pool.erases: Data moves where the erases of two blocks differ by more; at least 1.
            Default 20.
        refresh_percent: A block is rewritten when the host reads a page of it in which so many bit
            errors are expected, in per cent of those that the ECC corrects, at most 100, where reads
            begin to be repeated. 0: never. Without `device.reliability` there are no such errors.
            Default 0.
        reserve_blocks: Free blocks of each die at which garbage collection begins, so much room that
            relocation is always left with, in blocks or in what is left of those being filled; at least
            1. With 1 a program failure or a torn page during relocation may leave no room; 2 is safe.
            Default 2.
        idle: What is done while the host asks nothing. It takes a device that keeps time. Default
            "none".
        idle.collect.blocks: Blocks of each die beyond `reserve_blocks` that are made free, at least 1.
            Default 2.
        idle.collect.after_us: How long the device rests before it takes that for a gap, in
            microseconds. Default 1000.
        valid_pages: How garbage collection tells the valid pages of a victim. Default "bitmap".
        durable_trim: Whether a flush makes trims survive a power cut, at the price of a note page for
            each segment of the address space that was trimmed. Without it there are no notes, and a
            mount brings back the newest copy of a trimmed page that is not erased yet: what it held
            last, or before that. Default true.
        slc_cache: Whether pages of the host go to blocks of one bit a cell first, where the device has
            cells of several bits. Default "none".
        slc_cache.fixed.blocks: Blocks of each die, at least 2. Default 8.
        slc_cache.fixed.full: What becomes of a page of the host for which they have no room. Default
            "direct".
        slc_cache.fixed.idle_after_us: How long the device rests before it folds in a gap between
            requests, in microseconds. Default 1000.
        slc_cache.dynamic.full: What becomes of a page of the host for which no block is free enough.
            Default "direct".
        slc_cache.dynamic.idle_after_us: How long the device rests before it folds in a gap between
            requests, in microseconds. Default 1000.
    """

def block(
    *,
    replacement_blocks: int | None = None,
    erase_when: Literal['on_free', 'on_alloc'] | None = None,
    reserve_blocks: int | None = None,
    durable_trim: bool | None = None,
) -> Choice:
    """A map entry for every logical block.

    After Ban 1995, US 5,404,485.

    Args:
        replacement_blocks: Most replacement blocks in use at once; fewer if the free blocks allow
            fewer. With 0, each overwrite costs a full merge. Default 8, a convention: the patent has no
            such limit.
        erase_when: When to erase a block without valid pages. Default "on_free".
        reserve_blocks: Blocks of the device kept free for merges; at least 1. With 1, a program failure
            or a torn page during a merge may leave no room; the default, 2, is safe. Default 2.
        durable_trim: Whether a flush makes trims survive a power cut. This costs a note page per
            trimmed segment of the address space, and at least one block for the notes. Without it there
            are no notes, and a mount may bring back the contents of a trimmed page until they are
            erased. Default true.
    """

def nftl(
    *,
    max_chain: int | None = None,
    erase_when: Literal['on_free', 'on_alloc'] | None = None,
    reserve_blocks: int | None = None,
    durable_trim: bool | None = None,
) -> Choice:
    """Chains of replacement blocks, folded when blocks run short.

    After Ban 1999, US 5,937,425.

    Args:
        max_chain: Most blocks in a chain, at least 1; a longer one is folded before a block is
            appended. 0: no limit, the default. Default 0.
        erase_when: When to erase a block without valid pages. Default "on_free".
        reserve_blocks: Blocks of the device kept free for folding; at least 1. With 1, a program
            failure or a torn page during a fold may leave no room; the default, 2, is safe. Default 2.
        durable_trim: Whether a flush makes trims survive a power cut. This costs a note page per
            trimmed segment of the address space, and at least one block for the notes. Default true.
    """

def fmax(
    *,
    switch: bool | None = None,
    merge_includes_pending: bool | None = None,
    strict_order: bool | None = None,
    erase_when: Literal['on_free', 'on_alloc'] | None = None,
    reserve_blocks: int | None = None,
    durable_trim: bool | None = None,
) -> Choice:
    """A mirror block beside each data block, simple first and compound when it must.

    After Estakhri & Iman 1999, US 5,930,815; Yoo et al. 2006.

    Args:
        switch: Whether a complete simple mirror becomes the data block; otherwise it is merged. Default
            true.
        merge_includes_pending: Whether a merge writes its triggering page into the merged block;
            otherwise the page goes to a new mirror. Default true.
        strict_order: Whether a compound mirror takes pages only after its last programmed page, even on
            chips that program in any order. Default false.
        erase_when: When to erase a block without valid pages. Default "on_free".
        reserve_blocks: Blocks of the device kept free for merges; at least 1. With 1, a program failure
            or a torn page during a merge may leave no room; the default, 2, is safe. Default 2.
        durable_trim: Whether a flush makes trims survive a power cut. This costs a note page per
            trimmed segment of the address space, and at least one block for the notes. Default true.
    """

def mtbs(
    *,
    data_pages: int | None = None,
    whole_requests: bool | None = None,
    erase_when: Literal['on_free', 'on_alloc'] | None = None,
    reserve_blocks: int | None = None,
    durable_trim: bool | None = None,
) -> Choice:
    """Blocks with a data area and a spare area.

    After Shinohara 1999, US 5,905,993; Yoo et al. 2006.

    Args:
        data_pages: Pages in a block's data area; the rest is its spare area. 0: half of them, the
            default, which the B+tree study calls optimal. The study's sectors are pages of 512 bytes.
            Default 0.
        whole_requests: Whether to place a request's pages together, so a multi-page host write stays
            whole; otherwise each page alone. Default true, the reading that fits the B+tree study.
        erase_when: When to erase a block without valid pages. Default "on_free".
        reserve_blocks: Blocks of the device kept free for merges; at least 1. With 1, a program failure
            or a torn page during a merge may leave no room; the default, 2, is safe. Default 2.
        durable_trim: Whether a flush makes trims survive a power cut. This costs a note page per
            trimmed segment of the address space, and at least one block for the notes. Default true.
    """

def bast(
    *,
    log_blocks: int | None = None,
    victim: Literal['lru', 'fifo', 'random', 'fullest'] | None = None,
    first_write: Literal['data', 'log'] | None = None,
    partial_merge: bool | None = None,
    erase_when: Literal['on_free', 'on_alloc'] | None = None,
    reserve_blocks: int | None = None,
    durable_trim: bool | None = None,
) -> Choice:
    """Block-associative sector translation, log blocks of one logical block each.

    After Kim et al. 2002.

    Args:
        log_blocks: Most log blocks in use at once, at least 1; fewer if the free blocks allow fewer.
            Default 8, a convention: the paper evaluates 4 to 64.
        victim: The log block to reclaim when all are in use. Default "lru".
        first_write: Destination of an unmapped page. Default "data".
        partial_merge: Whether to complete a log block with a prefix in order by copying the other
            pages; otherwise it is merged in full. If no other page is mapped, it becomes the data block
            unchanged, either way. Default true.
        erase_when: When to erase a block without valid pages. Default "on_free".
        reserve_blocks: Blocks of the device kept free for merges; at least 1. With 1, a program failure
            or a torn page during a merge may leave no room; the default, 2, is safe. Default 2.
        durable_trim: Whether a flush makes trims survive a power cut. This costs a note page per
            trimmed segment of the address space, and at least one block for the notes. Default true.
    """

def fast(
    *,
    log_blocks: int | None = None,
    sequential_block: bool | None = None,
    sw_rule: Literal['always', 'if_not_in_log', 'never'] | None = None,
    sequential_merge: Literal['data_block', 'newest'] | None = None,
    first_write: Literal['data', 'log'] | None = None,
    skip_stale: bool | None = None,
    migrate: bool | None = None,
    erase_when: Literal['on_free', 'on_alloc'] | None = None,
    reserve_blocks: int | None = None,
    durable_trim: bool | None = None,
) -> Choice:
    """Fully associative sector translation, log blocks shared by all logical blocks.

    After Lee et al. 2007.

    Args:
        log_blocks: Most random log blocks in use, at least 1; fewer if the free blocks allow fewer.
            Default 8, a convention.
        sequential_block: Whether an additional log block takes sequential writes. Default true.
        sw_rule: First pages of logical blocks that start a sequential log block. Default "always".
        sequential_merge: Pages that complete a sequential log block when another one replaces it.
            Default data_block, as in the paper.
        first_write: Destination of an unmapped page. Default data, as in the paper.
        skip_stale: Whether to skip logical blocks whose pages in the victim are all superseded by newer
            log pages. Default true.
        migrate: Whether to renew a victim that is less than half valid, instead of merging it. Default
            false.
        erase_when: When to erase a block without valid pages. Default "on_free".
        reserve_blocks: Blocks of the device kept free for merges; at least 1. With 1, a program failure
            or a torn page during a merge may leave no room; the default, 2, is safe. Default 2.
        durable_trim: Whether a flush makes trims survive a power cut. This costs a note page per
            trimmed segment of the address space, and at least one block for the notes. Default true.
    """

def migration(
    *,
    log_blocks: int | None = None,
    recycling: Literal['merge', 'cost', 'limit', 'macro', 'adaptive'] | Mapping[str, Any] | None = None,
    map_update: Literal['page', 'oob'] | None = None,
    victim: Literal['lru', 'fifo', 'random', 'fullest'] | None = None,
    first_write: Literal['data', 'log'] | None = None,
    partial_merge: bool | None = None,
    erase_when: Literal['on_free', 'on_alloc'] | None = None,
    reserve_blocks: int | None = None,
    durable_trim: bool | None = None,
    kept_recyclings: Literal['none'] | Mapping[str, Any] | None = None,
) -> Choice:
    """Log blocks of one logical block each, merged with their data block or moved.

    After Lee et al. 2007 (KIISE).

    Args:
        log_blocks: Most log blocks in use at once, at least 1; fewer if the free blocks allow fewer.
            Default 8, as in the paper.
        recycling: Rule for merging or moving a full log block. Default "macro".
        recycling.limit.migrations: Most migrations in a row. Default: half a block's pages, as in the
            paper. Default null.
        recycling.macro.alpha: Method to estimate alpha. Default "least_squares".
        recycling.macro.alpha.least_squares.window: How many latest migrations enter the estimate; 0
            means all. Default 0.
        recycling.macro.alpha.least_squares.scope: Logical blocks whose migrations count. Default
            "block".
        recycling.adaptive.patience: How much carrying unwritten pages may cost before a merge, as a
            share of a merge's price; above 0. Default 0.5.
        recycling.adaptive.erase_copies: An erase's cost, in page copies; 0 or more. Default 1.33, for
            the paper's MLC chip.
        map_update: Whether a recycling programs a block-map page. Default page, as in the paper.
        victim: The log block to merge when all are in use. Default "lru".
        first_write: Destination for an unmapped page. Default log, as in the paper.
        partial_merge: Whether to complete a log block with a prefix in order; otherwise it is merged in
            full. Default false.
        erase_when: When to erase a block without valid pages. Default `on_alloc`, as in the paper.
        reserve_blocks: Blocks of the device kept free for merges and migrations; at least 1. With 1, a
            program failure or a torn page may leave no room; the default, 2, is safe. Default 2.
        durable_trim: Whether a flush makes trims survive a power cut. This costs a note page per
            trimmed segment of the address space, and at least one block for the notes. Default true.
        kept_recyclings: Which recyclings the result record keeps. Default "none".
        kept_recyclings.latest.count: How many, at least 1.
        kept_recyclings.latest.of: The logical block whose recyclings these are; if unset, all logical
            blocks' recyclings. Default null.
    """

def superpage(
    *,
    firmware: Literal['greedy', 'tutorial'] | None = None,
    reverse_map: Literal['list_page', 'spare'] | None = None,
    one_read_sectors: int | None = None,
    reserve_blocks: int | None = None,
    firmware_blocks: int | None = None,
    durable_trim: bool | None = None,
) -> Choice:
    """A map entry for every logical page of a controller that programs whole super-pages.

    After OpenSSD Jasmine firmware 1.1.0.

    Args:
        firmware: Which of the two firmwares of the board. Default "greedy".
        reverse_map: How garbage collection learns which logical pages a victim holds. Default
            "list_page".
        one_read_sectors: Most sectors of a partial write that is not at the start of its page for which
            the rest of the page is read at once; a longer one, or one at the start, reads the part
            before it and the part behind it apart. Default 8.
        reserve_blocks: Blocks of each bank that stay free for garbage collection; at least 1, as in the
            firmware. With 1 a program failure or a torn page during garbage collection may leave no
            room; 2 is safe. Default 2.
        firmware_blocks: Blocks at the start of each bank that are never used: the firmware keeps 32
            there for itself, its code, its log and its map. Default 0.
        durable_trim: Whether a flush makes trims survive a power cut, at the price of a note page for
            each segment of the address space that was trimmed. Without it there are no notes, and a
            mount brings back the newest copy of a trimmed page that is not erased yet: what it held
            last, or before that. Default true.
    """

def sector_map(
    *,
    coalesce: bool | None = None,
    merge_buffers: int | None = None,
    cmt_units: int | None = None,
    cmt_unit_bytes: int | None = None,
    replacement: Literal['clock', 'fifo', 'lru'] | None = None,
    write_back: Literal['unit', 'pages'] | None = None,
    rewrite: Literal['overwrite', 'append'] | None = None,
    reserve_blocks: int | None = None,
    map_spare_percent: int | None = None,
) -> Choice:
    """A map entry for every sector, most of them on flash.

    After Han et al. (KIISE).

    Args:
        coalesce: Whether sectors that lie one behind the other in a page are read at once. Default
            false.
        merge_buffers: Pages in memory that gather small writes, 1 to 65,536: while one is filled, the
            others are being written. Default 32.
        cmt_units: Units of the map in memory; 0 for all of them. Default 32.
        cmt_unit_bytes: Bytes of a unit of the map, 4 for each entry: a power of two, from 8. One that
            is smaller than a page is read with its page, and written with it. 1 MiB is a segment of the
            paper. Default 1048576.
        replacement: Which unit leaves memory. Default "clock".
        write_back: What of a changed unit is written when it leaves memory. Default "unit".
        rewrite: What becomes of a sector that is written again while it waits in the merge buffer.
            Default "overwrite".
        reserve_blocks: Blocks of each die that stay free for garbage collection; at least 1. With 1 a
            program failure or a torn page may leave no room. Default 2.
        map_spare_percent: Blocks for the map beside those that hold it once, as a share of these in
            percent; one at least, 1000 percent at most. Default 100.
    """

def hybrid_map(
    *,
    gather_from: int | None = None,
    coalesce: bool | None = None,
    merge_buffers: int | None = None,
    cmt_units: int | None = None,
    cmt_unit_bytes: int | None = None,
    replacement: Literal['clock', 'fifo', 'lru'] | None = None,
    write_back: Literal['unit', 'pages'] | None = None,
    rewrite: Literal['overwrite', 'append'] | None = None,
    reserve_blocks: int | None = None,
    map_spare_percent: int | None = None,
) -> Choice:
    """A map entry for every page, and for every sector of those pages that are written small.

    After Han et al. (KIISE), outlook.

    Args:
        gather_from: Sectors of a split page in a victim from which on garbage collection fetches the
            others and makes the page whole; 0: only where all of them are in the victim. At most the
            sectors of a page, or 32, half of a super-page, which on pages of fewer sectors is the same
            as 0. Default 0.
        coalesce: Whether sectors of split pages that lie one behind the other are read at once. Default
            true.
        merge_buffers: Pages in memory that gather small writes, 1 to 65,536: while one is filled, the
            others are being written. Default 32.
        cmt_units: Units of the map in memory; 0 for all of them. Default 32.
        cmt_unit_bytes: Bytes of a unit of the map, 4 for each entry: a power of two, from 8. One that
            is smaller than a page is read with its page, and written with it. 1 MiB is a segment of the
            paper. Default 1048576.
        replacement: Which unit leaves memory. Default "clock".
        write_back: What of a changed unit is written when it leaves memory. Default "unit".
        rewrite: What becomes of a sector that is written again while it waits in the merge buffer.
            Default "overwrite".
        reserve_blocks: Blocks of each die that stay free for garbage collection; at least 1. With 1 a
            program failure or a torn page may leave no room. Default 2.
        map_spare_percent: Blocks for the map beside those that hold it once, as a share of these in
            percent; one at least, 1000 percent at most. Default 100.
    """

def sector_log(
    *,
    log_percent: int | None = None,
    log_victim: Literal['fifo', 'greedy'] | None = None,
    merge_buffers: int | None = None,
    reserve_blocks: int | None = None,
) -> Choice:
    """A page map with a log for what is written small, and a map of sectors for the log alone.

    After Jin et al. 2011.

    Args:
        log_percent: Blocks of the log, as a share of those of the device in percent, rounded up; from 1
            to 90. The sector map needs 10 to 12 bytes of memory for each sector of it. Default 5.
        log_victim: Which block of the log is merged with the data when another one is needed. Default
            "fifo".
        merge_buffers: Pages in memory that gather small writes, 1 to 65,536: while one is filled, the
            others are being written. Default 32.
        reserve_blocks: Blocks that stay free for relocation; at least 1. With 1 a program failure or a
            torn page during relocation may leave no room. Default 2.
    """

def log(
    *,
    reserve_blocks: int | None = None,
) -> Choice:
    """One page map, written as one log.

    After Rosenblum, Ousterhout 1992.

    Args:
        reserve_blocks: Free blocks that are left when one is opened for the host, at least 1. With 1 a
            program failure or a torn page during collection may leave no room. Default 2.
    """

def dftl(
    *,
    cmt_entries: int | None = None,
    protected_percent: int | None = None,
    lazy_update: bool | None = None,
    batch_update: bool | None = None,
    batch_write_back: bool | None = None,
    allocation: Literal['dynamic', 'static'] | None = None,
    victim: Literal['greedy', 'fifo', 'random', 'd_choices', 'windowed_greedy', 'cost_benefit', 'cost_benefit_flash', 'cat'] | Mapping[str, Any] | None = None,
    reserve_blocks: int | None = None,
    map_spare_percent: int | None = None,
) -> Choice:
    """A map entry for every page, most of them on flash.

    After Gupta et al. 2009.

    Args:
        cmt_entries: Map entries in memory, at least 2. Default 8192, as in public simulators of the
            paper: 6552 and 1640.
        protected_percent: Share of the entries in memory that is protected: an entry is there from when
            it was read or asked for again, until it is the one that was not asked for the longest. From
            1 to 99 percent. Default 80.
        lazy_update: Whether garbage collection leaves an entry that is in memory to be written when it
            is evicted; else its map page is written at once. The entries that are not in memory are
            written in either case. Default true.
        batch_update: Whether garbage collection writes a map page once for all pages of a victim with
            an entry in it; else once for each. Default true.
        batch_write_back: Whether the other changed entries of a map page need no write any more once
            one of them was evicted. Without it they stay marked as changed, although the map page has
            them. Default true.
        allocation: Which die takes a page that the host writes. Default "dynamic".
        victim: Which block of data garbage collection empties next; blocks of the map go by the fewest
            valid pages. Default "greedy".
        victim.d_choices.choices: Blocks drawn for each pick, 1 to 4096: with more it is greedy, and
            each pick needs as many draws. Default 5.
        victim.windowed_greedy.window: How many of the oldest blocks are compared, at least 1. Default
            64.
        reserve_blocks: Blocks that stay free for relocation; at least 1. With 1 a program failure or a
            torn page during relocation may leave no room. The paper collects with fewer than 3 free.
            Default 2.
        map_spare_percent: Blocks for the map beside those that hold it once, as a share of these in
            percent; one at least, 1000 percent at most. Default 100.
    """
