"""`nandlab compare`: runs several experiments and sets their costs side by side."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from nandlab.cli import DONE, FAILED, WRONG_INPUT, status_of
from nandlab.cli.example import example
from nandlab.cli.optimum import HEADS, Above, optimum_option, sentences
from nandlab.cli.options import EXPERIMENT, read
from nandlab.cli.output import as_command, echo_wrapped, print_table, say, say_path
from nandlab.cli.plots import plots_of, plots_options
from nandlab.cli.points import Given, kept_options, say_kept, say_twins, shared_options, state_of, vary_option
from nandlab.running.varied import as_typed, in_the_chosen, override, titles_of, varied_by
from nandlab.writing.new_file import readable

if TYPE_CHECKING:
    from nandlab.cli.plots import Plots
    from nandlab.cli.progress import Waiting
    from nandlab.comparing import Ran
    from nandlab.experiment import Experiment
    from nandlab.running.batch import State
    from nandlab.running.varied import Pair


@example("nandlab compare experiment.toml --vary ftl=page,bast,fast")
@click.command("compare")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=EXPERIMENT)
@vary_option(required=False)
@plots_options
@click.option(
    "--seeds",
    metavar="N",
    type=click.IntRange(min=1, max=1000),
    default=1,
    help="Run each design with N seeds, and print means with 95 % intervals.",
)
@kept_options("run", "runs", "after an interruption")
@optimum_option
@shared_options()
def command(
    files: tuple[str, ...],
    vary: dict[str, str],
    seeds: int,
    plots: str | None,
    plot_format: Literal["svg", "png"] | None,
    plot_theme: Literal["light", "dark"] | None,
    **shared: Any,  # noqa: ANN401 - options
) -> int:
    """Run designs side by side, and compare their costs.

    A design is a FILE with one combination of the --vary values. Ctrl-C stops the runs. The command then
    prints the finished part, marked partial, with exit status 1; --output keeps whole runs.
    """
    drawn = plots_of({"plots": plots, "plot_format": plot_format, "plot_theme": plot_theme})
    return compare(files, vary, Given(**shared), drawn, seeds)


def compare(
    files: Sequence[str],
    vary: Mapping[str, Any],
    given: Given,
    plots: Plots | None = None,
    seeds: int = 1,
) -> int:
    """Runs every file with every combination of values, and prints the figures; returns the exit status."""
    from nandlab.cli.progress import Waiting
    from nandlab.comparing import Plan, carry_out

    given.refuse_twice(vary)
    chosen = _designs(files, vary, given.sets)
    experiments = _resolved(chosen, vary)
    say_twins(zip(experiments, (design.name for design in chosen), strict=True))
    inputs = [path for each in experiments for path in each.inputs()]
    given.refuse_overwriting(inputs)
    labels = [design.labels for design in chosen]
    planned = Plan(labels, experiments, seeds, given.jobs, given.optimum, given.output, given.fresh)
    with Waiting() as waiting:
        ran, reused, stopped = carry_out(planned, partial(_show, waiting))
    given.show(lambda: {"runs": list(map(_document, chosen, ran))}, lambda: _print(chosen, ran))
    if given.output is not None and not stopped:
        click.echo(f"\nruns: {given.output}", err=given.as_json)
    for design, each in zip(chosen, ran, strict=True):
        if each.result is None or each.error is not None:
            say(f"error: {design.name}: {_why(each)}")
    if given.report is not None or plots is not None:
        _draw(chosen, ran, given, plots, inputs)
    whole = sum(one.result is not None and not one.result.partial for each in ran for one in each.outcomes)
    say_kept(whole, len(ran) * seeds, "runs", reused, stopped, given.output)
    return _status(ran, stopped)


@dataclass(frozen=True)
class Design:
    """One experiment in a comparison."""

    file: str
    labels: dict[str, str]
    """Labels that set it apart: column title and value."""
    sets: list[Pair]

    @property
    def name(self) -> str:
        """The labels in one line."""
        from nandlab.figures.summary import run_name

        return run_name(self.labels)


def _designs(files: Sequence[str], vary: Mapping[str, Any], sets: Sequence[Pair]) -> list[Design]:
    """Every file with every combination of values; designs for the same workload stand together."""
    from nandlab.sweeping.axes import axes_of
    from nandlab.sweeping.words import labels

    axes = axes_of(vary) if vary else []
    titles = titles_of(list(vary))
    # Each value with its key, its column's title and its label there.
    named = [
        [(axis.key, text, title, shown[text]) for text in axis.values]
        for axis, title, shown in zip(axes, titles, labels(axes), strict=True)
    ]
    work = [values for axis, values in zip(axes, named, strict=True) if axis.is_workload()]
    rest = [values for axis, values in zip(axes, named, strict=True) if not axis.is_workload()]
    stems = list(zip(files, _distinct_stems(files), strict=True))
    found: list[Design] = []
    for before, (file, stem), after in itertools.product(
        list(itertools.product(*work)), stems, list(itertools.product(*rest))
    ):
        own = {"experiment": stem} if len(files) > 1 or not axes else {}
        before_it, after_it = ({title: label for *_, title, label in each} for each in (before, after))
        pairs = in_the_chosen(
            (*sets, *((key, text) for key, text, *_ in (*before, *after))), partial(_tables, file)
        )
        found.append(Design(file, _unlike(found, before_it | own | after_it), pairs))
    return found


def _tables(file: str) -> dict[str, Any]:
    return read(file, ()).resolve()


def _unlike(found: Sequence[Design], labels: dict[str, str]) -> dict[str, str]:
    """The labels, with a number if an earlier design has the same: a value may be given twice."""
    taken = [design.labels for design in found]
    *_, last = labels
    number, unlike = 1, labels
    while unlike in taken:
        number += 1
        unlike = labels | {last: f"{labels[last]} ({number})"}
    return unlike


def _distinct_stems(files: Sequence[str]) -> list[str]:
    stems = [readable(Path(file).stem) for file in files]
    return stems if len(set(stems)) == len(stems) else [readable(file) for file in files]


def _draw(
    chosen: Sequence[Design],
    ran: Sequence[Ran],
    given: Given,
    plots: Plots | None,
    inputs: list[Path],
) -> None:
    report = given.report
    pairs = [(design.labels, each.result or _why(each)) for design, each in zip(chosen, ran, strict=True)]
    repeats = [each.repeats for each in ran]
    if all(each.result is None for each in ran):
        where = report or (plots.folder if plots is not None else "")
        what = "report was" if report is not None else "pictures were"
        say(f"no {what} written: there is no result to put into {where}")
        return
    if report is not None:
        from nandlab.report import write_comparison

        write_comparison(pairs, report, as_command(), repeats)
        say_path(report, given.as_json)
    if plots is not None:
        from nandlab.report.comparison import Runs, pictures

        plots.write(pictures(Runs(pairs, repeats)), inputs)


def _resolved(chosen: Sequence[Design], vary: Mapping[str, Any]) -> list[Experiment]:
    """The experiments, each checked before the first one runs; errors name varied keys as such."""
    from nandlab._native import ConfigError

    experiments = [read(design.file, design.sets) for design in chosen]
    for design, experiment in zip(chosen, experiments, strict=True):
        try:
            experiment.resolve()
        except ConfigError as error:
            # A key of whichever FTL or buffer is there has got its name by now.
            keys = [
                key for key, _ in design.sets if key in vary or re.sub(r"\.\w+", "", key, count=1) in vary
            ]
            said = varied_by(str(error), keys, "--vary")
            raise ConfigError(f"{design.name}: {said}" if len(chosen) > 1 else said) from None
    return experiments


def _show(waiting: Waiting, phase: str, state: State) -> None:
    what = " placements" if phase == "optimum" else ""
    waiting.update(phase, state.share(), f"{state.finished} of {state.total}{what} done")


def _above(ran: Ran) -> Above:
    """How far a design is above its optimum, over all its seeds."""
    wafs = [None if one.result is None else one.result.waf for one in ran.outcomes]
    return Above(list(zip(wafs, ran.optima, strict=False)))


def _document(design: Design, ran: Ran) -> dict[str, Any]:
    return {
        "name": design.name,
        "file": design.file,
        "labels": design.labels,
        "set": [override(pair, design.file) for pair in design.sets],
        "result": None if ran.result is None else ran.result.to_dict(),
        "repeats": [result.to_dict() for result in ran.repeats],
        "error": None if ran.error is None else str(ran.error),
        **_above(ran).document(),
    }


def _print(chosen: Sequence[Design], ran: Sequence[Ran]) -> None:
    from nandlab.figures import summary
    from nandlab.figures.best import Figure

    results = [each.result for each in ran if each.result is not None]
    columns = summary.columns(results)
    labels = list(chosen[0].labels)
    states = [state_of(each.result, each.error) for each in ran]
    above = [_above(each) for each in ran]
    rows = []
    is_compared = any(each.runs for each in above)
    for design, one, each, state in zip(chosen, ran, above, states, strict=True):
        row = [design.labels[title] for title in labels]
        if one.result is not None:
            row += [Figure.of(column, [one.result, *one.repeats]).text for column in columns]
        row += [""] * (len(labels) + len(columns) - len(row))
        rows.append(row + each.cells() * is_compared + [state] * any(states))
    # Short lines, so that the table fits an 80-column terminal.
    heads = [column.title.replace(" ", "\n") for column in columns]
    heads += HEADS * is_compared
    titles = [*(summary.plain(title) for title in labels), *heads, *[""] * any(states)]
    print_table(rows, titles, right=range(len(labels), len(labels) + len(heads)))
    if columns:
        echo_wrapped(f"\n{summary.note(results)}")
    for sentence in sentences({design.name: each for design, each in zip(chosen, above, strict=True)}):
        echo_wrapped(f"\n{sentence}")
    if repeats := max(len(each.repeats) for each in ran):
        click.echo(f"Means over {1 + repeats} seeds, ± half the 95 % interval where they differ.")


def _why(ran: Ran) -> str:
    """Why there is no result, or none to the end."""
    return as_typed(str(ran.error or "stopped before there was a result"))


def _status(ran: Sequence[Ran], stopped: bool) -> int:
    if stopped:
        return FAILED
    statuses = {status_of(each.error) for each in ran if each.error is not None}
    return FAILED if FAILED in statuses else WRONG_INPUT if statuses else DONE
