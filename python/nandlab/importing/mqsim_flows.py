"""MQSim: the flows in workload.xml, as fio jobs or as a trace."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nandlab._native import ConfigError
from nandlab.importing.keys import DIFFERS, TOLD, UNUSED, Key, Values, differs, taken, told, unused
from nandlab.importing.mqsim import NAME, Device
from nandlab.importing.xml_file import Element, read_xml

ROOT = "MQSim_IO_Scenarios"
SYNTHETIC, TRACE = "IO_Flow_Parameter_Set_Synthetic", "IO_Flow_Parameter_Set_Trace_Based"

_JOB = "workload.fio"
_PARTS = (
    "a flow has all channels, chips, dies and planes here: where flash is the limit, it is as much faster "
    "here as its part is smaller there"
)

FLOW: dict[str, Key] = {
    "Priority_Class": told("HIGH", "no priorities between flows: an urgent one is faster there", "HIGH"),
    "Device_Level_Data_Caching_Mode": taken("WRITE_CACHE", "").one_of(
        "WRITE_CACHE", "READ_CACHE", "WRITE_READ_CACHE", "TURNED_OFF"
    ),
    "Channel_IDs": told("", _PARTS),
    "Chip_IDs": told("", _PARTS),
    "Die_IDs": told("", _PARTS),
    "Plane_IDs": told("", _PARTS),
    "Initial_Occupancy_Percentage": taken(0, "precondition.fill").within(0, 100),
}
GENERATED = FLOW | {
    "Working_Set_Percentage": differs(85, _JOB, "of the flow's slice; each flow has an equal one").within(
        1, 100
    ),
    "Synthetic_Generator_Type": taken("QUEUE_DEPTH", _JOB).one_of("QUEUE_DEPTH", "BANDWIDTH"),
    "Read_Percentage": taken(100, _JOB).within(0, 100),
    "Address_Distribution": taken("RANDOM_UNIFORM", _JOB).one_of(
        "STREAMING", "RANDOM_UNIFORM", "RANDOM_HOTCOLD"
    ),
    "Percentage_of_Hot_Region": taken(0, _JOB).within(0, 100),
    "Generated_Aligned_Addresses": taken(True, _JOB),
    "Address_Alignment_Unit": taken(16, _JOB, "sectors").within(1),
    "Request_Size_Distribution": taken("FIXED", _JOB)
    .one_of("FIXED", "NORMAL")
    .never(NORMAL="no normal distribution of sizes here; FIXED takes the mean"),
    "Average_Request_Size": taken(8, _JOB, "sectors").within(1, 1 << 20),
    "Variance_Request_Size": unused(0, "sizes are fixed"),
    "Seed": taken(123, _JOB, "other random numbers all the same"),
    "Average_No_of_Reqs_in_Queue": taken(2, _JOB).within(1, 65536),
    "Bandwidth": taken(262144, _JOB),
    "Intensity": unused(32768, "no code of MQSim reads it"),
    "Stop_Time": taken(1_000_000_000, _JOB),
    "Total_Requests_To_Generate": taken(0, _JOB),
}
REPLAYED = FLOW | {
    "File_Path": differs(
        "", "workload.trace.path", "MQSim ignores a line's device; here devices lie one behind the other"
    ),
    "Percentage_To_Be_Executed": told(
        100, "all requests are played; workload.trace.requests plays fewer", 100
    ),
    "Relay_Count": taken(1, "workload.trace.repeat").within(1, 10**6),
    "Time_Unit": taken("NANOSECOND", "workload.trace.time_unit").one_of(
        "PICOSECOND", "NANOSECOND", "MICROSECOND"
    ),
}


FETCHED = (
    "the most requests of a flow in the device, its iodepth here; the wait of the others in the flow's queue "
    "counts in MQSim's latency alone: with {depth} of them and {most} fetched its mean is {times} times as "
    "long"
)
ARRIVALS_FETCHED = (
    "the most requests of a flow in the device; a latency counts from there, and from the arrival in MQSim"
)
TRACE_FETCHED = (
    "a trace's requests reach the device at their times here; a small number lets a burst wait in its queue "
    "there, which lengthens it and leaves dies free for other flows"
)

PARTS = {
    "Channel_IDs": "Flash_Channel_Count",
    "Chip_IDs": "Chip_No_Per_Channel",
    "Die_IDs": "Die_No_Per_Chip",
    "Plane_IDs": "Plane_No_Per_Die",
}
"""A flow's parts of the device, and the device's key for their number."""


class Scenario:
    """One scenario: its flows over a device."""

    def __init__(self, path: str, number: int, device: Device, instead: Mapping[str, str]) -> None:
        """Reads the file.

        Args:
            path: The file.
            number: The scenario, from 1.
            device: The device, for sizes.
            instead: Values in place of the file's.

        Raises:
            OSError: The file cannot be read.
            ConfigError: It is not MQSim's, or nothing here plays it.

        """
        scenarios = read_xml(path, ROOT).check(path, "IO_Scenario").all("IO_Scenario")
        if not 1 <= number <= len(scenarios):
            raise ConfigError(f"{path}: there is no scenario {number}; it has {len(scenarios)}")
        self.path, self.device, self.count = path, device, len(scenarios)
        self.instead = instead
        flows = scenarios[number - 1].inner
        if not flows:
            raise ConfigError(f"{path}, line {scenarios[number - 1].line}: the scenario has no flow")
        self.flows = [self._values(flow, at + 1 if len(flows) > 1 else 0) for at, flow in enumerate(flows)]
        self.is_trace = flows[0].tag == TRACE
        if self.is_trace and len(flows) > 1 or any(flow.tag == TRACE for flow in flows[1:]):
            raise ConfigError(
                f"{path}, line {flows[0].line}: a trace beside other flows; here one trace plays by itself"
            )

    def _values(self, flow: Element, number: int) -> Values:
        if flow.tag not in (SYNTHETIC, TRACE):
            raise ConfigError(f"{self.path}, line {flow.line}: {NAME} has no flow {flow.tag}")
        table = GENERATED if flow.tag == SYNTHETIC else REPLAYED
        return Values(NAME, table, flow.values(self.path), self.instead, f"flow {number}: " if number else "")

    def flat(self, folder: str) -> tuple[dict[str, Any], list[str]]:
        """The tables `workload`, `host` and `precondition`, and sentences about them.

        Args:
            folder: Folder for the experiment: the trace's path starts there.

        """
        for flow in self.flows:
            self._shares(flow)
        self._fetched()
        if self.is_trace:
            flat, notes = self._trace(self.flows[0], folder)
        else:
            jobs = [self._job(flow, at) for at, flow in enumerate(self.flows)]
            # Without a name each job has a file of its own, with the offset as a gap at its start.
            head = ["[global]", "filename=drive", "ioengine=libaio", "norandommap"]
            text = "\n".join([*head, *(line for job in jobs for line in job)])
            flat, notes = {"workload.fio.text": text + "\n"}, []
        fill, more = self._precondition()
        return flat | fill, notes + more

    @property
    def reads_alone(self) -> bool:
        """Whether no flow writes."""
        return not self.is_trace and all(flow.whole("Read_Percentage") == 100 for flow in self.flows)

    @property
    def fetched(self) -> int:
        """The most requests of a flow that the device takes from its queue at once."""
        return self.device.values.whole("Queue_Fetch_Size")

    def _fetched(self) -> None:
        """Says what becomes of `Queue_Fetch_Size`."""
        values, most = self.device.values, self.fetched
        if self.is_trace:
            values.say("Queue_Fetch_Size", TOLD, TRACE_FETCHED)
            return
        closed = [flow for flow in self.flows if flow.text("Synthetic_Generator_Type") == "QUEUE_DEPTH"]
        depth = max((flow.whole("Average_No_of_Reqs_in_Queue") for flow in closed), default=0)
        if len(closed) == len(self.flows) and depth <= most:
            values.say("Queue_Fetch_Size", UNUSED, f"no flow has more than {depth} requests outstanding")
        elif depth > most:
            note = FETCHED.format(depth=depth, most=most, times=round(depth / most, 2))
            values.say("Queue_Fetch_Size", DIFFERS, note, _JOB)
            for flow in closed:
                if flow.whole("Average_No_of_Reqs_in_Queue") > most:
                    flow.say("Average_No_of_Reqs_in_Queue", DIFFERS, "as Queue_Fetch_Size", _JOB)
        else:
            values.say("Queue_Fetch_Size", DIFFERS, ARRIVALS_FETCHED, _JOB)

    def request_bytes(self) -> int:
        """A request's mean size."""
        if self.is_trace:
            return 4096
        sizes = [flow.whole("Average_Request_Size") * 512 for flow in self.flows]
        return sum(sizes) // len(sizes)

    def parts(self) -> dict[str, int]:
        """The device's keys of which all flows use the same part, and how much of it."""
        found = {}
        for ids, key in PARTS.items():
            sets = {frozenset(flow.text(ids).split(",")) if ids in flow else None for flow in self.flows}
            used = next(iter(sets))
            if len(sets) == 1 and used and len(used) < self._count(key):
                found[key] = len(used)
        return found

    def _count(self, key: str) -> int:
        values = self.device.values
        return (values if key in values.table else self.device.flash).whole(key)

    def _shares(self, flow: Values) -> None:
        for ids, key in PARTS.items():
            if ids not in flow or len(set(flow.text(ids).split(","))) == self._count(key):
                flow.say(ids, UNUSED, "all, as here")
        if flow.text("Device_Level_Data_Caching_Mode") == "READ_CACHE":
            flow.say(
                "Device_Level_Data_Caching_Mode",
                TOLD,
                "writes pass the cache there; [buffer.lru] keeps reads and writes",
            )

    def _trace(self, flow: Values, folder: str) -> tuple[dict[str, Any], list[str]]:
        given = flow.text("File_Path")
        if not given:
            raise ConfigError(f"{self.path}: File_Path: a trace has a path")
        # MQSim starts in its own folder, beside its release's files.
        places = [Path(given), Path(self.path).parent / given]
        found = next((place for place in places if place.exists()), None)
        if found is None:
            raise flow.refuse("File_Path", f"there is no such file, nor beside {self.path}")
        unit = {"PICOSECOND": "ns", "NANOSECOND": "ns", "MICROSECOND": "us"}[flow.text("Time_Unit")]
        flat = {
            "workload.trace.path": os.path.relpath(found.absolute(), Path(folder).absolute()),
            "workload.trace.format": "mqsim",
            "workload.trace.time_unit": unit,
            "workload.trace.addresses": "fold",
            "workload.trace.side_by_side": True,
            "workload.trace.repeat": flow.whole("Relay_Count"),
            "host.arrival": "recorded",
        }
        if flow.text("Time_Unit") == "PICOSECOND":
            flat["workload.trace.time_scale"] = 0.001
        return flat, ["Addresses beyond the device begin anew at its start, as in MQSim."]

    def _job(self, flow: Values, at: int) -> list[str]:
        size = flow.whole("Average_Request_Size") * 512
        page = self.device.flash.whole("Page_Capacity")
        # A page less for each flow: the device here may round the other way.
        slice_bytes = self.device.logical_bytes // len(self.flows) - page
        used = int(slice_bytes * flow.whole("Working_Set_Percentage") / 100) // page * page
        if used < size:
            raise flow.refuse("Working_Set_Percentage", f"{used} bytes hold no request of {size} bytes")
        aligned = flow.flag("Generated_Aligned_Addresses")
        align = flow.whole("Address_Alignment_Unit") * 512 if aligned else 512
        if not aligned:
            flow.say("Address_Alignment_Unit", UNUSED, "addresses are not aligned")
        lines = [
            "",
            f"[flow{at + 1}]",
            f"offset={slice_bytes // page * page * at}",
            f"size={used}",
            f"bs={size}",
        ]
        lines += [f"blockalign={align}", f"randseed={flow.whole('Seed')}"]
        return lines + self._what(flow) + self._when(flow, size) + self._end(flow, size)

    def _what(self, flow: Values) -> list[str]:
        reads, where = flow.whole("Read_Percentage"), flow.text("Address_Distribution")
        random = "rand" if where != "STREAMING" else ""
        if where != "RANDOM_HOTCOLD":
            flow.say("Percentage_of_Hot_Region", UNUSED, f"only with RANDOM_HOTCOLD, given {where}")
        if where == "STREAMING" and flow.flag("Generated_Aligned_Addresses"):
            flow.say("Address_Alignment_Unit", UNUSED, "a stream goes on where it is")
        if reads in (0, 100):
            lines = [f"rw={random}{'read' if reads else 'write'}"]
        else:
            lines = [f"rw={random}rw" if random else "rw=rw", f"rwmixread={reads}"]
        hot = flow.whole("Percentage_of_Hot_Region")
        if where == "RANDOM_HOTCOLD" and 0 < hot < 100:
            lines.append(f"random_distribution=zoned:{100 - hot}/{hot}:{hot}/{100 - hot}")
        return lines

    def _when(self, flow: Values, size: int) -> list[str]:
        if flow.text("Synthetic_Generator_Type") == "QUEUE_DEPTH":
            flow.say("Bandwidth", UNUSED, "only with BANDWIDTH")
            return [f"iodepth={min(flow.whole('Average_No_of_Reqs_in_Queue'), self.fetched)}"]
        rate = flow.whole("Bandwidth") // size
        if rate < 1:
            raise flow.refuse("Bandwidth", f"less than one request of {size} bytes a second")
        flow.say("Average_No_of_Reqs_in_Queue", UNUSED, "only with QUEUE_DEPTH")
        waits = f"arrivals wait in front of the device while {self.fetched:,} requests are in it"
        flow.say("Bandwidth", DIFFERS, waits, _JOB)
        return [f"iodepth={self.fetched}", f"rate_iops={rate}", "rate_process=poisson"]

    def _end(self, flow: Values, size: int) -> list[str]:
        stop_ns, requests = flow.whole("Stop_Time"), flow.whole("Total_Requests_To_Generate")
        if stop_ns:
            flow.say("Total_Requests_To_Generate", UNUSED, "only where Stop_Time is 0")
            return ["time_based", f"runtime={max(1, stop_ns // 1000)}us"]
        if not requests:
            raise flow.refuse(
                "Total_Requests_To_Generate", "with Stop_Time 0 the flow has no end; set one of the two"
            )
        return [f"io_size={requests * size}"]

    def _precondition(self) -> tuple[dict[str, Any], list[str]]:
        share = max(flow.whole("Initial_Occupancy_Percentage") for flow in self.flows) / 100
        reads = self.is_trace or any(flow.whole("Read_Percentage") for flow in self.flows)
        if self.device.values.flag("Enabled_Preconditioning") and share:
            return {"precondition.fill": share, "precondition.overwrites": 1.0}, []
        self.device.values.say("Enabled_Preconditioning", UNUSED, "no preconditioning")
        for flow in self.flows:
            flow.say("Initial_Occupancy_Percentage", UNUSED, "without preconditioning")
        if not reads:
            return {}, []
        note = "Reads of pages never written cost flash reads in MQSim and none here, so a fill comes before."
        return {"precondition.fill": "sequential"}, [note]
