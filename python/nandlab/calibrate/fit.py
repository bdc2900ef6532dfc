"""The fit: it measures parameter sets in batches, and searches for the set with the smallest misses.

A miss is the logarithm of simulated over measured, divided by the figure's `ACCURACY`. The search makes the
sum of squares small. It begins with sets spread over the ranges (Sobol's sequence, from the seed). From
the best one it goes downhill by scipy's least squares (trust region, within the ranges),
with differences over 2 % of a range as derivatives. A batch runs on all processors. The outcome
depends on the seed alone, because each run gives the same figures on every processor.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nandlab._native import ConfigError, NandlabError
from nandlab.calibrate.free import Free, overrides
from nandlab.calibrate.rows import ACCURACY, Case, Row
from nandlab.calibrate.runs import Bench, Unusable, figures_of, said
from nandlab.running.batch import Outcome, State, run_all

if TYPE_CHECKING:
    import numpy

Places = tuple[float, ...]
"""Each free number's place in its range, 0 to 1."""
Figures = dict[str, float]
Progress = Callable[[int, int, float, float | None], object]
"""Called a few times a second: sets measured, most sets, the share done, and the
best set's largest relative error so far."""

STEP = 0.02
"""Step for a derivative, as a share of the range."""
SPREAD = 8
"""Sets spread over the ranges, for each free number."""
FAILED = 25.0
"""The miss if a set cannot run: as if it were off by a quarter of its size at 1 %."""
LEAST_GAIN = 1e-3
"""A way downhill ends when a step saves less than this share of the sum."""
GOOD = 0.2
"""The search ends when no miss is larger; else it goes downhill from one start after another."""


def require_scipy() -> None:
    """Says how to install scipy, before anything runs."""
    if importlib.util.find_spec("scipy") is None:
        raise NandlabError("calibrate needs scipy: pip install 'nandlab[calibrate]'")


class Stopped(Exception):
    """Ctrl-C ended the search."""


class Spent(Exception):
    """The budget is used up."""


@dataclass(frozen=True)
class Measured:
    """A set of values, and the figures for each row in each case; None if it cannot run."""

    places: Places
    figures: tuple[tuple[Figures, ...] | None, ...]
    cost: float
    misses: tuple[float, ...]


@dataclass
class Search:
    """The fit's inputs, and its results so far."""

    bench: Bench
    free: Sequence[Free]
    cases: Sequence[Case]
    budget: int
    seed: int
    jobs: int | None = None
    progress: Progress | None = None
    known: dict[Places, Measured] = field(default_factory=dict)
    best: Measured | None = None
    spent: int = 0
    device: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.device:
            self.device = self.bench.resolved_device()

    def values(self, places: Places) -> list[float]:
        """A set's numbers."""
        return [free.value(place) for free, place in zip(self.free, places, strict=True)]

    def sets(self, places: Places) -> list[str]:
        """Overrides for a set."""
        return overrides(self.free, self.values(places), self.device)

    def measure(self, wanted: Sequence[Places]) -> list[Measured]:
        """Measures sets; known ones are not measured again.

        Raises:
            Stopped: Ctrl-C.
            Spent: The budget is too small for all; none is measured then.

        """
        keys = [self._key(places) for places in wanted]
        new = [key for key in dict.fromkeys(keys) if key not in self.known]
        if self.spent + len(new) > self.budget:
            raise Spent
        outcomes = self._run(new)
        for at, key in enumerate(new):
            self._keep(key, outcomes[at * len(self.cases) : (at + 1) * len(self.cases)])
        self.spent += len(new)
        return [self.known[key] for key in keys]

    def _key(self, places: Places) -> Places:
        """The places after rounding, so that sets with equal numbers are one."""
        values = self.values(places)
        return tuple(free.place(value) for free, value in zip(self.free, values, strict=True))

    def _run(self, new: Sequence[Places]) -> list[Outcome]:
        experiments = [self.bench.of(case, self.sets(places)) for places in new for case in self.cases]

        def show(state: State) -> None:
            if self.progress is not None:
                part = state.share() * len(new)
                worst = None if self.best is None else self.worst(self.best)
                done = self.spent + int(part)
                self.progress(done, self.budget, min(1.0, (self.spent + part) / self.budget), worst)

        outcomes, stopped = run_all(experiments, self.jobs, show) if experiments else ([], False)
        if stopped:
            raise Stopped
        return outcomes

    def _keep(self, places: Places, outcomes: Sequence[Outcome]) -> None:
        figures = []
        for case, outcome in zip(self.cases, outcomes, strict=True):
            try:
                figures.append(None if outcome.result is None else tuple(figures_of(case, outcome.result)))
            except Unusable:
                figures.append(None)
        misses = tuple(miss for _, _, miss in self._misses(figures))
        found = Measured(places, tuple(figures), sum(miss * miss for miss in misses), misses)
        self.known[places] = found
        if self.best is None or found.cost < self.best.cost:
            self.best = found

    def _misses(self, figures: Sequence[tuple[Figures, ...] | None]) -> list[tuple[Row, str, float]]:
        return [
            (row, figure, FAILED if given is None else math.log(given[at][figure] / value) / ACCURACY[figure])
            for case, given in zip(self.cases, figures, strict=True)
            for at, row in enumerate(case.rows)
            if not row.hold_out
            for figure, value in row.measured.items()
        ]

    def worst(self, found: Measured) -> float:
        """The largest relative error in a row's first figure."""
        firsts: dict[str, float] = {}
        for row, figure, miss in self._misses(found.figures):
            firsts.setdefault(row.name, abs(miss) * ACCURACY[figure])
        return max(firsts.values())

    def measure_start(self) -> Measured:
        """Measures the experiment's own numbers, to see whether every case can run.

        Raises:
            ConfigError: A row cannot run; with its place in the file.
            Stopped: Ctrl-C.

        """
        key = self._key(self.start())
        outcomes = self._run([key])
        for case, outcome in zip(self.cases, outcomes, strict=True):
            try:
                if outcome.error is not None:
                    raise outcome.error
                if outcome.result is not None:
                    figures_of(case, outcome.result)
            except (NandlabError, Unusable) as error:
                raise ConfigError(said(case, error)) from None
        self._keep(key, outcomes)
        self.spent += 1
        return self.known[key]

    def start(self) -> Places:
        """The experiment's numbers; a number outside its range starts in the middle."""
        return tuple(
            free.place(free.now) if free.now is not None and free.low <= free.now <= free.high else 0.5
            for free in self.free
        )


def search(wanted: Search) -> Measured:
    """The best set within the budget.

    Raises:
        ConfigError: A row cannot run.
        Stopped: Ctrl-C; `wanted.best` is the best set until then, if there is one.

    """
    try:
        starts = [wanted.measure_start(), *wanted.measure(_spread(wanted))]
        for start in sorted(starts, key=lambda found: found.cost):
            _downhill(wanted, start)
            if wanted.best is not None and max(map(abs, wanted.best.misses)) < GOOD:
                break
    except Spent:
        pass
    except KeyboardInterrupt:
        raise Stopped from None
    if wanted.best is None:
        raise Stopped
    return wanted.best


def _spread(wanted: Search) -> list[Places]:
    """Sets spread over the ranges; at most half the budget."""
    from scipy.stats import qmc

    most = min(wanted.budget // 2, SPREAD * len(wanted.free))
    drawn = qmc.Sobol(len(wanted.free), seed=wanted.seed).random_base2(math.ceil(math.log2(most + 1)))
    return [tuple(map(float, row)) for row in drawn[:most]]


def _downhill(wanted: Search, start: Measured) -> None:
    from scipy.optimize import least_squares

    def misses(places: Sequence[float]) -> list[float]:
        return list(wanted.measure([tuple(map(float, places))])[0].misses)

    inside = [min(1 - 1e-6, max(1e-6, place)) for place in start.places]
    least_squares(
        misses,
        inside,
        jac=lambda places: jacobian(wanted, tuple(map(float, places)), STEP, both=False),
        bounds=(0.0, 1.0),
        ftol=LEAST_GAIN,
        xtol=1e-4,
        gtol=1e-8,
    )


def jacobian(wanted: Search, at: Places, step: float, both: bool) -> numpy.ndarray[Any, Any]:
    """Each miss's change over a whole range, by differences; a row for each miss.

    Args:
        wanted: The search.
        at: The places.
        step: Share of the range.
        both: To both sides, as far as the range goes.

    """
    import numpy as np

    ends = []
    for each, free in enumerate(wanted.free):
        wide = max(step, free.step)
        high = min(1.0, at[each] + wide)
        low = max(0.0, at[each] - wide) if both or high - at[each] < wide / 2 else at[each]
        ends.append([_moved(at, each, high), _moved(at, each, low)])
    found = wanted.measure([places for pair in ends for places in pair])
    columns = []
    for each, (above, below) in enumerate(zip(found[::2], found[1::2], strict=True)):
        width = above.places[each] - below.places[each]
        change = np.subtract(above.misses, below.misses)
        columns.append(change / width if width else np.zeros(len(change)))
    return np.stack(columns, axis=1)


def _moved(places: Places, each: int, place: float) -> Places:
    return tuple(place if at == each else old for at, old in enumerate(places))
