"""The least that merges and migrations can cost, found in hindsight over the whole device.

`python -m nandlab.reproduce.recycling_optimum FILE.toml ...` prints, for each experiment file,
the optimum and what every rule costs above it. Without a file it takes the seven workloads of
docs/migration.md.

What counts: copies, erases and pages of the block map that follow from recycling log blocks. Writes of the
host, reads before writes and the first block of each log are the same under all rules and left out.

A schedule decides at each full log block, when a further write comes to it, whether its valid pages are
moved or everything is merged. All else is as in the FTL: a log block that holds all pages in order is
switched, and where all log blocks are in use the least recently written one is merged for another logical
block.

Why the optimum of the device is the sum of the optima of its logical blocks: after either decision the
logical block has a log block again at once, since a write waits for it. So the logical blocks with a log
block are at any time the `log_blocks` ones that were written last, whatever was decided, and no decision
changes when another log block is full or taken away. The number of log blocks that are taken away is
compared with that of each run.
"""

from __future__ import annotations

import bisect
import csv
import itertools
import sys
import tempfile
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nandlab._native import ConfigError
from nandlab.experiment import Experiment
from nandlab.reproduce import Paper, load

RULES = ("merge", "cost", "limit", "macro", "adaptive")
"""The rules that are compared, as `recycling` of `[ftl.migration]`."""

KNOWN = {"victim": "lru", "first_write": "log", "partial_merge": False, "map_update": "page"}
"""Options of `[ftl.migration]` that the optimum knows."""

KEPT = 10_000_000
"""Recyclings that a run keeps: more than any run here has."""


@dataclass(frozen=True)
class Prices:
    """Times in ms: of a copy, an erase, and a page of the block map."""

    copy: float
    erase: float
    map: float

    def migration(self, valid: int) -> float:
        """A migration and the page of the map that follows it."""
        return self.erase + valid * self.copy + self.map

    def merge(self, mapped: int, evicted: bool) -> float:
        """A merge; the next log block is counted with it, unless it goes to another logical block."""
        return (1 if evicted else 2) * self.erase + mapped * self.copy + self.map

    def switch(self, evicted: bool) -> float:
        """A switch, likewise."""
        return (0 if evicted else 1) * self.erase + self.map


@dataclass
class Tenure:
    """What is written to a logical block from when it gets a log block until that goes to another one."""

    places: list[int] = field(default_factory=list)
    """Places of the pages in the logical block, one for each write."""
    mapped: list[int] = field(default_factory=list)
    """Pages of the logical block that were ever written, after each write."""
    evicted: bool = False
    """The log block was taken away at the end; else the run ended."""
    first: int = 0
    """Number of the first write in the whole run."""


def tenures(pages: Iterable[int], pages_per_block: int, log_blocks: int) -> list[Tenure]:
    """The tenures of all logical blocks, in the order of their beginnings, from the pages as written."""
    bound: OrderedDict[int, Tenure] = OrderedDict()
    written: dict[int, set[int]] = {}
    found: list[Tenure] = []
    for at, page in enumerate(pages):
        group, place = divmod(page, pages_per_block)
        tenure = bound.get(group)
        if tenure is None:
            if len(bound) == log_blocks:
                bound.popitem(last=False)[1].evicted = True
            tenure = bound[group] = Tenure(first=at)
            found.append(tenure)
        bound.move_to_end(group)
        ever = written.setdefault(group, set())
        ever.add(place)
        tenure.places.append(place)
        tenure.mapped.append(len(ever))
    return found


def optimum(tenure: Tenure, pages_per_block: int, prices: Prices) -> float:
    """The least that the recyclings of a tenure cost, in ms.

    A dynamic program from the end. A log block that is full at a write and holds `p` pages holds the `p`
    pages that were written last before it, so the write and `p` are all that the rest depends on.
    """
    size, total = pages_per_block, len(tenure.places)
    ends_with = _costs_of_the_end(tenure, size, prices)
    if total <= size:
        pages = len(set(tenure.places))
        return ends_with[pages == total][pages]
    # By write modulo the ring: what the rest costs where the log block is full there with so many pages.
    ring: list[list[float]] = [[]] * (2 * size)
    moves = [prices.migration(held) for held in range(size)]
    new_log = 0.0
    for at, recent, window in _backwards(tenure.places, size):
        rests: list[float] = []
        for held, new in enumerate(_new_pages(recent, window, at, size)):
            full = at + size - held
            if full < total:
                rests.append(ring[full % (2 * size)][held + new])
            else:
                rests.append(ends_with[new == total - at][held + new])
        new_log = rests[0]
        merged = prices.merge(tenure.mapped[at - 1], evicted=False) + new_log
        values = [min(move + rest, merged) for move, rest in zip(moves, rests, strict=False)]
        if len(recent) == size:
            in_order = _lies_in_order([tenure.places[each] for each in recent])
            values.append(prices.switch(evicted=False) + new_log if in_order else merged)
        ring[at % (2 * size)] = values
    return new_log


def _backwards(places: Sequence[int], size: int) -> Iterator[tuple[int, list[int], list[int]]]:
    """What the program needs at each write, the last one first.

    The last writes of all pages before it, the oldest first; and for the writes of a log block from it on
    the write of the same page before, -1 without one.
    """
    previous: list[int] = []
    last: dict[int, int] = {}
    for at, place in enumerate(places):
        previous.append(last.get(place, -1))
        last[place] = at
    recent = sorted(last.values())
    for at in range(len(places) - 1, -1, -1):
        recent.pop()
        if previous[at] >= 0:
            bisect.insort(recent, previous[at])
        yield at, recent, previous[at : at + size]


def _new_pages(recent: list[int], window: list[int], at: int, size: int) -> list[int]:
    """How many further pages a log block takes until it is full, by the number of pages that it holds."""
    most = min(len(recent), size - 1)
    # A page counts where there is room and the log block holds no more than what was written after it.
    counts = [0] * (most + 1)
    for offset, before in enumerate(window):
        if before < at:
            later = size if before < 0 else len(recent) - bisect.bisect_right(recent, before)
            counts[min(later, size - 1 - offset, most)] += 1
    return list(itertools.accumulate(reversed(counts)))[::-1]


def _lies_in_order(places: Sequence[int]) -> bool:
    """Whether these are the first pages of a logical block in order."""
    return all(at == place for at, place in enumerate(places))


def _costs_of_the_end(tenure: Tenure, size: int, prices: Prices) -> tuple[list[float], list[float]]:
    """What the last log block costs by its valid pages: with some page in it invalid, and with none."""
    if not tenure.evicted:
        return [0.0] * (size + 1), [0.0] * (size + 1)
    mapped = tenure.mapped[-1]
    with_invalid = [prices.merge(mapped, evicted=True)] * (size + 1)
    all_valid = list(with_invalid)
    recent = list(dict.fromkeys(reversed(tenure.places)))
    for valid in {size, mapped}:
        if valid <= len(recent) and _lies_in_order(recent[valid - 1 :: -1]):
            all_valid[valid] = prices.switch(evicted=True)
    return with_invalid, all_valid


def cost_of(recyclings: Iterable[dict[str, Any]], prices: Prices) -> float:
    """What recyclings of a run cost, in ms: entries of `recyclings.list` of its record."""
    cost = 0.0
    for entry in recyclings:
        if entry["kind"] == "migration":
            cost += prices.migration(entry["copies"])
        elif entry["kind"] == "full":
            cost += prices.merge(entry["copies"], entry["evicted"])
        elif entry["kind"] == "switch":
            cost += prices.switch(entry["evicted"])
        else:
            raise ConfigError(f"the optimum does not know the recycling `{entry['kind']}`")
    return cost


@dataclass(frozen=True)
class Regret:
    """The optimum of an experiment and what the rules cost, in ms."""

    optimum: float
    costs: dict[str, float]
    writes: int
    """Pages that the host wrote, and that the file system's format wrote."""

    def above(self, rule: str) -> float:
        """How much more than the optimum a rule costs, in percent."""
        return 100 * (self.costs[rule] / self.optimum - 1)


def written_pages(experiment: Experiment) -> list[int]:
    """The logical pages that a run writes, from the first one on, precondition and format included."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "operations.csv"
        experiment.run(op_log=str(log))
        with log.open(newline="") as file:
            rows = csv.DictReader(file)
            wanted = ("program", "host", "ok")
            return [
                int(row["lpn"])
                for row in rows
                if (row["operation"], row["cause"], row["result"]) == wanted and row["phase"] != "remount"
            ]


def _refuse_an_overwritten_device(tree: dict[str, Any]) -> None:
    """What is recycled before the run is then other than switches, which no list tells."""
    before = tree.get("precondition") or {}
    if before.get("fill") not in (None, "none", "sequential") or before.get("overwrites"):
        raise ConfigError('precondition cannot work: the optimum knows fill = "none" and "sequential" alone')


def regret(experiment: Experiment, rules: Sequence[str] = RULES) -> Regret:
    """Runs an experiment of `[ftl.migration]` under each rule, and finds its optimum.

    Raises:
        ConfigError: the device or the FTL works in a way that the optimum does not know.

    """
    tree = experiment.resolve()
    options = tree["ftl"].get("migration")
    if options is None:
        raise ConfigError("the optimum is of the FTL `migration`; the experiment has another one")
    for key, only in KNOWN.items():
        if options[key] != only:
            given = f"ftl.migration.{key} = {options[key]!r}"
            raise ConfigError(f"{given} cannot work: the optimum knows {only!r} alone")
    _refuse_an_overwritten_device(tree)
    timing = tree["device"]["timing"]
    size = tree["device"]["shape"]["pages_per_block"]
    program, erase = timing["program_us"] / 1e3, timing["erase_us"] / 1e3
    # A page of the map takes its part of the erase of its block.
    prices = Prices(timing["copy"]["total_us"] / 1e3, erase, program + erase / size)
    runs = {
        rule: experiment.override(
            f'ftl.migration.recycling="{rule}"', f"ftl.migration.log_recyclings={KEPT}"
        ).run()
        for rule in rules
    }
    pages = written_pages(experiment)
    found = tenures(pages, size, options["log_blocks"])
    lists = {rule: result.to_dict()["recyclings"]["list"] for rule, result in runs.items()}
    before = {rule: entries[0]["number"] if entries else 0 for rule, entries in lists.items()}
    evicted = sum(tenure.evicted for tenure in found)
    for rule, entries in lists.items():
        if before[rule] + sum(entry["evicted"] for entry in entries) != evicted:
            raise ConfigError(f"`{rule}` takes another number of log blocks away than the optimum expects")
    # What was switched before the run is the same under all rules.
    common = before[rules[0]] * prices.switch(evicted=True)
    least = sum(optimum(tenure, size, prices) for tenure in found) - common
    return Regret(least, {rule: cost_of(lists[rule], prices) for rule in rules}, len(pages))


WORKLOADS = {
    "some_small": "PostMark, small files",
    "some_large": "PostMark, large files",
    "some_phone": "cell phone",
    "some_recorder": "event recorder",
    "some_fax": "fax",
    "postmark": "PostMark as it is",
    "camera": "camera",
}
"""The seven workloads of docs/migration.md: parts of papers/migration.toml with their names."""


def seven_workloads(paper: Paper) -> dict[str, Experiment]:
    """The runs of the paper's file, with recyclings of all logical blocks kept."""
    found = {}
    for part, name in WORKLOADS.items():
        tree = paper.tree(f"{part}.macro")
        del tree["ftl"]["migration"]["log_recyclings_of"]
        found[name] = Experiment(**{**tree, "seed": 1})
    return found


def row(name: str, found: Regret) -> str:
    """A row of the table."""
    rules = ("merge", "cost", "limit", "macro", "adaptive")
    better = min(found.costs[rule] for rule in ("merge", "limit", "macro"))
    beside = 100 * (found.costs["adaptive"] / better - 1)
    above = " | ".join(f"{found.above(rule):+.1f} %" for rule in rules)
    return f"| {name} | {found.writes:,} | {found.optimum / 1e3:,.2f} | {above} | {beside:+.1f} % |"


HEADING = """\
| workload | pages written | optimum (s) | merge | cost | LIMIT | macro | adaptive | adaptive beside the best of merge, LIMIT and macro |
|---|---|---|---|---|---|---|---|---|"""  # noqa: E501 - a row of a table


def main(files: Sequence[str]) -> None:
    """Prints the table of experiment files, or of the seven workloads."""
    experiments = {name: Experiment.from_toml(name) for name in files} or seven_workloads(load("migration"))
    print(HEADING)
    for name, experiment in experiments.items():
        print(row(name, regret(experiment)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
