"""MQSim: device and flows put together."""

from __future__ import annotations

from nandlab._native import ConfigError
from nandlab.importing.imported import Imported
from nandlab.importing.keys import DIFFERS, TAKEN, UNUSED, Values
from nandlab.importing.mqsim import NAME, Device
from nandlab.importing.mqsim_cache import cache
from nandlab.importing.mqsim_flows import Scenario
from nandlab.importing.parts import NO_WORKLOAD, uniform_writes
from nandlab.importing.request import Request

COMPARABLE = (
    "Compare latencies: MQSim divides requests by whole seconds, so its IOPS are too high, or infinite below "
    "one second. IOPS are depth / mean latency."
)

BLOCKS = "Block_No_Per_Plane"
FEW_BLOCKS = 256
FEWER = (
    "{blocks} there: the flows only read, so nothing is collected, and a read costs the same wherever its "
    f"page is; the fill takes less time. --instead {BLOCKS}={{blocks}} takes all"
)
PART = "all flows keep to the same {number} of {all}, so the device here has only those"


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
        device, scenario = _of_flows(request, device)
        groups, ftl_and_device = device.groups, device.flat()
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


def _of_flows(request: Request, device: Device) -> tuple[Device, Scenario]:
    """The device with the parts on which the flows depend, and the scenario on it."""
    scenario = Scenario(request.files[1], request.scenario, device, request.instead)
    fewer = {key: str(number) for key, number in scenario.parts().items() if key not in request.instead}
    blocks = device.flash.whole(BLOCKS)
    few = blocks > FEW_BLOCKS and scenario.reads_alone and device.has_whole_map
    if few and BLOCKS not in request.instead:
        fewer[BLOCKS] = str(FEW_BLOCKS)
    if not fewer:
        return device, scenario
    instead = {**request.instead, **fewer}
    smaller = Device(request.files[0], instead)
    for values, whole in ((smaller.values, device.values), (smaller.flash, device.flash)):
        for key, number in fewer.items():
            if key == BLOCKS and key in values.table:
                values.say(key, DIFFERS, FEWER.format(blocks=blocks))
            elif key in values.table:
                values.say(key, DIFFERS, PART.format(number=number, all=whole.whole(key)))
    return smaller, Scenario(request.files[1], request.scenario, smaller, instead)
