"""What an overwrite says: the spare area.

On a full drive random writes first use erased blocks. Once the spare area is used up, each write also pays
for collection, and the rate falls. The bytes until then are the spare area. The buffer answers writes before
flash has them, so the rate falls later, by the buffer's size.
"""

from __future__ import annotations

from collections.abc import Sequence

from nandlab.calibrate.probe.quantity import Quantity
from nandlab.calibrate.probe.results import Results

FALL = 0.85
"""The rate has fallen below this share of the rate before."""
UNKNOWN_BUFFER = 64 * 2**20
"""Most bytes in a buffer of unknown size."""
RESERVE_BLOCKS = 5
"""Blocks that collection may keep free on each die: a few for its copies, and open ones."""
BLOCK_BYTES = 32 * 2**20
"""A large block: 2,048 pages of 16 KiB."""
RESERVE = 0.05
"""Most that collection keeps free, as a share of the host's capacity: five of a hundred blocks."""
NAME = "over-provisioning"


def estimate_spare(results: Results, buffer_bytes: float | None, dies: int | None = None) -> Quantity:
    """The spare area over the host's capacity.

    No job shows the size of a block. The upper end allows for blocks that collection keeps free.

    Args:
        results: The jobs' results.
        buffer_bytes: The buffer; None if it is unknown.
        dies: Dies; None if they are unknown.

    """
    for file in ("probe-fill", "probe-overwrite"):
        if file in results.absent:
            return Quantity(NAME, "", why=results.absent[file])
    logical = results.jobs["fill"].bytes
    buffer = buffer_bytes or 0.0
    found = knee(results.log, 2 * buffer)
    if found is None:
        return Quantity(NAME, "", why="the rate of random writes did not fall: overwrite more")
    place, step = found
    value = (place - buffer) / logical
    unknown = 0.0 if buffer_bytes else UNKNOWN_BUFFER
    half = (step + unknown) / logical
    if not 0 < half < value:
        return Quantity(NAME, "", why="the log is too coarse, or the spare area too small beside the buffer")
    kept = RESERVE if dies is None else min(RESERVE, RESERVE_BLOCKS * BLOCK_BYTES * dies / logical)
    remark = "blocks that collection keeps free do not show; the upper end allows for five on each die"
    return Quantity(NAME, "", value, value - half, value + half + kept, remark)


def knee(log: Sequence[tuple[float, float]], skip: float) -> tuple[float, float] | None:
    """The bytes at which the rate falls, and the bytes of a step in the log; None if it does not fall.

    Args:
        log: Seconds, and bytes so far.
        skip: Bytes at the start that a buffer may have answered.

    """
    inside = [(time, total) for time, total in log if total >= skip]
    count = max(3, len(inside) // 20)
    if len(inside) < 3 * count:
        return None
    (start_s, start), (end_s, end) = inside[0], inside[count]
    rate = (end - start) / (end_s - start_s)
    for at in range(1, len(inside) - 3):
        (last_s, last), (next_s, following) = inside[at - 1], inside[at]
        after_s, after = inside[at + 3]
        slow = (after - following) / (after_s - next_s)
        if (following - last) / (next_s - last_s) < FALL * rate and slow < FALL * rate:
            # Where the line before the fall meets the line behind it.
            if not slow < rate:
                return None
            behind = following - slow * next_s
            before = last - rate * last_s
            meet_s = (behind - before) / (rate - slow)
            return before + rate * min(next_s, max(last_s, meet_s)), following - last
    return None
