"""`nandlab compare`: runs several experiments and sets their costs side by side."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from nandlab.cli import DONE, FAILED, WRONG_INPUT, status_of
from nandlab.cli.example import example
from nandlab.cli.optimum import HEADS, Above, compared, optimum_option, sentences
from nandlab.cli.options import EXPERIMENT, read
from nandlab.cli.output import as_command, echo_wrapped, print_table, say, say_path
from nandlab.cli.plots import plots_of, plots_options
from nandlab.cli.points import Given, say_twins, shared_options, state_of, vary_option
from nandlab.running.varied import as_typed, in_the_chosen, override, titles_of, varied_by
from nandlab.writing.new_file import readable

if TYPE_CHECKING:
    from nandlab.cli.plots import Plots
    from nandlab.experiment import Experiment
    from nandlab.experiment.result import Result
    from nandlab.running.batch import Outcome, State
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
    prints the finished part, marked partial, with exit status 1.
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
    from nandlab.running.batch import run_all

    given.refuse_twice(vary)
    chosen = _designs(files, vary, given.sets)
    experiments = _resolved(chosen, list(vary))
    say_twins(zip(experiments, (design.name for design in chosen), strict=True))
    inputs = [path for each in experiments for path in each.inputs()]
    given.refuse_overwriting(inputs)
    each_seed = _with_seeds(experiments, seeds)
    with Waiting() as waiting:
        all_outcomes, stopped = run_all(each_seed, given.jobs, lambda state: _show(waiting, state))
    outcomes = [_of_all_seeds(all_outcomes[at : at + seeds]) for at in range(0, len(all_outcomes), seeds)]
    repeats = [
        [outcome.result for outcome in all_outcomes[at + 1 : at + seeds] if outcome.result is not None]
        for at in range(0, len(all_outcomes), seeds)
    ]
    above = [Above([])] * len(chosen)
    if given.optimum and not stopped:
        above, stopped = _above(each_seed, all_outcomes, seeds, given.jobs)
    given.show(
        lambda: {"runs": list(map(_document, chosen, outcomes, repeats, above))},
        lambda: _print(chosen, outcomes, repeats, above),
    )
    for design, outcome in zip(chosen, outcomes, strict=True):
        if outcome.result is None or outcome.error is not None:
            say(f"error: {design.name}: {_why(outcome)}")
    if given.report is not None or plots is not None:
        _draw(chosen, outcomes, repeats, given, plots, inputs)
    return _status(outcomes, stopped)


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


def _with_seeds(experiments: Sequence[Experiment], seeds: int) -> list[Experiment]:
    """Each experiment with its own seed and the following ones."""
    if seeds == 1:
        return list(experiments)
    first = [each.resolve()["seed"] for each in experiments]
    return [
        each if at == 0 else each.replace(seed=(seed + at) % 2**63)
        for each, seed in zip(experiments, first, strict=True)
        for at in range(seeds)
    ]


def _of_all_seeds(outcomes: Sequence[Outcome]) -> Outcome:
    """A design's outcome: its first seed's result, with the first error from any seed."""
    from nandlab.running.batch import Outcome

    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    return Outcome(result=outcomes[0].result, error=errors[0] if errors else None)


def _draw(  # noqa: PLR0913 - what is drawn, and where it goes
    chosen: Sequence[Design],
    outcomes: Sequence[Outcome],
    repeats: Sequence[Sequence[Result]],
    given: Given,
    plots: Plots | None,
    inputs: list[Path],
) -> None:
    report = given.report
    pairs = [
        (design.labels, outcome.result or _why(outcome))
        for design, outcome in zip(chosen, outcomes, strict=True)
    ]
    if all(outcome.result is None for outcome in outcomes):
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


def _resolved(chosen: Sequence[Design], varied: Sequence[str]) -> list[Experiment]:
    """The experiments, each checked before the first one runs; errors name varied keys as such."""
    from nandlab._native import ConfigError

    experiments = [read(design.file, design.sets) for design in chosen]
    for design, experiment in zip(chosen, experiments, strict=True):
        try:
            experiment.resolve()
        except ConfigError as error:
            said = varied_by(str(error), varied, "--vary")
            raise ConfigError(f"{design.name}: {said}" if len(chosen) > 1 else said) from None
    return experiments


def _show(waiting, state: State) -> None:  # noqa: ANN001 - a Waiting, imported late
    waiting.update("experiments", state.share(), f"{state.finished} of {state.total} done")


def _above(
    experiments: Sequence[Experiment], outcomes: Sequence[Outcome], seeds: int, jobs: int | None
) -> tuple[list[Above], bool]:
    """How far each design is above its optimum, over all its seeds; and whether Ctrl-C stopped it."""
    runs = [(experiment, outcome.result) for experiment, outcome in zip(experiments, outcomes, strict=True)]
    found, stopped = compared(runs, jobs)
    return [Above(found[at : at + seeds]) for at in range(0, len(found), seeds)], stopped


def _document(design: Design, outcome: Outcome, repeats: Sequence[Result], above: Above) -> dict[str, Any]:
    return {
        "name": design.name,
        "file": design.file,
        "labels": design.labels,
        "set": [override(pair, design.file) for pair in design.sets],
        "result": None if outcome.result is None else outcome.result.to_dict(),
        "repeats": [result.to_dict() for result in repeats],
        "error": None if outcome.error is None else str(outcome.error),
        **above.document(),
    }


def _print(
    chosen: Sequence[Design],
    outcomes: Sequence[Outcome],
    repeats: Sequence[Sequence[Result]],
    above: Sequence[Above],
) -> None:
    from nandlab.figures import summary
    from nandlab.figures.best import Figure

    results = [outcome.result for outcome in outcomes if outcome.result is not None]
    columns = summary.columns(results)
    labels = list(chosen[0].labels)
    states = [state_of(outcome.result, outcome.error) for outcome in outcomes]
    rows = []
    is_compared = any(each.runs for each in above)
    for design, outcome, again, each, state in zip(chosen, outcomes, repeats, above, states, strict=True):
        row = [design.labels[title] for title in labels]
        if outcome.result is not None:
            row += [Figure.of(column, [outcome.result, *again]).text for column in columns]
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
    if any(repeats):
        click.echo(
            f"Means over {1 + max(map(len, repeats))} seeds, ± half the 95 % interval where they differ."
        )


def _why(outcome: Outcome) -> str:
    """Why there is no result, or none to the end."""
    return as_typed(str(outcome.error or "stopped before there was a result"))


def _status(outcomes: Sequence[Outcome], stopped: bool) -> int:
    if stopped:
        return FAILED
    statuses = {status_of(outcome.error) for outcome in outcomes if outcome.error is not None}
    return FAILED if FAILED in statuses else WRONG_INPUT if statuses else DONE
