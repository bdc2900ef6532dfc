"""SimpleSSD: FILE.cfg of the SSD, and of SimpleSSD-Standalone with the workload."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from nandlab._native import ConfigError
from nandlab.importing.imported import Imported
from nandlab.importing.keys import TOLD, UNUSED, Found, Values
from nandlab.importing.lines_file import read_sections
from nandlab.importing.parts import NO_WORKLOAD, cell_times, ratio, rules, uniform_writes
from nandlab.importing.request import Request
from nandlab.importing.simplessd_keys import SECTIONS

NAME = "SimpleSSD"
SPARE_BYTES = 1024
WORKLOAD = ("global", "generator", "trace")
KINDS = {0: ["LSB"], 1: ["LSB", "MSB"], 2: ["LSB", "CSB", "MSB"]}
LANE_MB_S = {0: 250.0, 1: 500.0, 2: 984.6}
"""A PCIe lane's rate after its line code, by generation."""
PS_PER_US = 1e6
PREFIXES = {
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "K": 1 << 10,
    "M": 1 << 20,
    "G": 1 << 30,
    "T": 1 << 40,
}
UNWRITTEN = (
    "Reads of pages never written cost no flash read, here as there; FillRatio there and precondition.fill "
    "here write them before."
)
UNITS_US = {"s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3, "ps": 1e-6, "": 1e-6}


def imported(request: Request) -> Imported:
    """The experiment for the files, in any order.

    Raises:
        OSError: A file cannot be read.
        ConfigError: A file is cut, or has an impossible section, key or value.

    """
    found = _sections(request.files)
    groups = {
        name: Values(NAME, table, found.get(name, {}), _instead(request, name), f"{name}.")
        for name, table in SECTIONS.items()
        if name in found or name not in ("ufs", "sata", *WORKLOAD)
    }
    flat = _device(groups) | _link(groups)
    ftl = _ftl(groups["ftl"], groups["pal"])
    buffer = _buffer(groups["icl"])
    notes: list[str] = []
    if "global" in groups:
        work, notes = _workload(groups, request.folder)
    else:
        work = uniform_writes()
        notes = [NO_WORKLOAD]
    work |= _precondition(groups["ftl"])
    flat = {"seed": 1} | work | buffer | ftl | flat
    rows = tuple(row for values in groups.values() for row in values.rows(flat))
    return Imported(NAME, request.files, flat, rows, tuple(notes))


def _instead(request: Request, section: str) -> dict[str, str]:
    """The values for a section: a key stands alone or behind its section, as in icl.EvictPolicy."""
    given = {}
    for key, value in request.instead.items():
        table, _, name = key.rpartition(".")
        if table in ("", section):
            given[name] = value
    return given


def _sections(files: tuple[str, ...]) -> dict[str, dict[str, Found]]:
    merged: dict[str, dict[str, Found]] = {}
    for path in files:
        for name, found in read_sections(path).items():
            if name not in SECTIONS:
                raise ConfigError(f"{path}: {NAME} has no section [{name}]; it has {', '.join(SECTIONS)}")
            if name in merged:
                raise ConfigError(f"{path}: [{name}] is in two files")
            # One image for each name space.
            merged[name] = {
                re.sub(r"^(DiskImageFile)\d+$", r"\1", key): value for key, value in found.items()
            }
    if "pal" not in merged:
        raise ConfigError(f"{files[0]}: there is no section [pal], so no flash; is the file cut?")
    return merged


def _device(groups: dict[str, Values]) -> dict[str, Any]:
    pal, ftl = groups["pal"], groups["ftl"]
    kinds = KINDS[pal.whole("NANDType")]
    for kind in {"LSB", "CSB", "MSB"} - set(kinds):
        for key in (f"{kind}Read", f"{kind}Write"):
            pal.say(key, UNUSED, "no such pages in these cells")
    read, program = (
        [pal.number(f"{kind}{what}") / PS_PER_US for kind in kinds] for what in ("Read", "Write")
    )
    for kind, times in zip(kinds, zip(read, program, strict=True), strict=True):
        if not all(times):
            raise pal.refuse(
                f"{kind}Read", f"pages of {len(kinds)} bits a cell need {kind}Read and {kind}Write"
            )
    return {
        "device.over_provisioning": ratio(ftl.number("OverProvisioningRatio")),
        "device.shape.channels": pal.whole("Channel"),
        "device.shape.dies_per_channel": pal.whole("Package") * pal.whole("Die"),
        "device.shape.planes_per_die": pal.whole("Plane"),
        "device.shape.blocks_per_plane": pal.whole("Block"),
        "device.shape.pages_per_block": pal.whole("Page"),
        "device.shape.page_bytes": pal.whole("PageSize"),
        "device.shape.spare_bytes": SPARE_BYTES,
        **rules(ftl.whole("EraseThreshold"), len(kinds)),
        **cell_times(read, program),
        "device.timing.erase_us": pal.number("Erase") / PS_PER_US,
        "device.timing.transfer_ns_per_byte": 1000 / (pal.number("DMASpeed") * pal.whole("DMAWidth") / 8),
        "device.timing.plane_overlap": "multi_plane" if _is_multi(pal) else "none",
    }


def _is_multi(pal: Values) -> bool:
    return pal.flag("EnableMultiPlaneOperation") and pal.whole("Plane") > 1


def _link(groups: dict[str, Values]) -> dict[str, Any]:
    nvme = groups["nvme"]
    if "global" in groups and groups["global"].whole("Interface") == 0:
        for key in nvme.table:
            nvme.say(key, UNUSED, "Interface 0: requests go past it")
        return {}
    rate = LANE_MB_S[nvme.whole("PCIEGeneration")] * nvme.whole("PCIELane")
    return {"device.link.read_mb_s": rate, "device.link.write_mb_s": rate}


def _ftl(ftl: Values, pal: Values) -> dict[str, Any]:
    policy = ftl.whole("EvictPolicy")
    if policy != 3:
        ftl.say("DChoiceParam", UNUSED, "only with EvictPolicy 3")
    choices = ftl.whole("DChoiceParam") * ftl.whole("GCReclaimBlocks")
    victims: list[Any] = ["greedy", "cost_benefit_flash", "random", {"d_choices": {"choices": choices}}]
    if ftl.whole("GCMode") == 0:
        ftl.say("GCReclaimThreshold", UNUSED, "only with GCMode 1")
    else:
        ftl.say("GCReclaimBlocks", UNUSED, "only with GCMode 0")
    blocks = int(ftl.number("GCThreshold") * pal.whole("Block")) * pal.whole("Plane")
    return {"ftl.page.victim": victims[policy], "ftl.page.reserve_blocks": max(2, blocks)}


def _buffer(icl: Values) -> dict[str, Any]:
    reads, writes = icl.flag("EnableReadCache"), icl.flag("EnableWriteCache")
    if not icl.flag("EnableReadPrefetch"):
        icl.say("EnableReadPrefetch", UNUSED, "off, as here")
    if writes and icl.whole("CacheSize"):
        return {"buffer.lru.size": icl.whole("CacheSize"), "buffer.lru.cache_reads": reads}
    for key in ("CacheSize", "CacheWaySize", "EvictPolicy", "EvictMode"):
        icl.say(
            key, TOLD if reads else UNUSED, "no cache for reads alone here" if reads else "without a cache"
        )
    if reads:
        icl.say("EnableReadCache", TOLD, "no cache for reads alone here")
    return {}


def _precondition(ftl: Values) -> dict[str, Any]:
    share = ftl.number("FillRatio")
    if not share:
        for key in ("FillingMode", "InvalidPageRatio"):
            ftl.say(key, UNUSED, "FillRatio 0: no fill")
        return {}
    is_random = ftl.whole("FillingMode") == 2
    if is_random and share < 1:
        ftl.say("FillingMode", TOLD, "a partial fill is in order here")
    fill: Any = share if share < 1 else "random" if is_random else "sequential"
    return {"precondition.fill": fill, "precondition.overwrites": ftl.number("InvalidPageRatio")}


def _workload(groups: dict[str, Values], folder: str) -> tuple[dict[str, Any], list[str]]:
    top = groups["global"]
    name, other = ("generator", "trace") if top.whole("Mode") == 0 else ("trace", "generator")
    if other in groups:
        for key in groups[other].table:
            groups[other].say(key, UNUSED, f"Mode {top.whole('Mode')}")
    if name not in groups:
        raise top.refuse("Mode", f"there is no section [{name}]")
    latency = sum(_time_us(top, key) for key in ("SubmissionLatency", "CompletionLatency"))
    flat: dict[str, Any] = {"device.controller.latency_us": latency} if latency else {}
    if name == "trace":
        return _trace(groups["trace"], folder) | flat, []
    lines = ["[generator]", "ioengine=libaio", *_job(groups["generator"])]
    reads = "write" not in groups["generator"].text("readwrite")
    notes = [UNWRITTEN] * reads
    return {"workload.fio.text": "\n".join(lines) + "\n"} | flat, notes


def _trace(trace: Values, folder: str) -> dict[str, Any]:
    path = Path(trace.text("File"))
    if not path.is_file():
        raise trace.refuse("File", "there is no such file")
    flat: dict[str, Any] = {
        "workload.trace.path": os.path.relpath(path.absolute(), Path(folder).absolute()),
        "workload.trace.addresses": "fold",
    }
    if trace.whole("IOLimit"):
        flat["workload.trace.requests"] = trace.whole("IOLimit")
    mode = trace.whole("TimingMode")
    if mode != 1:
        trace.say("QueueDepth", UNUSED, "only with TimingMode 1")
    if mode == 2:
        return flat | {"host.arrival": "recorded"}
    return flat | {"host.arrival": "closed", "host.queue_depth": trace.whole("QueueDepth") if mode else 1}


def _job(job: Values) -> list[str]:
    kind = job.text("readwrite")
    size = _bytes(job, "blocksize")
    lines = [f"rw={'rw' if kind == 'readwrite' else kind}", f"bs={size}", f"randseed={job.whole('randseed')}"]
    if kind in ("readwrite", "randrw"):
        lines.append(f"rwmixread={round(job.number('rwmixread') * 100)}")
    else:
        job.say("rwmixread", UNUSED, f"only with readwrite and randrw, given {kind}")
    if kind.startswith("rand"):
        lines.append("norandommap")
        lines.append(f"blockalign={_bytes(job, 'blockalign') or size}")
    else:
        job.say("blockalign", UNUSED, "a stream goes on where it is")
    if job.text("iomode") == "async":
        lines.append(f"iodepth={max(1, job.whole('iodepth'))}")
    else:
        job.say("iodepth", UNUSED, "iomode is sync: one at a time")
    for key in ("offset", "size"):
        if _bytes(job, key):
            lines.append(f"{key}={_bytes(job, key)}")
    if _time_us(job, "thinktime"):
        lines.append(f"thinktime={max(1, round(_time_us(job, 'thinktime')))}us")
    return lines + _end(job)


def _end(job: Values) -> list[str]:
    if job.flag("time_based"):
        job.say("io_size", UNUSED, "time_based")
        runtime = round(_time_us(job, "runtime"))
        if not runtime:
            raise job.refuse("runtime", "time_based needs one")
        return ["time_based", f"runtime={runtime}us"]
    job.say("runtime", UNUSED, "only with time_based")
    if not _bytes(job, "io_size"):
        raise job.refuse("io_size", "the job moves nothing; give it bytes, or time_based")
    return [f"io_size={_bytes(job, 'io_size')}"]


def _bytes(values: Values, key: str) -> int:
    text = values.text(key)
    found = re.fullmatch(r"(\d+)\s*([kmgtKMGT]?)", text) if text else None
    if text and found is None:
        raise values.refuse(key, "expected bytes such as 4096, 4K or 16M")
    return int(found[1]) * PREFIXES.get(found[2], 1) if found else 0


def _time_us(values: Values, key: str) -> float:
    found = re.fullmatch(r"(\d+)\s*([munp]?s?)", values.text(key))
    if found is None or found[2] not in UNITS_US:
        raise values.refuse(key, "expected a time such as 5us, or picoseconds")
    return int(found[1]) * UNITS_US[found[2]]
