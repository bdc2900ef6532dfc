"""MQSim: device and flows put together."""

from __future__ import annotations

from nandlab._native import ConfigError
from nandlab.importing.imported import Imported
from nandlab.importing.keys import TAKEN, UNUSED, Values
from nandlab.importing.mqsim import NAME, Device
from nandlab.importing.mqsim_cache import cache
from nandlab.importing.mqsim_flows import Scenario
from nandlab.importing.parts import NO_WORKLOAD, uniform_writes
from nandlab.importing.request import Request

COMPARABLE = (
    "Compare latencies: MQSim divides requests by whole seconds, so its IOPS are too high, or infinite below "
    "one second. IOPS are depth / mean latency."
)


def imported(request: Request) -> Imported:
    """The experiment for ssdconfig.xml, and workload.xml where it is given.

    Raises:
        OSError: A file cannot be read.
        ConfigError: A file cannot be imported.

    """
    if len(request.files) > 2:
        raise ConfigError(f"expected ssdconfig.xml and workload.xml, given {len(request.files)} files")
    device = Device(request.files[0], request.instead)
    groups, notes = device.groups, [COMPARABLE]
    flows: list[Values]
    ftl_and_device = device.flat()
    if len(request.files) == 1:
        flat, flows, size = uniform_writes(), [], 4096
        fetched = device.values.whole("Queue_Fetch_Size")
        if fetched < flat["host.queue_depth"]:
            flat["host.queue_depth"] = fetched
            device.values.say("Queue_Fetch_Size", TAKEN, "", "host.queue_depth")
        else:
            device.values.say("Queue_Fetch_Size", UNUSED, "fewer requests are outstanding")
        notes.append(NO_WORKLOAD)
    else:
        scenario = Scenario(request.files[1], request.scenario, device, request.instead)
        flat, more = scenario.flat(request.folder)
        notes += more
        groups += scenario.flows
        flows, size = scenario.flows, scenario.request_bytes()
        if scenario.count > 1:
            notes.append(
                f"This is scenario {request.scenario} of {scenario.count}; --scenario imports another one."
            )
    flat = {"seed": device.values.whole("Seed")} | flat | ftl_and_device
    flat["seed"] = device.values.whole("Seed")
    cached, more = cache(device, flows, size)
    flat |= cached
    notes += more
    rows = tuple(row for group in groups for row in group.rows(flat))
    return Imported(NAME, request.files, flat, rows, tuple(notes))
