"""Runs a search's points, and judges its claims at each."""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nandlab._native import NandlabError
from nandlab.experiment import Experiment
from nandlab.reproduce.formula import Formula, FormulaError
from nandlab.reproduce.measure import checked, there
from nandlab.reproduce.paper import Paper
from nandlab.reproduce.point import Figures, see
from nandlab.reproduce.records import Key, number
from nandlab.reproduce.search_file import row_of
from nandlab.reproduce.search_found import Found
from nandlab.reproduce.search_points import Point, fingerprint, names_of, paper_at, points_of
from nandlab.reproduce.tree import Tree
from nandlab.running.batch import Outcome, State, run_all

AT_ONCE = 64
"""Most runs whose records are kept at the same time."""


@dataclass
class Job:
    """A run in the search, and the measures to read from it."""

    tree: Tree
    name: str
    formulas: dict[str, Formula]


def search(
    paper: Paper,
    points: Sequence[Point] | None = None,
    jobs: int | None = None,
    progress: Callable[[State], object] | None = None,
) -> Found:
    """Measures a search's points, by default the ones in the paper's file.

    If a run is refused or fails, claims that read it have no figure at its point.

    Raises:
        ConfigError: There is nothing open, or an experiment with the chosen values cannot run.

    """
    if not paper.varied:
        assert paper.top is not None
        words = "there is no [[open]] value and no [[reading]] that could be searched"
        raise paper.top.error("open", words)
    mark, paper = fingerprint(paper), there(paper)
    claims = paper.searched_claims
    planned: dict[Key, Job] = {}
    at_points = []
    for point in points if points is not None else points_of(paper):
        at = paper_at(replace(paper, claims=claims), point.values, point.kind)
        figures, names = Figures(at, paper.search.seeds, False), names_of(at.claims)
        _plan(planned, figures, names)
        if point.kind == "chosen":
            _refuse_what_cannot_run(figures, names)
        at_points.append((point, figures))
    figures_of, failed, stopped = _run(planned, jobs, progress)
    rows = []
    for point, figures in at_points:
        keys = _keys(figures, names_of(figures.paper.claims))
        if all(key in failed or (key, text) in figures_of for key, text in keys):
            figures.figures, figures.failed = figures_of, failed
            rows.append(
                row_of(paper, point, {claim.id: see(claim, figures) for claim in figures.paper.claims})
            )
    counts = collections.Counter(failed.values())
    reasons = tuple(f"{count} run{'' if count == 1 else 's'} {why}" for why, count in counts.items())
    return Found(
        mark, paper.search.points, paper.search.seed, paper.search.seeds, tuple(rows), reasons, stopped
    )


def _keys(figures: Figures, names: Sequence[str]) -> list[tuple[Key, str]]:
    """Every run and measure a point takes."""
    found = []
    for name in names:
        run, _, measure = name.rpartition(".")
        text = figures.paper.measures[measure].text
        found += [(figures.key_of_run(run, seed), text) for seed in figures.all_seeds()]
    return found


def _plan(planned: dict[Key, Job], figures: Figures, names: Sequence[str]) -> None:
    for name in names:
        run, _, measure = name.rpartition(".")
        formula = figures.paper.measures[measure]
        for seed in figures.all_seeds():
            key = figures.key_of_run(run, seed)
            if key not in planned:
                planned[key] = Job(figures.paper.tree(run), run, {})
            planned[key].formulas[formula.text] = formula


def _refuse_what_cannot_run(figures: Figures, names: Sequence[str]) -> None:
    """Reports an error in one of the file's own experiments, with file, line and key."""
    for run in dict.fromkeys(name.rpartition(".")[0] for name in names):
        checked(figures, figures.key_of_run(run, 1), figures.paper.tree(run), run)


def _run(
    planned: dict[Key, Job], jobs: int | None, progress: Callable[[State], object] | None
) -> tuple[dict[tuple[Key, str], float | None], dict[Key, str], bool]:
    """Every run's figures, errors for failed ones, and whether somebody stopped."""
    found: dict[tuple[Key, str], float | None] = {}
    failed: dict[Key, str] = {}
    ready: list[tuple[Key, Experiment]] = []
    for key, job in planned.items():
        try:
            experiment = Experiment(**{"workload": {}, **job.tree, "seed": key[1]})
            experiment.resolve()
            ready.append((key, experiment))
        except NandlabError as error:
            failed[key] = f"refused: {error}"
    for start in range(0, len(ready), AT_ONCE):
        part = ready[start : start + AT_ONCE]

        def show(state: State, start: int = start) -> None:
            if progress is not None:
                progress(State(start + state.finished, state.running, len(ready)))

        outcomes, stopped = run_all([experiment for _, experiment in part], jobs, show)
        for (key, _), outcome in zip(part, outcomes, strict=True):
            _take(found, failed, key, planned[key], outcome)
        if stopped:
            return found, failed, True
    return found, failed, False


def _take(
    found: dict[tuple[Key, str], float | None], failed: dict[Key, str], key: Key, job: Job, outcome: Outcome
) -> None:
    """Keeps a run's figures, and not its record."""
    if outcome.error is not None:
        failed[key] = f"failed: {outcome.error}"
    elif outcome.result is not None and not outcome.result.partial:
        record = outcome.result.to_dict()
        for text, formula in job.formulas.items():
            found[key, text] = _figure(formula, record)


def _figure(formula: Formula, record: dict[str, Any]) -> float | None:
    try:
        return formula.value(lambda path: number(record, path))
    except FormulaError:
        return None
