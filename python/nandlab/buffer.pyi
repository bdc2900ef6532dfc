"""Made by `python -m nandlab.stubs` from the lists of the compiled module."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from nandlab.listing import Choice

def pass_through() -> Choice:
    """Every request goes to the device below as it came."""

def lru(
    *,
    size: int | str | None = None,
    cache_reads: bool | None = None,
) -> Choice:
    """The page that was not used for the longest time goes.

    After Denning 1968.

    Args:
        size: Size of the buffer; rounded down to whole pages. Default "32 MiB".
        cache_reads: Whether pages that were read come in. Default true.
    """

def clock(
    *,
    size: int | str | None = None,
    cache_reads: bool | None = None,
    reference_on_insert: bool | None = None,
) -> Choice:
    """The oldest page goes that was not used since the hand passed it.

    After Corbato 1968.

    Args:
        size: Size of the buffer; rounded down to whole pages. Default "32 MiB".
        cache_reads: Whether pages that were read come in. Default true.
        reference_on_insert: Whether a page that comes counts as used. Default false.
    """

def cflru(
    *,
    size: int | str | None = None,
    cache_reads: bool | None = None,
    window: float | None = None,
) -> Choice:
    """A clean page at the old end of the list goes before a dirty one.

    After Park et al., CASES 2006.

    Args:
        size: Size of the buffer; rounded down to whole pages. Default "32 MiB".
        cache_reads: Whether pages that were read come in. Default true.
        window: Share of the buffer in which clean pages go first, above 0 and up to 1. Default 0.5.
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
    """Three queues, for new pages, for those that were used again, and for ghosts.

    After Yang et al., SOSP 2023.

    Args:
        size: Size of the buffer; rounded down to whole pages. Default "32 MiB".
        cache_reads: Whether pages that were read come in. Default true.
        small: Share of the buffer that the queue of new pages has, above 0 and below 1. Default 0.1.
        promote_uses: Uses after which a page goes from the small queue to the main one, 1 to 3. Default
            1.
        ghosts: Ghosts, as a share of the pages of the buffer. Default 0.9.
        fill_main: Whether, until the first page goes, what the small queue has no room for comes into
            the main one. Default false.
    """

def sieve(
    *,
    size: int | str | None = None,
    cache_reads: bool | None = None,
) -> Choice:
    """One queue in which what was used again keeps its place.

    After Zhang et al., NSDI 2024.

    Args:
        size: Size of the buffer; rounded down to whole pages. Default "32 MiB".
        cache_reads: Whether pages that were read come in. Default true.
    """

def arc(
    *,
    size: int | str | None = None,
    cache_reads: bool | None = None,
) -> Choice:
    """Recency and frequency in a balance that adapts.

    After Megiddo and Modha, FAST 2003.

    Args:
        size: Size of the buffer; rounded down to whole pages. Default "32 MiB".
        cache_reads: Whether pages that were read come in. Default true.
    """

def fab(
    *,
    size: int | str | None = None,
    cache_reads: bool | None = None,
) -> Choice:
    """The block with the most pages goes.

    After Jo et al., TCE 2006.

    Args:
        size: Size of the buffer; rounded down to whole pages. Default "32 MiB".
        cache_reads: Whether pages that were read come in. Default true.
    """

def bplru(
    *,
    size: int | str | None = None,
    cache_reads: bool | None = None,
    padding: bool | None = None,
    compensation: bool | None = None,
) -> Choice:
    """The least recently written block goes, as a whole block.

    After Kim and Ahn, FAST 2008.

    Args:
        size: Size of the buffer; rounded down to whole pages. Default "32 MiB".
        cache_reads: Whether pages that were read come in. Default false.
        padding: Whether a block is made whole before it is written: what is not here is read from
            below. Default true.
        compensation: Whether a block that was written wholly and in order goes next. Default true.
    """

def lb_clock(
    *,
    size: int | str | None = None,
    cache_reads: bool | None = None,
) -> Choice:
    """Of the blocks that were not written of late, the one with the most pages goes.

    After Debnath et al., MASCOTS 2009.

    Args:
        size: Size of the buffer; rounded down to whole pages. Default "32 MiB".
        cache_reads: Whether pages that were read come in. Default false.
    """

def hybrid_lru(
    *,
    dram: int | str | None = None,
    nvram: int | str | None = None,
    lend_nvram: bool | None = None,
) -> Choice:
    """Clean pages in DRAM, dirty ones in NVRAM, each by their last use.

    Args:
        dram: Size of the DRAM; rounded down to whole pages. Default "6710886 B".
        nvram: Size of the NVRAM; rounded down to whole pages. Default "26843546 B".
        lend_nvram: Whether clean pages stand in NVRAM that is not used otherwise. Default false.
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
    """A clock of pages in DRAM, a clock of blocks in NVRAM behind it.

    After Kang et al., TCE 2017.

    Args:
        dram: Size of the DRAM; rounded down to whole pages. Default "6710886 B".
        nvram: Size of the NVRAM; rounded down to whole blocks. Default "26843546 B".
        prefer: Which pages leave DRAM first: `dirty`, `clean` or `neither`. Default "dirty".
        rank_by_fill: Whether the block with the most pages leaves NVRAM, the least recent of several,
            and not the one that the hand finds. Default false.
        cache_reads: Whether pages that were read come in. Default true.
        allocation: What a block takes of NVRAM: room for its `page`s there, or for the whole `block`.
            Default "page".
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
    """Pages and blocks in NVRAM, and a read cache in DRAM whose pages complete a block that is written.

    After Wei et al., MSST 2014.

    Args:
        dram: Size of the DRAM; rounded down to whole pages. Default "6710886 B".
        nvram: Size of the NVRAM; rounded down to whole pages. Default "26843546 B".
        threshold: Pages of a block in the page region with which it moves to the block region. Default
            8.
        page_region: Share of the NVRAM that the page region has, from 0 to 1. Default 0.5.
        victim: Which block goes: `least_used`, `fullest` or `oldest`. Default "least_used".
        merge_clean: Whether clean pages in DRAM are written with the dirty ones of their block. Default
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
) -> Choice:
    """Requests go to DRAM or to blocks in NVRAM by the pattern of writes.

    After Kim et al., IEMEK 2018.

    Args:
        dram: Size of the DRAM; rounded down to whole pages. Default "6710886 B".
        nvram: Size of the NVRAM; rounded down to whole blocks. Default "26843546 B".
        interval: Requests of an interval. Default 1000.
        thresholds: Where thresholds come from that are not given: the paper's recipe over the whole
            workload before the run (`auto`), or over its last intervals while it runs (`online`), as
            far as that lowers what is flushed; or Table 4 of the paper (`financial`, `fiu_online`,
            `web_vm`, `webmail`). Default "online".
        window: Intervals from which `online` learns. Default 16.
        t_state: Pages written in a row, on the mean, from which an interval is write-intensive; that of
            `thresholds` where it is not given.
        t_read: Size from which reads go to NVRAM while balanced; that of `thresholds` where it is not
            given.
        t_write: Size from which writes go to NVRAM while balanced; that of `thresholds` where it is not
            given.
        fw: What the pages written are divided by: the `runs` of writes of the interval, or 1 and its
            `switches` between reads and writes. Default "runs".
        size_unit: What sizes are counted in: `page`s or `sector`s of a request, or pages of the
            sequential `run` that it continues. Default "page".
        flush_when_complete: Whether a block all pages of which are in NVRAM is flushed at once. Default
            false.
        allocation: What a block takes of NVRAM: room for the whole `block`, or for its `page`s there.
            Default "block".
        padding: Whether a block that leaves NVRAM takes the dirty pages of the same block in DRAM with
            it: lines 14 to 18 of Algorithm 2. Default true.
    """
