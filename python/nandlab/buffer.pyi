"""Made by `python -m nandlab.stubs` from the lists of the compiled module."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from nandlab.listing import Choice
from nandlab.policy import Policy

def pass_through() -> Choice:
    """Forwards every request unchanged to the device below."""

def lru(
    *,
    size: int | str | None = None,
    cache_reads: bool | None = None,
) -> Choice:
    """Evicts the least recently used page.

    After Denning 1968.

    Args:
        size: Buffer size; rounded down to whole pages. Default "32 MiB".
        cache_reads: Whether to cache pages on reads. Default true.
    """

def clock(
    *,
    size: int | str | None = None,
    cache_reads: bool | None = None,
    reference_on_insert: bool | None = None,
) -> Choice:
    """Evicts the oldest page not used since the hand passed it.

    After Corbato 1968.

    Args:
        size: Buffer size; rounded down to whole pages. Default "32 MiB".
        cache_reads: Whether to cache pages on reads. Default true.
        reference_on_insert: Whether a new page counts as used. Default false.
    """

def cflru(
    *,
    size: int | str | None = None,
    cache_reads: bool | None = None,
    window: float | None = None,
) -> Choice:
    """Evicts clean pages at the old end of the list before dirty ones.

    After Park et al., CASES 2006.

    Args:
        size: Buffer size; rounded down to whole pages. Default "32 MiB".
        cache_reads: Whether to cache pages on reads. Default true.
        window: Size of the clean-first window, as a share of the buffer, above 0 and up to 1. Default
            0.5.
    """

def s3_fifo(
    *,
    size: int | str | None = None,
    cache_reads: bool | None = None,
    small: float | None = None,
    promote_uses: int | None = None,
    ghosts: float | None = None,
    fill_main: bool | None = None,
) -> Choice:
    """Three queues, for new pages, reused pages, and ghosts.

    After Yang et al., SOSP 2023.

    Args:
        size: Buffer size; rounded down to whole pages. Default "32 MiB".
        cache_reads: Whether to cache pages on reads. Default true.
        small: Size of the small queue, as a share of the buffer, above 0 and below 1. Default 0.1.
        promote_uses: Uses required to move from the small queue to the main queue, 1 to 3. Default 1.
        ghosts: Number of ghosts, as a share of the buffer's pages. Default 0.9.
        fill_main: Whether new pages overflow from the small queue into the main queue until the first
            eviction. Default false.
    """

def sieve(
    *,
    size: int | str | None = None,
    cache_reads: bool | None = None,
) -> Choice:
    """One queue; reused pages keep their place.

    After Zhang et al., NSDI 2024.

    Args:
        size: Buffer size; rounded down to whole pages. Default "32 MiB".
        cache_reads: Whether to cache pages on reads. Default true.
    """

def second_write(
    *,
    size: int | str | None = None,
    cache_reads: bool | None = None,
    period_us: float | None = None,
) -> Choice:
    """Keeps pages that are written again within a period; a page's first write goes to flash.

    After Tavakkol et al., FAST 2018.

    Args:
        size: Buffer size; rounded down to whole pages. Default "32 MiB".
        cache_reads: Whether to cache pages on reads. Default false.
        period_us: Time until the filter is emptied, us; at least 1. A second, as in MQSim. Default
            1000000.0.
    """

def arc(
    *,
    size: int | str | None = None,
    cache_reads: bool | None = None,
) -> Choice:
    """An adaptive balance between recency and frequency.

    After Megiddo and Modha, FAST 2003.

    Args:
        size: Buffer size; rounded down to whole pages. Default "32 MiB".
        cache_reads: Whether to cache pages on reads. Default true.
    """

def fab(
    *,
    size: int | str | None = None,
    cache_reads: bool | None = None,
) -> Choice:
    """Evicts the block with the most pages.

    After Jo et al., TCE 2006.

    Args:
        size: Buffer size; rounded down to whole pages. Default "32 MiB".
        cache_reads: Whether to cache pages on reads. Default true.
    """

def bplru(
    *,
    size: int | str | None = None,
    cache_reads: bool | None = None,
    padding: bool | None = None,
    compensation: bool | None = None,
) -> Choice:
    """Evicts the least recently written block, as a whole block.

    After Kim and Ahn, FAST 2008.

    Args:
        size: Buffer size; rounded down to whole pages. Default "32 MiB".
        cache_reads: Whether to cache pages on reads. Default false.
        padding: Whether to complete a block before it is written, by reading its missing pages from
            below. Default true.
        compensation: Whether a block written wholly and in order becomes the next victim. Default true.
    """

def lb_clock(
    *,
    size: int | str | None = None,
    cache_reads: bool | None = None,
) -> Choice:
    """Evicts the largest block not written recently.

    After Debnath et al., MASCOTS 2009.

    Args:
        size: Buffer size; rounded down to whole pages. Default "32 MiB".
        cache_reads: Whether to cache pages on reads. Default false.
    """

def hybrid_lru(
    *,
    dram: int | str | None = None,
    nvram: int | str | None = None,
    lend_nvram: bool | None = None,
) -> Choice:
    """Clean pages in DRAM, dirty pages in NVRAM, each in LRU order.

    Args:
        dram: DRAM size; rounded down to whole pages. Default "6710886 B".
        nvram: NVRAM size; rounded down to whole pages. Default "26843546 B".
        lend_nvram: Whether clean pages may use spare NVRAM. Default false.
    """

def clock_dnv(
    *,
    dram: int | str | None = None,
    nvram: int | str | None = None,
    prefer: Literal['dirty', 'clean', 'neither'] | None = None,
    rank_by_fill: bool | None = None,
    cache_reads: bool | None = None,
    allocation: Literal['block', 'page'] | None = None,
) -> Choice:
    """A clock of pages in DRAM, backed by a clock of blocks in NVRAM.

    After Kang et al., TCE 2017.

    Args:
        dram: DRAM size; rounded down to whole pages. Default "6710886 B".
        nvram: NVRAM size; rounded down to whole blocks. Default "26843546 B".
        prefer: Pages evicted first from DRAM: `dirty`, `clean` or `neither`. Default "dirty".
        rank_by_fill: Whether NVRAM evicts the block with the most pages (the least recently used of
            several) instead of the hand's choice. Of one paper: wap-lru. Default false.
        cache_reads: Whether to cache pages on reads. Default true.
        allocation: A block's NVRAM space: only its `page`s there, or a whole `block`. Default "page".
    """

def cbm(
    *,
    dram: int | str | None = None,
    nvram: int | str | None = None,
    threshold: int | None = None,
    page_region: float | None = None,
    victim: Literal['least_used', 'fullest', 'oldest'] | None = None,
    merge_clean: bool | None = None,
) -> Choice:
    """Pages and blocks in NVRAM, and a DRAM read cache that completes written blocks.

    After Wei et al., MSST 2014.

    Args:
        dram: DRAM size; rounded down to whole pages. Default "6710886 B".
        nvram: NVRAM size; rounded down to whole pages. Default "26843546 B".
        threshold: Number of pages in the page region at which a block moves to the block region.
            Default 8.
        page_region: The page region's share of NVRAM, from 0 to 1. Default 0.5.
        victim: The next victim: `least_used`, `fullest` or `oldest`. Default "least_used".
        merge_clean: Whether a block's clean pages in DRAM are written with its dirty pages. Default
            true.
    """

def wap_lru(
    *,
    dram: int | str | None = None,
    nvram: int | str | None = None,
    interval: int | None = None,
    thresholds: Literal['financial', 'fiu_online', 'web_vm', 'webmail', 'auto', 'online'] | None = None,
    window: int | None = None,
    t_state: float | None = None,
    t_read: float | None = None,
    t_write: float | None = None,
    fw: Literal['runs', 'switches'] | None = None,
    size_unit: Literal['page', 'sector', 'run'] | None = None,
    flush_when_complete: bool | None = None,
    allocation: Literal['block', 'page'] | None = None,
    padding: bool | None = None,
    padded: Literal['leaving', 'incoming'] | None = None,
    own_block_first: bool | None = None,
) -> Choice:
    """Places requests in DRAM or in NVRAM blocks by write pattern.

    After Kim et al., IEMEK 2018.

    Args:
        dram: DRAM size; rounded down to whole pages. Default "6710886 B".
        nvram: NVRAM size; rounded down to whole blocks. Default "26843546 B".
        interval: Requests per interval. Default 1000.
        thresholds: Source for thresholds not given below. `auto` applies the paper's recipe to the
            whole workload before the run. `online` applies it to the last intervals during the run, as
            far as this reduces flushing. `financial`, `fiu_online`, `web_vm` and `webmail` take Table 4
            of the paper. Default "online".
        window: `online` learns from this many intervals. Default 16.
        t_state: Threshold for a write-intensive interval: mean pages per write run. Default: from
            `thresholds`.
        t_read: Minimum size for reads placed in NVRAM while balanced. Default: from `thresholds`.
        t_write: Minimum size for writes placed in NVRAM while balanced. Default: from `thresholds`.
        fw: Divisor for the pages written in an interval: its write `runs`, or one plus its `switches`
            between reads and writes. Of one paper: wap-lru. Default "runs".
        size_unit: Request size unit: `page`s or `sector`s in the request, or pages in the sequential
            `run` it continues. Of one paper: wap-lru. Default "page".
        flush_when_complete: Whether to flush a block as soon as all its pages are in NVRAM. Of one
            paper: wap-lru. Default false.
        allocation: A block's NVRAM space: the whole `block`, or only its `page`s there. Default
            "block".
        padding: Whether a block leaving NVRAM takes its dirty pages in DRAM along: lines 14 to 18 of
            Algorithm 2. Default true.
        padded: Whose dirty pages in DRAM are written with a block that leaves NVRAM for a page: those
            of this block, or of the page's block. Of one paper: wap-lru. Default "leaving".
        own_block_first: Whether a page without room in NVRAM replaces its own block, if that is there;
            else the least recent one. Of one paper: wap-lru. Default true.
    """

def python(
    *,
    policy: str | Policy | None = None,
    size: int | str | None = None,
    cache_reads: bool | None = None,
) -> Choice:
    """A class in Python says which page leaves.

    Args:
        policy: The class, `module:Class`. Default null.
        size: Buffer size; rounded down to whole pages. Default "32 MiB".
        cache_reads: Whether to cache pages on reads. Default true.
    """
