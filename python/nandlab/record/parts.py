"""Times of the parts that requests pass: the way to the FTL, dies and channels."""

from __future__ import annotations

from nandlab.record.view import View


class Path(View):
    """Work time for each part between host and FTL, us; writes delayed by a full buffer, reads from it.

    `packed_writes` shared their command with others.
    """

    processor_us: float
    firmware_us: float
    link_read_us: float
    link_write_us: float
    buffer_waits: int
    buffer_wait_us: float
    buffer_reads: int
    packed_writes: int


class Units(View):
    """Dies or channels: the mean share busy until flash was at rest, and the busiest one's share.

    `which` is its number. `busy_us` lists all busy times; None for more than 64.
    """

    mean: float
    most: float
    which: int
    busy_us: list[float] | None


class Waits(View):
    """How long requests waited for each part, us, summed over the requests."""

    dies: float
    channels: float
    processor: float
    firmware: float
    write_buffer: float
    link_read: float
    link_write: float


class Parts(View):
    """Limits on a run: busy dies and channels, and waits by their reason.

    `limit` names the part with the longest waits; without waits, the busiest part.
    """

    dies: Units
    channels: Units
    waits_us: Waits
    limit: str | None
