"""Pictures of several runs, as Vega-Altair charts. Every axis with a quantity names its unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from nandlab.report import theme
from nandlab.report.picture import INK, LINE, STEP, WIDTH, Chart, Picture, colour, log_time, rows_of
from nandlab.report.theme import COLOURS

Rows = Sequence[dict[str, Any]]


def _panels(chart: Chart, frame: pl.DataFrame, panels: Sequence[str]) -> Chart:
    """One chart for each value in `panel`, one below the other; the chart alone for one panel."""
    if len(panels) <= 1:
        return chart.properties(data=frame)
    row = alt.Row("panel:N", sort=list(panels), title=None, header=alt.Header(labelOrient="top"))
    # A design missing in a panel leaves no gap there.
    return chart.properties(data=frame).facet(row=row, spacing=12).resolve_scale(y="independent")


def _rows_chart() -> Chart:
    return alt.Chart(width=WIDTH, height=alt.Step(STEP))


def stacked(  # noqa: PLR0913 - what is stacked, and how it is read
    rows: Rows, part: str, parts: Sequence[str], designs: Sequence[str], panels: Sequence[str], title: str
) -> Picture:
    """A bar for each design, made from parts, with their sum.

    Args:
        rows: `design`, the column `part`, `value`, `panel`.
        part: The column with the bar part's name.
        parts: From left to right.
        designs: From top to bottom.
        panels: The charts, one below the other.
        title: The quantity's title, with its unit.

    """
    rank = {name: at for at, name in enumerate(parts)}
    frame = pl.DataFrame([{**row, "rank": rank[row[part]]} for row in rows], infer_schema_length=None)
    y = rows_of("design", designs)
    x = alt.X("value:Q", title=title)
    bars = (
        _rows_chart()
        .mark_bar(height=alt.RelativeBandSize(0.75))
        .encode(y=y, x=x, color=colour(part, parts, part), order=alt.Order("rank:Q"))
    )
    sums = (
        _rows_chart()
        .transform_aggregate(total="sum(value)", groupby=["design", "panel"])
        .mark_text(align="left", dx=5, color=INK)
        .encode(y=y, x=alt.X("total:Q"), text=alt.Text("total:Q", format=",.3~r"))
    )
    return Picture(_panels(bars + sums, frame, panels), names=[*designs, *parts])


def latency(rows: Rows, designs: Sequence[str], percentiles: Sequence[str], panels: Sequence[str]) -> Picture:
    """Percentiles of each design's write latency, on a logarithmic axis.

    Args:
        rows: `design`, `percentile`, `latency_us` (over 0), `panel`.
        designs: From top to bottom.
        percentiles: From left to right.
        panels: The charts, one below the other.

    """
    y = rows_of("design", designs)
    x = alt.X("latency_us:Q", **log_time("write latency (simulated time)"))
    lines = _rows_chart().mark_line(color=LINE, strokeWidth=2).encode(x=x, y=y, detail="design:N")
    shape = alt.Shape("percentile:N", sort=list(percentiles), scale=alt.Scale(domain=list(percentiles)))
    points = (
        _rows_chart()
        .mark_point(filled=True, size=60, opacity=1)
        .encode(x=x, y=y, color=colour("percentile", percentiles, "percentile"), shape=shape)
    )
    return Picture(_panels(lines + points, pl.DataFrame(list(rows)), panels), names=designs)


def wear(rows: Rows, designs: Sequence[str], panels: Sequence[str]) -> Picture:
    """A block's least, mean and most P/E cycles, for each design.

    Args:
        rows: `design`, `min`, `mean`, `max`, `panel`.
        designs: From top to bottom.
        panels: The charts, one below the other.

    """
    y = rows_of("design", designs)
    axis = alt.Axis(tickMinStep=1, tickCount=8, format=",.0f")
    title = "P/E cycles of a block: least, mean, most"
    spans = (
        _rows_chart()
        .mark_bar(height=6, color=COLOURS[5], cornerRadius=3)
        .encode(y=y, x=alt.X("min:Q", title=title, axis=axis), x2="max:Q")
    )
    ticks = _rows_chart().mark_tick(thickness=3, height=14, color=COLOURS[0])
    means = ticks.encode(y=y, x=alt.X("mean:Q", title=title))
    frame = pl.DataFrame(list(rows), infer_schema_length=None)
    return Picture(_panels(spans + means, frame, panels), names=designs)


def over_time(
    rows: Rows, lines: Sequence[str], line_title: str | None, panels: Sequence[str], title: str
) -> Picture:
    """Lines: a figure as the runs go on; on a logarithmic axis where it varies a lot.

    Args:
        rows: `requests`, `value`, `line`, `panel`.
        lines: The lines of a panel.
        line_title: What the lines differ in.
        panels: The charts, one after the other.
        title: Of the figure, with its unit.

    """
    frame = pl.DataFrame(list(rows), infer_schema_length=None)
    values = [row["value"] for row in rows]
    # Small numbers of blocks are told from none.
    wide = max(values) > 10 * min(values) > 0 and not title.startswith("free")
    names = list(lines)
    patterns = [theme.DASHES[at % len(theme.DASHES)] for at in range(len(names))]
    dashes = alt.Scale(domain=names, range=patterns)
    # Long enough to show the pattern.
    legend = alt.Legend(symbolType="stroke", symbolSize=900) if len(names) > 1 else None
    many = len(panels) > 1
    chart = (
        alt.Chart(width=380 if many else 700, height=230 if many else 260)
        .mark_line()
        .encode(
            x=alt.X("requests:Q", title="host requests", axis=alt.Axis(format=",.0f", tickCount=4)),
            y=alt.Y(
                "value:Q",
                title=title,
                scale=alt.Scale(type="log", nice=False) if wide else alt.Scale(zero=title.startswith("free")),
                axis=alt.Axis(format=",~r", tickCount=6),
            ),
            color=colour("line", names, line_title, legend=legend),
            strokeDash=alt.StrokeDash("line:N", sort=names, title=line_title, scale=dashes, legend=legend),
        )
        .properties(data=frame)
    )
    if not many:
        return Picture(chart, names=names)
    # Traces differ in length.
    facet = alt.Facet("panel:N", sort=list(panels), title=None)
    return Picture(chart.facet(facet, columns=2).resolve_scale(x="independent"), names=names)


def lifetime(rows: Rows, designs: Sequence[str], panels: Sequence[str]) -> Picture:
    """What the host writes until the first block, and the mean of the blocks, are at their endurance.

    Args:
        rows: `design`, `least` and `most` of the first block, `even` (10^9 bytes), `panel`.
        designs: From top to bottom.
        panels: The charts, one below the other.

    """
    y = rows_of("design", designs)
    title = "host writes until the endurance is reached (GB): first block, mean of the blocks"
    axis = alt.Axis(format=",~r", tickCount=6)
    scale = alt.Scale(type="log", nice=False, padding=12)
    x = alt.X("least:Q", title=title, axis=axis, scale=scale)
    spans = _rows_chart().mark_rule(color=COLOURS[1], strokeWidth=5).encode(y=y, x=x, x2="most:Q")
    even = (
        _rows_chart()
        .mark_point(filled=True, size=60, opacity=1, shape="diamond", color=COLOURS[0])
        .encode(y=y, x=alt.X("even:Q", title=title))
    )
    frame = pl.DataFrame(list(rows), infer_schema_length=None)
    words = "Bar: where the most worn block ends; diamond: the mean, as with ideal wear leveling."
    return Picture(_panels(spans + even, frame, panels), words, designs)
