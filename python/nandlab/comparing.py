"""Several experiments side by side.

>>> import nandlab
>>> base = nandlab.Experiment(
...     workload=nandlab.workload.uniform(requests=5_000),
...     ftl=nandlab.ftl.page(),
...     device=nandlab.Device(capacity="16 MiB", over_provisioning=0.25),
... )
>>> found = nandlab.compare({"page": base, "fast": base.replace(ftl=nandlab.ftl.fast())})
>>> found.frame().select("design", "flash.programs").rows()[0][0], found.errors
('page', {})
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from nandlab._native import ConfigError, DeviceFull, NandlabError
from nandlab.experiment import Experiment
from nandlab.experiment.result import Result
from nandlab.running.batch import Outcome, State, run_all

if TYPE_CHECKING:
    import pandas
    import polars

    from nandlab.optimum import Optimum
    from nandlab.sweeping.store import Store
    from nandlab.sweeping.work import Done

TITLE = "design"
"""What the runs differ in, as a report calls it."""


@dataclass(frozen=True)
class Ran:
    """A design's runs, one for each seed."""

    outcomes: Sequence[Outcome]
    optima: Sequence[Optimum | str] = ()
    """The best placement known for each, or why there is none; empty if nobody asked."""

    @property
    def result(self) -> Result | None:
        """The result with the design's own seed."""
        return self.outcomes[0].result

    @property
    def error(self) -> NandlabError | None:
        """The first error from any seed."""
        return next((one.error for one in self.outcomes if one.error is not None), None)

    @property
    def repeats(self) -> list[Result]:
        """The results with the following seeds."""
        return [one.result for one in self.outcomes[1:] if one.result is not None]


@dataclass
class Plan:
    """Designs to run, each with the labels that set it apart, and how."""

    labels: Sequence[dict[str, str]]
    experiments: Sequence[Experiment]
    seeds: int = 1
    jobs: int | None = None
    optimum: bool = False
    output: str | os.PathLike[str] | None = None
    fresh: bool = False

    def repeated(self) -> list[Experiment]:
        """Each experiment with its own seed and the following ones."""
        return [
            each if at == 0 else each.replace(seed=(each.resolve()["seed"] + at) % 2**63)
            for each in self.experiments
            for at in range(self.seeds)
        ]


def carry_out(planned: Plan, progress: Callable[[str, State], object]) -> tuple[list[Ran], int, bool]:
    """Runs designs; what each came to, how many runs were finished before, and whether Ctrl-C stopped it.

    Args:
        planned: The designs.
        progress: Called some times a second with what runs.

    Raises:
        ConfigError: The output is another one's.
        OSError: With a sentence; the output cannot be written.

    """
    from nandlab.sweeping.store import kept

    experiments = planned.repeated()
    keys = [each.fingerprint() if planned.output is not None else "" for each in experiments]
    done: dict[str, Done] = {}
    with kept(planned.output, set(keys), planned.fresh, done) as store:
        outcomes = [_before(done.get(key), each) for key, each in zip(keys, experiments, strict=True)]
        left = [at for at, outcome in enumerate(outcomes) if outcome is None]
        ran, stopped = run_all(
            [experiments[at] for at in left],
            planned.jobs,
            partial(progress, "experiments"),
            ended=lambda at, outcome: _keep(store, keys[left[at]], outcome),
        )
        for at, outcome in zip(left, ran, strict=True):
            outcomes[at] = outcome
            # Of those that Ctrl-C met.
            _keep(store, keys[at], outcome)
        known = [outcome or Outcome() for outcome in outcomes]
        optima: list[Optimum | str] = []
        if planned.optimum and not stopped:
            from nandlab.optimum import optima as optima_of

            runs = [(each, one.result) for each, one in zip(experiments, known, strict=True)]
            optima, stopped = optima_of(runs, planned.jobs, partial(progress, "optimum"))
        if store is not None and not stopped:
            store.finish(_parquet(planned, experiments, known, keys))
    parts = [slice(at, at + planned.seeds) for at in range(0, len(known), planned.seeds)]
    return [Ran(known[part], optima[part]) for part in parts], len(known) - len(left), stopped


def _before(done: Done | None, experiment: Experiment) -> Outcome | None:
    """A finished run's outcome."""
    if done is None or done.record is None:
        return None
    folder = os.path.abspath(experiment.folder)  # noqa: PTH100 - `..` stays what it is
    result = Result(done.record, folder)
    return Outcome(result, None if result.stopped is None else DeviceFull(result.stopped.message))


def _keep(store: Store | None, key: str, outcome: Outcome) -> None:
    """Keeps a run that went to its end, or to that of its device; one that Ctrl-C stopped has no error."""
    result = outcome.result
    if store is None or result is None or (result.partial and outcome.error is None):
        return
    if key not in store.found:
        store.add(key, result.without_speed())


def _parquet(
    planned: Plan, experiments: Sequence[Experiment], outcomes: Sequence[Outcome], keys: Sequence[str]
) -> bytes:
    """A row for each run, as of a sweep's points: first its labels, and the seed if there are several."""
    from nandlab.sweeping import Point, Sweep
    from nandlab.sweeping.axes import Axis
    from nandlab.sweeping.frame import parquet_of

    points = []
    for at, (one, outcome, key) in enumerate(zip(experiments, outcomes, keys, strict=True)):
        labels = dict(planned.labels[at // planned.seeds])
        if planned.seeds > 1:
            labels["seed"] = str(one.resolve()["seed"])
        record = None if outcome.result is None else outcome.result.without_speed()
        error = None if outcome.error is None or record is not None else str(outcome.error)
        points.append(Point(dict(labels), tuple(labels.values()), one, key, record, error))
    texts = zip(*(point.texts for point in points), strict=True)
    axes = [
        Axis(title, tuple(dict.fromkeys(column)))
        for title, column in zip(points[0].values, texts, strict=True)
    ]
    return parquet_of(Sweep(axes, [], points))


@dataclass(frozen=True)
class Comparison:
    """What experiments came to, by their names, in the order in which they were given."""

    results: dict[str, Result]
    """Of those that have one; a device that wore out has one besides its error."""
    errors: dict[str, str]
    """Why others have none, or ended early, in a sentence."""
    stopped: bool = False
    """Whether Ctrl-C stopped it: some have neither result nor error."""
    optima: dict[str, Optimum | str] = field(default_factory=dict)
    """The best placement known for each result, or why there is none in a sentence; empty if nobody asked."""
    repeats: dict[str, list[Result]] = field(default_factory=dict)
    """The results with the following seeds."""
    reused: int = 0
    """Runs finished before."""

    def above_optimum(self, name: str) -> float | None:
        """How far a result's write amplification is above the best placement known: 0.5 is 50 % more."""
        found = self.optima.get(name, "")
        return None if isinstance(found, str) else found.above(self.results[name].waf)

    def frame(self) -> polars.DataFrame:
        """A row for each result: its name as `design`, and every number of the record by its path.

        Raises:
            NandlabError: polars is not installed.

        """
        from nandlab.writing.parquet import require_polars

        require_polars()
        import polars

        return polars.DataFrame(self._columns(), strict=False)

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each result, as a frame of pandas.

        The first column is `design`, its name. The others are every number of the record by its path, with
        units as in `Result.to_pandas`; a result without a number has None there, or NaN.

        Raises:
            ImportError: pandas is not installed: `pip install 'nandlab[pandas]'`.

        """
        from nandlab.writing.pandas_frame import pandas_frame

        return pandas_frame(self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        from nandlab.sweeping.frame import numbers

        rows = {name: dict(numbers(result.to_dict(), "")) for name, result in self.results.items()}
        paths = dict.fromkeys(path for row in rows.values() for path in row)
        columns: dict[str, list[Any]] = {TITLE: list(rows)}
        columns |= {path: [row.get(path) for row in rows.values()] for path in paths}
        if self.optima:
            columns["above_optimum"] = [self.above_optimum(name) for name in rows]
        return columns

    def report(self, path: str | os.PathLike[str], command: str | None = None) -> None:
        """Writes a self-contained HTML report.

        Raises:
            NandlabError: A package that draws is not installed, or there is no result.
            OSError: With a sentence; an older file at `path` is then as it was.

        """
        from nandlab.report import write_comparison

        if not self.results:
            raise NandlabError(f"no report was written: there is no result to put into {os.fspath(path)}")
        names = dict.fromkeys([*self.results, *self.errors])
        pairs = [({TITLE: name}, self.results.get(name) or self.errors[name]) for name in names]
        write_comparison(pairs, path, command, [self.repeats.get(name, []) for name in names])

    def _repr_html_(self) -> str:
        """What a notebook shows: what the runs come to, and a row for each."""
        from nandlab.report.notebook import of_results

        return of_results(dict(self.results), self.errors)

    def __repr__(self) -> str:
        told = (", stopped" if self.stopped else "") + (f", {len(self.errors)} failed" if self.errors else "")
        return f"<Comparison of {', '.join(self.results) or 'nothing'}{told}>"


def compare(  # noqa: PLR0913 - one for each option of the command
    designs: Mapping[str, Experiment],
    jobs: int | None = None,
    progress: Callable[[State], object] | None = None,
    optimum: bool = False,
    *,
    seeds: int = 1,
    output: str | os.PathLike[str] | None = None,
    fresh: bool = False,
) -> Comparison:
    """Runs experiments, several at once, and puts them side by side.

    Args:
        designs: Experiments by their names.
        jobs: How many run at once; one for each processor by default.
        progress: Called some times a second.
        optimum: Run placements that know the future on each device, too: `above_optimum` says how far the
            write amplification of a result is above the best one.
        seeds: How many seeds each design runs with, from its own on; `repeats` has the others' results.
        output: A .parquet file, as for `sweep`: finished runs are kept, and do not run again.
        fresh: Begin anew if `output` holds runs.

    Raises:
        ConfigError: One of them cannot run; the name is told, and none has run.
        NandlabError: polars is not installed, and there is an `output`.
        OSError: With a sentence; `output` cannot be written.

    """
    if not isinstance(designs, Mapping) or not designs:
        raise ConfigError("compare() takes experiments by their names, as in {'page': experiment}")
    for name, experiment in designs.items():
        if not isinstance(experiment, Experiment):
            raise ConfigError(f"{name}: expected an Experiment, got {type(experiment).__name__}")
        try:
            experiment.resolve()
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from None
    if seeds < 1:
        raise ConfigError(f"seeds is {seeds}: expected a whole number from 1 on")
    labels = [{TITLE: name} for name in designs]
    planned = Plan(labels, list(designs.values()), seeds, jobs, optimum, output, fresh)
    told = progress or (lambda _: None)
    ran, reused, stopped = carry_out(planned, lambda _, state: told(state))
    by_name = dict(zip(designs, ran, strict=True))
    return Comparison(
        {name: each.result for name, each in by_name.items() if each.result is not None},
        {name: str(each.error) for name, each in by_name.items() if each.error is not None},
        stopped,
        {name: each.optima[0] for name, each in by_name.items() if each.result is not None and each.optima},
        {name: each.repeats for name, each in by_name.items() if each.repeats},
        reused,
    )
