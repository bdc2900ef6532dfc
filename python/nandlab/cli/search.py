"""`nandlab search FILE`: the best values of free keys, for one goal or several."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from nandlab.cli import DONE, FAILED, WRONG_INPUT
from nandlab.cli.example import example
from nandlab.cli.options import experiment_argument, number_option, seed_option, values_by_key
from nandlab.cli.output import echo_wrapped, print_table, say
from nandlab.cli.points import (
    Given,
    carried_out,
    executor_option,
    folder_option,
    goal_documents,
    goal_option,
    kept_options,
    point_document,
    require_drawing,
    say_end,
    shared_options,
)

if TYPE_CHECKING:
    from nandlab.searching import Search

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
@goal_option
@click.option(
    "--limit",
    "limits",
    metavar="NAME<NUMBER",
    multiple=True,
    help="A bound that the result keeps: <, <=, > or >=.",
)
@number_option("--budget", click.IntRange(1, 10_000), 100, "Tries at most.")
@seed_option
@executor_option
@kept_options("try", "tries", "after an interruption, or with a larger --budget")
@folder_option("--best", "Write the best experiments into DIR.")
@shared_options(", at most 4")
def command(  # noqa: PLR0913 - one for each option
    file: str,
    free: dict[str, str],
    goals: tuple[str, ...],
    limits: tuple[str, ...],
    best: str | None,
    budget: int,
    seed: int,
    **shared: Any,  # noqa: ANN401 - options
) -> int:
    """Search for the values that make a figure best.

    Ctrl-C stops the search. The command then prints the finished tries, with exit status 1; --output keeps
    them.
    """
    from nandlab.searching import carry_out, plan

    given = Given(**shared)
    require_drawing(given.report)
    planned = plan(given.read(file, free), free, goals, limits, budget, seed, named="--free")
    given.refuse_overwriting(planned.experiment.inputs())
    found = carried_out(carry_out, replace(planned, **given.how()), "search", "at most {} tries")
    given.show(lambda: _document(found), lambda: _print(found))
    has_results = any(point.record is not None for point in found.points)
    if given.output is not None and not found.stopped and has_results:
        click.echo(f"\ntries: {given.output}", err=given.as_json)
    if best is not None:
        for path in found.write_best(best):
            click.echo(f"experiment: {path}", err=given.as_json)
    if has_results:
        given.draw(found)
    elif given.report is not None:
        say("nothing was drawn: no try has a result")
    _say_end(found, given.output)
    return _status(found)


def _document(found: Search) -> dict[str, Any]:
    from nandlab.searching.words import sentences

    places = {id(point): at for at, point in enumerate(found.points)}
    return {
        "free": [{"key": free.key, "values": free.words} for free in found.space],
        "goals": goal_documents(found),
        "limits": [limit.text for limit in found.limits],
        "seed": found.seed,
        "tries": [
            point_document(found, point, on_front) | {"within": found.is_within(point)}
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
    say_end(found, "tries", found.budget, output)


def _status(found: Search) -> int:
    if found.stopped:
        return FAILED
    if all(point.record is None for point in found.points):
        return WRONG_INPUT if all(point.kind == "input" for point in found.points) else FAILED
    # A refused or failed try is an answer: the search avoids it.
    return DONE if found.best else FAILED
