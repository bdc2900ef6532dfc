"""`nandlab sweep FILE`: runs one experiment with every combination of values."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from nandlab.cli import DONE, FAILED, WRONG_INPUT
from nandlab.cli.example import example
from nandlab.cli.optimum import Above, optimum_option
from nandlab.cli.optimum import sentences as optimum_sentences
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
from nandlab.running.varied import as_typed

if TYPE_CHECKING:
    from nandlab.sweeping import Plan, Point, Sweep


def _plots(ctx: click.Context, parameter: click.Parameter, folder: str | None) -> str | None:
    require_drawing(folder)
    return folder_for_files(ctx, parameter, folder)


@example("nandlab sweep mine.toml --vary device.over_provisioning=0.07..0.5:8")
@click.command("sweep")
@experiment_argument()
@click.option(
    "--vary",
    metavar="KEY=VALUES",
    multiple=True,
    required=True,
    callback=values_by_key("key=values, as in seed=1..5"),
    help="a,b,c; FROM..TO:N; FROM..TO:N:log; FROM..TO (whole numbers). Several --vary combine.",
)
@sets_option
@policies_option
@state_option
@goal_option("Two have a Pareto front.")
@points_options("point", "points", "after an interruption")
@optimum_option
@report_option
@click.option(
    "--plots",
    metavar="DIR",
    type=click.Path(file_okay=False),
    callback=_plots,
    help="Draw pictures (SVG and PNG) into DIR.",
)
@json_option
def command(  # noqa: PLR0913 - one for each option
    file: str,
    vary: dict[str, str],
    sets: list[Pair],
    goals: tuple[str, ...],
    output: str | None,
    fresh: bool,
    executor: str,
    jobs: int | None,
    optimum: bool,
    report: str | None,
    plots: str | None,
    as_json: bool,
) -> int:
    """Run every combination of values, and draw the results.

    Ctrl-C stops the sweep. The command then prints the finished points, with exit status 1; --output keeps
    them.
    """
    require_drawing(report)
    planned = _planned(file, vary, sets, goals)
    outputs = {"--report": report, "--output": output}
    refuse_overwriting(outputs, {path for point in planned.points for path in point.experiment.inputs()})
    _say_twins(planned)
    found = _carried_out(
        replace(planned, executor=executor, jobs=jobs, output=output, fresh=fresh, optimum=optimum)
    )
    if as_json:
        print_json(_document(found))
    else:
        _print(found)
    if output is not None and not found.stopped:
        click.echo(f"\npoints: {output}", err=as_json)
    if any(point.record is not None for point in found.points):
        _draw(found, report, plots, as_json)
    elif report is not None or plots is not None:
        say("nothing was drawn: no point has a result")
    _say_end(found, output)
    return _status(found)


def _planned(file: str, vary: dict[str, str], sets: list[Pair], goals: tuple[str, ...]) -> Plan:
    from nandlab.sweeping import plan
    from nandlab.sweeping.axes import axes_of
    from nandlab.sweeping.goals import goal_of

    twice = [key for key, _ in sets if key in vary]
    if twice:
        raise click.UsageError(f"{twice[0]} is given twice")
    wanted = [goal_of(goal) for goal in dict.fromkeys(goals)]
    experiment = read(file, [override(pair, file) for pair in sets])
    return plan(experiment, axes_of(vary), wanted, "--vary")


def _carried_out(planned: Plan) -> Sweep:
    from nandlab.cli.progress import Waiting
    from nandlab.sweeping import carry_out

    with Waiting() as waiting:

        def show(done: int, total: int, share: float) -> None:
            waiting.update("sweep", share, f"{done:,} of {total:,} points done")

        return carry_out(planned, show)


def _say_twins(planned: Plan) -> None:
    first: dict[str, Point] = {}
    for point in planned.points:
        twin = first.setdefault(point.key, point)
        if twin is not point:
            say(f"note: {point.name} is the same experiment as {twin.name}, and runs once")


def _document(found: Sweep) -> dict[str, Any]:
    fronts = found.front if len(found.goals) > 1 else [None] * len(found.points)
    return {
        "axes": [{"key": axis.key, "values": axis.meant()} for axis in found.axes],
        "goals": [{"name": goal.name, "maximise": goal.maximise} for goal in found.goals],
        "points": [
            {
                "values": point.values,
                "goals": dict(zip((goal.name for goal in found.goals), found.figures(point), strict=True)),
                "front": on_front,
                "result": point.record,
                "error": point.error,
                **_above(point).document(),
            }
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
    states = [_state(point) for point in found.points]
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


def _state(point: Point) -> str:
    if point.error is not None:
        return "failed"
    return "not run" if point.result is None else "PARTIAL" if point.result.partial else ""


def _draw(found: Sweep, report: str | None, plots: str | None, as_json: bool) -> None:
    if plots is not None:
        for path in found.plots(plots):
            say(f"picture: {path}")
    if report is not None:
        found.report(report, shlex.join(["nandlab", *sys.argv[1:]]))
        say_path(report, as_json)


def _say_end(found: Sweep, output: str | None) -> None:
    for point in found.points:
        if point.error is not None:
            say(f"error: {point.name}: {as_typed(str(point.error))}")
        elif point.result is not None and point.result.stopped is not None:
            say(f"error: {point.name}: {point.result.stopped.message}")
    if found.reused:
        say(f"{found.reused} of {len(found.points)} points were finished before, and did not run again")
    if not found.stopped and all(point.record is None for point in found.points):
        say("error: every point failed, and there is nothing to compare: the errors above say why")
    if found.stopped:
        done = sum(point.record is not None for point in found.points)
        kept = (
            f"are kept in {output}.journal; the same command goes on after them"
            if output is not None
            else "are printed; with --output they are kept, and the same command goes on after them"
        )
        if done:
            say(f"stopped: {done} of {len(found.points)} points are done and {kept}")
        else:
            say(f"stopped before the first of {len(found.points)} points was done: nothing is kept")


def _status(found: Sweep) -> int:
    failed = any(
        point.kind == "run" or (point.result is not None and point.result.partial) for point in found.points
    )
    if found.stopped or failed:
        return FAILED
    return WRONG_INPUT if any(point.kind == "input" for point in found.points) else DONE
