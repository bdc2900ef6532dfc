"""Engines for points: threads, processes or a cluster, all behind `concurrent.futures.Executor`."""

from __future__ import annotations

import contextlib
import logging
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, MutableSequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from nandlab._native import ConfigError, NandlabError, SharedTraces
from nandlab.experiment.run import STOP_S
from nandlab.sweeping.signals import deaf_children
from nandlab.sweeping.work import CHANNELS, Channel, Flag, begin

NAMES = ("threads", "processes", "dask")
CONNECT_S = 10.0
GOODBYE_S, HURRY_S = 5.0, 0.2
"""How long to wait for a cluster's end; in a hurry, for each message to it."""


@dataclass
class Engine:
    """An executor, and a way to stop its workers."""

    executor: Executor
    token: str
    stop: Any
    """An event: `set()` tells every worker to stop."""
    on_cluster: bool = False
    shares: MutableSequence[float] = field(default_factory=list)
    """Each point's progress, if the workers report it."""
    is_there: Callable[[], bool] = lambda: True
    """Whether the workers can still be heard: a lost cluster's futures may stay open for ever."""
    by_pickle: bool = False
    """Whether points go to other processes by pickle."""
    hurried: bool = False
    """Whether the sweep was stopped, and somebody waits for its end."""

    def halt(self) -> None:
        """Tells every worker to stop, and that somebody waits."""
        self.hurried = True
        _within(HURRY_S, self.stop.set)


def check_name(name: str) -> None:
    """Refuses names of no executor.

    Raises:
        ConfigError: With the nearest name.
        NandlabError: dask.distributed is not installed.

    >>> check_name("processes")
    >>> check_name("thread")
    Traceback (most recent call last):
    ...
    nandlab._native.ConfigError: 'thread' is no executor; did you mean threads?

    """
    kind, separator, address = name.partition("=")
    if kind not in NAMES:
        import difflib

        near = difflib.get_close_matches(kind, NAMES, 1)
        hint = f"did you mean {near[0]}?" if near else "there are threads, processes and dask[=ADDRESS]"
        raise ConfigError(f"{name!r} is no executor; {hint}")
    if separator and kind != "dask":
        raise ConfigError(f"{name!r}: {kind} have no address; dask=ADDRESS has one")
    if separator and not address:
        raise ConfigError(f"{name!r}: expected the address of a scheduler, as in dask=tcp://host:8786")
    if kind == "dask":
        import importlib.util

        if importlib.util.find_spec("distributed") is None:
            raise NandlabError("the executor dask needs dask.distributed: pip install 'nandlab[cluster]'")


@contextlib.contextmanager
def engine(executor: str | Executor, jobs: int, points: int) -> Iterator[Engine]:
    """An engine for a sweep with so many points; in the end it is closed, except a given executor.

    Raises:
        ConfigError: No executor has this name, or no scheduler answers at this address.
        NandlabError: A package it needs is not installed.

    """
    if isinstance(executor, Executor):
        # Its workers are not ours: they hear the stop signal only between two points.
        yield Engine(executor, uuid.uuid4().hex, threading.Event())
        return
    check_name(executor)
    kind, _, address = executor.partition("=")
    if kind == "threads":
        context = _threads(jobs, points)
    elif kind == "processes":
        context = _processes(jobs, points)
    else:
        context = _dask(address, jobs)
    with context as made:
        yield made


@contextlib.contextmanager
def _threads(jobs: int, points: int) -> Iterator[Engine]:
    stop, token, shares = threading.Event(), uuid.uuid4().hex, [0.0] * points
    CHANNELS[token] = Channel(stop, shares)
    executor = ThreadPoolExecutor(jobs, thread_name_prefix="nandlab sweep")
    try:
        with SharedTraces():
            yield Engine(executor, token, stop, shares=shares)
    finally:
        stop.set()
        executor.shutdown(wait=True, cancel_futures=True)
        del CHANNELS[token]


@contextlib.contextmanager
def _processes(jobs: int, points: int) -> Iterator[Engine]:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # A fork would copy every thread's locks.
    context = multiprocessing.get_context("spawn")
    stop = Flag(context.RawValue("b", 0))
    shares: Any = context.RawArray("d", points)
    token = uuid.uuid4().hex
    with tempfile.TemporaryDirectory(prefix="nandlab-", ignore_cleanup_errors=True) as folder:
        begun = (token, stop, shares, Path(folder), STOP_S)
        executor = ProcessPoolExecutor(jobs, mp_context=context, initializer=begin, initargs=begun)
        try:
            yield Engine(_Deaf(executor), token, stop, shares=shares, by_pickle=True)
        finally:
            stop.set()
            executor.shutdown(wait=True, cancel_futures=True)


class _Deaf(Executor):
    """An executor whose processes never hear Ctrl-C: the process that started them answers it."""

    def __init__(self, inner: Executor) -> None:
        self._inner = inner

    def submit(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as Executor.submit
        """As the inner executor; it starts processes now."""
        with deaf_children():
            return self._inner.submit(*args, **kwargs)


@contextlib.contextmanager
def _dask(address: str, jobs: int) -> Iterator[Engine]:
    from distributed import Event

    cluster = client = made = None
    token = f"nandlab-{uuid.uuid4().hex}"
    with _unlogged("distributed", "tornado", "asyncio"):
        try:
            cluster = None if address else _local_cluster(jobs)
            client = _client(cluster or address)
            executor = client.get_executor(pure=False, retries=0)
            is_there = partial(_is_running, client)
            made = Engine(executor, token, Event(token, client=client), on_cluster=True, is_there=is_there)
            yield made
        finally:
            # Who pressed Ctrl-C waits for no goodbyes; the workers of a local cluster end with this process.
            patience = HURRY_S if made is not None and made.hurried else GOODBYE_S
            for each in (client, cluster):
                if each is not None:
                    _within(patience, each.close)


@contextlib.contextmanager
def _unlogged(*names: str) -> Iterator[None]:
    """Keeps a cluster's log off the terminal: nandlab reports a point's error in its own sentence."""
    known = list(logging.root.manager.loggerDict)
    # Some loggers have their own handlers.
    found = [name for name in known if name.split(".")[0] in names]
    loggers = [logger for name in found if not (logger := logging.getLogger(name)).disabled]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger in loggers:
            logger.disabled = False


def _local_cluster(jobs: int) -> Any:  # noqa: ANN401 - a cluster of distributed
    import sys
    from multiprocessing import resource_tracker

    from distributed import LocalCluster

    # The tracker cleans up after a cluster left in a hurry, and need not say so. Started later, it
    # would let Ctrl-C through to the workers.
    sys.warnoptions.append("ignore:resource_tracker:UserWarning")
    try:
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions.pop()
    with deaf_children():
        return LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            silence_logs=50,
        )


def _within(seconds: float, work: Callable[[], object]) -> None:
    """Sends a message a lost cluster would never answer, and waits at most this long."""

    def quietly() -> None:
        with contextlib.suppress(Exception):
            work()

    thread = threading.Thread(target=quietly, daemon=True)
    thread.start()
    thread.join(seconds)


def _is_running(client: Any) -> bool:  # noqa: ANN401 - a client of distributed
    # A reconnecting client has already given up its earlier requests.
    return bool(client.status == "running")


def _client(where: Any) -> Any:  # noqa: ANN401 - a cluster or an address
    from distributed import Client

    try:
        return Client(where, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ConfigError(f"dask={where}: no scheduler of dask answers there ({reason})") from None
