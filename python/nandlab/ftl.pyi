"""Made by `python -m nandlab.stubs` from the lists of the compiled module."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from nandlab.listing import Choice
from nandlab.policy import Policy

def page(
    *,
    stripe: Literal['dies', 'planes', 'address'] | Mapping[str, Any] | None = None,
    victim: Literal['greedy', 'fifo', 'random', 'd_choices', 'windowed_greedy', 'cost_benefit', 'cost_benefit_flash', 'cat'] | Mapping[str, Any] | Policy | None = None,
    placement: Literal['one', 'two', 'origin', 'dac', 'sepbit', 'oracle', 'warcip', 'midas', 'fdp'] | Mapping[str, Any] | Policy | None = None,
    wear: Literal['none', 'dynamic', 'threshold', 'bet', 'dual_pool'] | Mapping[str, Any] | Policy | None = None,
    refresh_percent: int | None = None,
    reserve_blocks: int | None = None,
    collection: Literal['tokens', 'at_once', 'background'] | Mapping[str, Any] | None = None,
    idle: Literal['none', 'collect'] | Mapping[str, Any] | None = None,
    valid_pages: Literal['bitmap', 'spare'] | None = None,
    durable_trim: bool | None = None,
    slc_cache: Literal['none', 'fixed', 'dynamic'] | Mapping[str, Any] | None = None,
) -> Choice:
    """A map entry for every logical page.

    After Gal & Toledo 2005 (survey); Desnoyers 2014.

    Args:
        stripe: The parts filled side by side, each with its own frontiers, reserve and victims, and
            which one takes a host page. Default "dies".
        stripe.dies.pages: Consecutive host pages for one die before the next one is in turn, 1 to
            65536: with `device.timing.program_pages`, the pages it programs at once. Default 1.
        stripe.address.order: What changes first from a page to the next: the letters C (channel), W
            (way), D (die of a way) and P (plane of a die) in any order, as in MQSim's
            `Plane_Allocation_Scheme`. Default "CWDP".
        stripe.address.ways: Ways (chips) on a channel. 0 is one for each die. Default 0.
        stripe.address.planes: Planes that `P` counts; what is left of a way's planes is its dies. 0 is
            all planes of a die. Default 0.
        victim: Which block garbage collection empties next. Default "greedy".
        victim.d_choices.choices: Blocks drawn for each pick, 1 to 4096: with more it is greedy, and
            each pick needs as many draws. Default 5.
        victim.windowed_greedy.window: How many of the oldest blocks are compared, at least 1. Default
            64.
        placement: Which pages are kept in blocks apart. Each kind needs an open block on every die.
            Default "two".
        placement.origin.streams: Kinds of pages of the host, 1 to 14. Default 8.
        placement.dac.regions: Regions of temperature, 2 to 15. Default 6.
        placement.oracle.classes: Classes of remaining life, 2 to 64. Each needs an open block on every
            die. Default 8.
        placement.oracle.windows: How the classes' windows grow. Default "doubling".
        placement.oracle.window_percent: The first window in host page writes, in per cent of the spare
            pages, 1 to 10,000. Default 100.
        placement.oracle.victims: Who chooses the next victim. Default "dying_last".
        placement.warcip.clusters: Clusters for host pages, 2 to 14. Default 5, as in the SepBIT paper.
        placement.midas.groups: Most groups, the hot one among them, 2 to 15. Each has an open block on
            every die. Default 8.
        placement.midas.epoch: Host pages in an epoch, in multiples of the logical pages, 1 to 1,000.
            Default 4, as in the paper.
        placement.midas.watched: Pages watched for their update intervals, 256 to 16,777,216, spread
            over the logical pages. Default 65536.
        placement.pools.pages: Logical pages in the first pool, at least 1; all others are in the second
            one.
        placement.pools.blocks: Blocks on each die for the first pool, at least 2. One is being filled,
            so its over-provisioning is `(blocks - 1) * pages_per_block * dies / pages - 1`. The second
            pool's data blocks are all others but `reserve_blocks`.
        placement.fdp.handles: Reclaim unit handles, 1 to 128. Default 8.
        placement.fdp.persistent: Persistently isolated handles: `"all"`, `"none"`, or their numbers.
            Their moved pages stay among themselves; moved pages of the others share units. With
            `"none"` all handles are initially isolated. Default "none".
        placement.fdp.groups: Reclaim groups: parts of the device with equally many dies. Default 1.
        placement.fdp.unit_blocks: Blocks in a reclaim unit: a multiple of the dies in a group, or a
            divisor. 0 stands for one block on each die of a group. Default 0.
        placement.fdp.origins: Handles for writes without an identifier, by origin, such as `{ fat = 1,
            file_data = 2 }`; other origins write through handle 0, and all of them to group 0.
            `"each"`: each origin has a handle of its own, given in the order in which they come, and
            the last handle serves all others. Default {}.
        wear: How the wear is evened out between blocks. Default "none".
        wear.threshold.erases: Data moves if two blocks' erases differ by more; at least 1. Default 20.
        wear.bet.erases: Erases per erased set at which the other sets are emptied; at least 1. Default
            20.
        wear.bet.set_blocks: Blocks in a set, at least 1. Default 1.
        wear.dual_pool.erases: Data moves if two blocks' erases differ by more; at least 1. Default 20.
        refresh_percent: Expected bit errors in a page at which a read by the host has its block
            rewritten, in per cent of the errors that the ECC corrects; at most 100, where reads begin
            to be repeated. 0: never. Without `device.reliability` there are no such errors. Default 0.
        reserve_blocks: Free blocks on each die at which garbage collection begins. Relocation always
            has so much room left, in free blocks or in the rest of open ones; at least 1. With 1, a
            program failure or a torn page during relocation may leave no room; 2 is safe. Default 2.
        collection: When a victim's pages move: a few with each host page, or all at once. Default
            "tokens".
        collection.background.free_blocks: Free blocks on each die at which it begins, more than
            `reserve_blocks`. Default 4.
        collection.background.invalid_pages: Invalid pages in a victim, at least 1; of a reclaim unit on
            several dies the mean of its blocks. A die with no more than `reserve_blocks` free takes any
            victim. Default 1; FEMU's rule for lines is an eighth of a block's pages.
        idle: Work done while the host asks nothing. It takes a device that keeps time. Default "none".
        idle.collect.blocks: Blocks on each die made free beyond `reserve_blocks`, at least 1. Default
            2.
        idle.collect.after_us: How long the device rests before this counts as a gap, in microseconds.
            Default 1000.
        valid_pages: How garbage collection tells a victim's valid pages. Default "bitmap".
        durable_trim: Whether a flush makes trims survive a power cut. This costs a note page per
            trimmed segment of the address space. Without it there are no notes, and a mount brings back
            a trimmed page's newest copy not erased yet: its last contents, or older ones. Default true.
        slc_cache: Whether host pages go to blocks with one bit per cell first, if the device has
            several bits per cell. Default "none".
        slc_cache.fixed.blocks: Blocks on each die, at least 2. Default 8.
        slc_cache.fixed.full: What happens to a host page if they have no room. Default "direct".
        slc_cache.fixed.idle_after_us: How long the device rests before it folds in a gap between
            requests, in microseconds. Default 1000.
        slc_cache.dynamic.full: What happens to a host page if no block is free enough. Default
            "direct".
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
            otherwise the page goes to a new mirror. Of one paper: btree. Default true.
        strict_order: Whether a compound mirror takes pages only after its last programmed page, even on
            chips that program in any order. Of one paper: btree. Default false.
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
            Of one paper: btree. Default 0.
        whole_requests: Whether to place a request's pages together, so a multi-page host write stays
            whole; otherwise each page alone. Default true, the reading that fits the B+tree study. Of
            one paper: btree.
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
        sequential_block: Whether an additional log block takes sequential writes. Of one paper: btree.
            Default true.
        sw_rule: First pages of logical blocks that start a sequential log block. Default "always".
        sequential_merge: Pages that complete a sequential log block when another one replaces it.
            Default data_block, as in the paper. Of one paper: btree.
        first_write: Destination of an unmapped page. Default data, as in the paper.
        skip_stale: Whether to skip logical blocks whose pages in the victim are all superseded by newer
            log pages. Of one paper: btree. Default true.
        migrate: Whether to renew a victim that is less than half valid, instead of merging it. Of one
            paper: migration. Default false.
        erase_when: When to erase a block without valid pages. Default "on_free".
        reserve_blocks: Blocks of the device kept free for merges; at least 1. With 1, a program failure
            or a torn page during a merge may leave no room; the default, 2, is safe. Default 2.
        durable_trim: Whether a flush makes trims survive a power cut. This costs a note page per
            trimmed segment of the address space, and at least one block for the notes. Default true.
    """

def kast(
    *,
    log_blocks: int | None = None,
    associativity: int | None = None,
    sequential_blocks: int | None = None,
    share: Literal['first', 'last'] | None = None,
    erase_when: Literal['on_free', 'on_alloc'] | None = None,
    reserve_blocks: int | None = None,
    durable_trim: bool | None = None,
) -> Choice:
    """K-associative sector translation, log blocks of at most K logical blocks each.

    After Cho et al. 2009.

    Args:
        log_blocks: Most log blocks in use, sequential ones included, at least 1; fewer if the free
            blocks allow fewer. Default 8, a convention.
        associativity: Most logical blocks with pages in one random log block (K), at least 1. Default
            4, a convention.
        sequential_blocks: Most log blocks that take sequential writes, fewer than `log_blocks`. Default
            2, a convention.
        share: When a logical block without a log block shares one. Default "first".
        erase_when: When to erase a block without valid pages. Default "on_free".
        reserve_blocks: Blocks of the device kept free for merges; at least 1. With 1, a program failure
            or a torn page during a merge may leave no room; the default, 2, is safe. Default 2.
        durable_trim: Whether a flush makes trims survive a power cut. This costs a note page per
            trimmed segment of the address space, and at least one block for the notes. Default true.
    """

def last(
    *,
    sequential_blocks: int | None = None,
    sequential_pages: int | None = None,
    random_blocks: int | None = None,
    hot_blocks: int | None = None,
    hot_window: int | None = None,
    adapt: bool | None = None,
    erase_when: Literal['on_free', 'on_alloc'] | None = None,
    reserve_blocks: int | None = None,
    durable_trim: bool | None = None,
) -> Choice:
    """Locality-aware sector translation, one log for large requests and one for small, hot and cold apart.

    After Lee et al. 2008.

    Args:
        sequential_blocks: Most log blocks for large requests, one logical block each; with 0 all
            requests count as small. Fewer if the free blocks allow fewer. Default 4, a convention.
        sequential_pages: Pages of one logical block from which on a request is large, at least 1.
            Default 4, 8 KiB with the paper's pages of 2 KiB.
        random_blocks: Most log blocks for small requests, hot and cold together, at least 1; fewer if
            the free blocks allow fewer. Default 8, a convention.
        hot_blocks: The hot log blocks among them: their share at first, fewer than `random_blocks`.
            With 0 no page is hot. Default 4, a convention.
        hot_window: A page is hot if it is written again within so many pages of small requests. Default
            256, a convention: four log blocks of 64 pages.
        adapt: Whether the share of hot log blocks follows what becomes of them. Default true.
        erase_when: When to erase a block without valid pages. Default "on_free".
        reserve_blocks: Blocks of the device kept free for merges; at least 1. With 1, a program failure
            or a torn page during a merge may leave no room; the default, 2, is safe. Default 2.
        durable_trim: Whether a flush makes trims survive a power cut. This costs a note page per
            trimmed segment of the address space, and at least one block for the notes. Default true.
    """

def superblock(
    *,
    superblock_blocks: int | None = None,
    update_blocks: int | None = None,
    erase_when: Literal['on_free', 'on_alloc'] | None = None,
    reserve_blocks: int | None = None,
    durable_trim: bool | None = None,
) -> Choice:
    """A few neighbouring logical blocks share their blocks, mapped by page inside.

    After Kang et al. 2006.

    Args:
        superblock_blocks: Neighbouring logical blocks in a superblock (N), at least 1. Default 8, a
            convention.
        update_blocks: Most blocks of a superblock beyond its logical blocks (K), at least 1. Default 2,
            a convention.
        erase_when: When to erase a block without valid pages. Default "on_free".
        reserve_blocks: Blocks of the device kept free for compactions; at least 1. Each program failure
            and each torn page during a compaction takes one until a later compaction brings it back;
            the default, 3, is safe. Default 3.
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
    allocation: Literal['static', 'dynamic'] | None = None,
    collection: Literal['at_once', 'tokens'] | None = None,
    reverse_map: Literal['list_page', 'spare'] | None = None,
    one_read_sectors: int | None = None,
    reserve_blocks: int | None = None,
    firmware_blocks: int | None = None,
    durable_trim: bool | None = None,
) -> Choice:
    """One map entry per logical page, for a controller that programs whole super-pages.

    After OpenSSD Jasmine firmware 1.1.0.

    Args:
        firmware: Which one of the board's two firmwares. Default "greedy".
        allocation: The bank for a host page. The tutorial firmware lets the banks take turns in any
            case. Default "static".
        collection: When a victim's pages move. Default "at_once".
        reverse_map: How garbage collection learns the logical pages in a victim. Default "list_page".
        one_read_sectors: A partial write behind its page's start reads the rest of the page at once if
            it has at most so many sectors. A longer one, or one at the start, reads the part before it
            and the part behind it apart. Default 8.
        reserve_blocks: Blocks kept free on each die for moved pages; at least 1. With 1, a program
            failure or a torn page during collection may leave no room. Default 2; the firmware has 1. A
            bank is a die.
        firmware_blocks: Blocks never used at the start of each bank: the firmware keeps 32 there for
            itself, its code, its log and its map. Of one paper: sector-map. Default 0.
        durable_trim: Whether a flush makes trims survive a power cut. This costs a note page per
            trimmed segment of the address space. Without it there are no notes, and a mount brings back
            a trimmed page's newest copy not erased yet: its last contents, or older ones. Default true.
    """

def sector_map(
    *,
    coalesce: bool | None = None,
    fdp: Mapping[str, Any] | None = None,
    merge_buffers: int | None = None,
    cmt_units: int | None = None,
    cmt_unit_bytes: int | None = None,
    replacement: Literal['clock', 'fifo', 'lru'] | None = None,
    write_back: Literal['unit', 'pages'] | None = None,
    collection: Literal['at_once', 'tokens'] | None = None,
    changed_map_pages: int | None = None,
    rewrite: Literal['overwrite', 'append'] | None = None,
    pages_per_die: int | None = None,
    reserve_blocks: int | None = None,
    map_spare_percent: int | None = None,
) -> Choice:
    """A map entry for every sector, most of them on flash.

    After Han et al. (KIISE).

    Args:
        coalesce: Whether sectors that lie one behind the other in a page are read at once. Default
            false.
        fdp: Data placement by the host, such as `{ handles = 4 }`: the sectors of each reclaim unit
            handle gather in pages and blocks of their own. Unset: no placement. Default null.
        fdp.handles: Reclaim unit handles, 1 to 128. Default 8.
        fdp.origins: Handles for writes without an identifier, by origin, as in
            `ftl.page.placement.fdp`; `"each"` gives each origin its own. Default {}.
        merge_buffers: Pages in memory that gather small writes, 1 to 65,536: while one is filled, the
            others are being written. Default 32.
        cmt_units: Map units in memory; 0 for all. Default 32.
        cmt_unit_bytes: Bytes in a map unit, 4 for each entry: a power of two, from 8. A unit smaller
            than a page is read with its page, and written with it. 1 MiB is a segment in the paper.
            Default 1048576.
        replacement: The map unit that leaves memory. Default "clock".
        write_back: The part of a changed map unit written when it leaves memory. Default "unit".
        collection: When garbage collection moves a victim's sectors. Tokens take about a block of each
            die's spare room. Default "at_once".
        changed_map_pages: Most map pages in memory with changes that are not on flash, looked at after
            each write of the host; beyond it the one with the oldest change is written and stays in
            memory, as firmware does that bounds the time of a mount. 0 is no limit. It needs units of
            whole map pages. Default 0.
        rewrite: What happens if a sector is written again while it waits in the merge buffer. Default
            "overwrite".
        pages_per_die: Consecutive host pages that one die takes, at least 1: as many as it programs at
            once, in a drive that programs several. Default 1.
        reserve_blocks: Blocks kept free on each die for moved pages; at least 1. With 1, a program
            failure or a torn page during collection may leave no room. Default 2.
        map_spare_percent: Spare blocks for the map, in percent of the blocks that hold it once; one at
            least, 1000 percent at most. Default 100.
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
    collection: Literal['at_once', 'tokens'] | None = None,
    changed_map_pages: int | None = None,
    rewrite: Literal['overwrite', 'append'] | None = None,
    pages_per_die: int | None = None,
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
        cmt_units: Map units in memory; 0 for all. Default 32.
        cmt_unit_bytes: Bytes in a map unit, 4 for each entry: a power of two, from 8. A unit smaller
            than a page is read with its page, and written with it. 1 MiB is a segment in the paper.
            Default 1048576.
        replacement: The map unit that leaves memory. Default "clock".
        write_back: The part of a changed map unit written when it leaves memory. Default "unit".
        collection: When garbage collection moves a victim's sectors. Tokens take about a block of each
            die's spare room. Default "at_once".
        changed_map_pages: Most map pages in memory with changes that are not on flash, looked at after
            each write of the host; beyond it the one with the oldest change is written and stays in
            memory, as firmware does that bounds the time of a mount. 0 is no limit. It needs units of
            whole map pages. Default 0.
        rewrite: What happens if a sector is written again while it waits in the merge buffer. Default
            "overwrite".
        pages_per_die: Consecutive host pages that one die takes, at least 1: as many as it programs at
            once, in a drive that programs several. Default 1.
        reserve_blocks: Blocks kept free on each die for moved pages; at least 1. With 1, a program
            failure or a torn page during collection may leave no room. Default 2.
        map_spare_percent: Spare blocks for the map, in percent of the blocks that hold it once; one at
            least, 1000 percent at most. Default 100.
    """

def sector_log(
    *,
    log_percent: int | None = None,
    log_victim: Literal['fifo', 'greedy'] | None = None,
    merge_buffers: int | None = None,
    reserve_blocks: int | None = None,
) -> Choice:
    """A page map with a log for small writes, and a sector map for the log alone.

    After Jin et al. 2011.

    Args:
        log_percent: Blocks in the log, in percent of the device's blocks, rounded up; from 1 to 90. The
            sector map needs 10 to 12 bytes in memory for each sector in the log. Default 5.
        log_victim: The log block merged with the data when another one is needed. Default "fifo".
        merge_buffers: Pages in memory that gather small writes, 1 to 65,536: while one is filled, the
            others are being written. Default 32.
        reserve_blocks: Blocks kept free on each die for moved pages; at least 1. With 1, a program
            failure or a torn page during collection may leave no room. Default 2.
    """

def dftl(
    *,
    cmt_entries: int | None = None,
    cache: Literal['segmented', 'tpftl', 'cdftl', 'sftl', 'leaftl', 'learned'] | Mapping[str, Any] | None = None,
    protected_percent: int | None = None,
    lazy_update: bool | None = None,
    batch_update: bool | None = None,
    batch_write_back: bool | None = None,
    replacement: Literal['segmented'] | Mapping[str, Any] | Policy | None = None,
    allocation: Literal['dynamic', 'static', 'groups'] | Mapping[str, Any] | None = None,
    placement: Literal['one', 'two', 'origin', 'dac', 'sepbit', 'oracle', 'warcip', 'midas', 'fdp'] | Mapping[str, Any] | Policy | None = None,
    wear: Literal['none', 'dynamic', 'threshold', 'bet', 'dual_pool'] | Mapping[str, Any] | Policy | None = None,
    victim: Literal['greedy', 'fifo', 'random', 'd_choices', 'windowed_greedy', 'cost_benefit', 'cost_benefit_flash', 'cat'] | Mapping[str, Any] | Policy | None = None,
    reserve_blocks: int | None = None,
    map_spare_percent: int | None = None,
) -> Choice:
    """A map entry for every page, most of them on flash.

    After Gupta et al. 2009.

    Args:
        cmt_entries: Memory for the map, in entries of eight bytes as DFTL has them, at least 2. Another
            `cache` has as many bytes, for more entries or fewer. Default 8192, as in public simulators
            of the paper: 6552 and 1640.
        cache: What memory keeps of the map. Default "segmented".
        cache.tpftl.request_prefetch: Whether a miss loads the entries for the rest of its request.
            Default true.
        cache.tpftl.selective_prefetch: Whether a miss loads entries ahead while requests are
            sequential. Default true.
        cache.tpftl.threshold: Nodes that must go, more than come, for requests to be taken for
            sequential; and the other way round. At least 1. Default 3, as in the paper.
        cache.tpftl.batch_update: Whether a changed entry that leaves takes along all of its map page;
            otherwise they stay marked. Default true.
        cache.tpftl.clean_first: Whether unmarked entries leave before marked ones. Default true.
        cache.cdftl.pages_percent: Share of the memory for whole map pages, at least one of them. From 1
            to 99 percent. Default 50.
        cache.sftl.buffer_percent: Share of the memory for the buffer of changed entries, eight bytes
            each. From 0 to 50 percent. Default 10.
        cache.sftl.sparse_entries: The most changed entries with which a map page leaves without being
            written. Default 16.
        cache.leaftl.error_bound: Pages by which a segment may miss, from 0 to 64. Default 4; the paper
            measures 0, 1, 4 and 16.
        cache.leaftl.learned_at: Changed entries waiting until lines are drawn through them. From 1 to
            65,536. Default 256, a flash block of the paper.
        cache.learned.pieces: Lines for each map page, from 1 to 64. Default 8, as in the paper.
        protected_percent: Protected share of the entries in memory. An entry is protected from when it
            was read or asked for again, until it is the one not asked for the longest. From 1 to 99
            percent. Only for the cache `segmented`. Default 80.
        lazy_update: Whether garbage collection leaves an entry in memory to be written when it is
            evicted; otherwise its map page is written at once. Entries not in memory are written in
            either case. Default true.
        batch_update: Whether garbage collection writes a map page once for all pages in a victim with
            an entry there; otherwise once for each. Default true.
        batch_write_back: Whether a map page's other changed entries need no write any more once one was
            evicted. Without it they stay marked as changed, although the map page has them. Only for
            the cache `segmented`. Default true.
        replacement: Which entry leaves a full memory. Only for the cache `segmented`. Default
            "segmented".
        allocation: The die that takes a host page. Default "dynamic".
        allocation.groups.pages: Logical pages in a group. A group keeps up to a block on each die half
            filled, and a group's pages in free blocks are kept for collection: small groups cost the
            one, large ones the other. Default 0, the size with the least of both: the root of logical
            pages, dies and pages a block, multiplied.
        placement: Which pages are kept in blocks apart, as in the page map: `one`, `two`, `origin`,
            `dac`, `sepbit`, `warcip` or `python`. Each kind needs an open block on every die. Others
            than `two` are for the allocation `dynamic`. Default "two".
        placement.origin.streams: Kinds of pages of the host, 1 to 14. Default 8.
        placement.dac.regions: Regions of temperature, 2 to 15. Default 6.
        placement.oracle.classes: Classes of remaining life, 2 to 64. Each needs an open block on every
            die. Default 8.
        placement.oracle.windows: How the classes' windows grow. Default "doubling".
        placement.oracle.window_percent: The first window in host page writes, in per cent of the spare
            pages, 1 to 10,000. Default 100.
        placement.oracle.victims: Who chooses the next victim. Default "dying_last".
        placement.warcip.clusters: Clusters for host pages, 2 to 14. Default 5, as in the SepBIT paper.
        placement.midas.groups: Most groups, the hot one among them, 2 to 15. Each has an open block on
            every die. Default 8.
        placement.midas.epoch: Host pages in an epoch, in multiples of the logical pages, 1 to 1,000.
            Default 4, as in the paper.
        placement.midas.watched: Pages watched for their update intervals, 256 to 16,777,216, spread
            over the logical pages. Default 65536.
        placement.pools.pages: Logical pages in the first pool, at least 1; all others are in the second
            one.
        placement.pools.blocks: Blocks on each die for the first pool, at least 2. One is being filled,
            so its over-provisioning is `(blocks - 1) * pages_per_block * dies / pages - 1`. The second
            pool's data blocks are all others but `reserve_blocks`.
        placement.fdp.handles: Reclaim unit handles, 1 to 128. Default 8.
        placement.fdp.persistent: Persistently isolated handles: `"all"`, `"none"`, or their numbers.
            Their moved pages stay among themselves; moved pages of the others share units. With
            `"none"` all handles are initially isolated. Default "none".
        placement.fdp.groups: Reclaim groups: parts of the device with equally many dies. Default 1.
        placement.fdp.unit_blocks: Blocks in a reclaim unit: a multiple of the dies in a group, or a
            divisor. 0 stands for one block on each die of a group. Default 0.
        placement.fdp.origins: Handles for writes without an identifier, by origin, such as `{ fat = 1,
            file_data = 2 }`; other origins write through handle 0, and all of them to group 0.
            `"each"`: each origin has a handle of its own, given in the order in which they come, and
            the last handle serves all others. Default {}.
        wear: How the wear is evened out between blocks, as in the page map. Map blocks are not moved
            for it: they are collected apart, and an emptied one joins the die's free blocks. Groups
            take none. Default "none".
        wear.threshold.erases: Data moves if two blocks' erases differ by more; at least 1. Default 20.
        wear.bet.erases: Erases per erased set at which the other sets are emptied; at least 1. Default
            20.
        wear.bet.set_blocks: Blocks in a set, at least 1. Default 1.
        wear.dual_pool.erases: Data moves if two blocks' erases differ by more; at least 1. Default 20.
        victim: The data block that garbage collection empties next; map blocks go by the fewest valid
            pages. Default "greedy".
        victim.d_choices.choices: Blocks drawn for each pick, 1 to 4096: with more it is greedy, and
            each pick needs as many draws. Default 5.
        victim.windowed_greedy.window: How many of the oldest blocks are compared, at least 1. Default
            64.
        reserve_blocks: Blocks kept free on each die for moved pages; at least 1. With 1, a program
            failure or a torn page during collection may leave no room. The paper has one die and
            collects with fewer than 3 free. Default 2.
        map_spare_percent: Spare blocks for the map, in percent of the blocks that hold it once; one at
            least, 1000 percent at most. Default 100.
    """

def lazyftl(
    *,
    update_blocks: int | None = None,
    cold_blocks: int | None = None,
    batch_conversion: bool | None = None,
    cached_map_pages: int | None = None,
    victim: Literal['greedy', 'fifo', 'random', 'd_choices', 'windowed_greedy', 'cost_benefit', 'cost_benefit_flash', 'cat'] | Mapping[str, Any] | Policy | None = None,
    reserve_blocks: int | None = None,
    map_spare_percent: int | None = None,
) -> Choice:
    """A map entry for every page, most of them on flash, changed a block's pages at a time.

    After Ma et al. 2011.

    Args:
        update_blocks: Most blocks with host pages that wait for their conversion, those being filled
            included; at least 1. Fewer if the exported pages leave less room. Default 8, a convention.
        cold_blocks: The same for blocks with moved pages; at least 1. Default 4, a convention.
        batch_conversion: Whether a conversion writes a map page once for all waiting pages with an
            entry there, as in the paper; otherwise once for each. Default true.
        cached_map_pages: Map pages kept in memory, at least 1. Default 8, a convention.
        victim: The data block that garbage collection empties next; map blocks go by the fewest valid
            pages. Default "greedy".
        victim.d_choices.choices: Blocks drawn for each pick, 1 to 4096: with more it is greedy, and
            each pick needs as many draws. Default 5.
        victim.windowed_greedy.window: How many of the oldest blocks are compared, at least 1. Default
            64.
        reserve_blocks: Blocks kept free on each die for moved pages; at least 1. With 1, a program
            failure or a torn page during collection may leave no room. Default 2.
        map_spare_percent: Spare blocks for the map, in percent of the blocks that hold it once; one at
            least, 1000 percent at most. Default 100.
    """

def zoned(
    *,
    reserve_zones: int | None = None,
    victim: Literal['greedy', 'cost_benefit'] | None = None,
    copy: Literal['device', 'host'] | None = None,
) -> Choice:
    """A page map on the host's side of a zoned device.

    After dm-zoned 2017; NVMe ZNS 1.1.

    Args:
        reserve_zones: Empty zones that are left when one is opened for the host, at least 1. With 1 a
            program failure, or notes about trims that are due during collection, may leave no room.
            Default 2.
        victim: Which zone is emptied next. Default "greedy".
        copy: Who copies a victim's valid pages. Default "device".
    """

def zns() -> Choice:
    """A zoned drive as its host sees it, without a map.

    After NVMe ZNS 1.1.
    """

def firmware(
    *,
    path: str | None = None,
    options: str | None = None,
) -> Choice:
    """A block firmware of your own in C, in place of an FTL.

    Args:
        path: The shared object; a relative path starts at the experiment's folder. Default "".
        options: A text for the firmware alone, which reads it with `nl_options()`. Default "".
    """
