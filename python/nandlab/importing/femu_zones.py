"""FEMU: a drive with zones, `femu_mode=3`. Source: `hw/femu/zns/zns.c` and `zns.h`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nandlab.importing.imported import Imported
from nandlab.importing.keys import UNUSED, Found, Key, Values, count, differs, taken, told, unused
from nandlab.importing.parts import rules
from nandlab.importing.zone_parts import NO_ZONE_WORKLOAD, zone_writes, zoned_shape

NAME = "FEMU"
MIB = 1 << 20
PAGE = 16384
"""A constant there."""
SPARE_BYTES = 128
ENDURANCE = 100_000
PLANES = 2
"""Planes that a program fills there, whatever `zns_num_plane` is."""
CACHES = 3
"""Its write caches, a constant there: each has a program for each die."""
CELLS = {1: (4.0, 75.0, 2000.0), 3: (32.0, 937.5, 3000.0), 4: (85.0, 12196.0, 3000.0)}
"""Bits a cell, and times in us: read, program, erase; constants there."""

_TIMES = "device.timing.read_us device.timing.program_us device.timing.erase_us"
_NEWER = "a newer FEMU's key; its rule is not imported"

ZONES: dict[str, Key] = {
    "femu_mode": taken(3, "ftl", "`zns`: the drive alone"),
    "devsz_mb": taken(1024, "device.zones.capacity", "zones of equal size fill it").within(1),
    "zns_num_ch": count(2, "device.shape.channels"),
    "zns_num_lun": count(4, "device.shape.dies_per_channel"),
    "zns_num_plane": differs(
        2, "device.zones.capacity", "a die's planes are one here; a zone has them all"
    ).within(1, 255),
    "zns_num_blk": differs(
        32, "device.zones.capacity", "blocks of a plane set the number of zones there; the zone's pages here"
    ).within(1, 255),
    "zns_flash_type": taken(4, _TIMES).within(1, 4).never(_2="FEMU has no times for MLC; give 1, 3 or 4"),
    "zns_max_active": taken(0, "device.zones.max_active"),
    "zns_max_open": taken(0, "device.zones.max_open"),
    "zns_zd_ext_size": unused(0, "a field of the host's"),
    "zns_pg_rd_lat": taken(0, "device.timing.read_us"),
    "zns_pg_wr_lat": taken(0, "device.timing.program_us"),
    "zns_blk_er_lat": taken(0, "device.timing.erase_us"),
    "zns_read": unused(40000, "an old key; zns_flash_type sets the times"),
    "zns_write": unused(200000, "an old key; zns_flash_type sets the times"),
    "zns_cross_zone_read": unused(False, "a read keeps to a zone in the workload here"),
    "zns_zasl_bs": unused(0, "no appends in the workload here"),
}
NEWER = (
    "zns_num_conv_zones zns_zone_cap zns_chnls_per_zone zns_zrwa_size zns_zrwafg_size zns_zrwa_num "
    "zns_cmd_addr_lat zns_pg_xfer_lat zns_status_lat"
)
ZONES |= {key: told(0, _NEWER, 0) for key in NEWER.split()}
CACHED = (
    "FEMU answers a write from one of three caches, each with a program for each die; here a write buffer "
    "has the same bytes, and takes no time."
)


def zoned(
    source: str, found: Mapping[str, Found], instead: Mapping[str, str], others: Mapping[str, Key]
) -> Imported:
    """The experiment for a drive with zones.

    Args:
        source: Its name, for messages.
        found: The options.
        instead: Values in place of these.
        others: Keys of other modes; a given one is told to have no effect.

    Raises:
        ConfigError: An option is unknown, or a value cannot be.

    """
    without = {key: unused("", "of another mode") for key in found if key in others and key not in ZONES}
    values = Values(NAME, ZONES | without, found, instead)
    flat = zone_writes(65536, 20_000) | _shape(values) | _times(values)
    return Imported(NAME, (source,), flat, tuple(values.rows(flat)), (NO_ZONE_WORKLOAD, CACHED))


def _shape(values: Values) -> dict[str, Any]:
    whole = values.whole
    dies = whole("zns_num_ch") * whole("zns_num_lun")
    pages = whole("devsz_mb") * MIB // PAGE // (dies * whole("zns_num_blk"))
    zone_pages = dies * whole("zns_num_plane") * pages
    if not pages:
        raise values.refuse("devsz_mb", f"a block has no page of {PAGE} bytes in so small a drive")
    zones = whole("devsz_mb") * MIB // (zone_pages * PAGE)
    once = PLANES * whole("zns_flash_type")
    # A block here is a whole number of programs; the zone's capacity is FEMU's.
    of_block = -(-whole("zns_num_plane") * pages // once) * once
    flat = zoned_shape((zones, zone_pages), (dies, 1), (dies, 1), of_block, whole("zns_max_active")) | {
        "device.shape.channels": whole("zns_num_ch"),
        "device.shape.dies_per_channel": whole("zns_num_lun"),
        "device.shape.planes_per_die": 1,
        "device.shape.page_bytes": PAGE,
        "device.shape.spare_bytes": SPARE_BYTES,
        "device.zones.pages_per_die": once,
        "device.zones.capacity": zone_pages * PAGE,
        "device.zones.size": zone_pages * PAGE,
        "device.controller.write_buffer_bytes": CACHES * once * PAGE * dies,
        "device.timing.program_pages": once,
        **rules(ENDURANCE, whole("zns_flash_type")),
    }
    for key in ("max_active", "max_open"):
        if whole(f"zns_{key}"):
            flat[f"device.zones.{key}"] = whole(f"zns_{key}")
    return flat


def _times(values: Values) -> dict[str, Any]:
    """The cells' times, or those given in ns."""
    times = CELLS[values.whole("zns_flash_type")]
    flat: dict[str, Any] = {}
    for key, name, default_us in zip(
        ("zns_pg_rd_lat", "zns_pg_wr_lat", "zns_blk_er_lat"), _TIMES.split(), times, strict=True
    ):
        given = values.whole(key)
        if not given:
            values.say(key, UNUSED, "0: that of zns_flash_type")
        flat[name] = given / 1000 if given else default_us
    return flat | {"device.timing.transfer_ns_per_byte": 0, "device.timing.plane_overlap": "none"}
