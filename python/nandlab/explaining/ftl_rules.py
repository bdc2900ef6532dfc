"""Rules for the FTL and the device below it."""

from __future__ import annotations

import math

from nandlab.explaining.case import MERGES, Case
from nandlab.explaining.change import Change, part, partial_pages, why_partial
from nandlab.writing import units

LOG_BLOCKS = ("log_blocks", "replacement_blocks")
"""Option names for a number of log blocks."""


def more_over_provisioning(case: Case) -> Change | None:
    """With more blocks, victims hold fewer valid pages: twice the spare blocks.

    Share: cause `gc`, without the erases that any design needs for the pages written
    Change: twice the over-provisioning
    """
    share = collection(case)
    if not case.ftl[0] or not share:
        return None
    override, size = _over_provisioning(case, 2.0)
    before = case.result.device.over_provisioning
    sets = [override]
    placement, pools = case.choice("placement")
    if placement == "pools":
        # Each pool gets its share; one block in it is being filled.
        more = (1 + 2 * before) / (1 + before)
        sets.append(f"ftl.page.placement.pools.blocks={1 + round((pools['blocks'] - 1) * more)}")
    return Change(
        "over_provisioning",
        f"garbage collection took {part(case, share)} more than any design needs",
        f"over-provisioning from {units.percent(before)} to {units.percent(2 * before)}",
        f"{size} more flash",
        share,
        tuple(sets),
    )


def larger_file_system(case: Case) -> Change | None:
    """On bare flash the file system collects: a quarter more blocks.

    Share: as for `over_provisioning`, for a file system on bare flash
    Change: a quarter more flash
    """
    share = collection(case)
    if case.ftl[0] or not share:
        return None
    device = case.result.device
    table = case.experiment["device"]
    more = math.ceil(device.physical_bytes * 1.25)
    if table.get("capacity") is not None:
        override = f"device.capacity={more}"
    else:
        override = f"device.shape.blocks_per_plane={math.ceil(table['shape']['blocks_per_plane'] * 1.25)}"
    return Change(
        "larger_flash",
        f"garbage collection took {part(case, share)} more than any design needs",
        f"flash of {units.size(more)} in place of {units.size(device.physical_bytes)}",
        f"{units.size(more - device.physical_bytes)} more flash",
        share,
        (override,),
    )


def collection(case: Case) -> float:
    """Garbage collection's share, without the erases every design needs for the written pages."""
    share = case.share(causes=("gc",))
    written = sum(cell.programs for cell in case.result.matrix if cell.cause != "gc")
    needed = min(case.result.flash.erases, written / case.result.device.pages_per_block)
    if not needed:
        return share
    if case.measure == "erases":
        return max(0.0, share - needed / case.result.flash.erases)
    erase_us = case.experiment["device"]["timing"]["erase_us"]
    return max(0.0, share - needed * erase_us / case.result.busy_us * (1 - case.idle))


def _over_provisioning(case: Case, factor: float) -> tuple[str, str]:
    """More blocks for the FTL: the override, and the added flash size."""
    device = case.result.device
    more = device.over_provisioning * factor
    size = units.size((more - device.over_provisioning) * device.logical_bytes)
    if case.experiment["device"].get("blocks_per_plane") is not None:
        per_plane = (
            case.experiment["device"]["blocks_per_plane"] * (1 + more) / (1 + device.over_provisioning)
        )
        return f"device.blocks_per_plane={math.ceil(per_plane)}", size
    asked = case.experiment["device"]["over_provisioning"]
    return f"device.over_provisioning={round(asked * factor, 4)}", size


def valid_pages_in_memory(case: Case) -> Change | None:
    """A bitmap tells a victim's valid pages, in place of its spare areas.

    Share: spare-area reads in collections
    Change: `ftl.page.valid_pages = "bitmap"`
    """
    if case.ftl[1].get("valid_pages") != "spare" or case.measure == "erases":
        return None
    reads = sum(cell.spare_reads for cell in case.result.matrix if cell.cause == "gc")
    took = reads * case.experiment["device"]["timing"]["read_us"] / case.result.busy_us
    share = took * (1 - case.idle)
    bitmap = case.result.device.physical_bytes // case.result.device.page_bytes // 8
    return Change(
        "valid_bitmap",
        f"reading the spare areas of victims took {part(case, share)}",
        "a bitmap of the valid pages in memory",
        f"{units.size(bitmap)} of RAM",
        share,
        ("ftl.page.valid_pages=bitmap",),
    )


def more_log_blocks(case: Case) -> Change | None:
    """With twice the log blocks, each takes more writes before its merge.

    Share: causes `switch_merge`, `partial_merge`, `full_merge`, `migration`
    Change: twice as many log or replacement blocks, and the over-provisioning for them
    """
    name, options = case.ftl
    share = case.share(causes=MERGES)
    key = next((key for key in LOG_BLOCKS if key in options), None)
    if key is None or not share:
        return None
    now = max(1, options[key])
    override = f"ftl.{name}.{key}={2 * now}"
    sets = [override]
    words = f"{2 * now} {key.replace('_', ' ')} in place of {options[key]}"
    device = case.result.device
    block_bytes = device.pages_per_block * device.page_bytes
    logical = math.ceil(device.logical_bytes / block_bytes)
    # Other blocks such FTLs keep free: their reserve, a block in work, blocks for notes and the map.
    needed = 2 * now + options.get("reserve_blocks", 2) + 5
    price = "a little RAM"
    if device.blocks - logical < needed:
        more = round((needed + logical) / logical - 1, 4)
        sets.append(f"device.over_provisioning={more}")
        price = f"{units.size((logical + needed - device.blocks) * block_bytes)} more flash"
        words += f", and over-provisioning of {units.percent(more)} for them"
        if case.experiment["device"].get("blocks_per_plane") is not None:
            return None
    return Change(
        "log_blocks", f"{merges_of(case)} took {part(case, share)}", words, price, share, tuple(sets)
    )


def page_map(case: Case) -> Change | None:
    """With a map entry for every page nothing is merged.

    Share: as for `log_blocks`
    Change: the page map
    """
    share = case.share(causes=MERGES)
    if case.ftl[0] in ("", "page") or not share:
        return None
    pages = case.result.device.logical_bytes // case.result.device.page_bytes
    return Change(
        "page_map",
        f"{merges_of(case)} took {part(case, share)}",
        f"the page map in place of {case.ftl[0]}",
        f"about {units.size(4 * pages)} of RAM for the map",
        share,
        ("ftl={ page = {} }",),
    )


def collect_on_all_dies(case: Case) -> Change | None:
    """The page map moves a few pages with each write; others empty whole blocks, and dies wait meanwhile.

    Share: idle die time of an FTL other than the page map, if as many requests as dies are outstanding
        and garbage is collected: such an FTL empties whole blocks, and dies wait for each other
    Change: the page map
    """
    depth = case.experiment["host"].get("queue_depth", 1)
    share = case.share(causes=("gc",))
    waits = case.is_closed and depth >= case.units > 1
    if case.measure != "time" or case.ftl[0] in ("", "page", "zns") or not waits or not share:
        return None
    pages = case.result.device.logical_bytes // case.result.device.page_bytes
    return Change(
        "collect_on_all_dies",
        f"the {case.units} {case.unit}s had nothing to do in {units.percent(case.idle)} of their time, "
        f"though {depth} requests were outstanding: {case.ftl[0]} empties whole blocks, "
        "and dies wait for each other",
        f"the page map in place of {case.ftl[0]}, which moves a few pages with each write",
        f"about {units.size(4 * pages)} of RAM for the map",
        case.idle,
        ("ftl={ page = {} }",),
    )


def merges_of(case: Case) -> str:
    """The run's merges, in words."""
    merges = case.result.merges
    counts = {"full": merges.full, "partial": merges.partial, "switch": merges.switch}
    said = ", ".join(f"{units.count(number)} {name}" for name, number in counts.items() if number)
    return (
        f"merges ({said or 'of log blocks'}) and migrations" if case.result.migrations else f"merges ({said})"
    )


def smaller_pages(case: Case) -> Change | None:
    """Pages as small as the writes need no read first: the same blocks in more pages.

    Share: cause `read_modify_write`, and in host programs and collections the part without host data
    Change: pages as large as the writes, in blocks as large
    """
    share = partial_pages(case)
    device, shape = case.result.device, case.experiment["device"]["shape"]
    if not share or device.page_bytes <= 512:
        return None
    written = case.result.host.written_sectors * 512 / max(1, case.result.host.writes)
    page = device.page_bytes // 2
    while page > 512 and page > written:
        page //= 2
    times = device.page_bytes // page
    sets = [
        f"device.shape.page_bytes={page}",
        f"device.shape.pages_per_block={device.pages_per_block * times}",
    ]
    placement, pools = case.choice("placement")
    if placement == "pools":
        sets.append(f"ftl.page.placement.pools.pages={pools['pages'] * times}")
    if shape.get("spare_bytes"):
        sets.append(f"device.shape.spare_bytes={max(16, shape['spare_bytes'] // times)}")
    return Change(
        "smaller_pages",
        why_partial(case, share),
        f"pages of {units.size(page)} in place of {units.size(device.page_bytes)}, in blocks as large",
        "another chip, and a map with more entries",
        share,
        tuple(sets),
    )


def map_in_memory(case: Case) -> Change | None:
    """With the whole map in memory, no request reads map pages and none is written back.

    Share: cause `map` in `dftl`, `sector_map` and `hybrid_map`, if look-ups missed
    Change: the whole map in memory
    """
    name, options = case.ftl
    share = case.share(causes=("map",))
    device, found = case.result.device, case.result.map
    if name not in ("dftl", "sector_map", "hybrid_map") or found is None or not found.misses or not share:
        return None
    pages = device.logical_bytes // device.page_bytes
    memories = (case.result.ram.sram, case.result.ram.dram)
    now = sum(memory.get(part, 0) for memory in memories for part in ("cmt", "cmt_lists", "ctp"))
    overrides: tuple[str, ...]
    if name == "dftl" and options.get("cache", "segmented") == "segmented":
        overrides, whole = (f"ftl.dftl.cmt_entries={pages}",), now * pages // options["cmt_entries"]
    elif name == "dftl":
        # Single entries with their lists: the other caches are for maps that are not in memory.
        overrides, whole = (f"ftl.dftl.cmt_entries={pages}", 'ftl.dftl.cache="segmented"'), 20 * pages
    else:
        entries = device.logical_bytes // 512 + (pages if name == "hybrid_map" else 0)
        overrides, whole = (f"ftl.{name}.cmt_units=0",), 4 * entries
    return Change(
        "map_in_memory",
        f"map pages took {part(case, share)}: {units.count(found.misses)} look-ups missed what is in memory",
        "the whole map in memory",
        f"{units.size(max(0, whole - now))} of RAM more",
        share,
        overrides,
    )


def map_in_spare_areas(case: Case) -> Change | None:
    """The block map is in the spare areas, and not programmed with every recycling.

    Share: cause `map`
    Change: `map_update = "oob"`
    """
    share = case.share(causes=("map",))
    if case.ftl[1].get("map_update") != "page" or not share:
        return None
    return Change(
        "map_in_spare_areas",
        f"pages of the block map took {part(case, share)}",
        "the block map in spare areas",
        "a map that mounts find in spare areas alone",
        share,
        (f"ftl.{case.ftl[0]}.map_update=oob",),
    )


def trims_in_memory(case: Case) -> Change | None:
    """Trims are remembered in RAM alone.

    Share: cause `trim`
    Change: `durable_trim = false`
    """
    share = case.share(causes=("trim",))
    if not case.ftl[1].get("durable_trim") or not share:
        return None
    return Change(
        "trims_in_memory",
        f"notes of trims took {part(case, share)}",
        "no notes of trims",
        "trims that a power cut may undo",
        share,
        (f"ftl.{case.ftl[0]}.durable_trim=false",),
    )


LEAST_REST = 0.05
"""A device that rests for a smaller share of the time has no useful gaps."""

USUAL_WAIT_US = 1000
"""How long a device rests by default before it takes that for a gap."""

LEAST_WAIT = 0.05
"""A write that waits for a smaller share of its time has nothing to wait for."""


def refresh(case: Case) -> Change | None:
    """The FTL rewrites blocks before the ECC fails.

    Share: cause `read_retry` on the page map
    Change: `ftl.page.refresh_percent = 90`
    """
    name, options = case.ftl
    share = case.share(causes=("read_retry",))
    if name != "page" or options.get("refresh_percent") != 0 or not share:
        return None
    return Change(
        "refresh",
        f"reading pages again that the ECC could not correct took {part(case, share)}",
        "blocks that are rewritten at 90 % of the bit errors that the ECC corrects",
        "copies and erases of blocks that are read, which requests may wait for",
        share,
        ("ftl.page.refresh_percent=90",),
    )


def collect_in_gaps(case: Case) -> Change | None:
    """Garbage collection runs while the host asks nothing, so no request waits for it.

    Share: cause `gc` on the page map, if the host has its own pace, the dies rest at least 5 % of the
        time, and writes take at least 5 % longer than a program
    Change: `ftl.page.idle.collect.blocks`, a 16th of a die's spare blocks, from 2 to 4; `after_us = 0` if
        the mean gap is less than ten times the default
    """
    idle, _ = case.choice("idle")
    # A host that asks right after each answer leaves no gaps.
    paced = not case.is_closed and case.rest >= LEAST_REST
    if idle != "none" or case.measure == "erases" or not paced:
        return None
    # A write's own collection runs after it: in a long enough gap there is nothing to gain.
    latencies = case.result.latency_us
    writes = None if latencies is None else latencies.write
    timing = case.experiment["device"]["timing"]
    own_us = (timing.get("slc") or timing)["program_us"]
    if writes is None or writes.mean * (1 - LEAST_WAIT) < own_us:
        return None
    share = case.share(causes=("gc",))
    device = case.result.device
    spare = device.blocks * (1 - 1 / (1 + device.over_provisioning)) / device.dies
    # Few blocks, because spare blocks keep victims emptier.
    blocks = min(4, max(2, int(spare / 16)))
    sets = [f"ftl.page.idle.collect.blocks={blocks}"]
    gap_us = case.rest * (case.result.time_us or 0.0) / max(1, case.result.host.requests)
    if gap_us < 10 * USUAL_WAIT_US:
        # Else much time would pass before a gap counts as one.
        sets.append("ftl.page.idle.collect.after_us=0")
    return Change(
        "collect_in_gaps",
        f"garbage collection took {part(case, share)} where it worked, and {units.percent(case.rest)} of "
        "the whole time there was none",
        f"collection in gaps between requests, {units.counted(blocks, 'free block')} of each die ahead",
        "pages moved that the host would have overwritten",
        share,
        tuple(sets),
    )


def stripe_over_planes(case: Case) -> Change | None:
    """A long write's pages are programmed on a die's planes at once.

    Share: host programs, without the part that remains when planes share them, if writes have two pages
        or more and `plane_overlap` is not `none`
    Change: `ftl.page.stripe = "planes"`
    """
    device = case.experiment["device"]
    planes = device["shape"].get("planes_per_die", 1)
    written = case.result.host.written_sectors * 512 / max(1, case.result.host.writes)
    if case.choice("stripe")[0] != "dies" or case.measure == "erases" or not case.result.time_us:
        return None
    if device["timing"].get("plane_overlap", "none") == "none" or written < 2 * case.result.device.page_bytes:
        return None
    at_once = min(planes, int(written // case.result.device.page_bytes))
    timing, slc = device["timing"], case.result.slc
    fast = 0 if slc is None else slc.written_pages
    took_us = (_host_programs(case) - fast) * timing["program_us"]
    if fast:
        took_us += fast * timing["slc"]["program_us"]
    share = _of_dies(case, took_us) * (1 - 1 / at_once)
    return Change(
        "stripe_over_planes",
        f"programs one after the other on one of {planes} planes, where {at_once} could take part, took "
        f"{part(case, share)}",
        "consecutive pages to the planes of a die, which program together",
        "a block being filled and a reserve for each plane, and so less spare space",
        share,
        ("ftl.page.stripe=planes",),
    )


def _of_dies(case: Case, took_us: float) -> float:
    """The share of whole dies' time, even if each plane works alone."""
    whole_us = case.result.busy_us
    if case.is_closed:
        whole_us = max(whole_us, case.result.device.dies * (case.result.flash_time_us() or 0.0))
    return took_us / whole_us if whole_us else 0.0


def _host_programs(case: Case) -> int:
    return sum(cell.programs for cell in case.result.matrix if cell.cause == "host")


def slc_cache(case: Case) -> Change | None:
    """Host writes go to one-bit-a-cell blocks first; these are programmed faster.

    Share: host programs, by their extra time over a program in a block of one bit a cell
        (`device.timing.slc`)
    Change: `ftl.page.slc_cache = "dynamic"`
    """
    device = case.experiment["device"]
    slc = device["timing"].get("slc")
    if case.choice("slc_cache")[0] != "none" or slc is None or case.measure == "erases":
        return None
    slower_us = max(0.0, device["timing"]["program_us"] - slc["program_us"])
    share = _of_dies(case, _host_programs(case) * slower_us)
    if device["rules"].get("bits_per_cell", 1) < 2 or not share:
        return None
    return Change(
        "slc_cache",
        f"programs of the host took {part(case, share)} more than in blocks of one bit a cell",
        "blocks that are free hold one bit a cell for what the host writes, as long as there are enough",
        "what leaves them is written twice, and once they are full writes are slower than without",
        share,
        ("ftl.page.slc_cache=dynamic",),
    )


def no_slc_cache(case: Case) -> Change | None:
    """Host writes go to blocks with all their bits at once; nothing is written twice.

    Share: cause `fold`
    Change: `ftl.page.slc_cache = "none"`
    """
    share = case.share(causes=("fold",))
    if case.choice("slc_cache")[0] in ("", "none") or not share:
        return None
    return Change(
        "no_slc_cache",
        f"emptying blocks of one bit a cell took {part(case, share)}",
        "no blocks of one bit a cell",
        "writes that are slow from the first one on",
        share,
        ("ftl.page.slc_cache=none",),
    )
