"""Made by `python -m nandlab.stubs` from the lists of the compiled module."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from nandlab.listing import Choice

def page(
    *,
    victim: Literal['greedy', 'fifo', 'random', 'd_choices', 'windowed_greedy', 'cost_benefit', 'cost_benefit_flash', 'cat'] | None = None,
    choices: int | None = None,
    window: int | None = None,
    placement: Literal['one', 'two', 'origin', 'dac', 'sepbit'] | None = None,
    streams: int | None = None,
    regions: int | None = None,
    wear: Literal['none', 'dynamic', 'threshold', 'bet', 'dual_pool'] | None = None,
    wear_threshold: int | None = None,
    wear_set: int | None = None,
    reserve_blocks: int | None = None,
    valid_pages: Literal['bitmap', 'spare'] | None = None,
    durable_trim: bool | None = None,
) -> Choice:
    """A map entry for every logical page.

    After Gal & Toledo 2005 (survey); Desnoyers 2014.

    Args:
        victim: Which block garbage collection empties next. Default "greedy".
        choices: With `victim = "d_choices"`: blocks that are drawn, at least 1. Default 5.
        window: With `victim = "windowed_greedy"`: the oldest blocks of a die, so many, are compared; at
            least 1. Default 64.
        placement: Which pages are kept in blocks apart. Each kind needs a block of every die that is
            being filled. Default "two".
        streams: With `placement = "origin"`: kinds of pages of the host, 1 to 14. Default 8.
        regions: With `placement = "dac"`: regions of temperature, 2 to 15. Default 6.
        wear: How the wear of blocks is evened out. Default "none".
        wear_threshold: With static wear levelling: the difference in erases that is too much; with
            `wear = "bet"` the erases by set of blocks that was erased. At least 1. Default 20.
        wear_set: With `wear = "bet"`: blocks of a set, at least 1. Default 1.
        reserve_blocks: Blocks of each die that stay free for relocation; at least 1. With 1 a program
            failure or a torn page during relocation may leave no room; 2 is safe. Default 2.
        valid_pages: How garbage collection tells the valid pages of a victim. Default "bitmap".
        durable_trim: Whether a flush makes trims survive a power cut, at the price of a note page for
            each segment of the address space that was trimmed. Without it there are no notes, and a
            mount brings back the newest copy of a trimmed page that is not erased yet: what it held
            last, or before that. Default true.
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
        replacement_blocks: Most replacement blocks in use at once; as many as the free blocks allow
            where that is less. With 0 a page that is written again costs a full merge. Default 8, a
            convention: the patent has no such limit.
        erase_when: When a block that holds nothing any more is erased. Default "on_free".
        reserve_blocks: Blocks of the device that stay free for merges; at least 1. With 1 a program
            failure or a torn page during a merge may leave no room; the default, 2, is safe. Default 2.
        durable_trim: Whether a flush makes trims survive a power cut, at the price of a note page for
            each segment of the address space that was trimmed, and of a block or more for the notes.
            Without it there are no notes, and a mount may bring back what a trimmed page held, as long
            as that is not erased. Default true.
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
        max_chain: Most blocks of a chain, at least 1; a longer one is folded before a block is
            appended. 0: no limit, the default. Default 0.
        erase_when: When a block that holds nothing any more is erased. Default "on_free".
        reserve_blocks: Blocks of the device that stay free for folding; at least 1. With 1 a program
            failure or a torn page during a fold may leave no room; the default, 2, is safe. Default 2.
        durable_trim: Whether a flush makes trims survive a power cut, at the price of a note page for
            each segment of the address space that was trimmed, and of a block or more for the notes.
            Default true.
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
        switch: Whether a simple mirror that holds every page becomes the data block; else it is merged.
            Default true.
        merge_includes_pending: Whether a merge writes the page that triggered it into the merged block;
            else it goes to a new mirror. Default true.
        strict_order: Whether a compound mirror is filled behind its last programmed page only, also on
            chips that program in any order. Default false.
        erase_when: When a block that holds nothing any more is erased. Default "on_free".
        reserve_blocks: Blocks of the device that stay free for merges; at least 1. With 1 a program
            failure or a torn page during a merge may leave no room; the default, 2, is safe. Default 2.
        durable_trim: Whether a flush makes trims survive a power cut, at the price of a note page for
            each segment of the address space that was trimmed, and of a block or more for the notes.
            Default true.
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
        data_pages: Pages of the data area of a block; the others are its spare area. 0: half of them,
            the default, which the B+tree study calls optimal. The study's sectors are pages of 512
            bytes. Default 0.
        whole_requests: Whether the pages of a request are placed together, so that a page of the host
            that takes several is written whole; else each page alone. Default true, the reading that
            fits the B+tree study.
        erase_when: When a block that holds nothing any more is erased. Default "on_free".
        reserve_blocks: Blocks of the device that stay free for merges; at least 1. With 1 a program
            failure or a torn page during a merge may leave no room; the default, 2, is safe. Default 2.
        durable_trim: Whether a flush makes trims survive a power cut, at the price of a note page for
            each segment of the address space that was trimmed, and of a block or more for the notes.
            Default true.
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
        log_blocks: Most log blocks in use at once, at least 1; as many as the free blocks allow where
            that is less. Default 8, a convention: the paper shows what 4 to 64 bring.
        victim: Which log block is reclaimed when all are in use. Default "lru".
        first_write: Where a page goes that was never written. Default "data".
        partial_merge: Whether a log block that holds a prefix in order is completed by copies of the
            other pages; else it is merged in full. Where no other page is mapped it becomes the data
            block as it is, either way. Default true.
        erase_when: When a block that holds nothing any more is erased. Default "on_free".
        reserve_blocks: Blocks of the device that stay free for merges; at least 1. With 1 a program
            failure or a torn page during a merge may leave no room; the default, 2, is safe. Default 2.
        durable_trim: Whether a flush makes trims survive a power cut, at the price of a note page for
            each segment of the address space that was trimmed, and of a block or more for the notes.
            Default true.
    """

def fast(
    *,
    log_blocks: int | None = None,
    sequential_block: bool | None = None,
    sw_rule: Literal['always', 'if_not_in_log', 'never'] | None = None,
    skip_stale: bool | None = None,
    migrate: bool | None = None,
    erase_when: Literal['on_free', 'on_alloc'] | None = None,
    reserve_blocks: int | None = None,
    durable_trim: bool | None = None,
) -> Choice:
    """Fully associative sector translation, log blocks shared by all logical blocks.

    After Lee et al. 2007.

    Args:
        log_blocks: Most random log blocks in use, at least 1; as many as the free blocks allow where
            that is less. Default 8, a convention.
        sequential_block: Whether one log block more takes sequential writes. Default true.
        sw_rule: Which first page of a logical block starts a sequential log block. Default "always".
        skip_stale: Whether a victim's logical blocks are left alone where newer log pages have
            superseded all their pages in it. Default true.
        migrate: Whether a victim that is less than half valid is renewed instead of merged. Default
            false.
        erase_when: When a block that holds nothing any more is erased. Default "on_free".
        reserve_blocks: Blocks of the device that stay free for merges; at least 1. With 1 a program
            failure or a torn page during a merge may leave no room; the default, 2, is safe. Default 2.
        durable_trim: Whether a flush makes trims survive a power cut, at the price of a note page for
            each segment of the address space that was trimmed, and of a block or more for the notes.
            Default true.
    """

def migration(
    *,
    log_blocks: int | None = None,
    recycling: Literal['merge', 'cost', 'limit', 'macro', 'adaptive'] | None = None,
    limit: int | None = None,
    alpha_fit: Literal['least_squares', 'last'] | None = None,
    alpha_window: int | None = None,
    alpha_scope: Literal['block', 'global'] | None = None,
    patience: float | None = None,
    erase_copies: float | None = None,
    map_update: Literal['page', 'oob'] | None = None,
    victim: Literal['lru', 'fifo', 'random', 'fullest'] | None = None,
    first_write: Literal['data', 'log'] | None = None,
    partial_merge: bool | None = None,
    erase_when: Literal['on_free', 'on_alloc'] | None = None,
    reserve_blocks: int | None = None,
    durable_trim: bool | None = None,
    log_recyclings: int | None = None,
    log_recyclings_of: int | None = None,
) -> Choice:
    """Log blocks of one logical block each, merged with their data block or moved.

    After Lee et al. 2007 (KIISE).

    Args:
        log_blocks: Most log blocks in use at once, at least 1; as many as the free blocks allow where
            that is less. Default 8, as in the paper.
        recycling: Whether a full log block is merged or moved. Default "macro".
        limit: With `recycling = "limit"`: most migrations in a row; half the pages of a block, as in
            the paper, unless it is set. Default null.
        alpha_fit: With `recycling = "macro"`: how alpha is found. Default "least_squares".
        alpha_window: With `recycling = "macro"`: how many migrations count for alpha, the last ones; 0,
            the default, for all. Default 0.
        alpha_scope: With `recycling = "macro"`: whose migrations count for alpha. Default "block".
        patience: With `recycling = "adaptive"`: the share of the price of a merge that pages carried
            along unwritten may cost before it is done; above 0. Default 0.5.
        erase_copies: With `recycling = "adaptive"`: what an erase costs, in copies of a page. Default
            1.33, of the paper's MLC chip.
        map_update: Whether a recycling programs a page of the block map. Default page, as in the paper.
        victim: Which log block is merged when all are in use. Default "lru".
        first_write: Where a page goes that was never written. Default log, as in the paper.
        partial_merge: Whether a log block that holds a prefix in order is completed; else it is merged
            in full. Default false.
        erase_when: When a block that holds nothing any more is erased. Default `on_alloc`, as in the
            paper.
        reserve_blocks: Blocks of the device that stay free for merges and migrations; at least 1. With
            1 a program failure or a torn page may leave no room; the default, 2, is safe. Default 2.
        durable_trim: Whether a flush makes trims survive a power cut, at the price of a note page for
            each segment of the address space that was trimmed, and of a block or more for the notes.
            Default true.
        log_recyclings: How many recyclings, the last ones, are kept for the result record. Default 0.
        log_recyclings_of: The logical block whose recyclings are kept; those of all where it is not
            set. Default null.
    """
