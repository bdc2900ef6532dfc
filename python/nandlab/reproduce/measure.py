"""Runs a paper's experiments and judges its claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from nandlab._native import ConfigError
from nandlab.experiment import Experiment
from nandlab.reproduce.concluding import Concluded, conclude
from nandlab.reproduce.judge import Judged, judge
from nandlab.reproduce.op_figures import measured
from nandlab.reproduce.paper import Paper
from nandlab.reproduce.records import Key, Records, figure_seeds, key_of, points, seeds_of
from nandlab.reproduce.tree import Tree
from nandlab.running.batch import State, run_all


@dataclass(frozen=True)
class Reproduction:
    """A paper with its measurements."""

    paper: Paper
    records: Records
    claims: list[Judged]

    def to_dict(self) -> dict[str, Any]:
        """The JSON document: the paper's name, its conclusions and its claims."""
        return {
            "paper": self.paper.name,
            "conclusions": [each.to_dict() for each in self.conclusions],
            "claims": [claim.to_dict() for claim in self.claims],
        }

    @property
    def conclusions(self) -> list[Concluded]:
        """The file's conclusions, by the verdicts."""
        return conclude(self.paper.conclusions, self.claims, self.records)

    @property
    def complete(self) -> bool:
        """Whether every run came to its end."""
        return not self.records.stopped and not self.records.failed


Progress = Callable[[State], object]


def reproduce(
    paper: Paper,
    seeds: int | None = None,
    full: bool = False,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Measures every claim in a paper.

    Args:
        paper: The paper from `load()`.
        seeds: Seeds for each experiment, 1 and up; by default the file's number. An order is a finding
            from 5 on.
        full: With a full run's seeds and points, as in the file.
        jobs: Runs at once; one for each processor by default.
        progress: Called a few times a second.

    Raises:
        ConfigError: An experiment cannot run as written.

    """
    paper = there(paper.in_full() if full else paper)
    records = Records(paper, seeds or (paper.full_seeds if full else paper.seeds), full)
    if seeds is None:
        records.order_seeds = paper.order_seeds
    wanted = list(_wanted(records))
    for key, (_, run) in wanted:
        records.names.setdefault(key, run)
    unique = {key: tree for key, (tree, _) in wanted}
    experiments = [checked(records, key, tree) for key, tree in unique.items()]
    for op_figure in paper.op_figures:
        tree = paper.tree(op_figure.run)
        checked(records, key_of(tree, 1), tree, op_figure.run)
    outcomes, records.stopped = run_all(experiments, jobs, progress)
    for key, outcome in zip(unique, outcomes, strict=True):
        name = f"{records.names[key]} with seed {key[1]}"
        if isinstance(outcome.error, ConfigError):
            raise _named(outcome.error, f"{paper.file}, run {name}")
        if outcome.error is not None:
            records.failed[key] = f"failed: {outcome.error}"
        elif outcome.result is not None and not outcome.result.partial:
            records.found[key] = outcome.result.to_dict()
    _take_logs(records)
    return Reproduction(paper, records, [judge(claim, records) for claim in paper.claims])


def _take_logs(records: Records) -> None:
    """Runs figures drawn from operation logs, one after the other."""
    for figure in records.paper.op_figures:
        if records.stopped:
            return
        key = key_of(records.paper.tree(figure.run), 1)
        records.names.setdefault(key, figure.run)
        experiment = checked(records, key, records.paper.tree(figure.run))
        cells, result, error, records.stopped = measured(figure, experiment)
        records.drawn[figure.name] = cells
        if error is not None:
            records.failed[key] = f"failed: {error}"
        elif result is not None:
            records.found[key] = result.to_dict()


def checked(records: Records, key: Key, tree: Tree, name: str | None = None) -> Experiment:
    """A checked experiment; it should run, as far as one can tell beforehand.

    Raises:
        ConfigError: It cannot, with file, line and key.

    """
    paper, name = records.paper, name or records.names[key]
    try:
        experiment = Experiment(**{"workload": {}, **tree, "seed": key[1]})
        experiment.resolve()
    except ConfigError as error:
        # A figure's point is named by the run and the value on the x axis.
        run, is_point, _ = name.partition(", ")
        table, line = paper.place(run, error.key or "", bool(is_point))
        place = paper.file if line is None else f"{paper.file}, line {line}"
        where = f"run {name}" if not table else f"{table} of the run {name}"
        named = ConfigError(f"{place}: {where}: {error}")
        named.file, named.line, named.key = paper.file, line, error.key
        raise named from None
    return experiment


def there(paper: Paper) -> Paper:
    """The paper without rows, tables and arguments that need a missing trace.

    The rows are in tables, the arguments in `min` and `max` in claims.
    """
    grids = [
        replace(grid, rows=tuple(row for row in grid.rows if not paper.is_absent(row)))
        for grid in paper.grids
    ]
    claims = tuple(claim.without(paper.lacks) for claim in paper.claims)
    conclusions = tuple(each.without(paper.lacks) for each in paper.conclusions)
    grids = [grid for grid in grids if grid.rows]
    return replace(paper, grids=tuple(grids), claims=claims, conclusions=conclusions)


def _named(error: ConfigError, place: str) -> ConfigError:
    named = ConfigError(f"{place}: {error}")
    named.key = error.key
    return named


def _wanted(records: Records) -> Iterable[tuple[Key, tuple[Tree, str]]]:
    """Every run to read from, in the paper's order: claims, tables, figures."""
    paper = records.paper
    of_grids = [(name, seeds_of(records, grid)) for grid in paper.grids for name in grid.names()]
    headed = (*paper.figures, *paper.pictures, *paper.grids, *paper.op_figures)
    named = [
        *(each for each in of_grids if len(each[1]) == 1),
        *((name, records.of_claim(claim).all_seeds()) for claim in paper.claims for name in claim.names),
        *((name, records.all_seeds()) for each in paper.conclusions for name in each.names),
        *((name, seeds_of(records, each)) for each in headed for name in each.caption.names),
        *of_grids,
    ]
    for name, its_seeds in named:
        run, _ = paper.split(name)
        tree = paper.tree(run)
        yield from ((records.key(tree, seed, run), (tree, run)) for seed in its_seeds)
    for figure in paper.figures:
        for run, x, tree in points(paper, figure, records.full):
            shown = f"{run}, {figure.x_key} = {x}" if figure.x_key else run
            yield from ((records.key(tree, seed, run), (tree, shown)) for seed in figure_seeds(records))
    for picture in paper.pictures:
        for run in picture.runs:
            tree = paper.tree(run)
            yield key_of(tree, 1), (tree, run)
