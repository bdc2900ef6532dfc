"""`nandlab trace info|head|slice|convert`: a trace's contents, and other files from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from nandlab.cli.background import interruptible, unfinished
from nandlab.cli.example import example
from nandlab.cli.options import RegularFile, json_option, number_option
from nandlab.cli.output import print_json, print_table, say
from nandlab.cli.progress import reading


class TraceFile(RegularFile):
    """An existing file that can be read more than once."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - as click has it
        """The path.

        A trace is read twice, and a pipe cannot be: `-` puts standard input into a file until the end.

        Raises:
            click.BadParameter: There is no such file.

        """
        if value == "-" and ctx is not None:
            value = ctx.with_resource(_spooled())
        return super().convert(value, param, ctx)


@contextmanager
def _spooled() -> Iterator[str]:
    """A file with what standard input has; its name tells of a pipe."""
    import shutil
    import sys
    import tempfile

    with tempfile.NamedTemporaryFile(prefix="stdin-") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        yield file.name


TRACE = TraceFile()


@example("nandlab trace info mine.csv")
@click.group("trace")
def command() -> None:
    """Describe traces, cut them, and write them in other formats.

    Every command tells the format from the contents (`nandlab list traces`).
    """


def options_of(given: dict[str, Any]) -> list[str]:
    """A command's trace options, as overrides."""
    options = [
        f"{name}={given[name]}" for name in ("format", "action", "on_error") if given[name] is not None
    ]
    if given["device"] is not None:
        import json

        options.append(f"device={json.dumps(given['device'])}")
    return options + list(given["sets"])


def reads_a_trace(function: Callable[..., None]) -> Callable[..., None]:
    """The argument and the options for every command that reads a trace."""
    for option in (
        json_option,
        click.option(
            "--set",
            "sets",
            metavar="KEY=VALUE",
            multiple=True,
            help="Set an option of [workload.trace], as in columns.op=2 or time_unit=ms. Repeatable.",
        ),
        click.option("--action", metavar="LETTER", help="Which action of a block trace is the request."),
        click.option(
            "--on-error", type=click.Choice(["stop", "skip"]), help="What to do with malformed records."
        ),
        click.option("--device", metavar="NAME", help="Only the requests of this device."),
        click.option("--format", metavar="NAME", help="The format, if the contents do not tell."),
        click.argument("file", type=TRACE),
    ):
        function = option(function)
    return function


def page_bytes_of(_ctx: click.Context, _parameter: click.Parameter, text: str) -> int:
    """A size such as 16KiB in bytes."""
    from nandlab.writing.sizes import byte_count

    try:
        return byte_count(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


page_bytes_option = click.option(
    "--page-bytes",
    metavar="SIZE",
    default="4096",
    show_default=True,
    callback=page_bytes_of,
    help="Size of a page.",
)


@example("nandlab trace info mine.csv")
@command.command("info")
@reads_a_trace
@page_bytes_option
@click.option(
    "--plots", metavar="DIR", type=click.Path(file_okay=False), help="Draw pictures (SVG) into DIR."
)
def info(as_json: bool, page_bytes: int, plots: str | None, file: str, **given: Any) -> None:  # noqa: ANN401 - options
    """Describe a trace: requests, addresses, sizes, times, skew."""
    from nandlab.traces import trace_file

    if plots is not None:
        from nandlab.report.theme import require_vl_convert

        require_vl_convert()
    options = options_of(given)
    found = reading(
        lambda read: trace_file.info(file, options, page_bytes, pictures=plots is not None, watch=read)
    )
    drawn = _draw(found, plots) if plots is not None else []
    if as_json:
        print_json({**found, "plots": drawn} if plots is not None else found)
        return
    print_table(_facts(found))
    _print_sizes(found)
    _print_recorded(found)
    for notice in found["notices"]:
        click.echo(f"note: {notice}")
    for path in drawn:
        say(f"picture: {path}")


def _draw(found: dict[str, Any], plots: str) -> list[str]:
    from nandlab.report.plots import write_texts
    from nandlab.report.trace import pictures

    return [str(path) for path in write_texts(pictures(found) if found["requests"] else {}, plots)]


def _estimated(footprint: dict[str, Any]) -> str:
    one_in = footprint["one_in"]
    return "" if one_in == 1 else f" (estimated: one stretch of 256 pages in {one_in:,} was counted)"


def _facts(found: dict[str, Any]) -> list[list[str]]:
    from nandlab.writing import units

    requests = max(found["requests"], 1)
    devices = [device for device in found["devices"] if device["requests"] > 0]
    names = ", ".join(
        f"{device['name']} ({device['requests']:,})" for device in devices[:8] if device["name"]
    )
    footprint, over = found["footprint"], found["overwrites"]
    skew = dict(found["skew"])
    page = units.size(found["page_bytes"])
    facts = [
        ["format", found["format"]],
        ["requests", f"{found['requests']:,}"],
        *(
            [name, f"{found[name]:,} ({units.percent(found[name] / requests)})"]
            for name in ("reads", "writes")
        ),
        *([name, f"{found[name]:,}"] for name in ("trims", "flushes") if found[name]),
        ["bytes read", units.size(found["read_sectors"] * 512)],
        ["bytes written", units.size(found["written_sectors"] * 512)],
        ["span", units.span_s(found["span_s"])],
        ["devices", f"{len(devices)}" + (f": {names}{', ...' if len(devices) > 8 else ''}" if names else "")],
        *([["placements", _placements(found["placements"])]] if found["placements"] else []),
        [
            "addresses",
            f"sector {found['lowest_sector']:,} to {found['end_sector']:,} "
            f"(up to {units.size(found['end_sector'] * 512)})",
        ],
        [
            "footprint",
            f"{units.size(footprint['touched_bytes'])} touched, {units.size(footprint['read_bytes'])} read, "
            f"{units.size(footprint['written_bytes'])} written, in pages of {page}{_estimated(footprint)}",
        ],
        ["writes of a page", f"{over['mean']:.2f} on average, {over['most']:,} at most (pages of {page})"],
        [
            "sequential",
            f"{units.percent(found['sequential']['reads'])} of the reads, "
            f"{units.percent(found['sequential']['writes'])} of the writes start where the one before ended",
        ],
        [
            f"aligned to {page}",
            f"{units.percent(found['alignment']['both'])} start and end so, "
            f"{units.percent(found['alignment']['start'])} start so",
        ],
    ]
    if skew:
        told = ", ".join(
            f"{units.percent(skew[share])} go to {units.percent(share)}" for share in (0.01, 0.1, 0.2)
        )
        facts.append(["skew of the writes", f"{told} of the written pages"])
    return facts


def _placements(placements: list[dict[str, Any]]) -> str:
    """The bytes written with each placement identifier; the first eight."""
    from nandlab.writing import units

    listed = ", ".join(
        f"{one['placement']} ({units.size(one['written_sectors'] * 512)})" for one in placements[:8]
    )
    return f"{len(placements)} of writes: {listed}{', ...' if len(placements) > 8 else ''}"


def _print_sizes(found: dict[str, Any]) -> None:
    from nandlab.writing import units

    rows = [
        [f"size of a {kind}", *(units.size(sizes[key]) for key in QUANTILES)]
        for kind, sizes in found["size_bytes"].items()
    ]
    gaps = found["inter_arrival_us"]
    if gaps is not None:
        rows.append(["time between two", *(units.time_us(gaps[key]) for key in QUANTILES)])
    if rows:
        click.echo()
        print_table(rows, ["", *QUANTILES], right=range(1, len(QUANTILES) + 1))


def _print_recorded(found: dict[str, Any]) -> None:
    """How long the requests took when they were recorded, if the trace tells."""
    from nandlab.writing import units

    rows = [
        [f"{kind}{words}", f"{one['count']:,}", *(units.time_us(one[key]) for key in LATENCIES)]
        for key, words in (("recorded_latency_us", ""), ("recorded_service_us", ", device alone"))
        for kind, one in (found.get(key) or {}).items()
        if one is not None
    ]
    if rows:
        click.echo()
        titles = ["recorded latency of a", "requests", *LATENCIES.values()]
        print_table(rows, titles, right=range(1, len(titles)))


LATENCIES = {"mean": "mean", "p50": "p50", "p90": "p90", "p99": "p99", "p999": "p99.9", "max": "longest"}
QUANTILES = ("mean", "min", "p10", "p50", "p90", "p99", "max")


@example("nandlab trace head mine.csv --count 20")
@command.command("head")
@reads_a_trace
@number_option("-n --count", click.IntRange(1, 100_000), 10, "Requests to print.")
def head(as_json: bool, count: int, file: str, **given: Any) -> None:  # noqa: ANN401 - options
    """Print the first requests of a trace as they were read."""
    from nandlab.traces import trace_file

    found = interruptible(lambda: trace_file.head(file, options_of(given), {"count": count}))
    if as_json:
        print_json(found)
        return
    placed = ["placement"] if any("placement" in row for row in found["requests"]) else []
    titles = ["time_us", "op", "sector", "sectors", "origin", *placed, "device"]
    rows = [
        [f"{row['time_us']:.3f}".removesuffix(".000"), *(str(row.get(title, "")) for title in titles[1:])]
        for row in found["requests"]
    ]
    print_table(rows, titles, right=(0, 2, 3))
    for notice in found["notices"]:
        click.echo(f"note: {notice}")


def _writes_a_trace(function: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option("--to", type=click.Choice(["native", "csv", "fio"]), help="The format of OUTPUT."),
        click.argument("output", type=click.Path(dir_okay=False)),
    ):
        function = option(function)
    return function


def _write(
    file: str, output: str, to: str | None, as_json: bool, part: dict[str, Any], given: dict[str, Any]
) -> None:  # noqa: PLR0913 - what two commands share
    from nandlab.traces import trace_file
    from nandlab.writing import units

    options = options_of(given)
    is_piped = output == "-"
    if is_piped and as_json:
        raise click.UsageError(
            "--json says on stdout what was written, and so does `-` what it is: name a file"
        )
    if is_piped and to is None:
        raise click.UsageError("`-` is stdout, whose format no name tells: --to native, csv or fio does")
    done = reading(lambda read: _written(trace_file.convert, (file, output, to, options, part, read)))
    if as_json:
        print_json(done)
        return
    where = "stdout" if is_piped else output
    click.echo(
        f"{where}: {units.counted(done['requests'], 'request')}, from {done['from']} to {done['to']}",
        err=is_piped,
    )
    for dropped in done["dropped"]:
        click.echo(f"dropped: {dropped}", err=is_piped)
    for notice in done["notices"]:
        click.echo(f"note: {notice}", err=is_piped)


def _written(convert: Callable[..., dict[str, Any]], arguments: tuple[Any, ...]) -> dict[str, Any]:
    """Converts into a file, or through a file to stdout: an error then leaves stdout empty."""
    file, output, *rest = arguments
    if output != "-":
        return convert(file, output, *rest, beside=unfinished.add)
    import shutil
    import sys
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory(prefix="nandlab-") as folder:
        path = Path(folder) / "trace"
        done = convert(file, path, *rest, beside=unfinished.add)
        with path.open("rb") as whole:
            shutil.copyfileobj(whole, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    return done


@example("nandlab trace convert mine.csv mine.nltr")
@command.command("convert")
@reads_a_trace
@_writes_a_trace
def convert(as_json: bool, output: str, to: str | None, file: str, **given: Any) -> None:  # noqa: ANN401 - options
    """Write a trace in another format.

    OUTPUT is .nltr (native), .csv or .iolog (fio version 3); .gz after it packs it. OUTPUT may be - for
    stdout, with --to.
    """
    _write(file, output, to, as_json, {}, given)


@example("nandlab trace slice mine.csv start.nltr --count 10000")
@command.command("slice")
@reads_a_trace
@_writes_a_trace
@click.option(
    "--skip", metavar="N", type=click.IntRange(0), default=0, help="Requests left out at the start."
)
@click.option("-n", "--count", metavar="N", type=click.IntRange(1), help="Requests at most.")
@click.option("--from", "from_s", type=click.FloatRange(0), metavar="SECONDS", help="From this time on.")
@click.option("--until", "to_s", type=click.FloatRange(0), metavar="SECONDS", help="Before this time.")
def slice_(  # noqa: PLR0913 - the options of a command
    as_json: bool,
    output: str,
    to: str | None,
    skip: int,
    count: int | None,
    from_s: float | None,
    to_s: float | None,
    file: str,
    **given: Any,  # noqa: ANN401 - options
) -> None:
    """Write a part of a trace, by count or by time.

    OUTPUT is as in `nandlab trace convert`. Times start with the first request.
    """
    part = {"skip": skip, "count": count, "from_s": from_s, "to_s": to_s}
    _write(file, output, to, as_json, part, given)
