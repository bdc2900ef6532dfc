"""WAP-LRU thresholds learnt at run time, beside prior profiling and the best fixed ones from a search.

`.venv/bin/python docs/images/wap_online.py` prints the figures of docs/buffers.md. Five workloads
change in their middle or every few thousand requests, a sixth is SQLite with its log and then without: with
seed 1 they served to develop the rule. Other seeds, and the workloads in `fresh`, served to
measure it. Early ends for trials were added after the first rule had failed on these.
"""

from __future__ import annotations

import bisect
import itertools
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nandlab
from nandlab.running.batch import run_all

PAGE = 8
REQUESTS = 40_000
Request = tuple[str, int, int]
"""Operation, page and pages."""

STATES = (0.0, 3.0, 8.0, 30.0, 1e9)
SIZES = (1.0, 3.0, 9.0, 1e9)


class Zipf:
    """Pages in a footprint by Zipf's law, neighbours about equally popular."""

    def __init__(self, draw: random.Random, pages: int, theta: float = 1.0) -> None:
        self.draw = draw
        self.sums = list(itertools.accumulate(1 / (rank + 1) ** theta for rank in range(pages)))

    def page(self) -> int:
        """The next one."""
        return bisect.bisect(self.sums, self.draw.random() * self.sums[-1])


def mixed(
    draw: random.Random, at: Zipf, reads: float, sizes: tuple[tuple[int, float], ...]
) -> Iterator[Request]:
    """Independent requests, without end."""
    lengths, weights = zip(*sizes, strict=True)
    while True:
        op = "R" if draw.random() < reads else "W"
        yield op, at.page(), draw.choices(lengths, weights)[0]


def in_turns(draw: random.Random, at: Zipf, reads: int, writes: int) -> Iterator[Request]:
    """Bursts with single-page writes in ascending order, then reads here and there, without end."""
    while True:
        first = at.page()
        yield from (("W", first + n, 1) for n in range(draw.randint(1, 2 * writes)))
        yield from (("R", at.page(), 1) for _ in range(draw.randint(1, 2 * reads)))


SMALL = ((1, 0.6), (2, 0.3), (4, 0.1))
LONG = ((1, 0.7), (16, 0.2), (128, 0.1))


def workloads(seed: int) -> dict[str, list[Request]]:
    """The five, by their changes."""
    draw = random.Random(seed)
    at, narrow = Zipf(draw, 100_000), Zipf(draw, 20_000, 0.8)
    half, turn = REQUESTS // 2, REQUESTS // 10

    def phases(first: Iterator[Request], second: Iterator[Request], length: int) -> list[Request]:
        both = itertools.cycle((first, second))
        return [one for part in range(REQUESTS // length) for one in itertools.islice(next(both), length)]

    return {
        "short, then long requests": phases(mixed(draw, at, 0.4, SMALL), mixed(draw, at, 0.4, LONG), half),
        "mostly reads, then writes": phases(mixed(draw, at, 0.85, SMALL), mixed(draw, at, 0.1, SMALL), half),
        "bursts of writes, then a mix": phases(in_turns(draw, at, 5, 40), mixed(draw, at, 0.5, SMALL), half),
        "another footprint": phases(mixed(draw, at, 0.3, SMALL), mixed(draw, narrow, 0.3, LONG), half),
        "a backup now and then": phases(mixed(draw, narrow, 0.6, SMALL), in_turns(draw, at, 1, 200), turn),
    }


def streams(draw: random.Random, hot: Zipf) -> Iterator[Request]:
    """Long writes one after the other, and a few hot pages between them, without end."""
    for first in itertools.count(step=8 * 64):
        yield from (("W", (first + 64 * n) % FOOTPRINT, 64) for n in range(8))
        yield from (("W" if draw.random() < 0.6 else "R", hot.page(), 1) for _ in range(30))


def scans(narrow: Zipf) -> Iterator[Request]:
    """Long reads one after the other, and single pages written between them, without end."""
    for first in itertools.count(step=32):
        yield "R", first % FOOTPRINT, 32
        yield from (("W", narrow.page(), 1) for _ in range(3))


FOOTPRINT = 100_000


def fresh(seed: int) -> dict[str, list[Request]]:
    """Three more kinds."""
    draw = random.Random(1000 + seed)
    at, narrow, hot = Zipf(draw, 60_000), Zipf(draw, 3000, 0.9), Zipf(draw, 1500, 0.5)
    small = mixed(draw, at, 0.5, ((1, 2), (2, 1)))

    def turns(first: Iterator[Request], second: Iterator[Request], length: int) -> list[Request]:
        both = itertools.cycle((first, second))
        return [one for _ in range(REQUESTS // length) for one in itertools.islice(next(both), length)]

    return {
        "long writes, then short ones": turns(streams(draw, hot), small, 8000),
        "long reads, then short requests": turns(scans(narrow), small, 8000),
        "long writes, then long reads": turns(streams(draw, hot), scans(narrow), 20_000),
    }


def sqlite() -> list[Request]:
    """SQLite with a write-ahead log, then with a rollback journal, as recorded."""
    found = []
    for name in ("wal", "rollback"):
        trace = nandlab.Trace(Path(__file__).parents[2] / "workloads" / "sqlite" / f"{name}.csv.gz")
        rows = trace.frame(count=REQUESTS).select("op", "sector", "sectors").rows()
        found += [
            ("RW"[op == "write"], sector // PAGE, max(1, sectors // PAGE))
            for op, sector, sectors in rows
            if op in ("read", "write")
        ]
    return found


def experiment(path: Path, options: dict[str, object]) -> nandlab.Experiment:
    """WAP-LRU over a block map, in an 8 MB buffer."""
    buffer = {"dram": "1638 KiB", "nvram": "6553 KiB", "allocation": "page", **options}
    return nandlab.Experiment(
        workload={"trace": {"path": str(path), "addresses": "fold"}},
        buffer={"wap_lru": buffer},
        ftl=nandlab.ftl.block(),
        device=nandlab.Device(profile="wap", capacity="512 MiB", over_provisioning=0.07, model="counting"),
        precondition=nandlab.Precondition(fill="sequential"),
    )


def measured(path: Path, searches: bool) -> dict[str, int]:
    """Merges with each kind of thresholds; with a search also the best among many fixed ones."""
    never = {"t_state": 1e9, "t_read": 1e9, "t_write": 1e9}
    fixed = [
        {"t_state": state, "t_read": read, "t_write": write}
        for state, read, write in itertools.product(STATES, SIZES, SIZES)
    ]
    kinds = [{"thresholds": "auto"}, {"thresholds": "online"}, never]
    outcomes, _ = run_all([experiment(path, each) for each in [*kinds, *(fixed if searches else [])]])
    merges = [outcome.result.gc.runs for outcome in outcomes if outcome.result is not None]
    found = dict(zip(("profiled", "online", "never"), merges, strict=False))
    return {**found, **({"best": min(merges[3:]), "worst": max(merges[3:])} if searches else {})}


def rows(named: dict[str, list[Request]], searches: bool) -> None:
    """Prints a line of the table for each workload."""
    with tempfile.TemporaryDirectory() as folder:
        for name, requests in named.items():
            path = Path(folder) / "trace.csv"
            lines = [
                f"{at * 1000},{op},{page * PAGE},{pages * PAGE}"
                for at, (op, page, pages) in enumerate(requests)
            ]
            path.write_text("\n".join(["time_us,op,sector,sectors", *lines]), encoding="utf-8")
            found = measured(path, searches)
            others = [kind for kind in ("best", "profiled", "never") if kind in found]
            ratios = [f"{found['online'] / max(1, found[kind]):.2f}" for kind in others]
            print(
                "|",
                name,
                "|",
                " | ".join(f"{merges:,}" for merges in found.values()),
                "|",
                " | ".join(ratios),
                "|",
            )
            sys.stdout.flush()


def main() -> None:
    """Prints the tables."""
    kinds = "profiled | online | never placing"
    against = "online / profiled | online / never placing"
    print(
        f"| workload | {kinds} | best fixed | worst fixed | online / best | {against} |\n|---|" + "---|" * 8
    )
    rows({**workloads(seed=1), "SQLite: log, then journal": sqlite()}, searches=True)
    print(f"\n| workload, seed | {kinds} | {against} |\n|---|" + "---|" * 5)
    for seed in (2, 3, 4):
        named = {**workloads(seed), **fresh(seed)}
        rows({f"{name}, {seed}": requests for name, requests in named.items()}, searches=False)


if __name__ == "__main__":
    main()
