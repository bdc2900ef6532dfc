"""Numbers of channels that fit equally well, told apart by simulated rows.

On a drive with few dies, a list's time looks like a second round of a channel. Larger requests and deeper
queues differ then, and have no simple formula. So a simulated drive with each number of channels runs them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nandlab.calibrate.probe.jobs import READS, short
from nandlab.calibrate.probe.model import Drive
from nandlab.calibrate.probe.results import Results
from nandlab.calibrate.probe.simulated import MOST, experiment_of
from nandlab.calibrate.runs import bench_of
from nandlab.running.batch import run_all

if TYPE_CHECKING:
    from nandlab.calibrate.probe.reads import Times

ROWS = (
    *(f"read.{short(size)}.qd1" for size in (8192, 16384, 32768, 65536, 131_072, 262_144)),
    "read.128k.qd64",
    "read.4k.qd256",
)
LEAST_BYTES = 64 * 2**20


def drive_of(times: Times) -> Drive:
    """The drive as far as reads tell; the rest is a plain drive's."""
    shape, values = times.shape, times.values
    read_us = max(0.1, values["read_us"])
    link = values["link_byte_us"]
    return Drive(
        channels=shape.channels,
        dies=shape.dies // shape.channels,
        planes=1,
        page_bytes=shape.page_bytes,
        spare_bytes=128,
        read_us=read_us,
        program_us=500.0,
        channel_mb_s=1 / max(values["byte_us"], 1e-5),
        buffer_bytes=2**20,
        over_provisioning=1.0,
        link_mb_s=1 / link if link > 1e-5 else 1e5,
        link_write_mb_s=1000.0,
        latency_us=max(0.0, values["outside_us"]),
        read_command_us=0.0,
        write_command_us=0.0,
        list_us=max(0.0, values["list_us"]),
        blocks=16,
        read_types_us=times.types_us,
        command_us=values["command_us"],
    )


def closest(results: Results, candidates: Sequence[Times], jobs: int | None) -> Times:
    """The candidate with the smallest misses; of equal ones the first."""
    if len(candidates) == 1:
        return candidates[0]
    named = {job.name: job for job in READS.jobs}
    experiments = []
    for each in candidates:
        bench = bench_of(drive_of(each).built(1, LEAST_BYTES), MOST)
        experiments += [experiment_of(bench, READS, named[name]) for name in ROWS]
    outcomes, stopped = run_all(experiments, jobs)
    if stopped:
        raise KeyboardInterrupt
    costs = []
    for at in range(len(candidates)):
        cost = 0.0
        for name, outcome in zip(ROWS, outcomes[at * len(ROWS) :], strict=False):
            spread = None if outcome.result is None else outcome.result.latency_us
            if spread is None or spread.read is None:
                cost += 1.0
                continue
            cost += math.log(spread.read.mean / results.jobs[name].mean_us) ** 2
        costs.append(cost)
    return candidates[costs.index(min(costs))]
