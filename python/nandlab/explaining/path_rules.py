"""Rules for what is between host and FTL: processors, link and the controller's write buffer."""

from __future__ import annotations

from nandlab.explaining.case import Case
from nandlab.explaining.change import Change
from nandlab.figures import path
from nandlab.writing import units

COMMANDS = ("read_command_us", "write_command_us", "append_command_us", "read_list_us", "write_list_us")


def faster_path(case: Case) -> Change | None:
    """The part that limits the run, twice as fast.

    Share: a processor or the link that works more than 90 % of the time (`[device.controller]`,
        `[device.link]`, `host.firmware_us`)
    Change: the same part, twice as fast
    """
    limit = path.bottleneck(case.result) if case.measure == "time" else None
    if limit not in path.PARTS:
        return None
    share = path.shares(case.result)[limit]
    what, sets = _twice_as_fast(case, limit)
    return Change(
        "faster_path",
        f"{path.PARTS[limit]} worked {units.percent(share)} of the time and limits the run",
        what,
        "a faster controller" if limit.endswith(("processor_us", "firmware_us")) else "a faster interface",
        share / 2,
        sets,
    )


def larger_write_buffer(case: Case) -> Change | None:
    """Writes that find no space wait for programs, and commands behind them wait, too.

    Share: writes that wait for space in the controller's write buffer
    Change: twice that buffer
    """
    used, latencies = case.result.path, case.result.latency_us
    if case.measure != "time" or used is None or not used.buffer_waits or latencies is None:
        return None
    kinds = (latencies.read, latencies.write, latencies.trim, latencies.flush)
    took = sum(each.mean * each.count for each in kinds if each is not None)
    size = case.experiment["device"]["controller"]["write_buffer_bytes"]
    each = units.time_us(used.buffer_wait_us / used.buffer_waits)
    return Change(
        "larger_write_buffer",
        f"{units.counted(used.buffer_waits, 'write')} waited {each} each in the mean for space in the "
        "controller's write buffer",
        f"a write buffer of {units.size(2 * size)} in the controller",
        f"{units.size(size)} more RAM; without protection the power takes as much more with it",
        min(1.0, used.buffer_wait_us / took) if took else 0.0,
        (f"device.controller.write_buffer_bytes={2 * size}",),
    )


def _twice_as_fast(case: Case, limit: str) -> tuple[str, tuple[str, ...]]:
    """The change in words, and its overrides."""
    device, host = case.experiment["device"], case.experiment["host"]
    if limit == "firmware_us":
        given = {f"host.{key}": host.get(key) for key in ("firmware_us", "lookup_us")}
    elif limit == "processor_us":
        given = {f"device.controller.{key}": device["controller"].get(key) for key in COMMANDS}
    else:
        way = "read" if limit == "link_read_us" else "write"
        rate, command = (device["link"].get(f"{way}_{key}") for key in ("mb_s", "command_us"))
        sets = [f"device.link.{way}_mb_s={2 * rate}"] if rate else []
        sets += [f"device.link.{way}_command_us={command / 2}"] if command else []
        return f"{path.PARTS[limit]} twice as fast", tuple(sets)
    sets = [f"{key}={us / 2}" for key, us in given.items() if us]
    return f"{path.PARTS[limit]} twice as fast", tuple(sets)
