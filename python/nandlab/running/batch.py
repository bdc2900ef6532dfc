"""Several experiments at once, on as many processors as there are."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from nandlab._native import DeviceFull, NandlabError
from nandlab.experiment import Experiment
from nandlab.experiment.result import Result
from nandlab.experiment.run import POLL_S, STOP_S, Run


class Outcome(NamedTuple):
    """An experiment's outcome: a result, or the error that ended it; neither if it never started.

    A worn-out device gives both: the error, and the figures until then.
    """

    result: Result | None = None
    error: NandlabError | None = None


class Stage(NamedTuple):
    """A run's state: its phase, the requests done and total in it, and the share done over all phases."""

    phase: str
    done: int
    total: int
    share: float | None


class State(NamedTuple):
    """A batch's state: experiments done, and each running one's stage."""

    finished: int
    running: dict[int, Stage]
    total: int

    def share(self) -> float:
        """The share done, 0 to 1; each experiment counts alike."""
        parts = (stage.share or 0.0 for stage in self.running.values())
        return (self.finished + sum(parts)) / self.total if self.total else 1.0


def processors() -> int:
    """Processors this process may use; not every system tells."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_all(  # noqa: PLR0913 - what a run may write
    experiments: Sequence[Experiment],
    jobs: int | None = None,
    progress: Callable[[State], object] | None = None,
    op_log: str | None = None,
    save_state: str | None = None,
    timeline: tuple[str, str | None] | None = None,
    ended: Callable[[int, Outcome], object] | None = None,
) -> tuple[list[Outcome], bool]:
    """Runs every experiment; outcomes come in the order of `experiments`, whatever order they end in.

    Args:
        experiments: The experiments.
        jobs: Runs at once; one for each processor by default, and one in a real directory.
        progress: Called a few times a second.
        op_log: A CSV file for the flash operations; for a single experiment only.
        save_state: A file for the device after preconditioning; for a single experiment only.
        timeline: A file for the timeline and its window; for a single experiment only.
        ended: Called with the place and outcome of each experiment that ran to its end. An error in it ends
            the batch.

    Returns:
        The outcomes, and whether Ctrl-C stopped the batch: running experiments then have a partial result.

    """
    outputs = (op_log, save_state, timeline)
    if any(one is not None for one in outputs) and len(experiments) != 1:
        raise ValueError("an operation log, a state and a timeline belong to a single experiment")
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
                    running[at] = experiments[at].start(op_log, save_state, *(timeline or ()))
                except NandlabError as error:
                    outcomes[at] = Outcome(error=error)
            under_way = list(running)
            _collect(running, outcomes, POLL_S)
            if ended is not None:
                for at in [at for at in under_way if at not in running]:
                    ended(at, outcomes[at])
            if progress is not None:
                states = {at: Stage(*run.progress(), run.share()) for at, run in running.items()}
                done = len(experiments) - len(waiting) - len(running)
                progress(State(done, states, len(experiments)))
    except KeyboardInterrupt:
        _stop(running, outcomes)
        return outcomes, True
    except OSError:
        _stop(running, outcomes)
        raise
    return outcomes, False


def directory_of(experiment: Experiment) -> str | None:
    """An experiment's real directory; None without one, or if it cannot run: its run reports it."""
    try:
        return experiment.directory()
    except NandlabError:
        return None


def _startable(
    waiting: Sequence[int], running: Mapping[int, Run], directories: Sequence[str | None]
) -> int | None:
    """The first experiment free to start: two in the same directory run one after the other."""
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
        # One more Ctrl-C must not leave files in a real directory.
        _collect_until(end, running, outcomes)
        raise


def _collect_until(end: float, running: dict[int, Run], outcomes: list[Outcome]) -> None:
    """Takes in runs that end before `end`, and waits for runs that remove their files."""
    while running and (time.monotonic() < end or any(run.cleans_up() for run in running.values())):
        _collect(running, outcomes, POLL_S)
