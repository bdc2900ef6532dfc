"""Several experiments at once, on as many processors as there are."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from nandlab._native import DeviceFull, NandlabError
from nandlab.experiment import Experiment
from nandlab.experiment.result import Result
from nandlab.experiment.run import POLL_S, STOP_S, Run


@dataclass(frozen=True)
class Outcome:
    """What became of an experiment: a result, or the error that ended it; neither if it never started.

    A device that wore out gives both: the error, and what was measured until then.
    """

    result: Result | None = None
    error: NandlabError | None = None


@dataclass(frozen=True)
class Stage:
    """Where a run is: its phase, the requests done in it and in all, and the share of all phases done."""

    phase: str
    done: int
    total: int
    share: float | None


@dataclass(frozen=True)
class State:
    """Where a batch stands: experiments done, and where each one is that runs."""

    finished: int
    running: dict[int, Stage]
    total: int

    def share(self) -> float:
        """Part of the batch that is done, 0 to 1, each experiment counting alike."""
        parts = (stage.share or 0.0 for stage in self.running.values())
        return (self.finished + sum(parts)) / self.total if self.total else 1.0


def processors() -> int:
    """Processors that this process may use; not every system tells."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_all(
    experiments: Sequence[Experiment],
    jobs: int | None = None,
    progress: Callable[[State], object] | None = None,
    op_log: str | None = None,
    save_state: str | None = None,
) -> tuple[list[Outcome], bool]:
    """Runs every experiment; outcomes come in the order of `experiments`, whatever order they end in.

    Args:
        experiments: What to run.
        jobs: How many run at once; one for each processor by default, and one in a real directory.
        progress: Called some times a second.
        op_log: A CSV file for the flash operations; for a single experiment only.
        save_state: A file for the device after its preconditioning; for a single experiment only.

    Returns:
        The outcomes, and whether Ctrl-C stopped the batch: what ran then has a partial result.

    """
    if (op_log is not None or save_state is not None) and len(experiments) != 1:
        raise ValueError("an operation log and a state belong to a single experiment")
    jobs = jobs or processors()
    outcomes = [Outcome() for _ in experiments]
    waiting = list(range(len(experiments)))
    running: dict[int, Run] = {}
    directories = [directory_of(experiment) for experiment in experiments]
    try:
        while waiting or running:
            while len(running) < jobs and (at := _startable(waiting, running, directories)) is not None:
                waiting.remove(at)
                try:
                    running[at] = experiments[at].start(op_log, save_state)
                except NandlabError as error:
                    outcomes[at] = Outcome(error=error)
            _collect(running, outcomes, POLL_S)
            if progress is not None:
                states = {at: Stage(*run.progress(), run.share()) for at, run in running.items()}
                done = len(experiments) - len(waiting) - len(running)
                progress(State(done, states, len(experiments)))
    except KeyboardInterrupt:
        _stop(running, outcomes)
        return outcomes, True
    return outcomes, False


def directory_of(experiment: Experiment) -> str | None:
    """The real directory of an experiment; None without one, or where it cannot run, which its run says."""
    try:
        return experiment.directory()
    except NandlabError:
        return None


def _startable(
    waiting: Sequence[int], running: Mapping[int, Run], directories: Sequence[str | None]
) -> int | None:
    """The first experiment that waits for no other: two in the same directory run one after the other."""
    taken = {directories[at] for at in running} - {None}
    return next((at for at in waiting if directories[at] not in taken), None)


def _collect(running: dict[int, Run], outcomes: list[Outcome], seconds: float) -> None:
    """Waits at most `seconds` for the first of `running`, and takes in all that have ended."""
    for at, run in list(running.items()):
        if run.wait(seconds):
            outcomes[at] = _outcome(run)
            del running[at]
        seconds = 0.0


def _outcome(run: Run) -> Outcome:
    try:
        return Outcome(result=run.result())
    except DeviceFull as error:
        return Outcome(result=error.result, error=error)
    except NandlabError as error:
        return Outcome(error=error)


def _stop(running: dict[int, Run], outcomes: list[Outcome]) -> None:
    for run in running.values():
        run.cancel()
    end = time.monotonic() + STOP_S
    try:
        _collect_until(end, running, outcomes)
    except KeyboardInterrupt:
        # What is in a real directory is not left there for one more Ctrl-C.
        _collect_until(end, running, outcomes)
        raise


def _collect_until(end: float, running: dict[int, Run], outcomes: list[Outcome]) -> None:
    """Takes in what ends before `end`, and waits for those that remove what they made."""
    while running and (time.monotonic() < end or any(run.cleans_up() for run in running.values())):
        _collect(running, outcomes, POLL_S)
