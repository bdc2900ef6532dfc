"""A device's parts and the way to it: how busy each was, and the part that limits a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nandlab.writing import units

if TYPE_CHECKING:
    from nandlab.record.made import Parts, Units
    from nandlab.record.record import Record

PARTS = {
    "processor_us": "the controller's processor",
    "firmware_us": "the firmware's processor",
    "link_read_us": "the link to the host",
    "link_write_us": "the link from the host",
}
"""Each part between host and FTL; it serves one request at a time."""
FLASH = ("dies", "channels")
"""Flash parts."""
BUFFER = "write_buffer"
"""The part requests wait for until it has space."""
BUSY = 0.9
"""A part busy for a larger share of the time limits a run: requests queue in front of it."""
LONG_DRAIN = 0.01
"""A summary tells how long flash works on after the run, if longer than this share of its time."""


def parts_of(result: Record) -> Parts | None:
    """The record's dies, channels and waits; None without time."""
    return result.parts


def name_of(result: Record, part: str) -> str:
    """A part in words: for dies and channels, the busiest one."""
    if part in PARTS:
        return PARTS[part]
    if part == BUFFER:
        return "space in the controller's write buffer"
    return f"{_singular(result, part)} {_units(result, part).which}"


def shares(result: Record) -> dict[str, float]:
    """Each part's busy share of the time, the busiest first; idle parts are left out.

    For dies and channels, the busiest one's share.
    """
    worked: dict[str, float] = {}
    if result.path is not None and result.time_us:
        worked = {name: getattr(result.path, name) / result.time_us for name in PARTS}
    if parts_of(result) is not None:
        worked |= {kind: _units(result, kind).most for kind in FLASH}
    return {name: worked[name] for name in sorted(worked, key=lambda name: -worked[name]) if worked[name]}


def limit(result: Record) -> str | None:
    """The part with the longest waits, else the busiest. None if nothing was done."""
    parts = parts_of(result)
    if parts is None:
        return next(iter(shares(result)), None)
    found: str | None = parts.limit
    return f"{found}_us" if f"{found}_us" in PARTS else found


def bottleneck(result: Record) -> str | None:
    """The part that limits a run and is busy nearly all the time; None if there is none.

    Dies and a write buffer may only stand in front of it: a die holds a page until its channel is free.
    """
    found, busy = limit(result), shares(result)
    behind = {"dies": ("dies", "channels"), BUFFER: FLASH}.get(found or "", (found,))
    return next((part for part in behind if part is not None and busy.get(part, 0.0) >= BUSY), None)


def rows(result: Record) -> list[tuple[str, str, str]]:
    """A summary's lines: flash after the end, the limiting part, waits for buffer space."""
    found = []
    drain_us = result.drain_us
    if drain_us and drain_us > LONG_DRAIN * (result.time_us or 0.0):
        words = "after the last answer to the host"
        found.append(("flash still busy", units.time_us(drain_us), words))
    found += _busiest(result)
    if result.path is not None and result.path.buffer_waits:
        each = result.path.buffer_wait_us / result.path.buffer_waits
        words = f"{units.time_us(each)} each in the mean for space in the controller's write buffer"
        found.append(("writes that waited", units.count(result.path.buffer_waits), words))
    return found


def _busiest(result: Record) -> list[tuple[str, str, str]]:
    busy = shares(result)
    # Dies may wait for the parts behind them.
    first = bottleneck(result) or limit(result)
    if first not in busy:
        # Requests wait for buffer space as long as the parts below are too slow.
        first = next(iter(busy), None)
    if first is None:
        return []
    said = name_of(result, first) + _waits(result, first)
    others = [f"{name_of(result, name)} {units.percent(busy[name])}" for name in busy if name != first]
    means = {kind: units.percent(_units(result, kind).mean) for kind in FLASH if kind in busy}
    others += [f"all {_singular(result, kind)}s {mean}" for kind, mean in means.items()]
    words = "; ".join(part for part in (said, ", ".join(others)) if part)
    return [("busiest part", units.percent(busy[first]), words)]


def _waits(result: Record, part: str) -> str:
    """How long a request waited for a part, or for the part in front; empty without time."""
    parts, waited = parts_of(result), limit(result)
    if parts is None:
        return ""
    if waited is None:
        return ": no request waited for it, and it works on after the last answer" if part in FLASH else ""
    waits_us = getattr(parts.waits_us, waited.removesuffix("_us"))
    if not waits_us or not result.host.requests:
        return ""
    it = f"{_singular(result, waited)}s" if waited in FLASH else name_of(result, waited)
    it = "it" if waited == part and part not in FLASH else it
    behind = f", which wait for the {_singular(result, part)}" if (waited, part) == FLASH else ""
    return f": a request waited {units.time_us(waits_us / result.host.requests)} for {it}{behind}"


def _units(result: Record, kind: str) -> Units:
    units_: Units = getattr(result.parts, kind)
    return units_


def _singular(result: Record, kind: str) -> str:
    if kind == "channels":
        return "channel"
    overlap = result.experiment["device"].get("timing", {}).get("plane_overlap")
    return "plane" if overlap == "independent" else "die"
