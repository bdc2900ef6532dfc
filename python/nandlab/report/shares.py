"""Pictures for the parts of the host: reclaim unit handles and tenants."""

from __future__ import annotations

import altair as alt
import polars as pl

from nandlab.figures import frames
from nandlab.record.record import Record
from nandlab.report.picture import STEP, WIDTH, Picture, colour, rows_of
from nandlab.report.theme import COLOURS
from nandlab.writing import units


def handles(result: Record) -> Picture | None:
    """Write amplification by reclaim unit handle."""
    frame = frames.handles(result).filter(pl.col("waf").is_not_null())
    if not frame.height:
        return None
    names = [f"handle {number}" for number in frame["handle"]]
    words = [
        f"{units.ratio(row['waf'])} of {units.counted(row['host_pages'], 'page')}"
        for row in frame.iter_rows(named=True)
    ]
    frame = frame.with_columns(name=pl.Series(names), words=pl.Series(words))
    y = rows_of("name", names)
    x = alt.X("waf:Q", title="pages written and moved / pages written")
    chart = alt.Chart(frame, width=WIDTH, height=alt.Step(STEP + 4))
    bars = chart.mark_bar(color=COLOURS[0], height=alt.RelativeBandSize(0.75)).encode(y=y, x=x)
    told = chart.mark_text(align="left", dx=5).encode(y=y, x=x, text="words:N")
    caption = "Without a move it is 1. A moved page counts for the handle through which it was written last."
    return Picture(bars + told, caption, names)


WHERE = {"wait_us": "in its submission queue", "inside_us": "inside the device"}
"""Columns of a tenant's mean latency, and what each of them is."""


def tenants(result: Record) -> Picture | None:
    """Mean latency of each tenant, and the part of it in a submission queue."""
    frame = frames.tenants(result).filter(pl.col("mean_us").is_not_null())
    if not frame.height:
        return None
    names = frame["tenant"].to_list()
    words = [units.time_us(each) for each in frame["mean_us"]]
    frame = frame.with_columns(
        words=pl.Series(words),
        inside_us=pl.col("mean_us") - pl.col("wait_us"),
        whole_ms=pl.col("mean_us") / 1e3,
    )
    long = frame.unpivot(list(WHERE), index=["tenant"], variable_name="column", value_name="us").with_columns(
        where=pl.col("column").replace_strict(WHERE),
        order=pl.col("column").replace_strict(
            {name: at for at, name in enumerate(WHERE)}, return_dtype=pl.Int64
        ),
        ms=pl.col("us") / 1e3,
    )
    y = rows_of("tenant", names)
    title = "mean latency (ms)"
    legend = alt.Legend(orient="top", symbolType="square")
    bars = (
        alt.Chart(long, width=WIDTH, height=alt.Step(STEP + 4))
        .mark_bar(height=alt.RelativeBandSize(0.75))
        .encode(
            y=y,
            x=alt.X("ms:Q", title=title, axis=alt.Axis(format=",~r", tickCount=6)),
            color=colour("where", list(WHERE.values()), legend=legend),
            order="order:Q",
        )
    )
    told = (
        alt.Chart(frame)
        .mark_text(align="left", dx=5)
        .encode(y=y, x=alt.X("whole_ms:Q", title=title), text="words:N")
    )
    return Picture(bars + told, "", names)
