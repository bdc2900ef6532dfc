"""Thresholds of WAP-LRU learnt while it runs, beside prior profiling and the best fixed ones of a search.

`.venv/bin/python docs/images/wap_online.py` prints the table of docs/profile.md. Five workloads change in
their middle or every few thousand requests, a sixth is SQLite with its log and then without.
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
from nandlab.batch import run_all

PAGE = 8
REQUESTS = 40_000
Request = tuple[str, int, int]
"""Operation, page and pages."""

STATES = (0.0, 3.0, 8.0, 30.0, 1e9)
SIZES = (1.0, 3.0, 9.0, 1e9)


class Zipf:
    """Pages of a footprint by Zipf's law, neighbours about equally popular."""

    def __init__(self, draw: random.Random, pages: int, theta: float = 1.0) -> None:
        self.draw = draw
        self.sums = list(itertools.accumulate(1 / (rank + 1) ** theta for rank in range(pages)))

    def page(self) -> int:
        """The next one."""
        return bisect.bisect(self.sums, self.draw.random() * self.sums[-1])


def mixed(
    draw: random.Random, at: Zipf, reads: float, sizes: tuple[tuple[int, float], ...]
) -> Iterator[Request]:
    """Requests that do not depend on one another, without end."""
    lengths, weights = zip(*sizes, strict=True)
    while True:
        op = "R" if draw.random() < reads else "W"
        yield op, at.page(), draw.choices(lengths, weights)[0]


def in_turns(draw: random.Random, at: Zipf, reads: int, writes: int) -> Iterator[Request]:
    """Bursts of single-page writes in ascending order, then reads here and there, without end."""
    while True:
        first = at.page()
        yield from (("W", first + n, 1) for n in range(draw.randint(1, 2 * writes)))
        yield from (("R", at.page(), 1) for _ in range(draw.randint(1, 2 * reads)))


SMALL = ((1, 0.6), (2, 0.3), (4, 0.1))
LONG = ((1, 0.7), (16, 0.2), (128, 0.1))


def workloads(seed: int) -> dict[str, list[Request]]:
    """The five, by what changes in them."""
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
    """WAP-LRU over a block map, in a buffer of 8 MB."""
    buffer = {"dram": "1638 KiB", "nvram": "6553 KiB", "allocation": "page", **options}
    return nandlab.Experiment(
        workload={"trace": {"path": str(path), "addresses": "fold"}},
        buffer={"wap_lru": buffer},
        ftl=nandlab.ftl.block(),
        device=nandlab.Device(profile="wap", capacity="512 MiB", over_provisioning=0.07, model="counting"),
        precondition=nandlab.Precondition(fill="sequential"),
    )


def measured(path: Path) -> dict[str, tuple[int, str]]:
    """Merges with each kind of thresholds, and what they were."""
    fixed = [
        {"t_state": state, "t_read": read, "t_write": write}
        for state, read, write in itertools.product(STATES, SIZES, SIZES)
    ]
    learnt = [{"thresholds": "auto"}, {"thresholds": "online"}, {"thresholds": "financial"}]
    outcomes, _ = run_all([experiment(path, each) for each in [*learnt, *fixed]])
    merges = [outcome.result.gc.runs for outcome in outcomes if outcome.result is not None]
    best = min(range(len(fixed)), key=lambda at: merges[3 + at])
    words = ", ".join(f"{value:g}" for value in fixed[best].values())
    return {
        "profiled": (merges[0], ""),
        "online": (merges[1], ""),
        "table 4": (merges[2], ""),
        "best fixed": (merges[3 + best], words),
        "worst fixed": (max(merges[3:]), ""),
    }


def main() -> None:
    """Prints the table."""
    kinds = ("profiled", "online", "table 4", "best fixed", "worst fixed")
    print("| workload |", " | ".join(kinds), "| online / best | online / profiled |\n|---|" + "---|" * 7)
    with tempfile.TemporaryDirectory() as folder:
        for name, requests in {**workloads(seed=1), "SQLite: log, then journal": sqlite()}.items():
            path = Path(folder) / "trace.csv"
            lines = [
                f"{at * 1000},{op},{page * PAGE},{pages * PAGE}"
                for at, (op, page, pages) in enumerate(requests)
            ]
            path.write_text("\n".join(["time_us,op,sector,sectors", *lines]), encoding="utf-8")
            found = measured(path)
            cells = [
                f"{found[kind][0]:,}" + (f" ({found[kind][1]})" if found[kind][1] else "") for kind in kinds
            ]
            ratios = [found["online"][0] / max(1, found[kind][0]) for kind in ("best fixed", "profiled")]
            print("|", name, "|", " | ".join(cells), "|", " | ".join(f"{ratio:.2f}" for ratio in ratios), "|")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
