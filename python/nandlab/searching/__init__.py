"""Searches: the best experiments in a space too large for a sweep, by optuna."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab._native import ConfigError
from nandlab.experiment import Experiment
from nandlab.running.batch import processors
from nandlab.searching.limits import Limit, limit_of
from nandlab.searching.sampler import Sampler, require_optuna
from nandlab.searching.space import Free, Texts, space_of
from nandlab.sweeping import Plan as Batch
from nandlab.sweeping import Point, Progress, Running, Sweep, point_of
from nandlab.sweeping.axes import Value
from nandlab.sweeping.engines import Engine, engine
from nandlab.sweeping.goals import Goal, fronts, goal_of
from nandlab.sweeping.store import Store, kept
from nandlab.sweeping.work import Done
from nandlab.writing.parquet import require_polars
from nandlab.writing.sizes import bytes_of

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = ["AT_ONCE", "BUDGET", "Plan", "Search", "carry_out", "plan", "search"]

BUDGET = 100
"""Tries by default."""
AT_ONCE = 4
"""Tries chosen together, however many run at once: so the tries depend on the seed alone."""


@dataclass(frozen=True)
class Plan:
    """A checked search."""

    experiment: Experiment
    space: list[Free]
    goals: list[Goal]
    limits: list[Limit]
    budget: int
    seed: int
    executor: str | Executor = "threads"
    jobs: int | None = None
    output: str | os.PathLike[str] | None = None
    fresh: bool = False

    def mark(self) -> str:
        """A digest of what decides the tries, without the budget: a search goes on with a larger one."""
        document = {
            "experiment": self.experiment.fingerprint(),
            "space": [each.meaning() for each in self.space],
            "goals": [vars(goal) for goal in self.goals],
            "limits": [each.text for each in self.limits],
            "seed": self.seed,
            "optuna": importlib.metadata.version("optuna"),
        }
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Search:
    """A search's tries in their order, and what they say."""

    space: list[Free]
    goals: list[Goal]
    limits: list[Limit]
    budget: int
    seed: int
    points: list[Point]
    importances: list[dict[str, float]]
    """For each goal each free key's share in what decides whether a try is among the best tenth. Empty with
    fewer than ten tries."""
    reused: int = 0
    """Tries finished before."""
    stopped: bool = False
    """Whether it was stopped before its end."""

    def figures(self, point: Point) -> list[float | None]:
        """A try's goals, in their order; none of a try that ended before its workload did."""
        if not _is_whole(point):
            return [None] * len(self.goals)
        return [goal.of(point.record or {}) for goal in self.goals]

    def is_within(self, point: Point) -> bool:
        """Whether a try has a figure for each goal, and keeps every limit."""
        return None not in self.figures(point) and all(
            limit.holds(point.record or {}) for limit in self.limits
        )

    @cached_property
    def front(self) -> list[bool]:
        """True for each try within the limits that no other one within them beats.

        None is as good in all goals and better in one. With one goal these are the best.
        """
        rows = [
            self.figures(point) if self.is_within(point) else [None] * len(self.goals)
            for point in self.points
        ]
        return fronts(rows, self.goals, [0] * len(rows))

    @property
    def best(self) -> list[Point]:
        """The front's tries, the best in the first goal first; the first one of equals."""
        found: dict[str, Point] = {}
        for point, is_on in zip(self.points, self.front, strict=True):
            if is_on:
                found.setdefault(point.key, point)
        sign = -1.0 if self.goals[0].maximise else 1.0
        return sorted(found.values(), key=lambda point: sign * (self.figures(point)[0] or 0.0))

    def as_sweep(self, within: bool = False) -> Sweep:
        """The tries as the points of a sweep, in their order; with `within` those within the limits alone."""
        points = [point for point in self.points if not within or self.is_within(point)]
        axes = [free.axis(point.texts[at] for point in points) for at, free in enumerate(self.space)]
        return Sweep(axes, self.goals, points, self.reused, self.stopped)

    @cached_property
    def frame(self) -> polars.DataFrame:
        """A row for each try, as of a sweep's points, and behind it `within` and `front`.

        Raises:
            NandlabError: polars is not installed.

        """
        import polars

        require_polars()
        return self.as_sweep().frame.with_columns(
            polars.Series("within", [self.is_within(point) for point in self.points], polars.Boolean),
            polars.Series("front", self.front, polars.Boolean),
        )

    def to_pandas(self) -> pandas.DataFrame:
        """The frame as one of pandas.

        Raises:
            ImportError: pandas is not installed: `pip install 'nandlab[pandas]'`.

        """
        from nandlab.writing.pandas_frame import pandas_frame

        return pandas_frame(self.frame.to_dict(as_series=False))

    def report(self, path: str | os.PathLike[str], command: str | None = None) -> None:
        """Writes a self-contained HTML report.

        Raises:
            NandlabError: A package that draws is not installed.
            OSError: With a sentence; an older file at `path` is then as it was.

        """
        from nandlab.searching.page import write_search

        write_search(self, path, command)

    def write_best(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Writes each experiment of `best` into a folder, `best-1.toml` first; the paths.

        Raises:
            OSError: With a sentence.

        """
        from nandlab.searching.files import write_best

        return write_best(self, folder)

    def __repr__(self) -> str:
        keys = ", ".join(free.key for free in self.space)
        return f"<Search over {keys}: {len(self.points)} tries, {len(self.best)} on the front>"


def search(  # noqa: PLR0913 - one for each option of the command
    experiment: Experiment,
    free: Mapping[str, Any],
    *,
    goals: str | Iterable[str] = "waf",
    limits: str | Iterable[str] = (),
    budget: int = BUDGET,
    seed: int = 1,
    executor: str | Executor = "threads",
    jobs: int | None = None,
    output: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Search:
    """Searches for an experiment's best values: small in all goals, within all limits.

    The tries depend on the seed and optuna's version alone, not on the executor or the number of jobs.

    Args:
        experiment: The experiment.
        free: For each key its values: a range such as "0.07..0.5" or "1..64:log" (whole numbers if both
            ends are), or a list as `sweep` takes it.
        goals: Figures in the record, by default to be small; "name:max" is to be large.
        limits: Such as "latency_us.write.p99<5000"; with `<`, `<=`, `>` or `>=`.
        budget: Tries at most.
        seed: The search's; the experiment has its own.
        executor: As for `sweep`.
        jobs: Tries at once, at most four; one for each processor by default.
        output: A .parquet file. Finished tries are kept beside it as they end; the same search with the same
            file goes on after them, also with a larger budget.
        fresh: Begin anew if `output` holds tries.
        progress: Called some times a second.

    Raises:
        ConfigError: A key, a range, a goal, a limit or the budget is wrong; nothing was run then. Or no
            try has a figure for a goal.
        NandlabError: optuna is not installed.
        OSError: With a sentence; `output` cannot be written.
        KeyboardInterrupt: After Ctrl-C, once finished tries are kept in `output`.

    >>> import nandlab
    >>> experiment = nandlab.Experiment(
    ...     workload=nandlab.workload.uniform(requests=5_000),
    ...     ftl=nandlab.ftl.page(),
    ...     device=nandlab.Device(capacity="16 MiB", over_provisioning=0.25),
    ... )
    >>> found = nandlab.search(experiment, {"device.over_provisioning": [0.2, 0.3, 0.4]}, budget=5)
    >>> len(found.points), found.best[0].values
    (3, {'device.over_provisioning': 0.4})

    """
    names = [goals] if isinstance(goals, str) else list(goals)
    bounds = [limits] if isinstance(limits, str) else list(limits)
    planned = plan(experiment, free, names, bounds, budget, seed)
    planned = replace(planned, executor=executor, jobs=jobs, output=output, fresh=fresh)
    found = carry_out(planned, progress)
    if found.stopped:
        raise KeyboardInterrupt
    return found


def plan(  # noqa: PLR0913 - what there is to check
    experiment: Experiment,
    free: Mapping[str, Any],
    goals: Sequence[str],
    limits: Sequence[str] = (),
    budget: int = BUDGET,
    seed: int = 1,
    named: str = "free:",
) -> Plan:
    """A search, checked: each value alone, and each range's ends; raises as `search`."""
    require_optuna()
    if budget < 1:
        raise ConfigError(f"the budget is {budget}: a search needs at least one try")
    if not 0 <= seed < 2**32:
        raise ConfigError(f"the seed is {seed}: expected a whole number from 0 to {2**32 - 1}")
    wanted = [goal_of(goal) for goal in dict.fromkeys(goals)]
    if not wanted:
        raise ConfigError("there is no goal: name a figure of the record, such as waf")
    bounds, space = [limit_of(limit) for limit in dict.fromkeys(limits)], space_of(free)
    experiment.resolve()
    for each in space:
        if each.key == "seed":
            raise ConfigError("the seed cannot be free: it would pick the luckiest run, not the best design")
        for text in each.ends():
            error = point_of(experiment, {each.key: text}, (text,), named).error
            if error is not None:
                raise ConfigError(error)
    return Plan(experiment, space, wanted, bounds, budget, seed)


def carry_out(planned: Plan, progress: Progress | None = None) -> Search:
    """Carries a search out; raises as `search`, but a stop is told in the result."""
    mark = planned.mark()
    done: dict[str, Done] = {}
    with kept(planned.output, None, planned.fresh, done, mark) as store, ExitStack() as stack:
        under_way = _UnderWay(planned, store, stack, progress, done)
        try:
            stopped = False
            under_way.run()
        except KeyboardInterrupt:
            stopped = True
        found = under_way.found(stopped)
        if store is not None and not stopped and any(point.record is not None for point in found.points):
            from nandlab.searching.files import parquet_of

            store.finish(parquet_of(found, mark))
    return found


@dataclass
class _UnderWay:
    """A search that runs."""

    planned: Plan
    store: Store | None
    stack: ExitStack
    progress: Progress | None
    done: dict[str, Done]
    sampler: Sampler = field(init=False)
    points: list[Point] = field(default_factory=list)
    reused: int = 0
    engine: Engine | None = None

    def __post_init__(self) -> None:
        planned = self.planned
        self.sampler = Sampler(planned.space, planned.goals, planned.seed)
        self.before = set(self.done)

    def run(self) -> None:
        """Tries batch after batch, until the budget or the space is used up."""
        while len(self.points) < self.planned.budget:
            asked = self.sampler.ask(min(AT_ONCE, self.planned.budget - len(self.points)))
            if not asked:
                return
            batch = [self._point(texts) for texts in asked]
            self._run([point for point in batch if point.error is None])
            for point in batch:
                self._take(point)
            self._refuse_nothing_told()

    def _point(self, texts: Texts) -> Point:
        planned = self.planned
        values: dict[str, Value] = {
            free.key: _value(free, text) for free, text in zip(planned.space, texts, strict=True)
        }
        # Each value alone can be set; these together may be refused.
        return point_of(planned.experiment, values, texts, "free:")

    def _run(self, points: list[Point]) -> None:
        waiting = list({point.key: point for point in points if point.key not in self.done}.values())
        self.reused += sum(point.key in self.before for point in points)
        if not waiting:
            return
        jobs = min(self.planned.jobs or processors(), AT_ONCE)
        if self.engine is None:
            self.engine = self.stack.enter_context(engine(self.planned.executor, jobs, AT_ONCE))
        batch = Batch([], self.planned.goals, points, done=self.done)
        for at in range(len(self.engine.shares)):
            self.engine.shares[at] = 0.0
        Running(batch, waiting, self.store, self._tell).run(self.engine)

    def _tell(self, done: int, _total: int, share: float) -> None:
        if self.progress is not None:
            budget = self.planned.budget
            before = len(self.points)
            self.progress(before + done, budget, min(1.0, (before + share * AT_ONCE) / budget))

    def _take(self, point: Point) -> None:
        done = self.done.get(point.key)
        if done is not None:
            point = replace(point, record=done.record, error=done.error, kind=done.kind)
        self.points.append(point)
        record = point.record or {}
        figures = [goal.of(record) for goal in self.planned.goals] if _is_whole(point) else [None]
        known = [value for value in figures if value is not None]
        if len(known) < len(figures):
            self.sampler.tell(point.texts, None)
        else:
            self.sampler.tell(point.texts, known, [limit.over(record) for limit in self.planned.limits])

    def _refuse_nothing_told(self) -> None:
        """Refuses a goal or a limit of which no run tells a figure: each further try would be in vain."""
        records = [point.record for point in self.points if point.record is not None]
        for goal in (*self.planned.goals, *(limit.goal for limit in self.planned.limits)):
            if records and all(goal.of(record) is None for record in records):
                raise ConfigError(
                    f"{goal.name}: no result has this figure: no part of the experiment makes it"
                )

    def found(self, stopped: bool) -> Search:
        """What is known so far."""
        planned = self.planned
        shares = self.sampler.importances()
        return Search(
            planned.space,
            planned.goals,
            planned.limits,
            planned.budget,
            planned.seed,
            self.points,
            shares,
            self.reused,
            stopped,
        )


def _is_whole(point: Point) -> bool:
    """Whether a try has a result, and its workload came to its end."""
    return point.result is not None and not point.result.partial


def _value(free: Free, text: str) -> Value:
    """A value as a number or a text; bytes if the key's values have a unit."""
    if free.unit:
        return bytes_of(text) or text
    return free.axis([text]).meant()[0]
