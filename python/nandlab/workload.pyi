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
    flush_at_end: bool | None = None,
    size: int | str | Sequence[Any] | Mapping[str, Any] | None = None,
    footprint: float | str | None = None,
    alignment: int | str | None = None,
    requests_per_s: float | None = None,
    placement: int | str | None = None,
) -> Choice:
    """One request after the other.

    Args:
        requests: Requests in all, flushes included. Default 100000.
        read_share: Share of reads among the requests, 0 to 1. Default 0.0.
        trim_share: Share of trims among the requests, 0 to 1; the rest are writes. Default 0.0.
        flush_every: A flush after this many other requests; 0: no flushes. Default 0.
        flush_at_end: The last request is a flush, so that the time of a run has the programs of what
            buffers answered before. Default false.
        size: Size of a request: `"4 KiB"`, a choice `[{ size = "4 KiB", weight = 3 }, ...]`, or a range
            `{ min = "4 KiB", max = "64 KiB", step = "4 KiB" }` of equally likely sizes. Default "4
            KiB".
        footprint: Part of the device that is used, from its start: a share up to 1, or bytes such as
            `"64 MiB"`. Default 1.0.
        alignment: Requests start at multiples of this many bytes. Default "4 KiB".
        requests_per_s: Mean arrivals a second, with exponentially distributed gaps; for `host.arrival =
            "recorded"`.
        placement: Where the host asks writes to go: a reclaim unit handle such as 5, or a reclaim group
            and a handle such as `"1:5"`.
    """

def uniform(
    *,
    requests: int | None = None,
    read_share: float | None = None,
    trim_share: float | None = None,
    flush_every: int | None = None,
    flush_at_end: bool | None = None,
    size: int | str | Sequence[Any] | Mapping[str, Any] | None = None,
    footprint: float | str | None = None,
    alignment: int | str | None = None,
    requests_per_s: float | None = None,
    placement: int | str | None = None,
) -> Choice:
    """Every address equally often.

    Args:
        requests: Requests in all, flushes included. Default 100000.
        read_share: Share of reads among the requests, 0 to 1. Default 0.0.
        trim_share: Share of trims among the requests, 0 to 1; the rest are writes. Default 0.0.
        flush_every: A flush after this many other requests; 0: no flushes. Default 0.
        flush_at_end: The last request is a flush, so that the time of a run has the programs of what
            buffers answered before. Default false.
        size: Size of a request: `"4 KiB"`, a choice `[{ size = "4 KiB", weight = 3 }, ...]`, or a range
            `{ min = "4 KiB", max = "64 KiB", step = "4 KiB" }` of equally likely sizes. Default "4
            KiB".
        footprint: Part of the device that is used, from its start: a share up to 1, or bytes such as
            `"64 MiB"`. Default 1.0.
        alignment: Requests start at multiples of this many bytes. Default "4 KiB".
        requests_per_s: Mean arrivals a second, with exponentially distributed gaps; for `host.arrival =
            "recorded"`.
        placement: Where the host asks writes to go: a reclaim unit handle such as 5, or a reclaim group
            and a handle such as `"1:5"`.
    """

def zipf(
    *,
    theta: float | None = None,
    scatter: bool | None = None,
    requests: int | None = None,
    read_share: float | None = None,
    trim_share: float | None = None,
    flush_every: int | None = None,
    flush_at_end: bool | None = None,
    size: int | str | Sequence[Any] | Mapping[str, Any] | None = None,
    footprint: float | str | None = None,
    alignment: int | str | None = None,
    requests_per_s: float | None = None,
    placement: int | str | None = None,
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
        flush_at_end: The last request is a flush, so that the time of a run has the programs of what
            buffers answered before. Default false.
        size: Size of a request: `"4 KiB"`, a choice `[{ size = "4 KiB", weight = 3 }, ...]`, or a range
            `{ min = "4 KiB", max = "64 KiB", step = "4 KiB" }` of equally likely sizes. Default "4
            KiB".
        footprint: Part of the device that is used, from its start: a share up to 1, or bytes such as
            `"64 MiB"`. Default 1.0.
        alignment: Requests start at multiples of this many bytes. Default "4 KiB".
        requests_per_s: Mean arrivals a second, with exponentially distributed gaps; for `host.arrival =
            "recorded"`.
        placement: Where the host asks writes to go: a reclaim unit handle such as 5, or a reclaim group
            and a handle such as `"1:5"`.
    """

def hot_cold(
    *,
    hot_share: float | None = None,
    hot_accesses: float | None = None,
    scatter: bool | None = None,
    hot_placement: int | str | None = None,
    requests: int | None = None,
    read_share: float | None = None,
    trim_share: float | None = None,
    flush_every: int | None = None,
    flush_at_end: bool | None = None,
    size: int | str | Sequence[Any] | Mapping[str, Any] | None = None,
    footprint: float | str | None = None,
    alignment: int | str | None = None,
    requests_per_s: float | None = None,
    placement: int | str | None = None,
) -> Choice:
    """A few addresses take most of the accesses.

    Args:
        hot_share: Share of the addresses that is hot, above 0 and below 1. Default 0.2.
        hot_accesses: Share of the accesses that goes to the hot addresses, 0 to 1. Default 0.8.
        scatter: Spread the hot addresses over the footprint by a fixed permutation, instead of its
            first part. Default true.
        hot_placement: Where the host asks writes to hot addresses to go, if not to `placement`: a
            handle such as 5, or group and handle such as `"1:5"`.
        requests: Requests in all, flushes included. Default 100000.
        read_share: Share of reads among the requests, 0 to 1. Default 0.0.
        trim_share: Share of trims among the requests, 0 to 1; the rest are writes. Default 0.0.
        flush_every: A flush after this many other requests; 0: no flushes. Default 0.
        flush_at_end: The last request is a flush, so that the time of a run has the programs of what
            buffers answered before. Default false.
        size: Size of a request: `"4 KiB"`, a choice `[{ size = "4 KiB", weight = 3 }, ...]`, or a range
            `{ min = "4 KiB", max = "64 KiB", step = "4 KiB" }` of equally likely sizes. Default "4
            KiB".
        footprint: Part of the device that is used, from its start: a share up to 1, or bytes such as
            `"64 MiB"`. Default 1.0.
        alignment: Requests start at multiples of this many bytes. Default "4 KiB".
        requests_per_s: Mean arrivals a second, with exponentially distributed gaps; for `host.arrival =
            "recorded"`.
        placement: Where the host asks writes to go: a reclaim unit handle such as 5, or a reclaim group
            and a handle such as `"1:5"`.
    """

def cachelib(
    *,
    requests: int | None = None,
    footprint: float | str | None = None,
    soc_share: float | None = None,
    small_share: float | None = None,
    bucket: int | str | None = None,
    bucket_reads: bool | None = None,
    keys: int | None = None,
    theta: float | None = None,
    segment: int | str | None = None,
    large_size: int | str | Sequence[Any] | Mapping[str, Any] | None = None,
    trim: bool | None = None,
    placement: bool | None = None,
    soc_handle: int | str | None = None,
    loc_handle: int | str | None = None,
    requests_per_s: float | None = None,
) -> Choice:
    """What a flash cache with small and large objects writes to its drive.

    Args:
        requests: Requests in all: writes, reads of buckets and trims. Default 100000.
        footprint: Part of the device that the cache uses, from its start: a share up to 1, or bytes
            such as `"64 MiB"`. Default 1.0.
        soc_share: Part of the footprint for small objects, from its start; above 0 and below 1. Default
            0.04.
        small_share: Share of the bytes written that small objects cause, as whole buckets; 0 to 1. The
            default is about that of replays of CacheLib's key-value traces. Default 0.77.
        bucket: Size of a bucket of small objects, in whole sectors. Default "4 KiB".
        bucket_reads: Read a bucket before it is written, as an insert does. Default true.
        keys: Different keys of small objects. Default 100000000.
        theta: Exponent of the keys' popularity among inserts, 0 (all equal) to 10. Default 0.0.
        segment: Size of a region of large objects, in whole sectors. Default "16 MiB".
        large_size: Size of a large object, at most a region: as `size` of other workloads. Default
            {"min": "16 KiB", "max": "256 KiB"}.
        trim: Trim a region before it is filled again. Default false.
        placement: Writes carry the placement identifiers `soc_handle` and `loc_handle`. Default true.
        soc_handle: Where small objects go: a handle such as 5, or group and handle such as `"1:5"`.
            Default 1.
        loc_handle: Where large objects go. Default 2.
        requests_per_s: Mean arrivals a second, with exponentially distributed gaps; for `host.arrival =
            "recorded"`.
    """

def fio(
    *,
    path: str | None = None,
    text: str | None = None,
    variables: Mapping[str, Any] | None = None,
) -> Choice:
    """Several jobs at once, each in a closed loop of its own, as a job file of fio describes them.

    Args:
        path: The job file; a relative path starts at the folder of the experiment.
        text: The lines of a job file, in place of a path.
        variables: Values of the variables `${NAME}` of the job file; what is missing comes from the
            environment.
    """

def tenants(
    *,
    tenant: Sequence[Mapping[str, Any]],
    until: Literal['first', 'last'] | None = None,
    alone: str | None = None,
) -> Choice:
    """Several owners of submission queues, each with a workload of its own, on one device.

    Args:
        tenant: The tenants, each with a name, a workload, and the queues' priority, number and depth.
        until: The tenant whose last request ends the run: the `"first"` one that is done, so that all
            compete as long as it lasts, or the `"last"`. Default "first".
        alone: The tenant that runs alone, by its name; the others ask for nothing.
    """

def trace(
    *,
    path: str | None = None,
    text: str | None = None,
    format: Literal['auto', 'native', 'csv', 'spc', 'msr', 'fiu', 'blkparse', 'fio', 'mqsim', 'ssdsim', 'disksim', 'flashsim', 'biotracer', 'pixel', 'vscsi', 'alibaba', 'tencent', 'wiscsee', 'columns', 'vscsi2', 'ftrace', 'qemu', 'etw', 'nbdkit'] | None = None,
    action: Literal['Q', 'G', 'I', 'D', 'C'] | None = None,
    time_unit: Literal['s', 'ms', 'us', 'ns', 'date_time'] | None = None,
    columns: Mapping[str, Any] | None = None,
    on_error: Literal['stop', 'skip'] | None = None,
    unsorted: Literal['reject', 'raise'] | None = None,
    clock_jumps: Literal['mend', 'keep'] | None = None,
    device: str | None = None,
    member: str | None = None,
    side_by_side: bool | None = None,
    addresses: Literal['reject', 'fold', 'compact'] | None = None,
    time_scale: float | None = None,
    longest_gap_s: float | None = None,
    repeat: int | None = None,
    requests: int | None = None,
) -> Choice:
    """Requests that were recorded.

    Args:
        path: The file; a relative path starts at the folder of the experiment. `bundled:sqlite-
            rollback` and `bundled:sqlite-wal` are the traces of workloads/sqlite, which come with the
            program.
        text: The trace's lines, in place of a file.
        format: How the file is written. Default "auto".
        action: Which action of a block trace (`blkparse`, `ftrace`, `wiscsee`) is the request.
        time_unit: The unit of times, where it is not that of the format.
        columns: The columns of the format `columns`.
        columns.time: The time; without it all are 0.
        columns.op: Read, write, trim or flush.
        columns.address: Where the request starts.
        columns.size: How long it is; without it every request has `fixed_size_bytes`.
        columns.fixed_size_bytes: Bytes of every read, write and trim, where no column has the size.
        columns.device: The device: a column, or a list of columns such as the host and its disk.
        columns.placement: Where the host asks a write to go: a handle such as `5`, or a group and a
            handle such as `1:5`.
        columns.separator: What stands between two columns. Default "comma".
        columns.header: Whether the first line names the columns; it does where one of them is given by
            its name. Default false.
        columns.skip_lines: Lines at the start of the file that are passed over, such as a title above
            the names. Default 0.
        columns.address_unit_bytes: Bytes of a unit of the address. Default 512.
        columns.size_unit_bytes: Bytes of a unit of the size. Default 512.
        columns.read: What a read is called. Default ["R", "r", "read", "Read", "READ"].
        columns.write: What a write is called. Default ["W", "w", "write", "Write", "WRITE"].
        columns.trim: What a trim is called. Default ["T", "D", "trim", "discard", "unmap"].
        columns.flush: What a flush is called. Default ["F", "flush", "sync"].
        on_error: What is done with malformed records: `stop` or `skip`. Default "stop".
        unsorted: What is done with times that go back: `reject` or `raise`; as is usual for the format
            unless it is set.
        clock_jumps: What is done where the clock was set: `mend` or `keep`; logs of real systems are
            mended unless this or `unsorted` is set, inputs of simulators and the project's own formats
            are kept.
        device: The device whose requests are played, by its name in the file; a number needs no quotes.
        member: The file of a tar archive of several that is the trace, by its name in the archive.
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
    puts: bool | None = None,
) -> Choice:
    """A bulk load in the order of keys, then updates.

    Args:
        records: Records loaded. Default 100000.
        updates: Updates after the load. Default 100000.
        spacing: Distance of two keys. Default 1.
        theta: Exponent of the frequencies of updates, 0 (uniform) to 10. Default 0.0.
        puts: Whether updates are puts, which do not look first whether the key is there: db_bench's
            overwrite. An LSM tree then reads nothing for them. Default false.
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

def postmark(
    *,
    size_low: int | str | None = None,
    size_high: int | str | None = None,
    number: int | None = None,
    transactions: int | None = None,
    seed: int | None = None,
    subdirectories: int | None = None,
    read_block: int | str | None = None,
    write_block: int | str | None = None,
    bias_read: int | None = None,
    bias_create: int | None = None,
    buffered: bool | None = None,
) -> Choice:
    """Small files as a mail server has them, created, read, appended to and deleted.

    Args:
        size_low: The smallest new file. Default "500 B".
        size_high: New files are shorter than this, unless it is `size_low`; longer files are not
            appended to. Default "10000 B".
        number: Files created before the transactions. Default 500.
        transactions: Transactions. Default 500.
        seed: Seed of PostMark's own generator, 1 to 2147483647; the experiment's seed changes nothing.
            Default 42.
        subdirectories: Directories that the files are spread over; 0 and 1: none. Default 0.
        read_block: Bytes that a call reads. Default "512 B".
        write_block: Bytes that a call writes. Default "512 B".
        bias_read: Of 10 transactions so many read and the others append; -1: neither. Default 5.
        bias_create: Of 10 transactions so many create a file and the others delete one; -1: neither.
            Default 5.
        buffered: Reads and writes go through the C library, which gathers short blocks. Default true.
    """

def directories(
    *,
    transactions: int | None = None,
    files: int | None = None,
    file_bytes: int | str | None = None,
    write_bytes: int | str | None = None,
) -> Choice:
    """A directory is made and filled, then emptied and removed.

    Args:
        transactions: Transactions. Default 2000.
        files: Files of a directory. Default 50.
        file_bytes: Bytes of a file. Default "512 B".
        write_bytes: Most bytes of a write; of a larger file each write but the last has so many.
            Default "4 KiB".
    """

def large_files(
    *,
    transactions: int | None = None,
    file_bytes: int | str | None = None,
    write_bytes: int | str | None = None,
) -> Choice:
    """A large file is created and written from start to end, then deleted.

    Args:
        transactions: Transactions. Default 200.
        file_bytes: Bytes of a file. Default "1 MiB".
        write_bytes: Bytes of a write; the last one of a file may have fewer. Default "4 KiB".
    """

def phone(
    *,
    transactions: int | None = None,
    call_records: int | None = None,
    call_bytes: int | None = None,
    received: int | None = None,
    dialled: int | None = None,
    missed: int | None = None,
    sms_received: int | None = None,
    sms_sent: int | None = None,
    sms_bytes: int | None = None,
    shuffled: bool | None = None,
    organizer: bool | None = None,
    appointments: int | None = None,
    appointments_a_day: int | None = None,
    addresses: int | None = None,
    shortest_entry: int | None = None,
    longest_entry: int | None = None,
) -> Choice:
    """Lists of calls and messages of simulated days.

    Args:
        transactions: Days. Default 2500.
        call_records: Records of each of the three lists of calls. Default 20.
        call_bytes: Bytes of a call's record. Default 15.
        received: Calls received a day. Default 10.
        dialled: Calls dialled a day. Default 10.
        missed: Calls missed a day. Default 5.
        sms_received: Messages received a day. Default 3.
        sms_sent: Messages sent a day. Default 3.
        sms_bytes: Bytes of a message's record. Default 512.
        shuffled: The operations of a day come in random order; otherwise in that of this table. Default
            true.
        organizer: Appointments and an address book, too. Default false.
        appointments: Appointments at the start. Default 150.
        appointments_a_day: Appointments added a day; as many of the oldest are deleted. Default 5.
        addresses: Entries of the address book. Default 50.
        shortest_entry: Bytes of the shortest appointment or address. Default 16.
        longest_entry: Bytes of the longest appointment or address. Default 64.
    """

def fax(
    *,
    transactions: int | None = None,
    pages: int | None = None,
    page_bytes: int | str | None = None,
    write_bytes: int | str | None = None,
    backlog: int | None = None,
    read_on_delivery: bool | None = None,
    history: int | None = None,
    history_bytes: int | None = None,
    phone_book: int | None = None,
    phone_bytes: int | None = None,
    parameters: int | None = None,
    shortest_parameter: int | None = None,
    longest_parameter: int | None = None,
) -> Choice:
    """Faxes arrive page by page, wait, and go when they are delivered.

    Args:
        transactions: Faxes that arrive. Default 1000.
        pages: Pages of a fax. Default 4.
        page_bytes: Bytes of a page. Default "51300 B".
        write_bytes: Bytes of a write to a page; the last one may have fewer. Default "1 KiB".
        backlog: Faxes that wait; when one more arrives, the oldest is delivered. Default 8.
        read_on_delivery: A fax is read, in pieces of `write_bytes`, before it is deleted. Default
            false.
        history: Records of each history. Default 200.
        history_bytes: Bytes of a history's record. Default 32.
        phone_book: Entries of the phone book. Default 50.
        phone_bytes: Bytes of an entry of the phone book. Default 32.
        parameters: Records of the parameter file. Default 30.
        shortest_parameter: Bytes of the shortest parameter. Default 4.
        longest_parameter: Bytes of the longest parameter. Default 32.
    """

def event_recorder(
    *,
    transactions: int | None = None,
    events: int | None = None,
    event_bytes: int | None = None,
    records: int | None = None,
    second_every: int | None = None,
    second_records: int | None = None,
    parameters: int | None = None,
    shortest_parameter: int | None = None,
    longest_parameter: int | None = None,
) -> Choice:
    """Events are logged, and now and then a setting is changed.

    Args:
        transactions: Rounds of events and a change of the configuration. Default 2000.
        events: Events of a round. Default 10.
        event_bytes: Bytes of an event's record. Default 32.
        records: Records of the first file. Default 4096.
        second_every: Of so many events one goes to the second file, too. Default 10.
        second_records: Records of the second file. Default 1024.
        parameters: Records of the configuration file. Default 30.
        shortest_parameter: Bytes of the shortest configuration record. Default 4.
        longest_parameter: Bytes of the longest configuration record. Default 32.
    """

def camera(
    *,
    transactions: int | None = None,
    shots: int | None = None,
    shortest_photo: int | str | None = None,
    longest_photo: int | str | None = None,
    write_bytes: int | str | None = None,
    review: bool | None = None,
    deleted_share: float | None = None,
    sessions_to_copy: int | None = None,
) -> Choice:
    """Photographs are taken, reviewed, in part deleted, and copied off the card.

    Args:
        transactions: Sessions. Default 20.
        shots: Photographs of a session. Default 30.
        shortest_photo: Bytes of the smallest photograph. Default "600 KiB".
        longest_photo: Bytes of the largest photograph. Default "1200 KiB".
        write_bytes: Bytes of a write or a read; the last one of a photograph may have fewer. Default
            "32 KiB".
        review: The photographs of a session are read at its end. Default true.
        deleted_share: Probability that a photograph is deleted at the end of its session, 0 to 1.
            Default 0.2.
        sessions_to_copy: Sessions after which all photographs are copied off the card and deleted.
            Default 2.
    """

def files(
    *,
    path: str,
) -> Choice:
    """Operations on files that were recorded, or written by hand.

    Args:
        path: The file; a relative path starts at the folder of the experiment.
    """
