"""Rules above the FTL: queue, buffers, index and file system."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from nandlab.explaining.case import MERGES, Case
from nandlab.explaining.change import Change, doubled, part, partial_pages, why_partial
from nandlab.explaining.ftl_rules import collection, merges_of
from nandlab.figures import path
from nandlab.writing import units
from nandlab.writing.sizes import bytes_of

NEAR = 1e-6
"""An exponent as near to 1 is 1."""
TABLES = ("boot", "fat", "root_directory", "directory")
"""Origins in a FAT volume beside file contents."""


def deeper_queue(case: Case) -> Change | None:
    """With more requests outstanding, idle dies get work.

    Share: idle die time, unless one part works more than 90 % of the time and requests wait for it
    Change: as many outstanding requests as dies (or planes, if they work independently), or twice as many
    """
    if case.measure != "time" or "index" in case.experiment or "fs" in case.experiment:
        # An index and a file system wait for each request.
        return None
    if path.bottleneck(case.result):
        # More requests would only queue in front of it.
        return None
    depth, units_ = case.experiment["host"]["queue_depth"], case.units
    if units_ == 1 or not case.is_closed or depth >= 4 * units_:
        return None
    deeper = units_ if depth < units_ else 2 * depth
    return Change(
        "deeper_queue",
        f"the {units_} {case.unit}s had nothing to do in {units.percent(case.idle)} of their time",
        f"{deeper} requests outstanding in place of {depth}",
        "a host that has so many, and latencies",
        case.idle,
        (f"host.queue_depth={deeper}",),
    )


def block_buffer(case: Case) -> Change | None:
    """A buffer with whole-block write-back makes whole blocks from scattered pages.

    Share: as for `log_blocks`
    Change: a write buffer that writes back blocks
    """
    share = case.share(causes=MERGES)
    if case.ftl[0] in ("", "page") or not share or "buffer" in case.experiment:
        return None
    return _buffer(case, "lb_clock", f"{merges_of(case)} took {part(case, share)}", share)


def page_buffer(case: Case) -> Change | None:
    """A buffer completes pages before they are written.

    Share: as for `smaller_pages`
    Change: a write buffer with 1/64 of the device's size
    """
    share = partial_pages(case)
    if not case.ftl[0] or not share or "buffer" in case.experiment:
        return None
    return _buffer(case, "lru", why_partial(case, share), share)


def coalescing_buffer(case: Case) -> Change | None:
    """A buffer keeps pages that are written again soon, and writes them once.

    Share: host requests, collection and `read_modify_write`, by the writes to the most popular 1/64 of
        the device with `zipf` and `hot_cold`
    Change: as for `lru_buffer`
    """
    if not case.ftl[0] or "buffer" in case.experiment:
        return None
    ((name, options),) = case.experiment["workload"].items()
    size = _buffer_bytes(case)
    device = case.result.device
    held = _again(name, options, size, (device.logical_bytes, device.page_bytes))
    share = held * case.share(causes=("host", "gc", "read_modify_write"))
    if not share:
        return None
    return Change(
        "coalescing_buffer",
        f"{units.percent(held)} of the requests go to pages of which {units.size(size)} hold the data",
        f"a write buffer of {units.size(size)} (lru)",
        f"{units.size(size)} of RAM, whose contents go with the power unless they were flushed",
        share,
        (f"buffer={{ lru = {{ size = {size} }} }}",),
    )


def _again(name: str, options: Mapping[str, Any], size: int, capacity: tuple[int, int]) -> float:
    """The share of a skewed workload's requests that are writes to its `size` most popular bytes.

    0 for other workloads. `capacity` is that of the device and of a page, in bytes.
    """
    if name not in ("zipf", "hot_cold"):
        return 0.0
    writes = 1 - options["read_share"] - options["trim_share"]
    footprint = options["footprint"]
    given = bytes_of(footprint) if isinstance(footprint, str) else footprint * capacity[0]
    part_held = min(1.0, size / max(1, given or 0))
    if name == "hot_cold":
        return float(writes * options["hot_accesses"] * min(1.0, part_held / max(1e-9, options["hot_share"])))
    # Popularities as an integral over the pages by rank.
    pages = max(1, int((given or 0) / capacity[1]))
    power = 1 - options["theta"]

    def popular(count: float) -> float:
        return math.log(2 * count + 1) if abs(power) < NEAR else ((count + 0.5) ** power - 0.5**power) / power

    return float(writes * popular(part_held * pages) / popular(pages))


def _buffer_bytes(case: Case) -> int:
    """Small beside the device: a buffer for the whole workload says nothing."""
    device = case.result.device
    return max(64, device.logical_bytes // device.page_bytes // 64) * device.page_bytes


def _buffer(case: Case, name: str, why: str, share: float) -> Change:
    size = _buffer_bytes(case)
    return Change(
        f"{name}_buffer",
        why,
        f"a write buffer of {units.size(size)} ({name})",
        f"{units.size(size)} of RAM, whose contents go with the power unless they were flushed",
        share,
        (f"buffer={{ {name} = {{ size = {size} }} }}",),
    )


def larger_buffer(case: Case) -> Change | None:
    """Buffered requests cost the flash nothing: twice the buffer.

    Share: all flash work below a write buffer
    Change: twice the buffer
    """
    counts = case.result.buffer
    if counts is None or not counts.misses:
        return None
    ((name, options),) = case.experiment["buffer"].items()
    sizes = [key for key in ("size", "dram", "nvram") if options.get(key) is not None]
    if not sizes:
        return None
    missed = counts.misses / (counts.hits + counts.misses)
    # Every request to the flash missed the buffer, or left it for lack of room.
    share = 1.0 - case.idle if case.measure == "time" else 1.0
    larger = {key: doubled(options[key]) for key in sizes}
    words = ", ".join(f"{key} {units.size(size)}" for key, size in larger.items())
    return Change(
        "larger_buffer",
        f"{units.percent(missed)} of the pages asked of the write buffer were not in it, and all that the "
        "flash did follows from those",
        f"a write buffer twice as large ({words})",
        f"{units.size(sum(larger.values()) / 2)} more RAM",
        share,
        tuple(f"buffer.{name}.{key}={size}" for key, size in larger.items()),
    )


def larger_pool(case: Case) -> Change | None:
    """Pages in the index's pool are neither read nor, soon, written: twice the pool.

    Share: index pages missed in its pool or evicted from it, among all its reads and writes
    Change: twice the pool
    """
    figures = case.result.index
    if figures is None or not figures.pool.misses:
        return None
    pool = figures.pool
    missed = pool.misses / (pool.hits + pool.misses)
    pages = figures.page_reads.total + figures.page_writes.total
    forced = min(1.0, (pool.misses + pool.write_backs) / pages) if pages else 0.0
    share = forced * (1.0 - case.idle if case.measure == "time" else 1.0)
    (name,) = case.experiment["index"]
    frames = case.index.get("pool_frames")
    override = (
        f"index.{name}.pool_frames={2 * frames}"
        if frames is not None
        else f"index.{name}.pool_bytes={doubled(case.index['pool_bytes'])}"
    )
    return Change(
        "larger_pool",
        f"{units.percent(missed)} of the pages that the index asked for were not in its pool, which with "
        f"what had to leave it is {units.percent(forced)} of the pages that it read and wrote",
        f"a pool twice as large, {units.size(2 * pool.bytes)}",
        f"{units.size(pool.bytes)} more RAM",
        share,
        (override,),
    )


def index_pages(case: Case) -> Change | None:
    """An index with pages as large as the flash's writes whole ones.

    Share: as for `smaller_pages`
    Change: index pages as large as flash pages
    """
    share = partial_pages(case)
    if not share or not case.index or case.index["page_bytes"] >= case.result.device.page_bytes:
        return None
    page = case.result.device.page_bytes
    (name,) = case.experiment["index"]
    return Change(
        "index_pages",
        why_partial(case, share),
        f"pages of the index as large as those of the flash, {units.size(page)}",
        "fewer pages in the pool",
        share,
        (f"index.{name}.page_bytes={page}",),
    )


def aligned_requests(case: Case) -> Change | None:
    """Requests that begin at page boundaries change whole pages.

    Share: as for `smaller_pages`, if requests of a page or more begin inside pages
    Change: the workload's `alignment`, a page
    """
    share = partial_pages(case)
    ((name, options),) = case.experiment["workload"].items()
    alignment = bytes_of(str(options.get("alignment", "")))
    page = case.result.device.page_bytes
    written = case.result.host.written_sectors * 512 / max(1, case.result.host.writes)
    if not share or alignment is None or alignment >= page or written < page:
        return None
    return Change(
        "aligned_requests",
        f"requests that begin at any {units.size(alignment)} touch parts of pages, which took up to "
        f"{part(case, share)}",
        f"requests that begin at multiples of a page, {units.size(page)}",
        "a host that does so",
        share,
        (f"workload.{name}.alignment={page}",),
    )


def aligned_clusters(case: Case) -> Change | None:
    """Clusters that begin at page boundaries: else n pages of file data are written as n + 1.

    Share: cause `read_modify_write` with origin `file_data`, and one in n + 1 of its host programs, for
        n-page clusters
    Change: `fs.fat.align_data`, a page
    """
    name, options = case.fs
    page = case.result.device.page_bytes
    read = case.share(causes=("read_modify_write",), origins=("file_data",))
    if name != "fat" or not read or options.get("align_data") is not None:
        return None
    pages = max(1, (case.result.fs.volume.unit_bytes if case.result.fs else page) // page)
    share = read + case.share(causes=("host",), origins=("file_data",)) / (pages + 1)
    return Change(
        "aligned_clusters",
        f"clusters that begin inside a page took up to {part(case, share)}",
        f"a volume whose clusters begin with pages of {units.size(page)}",
        "less than a page of the device",
        share,
        (f"fs.fat.align_data={page}",),
    )


def trim_removed_files(case: Case) -> Change | None:
    """Once the FTL knows removed data, garbage collection need not move it.

    Share: as for `over_provisioning`
    Change: `fs.fat.trim = true`
    """
    name, options = case.fs
    share = collection(case)
    if name != "fat" or options["trim"] or not share:
        return None
    return Change(
        "trim_removed_files",
        f"garbage collection took {part(case, share)} more than any design needs",
        "trims of the clusters of removed files",
        "requests for them, and notes on flash",
        share,
        ("fs.fat.trim=true",),
    )


def write_tables_late(case: Case) -> Change | None:
    """FAT and directories reach the flash once an operation.

    Share: origins `boot`, `fat`, `root_directory`, `directory`
    Change: `fs.fat.write_through = "operation"`
    """
    share = case.share(origins=TABLES)
    name, options = case.fs
    if name != "fat" or not share or options["write_through"] == "operation":
        return None
    return Change(
        "write_tables_late",
        f"FAT and directories caused {part(case, share)}",
        "sectors of FAT and directories written at the end of each operation, each once",
        "RAM for what one operation changes",
        share,
        ("fs.fat.write_through=operation",),
    )


def larger_sector_cache(case: Case) -> Change | None:
    """FAT and directories are read from memory: four times the cache.

    Share: as for `write_tables_late`
    Change: four times `fs.fat.cache_bytes`
    """
    share = case.share(origins=TABLES)
    name, options = case.fs
    if name != "fat" or not share:
        return None
    size = 2 * doubled(options["cache_bytes"])
    return Change(
        "larger_sector_cache",
        f"FAT and directories caused {part(case, share)}",
        f"a cache of {units.size(size)} for sectors of FAT and directories",
        f"{units.size(size * 3 // 4)} more RAM",
        share,
        (f"fs.fat.cache_bytes={size}",),
    )


def metadata_in_nvram(case: Case) -> Change | None:
    """With object headers in NVRAM only file contents are in the flash.

    Share: origin `object_header`
    Change: MiNV in place of YAFFS
    """
    share = case.share(origins=("object_header",))
    name, options = case.fs
    if name != "yaffs" or not share:
        return None
    from nandlab.writing.toml_text import toml_value

    return Change(
        "metadata_in_nvram",
        f"object headers caused {part(case, share)}",
        "MiNV, which keeps in NVRAM what object headers hold",
        "NVRAM of 256 bytes a file",
        share,
        (f"fs={{ minv = {{ gc = {toml_value(options['gc'])} }} }}",),
    )


def page_cache(case: Case) -> Change | None:
    """A file system cache gathers a page's parts.

    Share: cause `read_modify_write` under YAFFS
    Change: `fs.yaffs.short_op_cache` of 10, or twice as many
    """
    share = case.share(causes=("read_modify_write",))
    name, options = case.fs
    if name != "yaffs" or not share:
        return None
    pages = max(10, 2 * options["short_op_cache"])
    return Change(
        "page_cache",
        f"reading pages to change a part of them took {part(case, share)}",
        f"a cache of {pages} pages for writes of a part of one",
        f"{units.size(pages * case.result.device.page_bytes)} of RAM, whose contents go with the power",
        share,
        (f"fs.yaffs.short_op_cache={pages}",),
    )


def no_checkpoint(case: Case) -> Change | None:
    """Without a checkpoint nothing is saved, and a mount scans.

    Share: cause `checkpoint`
    Change: `fs.yaffs.checkpoint = false`
    """
    share = case.share(causes=("checkpoint",))
    if case.fs[0] != "yaffs" or not share:
        return None
    return Change(
        "no_checkpoint",
        f"checkpoints took {part(case, share)}",
        "no checkpoint",
        "mounts that read the spare area of every page",
        share,
        ("fs.yaffs.checkpoint=false",),
    )
