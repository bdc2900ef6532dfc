"""The 95 % interval for a mean."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

# Student's t for a two-sided 95 % interval, by degrees of freedom from 1 on.
_T95 = (
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
    2.201,
    2.179,
    2.160,
    2.145,
    2.131,
)


def half_width(values: Sequence[float]) -> float:
    """Half the 95 % interval for the mean of `values`, Student's t; infinite for one value.

    >>> half_width([5.0, 5.0, 5.0]), round(half_width([1.0, 2.0, 3.0, 4.0, 5.0]), 3)
    (0.0, 1.963)
    """
    if len(values) < 2:
        return math.inf
    degrees = len(values) - 1
    return quantile(degrees) * statistics.stdev(values) / math.sqrt(len(values))


def quantile(degrees: int) -> float:
    """Student's t for so many degrees of freedom: 97.5 % lie below; to three digits."""
    if degrees <= len(_T95):
        return _T95[degrees - 1]
    # Two terms in the expansion around the normal quantile (Abramowitz and Stegun, 26.7.5).
    z = 1.959964
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
