"""NVMeVirt: ssd_config.h. Source: `ssd.c` and `conv_ftl.c` at 61c90f7."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nandlab._native import ConfigError
from nandlab.importing import c_header
from nandlab.importing.imported import Imported
from nandlab.importing.keys import TOLD, UNUSED, Found, Key, Values, count, differs, taken, told, unused
from nandlab.importing.parts import NO_WORKLOAD, cell_times, rules, uniform_writes
from nandlab.importing.request import Request
from nandlab.importing.zone_parts import NO_ZONE_WORKLOAD, zone_writes, zoned_shape

NAME = "NVMeVirt"
SPARE_BYTES = 16
ENDURANCE = 100_000
MEMORY = 64 << 30
"""The memory in its README's example."""
TYPES = {
    "SSD_TYPE_NVM": "it has no flash",
    "SSD_TYPE_KV": "its keys belong to the device, and have no counterpart here",
}
MOST_PAGES = 16_380
"""Pages of a block here; a zone with larger blocks has several on a die."""
READS = {0: ["LSB"], 1: ["LSB"], 2: ["LSB", "MSB"], 3: ["LSB", "MSB", "CSB"], 4: ["LSB", "MSB", "CSB"]}

_LARGE = "a read of more than 4 KiB costs a read for each 4 KiB here, and one for each flash page there"
_TYPES = "device.timing.read_us device.timing.page_types"
PAGE = 4096
"""The unit of its map."""
_EARLY = "device.controller.write_buffer_bytes"
_WRITE = "device.controller.write_latency_us"
_LINK = "device.link.read_mb_s device.link.write_mb_s"

KEYS = {
    "NR_NAMESPACES": told(1, "one name space here", 1),
    "NS_CAPACITY_0": differs(
        0, "device.shape.pages_per_block", "the flash in bytes; 0 is all memory of the module"
    ),
    "NS_CAPACITY_1": unused(0, "the second name space"),
    "MDTS": unused(5, "a bound of the interface"),
    "CELL_MODE": taken(0, "device.rules.bits_per_cell").within(0, 4),
    "SSD_PARTITIONS": told(1, "one FTL over all channels here, not one for each part", 1).within(1),
    "NAND_CHANNELS": count(8, "device.shape.channels"),
    "LUNS_PER_NAND_CH": count(2, "device.shape.dies_per_channel"),
    "PLNS_PER_LUN": count(1, "device.shape.planes_per_die"),
    "FLASH_PAGE_SIZE": differs(
        32768, "device.shape.page_bytes", "the map counts 4 KiB there, and a page is 4 KiB here"
    ).within(4096, 1 << 20),
    "ONESHOT_PAGE_SIZE": taken(32768, "device.timing.program_pages").within(512, 1 << 24),
    "BLKS_PER_PLN": taken(8192, "device.shape.blocks_per_plane"),
    "BLK_SIZE": taken(0, "device.shape.pages_per_block", "0: what the memory gives"),
    "MAX_CH_XFER_SIZE": told(
        16384, "a page's transfer is one piece here, and does not overlap with the link"
    ),
    "WRITE_UNIT_SIZE": unused(512, "a bound of the interface"),
    "NAND_CHANNEL_BANDWIDTH": taken(800, "device.timing.transfer_ns_per_byte", "MB/s").within(1),
    "PCIE_BANDWIDTH": taken(3360, _LINK).within(1),
    "NAND_4KB_READ_LATENCY_LSB": taken(0, _TYPES).within(1),
    "NAND_4KB_READ_LATENCY_MSB": taken(0, _TYPES),
    "NAND_4KB_READ_LATENCY_CSB": taken(0, _TYPES),
    "NAND_READ_LATENCY_LSB": told(0, _LARGE),
    "NAND_READ_LATENCY_MSB": told(0, _LARGE),
    "NAND_READ_LATENCY_CSB": told(0, _LARGE),
    "NAND_PROG_LATENCY": taken(185000, "device.timing.program_us").within(1),
    "NAND_ERASE_LATENCY": taken(0, "device.timing.erase_us"),
    "FW_4KB_READ_LATENCY": taken(0, "device.controller.latency_us"),
    "FW_READ_LATENCY": told(0, ""),
    "FW_WBUF_LATENCY0": taken(0, _WRITE),
    "FW_WBUF_LATENCY1": differs(
        0, _WRITE, "once a write here, for each 4 KiB of it there: larger writes take longer"
    ),
    "FW_CH_XFER_LATENCY": told(0, "no time of the firmware for a transfer", 0),
    "OP_AREA_PERCENT": taken(0.07, "device.over_provisioning").within(0.0, 3),
    "GLOBAL_WB_SIZE": taken(0, _EARLY),
    "WRITE_EARLY_COMPLETION": taken(1, _EARLY).within(0, 1),
    "LBA_BITS": unused(9, "sectors of 512 bytes"),
    "LBA_SIZE": unused(512, "sectors of 512 bytes"),
}

ZONES = {
    "DIES_PER_ZONE": count(1, "device.zones.dies"),
    "ZONE_SIZE": taken(0, "device.zones.capacity device.zones.size").within(PAGE),
    "ZONE_WB_SIZE": differs(0, _EARLY, "a buffer for each zone there, one for all zones here"),
    "MAX_ZRWA_ZONES": taken(0, "device.zones.max_random_write_areas"),
    "ZRWAFG_SIZE": taken(0, "device.zones.commit_granularity"),
    "ZRWA_SIZE": taken(0, "device.zones.random_write_area"),
    "ZRWA_BUFFER_SIZE": unused(0, "what an area holds waits in memory"),
}
"""Keys of a drive with zones."""
NOT_OF_ZONES = ("OP_AREA_PERCENT", "BLK_SIZE", "BLKS_PER_PLN", "SSD_PARTITIONS")

WORDS = ("NS_SSD_TYPE_0", "NS_SSD_TYPE_1")
ENUMS = ("SSD_TYPE_", "CELL_MODE_")
"""Names that only number the choices."""


def imported(request: Request) -> Imported:
    """The experiment for one drive of ssd_config.h.

    Raises:
        OSError: The file cannot be read.
        ConfigError: It is cut, the drive has no counterpart, or a value cannot be.

    """
    path = request.only("ssd_config.h")
    models = c_header.choices(path, "BASE_SSD")
    if not models:
        raise ConfigError(f"{path}: there is no drive in this file: no #if (BASE_SSD == ...)")
    model = request.model or next(
        (name for name in models if _type(path, name) == "SSD_TYPE_CONV"), models[0]
    )
    if model not in models:
        raise ConfigError(f"{path}: there is no drive {model}; it has {', '.join(models)}")
    if _type(path, model) in TYPES:
        raise ConfigError(f"{path}: {model} cannot be imported: {TYPES[_type(path, model)]}")
    is_zoned = _type(path, model) == "SSD_TYPE_ZNS"
    table = KEYS | ZONES if is_zoned else KEYS
    found = _found(path, model, models, table) | {
        key: Found(text, "--instead") for key, text in request.instead.items() if key in table
    }
    numbers = {
        key: Found(f"{c_header.number(key, found):.17g}", found[key].place) for key in table if key in found
    }
    values = Values(NAME, table, numbers)
    notes = [f"This is {model} of {', '.join(models)}; --model imports another one."]
    if is_zoned:
        flat = _zoned(values)
        notes.append(NO_ZONE_WORKLOAD)
    else:
        flat = uniform_writes() | {"ftl.page.reserve_blocks": 2} | _shape(values) | _device(values)
        notes.append(NO_WORKLOAD)
    if not values.whole("NS_CAPACITY_0"):
        notes.insert(
            1,
            "The module's memory is not in the file: 64 GiB, as in its README; "
            '--instead "NS_CAPACITY_0=GB(128)" takes another size.',
        )
    return Imported(NAME, (path,), flat, tuple(values.rows(flat)), tuple(notes))


def _type(path: str, model: str) -> str:
    found = c_header.defines(path, {"BASE_SSD": model})
    return found["NS_SSD_TYPE_0"].text if "NS_SSD_TYPE_0" in found else ""


def _found(path: str, model: str, models: list[str], table: Mapping[str, Key]) -> dict[str, Found]:
    found = c_header.defines(path, {"BASE_SSD": model})
    for key, value in found.items():
        is_choice = key in models or key in WORDS or key.startswith(ENUMS) or not value.text
        if key not in table and not is_choice:
            raise ConfigError(f"{value.place}: {NAME} has no key {key}")
    return found


def _device(values: Values) -> dict[str, Any]:
    whole = values.whole
    page, once = whole("FLASH_PAGE_SIZE"), whole("ONESHOT_PAGE_SIZE")
    if once % page or page % PAGE:
        raise values.refuse(
            "ONESHOT_PAGE_SIZE", f"it is no multiple of FLASH_PAGE_SIZE, {page} bytes, or those none of 4096"
        )
    kinds = READS[whole("CELL_MODE")]
    for kind in {"LSB", "MSB", "CSB"} - set(kinds):
        values.say(f"NAND_READ_LATENCY_{kind}", UNUSED, "no such pages in these cells")
        values.say(f"NAND_4KB_READ_LATENCY_{kind}", UNUSED, "no such pages in these cells")
    reads = [values.number(f"NAND_4KB_READ_LATENCY_{kind}") / 1000 for kind in kinds]
    program_us = values.number("NAND_PROG_LATENCY") / 1000
    flat = rules(ENDURANCE, max(1, whole("CELL_MODE")))
    flat |= cell_times(reads, [program_us] * len(reads)) | {
        "device.timing.erase_us": values.number("NAND_ERASE_LATENCY") / 1000,
        "device.timing.transfer_ns_per_byte": 1000 / whole("NAND_CHANNEL_BANDWIDTH"),
        "device.timing.plane_overlap": "none",
    }
    if once > PAGE:
        flat["device.timing.program_pages"] = once // PAGE
    flat |= _firmware(values)
    if whole("WRITE_EARLY_COMPLETION") and whole("GLOBAL_WB_SIZE"):
        flat["device.controller.write_buffer_bytes"] = whole("GLOBAL_WB_SIZE")
    flat["device.link.read_mb_s"] = flat["device.link.write_mb_s"] = whole("PCIE_BANDWIDTH")
    return flat


def _zoned(values: Values) -> dict[str, Any]:
    """A drive with zones: the tables `workload`, `ftl` and `device`."""
    whole = values.whole
    zone, once, dies = whole("ZONE_SIZE"), whole("ONESHOT_PAGE_SIZE"), whole("DIES_PER_ZONE")
    of_drive = whole("NAND_CHANNELS") * whole("LUNS_PER_NAND_CH")
    zones = (whole("NS_CAPACITY_0") or MEMORY) // zone
    if not zones or of_drive % dies:
        raise values.refuse("ZONE_SIZE", f"{of_drive} dies and the memory hold no zones of {dies} dies")
    for key in NOT_OF_ZONES:
        values.say(key, UNUSED, "zones set the size of blocks, and need no spare pages")
    values.say("PLNS_PER_LUN", UNUSED, "no code for zones reads it")
    # A block here is a whole number of one-shot programs; a zone's capacity is the other program's.
    programs = -(-zone // (dies * once))
    blocks = -(-programs * (once // PAGE) // MOST_PAGES)
    pages = -(-programs // blocks) * (once // PAGE)
    flat = zone_writes(max(PAGE, whole("WRITE_UNIT_SIZE")), 20_000)
    flat |= zoned_shape((zones, zone // PAGE), (dies, blocks), (of_drive, 1), pages, 0) | {
        "device.shape.channels": whole("NAND_CHANNELS"),
        "device.shape.dies_per_channel": whole("LUNS_PER_NAND_CH"),
        "device.shape.planes_per_die": 1,
        "device.shape.page_bytes": PAGE,
        "device.shape.spare_bytes": SPARE_BYTES,
        "device.zones.pages_per_die": once // PAGE,
        "device.zones.capacity": zone,
        "device.zones.size": zone,
    }
    if whole("ZRWA_SIZE"):
        flat["device.zones.random_write_area"] = whole("ZRWA_SIZE")
        flat["device.zones.commit_granularity"] = whole("ZRWAFG_SIZE") or PAGE
        flat["device.zones.max_random_write_areas"] = whole("MAX_ZRWA_ZONES")
    flat |= _device(values)
    if whole("WRITE_EARLY_COMPLETION") and whole("ZONE_WB_SIZE"):
        flat[_EARLY] = whole("ZONE_WB_SIZE")
    return flat


def _firmware(values: Values) -> dict[str, Any]:
    """Times that a request takes and that occupy nothing, apart for reads and writes."""
    small, large = values.number("FW_4KB_READ_LATENCY"), values.number("FW_READ_LATENCY")
    if small == large:
        values.say("FW_READ_LATENCY", UNUSED, "that of a read of 4 KiB")
    else:
        sign = "longer" if large > small else "shorter"
        note = f"reads of more than 4 KiB take {abs(large - small) / 1000:g} us {sign} there; one time here"
        values.say("FW_READ_LATENCY", TOLD, note)
    write = values.number("FW_WBUF_LATENCY0") + values.number("FW_WBUF_LATENCY1")
    return {"device.controller.latency_us": small / 1000, "device.controller.write_latency_us": write / 1000}


def _shape(values: Values) -> dict[str, Any]:
    whole = values.whole
    once = whole("ONESHOT_PAGE_SIZE")
    if not values.number("OP_AREA_PERCENT"):
        raise values.refuse("OP_AREA_PERCENT", "there is no spare; --instead OP_AREA_PERCENT=0.07 gives some")
    capacity = whole("NS_CAPACITY_0") or MEMORY
    stripe = {"ftl.page.stripe.dies.pages": once // PAGE} if once > PAGE else {}
    planes = whole("NAND_CHANNELS") * whole("LUNS_PER_NAND_CH") * whole("PLNS_PER_LUN")
    blocks, block_bytes = whole("BLKS_PER_PLN"), whole("BLK_SIZE")
    if not blocks and not block_bytes:
        raise values.refuse(
            "BLK_SIZE", "BLKS_PER_PLN and BLK_SIZE are both 0: one of them sets the size of blocks"
        )
    block_bytes = block_bytes if not blocks else -(-capacity // (planes * blocks))
    blocks = blocks or -(-capacity // (planes * block_bytes))
    return stripe | {
        "device.over_provisioning": int((1 + values.number("OP_AREA_PERCENT")) * 100) / 100 - 1,
        "device.shape.channels": whole("NAND_CHANNELS"),
        "device.shape.dies_per_channel": whole("LUNS_PER_NAND_CH"),
        "device.shape.planes_per_die": whole("PLNS_PER_LUN"),
        "device.shape.blocks_per_plane": blocks,
        "device.shape.pages_per_block": -(-block_bytes // once) * (once // PAGE),
        "device.shape.page_bytes": PAGE,
        "device.shape.spare_bytes": SPARE_BYTES,
    }
