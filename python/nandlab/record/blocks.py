"""What a run did to the blocks, a part of the result record: wear, contents, lifetime, its course."""

from __future__ import annotations

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

    `years` is at what the host writes a day (`host.daily`), None where that is not given. It is told from the
    `cycles` of the block, or of the mean, in this run, and `coarse` where the block had fewer than five.
    """

    cycles: float
    coarse: bool
    host_bytes: float
    time_s: float | None
    years: float | None


class Lifetime(View):
    """How long a new device lasts if the workload goes on as in this run.

    Until the mean of the P/E cycles is at the `endurance` of the profile (`even`), until the block is there
    that took most cycles in this run (`first_block`), and until 1 % of the blocks are there (`one_percent`,
    None where fewer of them were erased).
    """

    endurance: int
    even: Life
    first_block: Life
    one_percent: Life | None

    def named(self) -> list[tuple[str, Life]]:
        """Each life with what ends it, the shortest first."""
        found = [("first block", self.first_block), ("1 % of the blocks", self.one_percent)]
        return [
            (name, life) for name, life in [*found, ("mean of the blocks", self.even)] if life is not None
        ]
