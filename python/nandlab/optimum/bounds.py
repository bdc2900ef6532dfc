"""Closed forms: what the best placement without knowledge of the future costs in the long run."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from nandlab.writing.sizes import bytes_of

if TYPE_CHECKING:
    from nandlab.record.record import Record


def greedy(pages: int, over_provisioning: float) -> float:
    """The write amplification of uniform random writes of single pages, greedy victims, and many blocks.

    Uniform writes tell nothing about the future, and no other victim has fewer pages to copy: no placement
    that does not know the future costs less (X.-Y. Hu, R. Haas: The Fundamental Limit of Flash Random Write
    Performance, IBM RZ 3771, 2010). The form is the mean field for blocks of finite length (B. Van Houdt,
    Performance Evaluation 70, 2013, d-choices in the limit).

    Args:
        pages: Pages in a block.
        over_provisioning: Physical pages for data divided by logical ones, less one; above 0.

    >>> round(greedy(64, 0.2), 4), round(greedy(128, 0.07), 4)
    (3.0528, 7.3916)

    """
    rho = 1 / (1 + over_provisioning)
    harmonic = sum(1 / at for at in range(1, pages + 1))
    below = 0.0
    for most in range(1, pages):
        below += 1 / most
        share = (rho * pages * (harmonic - below) - (pages - most)) / (1 - rho * pages / most)
        if 0 <= share < 1:
            return pages / (pages - most + share)
    return 1.0


def two_pools(pages: int, over_provisioning: float, hot_share: float, hot_writes: float) -> float:
    """The least write amplification of hot and cold pages that never share a block.

    Each pool is written uniformly and has its part of the spare pages; the best split of them is searched
    (P. Desnoyers, ACM Transactions on Storage 10(2), 2014).

    Args:
        pages: Pages in a block.
        over_provisioning: Of the whole device, as in `greedy`.
        hot_share: The share of the logical pages that are hot.
        hot_writes: The share of the writes that go to them.

    >>> round(two_pools(64, 0.2, 0.1, 0.9), 3)
    1.597

    """
    most = over_provisioning / hot_share

    def cost(hot: float) -> float:
        cold = (over_provisioning - hot_share * hot) / (1 - hot_share)
        return hot_writes * greedy(pages, hot) + (1 - hot_writes) * greedy(pages, cold)

    return cost(_lowest(cost, 1e-3 * most, (1 - 1e-3) * most))


def _lowest(of: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one valley is lowest: golden sections of a logarithmic scale."""
    ratio = (math.sqrt(5) - 1) / 2
    low, high = math.log(low), math.log(high)
    for _ in range(60):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if of(math.exp(left)) < of(math.exp(right)):
            high = right
        else:
            low = left
    return math.exp((low + high) / 2)


def without_future(record: Record) -> float | None:
    """The least that a placement without knowledge of the future can cost, where a closed form tells it.

    It does for whole pages written uniformly, or uniformly to hot and to cold pages, all over the device and
    with no layer above the FTL. All physical pages count as room for data, and no FTL has more.
    """
    experiment, device = record.experiment, record.device
    if any(experiment.get(table) for table in ("buffer", "index", "fs")):
        return None
    ((name, options),) = experiment["workload"].items()
    if name not in ("uniform", "hot_cold") or options["footprint"] != 1.0 or options["trim_share"] > 0:
        return None
    page = device.page_bytes
    if {bytes_of(options["size"]), bytes_of(options["alignment"])} != {page} or device.over_provisioning <= 0:
        return None
    spare, pages = device.over_provisioning, device.pages_per_block
    if name == "uniform":
        return greedy(pages, spare)
    return two_pools(pages, spare, options["hot_share"], options["hot_accesses"])
