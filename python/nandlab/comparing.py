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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nandlab._native import ConfigError, NandlabError
from nandlab.experiment import Experiment
from nandlab.experiment.result import Result
from nandlab.running.batch import State, run_all

if TYPE_CHECKING:
    import pandas
    import polars

    from nandlab.optimum import Optimum

TITLE = "design"
"""What the runs differ in, as a report calls it."""


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
        write_comparison(pairs, path, command)

    def _repr_html_(self) -> str:
        """What a notebook shows: what the runs come to, and a row for each."""
        from nandlab.report.notebook import of_results

        return of_results(dict(self.results), self.errors)

    def __repr__(self) -> str:
        told = (", stopped" if self.stopped else "") + (f", {len(self.errors)} failed" if self.errors else "")
        return f"<Comparison of {', '.join(self.results) or 'nothing'}{told}>"


def compare(
    designs: Mapping[str, Experiment],
    jobs: int | None = None,
    progress: Callable[[State], object] | None = None,
    optimum: bool = False,
) -> Comparison:
    """Runs experiments, several at once, and puts them side by side.

    Args:
        designs: Experiments by their names.
        jobs: How many run at once; one for each processor by default.
        progress: Called some times a second.
        optimum: Run placements that know the future on each device, too: `above_optimum` says how far the
            write amplification of a result is above the best one.

    Raises:
        ConfigError: One of them cannot run; the name is told, and none has run.

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
    outcomes, stopped = run_all(list(designs.values()), jobs, progress)
    by_name = dict(zip(designs, outcomes, strict=True))
    results = {name: outcome.result for name, outcome in by_name.items() if outcome.result is not None}
    errors = {name: str(outcome.error) for name, outcome in by_name.items() if outcome.error is not None}
    optima: dict[str, Optimum | str] = {}
    if optimum and not stopped:
        from nandlab.optimum import optima as optima_of

        found, stopped = optima_of(
            [(designs[name], result) for name, result in results.items()], jobs, progress
        )
        optima = dict(zip(results, found, strict=True))
    return Comparison(results, errors, stopped, optima)
