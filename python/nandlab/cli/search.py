"""`nandlab search FILE`: the best values of free keys, for one goal or several."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from nandlab.cli import DONE, FAILED, WRONG_INPUT
from nandlab.cli.example import example
from nandlab.cli.options import (
    Pair,
    experiment_argument,
    folder_for_files,
    json_option,
    override,
    policies_option,
    read,
    refuse_overwriting,
    report_option,
    sets_option,
    state_option,
    values_by_key,
)
from nandlab.cli.output import echo_wrapped, print_json, print_table, say, say_path
from nandlab.cli.points import goal_option, points_options, require_drawing

if TYPE_CHECKING:
    from nandlab.searching import Plan, Search

MOST = 20
"""Most tries of a front to print; JSON and the report have all."""


@example("nandlab search experiment.toml --free ftl.fast.log_blocks=4..64:log")
@click.command("search")
@experiment_argument()
@click.option(
    "--free",
    metavar="KEY=RANGE",
    multiple=True,
    required=True,
    callback=values_by_key("key=range, as in host.queue_depth=1..64:log"),
    help="FROM..TO for every number, FROM..TO:log, FROM..TO:N for N values, or a,b,c.",
)
@goal_option("Several have a front.")
@click.option(
    "--limit",
    "limits",
    metavar="NAME<NUMBER",
    multiple=True,
    help="A bound that the result keeps: <, <=, > or >=.",
)
@click.option(
    "--budget",
    metavar="N",
    type=click.IntRange(1, 10_000),
    default=100,
    show_default=True,
    help="Tries at most.",
)
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(0, 2**32 - 1),
    default=1,
    show_default=True,
    help="Seed of the search.",
)
@sets_option
@policies_option
@state_option
@points_options("try", "tries", "after an interruption, or with a larger --budget", ", at most 4")
@click.option(
    "--best",
    metavar="DIR",
    type=click.Path(file_okay=False),
    callback=folder_for_files,
    help="Write the best experiments into DIR.",
)
@report_option
@json_option
def command(  # noqa: PLR0913 - one for each option
    file: str,
    free: dict[str, str],
    goals: tuple[str, ...],
    limits: tuple[str, ...],
    budget: int,
    seed: int,
    sets: list[Pair],
    output: str | None,
    fresh: bool,
    executor: str,
    jobs: int | None,
    best: str | None,
    report: str | None,
    as_json: bool,
) -> int:
    """Search for the values that make a figure best.

    Ctrl-C stops the search. The command then prints the finished tries, with exit status 1; --output keeps
    them.
    """
    require_drawing(report)
    planned = _planned(file, free, sets, (goals, limits), (budget, seed))
    inputs = planned.experiment.inputs()
    refuse_overwriting({"--report": report, "--output": output}, inputs)
    found = _carried_out(replace(planned, executor=executor, jobs=jobs, output=output, fresh=fresh))
    if as_json:
        print_json(_document(found))
    else:
        _print(found)
    has_results = any(point.record is not None for point in found.points)
    if output is not None and not found.stopped and has_results:
        click.echo(f"\ntries: {output}", err=as_json)
    if best is not None:
        for path in found.write_best(best):
            click.echo(f"experiment: {path}", err=as_json)
    if report is not None and has_results:
        found.report(report, shlex.join(["nandlab", *sys.argv[1:]]))
        say_path(report, as_json)
    elif report is not None:
        say("nothing was drawn: no try has a result")
    _say_end(found, output)
    return _status(found)


def _planned(
    file: str,
    free: dict[str, str],
    sets: list[Pair],
    figures: tuple[tuple[str, ...], tuple[str, ...]],
    numbers: tuple[int, int],
) -> Plan:
    from nandlab.searching import plan

    twice = [key for key, _ in sets if key in free]
    if twice:
        raise click.UsageError(f"{twice[0]} is given twice")
    experiment = read(file, [override(pair, file) for pair in sets])
    return plan(experiment, free, *figures, *numbers, named="--free")


def _carried_out(planned: Plan) -> Search:
    from nandlab.cli.progress import Waiting
    from nandlab.searching import carry_out

    with Waiting() as waiting:

        def show(done: int, total: int, share: float) -> None:
            waiting.update("search", share, f"{done:,} of at most {total:,} tries done")

        return carry_out(planned, show)


def _document(found: Search) -> dict[str, Any]:
    from nandlab.searching.words import sentences

    places = {id(point): at for at, point in enumerate(found.points)}
    return {
        "free": [{"key": free.key, "values": free.words} for free in found.space],
        "goals": [{"name": goal.name, "maximise": goal.maximise} for goal in found.goals],
        "limits": [limit.text for limit in found.limits],
        "seed": found.seed,
        "tries": [
            {
                "values": point.values,
                "goals": dict(zip((goal.name for goal in found.goals), found.figures(point), strict=True)),
                "within": found.is_within(point),
                "front": on_front,
                "result": point.record,
                "error": point.error,
            }
            for point, on_front in zip(found.points, found.front, strict=True)
        ],
        "best": [places[id(point)] for point in found.best],
        "importances": {
            goal.name: shares for goal, shares in zip(found.goals, found.importances, strict=False)
        },
        "sentences": sentences(found),
        "reused": found.reused,
        "stopped": found.stopped,
    }


def _print(found: Search) -> None:
    from nandlab.searching.words import sentences
    from nandlab.sweeping.words import axis_titles, figure, labels

    best = found.best
    if best:
        sweep = found.as_sweep()
        shown = labels(sweep.axes)
        titles = [*axis_titles(sweep.axes), *(goal.name for goal in found.goals)]
        rows = [
            [
                *(names[text] for names, text in zip(shown, point.texts, strict=True)),
                *(
                    figure(goal.name, value)
                    for goal, value in zip(found.goals, found.figures(point), strict=True)
                ),
            ]
            for point in best[:MOST]
        ]
        print_table(rows, titles, right=range(len(found.space), len(titles)))
        if len(best) > MOST:
            click.echo(f"and {len(best) - MOST:,} more: --json and --report have them")
        click.echo("")
    for sentence in sentences(found):
        echo_wrapped(sentence)


def _say_end(found: Search, output: str | None) -> None:
    failed = [point for point in found.points if point.error is not None]
    for point in failed[:MOST]:
        say(f"no result: {point.name}: {point.error}")
    if len(failed) > MOST:
        say(f"and {len(failed) - MOST:,} more without a result")
    if found.reused:
        say(f"{found.reused} of {len(found.points)} tries were finished before, and did not run again")
    if found.stopped:
        kept = (
            f"are kept in {output}.journal; the same command goes on after them"
            if output is not None
            else "are printed; with --output they are kept, and the same command goes on after them"
        )
        say(f"stopped: {_done(found)} {kept}")


def _done(found: Search) -> str:
    count = len(found.points)
    return (
        "1 try is done and the finished ones" if count == 1 else f"{count} tries are done; the finished ones"
    )


def _status(found: Search) -> int:
    if found.stopped:
        return FAILED
    if all(point.record is None for point in found.points):
        return WRONG_INPUT if all(point.kind == "input" for point in found.points) else FAILED
    # A refused or failed try is an answer: the search avoids it.
    return DONE if found.best else FAILED
