"""How well a sweep of many small points uses the processors."""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from nandlab.experiment import Experiment
from nandlab.sweeping import sweep

NAME = "sweep"

POINTS = 64


def bench(*, quick: bool, tell: Callable[[str], object] = lambda _: None) -> dict[str, Any]:
    """A figure for `nandlab bench`: points a second in a sweep of 64 over one trace, on every processor.

    Its `params` have the efficiency: the time on one processor over the summed time of as many as there are.
    """
    tell(NAME)
    jobs = os.cpu_count() or 1
    requests, rounds = (2_000, 1) if quick else (300_000, 5)
    with tempfile.TemporaryDirectory(prefix="nandlab-") as folder:
        trace = Path(folder) / "trace.csv"
        _write(trace, requests)
        experiment = Experiment(**_experiment(trace))
        pairs = [(_seconds(experiment, 1), _seconds(experiment, jobs)) for _ in range(rounds)]
    rates = [POINTS / together for _, together in pairs]
    efficiency = median(alone / (jobs * together) for alone, together in pairs)
    return {
        "name": NAME,
        "unit": "points/s",
        "value": median(rates),
        "lowest": min(rates),
        "highest": max(rates),
        "state_bytes": 0,
        "of_limit": None,
        "limit": None,
        "params": {"requests": str(requests), "jobs": str(jobs), "efficiency": f"{efficiency:.2f}"},
    }


def _seconds(experiment: Experiment, jobs: int) -> float:
    begin = time.perf_counter()
    sweep(experiment, {"device.over_provisioning": f"0.1..0.5:{POINTS}"}, jobs=jobs)
    return time.perf_counter() - begin


def _write(path: Path, requests: int) -> None:
    draw = random.Random(1)
    pages = (64 << 20) // 4096
    lines = (f"{at},W,{8 * draw.randrange(pages)},8\n" for at in range(requests))
    path.write_text("time_us,op,sector,sectors\n" + "".join(lines), encoding="utf-8")


def _experiment(trace: Path) -> dict[str, Any]:
    return {
        "workload": {"trace": {"path": str(trace)}},
        "ftl": {"page": {}},
        "precondition": {"fill": "sequential"},
        "device": {"profile": "generic", "capacity": "64 MiB", "model": "counting"},
    }
