"""`nandlab run FILE`: runs one experiment."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nandlab.cli import DONE, FAILED
from nandlab.cli.background import load_what_draws, unfinished
from nandlab.cli.example import example
from nandlab.cli.options import (
    Pair,
    change_options,
    experiment_argument,
    json_option,
    read,
    refuse_overwriting,
    report_option,
    written,
)
from nandlab.cli.output import as_command, echo_wrapped, print_json, print_table, say, say_path
from nandlab.cli.plots import plots_of, plots_options

if TYPE_CHECKING:
    from nandlab.experiment import Experiment


def _sample(_ctx: click.Context, _parameter: click.Parameter, given: str | None) -> list[Pair]:
    """The overrides for `WINDOW:EVERY`."""
    if given is None:
        return []
    found = re.fullmatch(r"(\d[\d_]*):(\d[\d_]*)", given)
    if found is None:
        raise click.BadParameter(f"{given!r} is not of the form WINDOW:EVERY, as in 200_000:20_000_000")
    return [("host.sample.window", found[1]), ("host.sample.every", found[2])]


@example("nandlab run experiment.toml --report report.html")
@click.command("run")
@experiment_argument()
@change_options
@report_option
@plots_options
@click.option(
    "--op-log",
    metavar="FILE",
    callback=written("an operation log", ".csv", ".csv.gz", ".parquet"),
    help="Log flash operations: .csv, .csv.gz, .parquet.",
)
@click.option(
    "--save-state",
    metavar="FILE",
    callback=written("a state"),
    help="Save the device after its preconditioning.",
)
@click.option(
    "--timeline",
    metavar="FILE",
    callback=written("a timeline", ".perfetto", ".pftrace", also=(".perfetto-trace",)),
    help="Write a timeline (.perfetto) for ui.perfetto.dev.",
)
@click.option(
    "--timeline-window",
    metavar="FROM..TO",
    help="Only times (2s..3s) or requests (1000..2000).",
)
@click.option(
    "--sample",
    metavar="WINDOW:EVERY",
    callback=_sample,
    help="Measure WINDOW of every EVERY requests.",
)
@click.option("--zones", "list_zones", is_flag=True, help="List the zones of a zoned drive at the end.")
@click.option("--events", "list_events", is_flag=True, help="List the newest events of data placement.")
@json_option
def command(  # noqa: PLR0913 - one for each option
    file: str,
    sets: list[Pair],
    report: str | None,
    op_log: str | None,
    save_state: str | None,
    timeline: str | None,
    timeline_window: str | None,
    sample: list[Pair],
    list_zones: bool,
    list_events: bool,
    as_json: bool,
    **drawn: Any,  # noqa: ANN401 - options
) -> int:
    """Run the experiment in FILE, and print what it cost.

    Ctrl-C stops the run. The command then prints the figures so far, marked partial, with exit status 1. A
    worn-out device ends a run in the same way.
    """
    from nandlab.cli.progress import Waiting
    from nandlab.running.batch import run_all
    from nandlab.writing.parquet import csv_beside

    plots = plots_of(drawn)
    experiment = read(file, [*sets, *sample])
    drawn_to = _drawn_to(timeline, timeline_window)
    outputs = {"--report": report, "--op-log": op_log, "--save-state": save_state, "--timeline": timeline}
    refuse_overwriting(outputs, experiment.inputs())
    log_error: OSError | None = None
    unit = _unit(experiment)
    load_what_draws(report, plots)
    with Waiting() as waiting, csv_beside(op_log) as log:
        if log is not None and op_log is not None:
            # The process may end without the run's answer. A CSV on the way to Parquet has its own folder.
            is_csv = not op_log.endswith(".parquet")
            unfinished.add(Path(f"{log}.{os.getpid()}.part") if is_csv else Path(log).parent)
        (outcome,), stopped = run_all(
            [experiment],
            progress=lambda state: _show(waiting, state.running, unit),
            op_log=log,
            save_state=save_state,
            timeline=drawn_to,
        )
        if outcome.result is None and outcome.error is not None:
            raise outcome.error
        if log is not None and op_log is not None and outcome.result is not None:
            try:
                stopped = _to_parquet(log, op_log, waiting, stopped)
            except OSError as error:
                # The run may have taken hours: its result comes first.
                log_error = error
    if outcome.result is None:
        say("stopped before there was a result")
        return FAILED
    result = outcome.result
    _print(result, as_json, list_zones, list_events)
    if report is not None:
        result.report(report, command=as_command())
        say_path(report, as_json)
    if plots is not None:
        plots.write(result.pictures(), experiment.inputs())
    if log_error is not None:
        say(f"error: {log_error}")
    if outcome.error is not None:
        raise outcome.error
    return FAILED if stopped or result.partial or log_error is not None else DONE


def _drawn_to(timeline: str | None, window: str | None) -> tuple[str, str | None] | None:
    """The timeline's file behind all links, and its window."""
    if timeline is None:
        if window is not None:
            raise click.UsageError("--timeline-window belongs to --timeline FILE")
        return None
    from nandlab.writing.new_file import target_of

    target = str(target_of(timeline))
    # If the run does not answer in time, the process ends without it.
    unfinished.add(Path(f"{target}.{os.getpid()}.part"))
    return target, window


def _to_parquet(log: str, target: str, waiting, stopped: bool) -> bool:  # noqa: ANN001 - see Waiting
    """Writes the log as Parquet; whether somebody stopped it, or the run before it."""
    from nandlab.writing.parquet import to_parquet
    from nandlab.writing.units import size

    if not target.endswith(".parquet"):
        return stopped
    if stopped:
        say(f"{target} was not written, since the run was stopped; a .csv log keeps what there is")
        return True
    total = size(Path(log).stat().st_size)
    try:
        to_parquet(log, target, lambda: waiting.update(f"writing {target}", None, f"{total} of operations"))
    except KeyboardInterrupt:
        say(f"{target} was not written: stopped")
        return True
    return False


def _unit(experiment: Experiment) -> str:
    """The unit for progress in the workload; the run reports a mistake in the experiment."""
    from nandlab import NandlabError

    try:
        resolved = experiment.resolve()
    except NandlabError:
        return "requests"
    if "fs" in resolved:
        return "transactions"
    return "operations" if "index" in resolved else "requests"


def _show(waiting, running, unit: str) -> None:  # noqa: ANN001 - see Waiting and State
    for stage in running.values():
        if stage.phase == "saving state":
            waiting.update(
                "saving the state", stage.done / max(stage.total, 1), "device after its preconditioning"
            )
        elif stage.phase == "precondition" and stage.share is None and stage.total:
            # How long the workload takes does not follow from it.
            writes = f"{stage.done:,} of {stage.total:,} page writes"
            waiting.update("preconditioning", stage.done / stage.total, writes)
        else:
            waiting.update("run", stage.share, _doing(stage, unit))


def _doing(stage, unit: str) -> str:  # noqa: ANN001 - see Stage
    if stage.phase == "opening":
        return f"{stage.done:,} records of the trace read" if stage.done else "setting up the device"
    if stage.phase == "cleaning up":
        return "removing what the run made"
    noun = "page writes" if stage.phase == "precondition" else unit
    in_all = f" of {stage.total:,}" if stage.total else ""
    return f"{stage.phase}: {stage.done:,}{in_all} {noun}"


def _print(result, as_json: bool, list_zones: bool, list_events: bool) -> None:  # noqa: ANN001 - a Result, imported late
    if list_zones and result.zones is None:
        say("--zones: the drive has no zones; ftl.zns has")
    if list_events and result.fdp is None:
        say("--events: the host places no data; ftl.page.placement.fdp and ftl.sector_map.fdp let it")
    if as_json:
        print_json(result.to_dict())
        return
    from nandlab.figures import above, fdp, placement_events, sampled, summary, tenants, zones
    from nandlab.figures.headline import headline

    click.echo(f"{summary.workload_name(result)}: {summary.title(result)}, seed {result.seed}")
    if result.stopped is not None:
        click.echo(f"PARTIAL: stopped {result.stopped.message}")
    print_table(headline(result), right=[1])
    latencies = summary.latency_table(result)
    if latencies:
        click.echo()
        titles = summary.LATENCY_TITLES
        print_table(latencies, titles, right=range(1, len(titles)))
    for part in (
        sampled,
        tenants,
        above,
        fdp,
        *([zones] if list_zones else []),
        *([placement_events] if list_events else []),
    ):
        found = part.table(result)
        if found:
            click.echo()
            print_table(found, part.TITLES, right=range(1, len(part.TITLES)))
    if result.notices:
        click.echo()
    for notice in result.notices:
        echo_wrapped(f"note: {notice}")
