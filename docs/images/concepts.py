"""Draws docs/images/concepts/*.svg, the figures in docs/concepts.md: `python docs/images/concepts.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

import nandlab
from nandlab.report import theme
from nandlab.report.comparison import Runs, pictures
from nandlab.report.pictures import Picture

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WAL = ROOT / "workloads" / "sqlite" / "wal.csv.gz"
SHAPE = {"page_bytes": 4096, "pages_per_block": 64}
PROVISIONS = (0.07, 0.1, 0.15, 0.2, 0.28, 0.4, 0.5)


def closed_form(device: Any) -> float:  # noqa: ANN401 - the facts of a device, a part of a result
    """Greedy write amplification for uniform writes; docs/validation.md has the source.

    The reserve's two blocks and the two frontiers hold nothing to reclaim.
    """
    b = device.pages_per_block
    rho = device.logical_bytes / device.page_bytes / ((device.blocks - 4) * b)
    harmonic = sum(1 / n for n in range(1, b + 1))
    below = 0.0
    for m in range(b):
        below += 1 / m if m else 0.0
        # f (1 - rho b/m) = rho b (H_b - H_m) - (b - m)
        if m == 0 or m <= rho * b and rho * b == m:
            continue
        f = (rho * b * (harmonic - below) - (b - m)) / (1 - rho * b / m)
        if 0 <= f < 1:
            return b / (b - m + f)
    raise ValueError("no closed form for this device")


def over_provisioning() -> Picture:
    """A full device's write amplification over its over-provisioning."""
    rows = []
    for share in PROVISIONS:
        result = nandlab.Experiment(
            workload=nandlab.workload.uniform(requests=400_000),
            ftl=nandlab.ftl.page(),
            device={"capacity": "256 MiB", "over_provisioning": share, "model": "counting"},
            precondition={"fill": "sequential", "overwrites": 4.0},
        ).run()
        rows.append((100 * share, result.waf, closed_form(result.device)))
    frame = pl.DataFrame(rows, schema={"op": float, "measured": float, "form": float}, orient="row")
    x = alt.X("op:Q", title="over-provisioning (%)")
    y = {"title": "write amplification (ratio)", "scale": alt.Scale(zero=True)}
    chart = alt.Chart(frame, width=560, height=240)
    line = chart.mark_line(color=theme.COLOURS[6]).encode(x=x, y=alt.Y("form:Q", **y))
    points = chart.mark_point(filled=True, size=70, color=theme.COLOURS[0]).encode(
        x=x, y=alt.Y("measured:Q", **y)
    )
    return Picture(line + points)


def sqlite(ftl: dict[str, dict[str, object]], over_provisioning: float) -> nandlab.Result:
    """A SQLite trace over an FTL."""
    return nandlab.Experiment(
        workload=nandlab.Trace(WAL),
        ftl=ftl,
        device={"capacity": "60 MiB", "over_provisioning": over_provisioning, "shape": SHAPE},
    ).run()


def random_run() -> nandlab.Result:
    """Random writes on a new device."""
    return nandlab.Experiment(
        workload=nandlab.workload.uniform(requests=60_000, read_share=0.3),
        ftl=nandlab.ftl.page(),
        device={"capacity": "64 MiB", "over_provisioning": 0.15},
    ).run()


def hot_and_cold() -> nandlab.Result:
    """One page in ten takes nine writes in ten."""
    return nandlab.Experiment(
        workload=nandlab.workload.hot_cold(requests=200_000),
        ftl=nandlab.ftl.page(),
        device={"capacity": "64 MiB", "over_provisioning": 0.15},
        precondition={"fill": "sequential"},
    ).run()


def draw() -> dict[str, Picture]:
    """Every figure by its name."""
    page = sqlite(nandlab.ftl.page(), 0.28)
    others = {"FAST": nandlab.ftl.fast(), "BAST": nandlab.ftl.bast(), "FMAX": nandlab.ftl.fmax()}
    runs = [
        ({"FTL": "page map"}, page),
        *(({"FTL": name}, sqlite(ftl, 0.28)) for name, ftl in others.items()),
    ]
    full, course = sqlite(nandlab.ftl.page(), 0.07), random_run()
    return {
        "over-provisioning": over_provisioning(),
        "ftls": pictures(Runs(runs))["waf"],
        "matrix": full.pictures()["matrix"],
        "latency": full.pictures()["latency"],
        "over-time": course.pictures()["over-time"],
        "blocks": hot_and_cold().pictures()["blocks"],
    }


if __name__ == "__main__":
    from nandlab.report.plots import write_pictures

    for path in write_pictures(draw(), HERE / "concepts"):
        print(path.relative_to(ROOT))
