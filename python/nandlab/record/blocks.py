"""The blocks in a result record: wear, contents, lifetime, the run's course."""

from __future__ import annotations

from typing import Any

from nandlab.record.view import View


class Wear(View):
    """The blocks' P/E cycles; `histogram` pairs cycles with a block count."""

    min: int
    mean: float
    max: int
    stddev: float
    histogram: list[list[int]]


class Sample(View):
    """The run's state after so many requests: counts since its start, `waf` since the sample before.

    `refused` are the `requests` that zones refused. `free_blocks` are empty at this moment.
    """

    requests: int
    refused: int
    time_us: float | None
    waf: float | None
    read_sectors: int
    written_sectors: int
    programs: int
    erases: int
    free_blocks: int


class BlockGroup(View):
    """Neighbouring blocks: the `first`, the count, and the `free` ones; means are over all."""

    first: int
    blocks: int
    free: int
    valid_pages: float
    pe_cycles_min: int
    pe_cycles_mean: float
    pe_cycles_max: int


class Blocks(View):
    """The blocks' contents at the end.

    `free` blocks are empty and can be filled. Valid pages hold the newest copy of something; `histogram`
    pairs a valid page count with a block count, free blocks left out; `groups` has the blocks by address.
    """

    free: int
    valid_pages: int
    histogram: list[list[int]]
    groups: list[BlockGroup]


class Life(View):
    """A new device's life: bytes written by the host, and simulated seconds at the run's pace.

    `years` follow from the host's daily writes (`host.daily`), None without them.
    """

    host_bytes: float
    time_s: float | None
    years: float | None


class LifeRange(View):
    """The same between two bounds: at least, at most."""

    host_bytes: list[float]
    time_s: list[float] | None
    years: list[float] | None


class Lifetime(View):
    """A new device's lifetime if the workload goes on as at this run's end.

    It ends when the mean P/E cycles reach the profile's `endurance` (`even`), when the first block
    does (`first_block`), and when 1 % of the blocks do (`one_percent`); None if the run is too
    short to say; `too_short` then says why. `cycles` is the blocks' mean in this run.
    """

    endurance: int
    cycles: float
    even: Life | None
    first_block: LifeRange | None
    one_percent: LifeRange | None
    daily_bytes: float | None
    too_short: str | None

    def named(self) -> list[tuple[str, LifeRange]]:
        """Each known life with its end, the shortest first.

        A single figure, for the mean and in older records, is both bounds.
        """
        ends = {
            "first_block": "first block",
            "one_percent": "1 % of the blocks",
            "even": "mean of the blocks",
        }
        lives = ((name, self._data[key]) for key, name in ends.items())
        return [
            (name, LifeRange({key: _both(of) for key, of in life.items()}))
            for name, life in lives
            if life is not None
        ]


def _both(value: Any) -> Any:  # noqa: ANN401 - JSON
    return [value, value] if isinstance(value, (int, float)) else value
