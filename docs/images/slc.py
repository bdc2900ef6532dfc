"""Draws docs/images/slc.png and prints the table for docs/devices.md: `python docs/images/slc.py`.

The runs come from experiments/slc-*.toml, each also without a cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import altair as alt
import polars as pl

import nandlab
from nandlab.report import theme

HERE = Path(__file__).parent
EXPERIMENTS = HERE.parents[1] / "experiments"
DEVICES = ("tlc", "qlc")
CACHES = ("none", "fixed", "dynamic")


@dataclass(frozen=True)
class Course:
    """A run: its result, and pairs: the GB written so far, and the MB/s since the pair before."""

    result: nandlab.Result
    paces: list[tuple[float, float]]

    def mean(self, start: float, end: float) -> str:
        """MB/s between two shares of the written bytes."""
        last = self.paces[-1][0]
        inside = [pace for written, pace in self.paces if start * last < written <= end * last]
        return f"{len(inside) / sum(1 / pace for pace in inside):.0f}"


def course(device: str, cache: str) -> Course:
    """Runs the experiment for a device with a cache."""
    file = EXPERIMENTS / f"slc-{device}-{'fixed' if cache == 'none' else cache}.toml"
    # The name of a cache alone would set its options to their defaults.
    sets = ["ftl.page.slc_cache=none"] if cache == "none" else []
    result = nandlab.Experiment.from_toml(file, sets=sets).run()
    paces, before = [], (0, 0.0)
    for sample in result.series:
        sectors, time = sample.written_sectors - before[0], (sample.time_us or 0.0) - before[1]
        paces.append((sample.written_sectors * 512 / 1e9, sectors * 512 / time))
        before = (sample.written_sectors, sample.time_us or 0.0)
    return Course(result, paces)


def row(device: str, cache: str, run: Course) -> str:
    """A table row."""
    slc = run.result.slc
    first = slc.written_pages * 16384 / 1e9 if slc else 0.0
    folded = slc.folded_pages * 16384 / 1e9 if slc else 0.0
    total = run.result.throughput.written_mb_per_s
    paces = f"{run.mean(0, 0.05)} | {run.mean(0.5, 0.75)} | {run.mean(0.9, 1)}"
    return f"| `{device}-3d`, {cache} | {first:.2f} | {folded:.2f} | {paces} | {total:.0f} |"


def main() -> None:
    """Prints the table and draws the picture."""
    rows = []
    print("| device, cache | GB to SLC | GB folded | MB/s, first 5 % | 50 to 75 % | last 10 % | whole run |")
    print("|---|---|---|---|---|---|---|")
    for device in DEVICES:
        for cache in CACHES:
            run = course(device, cache)
            print(row(device, cache, run))
            rows += [(f"{device}-3d", cache, written, pace) for written, pace in run.paces]
    frame = pl.DataFrame(
        rows, schema={"device": str, "cache": str, "written": float, "pace": float}, orient="row"
    )
    scale = alt.Scale(domain=CACHES, range=theme.COLOURS[: len(CACHES)])
    dashes = alt.Scale(domain=CACHES, range=theme.DASHES[: len(CACHES)])
    chart = (
        alt.Chart(frame, width=320, height=220)
        .mark_line(interpolate="step-before")
        .encode(
            x=alt.X("written:Q", title="written by the host (GB)"),
            y=alt.Y("pace:Q", title="bandwidth (MB/s)", scale=alt.Scale(zero=True)),
            color=alt.Color("cache:N", title="slc_cache", scale=scale),
            strokeDash=alt.StrokeDash("cache:N", title="slc_cache", scale=dashes),
            column=alt.Column("device:N", title=None, sort=[f"{device}-3d" for device in DEVICES]),
        )
    )
    (HERE / "slc.png").write_bytes(theme.png(chart.to_dict()))


if __name__ == "__main__":
    main()
