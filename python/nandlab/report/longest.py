"""The picture of the longest request: what its time was spent on, one after the other."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from nandlab.figures import frames
from nandlab.figures.summary import plain
from nandlab.record.record import Record
from nandlab.report.theme import COLOURS
from nandlab.writing import units

WIDTH, STEP = 620, 24
"""Of the picture and of a row, in pixels."""
OUTSIDE = "outside of the flash"
WHOSE = {"its own": 1.0, "earlier requests'": 0.45}
"""How dark a bar is, by whose operation it is."""
SCALES = ((1e6, "s", 1e6), (1e3, "ms", 1e4), (1.0, "µs", 0.0))
"""A unit's length in microseconds, its name, and the least latency that is told in it."""


def drawn(result: Record) -> tuple[Any, str, list[str]] | None:
    """The chart, its caption and the names beside it; None if the run does not know."""
    longest = result.longest_request
    frame = frames.longest_steps(result)
    if longest is None or not frame.height:
        return None
    length, unit = next((each, name) for each, name, least in SCALES if longest.latency_us >= least)
    named = frame.with_columns(
        pl.col("part").fill_null(OUTSIDE),
        pl.col("cause").fill_null(OUTSIDE).str.replace_all("_", " ", literal=True),
        begin=pl.col("from_us") / length,
        end=pl.col("to_us") / length,
        whose=pl.when(pl.col("own")).then(pl.lit("its own")).otherwise(pl.lit("earlier requests'")),
    )
    parts = sorted(named["part"].unique().to_list(), key=_place)
    causes = named["cause"].unique(maintain_order=True).to_list()
    whose = [name for name in WHOSE if name in set(named["whose"])]
    x = alt.X(
        "begin:Q",
        title=f"time after its arrival ({unit})",
        scale=alt.Scale(domain=[0, longest.latency_us / length], nice=False),
        axis=alt.Axis(format=",~r", tickCount=6),
    )
    legend = alt.Legend(orient="top", symbolType="square")
    inked = alt.Legend(orient="top", symbolType="square", symbolFillColor="var(--ink)")
    colours = alt.Scale(domain=causes, range=[COLOURS[at % len(COLOURS)] for at in range(len(causes))])
    shades = alt.Scale(domain=whose, range=[WHOSE[name] for name in whose])
    marks = alt.Chart(named, width=WIDTH, height=alt.Step(STEP)).mark_bar(
        height=alt.RelativeBandSize(0.75), minBandSize=1, stroke="var(--line)", strokeWidth=0.4
    )
    chart = marks.encode(
        x=x,
        x2="end:Q",
        y=alt.Y("part:N", sort=parts, title=None),
        color=alt.Color("cause:N", sort=causes, scale=colours, title="cause", legend=legend),
        opacity=alt.Opacity("whose:N", sort=whose, scale=shades, title="operations", legend=inked),
    )
    shown = float(frame.select((pl.col("to_us") - pl.col("from_us")).sum()).item())
    words = (
        f"The longest request, {longest.op} {longest.number:,} of {plain(longest.origin)}: "
        f"{units.time_us(longest.latency_us)}. Each moment belongs to the operation that it waited for."
    )
    left = longest.latency_us - shown
    if left > longest.latency_us / 1e6:
        words += f" Short steps of together {units.time_us(left)} are not drawn."
    return chart, words, parts


def _place(part: str) -> tuple[bool, int]:
    """By number; what is no part of the flash is last."""
    number = part.rpartition(" ")[2]
    return (True, 0) if part == OUTSIDE else (False, int(number))
