"""The optimum of merges and migrations: no schedule of the whole device costs less, and one costs as much."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest
from migration_optimum import Prices, cost_of, optimum, regret, tenures, written_pages

from nandlab import Experiment

PRICES = Prices(copy=1.128, erase=1.5, map=1.0)


class Device:
    """Block recycling written anew and plainly: log blocks are lists, decisions are asked of `moves`."""

    def __init__(self, size: int, log_blocks: int, moves: Callable[[int, int], bool]) -> None:
        self.size, self.log_blocks, self.moves = size, log_blocks, moves
        self.logs: dict[int, list[int]] = {}
        self.written: dict[int, int] = {}
        self.mapped: dict[int, set[int]] = {}
        self.migrations: dict[int, int] = {}
        self.recyclings: list[dict] = []

    def write(self, at: int, page: int) -> None:
        group, place = divmod(page, self.size)
        if group in self.logs and len(self.logs[group]) == self.size:
            self.recycle(group)
        if group not in self.logs:
            if len(self.logs) == self.log_blocks:
                self.merge(min(self.logs, key=self.written.__getitem__), evicted=True)
            self.logs[group], self.migrations[group] = [], 0
        self.logs[group].append(place)
        self.mapped.setdefault(group, set()).add(place)
        self.written[group] = at

    def valid(self, group: int) -> list[int]:
        """Valid pages in the order in which they lie."""
        log = self.logs[group]
        return [place for at, place in enumerate(log) if place not in log[at + 1 :]]

    def recycle(self, group: int) -> None:
        valid = self.valid(group)
        if len(valid) == self.size or not self.moves(len(valid), self.migrations[group]):
            self.merge(group, evicted=False)
            return
        self.recyclings.append({"kind": "migration", "copies": len(valid), "evicted": False})
        self.logs[group] = valid
        self.migrations[group] += 1

    def merge(self, group: int, *, evicted: bool) -> None:
        log = self.logs.pop(group)
        switched = log == list(range(len(log))) and (len(log) == self.size or self.mapped[group] == set(log))
        copies = 0 if switched else len(self.mapped[group])
        kind = "switch" if switched else "full"
        self.recyclings.append({"kind": kind, "copies": copies, "evicted": evicted})


def played(pages: list[int], size: int, log_blocks: int, moves: Callable[[int, int], bool]) -> Device:
    device = Device(size, log_blocks, moves)
    for at, page in enumerate(pages):
        device.write(at, page)
    return device


def least(pages: list[int], size: int, log_blocks: int) -> float:
    return sum(optimum(tenure, size, PRICES) for tenure in tenures(pages, size, log_blocks))


def every_schedule(pages: list[int], size: int, log_blocks: int) -> list[float]:
    """The cost of each sequence of decisions over the whole device, depth first."""
    costs, chosen = [], [True]
    while True:
        asked = itertools.count()

        def moves(_valid: int, _migrations: int, asked: itertools.count = asked) -> bool:
            number = next(asked)
            if number == len(chosen):
                chosen.append(True)
            return chosen[number]

        costs.append(cost_of(played(pages, size, log_blocks, moves).recyclings, PRICES))
        del chosen[next(asked) :]
        while chosen and not chosen[-1]:
            chosen.pop()
        if not chosen:
            return costs
        chosen[-1] = False


@pytest.mark.parametrize("seed", range(25))
def test_the_optimum_is_the_least_of_every_schedule_of_a_small_device(seed: int) -> None:
    """Up to four logical blocks share the log blocks, so that decisions could be coupled."""
    draw = random.Random(seed)
    size, groups = draw.choice([3, 4, 5]), draw.choice([1, 2, 3, 4])
    log_blocks = draw.choice([1, 2, 3])
    hot = [draw.randrange(groups * size) for _ in range(3)]
    pages = list(range(groups * size)) if draw.random() < 0.5 else []
    while len(pages) < 45:
        if draw.random() < 0.15:
            first = draw.randrange(groups) * size
            pages.extend(range(first, first + size))
        pages.append(draw.choice(hot) if draw.random() < 0.7 else draw.randrange(groups * size))
    costs = every_schedule(pages, size, log_blocks)
    assert least(pages, size, log_blocks) == pytest.approx(min(costs), abs=1e-9)


def test_small_devices_leave_something_to_decide() -> None:
    """What the test before rests on."""
    pages = [0, 4] * 20 + list(range(8))
    costs = every_schedule(pages, 4, 2)
    assert len(costs) > 1000
    assert max(costs) > 1.2 * min(costs)


def experiment(rule: str, **workload: dict) -> Experiment:
    return Experiment(
        workload=workload,
        fs={"fat": {"fat": "fat16", "cluster_bytes": 4096, "align_data": "256 KiB"}},
        ftl={"migration": {"recycling": rule, "kept_recyclings": {"latest": {"count": 1_000_000}}}},
        precondition={"fill": "sequential"},
        device={"profile": "k9l8g08u0m", "capacity": "32 MiB", "over_provisioning": 0.3},
    )


@pytest.mark.parametrize(
    ("rule", "moves"),
    [
        ("merge", lambda _valid, _migrations: False),
        ("cost", lambda valid, _migrations: valid < 64),
        ("limit", lambda valid, migrations: valid < 64 and migrations < 64),
    ],
)
def test_the_plain_device_recycles_as_the_ftl_does(rule: str, moves: Callable[[int, int], bool]) -> None:
    run = experiment(rule, phone={"transactions": 150})
    list_of_run = run.run().to_dict()["recyclings"]["list"]
    found = played(written_pages(run), 128, 8, moves).recyclings[list_of_run[0]["number"] :]
    keys = ("kind", "copies", "evicted")
    expected = [[each[key] for key in keys] for each in list_of_run]
    assert [[each[key] for key in keys] for each in found] == expected


def test_no_rule_costs_less_than_the_optimum() -> None:
    run = experiment("macro", phone={"transactions": 150})
    found = regret(run)
    assert min(found.above(rule) for rule in found.costs) >= 0
    assert found.above("merge") > 100


def test_other_ways_to_choose_a_log_block_are_refused() -> None:
    run = experiment("macro", phone={"transactions": 1}).override('ftl.migration.victim="fifo"')
    with pytest.raises(Exception, match="knows 'lru' alone"):
        regret(run)
