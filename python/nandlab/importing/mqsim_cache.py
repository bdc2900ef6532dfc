"""MQSim: its data cache in DRAM, as a buffer. Source: `Data_Cache_Manager_Flash_*.cpp` at 7ec40e3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nandlab.importing.keys import DIFFERS, TOLD, UNUSED, Values
from nandlab.importing.mqsim import Device

KEYS = [
    "Caching_Mechanism",
    "Data_Cache_Sharing_Mode",
    "Data_Cache_Capacity",
    "Data_Cache_DRAM_Row_Size",
    "Data_Cache_DRAM_Data_Rate",
    "Data_Cache_DRAM_Data_Busrt_Size",
    "Data_Cache_DRAM_tRCD",
    "Data_Cache_DRAM_tCL",
]
MODE = "Device_Level_Data_Caching_Mode"
BUFFER = "buffer.second_write"
ON_ITS_WAY = "device.controller.write_buffer_bytes"

RULE = (
    "a page's first write in a second goes to flash, later ones stay until they are evicted; at most as many "
    "sectors as a page has are on their way to flash for each plane; when the way is full, reads wait behind "
    "a write here and pass it there"
)
PARTS = (
    "one buffer for all flows here: a flow can push out the pages of another one, and its hits wait behind "
    "the other's writes, so it is slower here"
)
REFUSED = (
    "MQSim ends at the first request: its SIMPLE cache knows no mode but TURNED_OFF, although the code for "
    "WRITE_CACHE is there; imported as ADVANCED"
)
REFUSED_NOTE = (
    "MQSim refuses this configuration: with Caching_Mechanism SIMPLE it ends at the first request of a flow "
    f"whose {MODE} is not TURNED_OFF. It was imported as ADVANCED. SIMPLE runs with "
    f"--instead {MODE}=TURNED_OFF."
)


def cache(device: Device, flows: Sequence[Values], request_bytes: int) -> tuple[dict[str, Any], list[str]]:
    """The tables `buffer` and `device.controller`, and sentences about them.

    Args:
        device: The device; its rows are changed.
        flows: The scenario's flows; empty for a workload of writes that are cached.
        request_bytes: A request's mean size.

    """
    values = device.values
    modes = [flow.text(MODE) for flow in flows] or ["WRITE_CACHE"]
    is_refused = values.text("Caching_Mechanism") == "SIMPLE" and set(modes) != {"TURNED_OFF"}
    notes = [REFUSED_NOTE] if is_refused else []
    if not any("WRITE" in mode for mode in modes):
        for key in KEYS:
            values.say(key, UNUSED, "no flow caches its writes")
        return {}, notes
    page = device.flash.whole("Page_Capacity")
    flat: dict[str, Any] = {
        f"{BUFFER}.size": values.whole("Data_Cache_Capacity") // page * page,
        ON_ITS_WAY: _on_its_way(device.planes, page, request_bytes),
        "device.controller.write_command_us": round(device.dram_us(request_bytes), 3),
    }
    if "WRITE_READ_CACHE" in modes:
        flat[f"{BUFFER}.cache_reads"] = True
    here = f"{BUFFER}.size {ON_ITS_WAY}"
    values.say("Caching_Mechanism", DIFFERS, REFUSED if is_refused else RULE, here)
    if len(flows) > 1 and values.text("Data_Cache_Sharing_Mode") != "SHARED":
        values.say("Data_Cache_Sharing_Mode", TOLD, PARTS)
    for flow, mode in zip(flows, modes, strict=False):
        _tell(flow, mode, len(set(modes)) == 1)
    return flat, notes


def _on_its_way(planes: int, page: int, request_bytes: int) -> int:
    """MQSim counts written sectors, as many as a page has for each plane; here a small write takes a page."""
    return planes * page // min(request_bytes, page) * page


def _tell(flow: Values, mode: str, is_alone: bool) -> None:
    """A flow's mode beside the buffer that all flows share."""
    if not is_alone:
        flow.say(MODE, TOLD, "the flows have different modes there; one buffer for all of them here")
    elif mode == "WRITE_CACHE":
        flow.say(MODE, "taken", "", BUFFER)
    else:
        note = "a read hits a page of any flow here, also one that another flow left"
        flow.say(MODE, DIFFERS, note, f"{BUFFER}.cache_reads")
