"""Pictures for one run, as Vega-Altair charts. Every axis with a quantity names its unit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import altair as alt
import polars as pl

from nandlab.figures import frames
from nandlab.figures.summary import plain
from nandlab.record.record import Record
from nandlab.report import percentiles, shares, theme
from nandlab.report.course import gathered
from nandlab.report.longest import drawn as longest_drawn
from nandlab.report.parts import number
from nandlab.report.picture import INK, STEP, WIDTH, Chart, Picture, colour, log_time, rows_of
from nandlab.report.theme import COLOURS
from nandlab.writing import units


def waf(result: Record) -> Picture | None:
    """Write amplification by cause."""
    causes = [(plain(cause), part) for cause, part in result.waf_by_cause().items()]
    if not causes:
        return None
    frame = pl.DataFrame(causes, schema={"cause": str, "waf": float}, orient="row")
    names = frame["cause"].to_list()
    y = rows_of("cause", names)
    x = alt.X("waf:Q", title="write amplification (flash programs / host writes)")
    chart = alt.Chart(frame, width=WIDTH, height=alt.Step(STEP + 4))
    bars = chart.mark_bar(height=alt.RelativeBandSize(0.75)).encode(
        y=y, x=x, color=colour("cause", names, legend=None)
    )
    words = chart.mark_text(align="left", dx=5).encode(y=y, x=x, text=alt.Text("waf:Q", format=".3f"))
    return Picture(bars + words, f"They sum to {units.ratio(result.waf)}.", names)


MATRIX = (("programs", "pages programmed"), ("erases", "blocks erased"), ("reads", "pages read"))


def matrix(result: Record) -> Picture | None:
    """Who asked, and why the flash did it."""
    frame = frames.matrix(result)
    parts = []
    for operation, title in MATRIX:
        cells = frame.filter(pl.col(operation) > 0).select(
            pl.col("origin").str.replace_all("_", " ", literal=True),
            pl.col("cause").str.replace_all("_", " ", literal=True),
            pl.col(operation).cast(float).alias("number"),
            pl.Series("words", [number(value) for value in frame.filter(pl.col(operation) > 0)[operation]]),
        )
        if cells.height:
            parts.append(_heat(cells, title))
    if not parts:
        return None
    origins = [plain(name) for name in frame["origin"].unique(maintain_order=True)]
    words = "Rows: the part of the host that the page belongs to. Columns: why the flash did it."
    chart = alt.vconcat(*parts, spacing=18).resolve_scale(opacity="independent")
    return Picture(chart, words, origins)


def _heat(cells: pl.DataFrame, title: str) -> Chart:
    y = rows_of("origin", cells["origin"].unique(maintain_order=True).to_list())
    causes = cells["cause"].unique(maintain_order=True).to_list()
    # A name with several words takes several lines.
    above = alt.Axis(orient="top", labelAngle=0, labelExpr="split(datum.value, ' ')")
    x = alt.X("cause:N", sort=causes, title=None, axis=above)
    # Not a colour ramp: the page decides its colours at the end.
    depth = alt.Opacity("number:Q", legend=None, scale=alt.Scale(domainMin=0, range=[0.06, 0.75]))
    chart = alt.Chart(cells, width=alt.Step(94), height=alt.Step(STEP + 4), title=title)
    return chart.mark_rect(color=COLOURS[0]).encode(x=x, y=y, opacity=depth) + chart.mark_text(
        fontSize=11
    ).encode(x=x, y=y, text="words:N")


HEIGHT = 110
"""Of a distribution, in pixels."""


def latency(result: Record) -> Picture | None:
    """How long requests took, with the percentiles marked."""
    histogram = frames.latency_histogram(result).filter(pl.col("requests") > 0, pl.col("to_us") > 0)
    found = [row for row in frames.latency(result).iter_rows(named=True) if row["max_us"] > 0]
    if not found:
        return None
    low, high = _reach(histogram)
    x = log_time("latency (simulated time)")
    x["scale"] = alt.Scale(type="log", nice=False, domain=[low, high])

    def panels(width: int) -> Chart:
        each = [
            _distribution(
                histogram.filter(pl.col("request") == row["request"]), row, x, (low, high), at, width
            )
            for at, row in enumerate(found)
        ]
        return alt.vconcat(*each, spacing=10)

    words = "Bars: share of the requests; rules: percentiles."
    return Picture(panels(WIDTH + 100), words, narrow=panels(theme.TELEPHONE))


def _reach(histogram: pl.DataFrame) -> tuple[float, float]:
    low, high = float(histogram["from_us"].min()), float(histogram["to_us"].max())  # type: ignore[arg-type] # numbers
    return low / 1.06, high * 1.06


def _distribution(
    buckets: pl.DataFrame,
    row: dict[str, Any],
    x: dict[str, Any],
    reach: tuple[float, float],
    at: int,
    width: int,
) -> Chart:
    bars = (
        alt.Chart(buckets.with_columns(percent=100 * pl.col("share"), zero=pl.lit(0.0)))
        .mark_rect(color=COLOURS[at % len(COLOURS)], opacity=0.8)
        .encode(
            x=alt.X("from_us:Q", **x),
            x2="to_us:Q",
            y=alt.Y("zero:Q", title="requests (%)", axis=alt.Axis(tickCount=4)),
            y2="percent:Q",
        )
    )
    layers = [bars]
    placed = percentiles.labels(row, reach, width)
    for label in placed:
        frame = pl.DataFrame({"us": [label.us], "words": [label.words]})
        above = -percentiles.ROW * label.row
        marked = alt.Chart(frame).encode(x=alt.X("us:Q", **x), y=alt.value(above))
        layers.append(marked.mark_rule(color=INK, strokeDash=[4, 3]).encode(y2=alt.value(HEIGHT)))
        beside = 4 if label.side == "left" else -4
        text = marked.mark_text(align=label.side, dx=beside, dy=-6, baseline="bottom")
        layers.append(text.encode(text="words:N"))
    offset = 16 + percentiles.ROW * max(label.row for label in placed)
    title = alt.Title(f"{row['request']}: {units.counted(row['count'], 'request')}", offset=offset)
    return alt.layer(*layers, width=width, height=HEIGHT, title=title)


def tail(result: Record) -> Picture | None:
    """The share in requests slower than a latency; both axes logarithmic.

    A trace's recorded latencies are drawn beside the simulated ones.
    """
    rows = []
    recorded = result.recorded_latency_histogram or {}
    curves = [*(result.latency_histogram or {}).items()]
    curves += [(f"{kind}, recorded", histogram) for kind, histogram in recorded.items()]
    for kind, histogram in curves:
        points = longer_than(histogram)
        # If all took equally long there is no line to draw.
        rows += [(kind, us, share) for us, share in points if us > 0] if len(points) > 1 else []
    if not rows:
        return None
    frame = pl.DataFrame(rows, schema={"request": str, "latency_us": float, "percent": float}, orient="row")
    kinds = frame["request"].unique(maintain_order=True).to_list()
    dashes = alt.Scale(domain=kinds, range=[theme.DASHES[at % len(theme.DASHES)] for at in range(len(kinds))])
    chart = (
        alt.Chart(frame, width=WIDTH + 100, height=240)
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("latency_us:Q", **log_time("latency" if recorded else "latency (simulated time)")),
            y=alt.Y(
                "percent:Q",
                title="share of requests that took longer (%)",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(format="~g", tickCount=5),
            ),
            color=colour("request", kinds, "request"),
            strokeDash=alt.StrokeDash("request:N", sort=kinds, scale=dashes, title="request"),
        )
    )
    words = "How much of the requests took longer than a given time."
    if recorded:
        words += " Recorded: in the trace, all of its requests; the others: in this simulation."
    return Picture(chart, words)


def longer_than(histogram: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    """Pairs: a latency, and the percentage slower than it, as long as there are any.

    >>> longer_than([[10, 3], [20, 1]])
    [(8.408964152537145, 100.0), (10, 25.0)]
    """
    total = longer = sum(count for _, count in histogram)
    points: list[tuple[float, float]] = []
    for upper, count in histogram:
        if count and not points:
            points.append((frames.FIRST_BUCKET * upper, 100.0))
        longer -= count
        if count and longer > 0:
            points.append((upper, 100 * longer / total))
    return points


def over_time(result: Record) -> Picture | None:
    """Throughput, write amplification and free blocks during the run."""
    frame = gathered(result)
    if frame.height < 2:
        return None
    timed = result.time_us is not None
    written = gathered(result, by_writes=True)
    along = "time_s" if timed else "requests"
    # One below the other, the same moment stands at the same place.
    end = max(float(each[along].max() or 0) for each in (frame, written))  # type: ignore[arg-type] # numbers
    x = alt.X(
        f"{along}:Q",
        title="simulated time (s)" if timed else "host requests",
        axis=alt.Axis(format=",~r", tickCount=6),
        scale=alt.Scale(nice=False, domain=[0, end]),
    )
    parts = []
    if timed:
        parts.append(_throughput(frame, x))
    if written.height > 1:
        parts.append(_course(written, x, "waf", "WAF (ratio)", 1))
    parts.append(_course(frame, x, "free_blocks", f"free blocks (of {result.device.blocks:,})", 2))
    return Picture(alt.vconcat(*parts, spacing=12), WINDOWED)


WINDOWED = (
    "Each point covers the requests since the point before; points are about equal host traffic apart, those "
    "of WAF equal host writes."
)


def _course(frame: pl.DataFrame, x: alt.X, field: str, title: str, at: int) -> Chart:
    values = frame[field]
    spread = float(values.max()) > 20 * max(float(values.min()), 1e-9) > 0  # type: ignore[arg-type] # numbers
    scale = alt.Scale(type="log") if spread and field == "waf" else alt.Scale(zero=field == "free_blocks")
    y = alt.Y(f"{field}:Q", title=title, scale=scale, axis=alt.Axis(format=",~r", tickCount=4))
    chart = alt.Chart(frame, width=WIDTH + 100, height=120)
    return chart.mark_line(color=COLOURS[at]).encode(x=x, y=y)


RATES = {"read_mb_per_s": "read", "written_mb_per_s": "written"}


def _throughput(frame: pl.DataFrame, x: alt.X) -> Chart:
    used = [name for name in RATES if float(frame[name].max() or 0) > 0]  # type: ignore[arg-type] # numbers
    long = frame.unpivot(used, index=["time_s", "requests"], variable_name="kind", value_name="rate")
    long = long.with_columns(pl.col("kind").replace_strict(RATES))
    kinds = [RATES[name] for name in used]
    dashes = alt.Scale(domain=kinds, range=[theme.DASHES[at] for at in range(len(kinds))])
    legend = alt.Legend(symbolType="stroke", symbolSize=900) if len(kinds) > 1 else None
    return (
        alt.Chart(long, width=WIDTH + 100, height=120)
        .mark_line()
        .encode(
            x=x,
            y=alt.Y("rate:Q", title="throughput (MB/s)", axis=alt.Axis(format=",~r", tickCount=4)),
            color=colour("kind", kinds, legend=legend),
            strokeDash=alt.StrokeDash("kind:N", sort=kinds, scale=dashes, legend=legend, title=None),
        )
    )


def wear(result: Record) -> Picture | None:
    """Block counts by P/E cycles, and by valid pages."""
    if not result.wear.max:
        return None
    valid = frames.valid_pages(result)
    parts = [_counted(result.wear.histogram, "P/E cycles of a block", 0)]
    if valid.height:
        parts.append(_counted(result.blocks.histogram, "valid pages of a block in use", 2))
    words = (
        f"P/E cycles: least {result.wear.min}, mean {result.wear.mean:.2f}, most {result.wear.max}, "
        f"standard deviation {result.wear.stddev:.2f}. {units.counted(result.blocks.free, 'block')} free."
    )
    return Picture(alt.hconcat(*parts, spacing=24), words)


def _counted(histogram: Sequence[Sequence[int]], title: str, at: int) -> Chart:
    # A number stands in its bar's middle.
    rows = [(one["from"] - 0.5, one["to"] - 0.5, one["blocks"]) for one in bins(histogram)]
    frame = pl.DataFrame(rows, schema={"from": float, "to": float, "blocks": int}, orient="row")
    x_axis = alt.Axis(tickMinStep=1, tickCount=8, format=",.0f")
    y_axis = alt.Axis(tickMinStep=1, tickCount=5, format=",.0f")
    return (
        alt.Chart(frame, width=310, height=180)
        .mark_bar(binSpacing=1, color=COLOURS[at])
        .encode(
            x=alt.X("from:Q", bin="binned", title=title, axis=x_axis),
            x2="to:Q",
            y=alt.Y("blocks:Q", title="blocks", axis=y_axis),
        )
    )


def bins(histogram: Sequence[Sequence[int]], most: int = 60) -> list[dict[str, int]]:
    """Pairs: a number and blocks, gathered into at most so many equally wide bins.

    >>> bins([[3, 10], [4, 20]])
    [{'from': 3, 'to': 4, 'blocks': 10}, {'from': 4, 'to': 5, 'blocks': 20}]
    >>> bins([[0, 1], [99, 2]], most=2)
    [{'from': 0, 'to': 50, 'blocks': 1}, {'from': 50, 'to': 100, 'blocks': 2}]
    """
    pairs = sorted((value, blocks) for value, blocks in histogram)
    if not pairs:
        return []
    low, high = pairs[0][0], pairs[-1][0] + 1
    width = -(-(high - low) // most)
    found: dict[int, int] = {}
    for value, blocks in pairs:
        start = low + (value - low) // width * width
        found[start] = found.get(start, 0) + blocks
    return [{"from": start, "to": start + width, "blocks": blocks} for start, blocks in found.items()]


def blocks(result: Record) -> Picture | None:
    """P/E cycles and valid pages by block, in address order."""
    if not result.wear.max and not result.blocks.valid_pages:
        return None
    frame = frames.blocks(result).with_columns(end=pl.col("first") + pl.col("blocks"), zero=pl.lit(0))
    x = alt.X("first:Q", title="block", scale=alt.Scale(nice=False), axis=alt.Axis(format=",~r", tickCount=8))
    chart = alt.Chart(frame, width=WIDTH + 100, height=120)
    whole = alt.Axis(tickMinStep=1, tickCount=4, format=",.0f")
    cycles = chart.mark_rect(color=COLOURS[0]).encode(
        x=x, x2="end:Q", y=alt.Y("zero:Q", title="P/E cycles", axis=whole), y2="pe_cycles_mean:Q"
    )
    if result.blocks.groups[0].blocks > 1:
        spans = chart.mark_rect(color=COLOURS[0], opacity=0.35)
        cycles += spans.encode(x=x, x2="end:Q", y=alt.Y("pe_cycles_min:Q"), y2="pe_cycles_max:Q")
    pages = result.device.pages_per_block
    whole_block = alt.Scale(domain=[0, pages])
    valid = chart.mark_rect(color=COLOURS[2]).encode(
        x=x,
        x2="end:Q",
        y=alt.Y("zero:Q", title=f"valid pages (of {pages:,})", axis=whole, scale=whole_block),
        y2="valid_pages:Q",
    )
    size = result.blocks.groups[0].blocks
    words = (
        "A column is one block."
        if size == 1
        else f"A column is {size} blocks: means, and in a lighter colour fewest to most P/E cycles."
    )
    return Picture(alt.vconcat(cycles, valid, spacing=12), words)


def energy(result: Record) -> Picture | None:
    """Energy by memory and operation kind."""
    frame = frames.energy(result)
    if float(frame["energy_j"].sum()) <= 0:
        return None
    named = [
        (f"{memory}: {kind}", joules, units.energy_j(joules)) for memory, kind, joules in frame.iter_rows()
    ]
    return Picture(_bars(named, "energy (J)"), names=[name for name, _, _ in named])


def ram(result: Record) -> Picture | None:
    """Memory needed by firmware, by structure."""
    named = [
        (f"{plain(structure)} ({memory})", number / 1024, units.size(number))
        for memory, structure, number in frames.ram(result).iter_rows()
        if number
    ]
    if not named:
        return None
    total = f"Together {units.size(result.ram.total_bytes)}."
    return Picture(_bars(named, "memory (KiB)"), total, [name for name, _, _ in named])


def _bars(rows: Sequence[tuple[str, float, str]], title: str) -> Chart:
    """A bar for each name, with its figure in words."""
    frame = pl.DataFrame(list(rows), schema={"name": str, "value": float, "words": str}, orient="row")
    y = rows_of("name", frame["name"].to_list())
    x = alt.X("value:Q", title=title, axis=alt.Axis(format=",~r", tickCount=6))
    chart = alt.Chart(frame, width=WIDTH, height=alt.Step(STEP + 4))
    bars = chart.mark_bar(color=COLOURS[0], height=alt.RelativeBandSize(0.75)).encode(y=y, x=x)
    return bars + chart.mark_text(align="left", dx=5).encode(y=y, x=x, text="words:N")


def longest(result: Record) -> Picture | None:
    """What the longest request spent its time on."""
    found = longest_drawn(result)
    return None if found is None else Picture(*found)


PICTURES: dict[str, Callable[[Record], Picture | None]] = {
    "waf": waf,
    "matrix": matrix,
    "handles": shares.handles,
    "tenants": shares.tenants,
    "latency": latency,
    "latency-tail": tail,
    "longest": longest,
    "over-time": over_time,
    "wear": wear,
    "blocks": blocks,
    "energy": energy,
    "ram": ram,
}
"""A run's pictures by name; None if the run has nothing to show in it."""


def of_run(result: Record, names: Collection[str] = tuple(PICTURES)) -> dict[str, Picture]:
    """A run's pictures with these names."""
    with theme.unchecked():
        drawn = {name: PICTURES[name](result) for name in names}
    return {name: picture for name, picture in drawn.items() if picture is not None}


def svgs_of_run(result: Record, names: Collection[str]) -> dict[str, tuple[theme.Drawing, str]]:
    """SVG and caption for each picture: one is drawn, outside Python's lock, while the next one is made."""
    with ThreadPoolExecutor(1) as drawing:
        waiting = {
            name: (drawing.submit(theme.svg, *picture.drawn()), picture.caption)
            for each in names
            for name, picture in of_run(result, [each]).items()
        }
        return {name: (svg.result(), caption) for name, (svg, caption) in waiting.items()}
