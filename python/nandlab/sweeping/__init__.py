"""Sweeps: one experiment with every combination of several keys' values."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Literal

from nandlab._native import ConfigError, NandlabError, version
from nandlab.experiment import Experiment
from nandlab.experiment.result import Result
from nandlab.experiment.run import POLL_S, STOP_S
from nandlab.policy import words as policies_in_words
from nandlab.running.batch import directory_of, processors
from nandlab.running.varied import in_the_chosen, override, varied_by
from nandlab.sweeping.axes import Axis, Value, axes_of
from nandlab.sweeping.engines import Engine, engine
from nandlab.sweeping.goals import Goal, fronts, goal_of
from nandlab.sweeping.store import Store, kept
from nandlab.sweeping.work import Done, Sent, Task, refuse_unpicklable, run_task
from nandlab.writing.parquet import require_polars

if TYPE_CHECKING:
    import pandas
    import polars

    from nandlab.optimum import Optimum

Progress = Callable[[int, int, float], object]
"""Called some times a second: finished points, all points, and the finished share in the work."""


GONE_S = 1.0
"""Seconds for a lost cluster's futures to report."""


@dataclass(frozen=True)
class Point:
    """One experiment in a sweep."""

    values: dict[str, Value]
    """The varied keys and their values; sizes in bytes."""
    texts: tuple[str, ...]
    """The values as they were written."""
    experiment: Experiment
    key: str
    """The experiment's fingerprint."""
    record: dict[str, Any] | None = None
    """The result record without `speed`; None without a result."""
    error: str | None = None
    """Why there is no result."""
    kind: Literal["", "input", "run"] = ""
    """The kind of error: wrong input, or a failed run."""
    optimum: Optimum | str | None = None
    """The best placement known, or why there is none in a sentence; None if nobody asked."""

    @cached_property
    def result(self) -> Result | None:
        """The result, if there is one."""
        if self.record is None:
            return None
        return Result(self.record, os.path.abspath(self.experiment.folder))  # noqa: PTH100 - `..` stays what it is

    @property
    def above_optimum(self) -> float | None:
        """How far its write amplification is above the best placement known: 0.5 is 50 % more."""
        if self.record is None or self.optimum is None or isinstance(self.optimum, str):
            return None
        return self.optimum.above(self.record["waf"])

    @property
    def name(self) -> str:
        """Its keys and values, as they were written."""
        return ", ".join(f"{key}={text}" for key, text in zip(self.values, self.texts, strict=True))

    def __repr__(self) -> str:
        state = self.error or ("no result" if self.result is None else repr(self.result))
        texts = map(policies_in_words, self.texts)
        values = ", ".join(f"{key}={text}" for key, text in zip(self.values, texts, strict=True))
        return f"<Point {values}: {state}>"


@dataclass(frozen=True)
class Sweep:
    """A sweep's results, its points ordered by their values: the last key changes fastest."""

    axes: list[Axis]
    goals: list[Goal]
    points: list[Point]
    reused: int = 0
    """Points finished before."""
    stopped: bool = False
    """Whether it was stopped before its end: some points have neither a result nor an error."""

    @cached_property
    def frame(self) -> polars.DataFrame:
        """A row for each point: the varied keys, every figure in the record by its path, `error`, `record`.

        Raises:
            NandlabError: polars is not installed.

        """
        from nandlab.sweeping.frame import frame_of

        require_polars()
        return frame_of(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each point in the sweep's order, as a frame of pandas.

        First come the varied keys (sizes in bytes), then every number of the record by its path, with units
        as in `Result.to_pandas`. A figure named as a varied key is `result.<name>`. The last columns are
        `error` (why a point has no result), `record` (the whole record as JSON) and `key` (the fingerprint
        of the experiment). A point without a result has None in its figures, or NaN.

        Raises:
            ImportError: pandas is not installed: `pip install 'nandlab[pandas]'`.

        """
        from nandlab.writing.pandas_frame import pandas_frame

        return pandas_frame(self.frame.to_dict(as_series=False))

    @cached_property
    def front(self) -> list[bool]:
        """True for each point on the front.

        No other point with its workload and seed is as good in all goals and better in one.
        """
        given = [at for at, axis in enumerate(self.axes) if axis.is_given()]
        groups = [tuple(point.texts[at] for at in given) for point in self.points]
        return fronts([self.figures(point) for point in self.points], self.goals, groups)

    def __repr__(self) -> str:
        axes = " x ".join(f"{axis.key} ({len(axis.values)})" for axis in self.axes)
        failed = sum(point.error is not None for point in self.points)
        told = (", stopped" if self.stopped else "") + (f", {failed} failed" if failed else "")
        return f"<Sweep {axes}: {len(self.points)} point{'s' * (len(self.points) != 1)}{told}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: what the sweep comes to, and its points."""
        from nandlab.sweeping.page import notebook

        return notebook(self)

    def figures(self, point: Point) -> list[float | None]:
        """A point's goals, in their order."""
        return [None if point.record is None else goal.of(point.record) for goal in self.goals]

    def report(self, path: str | os.PathLike[str], command: str | None = None) -> None:
        """Writes a self-contained HTML report.

        Raises:
            NandlabError: A package that draws is not installed.
            OSError: With a sentence; an older file at `path` is then as it was.

        """
        from nandlab.sweeping.page import write_sweep

        write_sweep(self, path, command)

    def plots(self, folder: str | os.PathLike[str]) -> list[str]:
        """Draws its pictures into a folder, each as SVG and as PNG; the paths.

        Raises:
            NandlabError: A package that draws is not installed.
            OSError: With a sentence.

        """
        from nandlab.sweeping.page import write_plots

        return write_plots(self, folder)


@dataclass
class Plan:
    """The points to run, and how."""

    axes: list[Axis]
    goals: list[Goal]
    points: list[Point]
    executor: str | Executor = "threads"
    jobs: int | None = None
    output: str | os.PathLike[str] | None = None
    fresh: bool = False
    optimum: bool = False
    """Whether placements that know the future run for each point, too."""
    done: dict[str, Done] = field(default_factory=dict)
    """The outcome for each point run, by key; points may be the same experiment."""


def sweep(  # noqa: PLR0913 - one for each option of the command
    experiment: Experiment,
    vary: Mapping[str, Any],
    *,
    goals: str | Iterable[str] = "waf",
    executor: str | Executor = "threads",
    jobs: int | None = None,
    output: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    optimum: bool = False,
    progress: Progress | None = None,
) -> Sweep:
    """Runs an experiment with every combination of values.

    The points' order and all values are the same for every executor and worker count.

    Args:
        experiment: The experiment to vary.
        vary: For each key its values: a list, or a text as the command line takes it, such as
            "0.07..0.5:8", "4..64:5:log" or "greedy,fifo".
        goals: Figures in the record, by default to be small; "name:max" is to be large.
        executor: "threads", "processes", "dask" for a cluster on this machine, "dask=ADDRESS" for a running
            one, or an executor from `concurrent.futures`. Processes need a main module that can be imported.
        jobs: Points at once; one for each processor by default, and as many as a cluster has workers.
        output: A .parquet file. Finished points are kept beside it as they end; the same sweep with the same
            file goes on after them, and runs only the new points if it has more.
        fresh: Begin anew if `output` holds points.
        optimum: Run placements that know the future on each point's device, too: `above_optimum` of a point
            says how far its write amplification is above the best one. They are not kept in `output`.
        progress: Called some times a second.

    Raises:
        ConfigError: A key, a value, a range, a goal or an executor is wrong; nothing was run then.
        NandlabError: A needed package is not installed.
        OSError: With a sentence; `output` cannot be written.
        KeyboardInterrupt: After Ctrl-C, once finished points are kept in `output`.

    >>> import nandlab
    >>> experiment = nandlab.Experiment(
    ...     workload=nandlab.workload.uniform(requests=20_000),
    ...     ftl=nandlab.ftl.page(),
    ...     device=nandlab.Device(capacity="16 MiB"),
    ... )
    >>> found = nandlab.sweep(experiment, {"device.over_provisioning": "0.2..0.4:3"})
    >>> found.frame.select("device.over_provisioning", "waf").rows()
    [(0.2, 2.7531), (0.3, 2.02835), (0.4, 1.6895)]

    """
    chosen = [goals] if isinstance(goals, str) else list(goals)
    planned = plan(experiment, axes_of(vary), [goal_of(goal) for goal in chosen])
    planned = replace(planned, executor=executor, jobs=jobs, output=output, fresh=fresh)
    planned.optimum = optimum
    found = carry_out(planned, progress)
    if found.stopped:
        raise KeyboardInterrupt
    return found


def plan(experiment: Experiment, axes: Sequence[Axis], goals: Sequence[Goal], named: str = "vary:") -> Plan:
    """A sweep's points, each checked; an error calls the source for its values `named`.

    Raises:
        ConfigError: A key or a value is wrong.

    """
    points = []
    meant = [dict(zip(axis.values, axis.meant(), strict=True)) for axis in axes]
    for texts in itertools.product(*(axis.values for axis in axes)):
        values = {axis.key: known[text] for axis, known, text in zip(axes, meant, texts, strict=True)}
        point = point_of(experiment, values, texts, named)
        if point.error is not None:
            raise ConfigError(point.error)
        points.append(point)
    return Plan(list(axes), list(goals), points)


def point_of(experiment: Experiment, values: dict[str, Value], texts: tuple[str, ...], named: str) -> Point:
    """An experiment with a value for each key; if refused, with an error that calls their source `named`."""
    # A path among the values starts from the current folder, a path in a file from the file's folder.
    place = os.path.join(experiment.folder, "experiment.toml")  # noqa: PTH118 - as it is written
    one, pairs = experiment, list(zip(values, texts, strict=True))
    try:
        pairs = in_the_chosen(pairs, experiment.resolve)
        one = experiment.override(*(override(pair, place) for pair in pairs))
        return Point(values, texts, one, one.fingerprint())
    except ConfigError as error:
        said = varied_by(str(error), [*values, *(key for key, _ in pairs)], named)
        return Point(values, texts, one, f"refused {texts}", error=said, kind="input")


def carry_out(planned: Plan, progress: Progress | None = None) -> Sweep:
    """Runs all unfinished points; raises as `sweep`, but a stop is told in the result."""
    keys = {point.key for point in planned.points}
    with kept(planned.output, keys, planned.fresh, planned.done) as store:
        reused = sum(point.key in planned.done for point in planned.points)
        stopped = _run(planned, store, progress)
        points = [_with(point, planned.done.get(point.key)) for point in planned.points]
        if planned.optimum and not stopped:
            points, stopped = _with_optima(points, planned.jobs)
        found = Sweep(planned.axes, planned.goals, points, reused, stopped)
        if store is not None and not stopped:
            from nandlab.sweeping.frame import parquet_of

            store.finish(parquet_of(found))
    return found


def _with(point: Point, done: Done | None) -> Point:
    return point if done is None else replace(point, record=done.record, error=done.error, kind=done.kind)


def _with_optima(points: Sequence[Point], jobs: int | None) -> tuple[list[Point], bool]:
    """The points with their optima; and whether somebody stopped it."""
    from nandlab.optimum import optima

    found, stopped = optima([(point.experiment, point.result) for point in points], jobs)
    return [replace(point, optimum=one) for point, one in zip(points, found, strict=True)], stopped


def _run(planned: Plan, store: Store | None, progress: Progress | None) -> bool:
    """Runs all unfinished points; true if somebody stopped it."""
    first: dict[str, Point] = {}
    for point in planned.points:
        if point.key not in planned.done:
            first.setdefault(point.key, point)
    waiting = list(first.values())
    if not waiting:
        return False
    try:
        jobs = min(planned.jobs or processors(), len(waiting))
        with engine(planned.executor, jobs, len(waiting)) as made:
            Running(planned, waiting, store, progress).run(made)
    except KeyboardInterrupt:
        return True
    return False


class Running:
    """The points given to an engine."""

    def __init__(
        self, planned: Plan, waiting: Sequence[Point], store: Store | None, progress: Progress | None
    ) -> None:
        self.planned, self.waiting, self.store, self.progress = planned, waiting, store, progress
        self.finished = 0
        self.stopping = False
        self.question = "is there enough memory?"
        self.under_way: set[Future[Done]] = set()
        self.at: dict[Future[Done], int] = {}
        self.ended: SimpleQueue[Future[Done]] = SimpleQueue()
        """Wakes whoever waits. `concurrent.futures.wait` locks each future, and a Ctrl-C in it leaves some
        locked: their workers would never end."""
        self.directories = [directory_of(point.experiment) for point in waiting]
        self.held: dict[str, list[int]] = {}
        """Points waiting for another one in the same real directory."""

    def run(self, made: Engine) -> None:
        """Runs all points; after Ctrl-C finished points are kept, and the interrupt goes on."""
        if made.on_cluster:
            self.question = "is the cluster still there?"
        try:
            for at, directory in enumerate(self.directories):
                if directory in self.held:
                    self.held[directory].append(at)
                    continue
                if directory is not None:
                    self.held[directory] = []
                self._submit(made, at)
            while self.under_way:
                self._collect(POLL_S)
                if not made.is_there():
                    self._abandon()
                self._release(made)
                self._tell(made)
        except BaseException:
            self.stopping = True
            made.halt()
            for future in self.under_way:
                future.cancel()
            # A cluster hears of it too late to wait for.
            end = time.monotonic() + (0.0 if made.on_cluster else STOP_S / 2)
            while self.under_way and time.monotonic() < end:
                self._collect(POLL_S)
            raise

    def _submit(self, made: Engine, at: int) -> None:
        future = self._submitted(made, at, self.waiting[at])
        self.at[future] = at
        self.under_way.add(future)
        future.add_done_callback(self.ended.put)

    def _release(self, made: Engine) -> None:
        """Submits the next point for each idle real directory."""
        taken = {self.directories[self.at[future]] for future in self.under_way}
        for directory, held in self.held.items():
            if held and directory not in taken:
                self._submit(made, held.pop(0))

    def _submitted(self, made: Engine, at: int, point: Point) -> Future[Done]:
        one, sent = point.experiment, None
        if made.on_cluster:
            # A worker elsewhere has another current folder.
            one = one.absolute()
            one, sent = one.with_policies({}), Sent.of(one)
        elif made.by_pickle:
            refuse_unpicklable(one)
        try:
            return made.executor.submit(run_task, Task(at, one, made.token, sent))
        except BrokenExecutor as error:
            # A worker has ended while others still got points.
            broken: Future[Done] = Future()
            broken.set_exception(error)
            return broken

    def _collect(self, seconds: float) -> None:
        with suppress(Empty):
            self.ended.get(timeout=seconds)
            while True:
                self.ended.get_nowait()
        ended = [future for future in self.under_way if future.done()]
        for future in sorted(ended, key=lambda each: self.at[each]):
            # Taken first, left out then: whoever stops the sweep in between loses nothing.
            self._take(self.waiting[self.at[future]], self._done(future))
            self.under_way.discard(future)

    def _abandon(self) -> None:
        """Takes a lost cluster's answers for a moment, and waits for the rest no longer."""
        self._collect(GONE_S)
        for future in self.under_way:
            future.cancel()
            error = f"its worker ended without a result (the connection was lost); {self.question}"
            self._take(self.waiting[self.at[future]], Done(self.at[future], error=error, kind="run"))
        self.under_way.clear()

    def _done(self, future: Future[Done]) -> Done:
        at = self.at[future]
        try:
            done = future.result().fetched()
        except (Exception, CancelledError) as error:  # noqa: BLE001 - whatever ended a worker
            if self.stopping:
                return Done(at)
            said = f"{type(error).__name__}: {error}".splitlines()[0].removesuffix(": ")
            why = f"its worker ended without a result ({said}); {self.question}"
            return Done(at, error=why, kind="run")
        if done.record is not None and done.record["version"] != version():
            theirs = done.record["version"]
            return Done(at, error=f"its worker has nandlab {theirs}, not {version()}", kind="run")
        return done

    def _take(self, point: Point, done: Done) -> None:
        if (done.record is None and done.error is None) or point.key in self.planned.done:
            return
        self.finished += 1
        self.planned.done[point.key] = done
        if self.store is not None and done.record is not None:
            self.store.add(point.key, done.record)

    def _tell(self, made: Engine) -> None:
        if self.progress is None:
            return
        running = [self.at[future] for future in self.under_way]
        parts = sum(made.shares[at] for at in running if at < len(made.shares))
        # Points finished before are not work done now.
        before = len(self.planned.points) - len(self.waiting)
        share = (self.finished + parts) / len(self.waiting)
        self.progress(before + self.finished, len(self.planned.points), share)


__all__ = ["ConfigError", "NandlabError", "Plan", "Point", "Sweep", "carry_out", "plan", "sweep"]
