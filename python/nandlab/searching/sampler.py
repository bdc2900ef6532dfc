"""The next points to try, by optuna's tree-structured Parzen estimator (TPE) and by steps.

The first tries are spread at random. After them each second try is TPE's. Each other one is a point beside a
best one, a step away in one key. TPE finds the region, and the steps find the best point in it. No point is
tried twice.

Source: S. Watanabe, "Tree-Structured Parzen Estimator: Understanding Its Algorithm Components and Their Roles
for Better Empirical Performance", arXiv 2304.11127, 2023.
"""

from __future__ import annotations

import importlib.util
import itertools
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nandlab._native import NandlabError
from nandlab.searching.space import Free, Texts, size_of
from nandlab.sweeping.goals import Goal, front

if TYPE_CHECKING:
    import optuna

SPREAD = 10
"""Tries at random at first."""
PATIENCE = 4
"""Known points that TPE may ask for in a row, before a point is drawn at random."""
DRAWS = 10_000
"""Draws for a point not yet tried."""
_OVER = "over"


def require_optuna() -> None:
    """Says how to install optuna, before anything runs."""
    if importlib.util.find_spec("optuna") is None:
        raise NandlabError("search needs optuna: pip install 'nandlab[search]'")


@dataclass
class Sampler:
    """Asked for points, and told their figures; the same answers give the same points."""

    space: Sequence[Free]
    goals: Sequence[Goal]
    seed: int
    study: optuna.Study = field(init=False)
    _asked: dict[Texts, Any] = field(default_factory=dict)
    """The trial of each point."""
    _told: dict[Texts, tuple[list[float], list[float]]] = field(default_factory=dict)
    """Goals and how far beyond each limit, of points with figures."""

    def __post_init__(self) -> None:
        require_optuna()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import optuna

            optuna.logging.set_verbosity(optuna.logging.ERROR)
            sampler = optuna.samplers.TPESampler(
                seed=self.seed, n_startup_trials=SPREAD, multivariate=True, constraints_func=_over
            )
            way = optuna.study.StudyDirection
            directions = [way.MAXIMIZE if goal.maximise else way.MINIMIZE for goal in self.goals]
            self.study = optuna.create_study(sampler=sampler, directions=directions)
        self._random = random.Random(self.seed)  # noqa: S311 - not for secrets

    def ask(self, count: int) -> list[Texts]:
        """The next points, at most `count`; fewer when every point of the space was tried."""
        left = size_of(self.space) - len(self._asked)
        found: list[Texts] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            while len(found) < min(count, left):
                found.append(self._next())
        return found

    def tell(self, texts: Texts, values: Sequence[float] | None, over: Sequence[float] = ()) -> None:
        """A point's goals, and how far it is beyond each limit; None for a point without figures."""
        import optuna

        trial = self._asked[texts]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if values is None:
                self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
                return
            trial.set_user_attr(_OVER, list(over))
            self.study.tell(trial, list(values))
        self._told[texts] = (list(values), list(over))

    def best(self) -> list[Texts]:
        """The front among the points within all limits; without one, the point that is least beyond them."""
        within = [texts for texts, (_, over) in self._told.items() if max(over, default=0.0) <= 0]
        if not within:
            beyond = {texts: sum(max(0.0, each) for each in over) for texts, (_, over) in self._told.items()}
            return [min(beyond, key=lambda texts: beyond[texts])] if beyond else []
        on = front([self._told[texts][0] for texts in within], self.goals)
        return [texts for texts, is_on in zip(within, on, strict=True) if is_on]

    def importances(self) -> list[dict[str, float]]:
        """For each goal each key's share in what decides whether a point is among the best tenth; sum 1.

        PED-ANOVA over the tries with figures. Empty with too few of them. Source: S. Watanabe, A. Bansal
        and F. Hutter, "PED-ANOVA: Efficiently Quantifying Hyperparameter Importance in Arbitrary Subspaces",
        IJCAI 2023.

        """
        if len(self._told) < SPREAD:
            return []
        found: list[dict[str, float]] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

            for at, goal in enumerate(self.goals):
                target = None if len(self.goals) == 1 else _figure(at, goal.maximise)
                shares = get_param_importances(
                    self.study, evaluator=PedAnovaImportanceEvaluator(), target=target
                )
                found.append({free.key: float(shares.get(free.key, 0.0)) for free in self.space})
        return found

    def _next(self) -> Texts:
        # Each second one behind the spread ones is a step.
        if len(self._asked) >= SPREAD and len(self._asked) % 2:
            near = self._beside()
            if near is not None:
                return near
        for _ in range(PATIENCE):
            texts = self._try()
            if texts is not None:
                return texts
        return self._drawn()

    def _try(self) -> Texts | None:
        """A point asked of TPE; None if it is known."""
        import optuna

        trial = self.study.ask()
        texts = tuple(self._suggested(trial, each) for each in self.space)
        if texts in self._asked:
            self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
            return None
        self._asked[texts] = trial
        return texts

    def _suggested(self, trial: optuna.Trial, free: Free) -> str:
        wide = free.range
        if wide is None:
            if free.ordered:
                return free.values[trial.suggest_int(free.key, 0, len(free.values) - 1)]
            return str(trial.suggest_categorical(free.key, free.values))
        if wide.is_whole:
            return free.text(trial.suggest_int(free.key, int(wide.low), int(wide.high), log=wide.is_log))
        return free.text(trial.suggest_float(free.key, wide.low, wide.high, log=wide.is_log))

    def _beside(self) -> Texts | None:
        """An untried point a step from a best one; None without one."""
        offers = [
            (*texts[:at], near, *texts[at + 1 :])
            for texts in self.best()
            for at, free in enumerate(self.space)
            for near in free.beside(texts[at])
        ]
        new = [each for each in dict.fromkeys(offers) if each not in self._asked]
        return self._wanted(self._random.choice(new)) if new else None

    def _drawn(self) -> Texts:
        """A point not tried yet, at random."""
        for _ in range(DRAWS):
            texts = tuple(self._draw(free) for free in self.space)
            if texts not in self._asked:
                return self._wanted(texts)
        return self._wanted(next(each for each in _all(self.space) if each not in self._asked))

    def _draw(self, free: Free) -> str:
        if free.range is None:
            return self._random.choice(free.values)
        return free.text(free.range.at(self._random.random()))

    def _wanted(self, texts: Texts) -> Texts:
        """Has optuna know a point that it did not propose."""
        self.study.enqueue_trial(
            {free.key: _parameter(free, text) for free, text in zip(self.space, texts, strict=True)}
        )
        trial = self.study.ask()
        for free in self.space:
            self._suggested(trial, free)
        self._asked[texts] = trial
        return texts


def _parameter(free: Free, text: str) -> Any:  # noqa: ANN401 - a value of optuna
    if free.range is None:
        return free.values.index(text) if free.ordered else text
    number = float(text.partition(" ")[0])
    return round(number) if free.range.is_whole else number


def _figure(at: int, maximise: bool) -> Callable[[Any], float]:
    """A trial's goal; the evaluator takes small figures for good ones."""
    return lambda trial: -trial.values[at] if maximise else trial.values[at]


def _over(trial: Any) -> Sequence[float]:  # noqa: ANN401 - a trial of optuna
    return list(trial.user_attrs.get(_OVER, []))


def _all(space: Sequence[Free]) -> Iterator[Texts]:
    """Every point of a space without ranges of fractions."""
    return itertools.product(*(each.values or each.numbers() for each in space))
