"""Why a run cost so much, and the one change to help most: measured, not guessed."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nandlab._native import ConfigError, NandlabError, version
from nandlab.experiment import BUNDLED, Experiment
from nandlab.experiment.result import Result
from nandlab.explaining.case import Case, Measure, case_of, cost_of
from nandlab.explaining.change import LEAST_GAIN
from nandlab.explaining.changes import Change, changes
from nandlab.explaining.optimum import is_in_vain, told
from nandlab.optimum import Optimum, optima
from nandlab.running.batch import Outcome, Stage, State, run_all

TRIES = 4
"""Most changes to run by default."""
Progress = Callable[[str, Stage | None], object]
"""Called a few times a second with the change under test, and the run's stage."""


@dataclass(frozen=True)
class Trial:
    """A change that ran, or could not."""

    change: Change
    result: Result | None
    error: str | None
    """Why there is no result."""
    gain: float | None
    """The share it saved; negative if it cost more."""

    def __repr__(self) -> str:
        came_to = self.error if self.gain is None else f"gain {self.gain:.1%}"
        return f"<Trial {self.change.what}: {came_to}>"


@dataclass(frozen=True)
class Explanation:
    """A run's time and erases by cause, and the effect of changes."""

    case: Case
    changes: list[Change]
    """Changes that could help, the most promising first."""
    trials: list[Trial]
    """Changes that ran, in this order."""
    notes: list[str]
    """Notes about it, in sentences."""
    stopped: bool = False
    """Whether somebody stopped a run."""
    optimum: Optimum | str | None = None
    """The best placement known, or why there is none in a sentence; None if nobody asked."""

    @property
    def above_optimum(self) -> float | None:
        """How far the write amplification is above the best placement known: 0.5 is 50 % more."""
        if self.optimum is None or isinstance(self.optimum, str):
            return None
        return self.optimum.above(self.case.result.waf)

    @property
    def best(self) -> Trial | None:
        """The change that saved most; None if none saved enough to matter."""
        gains = [each for each in self.trials if each.gain is not None and each.gain >= LEAST_GAIN]
        return max(gains, key=lambda each: each.gain or 0.0, default=None)

    def __repr__(self) -> str:
        best = "no change helped" if self.best is None else f"best {self.best!r}"
        told = "no change was run" if not self.trials else best
        return f"<Explanation of {self.case.result!r}, less {self.case.measure}: {told}>"

    def text(self) -> str:
        """The explanation in words."""
        from nandlab.explaining.words import text

        return text(self)

    def to_dict(self) -> dict[str, Any]:
        """The explanation as JSON data."""
        from nandlab.explaining.words import document

        return document(self)


def explain(  # noqa: PLR0913 - one for each option of the command
    result: Result | Mapping[str, Any],
    *,
    base: str | os.PathLike[str] | None = None,
    less: Measure | None = None,
    tries: int = TRIES,
    name: str = "the record",
    progress: Progress | None = None,
    allow_code: bool = False,
    optimum: bool = False,
) -> Explanation:
    """Says why a run took its time and erases, and runs the most promising changes.

    Candidates follow from the shares in the record: the time on all dies, or the erases, spent
    on a change's cause. They run one after the other, the largest share first, until the
    saving is at least what the next could save, or `tries` have run. The best one saved most.

    Args:
        result: A result, or the record printed by `nandlab run --json`.
        base: Start for relative paths in its experiment; by default the experiment's own folder if this
            process ran it, else the current one.
        less: The cost to reduce: "time" or "erases"; by default time, or erases if no time was kept.
        tries: Most changes to run; 0: none.
        name: The record's name in errors.
        progress: Called a few times a second.
        allow_code: Whether policies in Python may run that its experiment names.
        optimum: Run placements that know the future first. A change of the placement or of the victims that
            could save no more than the best of them is left out then.

    Raises:
        ConfigError: It is no record of a run, or its trace is not below `base`.

    >>> import nandlab
    >>> experiment = nandlab.Experiment(
    ...     workload=nandlab.workload.uniform(requests=40_000),
    ...     ftl=nandlab.ftl.page(),
    ...     device=nandlab.Device(capacity="32 MiB", over_provisioning=0.1),
    ... )
    >>> found = nandlab.explain(experiment.run())
    >>> found.best.change.what, round(found.best.gain, 2)
    ('over-provisioning from 10.9 % to 21.9 %', 0.4)

    """
    record = result.to_dict() if isinstance(result, Result) else result
    _refuse_without_flash(record, name)
    if base is None:
        base = (result.folder if isinstance(result, Result) else None) or "."
    case = case_of(record, less, name)
    found = _changes(case, name)
    notes = _notes(case)
    best: Optimum | str | None = None
    if optimum and not case.result.partial:
        best, stopped = _optimum(case, _experiment(case, base, name, allow_code), progress)
        if stopped:
            return Explanation(case, found, [], notes, True)
        notes.append(told(best, case.result.waf))
        found = [change for change in found if not is_in_vain(change, best, case.result.waf)]
    if case.result.partial or not found or tries == 0:
        return Explanation(case, found, [], notes, False, best)
    experiment = _experiment(case, base, name, allow_code)
    trials, stopped = _tried(case, experiment, found, tries, progress, notes)
    return Explanation(case, found, trials, notes, stopped, best)


def _optimum(case: Case, experiment: Experiment, progress: Progress | None) -> tuple[Optimum | str, bool]:
    """The best placement known for a run; and whether somebody stopped it."""

    def show(state: State) -> None:
        if progress is not None:
            stage = next(iter(state.running.values()), None)
            progress(f"placement {state.finished + 1} of {state.total} that knows the future", stage)

    (found,), stopped = optima([(experiment, case.result)], progress=show)
    return found, stopped


def _refuse_without_flash(record: Mapping[str, Any], name: str) -> None:
    device = record.get("device")
    if isinstance(device, Mapping) and device.get("blocks") == 0:
        raise ConfigError(
            f"{name} is of a run in a real directory: there was no flash, and so nothing to explain; with "
            "[fs.fat] and an FTL, or with [fs.yaffs] or [fs.minv], there is"
        )


def _changes(case: Case, name: str) -> list[Change]:
    """Changes that could help; anything missing in a record shows here."""
    from nandlab.explaining.words import where

    try:
        where(case)
        case.cost + case.idle  # noqa: B018 - asked whether they are there
        found = changes(case)
        erases = sum(cell.erases for cell in case.result.matrix)
        busy_us = sum(cell.busy_us for cell in case.result.matrix)
        if abs(erases - case.result.flash.erases) > 0.5 or not math.isclose(
            busy_us, case.result.busy_us, rel_tol=1e-3, abs_tol=1.0
        ):
            raise ValueError("its matrix does not sum to its counts")
        return found
    except (KeyError, AttributeError, TypeError, ValueError, ArithmeticError) as error:
        raise ConfigError(f"{name} is no whole record of a run ({type(error).__name__}: {error})") from None


def _notes(case: Case) -> list[str]:
    if not case.result.partial:
        return []
    stopped = case.result.stopped
    why = "" if stopped is None else f" ({stopped.message})"
    return [
        f"The run was stopped before its end{why}: no change was run, since what it costs would not compare."
    ]


def _experiment(case: Case, base: str | os.PathLike[str], name: str, allow_code: bool) -> Experiment:
    """A record's experiment, whose files must be there."""
    experiment = Experiment(base=base, allow_code=allow_code, **case.experiment)
    missing = [path for path in experiment.inputs() if not path.is_file()]
    if missing:
        raise ConfigError(
            f"{name} is of an experiment that reads {missing[0]}, and there is no such file; --base names "
            "the folder of the experiment, from which its paths start"
        )
    return experiment


def _tried(  # noqa: PLR0913 - what a trial needs
    case: Case,
    experiment: Experiment,
    found: list[Change],
    tries: int,
    progress: Progress | None,
    notes: list[str],
) -> tuple[list[Trial], bool]:
    """The changes that ran, and whether somebody stopped them."""
    before = case.cost
    if case.result.version != version():
        outcome, stopped = _run(experiment, "the run itself", progress)
        if stopped:
            return [], True
        if outcome.result is None or outcome.result.partial:
            raise NandlabError(f"the experiment does not run any more: {outcome.error}")
        before = cost_of(outcome.result, case.measure)
        notes.append(
            f"The record is of nandlab {case.result.version}; the gains are against the same experiment with "
            f"{version()}."
        )
    trials: list[Trial] = []
    best = LEAST_GAIN
    for change in found:
        if best >= change.share or len(trials) == tries:
            break
        outcome, stopped = _run(experiment.override(*change.sets), change.what, progress)
        if stopped:
            return trials, True
        trials.append(_trial(case, change, outcome, before))
        best = max(best, trials[-1].gain or 0.0)
    return trials, False


def _run(experiment: Experiment, what: str, progress: Progress | None) -> tuple[Outcome, bool]:
    try:
        # Whether the change can be made at all.
        experiment.resolve()
    except ConfigError as error:
        return Outcome(error=error), False

    def show(state: Any) -> None:  # noqa: ANN401 - a State
        if progress is not None:
            progress(what, next(iter(state.running.values()), None))

    (outcome,), stopped = run_all([experiment], progress=show)
    return outcome, stopped


def _trial(case: Case, change: Change, outcome: Outcome, before: float) -> Trial:
    result = outcome.result
    if result is None or result.partial:
        return Trial(change, None, str(outcome.error or "it was stopped"), None)
    after = cost_of(result, case.measure)
    return Trial(change, result, None, 1 - after / before if before else 0.0)


def folder_of(record: Mapping[str, Any], path: str) -> str:
    """The folder for a record's relative paths, as far as can be told.

    The record does not say; candidates are its own folder, the current one, and `experiments` in each.
    """
    given = Path(path).parent
    try:
        names = [table.get("path") for table in record["experiment"]["workload"].values()]
    except (KeyError, AttributeError, TypeError):
        # It is no record; another check says so.
        return str(given)
    for place in (given, Path(), given / "experiments", Path("experiments")):
        paths = [name for name in names if isinstance(name, str) and not name.startswith(BUNDLED)]
        if all((place / path).is_file() for path in paths):
            return str(place)
    return str(given)


__all__ = ["Change", "Explanation", "Trial", "explain", "folder_of"]
