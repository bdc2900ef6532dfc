"""MQSim: the device in ssdconfig.xml. Source: `src/exec/*_Parameter_Set.cpp` at 7ec40e3."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

from nandlab._native import ConfigError
from nandlab.importing.keys import DIFFERS, TOLD, UNUSED, Key, Values, count, differs, taken, told, unused
from nandlab.importing.parts import cell_times, ratio, rules
from nandlab.importing.xml_file import Element, read_xml

NAME = "MQSim"
ROOT = "Execution_Parameter_Set"

HOST = {
    "PCIe_Lane_Bandwidth": differs(0.4, "device.link.read_mb_s device.link.write_mb_s", "GB/s a lane"),
    "PCIe_Lane_Count": count(4, "device.link.read_mb_s device.link.write_mb_s"),
    "SATA_Processing_Delay": unused(0, "only with SATA"),
    "Enable_ResponseTime_Logging": unused(False, "the record has latencies always"),
    "ResponseTime_Logging_Period_Length": unused(400000, "a log's period"),
}

_CACHE = "buffer.second_write.size"
_DRAM = "device.controller.write_command_us"
_SUSPEND = "device.timing.suspend"
_OUTSIDE = "MQSim alone decides by it when an operation gives way; here reads always interrupt"
_SHARED = "one pool for all flows"

DEVICE = {
    "Seed": taken(123, "seed", "other random numbers all the same"),
    "Enabled_Preconditioning": differs(
        True,
        "precondition.fill precondition.overwrites",
        "MQSim draws valid pages from a formula; here they are written",
    ),
    "Memory_Type": taken("FLASH", "").one_of("FLASH"),
    "HostInterface_Type": taken("NVME", "").never(SATA="no SATA here; NVME is the nearest"),
    "IO_Queue_Depth": unused(1024, "queues of the interface; depth is the workload's"),
    "Queue_Fetch_Size": taken(512, "").within(1, 65535),
    "Caching_Mechanism": taken("ADVANCED", _CACHE).one_of("ADVANCED", "SIMPLE"),
    "Data_Cache_Sharing_Mode": told("SHARED", "flows share the buffer", "SHARED"),
    "Data_Cache_Capacity": taken(512 << 20, _CACHE),
    "Data_Cache_DRAM_Row_Size": differs(
        8192, _DRAM, "the DRAM's time for a request, on one processor"
    ).within(1),
    "Data_Cache_DRAM_Data_Rate": differs(800, _DRAM, "as its row size").within(1),
    "Data_Cache_DRAM_Data_Busrt_Size": differs(4, _DRAM, "as its row size").within(1),
    "Data_Cache_DRAM_tRCD": differs(13, _DRAM, "as its row size"),
    "Data_Cache_DRAM_tCL": differs(13, _DRAM, "as its row size"),
    "Data_Cache_DRAM_tRP": unused(13, "only for requests beyond a row"),
    "Address_Mapping": taken("PAGE_LEVEL", "ftl").never(
        HYBRID="its functions are empty in MQSim; PAGE_LEVEL is the only map there"
    ),
    "Ideal_Mapping_Table": taken(False, "ftl", "`page` with it, `dftl` without"),
    "CMT_Capacity": differs(2 << 20, "ftl.dftl.cmt_entries", "bytes of entries there").within(64),
    "CMT_Sharing_Mode": told("SHARED", _SHARED, "SHARED"),
    "Plane_Allocation_Scheme": taken("CWDP", "ftl.page.stripe").one_of(
        *("".join(letters) for letters in itertools.permutations("CWDP"))
    ),
    "Transaction_Scheduling_Policy": differs(
        "OUT_OF_ORDER",
        "device.timing.order device.timing.read_first",
        "reads first, then in order of arrival",
    ).one_of("OUT_OF_ORDER", "PRIORITY_OUT_OF_ORDER", "FLIN"),
    "Overprovisioning_Ratio": differs(
        0.07, "device.over_provisioning", "spare / whole there, spare / logical here"
    ).within(0.001, 0.9),
    "GC_Exec_Threshold": differs(
        0.05, "", "free blocks of a plane there, with `dftl` of the device here"
    ).within(0, 0.9),
    "GC_Block_Selection_Policy": taken("RGA", "").one_of(
        "RGA", "GREEDY", "RANDOM", "RANDOM_P", "RANDOM_PP", "FIFO"
    ),
    "Use_Copyback_for_GC": taken(False, "device.timing.copy"),
    "Preemptible_GC_Enabled": told(True, "a host's page pays for its share of collection here", False),
    "GC_Hard_Threshold": unused(0.005, "only where collection is preempted"),
    "Dynamic_Wearleveling_Enabled": taken(True, "ftl.page.wear"),
    "Static_Wearleveling_Enabled": taken(True, "ftl.page.wear"),
    "Static_Wearleveling_Threshold": taken(100, "ftl.page.wear").within(1),
    "Preferred_suspend_erase_time_for_read": unused(
        700000, "MQSim itself reads the key `Prefered_...` and takes its default"
    ),
    "Prefered_suspend_erase_time_for_read": told(700000, _OUTSIDE),
    "Preferred_suspend_erase_time_for_write": told(700000, "no write interrupts here"),
    "Preferred_suspend_write_time_for_read": told(100000, _OUTSIDE),
    "Flash_Channel_Count": count(8, "device.shape.channels"),
    "Flash_Channel_Width": count(1, "device.timing.transfer_ns_per_byte"),
    "Channel_Transfer_Rate": differs(300, "device.timing.transfer_ns_per_byte", "").within(1, 100_000),
    "Chip_No_Per_Channel": differs(
        4, "device.shape.dies_per_channel", "a busy chip takes no second command, so a chip is a die here"
    ).within(1),
    "Flash_Comm_Protocol": taken("NVDDR2", "").one_of("NVDDR2"),
}

_TYPES = "device.timing.read_us device.timing.page_types"
_PROGRAMS = "device.timing.program_us device.timing.page_types"

FLASH = {
    "Flash_Technology": taken("MLC", "device.rules.bits_per_cell").one_of("SLC", "MLC", "TLC"),
    "CMD_Suspension_Support": taken("ERASE", _SUSPEND).one_of("NONE", "ERASE", "PROGRAM", "PROGRAM_ERASE"),
    "Page_Read_Latency_LSB": taken(75000, _TYPES).within(1),
    "Page_Read_Latency_CSB": taken(75000, _TYPES),
    "Page_Read_Latency_MSB": taken(75000, _TYPES),
    "Page_Program_Latency_LSB": taken(750000, _PROGRAMS).within(1),
    "Page_Program_Latency_CSB": taken(750000, _PROGRAMS),
    "Page_Program_Latency_MSB": taken(750000, _PROGRAMS),
    "Block_Erase_Latency": taken(3800000, "device.timing.erase_us").within(1),
    "Block_PE_Cycles_Limit": count(10000, "device.rules.endurance"),
    "Suspend_Erase_Time": differs(700000, _SUSPEND, "the time until a read can begin"),
    "Suspend_Program_Time": told(100000, "one time of suspension here, the erase's"),
    "Die_No_Per_Chip": differs(2, "device.shape.planes_per_die", "the planes of all dies of a chip").within(
        1
    ),
    "Plane_No_Per_Die": differs(2, "device.shape.planes_per_die", "the planes of all dies of a chip").within(
        1
    ),
    "Block_No_Per_Plane": count(2048, "device.shape.blocks_per_plane"),
    "Page_No_Per_Block": count(256, "device.shape.pages_per_block"),
    "Page_Capacity": taken(8192, "device.shape.page_bytes").within(512, 1 << 20),
    "Page_Metadat_Capacity": taken(1872, "device.shape.spare_bytes").within(16, 1 << 16),
}

STATIC = "an address has its die, over channels first; the order of the letters has no counterpart"
GC_BLOCKS = 10
"""MQSim always collects with fewer free blocks on a plane, whatever the threshold."""
FILLED = 5
"""Spare blocks of a plane that `page` fills for host, moved and cold pages, or keeps for the balance."""
VICTIMS: dict[str, Any] = {"GREEDY": "greedy", "FIFO": "fifo"}
BITS = {"SLC": 1, "MLC": 2, "TLC": 3}


class Device:
    """A device as ssdconfig.xml describes it."""

    def __init__(self, path: str, instead: Mapping[str, str]) -> None:
        """Reads the file; `instead` replaces values.

        Raises:
            OSError: The file cannot be read.
            ConfigError: It is not MQSim's, or has an impossible key or value.

        """
        root = read_xml(path, ROOT).check(path, "Host_Parameter_Set", "Device_Parameter_Set")
        self.host = _values(root, "Host_Parameter_Set", HOST, path, instead)
        device = _part(root, "Device_Parameter_Set", path)
        self.values = Values(NAME, DEVICE, device.values(path, "Flash_Parameter_Set"), instead)
        self.flash = _values(device, "Flash_Parameter_Set", FLASH, path, instead)

    @property
    def groups(self) -> list[Values]:
        """All values, in the file's order."""
        return [self.host, self.values, self.flash]

    @property
    def pages(self) -> int:
        """Physical pages."""
        return self.planes * self.flash.whole("Block_No_Per_Plane") * self.flash.whole("Page_No_Per_Block")

    @property
    def planes(self) -> int:
        """Planes of the whole device."""
        chips = self.values.whole("Flash_Channel_Count") * self.values.whole("Chip_No_Per_Channel")
        return chips * self.flash.whole("Die_No_Per_Chip") * self.flash.whole("Plane_No_Per_Die")

    @property
    def has_whole_map(self) -> bool:
        """Whether the map is in memory."""
        return self.values.flag("Ideal_Mapping_Table")

    @property
    def logical_bytes(self) -> int:
        """Bytes for the host, rounded down as there."""
        pages = int(self.pages * (1 - self.values.number("Overprovisioning_Ratio")))
        return pages * self.flash.whole("Page_Capacity")

    def dram_us(self, request_bytes: int) -> float:
        """The DRAM's time for a request: two columns, then bursts at the double rate."""
        whole = self.values.whole
        bursts = (
            min(request_bytes, whole("Data_Cache_DRAM_Row_Size"))
            // whole("Data_Cache_DRAM_Data_Busrt_Size")
            // 2
        )
        rows = max(1.0, request_bytes / whole("Data_Cache_DRAM_Row_Size"))
        row_ns = whole("Data_Cache_DRAM_tRCD") + whole("Data_Cache_DRAM_tCL")
        return rows * (row_ns + bursts * 1000 / whole("Data_Cache_DRAM_Data_Rate")) / 1000

    def flat(self) -> dict[str, Any]:
        """The tables `ftl` and `device`."""
        return self._ftl() | self._shape() | self._timing() | self._link()

    def _shape(self) -> dict[str, Any]:
        values, flash = self.values, self.flash
        bits = BITS[flash.text("Flash_Technology")]
        return {
            "device.over_provisioning": ratio(values.number("Overprovisioning_Ratio")),
            "device.shape.channels": values.whole("Flash_Channel_Count"),
            "device.shape.dies_per_channel": values.whole("Chip_No_Per_Channel"),
            "device.shape.planes_per_die": flash.whole("Die_No_Per_Chip") * flash.whole("Plane_No_Per_Die"),
            "device.shape.blocks_per_plane": flash.whole("Block_No_Per_Plane"),
            "device.shape.pages_per_block": flash.whole("Page_No_Per_Block"),
            "device.shape.page_bytes": flash.whole("Page_Capacity"),
            "device.shape.spare_bytes": flash.whole("Page_Metadat_Capacity"),
            **rules(flash.whole("Block_PE_Cycles_Limit"), bits),
        }

    def _timing(self) -> dict[str, Any]:
        flash, values = self.flash, self.values
        types = {"SLC": ["LSB"], "MLC": ["LSB", "MSB"], "TLC": ["LSB", "CSB", "MSB"]}[
            flash.text("Flash_Technology")
        ]
        for kind in {"LSB", "CSB", "MSB"} - set(types):
            for key in (f"Page_Read_Latency_{kind}", f"Page_Program_Latency_{kind}"):
                flash.say(key, UNUSED, f"no such pages with {flash.text('Flash_Technology')}")
        rate = values.whole("Channel_Transfer_Rate")
        ns = 1000 // rate
        acts = f"acts as {1000 / ns:.0f} MT/s" if ns else "takes no time"
        values.say(
            "Channel_Transfer_Rate",
            DIFFERS,
            f"MQSim truncates to whole ns: {rate} MT/s {acts}",
            DEVICE["Channel_Transfer_Rate"].to,
        )
        read, program = (
            [flash.number(f"Page_{what}_Latency_{kind}") / 1000 for kind in types]
            for what in ("Read", "Program")
        )
        flat = cell_times(read, program) | {
            "device.timing.erase_us": flash.number("Block_Erase_Latency") / 1000,
            "device.timing.transfer_ns_per_byte": ns / values.whole("Flash_Channel_Width"),
            # A read moves the sectors it needs over the channel.
            "device.timing.read_transfer": "sectors",
            "device.timing.copy": "copyback" if values.flag("Use_Copyback_for_GC") else "external",
            "device.timing.plane_overlap": "none",
            "device.timing.read_first": True,
        }
        if values.text("Transaction_Scheduling_Policy") == "FLIN":
            values.say(
                "Transaction_Scheduling_Policy",
                TOLD,
                "no fairness between flows here: reads first, then in order",
            )
        return flat | self._suspend()

    def _suspend(self) -> dict[str, Any]:
        flash = self.flash
        support = flash.text("CMD_Suspension_Support")
        if support == "NONE":
            for key in ("Suspend_Erase_Time", "Suspend_Program_Time"):
                flash.say(key, UNUSED, "without suspension")
            return {}
        if support == "ERASE":
            flash.say("Suspend_Program_Time", UNUSED, "programs are not suspended")
        key = "Suspend_Program_Time" if support == "PROGRAM" else "Suspend_Erase_Time"
        suspend = {"suspend_us": flash.number(key) / 1000, "resume_us": 0, "programs": support != "ERASE"}
        return {"device.timing.suspend": suspend}

    def _link(self) -> dict[str, Any]:
        rate = self.host.number("PCIe_Lane_Bandwidth") * self.host.whole("PCIe_Lane_Count") * 1000
        return {"device.link.read_mb_s": rate, "device.link.write_mb_s": rate}

    def _reserve(self) -> int:
        """A plane's free blocks when MQSim begins to collect."""
        share = self.values.number("GC_Exec_Threshold")
        return max(GC_BLOCKS, int(share * self.flash.whole("Block_No_Per_Plane")))

    def _kept_free(self) -> int:
        """The same, as far as a plane has so many spare blocks besides those that `page` fills."""
        spare = self.values.number("Overprovisioning_Ratio") * self.flash.whole("Block_No_Per_Plane")
        return max(2, min(self._reserve(), int(spare) - FILLED))

    def _victim(self) -> Any:  # noqa: ANN401 - a word or a table
        policy = self.values.text("GC_Block_Selection_Policy")
        if policy == "RGA":
            drawn = max(1, int(math.log2(self.flash.whole("Block_No_Per_Plane"))))
            return {"d_choices": {"choices": drawn}}
        if policy in ("RANDOM_P", "RANDOM_PP"):
            self.values.say(
                "GC_Block_Selection_Policy",
                TOLD,
                "blocks above a number of stale pages there; any block here",
            )
        return VICTIMS.get(policy, "random")

    def _ftl(self) -> dict[str, Any]:
        values = self.values
        ftl = "ftl.page" if values.flag("Ideal_Mapping_Table") else "ftl.dftl"
        # The page map counts a plane's blocks, DFTL a die's.
        of_chip = self.flash.whole("Die_No_Per_Chip") * self.flash.whole("Plane_No_Per_Die")
        planes = 1 if ftl == "ftl.page" else of_chip
        reserve, meant = self._kept_free() * planes, self._reserve() * planes
        least = f"never below {GC_BLOCKS} a plane there"
        if reserve < meant:
            least += f"; {meant} of this one there, {reserve} here for want of spare blocks"
        values.say(
            "GC_Exec_Threshold",
            DIFFERS,
            f"{DEVICE['GC_Exec_Threshold'].note}; {least}",
            f"{ftl}.reserve_blocks",
        )
        victim = self._victim()
        if values.table["GC_Block_Selection_Policy"].fate != TOLD:
            values.say("GC_Block_Selection_Policy", "taken", "", f"{ftl}.victim")
        flat = {f"{ftl}.victim": victim, f"{ftl}.reserve_blocks": reserve}
        if ftl == "ftl.page":
            values.say("CMT_Capacity", UNUSED, "the whole map is in memory")
            return flat | {"ftl.page.wear": self._wear(), "ftl.page.stripe": self._stripe()}
        for key in (
            "Dynamic_Wearleveling_Enabled",
            "Static_Wearleveling_Enabled",
            "Static_Wearleveling_Threshold",
        ):
            matters = (
                values.flag(key) if key.endswith("Enabled") else values.flag("Static_Wearleveling_Enabled")
            )
            values.say(
                key,
                TOLD if matters else UNUSED,
                "`dftl` levels no wear; `page` does (Ideal_Mapping_Table true)",
            )
        values.say("Plane_Allocation_Scheme", DIFFERS, STATIC, "ftl.dftl.allocation")
        return flat | {"ftl.dftl.cmt_entries": self._entries(), "ftl.dftl.allocation": "static"}

    def _stripe(self) -> dict[str, Any]:
        order = self.values.text("Plane_Allocation_Scheme")
        return {"address": {"order": order, "planes": self.flash.whole("Plane_No_Per_Die")}}

    def _wear(self) -> Any:  # noqa: ANN401 - a word or a table
        values = self.values
        if values.flag("Static_Wearleveling_Enabled"):
            return {"threshold": {"erases": values.whole("Static_Wearleveling_Threshold")}}
        values.say("Static_Wearleveling_Threshold", UNUSED, "without static wear levelling")
        return "dynamic" if values.flag("Dynamic_Wearleveling_Enabled") else "none"

    def _entries(self) -> int:
        """Map entries in memory: two addresses and a bit for each sector."""
        bits = 2 * math.log2(self.pages) + self.flash.whole("Page_Capacity") // 512
        return max(2, self.values.whole("CMT_Capacity") // math.ceil(bits / 8))


def _part(root: Element, tag: str, path: str) -> Element:
    found = root.all(tag)
    if len(found) > 1:
        raise ConfigError(f"{path}, line {found[1].line}: {tag} is there twice")
    return found[0] if found else Element(tag, root.line)


def _values(root: Element, tag: str, table: dict[str, Key], path: str, instead: Mapping[str, str]) -> Values:
    return Values(NAME, table, _part(root, tag, path).values(path), instead)
