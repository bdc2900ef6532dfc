"""FEMU: the options behind `-device femu`. Source: `hw/femu/femu.c` and `hw/femu/bbssd` at 99ce4fb."""

from __future__ import annotations

import math
import re
from typing import Any

from nandlab._native import ConfigError
from nandlab.importing.femu_zones import zoned
from nandlab.importing.imported import Imported
from nandlab.importing.keys import (
    DIFFERS,
    TOLD,
    UNUSED,
    Found,
    Key,
    Values,
    count,
    differs,
    taken,
    told,
    unused,
)
from nandlab.importing.lines_file import is_there, read_text
from nandlab.importing.parts import NO_WORKLOAD, rules, uniform_writes
from nandlab.importing.request import Request

NAME = "FEMU"
SPARE_BYTES = 128
ENDURANCE = 100_000
LOG_BLOCKS = 16
"""Log blocks in its FAST and hybrid maps, constants there."""
ENTRY_BYTES = 8
MIB = 1 << 20
ZONED = "3"
"""`femu_mode` of a drive with zones."""

_TABLE = "a cell type takes FEMU's own table of times"
_VM = "of the virtual machine's interface"
_HANDLES = "ftl.page.placement.fdp.handles"
_BACKGROUND = "ftl.page.collection.background.free_blocks"
BACKGROUND = (
    "after each request FEMU empties a line while at most {free} lines are free, if an eighth of it is "
    "invalid; after each page here, a block of the page's die"
)

KEYS = {
    "devsz_mb": differs(1024, "device.over_provisioning", "MiB for the host; what is left is spare").within(
        1
    ),
    "op_pcent": differs(
        0, "device.over_provisioning", "percent of the host's size; 0 leaves it to devsz_mb"
    ).within(0, 300),
    "femu_mode": taken(2, "")
    .one_of("1", ZONED)
    .never(
        _0="its FTL is the host's (open channel); femu_mode=1 is an SSD with an FTL, 3 one with zones",
        _2="it has no flash (NoSSD); femu_mode=1 is an SSD with an FTL, 3 one with zones",
    ),
    "secsz": differs(512, "device.shape.page_bytes", "bytes a page are secsz x secs_per_pg").within(
        512, 4096
    ),
    "secs_per_pg": taken(8, "device.shape.page_bytes").within(1, 2048),
    "pgs_per_blk": count(256, "device.shape.pages_per_block"),
    "blks_per_pl": count(256, "device.shape.blocks_per_plane"),
    "pls_per_lun": count(1, "device.shape.planes_per_die"),
    "luns_per_ch": count(8, "device.shape.dies_per_channel"),
    "nchs": count(8, "device.shape.channels"),
    "pg_rd_lat": taken(40000, "device.timing.read_us"),
    "pg_wr_lat": taken(200000, "device.timing.program_us"),
    "blk_er_lat": taken(2000000, "device.timing.erase_us"),
    "ch_xfer_lat": unused(0, "FEMU ignores it; pg_xfer_lat is the channel's time"),
    "pg_xfer_lat": taken(0, "device.timing.transfer_ns_per_byte", "for a page there"),
    "cmd_addr_lat": taken(0, "device.timing.transfer_command_us"),
    "gc_thres_pcent": told(75, "").within(0, 100),
    "gc_thres_pcent_high": differs(95, "", "lines there, a block of each die; blocks of a die here").within(
        1, 99
    ),
    "gc_policy": taken("greedy", "").one_of("greedy", "random", "cost-benefit", "fifo", "d-choice", ""),
    "gc_strategy": told(0, "FEMU's other ways to collect", 0),
    "mapping": taken("page", "").one_of("page", "dftl", "fast", "hybrid", ""),
    "mapping_cache_mb": differs(0, "ftl.dftl.cmt_entries", "MiB of 8-byte entries there; 0 is 4 MiB").within(
        0, 1 << 20
    ),
    "read_cache_mb": told(0, "no cache for reads alone; [buffer.lru] keeps both", 0),
    "cache_evict": told("", "as read_cache_mb", ""),
    "nand_cell_type": told(0, _TABLE, 0),
    "cell_pages": unused(0, "only with pgtype_lat"),
    "pgtype_lat": told(0, "FEMU's factors by page type; device.timing.page_types holds times", 0),
    "ecc_step_ns": told(0, "no time of the ECC by wear; device.reliability has read retries", 0),
    "status_lat": told(0, "no time of the status command", 0),
    "tplpbsy": told(0, "no time between planes", 0),
    "tplrbsy": told(0, "no time between planes", 0),
    "tplebsy": told(0, "no time between planes", 0),
    "trcbsy": told(0, "device.timing.read_cache takes no time of its own", 0),
    "trim_lat_ns": told(0, "no time of a trim", 0),
    "nand_bad_blocks": told(0, "device.faults draws bad blocks by a rate", 0),
    "err_read_unc_ppm": told(0, "device.reliability has errors of cells", 0),
    "err_write_fail_ppm": told(0, "device.faults has failed programs", 0),
    "pcie_bandwidth_mbps": taken(0, "device.link.read_mb_s device.link.write_mb_s"),
    "pcie_prop_delay_ns": taken(0, "device.controller.latency_us"),
    "fw_cpu_ns": taken(0, "host.firmware_us"),
    "namespaces": told(1, "one name space here", 1),
    "queues": unused(8, _VM),
    "entries": unused(2047, _VM),
    "fdp.ruhs": taken("", _HANDLES),
    "fdp_trim_erase_all": told(0, "a trim erases no unit here; durable or not, it only invalidates", 0),
    "flash_type": unused(2, "only of open-channel drives"),
    "debug_ftl": unused(False, "messages"),
    "id": unused("", _VM),
    "serial": unused("", _VM),
    "subsys": unused("", _VM),
    "namespace_sizes": told("", "one name space here", ""),
    "namespace_modes": told("", "one name space here", ""),
}

SUBSYSTEM = {
    "id": unused("", _VM),
    "nqn": unused("", _VM),
    "fdp": taken(False, "ftl.page.placement.fdp"),
    "fdp.runs": differs("", "", "a unit is a block of each die here, as a line is there, whatever the bytes"),
    "fdp.nrg": count(1, "ftl.page.placement.fdp.groups"),
    "fdp.nruh": count(0, _HANDLES),
    "fdp.nru": unused("", "the number of lines; units here are as many as fit"),
}
"""Options behind `-device femu-subsys`."""

_OTHERS = (
    "multipoller_enabled poller_ratio hiops_inline max_cqes max_sqes stride aerl acl elpe mdts cqr vwc "
    "intc intc_thresh intc_time ms ms_max dlfeat mpsmin mpsmax nlbaf lba_index extended dpc dps mc meta "
    "cmbsz cmbloc oacs oncs sgl vid did lver lsec_size lsecs_per_pg lpgs_per_blk lmax_sec_per_rq lnum_ch "
    "lnum_lun lnum_pln lmetasize fdm_size nr_cu nr_thread time_slice context_switch_time "
    "csf_runtime_scale zns_num_ch zns_num_lun zns_num_plane zns_num_blk zns_flash_type zns_max_active "
    "zns_max_open zns_zd_ext_size zns_num_conv_zones zns_zone_cap zns_chnls_per_zone zns_zrwa_size "
    "zns_zrwafg_size zns_zrwa_num zns_cross_zone_read zns_zasl_bs"
)
OTHERS: dict[str, Key] = {key: unused("", "of the interface, or of another mode") for key in _OTHERS.split()}
"""Options without effect on an SSD with an FTL; a table has them only if they are given."""

MOST_HANDLES = 128
PLACED = (
    "The writes that stand in for a workload carry no identifier, so all go through handle 0: a trace's "
    "column placement or fio's fdp_pli names handles."
)
VICTIMS: dict[str, Any] = {
    "greedy": "greedy",
    "random": "random",
    "cost-benefit": "cost_benefit_flash",
    "fifo": "fifo",
    "d-choice": "d_choices",
}


def imported(request: Request) -> Imported:
    """The experiment for the options, or for a script with them.

    Raises:
        OSError: The script cannot be read.
        ConfigError: The options are cut, or have an impossible key or value.

    """
    given = request.only('"-device femu,..." or a script')
    source, found, of_subsystem = _found(given)
    mode = request.instead.get("femu_mode", found["femu_mode"].text if "femu_mode" in found else "0")
    if mode == ZONED:
        return zoned(source, found, request.instead, KEYS | OTHERS)
    values = Values(NAME, KEYS | {key: OTHERS[key] for key in found if key in OTHERS}, found, request.instead)
    if values.whole("femu_mode") != 1:
        raise ConfigError(
            f"{source}: femu_mode is missing, and 2 by default: it has no flash; give femu_mode=1"
        )
    subsystem = Values(NAME, SUBSYSTEM, of_subsystem, request.instead, "femu-subsys ")
    flat = uniform_writes() | _host(values) | _ftl(values) | _device(values)
    placement, notes = _placement(values, subsystem, any(key.startswith("ftl.page.") for key in flat))
    flat |= placement
    rows = (*values.rows(flat), *(subsystem.rows(flat) if of_subsystem else ()))
    return Imported(NAME, (source,), flat, rows, (NO_WORKLOAD, *notes))


def _found(given: str) -> tuple[str, dict[str, Found], dict[str, Found]]:
    """The source's name, and the options of the drive and of its subsystem by their names."""
    if "femu" in given and "," in given and not is_there(given):
        devices = [part.strip() for part in re.split(r"(?:^|\s)-?device\s", given) if part.strip()]
        others = [device for device in devices if device.startswith("femu-subsys")]
        drive = "".join(device for device in devices if device not in others)
        options = re.sub(r"^femu\s*,", "", drive)
        return "-device femu", _options(options.split(","), "-device femu"), _subsystem(others, given)
    if re.match(r"\s*-?device\s", given) and not is_there(given):
        raise ConfigError(f"{given}: expected -device femu,KEY=VALUE,... or a script with it")
    # A shell joins lines that end with a backslash.
    text = read_text(given).replace("\\\n", "")
    variables = dict(re.findall(r"^\s*(\w+)=[\"']?([\w.;-]+)", text, re.MULTILINE))
    words = re.findall(
        r"^(?!\s*#).*?(?:-device femu|FEMU_OPTIONS\}?\"(?=,))(,[^\"'\s]*)?", text, re.MULTILINE
    )
    if not words:
        raise ConfigError(f"{given}: there is no -device femu in this file")
    parts = [part for word in words if word for part in word[1:].split(",")]
    others = re.findall(r"^(?!\s*#).*?-device (femu-subsys,[^\"'\s]*)", text, re.MULTILINE)
    replaced = [_replaced(part, variables) for part in parts]
    return (
        given,
        _options(replaced, given),
        _subsystem([_replaced(each, variables) for each in others], given),
    )


def _replaced(part: str, variables: dict[str, str]) -> str:
    return re.sub(r"\$\{?(\w+)\}?", lambda name: variables.get(name[1], name[0]), part)


def _subsystem(devices: list[str], source: str) -> dict[str, Found]:
    """The options of the only subsystem; none without one."""
    if len(devices) > 1:
        raise ConfigError(f"{source}: femu-subsys is there twice; here a device has one")
    return _options(devices[0].split(",")[1:], source) if devices else {}


def _options(parts: list[str], source: str) -> dict[str, Found]:
    found: dict[str, Found] = {}
    for part in parts:
        key, sign, value = part.strip().partition("=")
        if not sign or not value:
            raise ConfigError(f"{source}: {key or 'an option'} has no value; are the options cut?")
        if key in found:
            raise ConfigError(f"{source}: {key} is there twice")
        found[key] = Found(value, source)
    return found


def _host(values: Values) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    if values.whole("fw_cpu_ns"):
        flat["host.firmware_us"] = values.whole("fw_cpu_ns") / 1000
    return flat


def _ftl(values: Values) -> dict[str, Any]:
    mapping = values.text("mapping") or "page"
    name = "bast" if mapping == "hybrid" else mapping
    values.say(
        "mapping", "taken" if mapping != "hybrid" else "differs in meaning", _map_note(mapping), f"ftl.{name}"
    )
    if name != "dftl":
        values.say("mapping_cache_mb", UNUSED, f"the map is {mapping}")
    if name in ("bast", "fast"):
        for key in ("gc_policy", "gc_thres_pcent", "gc_thres_pcent_high"):
            values.say(key, TOLD, f"`{name}` merges by its own rules")
        return {f"ftl.{name}.log_blocks": LOG_BLOCKS}
    # FEMU counts lines; each has a block from every die.
    lines = values.whole("blks_per_pl") * values.whole("pls_per_lun")
    early = int((1 - values.whole("gc_thres_pcent") / 100) * lines)
    reserve = max(2, int((1 - values.whole("gc_thres_pcent_high") / 100) * lines))
    key = f"ftl.{name}.reserve_blocks"
    values.say("gc_thres_pcent_high", "differs in meaning", KEYS["gc_thres_pcent_high"].note, key)
    values.say("gc_policy", "taken", "lines there, blocks here", f"ftl.{name}.victim")
    flat = {f"ftl.{name}.victim": VICTIMS[values.text("gc_policy") or "greedy"], key: reserve}
    if name == "dftl":
        cached = values.whole("mapping_cache_mb") or 4
        flat["ftl.dftl.cmt_entries"] = cached * MIB // ENTRY_BYTES
        note = "`dftl` collects with gc_thres_pcent_high alone; write amplification is higher there"
        values.say("gc_thres_pcent", TOLD if early > reserve else UNUSED, note)
    elif early > reserve:
        flat[_BACKGROUND] = early
        flat["ftl.page.collection.background.invalid_pages"] = max(1, values.whole("pgs_per_blk") // 8)
        values.say("gc_thres_pcent", DIFFERS, BACKGROUND.format(free=early), _BACKGROUND)
    else:
        values.say("gc_thres_pcent", UNUSED, "not above gc_thres_pcent_high, which collects before it")
    return flat


def _placement(values: Values, subsystem: Values, is_page: bool) -> tuple[dict[str, Any], list[str]]:
    """Handles that the host writes through; none unless the subsystem has them."""
    if not subsystem.flag("fdp"):
        subsystem.say("fdp", UNUSED, "off, as here")
        for key in ("fdp.runs", "fdp.nrg", "fdp.nruh"):
            subsystem.say(key, UNUSED, "without fdp=on")
        values.say("fdp.ruhs", UNUSED, "without a femu-subsys with fdp=on")
        return {}, []
    if not is_page:
        raise values.refuse("mapping", "placement by the host needs a page map; give mapping=page")
    handles = len([handle for handle in values.text("fdp.ruhs").split(";") if handle])
    if handles:
        subsystem.say("fdp.nruh", UNUSED, "fdp.ruhs has those that the name space uses")
    else:
        handles = subsystem.whole("fdp.nruh")
        values.say("fdp.ruhs", UNUSED, "empty: all handles of the subsystem")
    if not 1 <= handles <= MOST_HANDLES:
        raise subsystem.refuse(
            "fdp.nruh", f"there are 1 to {MOST_HANDLES} handles; give fdp.nruh or fdp.ruhs"
        )
    groups = subsystem.whole("fdp.nrg")
    return {_HANDLES: handles, "ftl.page.placement.fdp.groups": groups}, [PLACED]


def _map_note(mapping: str) -> str:
    if mapping == "hybrid":
        return "FEMU charges the cost of BAST's merges and places pages as its page map; here they are merged"
    return f"{LOG_BLOCKS} log blocks, a constant there" if mapping == "fast" else ""


def _spare(values: Values, physical: int) -> float:
    """Over-provisioning; refuses a device without."""
    percent = values.whole("op_pcent")
    if percent:
        values.say("devsz_mb", UNUSED, "op_pcent sets the size")
        return percent / 100
    values.say("op_pcent", UNUSED, "0: devsz_mb sets the size")
    host = values.whole("devsz_mb") * MIB
    if host >= physical:
        raise values.refuse(
            "devsz_mb",
            f"the flash has {physical / MIB:g} MiB, so there is no spare and FEMU crashes when it is full; "
            "give op_pcent=7, or a smaller devsz_mb",
        )
    return physical / host - 1


def _device(values: Values) -> dict[str, Any]:
    whole = values.whole
    page = whole("secsz") * whole("secs_per_pg")
    parts = ("pgs_per_blk", "blks_per_pl", "pls_per_lun", "luns_per_ch", "nchs")
    flat: dict[str, Any] = {
        "device.over_provisioning": _spare(values, page * math.prod(whole(key) for key in parts)),
        "device.shape.channels": whole("nchs"),
        "device.shape.dies_per_channel": whole("luns_per_ch"),
        "device.shape.planes_per_die": whole("pls_per_lun"),
        "device.shape.blocks_per_plane": whole("blks_per_pl"),
        "device.shape.pages_per_block": whole("pgs_per_blk"),
        "device.shape.page_bytes": page,
        "device.shape.spare_bytes": SPARE_BYTES,
        **rules(ENDURANCE),
        "device.timing.read_us": whole("pg_rd_lat") / 1000,
        "device.timing.program_us": whole("pg_wr_lat") / 1000,
        "device.timing.erase_us": whole("blk_er_lat") / 1000,
        "device.timing.transfer_ns_per_byte": whole("pg_xfer_lat") / (page + SPARE_BYTES),
        "device.timing.plane_overlap": "none",
    }
    if whole("cmd_addr_lat"):
        flat["device.timing.transfer_command_us"] = whole("cmd_addr_lat") / 1000
    if whole("pcie_prop_delay_ns"):
        flat["device.controller.latency_us"] = whole("pcie_prop_delay_ns") / 1000
    if whole("pcie_bandwidth_mbps"):
        flat["device.link.read_mb_s"] = flat["device.link.write_mb_s"] = whole("pcie_bandwidth_mbps")
    return flat
