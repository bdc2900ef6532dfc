"""Each tenant's part in a run, as the result record has it."""

from __future__ import annotations

from nandlab.record.latencies import Latencies
from nandlab.record.view import View


class Tenant(View):
    """A tenant's requests, rates and latencies.

    `share` is its share of the bytes that all tenants read and wrote; rates are over `time_us`, from the
    workload's start to the answer to its last request. `wait_us` is the mean time in a submission queue, and
    `mean_us` the mean latency of all its requests, with this time. None without requests.
    """

    name: str
    requests: int
    bytes: int
    share: float | None
    time_us: float
    requests_per_s: float
    mb_per_s: float
    wait_us: float | None
    mean_us: float | None
    latency_us: Latencies | None
