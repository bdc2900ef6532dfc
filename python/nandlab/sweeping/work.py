"""How a worker runs a point, in any thread, process or machine."""

from __future__ import annotations

import json
import pickle
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, MutableSequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from nandlab._native import ConfigError, NandlabError, SharedTraces, TraceError
from nandlab.experiment import Experiment
from nandlab.experiment.run import POLL_S
from nandlab.one_line import one_line

ASK_CLUSTER_S = 0.5
"""How often a cluster's worker asks whether to stop: each time is a message."""


class Signal(Protocol):
    """The stop signal for a sweep: an event for threads, processes, or a cluster."""

    def is_set(self) -> bool:
        """Whether it is to stop."""


@dataclass(frozen=True)
class Channel:
    """How a worker hears the stop signal, and reports each point's progress."""

    stop: Signal
    shares: MutableSequence[float]
    """The share done for each point, 0 to 1; empty if nobody asks."""
    folder: Path | None = None
    """Folder for records. A record is too long for one write into a pipe: if its process is killed halfway,
    the reader waits for the rest for ever. A short answer arrives whole or not at all."""

    def tell(self, at: int, share: float | None) -> None:
        """Reports a point's progress."""
        if share is not None and at < len(self.shares):
            self.shares[at] = share


@dataclass(frozen=True)
class Flag:
    """An event for processes without a lock: a process killed while it asks would keep the lock."""

    raw: Any
    """A byte they share."""

    def set(self) -> None:
        """Sets it for all processes."""
        self.raw.value = 1

    def is_set(self) -> bool:
        """Whether one of them has set it."""
        return bool(self.raw.value)


CHANNELS: dict[str, Channel] = {}
"""This process's sweeps, by their token."""

RESIDENT = ExitStack()
"""What a worker process keeps until it ends."""


@dataclass(frozen=True)
class Task:
    """A point to run: its place in the sweep, its experiment, and its sweep's token."""

    at: int
    experiment: Experiment
    token: str
    sent: Sent | None = None
    """What a worker on a cluster needs besides."""

    @property
    def on_cluster(self) -> bool:
        """Whether a cluster runs it."""
        return self.sent is not None


@dataclass(frozen=True)
class Sent:
    """An experiment's files, by path with the digest that each has where the sweep is; and its policies."""

    files: Mapping[str, str]
    policies: bytes

    @classmethod
    def of(cls, experiment: Experiment) -> Sent:
        """Policies go by value, with the code of their modules: a worker may have none of these.

        Raises:
            ConfigError: A policy cannot be pickled.

        """
        import cloudpickle

        objects = experiment.policies()
        names = {type(each).__module__ for each in objects.values()} - {"__main__"}
        modules = [
            sys.modules[name] for name in names if name in sys.modules and "nandlab" not in name.split(".")
        ]
        for module in modules:
            cloudpickle.register_pickle_by_value(module)
        try:
            refuse_unpicklable(experiment, cloudpickle.dumps)
            return cls(experiment.digests(), cloudpickle.dumps(objects))
        finally:
            for module in modules:
                cloudpickle.unregister_pickle_by_value(module)

    def refuse_other_files(self, experiment: Experiment) -> None:
        """Refuses a worker whose files are others.

        Raises:
            ConfigError: A file is missing here, or is another one.

        """
        here = experiment.digests()
        for path, digest in self.files.items():
            if digest and here.get(path) != digest:
                what = "is another file" if here.get(path) else "is not there"
                raise ConfigError(
                    f"{path} {what} on the worker {socket.gethostname()}: the machines of a cluster read "
                    "files from the same path as the machine of the sweep"
                )


def refuse_unpicklable(experiment: Experiment, dumps: Callable[[object], bytes] = pickle.dumps) -> None:
    """Refuses a policy that cannot go to another process, before any does.

    Raises:
        ConfigError: With its class.

    """
    for each in experiment.policies().values():
        try:
            dumps(each)
        except (Exception, RecursionError) as error:
            of = f"{type(each).__module__}:{type(each).__qualname__}"
            raise ConfigError(f"policy {of} cannot go to another process: {one_line(str(error))}") from None


@dataclass(frozen=True)
class Done:
    """A point's outcome: its record without `speed`, or an error; neither if it was stopped."""

    at: int
    record: dict[str, Any] | None = None
    error: str | None = None
    kind: Literal["", "input", "run"] = ""
    """The error's kind: wrong input, or a failed run."""
    file: Path | None = None
    """The record's file, on its way from a process."""

    def fetched(self) -> Done:
        """With its record."""
        if self.file is None:
            return self
        return Done(self.at, record=pickle.loads(self.file.read_bytes()))  # noqa: S301 - a worker of ours wrote it


def run_task(task: Task) -> Done:
    """Runs a point to its end, or until its sweep is stopped."""
    stopped = _stopped(task)
    channel = CHANNELS.get(task.token)
    try:
        if stopped():
            return Done(task.at)
        run = _experiment(task).start()
        while not run.wait(POLL_S):
            if stopped():
                run.cancel()
                return Done(task.at)
            if channel is not None:
                channel.tell(task.at, run.share())
        result = run.partial_result()
    except NandlabError as error:
        kind = "input" if isinstance(error, ConfigError | TraceError) else "run"
        return Done(task.at, error=str(error), kind=kind)  # type: ignore[arg-type] # one of both
    # A worn-out device gives a result like any other; `stopped` says so.
    record = result.without_speed()
    if channel is None or channel.folder is None:
        return Done(task.at, record=record)
    file = channel.folder / str(task.at)
    file.write_bytes(pickle.dumps(record))
    return Done(task.at, file=file)


def _experiment(task: Task) -> Experiment:
    if task.sent is None:
        return task.experiment
    experiment = task.experiment.with_policies(pickle.loads(task.sent.policies))  # noqa: S301 - the sweep wrote it
    task.sent.refuse_other_files(experiment)
    return experiment


def _stopped(task: Task) -> Callable[[], bool]:
    """Says whether a task's sweep is to stop."""
    if task.on_cluster:
        return _AskedNowAndThen(task.token)
    channel = CHANNELS.get(task.token)
    return (lambda: False) if channel is None else channel.stop.is_set


class _AskedNowAndThen:
    """A cluster's event, asked only now and then."""

    def __init__(self, token: str) -> None:
        from distributed import Event

        self._event = Event(token)
        self._next = 0.0

    def __call__(self) -> bool:
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + ASK_CLUSTER_S
        return bool(self._event.is_set())


def begin(token: str, stop: Signal, shares: MutableSequence[float], folder: Path, patience_s: float) -> None:
    """Makes a process a worker of one sweep: it ends with it, and with the process that started it."""
    import multiprocessing

    CHANNELS[token] = Channel(stop, shares, folder)
    # The process ends with the sweep.
    RESIDENT.enter_context(SharedTraces())
    parent = multiprocessing.parent_process()
    threading.Thread(target=_end_with, args=(parent, stop, patience_s), daemon=True).start()


def _end_with(parent: Any, stop: Signal, patience_s: float) -> None:  # noqa: ANN401 - a process of multiprocessing
    import os

    while parent is None or parent.is_alive():
        if stop.is_set():
            # What does not answer until then waits for a disk.
            time.sleep(patience_s)
            os._exit(1)
        time.sleep(POLL_S)
    os._exit(1)


def as_json(record: dict[str, Any]) -> str:
    """A record as text: equal for equal records."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))
