"""flashsim: ssd.conf. Source: `ssd_config.cpp` and `FTLs/` at 53098b0."""

from __future__ import annotations

import math
from typing import Any

from nandlab.importing.imported import Imported
from nandlab.importing.keys import TOLD, UNUSED, Values, count, differs, taken, told, unused
from nandlab.importing.lines_file import read_pairs
from nandlab.importing.parts import NO_WORKLOAD, rules, uniform_writes
from nandlab.importing.request import Request

NAME = "flashsim"
SPARE_BYTES = 128
SPARE_SHARE = 0.07
"""Over-provisioning if the file reserves no blocks."""
DIE_SPARE = 6
"""Spare blocks on a die before a page map here can begin."""
FTLS = {0: "page", 1: "bast", 2: "fast", 3: "dftl"}

_BUS = "device.timing.transfer_ns_per_byte"
_LIMIT = "its comment says pages, its code counts blocks"

KEYS = {
    "RAM_READ_DELAY": told(1e-8, "no time of the RAM for each page"),
    "RAM_WRITE_DELAY": told(1e-8, "no time of the RAM for each page"),
    "BUS_CTRL_DELAY": differs(
        5e-9,
        "device.timing.transfer_command_us",
        "once for each command; some operations there take it twice",
    ),
    "BUS_DATA_DELAY": differs(1e-8, _BUS, "for a page there, for each byte and its spare area here"),
    "BUS_MAX_CONNECT": unused(8, "a bound that only stops the program"),
    "BUS_TABLE_SIZE": unused(64, "a bound of its list of bus times"),
    "SSD_SIZE": count(4, "device.shape.channels", "packages, each on its own channel"),
    "PACKAGE_SIZE": count(8, "device.shape.dies_per_channel"),
    "DIE_SIZE": count(2, "device.shape.planes_per_die"),
    "PLANE_SIZE": count(64, "device.shape.blocks_per_plane"),
    "PLANE_REG_READ_DELAY": told(1e-10, "no time of a plane's register beside the read"),
    "PLANE_REG_WRITE_DELAY": told(1e-10, "no time of a plane's register beside the program"),
    "BLOCK_SIZE": count(16, "device.shape.pages_per_block"),
    "BLOCK_ERASES": count(1048675, "device.rules.endurance"),
    "BLOCK_ERASE_DELAY": taken(0.001, "device.timing.erase_us"),
    "PAGE_READ_DELAY": taken(1e-6, "device.timing.read_us"),
    "PAGE_WRITE_DELAY": taken(1e-5, "device.timing.program_us"),
    "PAGE_SIZE": taken(4096, "device.shape.page_bytes").within(512, 1 << 20),
    "PAGE_ENABLE_DATA": unused(True, 'contents change no count; device.model = "bytes" keeps them'),
    "MAP_DIRECTORY_SIZE": differs(0, "device.over_provisioning", "blocks that the host does not get"),
    "FTL_IMPLEMENTATION": taken(0, "")
    .one_of("0", "1", "2", "3")
    .never(_4="no bimodal map here; --instead FTL_IMPLEMENTATION=0 takes a page map, 1 BAST, 2 FAST, 3 DFTL"),
    "BAST_LOG_BLOCK_LIMIT": differs(100, "ftl.bast.log_blocks", _LIMIT).within(1),
    "FAST_LOG_BLOCK_LIMIT": differs(4, "ftl.fast.log_blocks", _LIMIT).within(2),
    "CACHE_DFTL_LIMIT": differs(8, "ftl.dftl.cmt_entries", "map pages there, entries here").within(1),
    "PARALLELISM_MODE": told(0, "pages go to dies in turn here", 1).one_of("0", "1", "2"),
    "VIRTUAL_BLOCK_SIZE": told(1, "no blocks put together here", 1).within(1),
    "VIRTUAL_PAGE_SIZE": told(1, "no pages put together here", 1).within(1),
    "RAID_NUMBER_OF_PHYSICAL_SSDS": unused(0, "only run_raid.cpp reads it"),
}

UNIT = "flashsim has no unit of time: the numbers are taken as microseconds, as in its ssd.conf."
TIMES = tuple(key for key in KEYS if key.endswith("_DELAY"))


def imported(request: Request) -> Imported:
    """The experiment for ssd.conf.

    Raises:
        OSError: The file cannot be read.
        ConfigError: It is cut, or has an impossible key or value.

    """
    path = request.only("ssd.conf")
    values = Values(NAME, KEYS, read_pairs(path), request.instead)
    for key in TIMES:
        if key not in values:
            values.say(key, TOLD, "its default is in seconds, unlike ssd.conf; give it in microseconds")
    ftl = FTLS[values.whole("FTL_IMPLEMENTATION")]
    spare, why = _spare_blocks(values, ftl)
    flat = uniform_writes() | _ftl(values, ftl) | _device(values, spare)
    values.say("FTL_IMPLEMENTATION", "taken", "", f"ftl.{ftl}")
    return Imported(NAME, (path,), flat, tuple(values.rows(flat)), (UNIT, why, NO_WORKLOAD))


def _blocks(values: Values) -> int:
    return math.prod(values.whole(key) for key in ("SSD_SIZE", "PACKAGE_SIZE", "DIE_SIZE", "PLANE_SIZE"))


def _spare_blocks(values: Values, ftl: str) -> tuple[int, str]:
    """Blocks withheld from the host, and why; flashsim itself withholds none."""
    blocks = _blocks(values)
    reserved = values.whole("MAP_DIRECTORY_SIZE")
    dies = values.whole("SSD_SIZE") * values.whole("PACKAGE_SIZE")
    spare = reserved or max(round(blocks * SPARE_SHARE / (1 + SPARE_SHARE)), DIE_SPARE * dies)
    why = (
        f"MAP_DIRECTORY_SIZE reserves {reserved}"
        if reserved
        else f"nothing reserves any, so 7 % are taken, and {DIE_SPARE} a die at least"
    )
    if ftl in ("bast", "fast"):
        key = f"{ftl.upper()}_LOG_BLOCK_LIMIT"
        limit = values.whole(key)
        if limit + spare > blocks // 2:
            raise values.refuse(
                key,
                f"{limit} log blocks of {blocks} leave the host less than half; the limit counts blocks",
            )
        spare += limit
        why += f", and {limit} are log blocks"
    return spare, f"flashsim exports all {blocks} blocks and needs spare ones: {spare} are spare here; {why}."


def _ftl(values: Values, ftl: str) -> dict[str, Any]:
    for name, key in (
        ("bast", "BAST_LOG_BLOCK_LIMIT"),
        ("fast", "FAST_LOG_BLOCK_LIMIT"),
        ("dftl", "CACHE_DFTL_LIMIT"),
    ):
        if name != ftl:
            values.say(key, UNUSED, f"the FTL is {ftl}")
    if ftl == "page":
        return {"ftl.page.victim": "greedy"}
    if ftl == "bast":
        return {"ftl.bast.log_blocks": values.whole("BAST_LOG_BLOCK_LIMIT")}
    if ftl == "fast":
        # The limit includes the sequential block.
        return {"ftl.fast.log_blocks": values.whole("FAST_LOG_BLOCK_LIMIT") - 1}
    address_bits = int(math.log2(_blocks(values) * values.whole("BLOCK_SIZE")))
    entries = values.whole("PAGE_SIZE") // math.ceil(address_bits / 8)
    return {"ftl.dftl.cmt_entries": max(2, values.whole("CACHE_DFTL_LIMIT") * entries)}


def _device(values: Values, spare: int) -> dict[str, Any]:
    page = values.whole("PAGE_SIZE")
    return {
        "device.over_provisioning": spare / (_blocks(values) - spare),
        "device.shape.channels": values.whole("SSD_SIZE"),
        "device.shape.dies_per_channel": values.whole("PACKAGE_SIZE"),
        "device.shape.planes_per_die": values.whole("DIE_SIZE"),
        "device.shape.blocks_per_plane": values.whole("PLANE_SIZE"),
        "device.shape.pages_per_block": values.whole("BLOCK_SIZE"),
        "device.shape.page_bytes": page,
        "device.shape.spare_bytes": SPARE_BYTES,
        **rules(values.whole("BLOCK_ERASES")),
        "device.timing.read_us": values.number("PAGE_READ_DELAY"),
        "device.timing.program_us": values.number("PAGE_WRITE_DELAY"),
        "device.timing.erase_us": values.number("BLOCK_ERASE_DELAY"),
        "device.timing.transfer_ns_per_byte": values.number("BUS_DATA_DELAY") * 1000 / (page + SPARE_BYTES),
        "device.timing.transfer_command_us": values.number("BUS_CTRL_DELAY"),
        "device.timing.plane_overlap": "independent",
    }
