"""What a run did to the blocks, a part of the result record: wear, contents, lifetime, its course."""

from __future__ import annotations

from typing import Any

from nandlab.record.view import View


class Wear(View):
    """P/E cycles of the blocks; `histogram` has pairs of cycles and blocks."""

    min: int
    mean: float
    max: int
    stddev: float
    histogram: list[list[int]]


class Sample(View):
    """Where the run stood after so many requests: counts since its start, `waf` since the sample before.

    `free_blocks` hold nothing at that moment.
    """

    requests: int
    time_us: float | None
    waf: float | None
    read_sectors: int
    written_sectors: int
    programs: int
    erases: int
    free_blocks: int


class BlockGroup(View):
    """Blocks beside each other: the `first`, how many, how many of them are `free`; means are over all."""

    first: int
    blocks: int
    free: int
    valid_pages: float
    pe_cycles_min: int
    pe_cycles_mean: float
    pe_cycles_max: int


class Blocks(View):
    """What the blocks hold at the end.

    `free` blocks hold nothing and can be filled. Valid pages hold the newest copy of something; `histogram`
    has pairs of valid pages and blocks with so many that are not free, `groups` the blocks by address.
    """

    free: int
    valid_pages: int
    histogram: list[list[int]]
    groups: list[BlockGroup]


class Life(View):
    """What a new device takes: bytes that the host writes, and simulated seconds at the pace of the run.

    `years` is at what the host writes a day (`host.daily`), None where that is not given.
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
    """How long a new device lasts if the workload goes on as at the end of this run.

    Until the mean of the P/E cycles is at the `endurance` of the profile (`even`), until the first block is
    there (`first_block`), and until 1 % of the blocks are there (`one_percent`); None where the run is too
    short to say, and `too_short` then says why. `cycles` is the mean of the blocks in this run.
    """

    endurance: int
    cycles: float
    even: Life | None
    first_block: LifeRange | None
    one_percent: LifeRange | None
    too_short: str | None

    def named(self) -> list[tuple[str, LifeRange]]:
        """Each life that is told with what ends it, the shortest first.

        Where there is one figure, of the mean and in records of older versions, it is both bounds.
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
