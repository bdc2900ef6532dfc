"""The best placement known, and how far a run is from it.

A placement that knows when each page dies is compared with one that does not. No such placement is proved to
be the best, so several of them run, and the one with the lowest write amplification counts:
`ftl.page.placement.oracle` with different classes, windows and victims, on the experiment's device, below its
buffer and its file system.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from nandlab._native import ConfigError
from nandlab.optimum.bounds import without_future
from nandlab.running.batch import run_all

if TYPE_CHECKING:
    from nandlab.experiment import Experiment
    from nandlab.record.record import Record
    from nandlab.running.batch import State

WINDOWS = (
    ("doubling", 4, 200),
    ("doubling", 8, 50),
    ("doubling", 8, 200),
    ("doubling", 16, 10),
    ("doubling", 16, 50),
    ("equal", 2, 400),
    ("equal", 4, 400),
    ("equal", 8, 200),
    ("equal", 16, 100),
    ("equal", 32, 100),
    ("equal", 64, 50),
)
"""How the windows grow, classes, and the first window in per cent of the spare pages."""

VICTIMS = ("dying_last", "policy")
"""The oracle's own victims, and greedy ones."""

KEPT = ("stripe", "reserve_blocks", "collection", "durable_trim")
"""Options of a page map that the portfolio takes over: they are no placement."""


@dataclass(frozen=True)
class Optimum:
    """The best placement known for a workload on a device."""

    waf: float
    """Its write amplification."""
    placement: str
    """Its name, such as `oracle, 8 doubling classes from 50 % of the spare pages, dying_last`."""
    tried: int
    """Placements that ran."""
    without_future: float | None
    """The least that a placement can cost that does not know the future, where a closed form tells it."""

    def above(self, waf: float | None) -> float | None:
        """How far a write amplification is above this one: 0.5 is 50 % more.

        >>> Optimum(1.25, "", 1, None).above(2.5)
        1.0
        """
        return None if waf is None else waf / self.waf - 1

    def to_dict(self) -> dict[str, Any]:
        """As JSON data."""
        return {
            "waf": self.waf,
            "placement": self.placement,
            "tried": self.tried,
            "without_future": self.without_future,
        }


def portfolio(experiment: Experiment) -> dict[str, Experiment]:
    """The placements that know the future, by their names: the same experiment over a page map.

    Those that its device is too small for are left out. Counting is enough: no time decides where a page
    goes.

    Raises:
        ConfigError: The experiment has no FTL, or its writes cannot be known before.

    """
    resolved = experiment.resolve()
    if not resolved.get("ftl"):
        raise ConfigError("without an FTL there is no placement to compare with")
    ((name, options),) = resolved["ftl"].items()
    kept = {key: options[key] for key in KEPT if name == "page"}
    found, refused = {}, None
    for (windows, classes, percent), victims in product(WINDOWS, VICTIMS):
        chosen = {"classes": classes, "windows": windows, "window_percent": percent, "victims": victims}
        one = experiment.replace(ftl={"page": {**kept, "placement": {"oracle": chosen}}})
        try:
            found[_name(chosen)] = _counting(one)
        except ConfigError as error:
            refused = error
    if not found and refused is not None:
        raise refused
    return found


def _name(chosen: dict[str, Any]) -> str:
    victims = "greedy" if chosen["victims"] == "policy" else chosen["victims"]
    classes = f"{chosen['classes']} {chosen['windows']} classes"
    return f"oracle, {classes} from {chosen['window_percent']} % of the spare pages, {victims} victims"


def _counting(experiment: Experiment) -> Experiment:
    """The same without time, if it can do without."""
    counting = experiment.override("device.model=counting")
    try:
        counting.resolve()
    except ConfigError:
        experiment.resolve()
        return experiment
    return counting


def optima(
    runs: Sequence[tuple[Experiment, Record | None]],
    jobs: int | None = None,
    progress: Callable[[State], object] | None = None,
) -> tuple[list[Optimum | str], bool]:
    """The optimum for each run, or why there is none in a sentence; and whether Ctrl-C stopped it.

    Runs of the same workload on the same device share one, whatever their FTL.

    Args:
        runs: Experiments with their records; None for a run without a result.
        jobs: How many run at once; one for each processor by default.
        progress: Called some times a second.

    """
    portfolios: list[dict[str, Experiment] | str] = []
    for experiment, record in runs:
        if record is None:
            portfolios.append("there is no result to compare")
            continue
        try:
            portfolios.append(portfolio(experiment))
        except ConfigError as error:
            portfolios.append(str(error))
    once = {one: None for each in portfolios if not isinstance(each, str) for one in each.values()}
    outcomes, stopped = run_all(list(once), jobs, progress)
    by_experiment = dict(zip(once, outcomes, strict=True))
    found: list[Optimum | str] = []
    for (_, record), each in zip(runs, portfolios, strict=True):
        if isinstance(each, str) or record is None:
            found.append(each if isinstance(each, str) else "there is no result to compare")
            continue
        ran = {name: by_experiment[one] for name, one in each.items()}
        wafs = {name: one.result.waf for name, one in ran.items() if one.result and one.error is None}
        known = {name: waf for name, waf in wafs.items() if waf is not None}
        if not known:
            errors = [str(one.error) for one in ran.values() if one.error is not None]
            found.append(errors[0] if errors else "nothing was written")
            continue
        best = min(known, key=lambda name: known[name])
        found.append(Optimum(known[best], best, len(known), without_future(record)))
    return found, stopped


__all__ = ["Optimum", "optima", "portfolio", "without_future"]
