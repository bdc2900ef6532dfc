"""A claim's distance from being met, at a point in a search."""

from __future__ import annotations

import math

from nandlab.reproduce.claim import Claim
from nandlab.reproduce.tolerance import Tolerance


def distance(claim: Claim, measured: float | None, is_met: bool) -> float:
    """A claim's distance from being met, in half-widths of its tolerance: at most 1 if it is met.

    A side without a width (`at least`, an order) counts 1 plus the missing share of the printed value.
    """
    if measured is None:
        return math.inf
    if claim.limits is None or claim.published is None:
        return 0.0 if is_met else 1.0 + max(0.0, -measured)
    found = _half_widths(claim.loose or claim.limits, claim.published, measured)
    return min(found, 1.0) if is_met else max(found, 1.0)


def _half_widths(limits: Tolerance, published: float, measured: float) -> float:
    """How many tolerance half-widths `measured` is off, on its side.

    >>> from nandlab.reproduce.tolerance import parse_tolerance
    >>> _half_widths(parse_tolerance("10 %", 100.0), 100.0, 115.0)
    1.5
    >>> _half_widths(parse_tolerance("at least", 4.0), 4.0, 3.0)
    1.25
    """
    gap = abs(measured - published)
    width = limits.high - published if measured > published else published - limits.low
    if math.isinf(width) or gap == 0:
        return 0.0
    if width <= 0:
        return 1.0 + gap / (abs(published) or 1.0)
    return gap / width
