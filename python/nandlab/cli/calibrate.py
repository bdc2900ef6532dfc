"""`nandlab calibrate FILE`: fits a device's free numbers to measured rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nandlab.cli import DONE, FAILED
from nandlab.cli.example import example
from nandlab.cli.options import (
    Pair,
    RegularFile,
    experiment_argument,
    folder_for_pictures,
    jobs_option,
    json_option,
    number_option,
    refuse_overwriting,
    report_option,
    seed_option,
    sets_option,
    values_by_key,
    written,
)
from nandlab.cli.output import as_command, print_json, print_table, say, say_path
from nandlab.cli.probe import Outputs, is_asked, probe_options, show_probe, write_jobs
from nandlab.running.varied import override

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nandlab.calibrate import Calibration, Line, Plan

FILE = RegularFile(allow_dash=True)


@example("nandlab calibrate drive.toml --fio measured.json --free device.timing.read_us=20..90")
@click.command("calibrate")
@experiment_argument(required=False)
@click.option(
    "--measured", "tables", metavar="ROWS.csv", type=FILE, multiple=True, help="Measured rows, as a table."
)
@click.option(
    "--fio", metavar="RESULT.json", type=FILE, multiple=True, help="What `fio --output-format=json` wrote."
)
@click.option(
    "--free",
    metavar="KEY=LOW..HIGH",
    multiple=True,
    callback=values_by_key("KEY=LOW..HIGH, as in device.timing.read_us=40..80"),
    help="A number to fit, and its range; :log for decades. KEY[0,1]: items of a list. Repeatable.",
)
@click.option(
    "--hold-out",
    metavar="NAME|SHARE",
    multiple=True,
    help="Rows to predict, not to fit: a name with * and ?, or a share such as 25%.",
)
@click.option(
    "--output", metavar="PROFILE.toml", callback=written("a profile", ".toml"), help="Write the profile."
)
@seed_option
@jobs_option
@number_option("--budget", click.IntRange(1, 1_000_000), 300, "Sets of numbers to try at most.")
@number_option("--requests", click.IntRange(100, 100_000_000), 20_000, "Requests of a row.")
@sets_option
@click.option(
    "--plots",
    metavar="DIR",
    type=click.Path(file_okay=False),
    callback=folder_for_pictures,
    help="Draw measured and simulated curves.",
)
@report_option
@probe_options
@json_option
def command(  # noqa: PLR0913 - one for each option
    file: str | None,
    tables: tuple[str, ...],
    fio: tuple[str, ...],
    free: dict[str, str],
    hold_out: tuple[str, ...],
    output: str | None,
    seed: int,
    jobs: int | None,
    budget: int,
    requests: int,
    sets: list[Pair],
    plots: str | None,
    report: str | None,
    as_json: bool,
    **probing: Any,  # noqa: ANN401 - the options of `probe_options`
) -> int:
    """Fit a device to rows measured on a drive.

    The rows replace the workload in FILE. Its device, FTL and preconditioning stay. The command prints
    measured beside fitted figures, then the predictions for held-out rows, then the numbers that the rows
    cannot tell apart.

    Ctrl-C stops the search. The command then writes the best numbers so far, with exit status 1. For a drive
    of which nothing is known, --probe-jobs and --probe need no FILE.
    """
    if is_asked(probing):
        given = {"FILE": file, "--measured": tables, "--fio": fio, "--free": free, "--hold-out": hold_out}
        _refuse({**given, "--plots": plots, "--set": sets}, "with --probe-jobs and --probe")
        if probing["probe"] is not None:
            return show_probe(probing["probe"], Outputs(output, report), jobs, as_json)
        _refuse({"--output": output, "--report": report}, "with --probe-jobs")
        return write_jobs(probing, jobs, as_json)
    file, output = _needed(file, free, output)
    from nandlab.calibrate import plan
    from nandlab.experiment import Experiment

    experiment = Experiment.from_toml(file, [override(pair, file) for pair in sets])
    inputs = [Path(file), *map(Path, tables), *map(Path, fio)]
    refuse_overwriting({"--output": output, "--report": report}, inputs)
    planned = plan(experiment, free, tables, fio, hold_out, seed, jobs, budget, requests)
    _refuse_profile(planned, {"--output": output, "--report": report})
    for note in planned.notes:
        say(f"note: {note}")
    found = _carried_out(planned)
    if found is None:
        say(f"stopped before the first parameter set was measured: {output} was not written")
        return FAILED
    return _end(found, output, Drawn(plots, report), as_json)


def _refuse(given: dict[str, Any], where: str) -> None:
    """Refuses options that another mode takes."""
    for name, value in given.items():
        if value:
            raise click.UsageError(f"{name} has no meaning {where}")


def _needed(file: str | None, free: dict[str, str], output: str | None) -> tuple[str, str]:
    """The argument and the option that a fit needs."""
    if file is None:
        raise click.UsageError("Missing argument 'FILE'; or give --probe-jobs DIR or --probe DIR.")
    if not free:
        raise click.UsageError("Missing option '--free'.")
    if output is None:
        raise click.UsageError("Missing option '--output'.")
    return file, output


def _refuse_profile(planned: Plan, outputs: dict[str, str | None]) -> None:
    """Refuses to write over the experiment's own profile."""
    experiment = planned.bench.experiment
    profile = planned.bench.resolved_device()["profile"]
    refuse_overwriting(outputs, [Path(experiment.folder) / profile])


def _carried_out(planned: Plan) -> Calibration | None:
    from nandlab.calibrate import calibrate
    from nandlab.cli.progress import Waiting

    with Waiting() as waiting:

        def show(done: int, most: int, share: float, worst: float | None) -> None:
            off = "" if worst is None else f", worst row off by {100 * worst:.1f} %"
            waiting.update("calibrate", share, f"{done:,} of at most {most:,} parameter sets{off}")

        return calibrate(planned, show)


@dataclass(frozen=True)
class Drawn:
    """Where pictures and the report go; None for nowhere."""

    plots: str | None
    report: str | None


def _end(found: Calibration, output: str, drawn: Drawn, as_json: bool) -> int:
    from nandlab.calibrate.profile import write_profile

    write_profile(found, output)
    if as_json:
        print_json(_document(found, output))
    else:
        _print(found)
        click.echo(f"\nprofile: {output}")
    if drawn.plots is not None:
        from nandlab.calibrate.pictures import write_pictures

        for path in write_pictures(found, drawn.plots):
            say(f"picture: {path}")
    if drawn.report is not None:
        from nandlab.calibrate.page import write_calibration

        write_calibration(found, drawn.report, output, as_command())
        say_path(drawn.report, as_json)
    if found.stopped:
        say(f"stopped: {output} has the best numbers until then; rows that were held out may have no result")
        return FAILED
    return DONE


def _document(found: Calibration, output: str) -> dict[str, Any]:
    known = found.known
    return {
        "profile": output,
        "free": [
            {
                "key": free.key,
                "low": free.low,
                "high": free.high,
                "fitted": value,
                "alone": None if known is None else known.alone[at],
            }
            for at, (free, value) in enumerate(zip(found.plan.free, found.values, strict=True))
        ],
        "fitted": [_line(line) for line in found.lines],
        "predicted": [_line(line) for line in found.predicted],
        "sentences": found.sentences,
        "parameter_sets": found.spent,
        "seed": found.plan.seed,
        "stopped": found.stopped,
    }


def _line(line: Line) -> dict[str, Any]:
    return {
        "row": line.row.name,
        "figure": line.figure,
        "measured": line.measured,
        "simulated": line.simulated,
        "error": line.error,
    }


def _print(found: Calibration) -> None:
    known = found.known
    numbers = []
    for at, (free, value) in enumerate(zip(found.plan.free, found.values, strict=True)):
        alone = (
            "" if known is None else "the whole range" if (far := known.alone[at]) is None else f"{far:.3g}"
        )
        numbers.append([free.key, f"{free.low:g} to {free.high:g}", f"{value:g}", alone])
    print_table(numbers, ["free number", "range", "fitted", "known to within"], right=(2, 3))
    for title, lines in (("fitted", found.lines), ("predicted", found.predicted)):
        if lines:
            click.echo("")
            _print_lines(title, lines)
    if found.sentences:
        click.echo("")
    for sentence in found.sentences:
        click.echo(sentence)


def _print_lines(title: str, lines: Sequence[Line]) -> None:
    from nandlab.calibrate.words import value_text

    rows = [
        [
            line.row.name,
            line.figure,
            value_text(line.figure, line.measured),
            "no result" if line.simulated is None else value_text(line.figure, line.simulated),
            "" if line.error is None else f"{100 * line.error:+.1f} %",
        ]
        for line in lines
    ]
    print_table(rows, ["row", "figure", "measured", title, "error"], right=(2, 3, 4))
