"""`nandlab profile TRACE`: values a hybrid buffer learns from a trace before it runs."""

from __future__ import annotations

from typing import Any

import click

from nandlab.cli.example import example
from nandlab.cli.options import choice_option
from nandlab.cli.output import print_json, print_table, say
from nandlab.cli.progress import reading
from nandlab.cli.trace import options_of, page_bytes_option, reads_a_trace

INTERVALS = "10,30,100,300,1000,3000,10000"
MOST = 2**32 - 1
"""Most requests in an interval."""


def _numbers(_ctx: click.Context, _parameter: click.Parameter, text: str) -> list[int]:
    try:
        found = [int(part) for part in text.replace("_", "").split(",")]
    except ValueError:
        raise click.BadParameter(f"{text!r} is no list of numbers such as {INTERVALS}") from None
    if any(number < 1 for number in found):
        raise click.BadParameter(f"{text!r}: an interval has 1 request at least")
    if any(number > MOST for number in found):
        raise click.BadParameter(f"{text!r}: an interval has {MOST:,} requests at most")
    return sorted(set(found))


@example("nandlab profile mine.csv")
@click.command("profile")
@reads_a_trace
@click.option(
    "--intervals",
    metavar="N,N,...",
    default=INTERVALS,
    show_default=True,
    callback=_numbers,
    help="Requests of an interval; each has thresholds.",
)
@click.option(
    "--interval",
    metavar="N",
    type=click.IntRange(1, MOST),
    help="The interval of the table at the end; by default the longest of 30 or more that is not degenerate.",
)
@page_bytes_option
@choice_option("--fw", ["runs", "switches"], "Divisor of the pages written in an interval.")
@choice_option("--size-unit", ["page", "sector", "run"], "Unit of the sizes of requests.")
@click.option(
    "--plots", metavar="DIR", type=click.Path(file_okay=False), help="Draw the picture (SVG) into DIR."
)
def command(  # noqa: PLR0913 - one for each option
    as_json: bool,
    intervals: list[int],
    interval: int | None,
    page_bytes: int,
    fw: str,
    size_unit: str,
    plots: str | None,
    file: str,
    **given: Any,  # noqa: ANN401 - options
) -> None:
    """Derive thresholds for the buffer wap_lru from a trace.

    The command prints write runs, sizes, and thresholds for intervals. The thresholds are the paper's: the
    75th percentile of the pages written in a row in an interval, and the mean of median and 75th percentile
    of the longest read and the longest write in each interval. The output ends with a table [buffer.wap_lru]
    for an experiment.
    """
    from nandlab.traces import profiling

    if plots is not None:
        from nandlab.report.theme import require_vl_convert

        require_vl_convert()
    options = options_of(given)
    wanted = sorted({*intervals, *([] if interval is None else [interval])})
    found = reading(
        lambda read: profiling.profile(
            file, wanted, options=options, page_bytes=page_bytes, fw=fw, size_unit=size_unit, watch=read
        )
    )
    chosen = profiling.chosen(found, interval)
    found["chosen"] = chosen["interval"]
    found["snippet"] = profiling.snippet(found, chosen)
    drawn = _draw(found, plots) if plots is not None else []
    if as_json:
        print_json({**found, "plots": drawn} if plots is not None else found)
        return
    _print(found, chosen)
    for path in drawn:
        say(f"picture: {path}")


def _draw(found: dict[str, Any], plots: str) -> list[str]:
    from nandlab.report.plots import write_texts
    from nandlab.report.profile import pictures

    return [str(path) for path in write_texts(pictures(found), plots)]


def _print(found: dict[str, Any], chosen: dict[str, Any]) -> None:
    from nandlab.traces import profiling
    from nandlab.writing import units

    unit = {"page": "pages", "sector": "sectors", "run": "pages of a sequential run"}[found["size_unit"]]
    of_runs = "sectors" if found["size_unit"] == "sector" else "pages"
    requests = found["reads"] + found["writes"]
    click.echo(
        f"{found['format']}: {requests:,} reads and writes, {units.percent(found['writes'] / requests)} "
        f"of them writes; pages of {units.size(found['page_bytes'])}\n"
    )
    spreads = [
        (f"written in a row, without a read between ({of_runs})", found["runs"]),
        (f"size of a read ({unit})", found["read_sizes"]),
        (f"size of a write ({unit})", found["write_sizes"]),
    ]
    rows = [
        [name, f"{one['count']:,}", *(profiling.short(one[key]) for key in SPREAD)]
        for name, one in spreads
        if one is not None
    ]
    print_table(rows, ["", "count", *SPREAD], right=range(1, len(SPREAD) + 2))
    click.echo()
    rows = [
        [
            f"{one['interval']:,}",
            f"{one['count']:,}",
            *(profiling.short(one[key]) for key in ("t_state", "t_read", "t_write")),
            *(
                units.NO_VALUE if share is None else units.percent(share)
                for share in (one["placement"]["write_intensive_share"], one["placement"]["nvram_share"])
            ),
            _said(one),
        ]
        for one in found["intervals"]
    ]
    titles = ["interval", "intervals", "t_state", "t_read", "t_write", "write-intensive", "to NVRAM", ""]
    print_table(rows, titles, right=range(7))
    click.echo(
        "write-intensive: share of the intervals; to NVRAM: of the requests; degenerate: one below 1 %"
    )
    if not all(profiling.has_ended(one) for one in found["intervals"]):
        click.echo(
            "longer than the trace: no interval has ended, and the thresholds are those of a part of one"
        )
    click.echo(f"\n{found['snippet']}")
    if chosen["placement"]["degenerate"]:
        click.echo("note: with these thresholds one state or one place is as good as never taken")
    if not profiling.has_ended(chosen):
        click.echo(
            f"note: the trace is shorter than an interval of {chosen['interval']:,} requests: "
            "the thresholds are of all of it"
        )
    elif chosen["count"] < profiling.ENOUGH:
        click.echo(
            f"note: the trace has {chosen['count']} intervals of {chosen['interval']:,} requests, "
            f"and percentiles are worth something from {profiling.ENOUGH} on"
        )
    for notice in found["notices"]:
        click.echo(f"note: {notice}")


def _said(one: dict[str, Any]) -> str:
    from nandlab.traces import profiling

    if not profiling.has_ended(one):
        return "longer than the trace"
    return "degenerate" if one["placement"]["degenerate"] else ""


SPREAD = ("mean", "p25", "p50", "p75", "p99", "max")
