"""Parts for drives with zones: how zones lie on the dies, and a workload that writes them."""

from __future__ import annotations

from typing import Any

SPARE_BLOCKS = 2
"""Blocks on each die in place of bad ones; here a drive has at least one."""
NO_ZONE_WORKLOAD = (
    "The configuration has no workload: a job writes to random zones at their write pointers, at depth 16, "
    "and resets a zone before it writes it again."
)


def zoned_shape(
    zones: tuple[int, int], of_zone: tuple[int, int], of_drive: tuple[int, int], block: int, most_active: int
) -> dict[str, Any]:
    """As many blocks as the zones need, with the drive's spare ones.

    Args:
        zones: The drive's zones, and the pages that each takes.
        of_zone: A zone's dies, and its blocks on each of them.
        of_drive: The drive's dies, and the planes of each.
        block: A block's pages.
        most_active: The most zones open or closed at a time; 0 is all of them.

    """
    (number, zone_pages), (zone_dies, zone_blocks), (dies, planes) = zones, of_zone, of_drive
    # Sectors that wait for their page are staged in blocks apart: a page for each active zone.
    staged = -(-(most_active or number) // block) + 2
    blocks = -(-number * zone_dies // dies) * zone_blocks + SPARE_BLOCKS + -(-staged // dies)
    of_plane = -(-blocks // planes)
    return {
        "ftl.zns": {},
        "device.over_provisioning": of_plane * planes * dies * block / (number * zone_pages) - 1,
        "device.shape.blocks_per_plane": of_plane,
        "device.shape.pages_per_block": block,
        "device.zones.dies": zone_dies,
        "device.zones.blocks_per_die": zone_blocks,
        "device.zones.spare_blocks": SPARE_BLOCKS,
    }


def zone_writes(request_bytes: int, requests: int) -> dict[str, Any]:
    """A workload for a configuration without one."""
    lines = ["[zones]", "ioengine=libaio", "rw=randwrite", "zonemode=zbd", "iodepth=16"]
    lines += [f"bs={request_bytes}", f"io_size={request_bytes * requests}"]
    return {"workload.fio.text": "\n".join(lines) + "\n"}
