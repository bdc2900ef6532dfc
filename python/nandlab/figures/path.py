"""The parts between host and FTL: how busy each was, and which of them limits a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nandlab.writing import units

if TYPE_CHECKING:
    from nandlab.record.record import Record

PARTS = {
    "processor_us": "the controller's processor",
    "firmware_us": "the firmware's processor",
    "link_read_us": "the link to the host",
    "link_write_us": "the link from the host",
}
"""Each part that serves one request at a time."""
BUSY = 0.9
"""A part that works longer than this share of the time limits a run: requests queue in front of it."""
LONG_DRAIN = 0.01
"""The least share of a run's time for which flash works on after it that a summary tells."""


def shares(result: Record) -> dict[str, float]:
    """The share of the time that each part worked, the busiest first; those without work are left out."""
    if result.path is None or not result.time_us:
        return {}
    worked = {name: getattr(result.path, name) / result.time_us for name in PARTS}
    return {name: worked[name] for name in sorted(worked, key=lambda name: -worked[name]) if worked[name]}


def bottleneck(result: Record) -> str | None:
    """The part that limits a run; None if there is none."""
    return next((name for name, share in shares(result).items() if share >= BUSY), None)


def rows(result: Record) -> list[tuple[str, str, str]]:
    """The lines of a summary: flash after the end, the busiest part, writes that waited for buffer space."""
    found = []
    drain_us = result.drain_us if result.ends_with == "answer" else None
    if drain_us and drain_us > LONG_DRAIN * (result.time_us or 0.0):
        words = "after the last answer to the host"
        found.append(("flash still busy", units.time_us(drain_us), words))
    busy = shares(result)
    if busy:
        first, *others = busy
        rest = ", ".join(f"{PARTS[name]} {units.percent(busy[name])}" for name in others)
        words = f"{PARTS[first]}; {rest}" if rest else PARTS[first]
        found.append(("busiest part", units.percent(busy[first]), words))
    if result.path is not None and result.path.buffer_waits:
        each = result.path.buffer_wait_us / result.path.buffer_waits
        words = f"{units.time_us(each)} each in the mean for space in the controller's write buffer"
        found.append(("writes that waited", units.count(result.path.buffer_waits), words))
    return found
