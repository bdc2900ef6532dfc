"""Calibration: fits a device's free numbers to rows measured on a drive, and predicts other rows."""

from __future__ import annotations

import fnmatch
import os
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from nandlab._native import ConfigError
from nandlab.calibrate.fio_json import read_fio
from nandlab.calibrate.fit import Figures, Measured, Progress, Search, Stopped, require_scipy, search
from nandlab.calibrate.flat import Known, known_of
from nandlab.calibrate.free import Free, free_of
from nandlab.calibrate.rows import ACCURACY, ENERGY, Case, Row, Rows, read_csv, together
from nandlab.calibrate.runs import Bench, Unusable, bench_of, figures_of
from nandlab.experiment import Experiment
from nandlab.running.batch import run_all

__all__ = ["Calibration", "Line", "Plan", "calibrate", "plan"]

REQUESTS = 20_000
"""Requests in a row by default."""
BUDGET = 300
"""Parameter sets by default."""


@dataclass(frozen=True)
class Line:
    """A row's figure: the measured value, and the fit's."""

    row: Row
    figure: str
    measured: float
    simulated: float | None
    """None if the row could not run, or was not reached."""

    @property
    def error(self) -> float | None:
        """Simulated over measured, less 1."""
        return None if self.simulated is None else self.simulated / self.measured - 1


@dataclass(frozen=True)
class Plan:
    """A checked plan for a fit; all cases can run."""

    bench: Bench
    free: tuple[Free, ...]
    rows: Rows
    seed: int
    jobs: int | None
    budget: int
    notes: tuple[str, ...] = ()
    """Notes about the rows for the user."""

    @property
    def fitted(self) -> list[Case]:
        """Cases with a row to fit."""
        return [case for case in self.rows.cases if any(_counts(row) for row in case.rows)]

    @property
    def others(self) -> list[Case]:
        """Cases whose rows are all held out."""
        return [
            case
            for case in self.rows.cases
            if case not in self.fitted and any(row.measured for row in case.rows)
        ]


def _counts(row: Row) -> bool:
    return bool(row.measured) and not row.hold_out


@dataclass(frozen=True)
class Calibration:
    """A calibration's outcome."""

    plan: Plan
    best: Measured
    values: tuple[float, ...]
    """A value for each free number."""
    sets: tuple[str, ...]
    """Overrides for an experiment."""
    lines: tuple[Line, ...]
    """Figures for the fitted rows."""
    predicted: tuple[Line, ...]
    """Figures for the held-out rows."""
    known: Known | None
    """None if the calibration stopped earlier."""
    spent: int
    """Parameter sets the search measured."""
    stopped: bool

    @property
    def sentences(self) -> list[str]:
        """Notes about the numbers: some at an end of their range, some no row determines."""
        found = [
            f"{free.key} ended at {value:g}, an end of its range: a wider range may fit better."
            for free, value in zip(self.plan.free, self.values, strict=True)
            if value in (free.low, free.high)
        ]
        if self.known is None:
            return found
        flat = [each.sentence for each in self.known.flat]
        return found + (flat or ["The rows tell all free numbers apart."])


def plan(  # noqa: PLR0913 - one for each option
    experiment: Experiment,
    free: Mapping[str, str],
    measured: Sequence[str | os.PathLike[str]] = (),
    fio: Sequence[str | os.PathLike[str]] = (),
    hold_out: Sequence[str] = (),
    seed: int = 1,
    jobs: int | None = None,
    budget: int = BUDGET,
    requests: int = REQUESTS,
) -> Plan:
    """Reads everything and checks it, before anything runs.

    Args:
        experiment: The device, the FTL and the preconditioning; the rows replace its workload.
        free: A range such as "40..80", by device key.
        measured: Tables with rows (docs/calibrating.md has the columns).
        fio: Output files by fio with `--output-format=json`.
        hold_out: Rows to predict and not fit: name patterns, or a share such as "25%".
        seed: Seed for the search, and for the share held out.
        jobs: Runs at once; one for each processor by default. It changes no result.
        budget: Most parameter sets to measure.
        requests: Requests in a row.

    Raises:
        ConfigError: With the file or the key, and the allowed values.
        NandlabError: scipy is not installed.
        OSError: A file cannot be read.

    """
    require_scipy()
    files = [os.fspath(path) for path in (*measured, *fio)]
    if not files:
        raise ConfigError("there are no measured rows: give a table with --measured, or --fio result.json")
    notes: list[str] = []
    cases = [case for path in measured for case in read_csv(path, notes.append)] + [
        case for path in fio for case in read_fio(path, notes.append)
    ]
    bench = bench_of(experiment, requests)
    rows = _held(together(cases, files), hold_out, seed)
    found = Plan(bench, tuple(free_of(bench, free)), rows, seed, jobs, budget, tuple(notes))
    for case in rows.cases:
        bench.of(case)
    if (unmet := _without_energy(found)) is not None:
        found = replace(found, notes=(*found.notes, unmet))
    figures = sum(len(row.measured) for row in rows.rows if not row.hold_out)
    if figures == 0:
        raise ConfigError("every row is held out: nothing is left to fit")
    if figures < len(found.free):
        raise ConfigError(
            f"{len(found.free)} numbers are free, and the rows to fit have {figures} figures: "
            "free fewer numbers"
        )
    return found


def _without_energy(plan: Plan) -> str | None:
    """A sentence if an energy is free and no row to fit has one; None else."""
    keys = [free.key for free in plan.free if free.key.startswith("device.energy.")]
    if not keys or any(set(row.measured) & set(ENERGY) for row in plan.rows.rows if not row.hold_out):
        return None
    return f"no row has energy_j or power_w: nothing tells {' and '.join(keys)}"


def _held(rows: Rows, hold_out: Sequence[str], seed: int) -> Rows:
    """All rows, with the held-out ones marked."""
    names = [row.name for row in rows.rows]
    held = {row.name for row in rows.rows if row.hold_out}
    for pattern in hold_out:
        share = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", pattern)
        if share is not None:
            count = round(len(names) * float(share[1]) / 100)
            held |= set(random.Random(seed).sample(names, min(count, len(names))))  # noqa: S311 - no secret
            continue
        found = fnmatch.filter(names, pattern)
        if not found:
            raise ConfigError(f"--hold-out {pattern}: no row has such a name; there are {', '.join(names)}")
        held |= set(found)
    cases = (Case(tuple(replace(row, hold_out=row.name in held) for row in case.rows)) for case in rows.cases)
    return replace(rows, cases=tuple(cases))


def calibrate(plan: Plan, progress: Progress | None = None) -> Calibration | None:
    """Fits the free numbers, predicts the held-out rows, and finds numbers the rows do not determine.

    Returns:
        The calibration; after Ctrl-C with the best set until then, and None if no set was measured.

    Raises:
        ConfigError: A row cannot run.

    """
    wanted = Search(plan.bench, plan.free, plan.fitted, plan.budget, plan.seed, plan.jobs, progress)
    stopped, known = False, None
    try:
        best = search(wanted)
        spent = wanted.spent
        known = known_of(wanted, best)
        stopped = known is None
    except Stopped:
        if wanted.best is None:
            return None
        best, stopped, spent = wanted.best, True, wanted.spent
    sets = tuple(wanted.sets(best.places))
    fitted = _figures(plan.fitted, best.figures)
    others: list[tuple[Figures, ...] | None] = [None] * len(plan.others)
    if not stopped:
        others, stopped = _predict(plan, sets)
    predicted = fitted | _figures(plan.others, others)
    return Calibration(
        plan=plan,
        best=best,
        values=tuple(wanted.values(best.places)),
        sets=sets,
        lines=tuple(_lines(plan, predicted, False)),
        predicted=tuple(_lines(plan, predicted, True)),
        known=known,
        spent=spent,
        stopped=stopped,
    )


def _predict(plan: Plan, sets: Sequence[str]) -> tuple[list[tuple[Figures, ...] | None], bool]:
    """Figures for the held-out rows, and whether Ctrl-C came."""
    outcomes, stopped = run_all([plan.bench.of(case, sets) for case in plan.others], plan.jobs)
    found: list[tuple[Figures, ...] | None] = []
    for case, outcome in zip(plan.others, outcomes, strict=True):
        try:
            found.append(None if outcome.result is None else tuple(figures_of(case, outcome.result)))
        except Unusable:
            found.append(None)
    return found, stopped


def _figures(cases: Sequence[Case], figures: Sequence[Sequence[Figures] | None]) -> dict[str, Figures]:
    """A run's figures by row."""
    return {
        row.name: each
        for case, given in zip(cases, figures, strict=True)
        if given is not None
        for row, each in zip(case.rows, given, strict=True)
    }


def _lines(plan: Plan, figures: Mapping[str, Figures], held: bool) -> list[Line]:
    return [
        Line(row, figure, row.measured[figure], figures.get(row.name, {}).get(figure))
        for row in plan.rows.rows
        if row.hold_out == held
        for figure in ACCURACY
        if figure in row.measured
    ]
