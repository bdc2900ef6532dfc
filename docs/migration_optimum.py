"""The least possible cost for merges and migrations, found in hindsight over the whole device.

`python docs/migration_optimum.py FILE.toml ...` prints, for each experiment file, the optimum and every
rule's cost above it. Without a file it takes the seven workloads in docs/papers/migration-optimum.md.

Copies, erases and block-map pages count if recycling log blocks caused them. Host writes, reads before
writes and each log's first block are the same under all rules and left out.

A schedule decides at each full log block, when a further write comes to it, between two ways: move its
valid pages, or merge everything. All else is as in the FTL: a log block with all pages in order is
switched, and once all log blocks are in use the least recently written one is merged for another logical
block.

The device's optimum is the sum over its logical blocks' optima. After either decision the logical block
has a log block again at once, since a write waits for it. So at any time the `log_blocks` logical blocks
written last have a log block, whatever was decided. No decision changes when another log block is full or
taken away. The count taken away is compared with each run's count.
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

from nandlab import ConfigError, Experiment
from nandlab.reproduce import Paper, load

RULES = ("merge", "cost", "limit", "macro", "adaptive")
"""The compared rules, as `recycling` in `[ftl.migration]`."""

KNOWN = {"victim": "lru", "first_write": "log", "partial_merge": False, "map_update": "page"}
"""Options in `[ftl.migration]` known to the optimum."""

KEPT = 10_000_000
"""Recyclings kept by a run: more than any run here has."""


@dataclass(frozen=True)
class Prices:
    """Times in ms: a copy, an erase, and a block-map page."""

    copy: float
    erase: float
    map: float

    def migration(self, valid: int) -> float:
        """A migration and the map page after it."""
        return self.erase + valid * self.copy + self.map

    def merge(self, mapped: int, evicted: bool) -> float:
        """A merge; the next log block is counted with it, unless it goes to another logical block."""
        return (1 if evicted else 2) * self.erase + mapped * self.copy + self.map

    def switch(self, evicted: bool) -> float:
        """A switch, likewise."""
        return (0 if evicted else 1) * self.erase + self.map


@dataclass
class Tenure:
    """Writes to a logical block while it has a log block, until the log block goes to another one."""

    places: list[int] = field(default_factory=list)
    """Page places in the logical block, one for each write."""
    mapped: list[int] = field(default_factory=list)
    """The logical block's pages ever written, after each write."""
    evicted: bool = False
    """The log block was taken away at the end; else the run ended."""
    first: int = 0
    """The first write's number in the whole run."""


def tenures(pages: Iterable[int], pages_per_block: int, log_blocks: int) -> list[Tenure]:
    """All logical blocks' tenures, ordered by their beginnings, from the pages as written."""
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
    """The least cost for a tenure's recyclings, in ms.

    A dynamic program from the end. A log block full at a write with `p` pages holds the `p` pages written
    last before it, so the rest depends on the write and `p` alone.
    """
    size, total = pages_per_block, len(tenure.places)
    ends_with = _costs_of_the_end(tenure, size, prices)
    if total <= size:
        pages = len(set(tenure.places))
        return ends_with[pages == total][pages]
    # By write modulo the ring: the rest's cost if the log block is full there with so many pages.
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
    """The program's input at each write, the last one first.

    The last write to each page before it, the oldest first; and for a log block's writes from it on the
    previous write to the same page, -1 without one.
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
    """Further pages until a log block is full, by the pages it holds."""
    most = min(len(recent), size - 1)
    # A page counts if there is room and the log block holds no more than the pages written after it.
    counts = [0] * (most + 1)
    for offset, before in enumerate(window):
        if before < at:
            later = size if before < 0 else len(recent) - bisect.bisect_right(recent, before)
            counts[min(later, size - 1 - offset, most)] += 1
    return list(itertools.accumulate(reversed(counts)))[::-1]


def _lies_in_order(places: Sequence[int]) -> bool:
    """True if these are a logical block's first pages in order."""
    return all(at == place for at, place in enumerate(places))


def _costs_of_the_end(tenure: Tenure, size: int, prices: Prices) -> tuple[list[float], list[float]]:
    """The last log block's cost by its valid pages: with some page in it invalid, and with none."""
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
    """The cost for a run's recyclings, in ms: entries in its record's `recyclings.list`."""
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
    """An experiment's optimum and the rules' costs, in ms."""

    optimum: float
    costs: dict[str, float]
    writes: int
    """Pages written by the host, and by the file system's format."""

    def above(self, rule: str) -> float:
        """A rule's cost above the optimum, in percent."""
        return 100 * (self.costs[rule] / self.optimum - 1)


def written_pages(experiment: Experiment) -> list[int]:
    """The logical pages written by a run, from the first one on, precondition and format included."""
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
    """On such a device more than switches is recycled before the run, and no list tells it."""
    before = tree.get("precondition") or {}
    if before.get("fill") not in (None, "none", "sequential") or before.get("overwrites"):
        raise ConfigError('precondition cannot work: the optimum knows fill = "none" and "sequential" alone')


def regret(experiment: Experiment, rules: Sequence[str] = RULES) -> Regret:
    """Runs an experiment of `[ftl.migration]` under each rule, and finds its optimum.

    Raises:
        ConfigError: the device or the FTL works in a way unknown to the optimum.

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
    # A map page takes its share in its block's erase.
    prices = Prices(timing["copy"]["total_us"] / 1e3, erase, program + erase / size)
    runs = {
        rule: experiment.override(
            f'ftl.migration.recycling="{rule}"', f"ftl.migration.kept_recyclings.latest={{ count = {KEPT} }}"
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
    # Switches before the run are the same under all rules.
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
"""The workloads in docs/papers/migration-optimum.md: parts in papers/migration.toml with their names."""


def seven_workloads(paper: Paper) -> dict[str, Experiment]:
    """The runs in the paper's file, with all logical blocks' recyclings kept."""
    found = {}
    for part, name in WORKLOADS.items():
        tree = paper.tree(f"{part}.macro")
        del tree["ftl"]["migration"]["kept_recyclings"]
        found[name] = Experiment(**{**tree, "seed": 1})
    return found


def row(name: str, found: Regret) -> str:
    """A table row."""
    rules = ("merge", "cost", "limit", "macro", "adaptive")
    better = min(found.costs[rule] for rule in ("merge", "limit", "macro"))
    beside = 100 * (found.costs["adaptive"] / better - 1)
    above = " | ".join(f"{found.above(rule):+.1f} %" for rule in rules)
    return f"| {name} | {found.writes:,} | {found.optimum / 1e3:,.2f} | {above} | {beside:+.1f} % |"


HEADING = """\
| workload | pages written | optimum (s) | merge | cost | LIMIT | macro | adaptive | adaptive beside the best of merge, LIMIT and macro |
|---|---|---|---|---|---|---|---|---|"""  # noqa: E501 - a row of a table


def main(files: Sequence[str]) -> None:
    """Prints the table for experiment files, or for the seven workloads."""
    experiments = {name: Experiment.from_toml(name) for name in files} or seven_workloads(load("migration"))
    print(HEADING)
    for name, experiment in experiments.items():
        print(row(name, regret(experiment)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
