"""How fast policies in Python are beside those in Rust.

    python docs/own_policies_speed.py

Each figure is the best of three. A run with few requests is taken from one with many, so that start and fill
cancel out.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import nandlab

sys.path.insert(0, str(Path(__file__).parents[1] / "python" / "tests"))
import own_policies as own  # noqa: E402 - the policies of the tests

ROUNDS = 3
Make = Callable[[int], nandlab.Experiment]


def per_second(make: Make, few: int, many: int, count: Callable[[nandlab.Result], int]) -> float:
    """Millions of `count` per processor second."""
    found = []
    for _ in range(ROUNDS):
        measured = []
        for requests in (few, many):
            begun = time.process_time()
            result = make(requests).run()
            measured.append((time.process_time() - begun, count(result)))
        (first_s, first), (second_s, second) = measured
        found.append((second - first) / (second_s - first_s) / 1e6)
    return max(found)


def page(**options: object) -> Make:
    """A counting page map of 1 GiB under uniform writes, after a fill and two overwrites."""
    return lambda requests: nandlab.Experiment(
        workload=nandlab.workload.uniform(requests=requests, size="4 KiB"),
        ftl=nandlab.ftl.page(**options),
        device=nandlab.Device(
            capacity="1 GiB", over_provisioning=0.28, model="counting", shape={"pages_per_block": 256}
        ),
        precondition=nandlab.Precondition(fill="sequential", overwrites=2),
    )


def buffer(chosen: object) -> Make:
    """A buffer of 32 MiB over a Zipf workload."""
    return lambda requests: nandlab.Experiment(
        workload=nandlab.workload.zipf(requests=requests, size="4 KiB"),
        buffer=chosen,
        ftl=nandlab.ftl.page(),
        device=nandlab.Device(capacity="1 GiB", over_provisioning=0.28, model="counting"),
    )


def programs(result: nandlab.Result) -> int:
    """Pages programmed."""
    return result.flash.programs


def requests(result: nandlab.Result) -> int:
    """Accesses of the host."""
    return result.host.requests


def main() -> None:
    """Prints the tables."""
    for name, mine in (("greedy", own.Greedy), ("fifo", own.Fifo), ("cost_benefit", own.CostBenefit)):
        ours = per_second(page(victim=name), 200_000, 6_000_000, programs)
        theirs = per_second(page(victim=mine()), 200_000, 6_000_000, programs)
        print(f"victim {name}: {ours:.1f} {theirs:.1f} {theirs / ours:.2f}", flush=True)
    for name, mine in (("lru", own.Lru), ("sieve", own.Sieve), ("s3_fifo", own.S3Fifo)):
        ours = per_second(buffer({name: {"size": "32 MiB"}}), 100_000, 3_000_000, requests)
        python = nandlab.buffer.python(policy=mine(), size="32 MiB")
        theirs = per_second(buffer(python), 100_000, 1_000_000, requests)
        print(f"replacement {name}: {ours:.2f} {theirs:.2f}", flush=True)
    placements = (
        ("sepbit", "sepbit"),
        ("SepBit", own.SepBit()),
        ("by page", own.HalvesByPage()),
        ("by tables", own.ByHalves()),
    )
    for name, placement in placements:
        made = per_second(page(placement=placement), 100_000, 1_000_000, programs)
        print(f"placement {name}: {made:.2f}", flush=True)


if __name__ == "__main__":
    main()
