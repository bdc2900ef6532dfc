"""Made by `python -m nandlab.stubs` from the lists of the compiled module."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from nandlab.listing import Choice

def sequential(
    *,
    requests: int | None = None,
    read_share: float | None = None,
    trim_share: float | None = None,
    flush_every: int | None = None,
    size: int | str | Sequence[Any] | Mapping[str, Any] | None = None,
    footprint: float | str | None = None,
    alignment: int | str | None = None,
    requests_per_s: float | None = None,
) -> Choice:
    """One request after the other.

    Args:
        requests: Requests in all, flushes included. Default 100000.
        read_share: Share of reads among the requests, 0 to 1. Default 0.0.
        trim_share: Share of trims among the requests, 0 to 1; the rest are writes. Default 0.0.
        flush_every: A flush after this many other requests; 0: no flushes. Default 0.
        size: Size of a request: `"4 KiB"`, a choice `[{ size = "4 KiB", weight = 3 }, ...]`, or a range
            `{ min = "4 KiB", max = "64 KiB", step = "4 KiB" }` of equally likely sizes. Default "4
            KiB".
        footprint: Part of the device that is used, from its start: a share up to 1, or bytes such as
            `"64 MiB"`. Default 1.0.
        alignment: Requests start at multiples of this many bytes. Default "4 KiB".
        requests_per_s: Mean arrivals a second, with exponentially distributed gaps; for `host.arrival =
            "recorded"`.
    """

def uniform(
    *,
    requests: int | None = None,
    read_share: float | None = None,
    trim_share: float | None = None,
    flush_every: int | None = None,
    size: int | str | Sequence[Any] | Mapping[str, Any] | None = None,
    footprint: float | str | None = None,
    alignment: int | str | None = None,
    requests_per_s: float | None = None,
) -> Choice:
    """Every address equally often.

    Args:
        requests: Requests in all, flushes included. Default 100000.
        read_share: Share of reads among the requests, 0 to 1. Default 0.0.
        trim_share: Share of trims among the requests, 0 to 1; the rest are writes. Default 0.0.
        flush_every: A flush after this many other requests; 0: no flushes. Default 0.
        size: Size of a request: `"4 KiB"`, a choice `[{ size = "4 KiB", weight = 3 }, ...]`, or a range
            `{ min = "4 KiB", max = "64 KiB", step = "4 KiB" }` of equally likely sizes. Default "4
            KiB".
        footprint: Part of the device that is used, from its start: a share up to 1, or bytes such as
            `"64 MiB"`. Default 1.0.
        alignment: Requests start at multiples of this many bytes. Default "4 KiB".
        requests_per_s: Mean arrivals a second, with exponentially distributed gaps; for `host.arrival =
            "recorded"`.
    """

def zipf(
    *,
    theta: float | None = None,
    scatter: bool | None = None,
    requests: int | None = None,
    read_share: float | None = None,
    trim_share: float | None = None,
    flush_every: int | None = None,
    size: int | str | Sequence[Any] | Mapping[str, Any] | None = None,
    footprint: float | str | None = None,
    alignment: int | str | None = None,
    requests_per_s: float | None = None,
) -> Choice:
    """The k-th most popular address with a frequency proportional to 1 / k^theta.

    Args:
        theta: Exponent of the distribution, 0 (uniform) to 10. Default 0.99.
        scatter: Spread the ranks over the footprint by a fixed permutation, instead of the most popular
            first. Default true.
        requests: Requests in all, flushes included. Default 100000.
        read_share: Share of reads among the requests, 0 to 1. Default 0.0.
        trim_share: Share of trims among the requests, 0 to 1; the rest are writes. Default 0.0.
        flush_every: A flush after this many other requests; 0: no flushes. Default 0.
        size: Size of a request: `"4 KiB"`, a choice `[{ size = "4 KiB", weight = 3 }, ...]`, or a range
            `{ min = "4 KiB", max = "64 KiB", step = "4 KiB" }` of equally likely sizes. Default "4
            KiB".
        footprint: Part of the device that is used, from its start: a share up to 1, or bytes such as
            `"64 MiB"`. Default 1.0.
        alignment: Requests start at multiples of this many bytes. Default "4 KiB".
        requests_per_s: Mean arrivals a second, with exponentially distributed gaps; for `host.arrival =
            "recorded"`.
    """

def hot_cold(
    *,
    hot_share: float | None = None,
    hot_accesses: float | None = None,
    scatter: bool | None = None,
    requests: int | None = None,
    read_share: float | None = None,
    trim_share: float | None = None,
    flush_every: int | None = None,
    size: int | str | Sequence[Any] | Mapping[str, Any] | None = None,
    footprint: float | str | None = None,
    alignment: int | str | None = None,
    requests_per_s: float | None = None,
) -> Choice:
    """A few addresses take most of the accesses.

    Args:
        hot_share: Share of the addresses that is hot, above 0 and below 1. Default 0.2.
        hot_accesses: Share of the accesses that goes to the hot addresses, 0 to 1. Default 0.8.
        scatter: Spread the hot addresses over the footprint by a fixed permutation, instead of its
            first part. Default true.
        requests: Requests in all, flushes included. Default 100000.
        read_share: Share of reads among the requests, 0 to 1. Default 0.0.
        trim_share: Share of trims among the requests, 0 to 1; the rest are writes. Default 0.0.
        flush_every: A flush after this many other requests; 0: no flushes. Default 0.
        size: Size of a request: `"4 KiB"`, a choice `[{ size = "4 KiB", weight = 3 }, ...]`, or a range
            `{ min = "4 KiB", max = "64 KiB", step = "4 KiB" }` of equally likely sizes. Default "4
            KiB".
        footprint: Part of the device that is used, from its start: a share up to 1, or bytes such as
            `"64 MiB"`. Default 1.0.
        alignment: Requests start at multiples of this many bytes. Default "4 KiB".
        requests_per_s: Mean arrivals a second, with exponentially distributed gaps; for `host.arrival =
            "recorded"`.
    """

def trace(
    *,
    path: str,
    format: Literal['auto', 'native', 'csv', 'spc', 'msr', 'fiu', 'blkparse', 'fio', 'mqsim', 'ssdsim', 'disksim', 'flashsim', 'biotracer', 'pixel', 'vscsi', 'alibaba', 'tencent', 'wiscsee', 'columns'] | None = None,
    action: Literal['Q', 'G', 'I', 'D', 'C'] | None = None,
    time_unit: Literal['s', 'ms', 'us', 'ns'] | None = None,
    columns: Mapping[str, Any] | None = None,
    on_error: Literal['stop', 'skip'] | None = None,
    unsorted: Literal['reject', 'raise'] | None = None,
    device: str | None = None,
    side_by_side: bool | None = None,
    addresses: Literal['reject', 'fold', 'compact'] | None = None,
    time_scale: float | None = None,
    longest_gap_s: float | None = None,
    repeat: int | None = None,
    requests: int | None = None,
) -> Choice:
    """Requests that were recorded.

    Args:
        path: The file; a relative path starts at the folder of the experiment.
        format: How the file is written. Default "auto".
        action: Which action of a block trace (`blkparse`, `wiscsee`) is the request.
        time_unit: The unit of times, where it is not that of the format.
        columns: The columns of the format `columns`.
        on_error: What is done with malformed records: `stop` or `skip`. Default "stop".
        unsorted: What is done with times that go back: `reject` or `raise`; as is usual for the format
            unless it is set.
        device: The device whose requests are played, by its name in the file.
        side_by_side: Lays the devices of the trace one behind the other, in the order in which they
            first occur. Default false.
        addresses: What is done with addresses beyond the device: `reject`, `fold` or `compact`. Default
            "reject".
        time_scale: Times are multiplied with this; 0.5 is twice as fast.
        longest_gap_s: Longer pauses between two requests are cut to so many seconds, before times are
            scaled.
        repeat: How often the trace is played. Default 1.
        requests: Only this many requests from the start of the trace, each time it is played.
    """

def inserts(
    *,
    operations: int | None = None,
    order: Literal['random', 'sequential', 'skewed'] | None = None,
    keys: int | None = None,
    theta: float | None = None,
) -> Choice:
    """Records are added, at random, in order, or skewed.

    Args:
        operations: Inserts in all. Default 100000.
        order: The order of keys. Default "random".
        keys: Keys are below this number; `sequential` begins again from 0 there. Default 2147483648.
        theta: Exponent of `skewed`, 0 (uniform) to 10. Default 0.99.
    """

def ycsb(
    *,
    mix: Literal['a', 'b', 'c', 'd', 'e', 'f'] | None = None,
    records: int | None = None,
    operations: int | None = None,
    theta: float | None = None,
    longest_scan: int | None = None,
    key_bits: int | None = None,
) -> Choice:
    """The core workloads A to F of the Yahoo! Cloud Serving Benchmark.

    Args:
        mix: Which of the six mixes. Default "a".
        records: Records inserted before. Default 100000.
        operations: Operations after that. Default 100000.
        theta: Exponent of the frequencies, 0 (uniform) to 10. Default 0.99.
        longest_scan: Most records of a scan. Default 100.
        key_bits: Keys are below 2^key_bits, 1 to 62. Default 31.
    """

def load_update(
    *,
    records: int | None = None,
    updates: int | None = None,
    spacing: int | None = None,
    theta: float | None = None,
) -> Choice:
    """A bulk load in the order of keys, then updates.

    Args:
        records: Records loaded. Default 100000.
        updates: Updates after the load. Default 100000.
        spacing: Distance of two keys. Default 1.
        theta: Exponent of the frequencies of updates, 0 (uniform) to 10. Default 0.0.
    """

def keys(
    *,
    path: str,
    scan_records: int | None = None,
) -> Choice:
    """Operations on keys that were recorded.

    Args:
        path: The file; a relative path starts at the folder of the experiment.
        scan_records: Records that a scan returns. Default 100.
    """
