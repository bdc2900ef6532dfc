"""Why a run cost what it did, and which one change would help most: measured, not guessed."""

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
from nandlab.running.batch import Outcome, Stage, run_all

TRIES = 4
"""Changes that are run at most, unless told."""
Progress = Callable[[str, Stage | None], object]
"""Called some times a second with what is run, and where that run is."""


@dataclass(frozen=True)
class Trial:
    """A change that was run, or could not be."""

    change: Change
    result: Result | None
    error: str | None
    """Why there is no result."""
    gain: float | None
    """The part of what is measured that it saved; negative where it cost more."""

    def __repr__(self) -> str:
        came_to = self.error if self.gain is None else f"gain {self.gain:.1%}"
        return f"<Trial {self.change.what}: {came_to}>"


@dataclass(frozen=True)
class Explanation:
    """Where time and erases of a run went, and what a change does about it."""

    case: Case
    changes: list[Change]
    """What could help, what promises most first."""
    trials: list[Trial]
    """Those of them that were run, in this order."""
    notes: list[str]
    """What there is to know about it, in sentences."""
    stopped: bool = False
    """Whether somebody stopped a run."""

    @property
    def best(self) -> Trial | None:
        """The change that saved most; None where none saved enough to make a difference."""
        gains = [each for each in self.trials if each.gain is not None and each.gain >= LEAST_GAIN]
        return max(gains, key=lambda each: each.gain or 0.0, default=None)

    def __repr__(self) -> str:
        best = "no change helped" if self.best is None else f"best {self.best!r}"
        told = "no change was run" if not self.trials else best
        return f"<Explanation of {self.case.result!r}, less {self.case.measure}: {told}>"

    def text(self) -> str:
        """All of it in words."""
        from nandlab.explaining.words import text

        return text(self)

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON has it."""
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
) -> Explanation:
    """Says where time and erases of a run went, and runs the changes that promise most.

    Candidates follow from the shares of the record: what the cause of a change took, of the time of all dies
    or of the erases. They are run one after the other, the largest share first, until what was saved is at
    least what the next could save, or `tries` were run. The best of them is the one that saved most.

    Args:
        result: A result, or the record that `nandlab run --json` printed.
        base: The folder that relative paths in its experiment start from; that of the experiment where this
            process ran it, or else the current one.
        less: What is to be less: "time" or "erases"; the time unless given, or erases where none was kept.
        tries: Changes that are run at most; 0: none.
        name: What errors call the record.
        progress: Called some times a second.

    Raises:
        ConfigError: It is no record of a run, or its trace is not where `base` says.

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
    if case.result.partial or not found or tries == 0:
        return Explanation(case, found, [], notes)
    experiment = _experiment(case, base, name)
    trials, stopped = _tried(case, experiment, found, tries, progress, notes)
    return Explanation(case, found, trials, notes, stopped)


def _refuse_without_flash(record: Mapping[str, Any], name: str) -> None:
    device = record.get("device")
    if isinstance(device, Mapping) and device.get("blocks") == 0:
        raise ConfigError(
            f"{name} is of a run in a real directory: there was no flash, and so nothing to explain; with "
            "[fs.fat] and an FTL, or with [fs.yaffs] or [fs.minv], there is"
        )


def _changes(case: Case, name: str) -> list[Change]:
    """What could help; whatever a record lacks shows here."""
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


def _experiment(case: Case, base: str | os.PathLike[str], name: str) -> Experiment:
    """The experiment of a record, whose files must be there."""
    experiment = Experiment(base=base, **case.experiment)
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
    """The changes that were run, and whether somebody stopped that."""
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
    """The folder from which the paths of a record's experiment start, as far as can be told.

    The record does not say; its own folder is tried, the current one, and `experiments` in them.
    """
    given = Path(path).parent
    try:
        names = [table.get("path") for table in record["experiment"]["workload"].values()]
    except (KeyError, AttributeError, TypeError):
        # No record, which is said elsewhere.
        return str(given)
    for place in (given, Path(), given / "experiments", Path("experiments")):
        paths = [name for name in names if isinstance(name, str) and not name.startswith(BUNDLED)]
        if all((place / path).is_file() for path in paths):
            return str(place)
    return str(given)


__all__ = ["Change", "Explanation", "Trial", "explain", "folder_of"]
