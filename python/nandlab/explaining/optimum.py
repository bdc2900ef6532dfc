"""What the best placement known says about a run."""

from __future__ import annotations

from nandlab.explaining.change import LEAST_GAIN, Change
from nandlab.optimum import Optimum
from nandlab.writing import units

PLACING = ("greedy_victims", "separate_by_lifetime")
"""Rules that change where pages go, or which block is emptied: the optimum bounds what they save."""


def told(found: Optimum | str, waf: float | None) -> str:
    """How far a write amplification is above the optimum, in a sentence."""
    if isinstance(found, str):
        return f"No optimum: {found}."
    above = found.above(waf)
    if above is None:
        return "No optimum: nothing was written."
    least = found.without_future
    bound = (
        f" No placement without such knowledge stays below {units.ratio(least)}." if least is not None else ""
    )
    best = f"that of the best placement known, {units.ratio(found.waf)} with knowledge of the future"
    if above < LEAST_GAIN:
        return (
            f"Write amplification of {units.ratio(waf)} is as low as {best} ({found.placement}): "
            f"another placement cannot help.{bound}"
        )
    return (
        f"Write amplification of {units.ratio(waf)} is {units.percent(above)} above {best} "
        f"({found.placement}).{bound}"
    )


def is_in_vain(change: Change, found: Optimum | str, waf: float | None) -> bool:
    """Whether a change of the placement has nothing left to save."""
    if change.rule not in PLACING or isinstance(found, str):
        return False
    above = found.above(waf)
    return above is not None and above < LEAST_GAIN
