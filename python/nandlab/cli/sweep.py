"""`nandlab sweep FILE`: runs one experiment with every combination of values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from nandlab.cli import DONE, FAILED, WRONG_INPUT
from nandlab.cli.example import example
from nandlab.cli.optimum import Above, optimum_option
from nandlab.cli.optimum import sentences as optimum_sentences
from nandlab.cli.options import experiment_argument
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
    say_twins,
    shared_options,
    state_of,
    vary_option,
)
from nandlab.running.varied import as_typed

if TYPE_CHECKING:
    from nandlab.sweeping import Plan, Point, Sweep


@example("nandlab sweep mine.toml --vary device.over_provisioning=0.07..0.5:8")
@click.command("sweep")
@experiment_argument()
@vary_option(required=True)
@goal_option
@executor_option
@kept_options("point", "points", "after an interruption")
@optimum_option
@folder_option("--plots", "Draw pictures (SVG and PNG) into DIR.")
@shared_options()
def command(
    file: str,
    vary: dict[str, str],
    goals: tuple[str, ...],
    plots: str | None,
    **shared: Any,  # noqa: ANN401 - options
) -> int:
    """Run every combination of values, and draw the results.

    Ctrl-C stops the sweep. The command then prints the finished points, with exit status 1; --output keeps
    them.
    """
    from nandlab.sweeping import carry_out

    given = Given(**shared)
    require_drawing(given.report, plots)
    planned = _planned(given, file, vary, goals)
    given.refuse_overwriting({path for point in planned.points for path in point.experiment.inputs()})
    say_twins(((point.key, point.name) for point in planned.points), ", and runs once")
    planned = replace(planned, optimum=given.optimum, **given.how())
    found = carried_out(carry_out, planned, "sweep", "{} points")
    given.show(lambda: _document(found), lambda: _print(found))
    if given.output is not None and not found.stopped:
        click.echo(f"\npoints: {given.output}", err=given.as_json)
    if any(point.record is not None for point in found.points):
        for path in [] if plots is None else found.plots(plots):
            say(f"picture: {path}")
        given.draw(found)
    elif given.report is not None or plots is not None:
        say("nothing was drawn: no point has a result")
    _say_end(found, given.output)
    return _status(found)


def _planned(given: Given, file: str, vary: dict[str, str], goals: tuple[str, ...]) -> Plan:
    from nandlab.sweeping import plan
    from nandlab.sweeping.axes import axes_of
    from nandlab.sweeping.goals import goal_of

    wanted = [goal_of(goal) for goal in dict.fromkeys(goals)]
    return plan(given.read(file, vary), axes_of(vary), wanted, "--vary")


def _document(found: Sweep) -> dict[str, Any]:
    fronts = found.front if len(found.goals) > 1 else [None] * len(found.points)
    return {
        "axes": [{"key": axis.key, "values": axis.meant()} for axis in found.axes],
        "goals": goal_documents(found),
        "points": [
            point_document(found, point, on_front) | _above(point).document()
            for point, on_front in zip(found.points, fronts, strict=True)
        ],
        "reused": found.reused,
        "stopped": found.stopped,
    }


def _above(point: Point) -> Above:
    if point.optimum is None:
        return Above([])
    return Above([(None if point.record is None else point.record["waf"], point.optimum)])


def _print(found: Sweep) -> None:
    from nandlab.figures import summary
    from nandlab.sweeping.gains import sentences
    from nandlab.sweeping.words import columns

    described, keys = columns(found), len(found.axes)
    states = [state_of(point.result, point.error) for point in found.points]
    rows = []
    for point, state in zip(found.points, states, strict=True):
        cells = [column.cell(point) for column in described]
        row = cells if point.result is not None else cells[:keys] + [""] * (len(cells) - keys)
        rows.append(row + [state] * any(states))
    goals, with_front = len(found.goals), len(found.goals) > 1
    # Short lines, so that the table fits an 80-column terminal.
    titles = [
        column.title if at < keys + goals + with_front else column.title.replace(" ", "\n")
        for at, column in enumerate(described)
    ]
    right = [at for at, column in enumerate(described) if column.is_number]
    print_table(rows, titles + [""] * any(states), right=right)
    results = [point.result for point in found.points if point.result is not None]
    if len(described) > keys + goals + with_front:
        echo_wrapped(f"\n{summary.note(results)}")
    if with_front:
        click.echo(
            "Front ◆: no other point of its workload and seed is as good in all goals and better in one."
        )
    for sentence in [
        *sentences(found),
        *optimum_sentences({each.name: _above(each) for each in found.points}),
    ]:
        echo_wrapped(f"\n{sentence}")


def _say_end(found: Sweep, output: str | None) -> None:
    for point in found.points:
        if point.error is not None:
            say(f"error: {point.name}: {as_typed(str(point.error))}")
        elif point.result is not None and point.result.stopped is not None:
            say(f"error: {point.name}: {point.result.stopped.message}")
    say_end(found, "points", len(found.points), output)
    if not found.stopped and all(point.record is None for point in found.points):
        say("error: every point failed, and there is nothing to compare: the errors above say why")


def _status(found: Sweep) -> int:
    failed = any(
        point.kind == "run" or (point.result is not None and point.result.partial) for point in found.points
    )
    if found.stopped or failed:
        return FAILED
    return WRONG_INPUT if any(point.kind == "input" for point in found.points) else DONE
