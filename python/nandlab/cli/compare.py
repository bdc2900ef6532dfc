"""`nandlab compare`: runs several experiments and sets their costs side by side."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nandlab.cli import DONE, FAILED, WRONG_INPUT, status_of
from nandlab.cli.options import (
    EXPERIMENT,
    Axis,
    Design,
    Pair,
    designs,
    json_option,
    refuse_overwriting,
    report_option,
    sets_option,
    vary_option,
)
from nandlab.cli.output import print_json, print_table, say, say_path

if TYPE_CHECKING:
    from nandlab.batch import Outcome, State
    from nandlab.experiment import Experiment


@click.command("compare")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=EXPERIMENT)
@vary_option
@sets_option
@report_option
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Experiments at once; one for each processor by default."
)
@json_option
def command(  # noqa: PLR0913 - one for each option
    files: tuple[str, ...],
    axes: list[Axis],
    sets: list[Pair],
    report: str | None,
    jobs: int | None,
    as_json: bool,
) -> int:
    """Run every FILE, with every combination of the --vary values, and compare.

    Ctrl-C stops and prints what there is, marked partial, with exit status 1.
    """
    from nandlab.batch import run_all
    from nandlab.cli.progress import Waiting

    chosen = designs(files, axes, sets)
    experiments = _resolved(chosen)
    _say_twins(chosen, experiments)
    refuse_overwriting({"--report": report}, [path for each in experiments for path in each.inputs()])
    with Waiting() as waiting:
        outcomes, stopped = run_all(experiments, jobs, lambda state: _show(waiting, state))
    if as_json:
        print_json({"runs": [_document(*pair) for pair in zip(chosen, outcomes, strict=True)]})
    else:
        _print(chosen, outcomes)
    pairs = [
        (design.labels, outcome.result or _why(outcome))
        for design, outcome in zip(chosen, outcomes, strict=True)
    ]
    for design, outcome in zip(chosen, outcomes, strict=True):
        if outcome.result is None or outcome.error is not None:
            say(f"error: {design.name}: {_why(outcome)}")
    if report is not None and any(outcome.result is not None for outcome in outcomes):
        from nandlab.report import write_comparison

        write_comparison(pairs, report, shlex.join(["nandlab", *sys.argv[1:]]))
        say_path(report, as_json)
    elif report is not None:
        say(f"no report was written: there is no result to put into {report}")
    return _status(outcomes, stopped)


def _resolved(chosen: Sequence[Design]) -> list[Experiment]:
    """The experiments, each checked before the first of them runs."""
    from nandlab._native import ConfigError
    from nandlab.experiment import Experiment

    experiments = [Experiment.from_toml(design.file, design.sets) for design in chosen]
    for design, experiment in zip(chosen, experiments, strict=True):
        try:
            experiment.resolve()
        except ConfigError as error:
            raise ConfigError(f"{design.name}: {error}" if len(chosen) > 1 else str(error)) from None
    return experiments


def _say_twins(chosen: Sequence[Design], experiments: Sequence[Experiment]) -> None:
    """Tells of experiments that are the same: their rows differ in nothing."""
    first: dict[Experiment, Design] = {}
    for design, experiment in zip(chosen, experiments, strict=True):
        twin = first.setdefault(experiment, design)
        if twin is not design:
            say(f"note: {design.name} is the same experiment as {twin.name}")


def _show(waiting, state: State) -> None:  # noqa: ANN001 - a Waiting, imported late
    waiting.update("experiments", state.share(), f"{state.finished} of {state.total} done")


def _document(design: Design, outcome: Outcome) -> dict[str, Any]:
    return {
        "name": design.name,
        "file": design.file,
        "labels": design.labels,
        "set": design.sets,
        "result": None if outcome.result is None else outcome.result.to_dict(),
        "error": None if outcome.error is None else str(outcome.error),
    }


def _print(chosen: Sequence[Design], outcomes: Sequence[Outcome]) -> None:
    from nandlab import summary

    columns = summary.columns([outcome.result for outcome in outcomes if outcome.result is not None])
    labels = list(chosen[0].labels)
    states = [_state(outcome) for outcome in outcomes]
    rows = []
    for design, outcome, state in zip(chosen, outcomes, states, strict=True):
        row = [design.labels[title] for title in labels]
        if outcome.result is not None:
            row += [column.text(column.number(outcome.result)) for column in columns]
        row += [""] * (len(labels) + len(columns) - len(row))
        rows.append(row + [state] * any(states))
    # Short lines, so that the table fits a terminal of 80 columns.
    heads = [column.title.replace(" ", "\n") for column in columns]
    titles = [*(summary.plain(title) for title in labels), *heads, *[""] * any(states)]
    print_table(rows, titles, right=range(len(labels), len(labels) + len(columns)))
    if columns:
        click.echo(f"\n{summary.NOTE}")


def _why(outcome: Outcome) -> str:
    """Why there is no result, or none to the end."""
    return str(outcome.error or "stopped before there was a result")


def _state(outcome: Outcome) -> str:
    if outcome.result is None:
        return "not run" if outcome.error is None else "failed"
    return "PARTIAL" if outcome.result.partial else ""


def _status(outcomes: Sequence[Outcome], stopped: bool) -> int:
    if stopped:
        return FAILED
    statuses = {status_of(outcome.error) for outcome in outcomes if outcome.error is not None}
    return FAILED if FAILED in statuses else WRONG_INPUT if statuses else DONE
