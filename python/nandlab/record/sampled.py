"""What a run by windows tells of the whole workload, in the result record."""

from __future__ import annotations

from nandlab.record.view import View


class Estimate(View):
    """A mean over windows, and half the width of its 95 % confidence interval."""

    mean: float
    half_width: float


class Sampled(View):
    """Estimates for the whole workload of `requests`.

    All other counts of the record are those of the `simulated` requests: the `measured` ones in the
    `windows`, and their warm-ups. `time_us` has the jumps, too. `erases` and `pe_cycles`, of the mean block,
    are projected for the whole workload. `trends` names the estimates whose windows rise or fall along the
    run. Estimates are None with fewer than three windows, and `time_us` if the run was stopped.

    """

    windows: int
    measured: int
    simulated: int
    requests: int
    simulated_share: float
    time_us: float | None
    waf: Estimate | None
    mean_us: Estimate | None
    p99_us: Estimate | None
    requests_per_s: Estimate | None
    erases_per_byte: Estimate | None
    erases: Estimate | None
    pe_cycles: Estimate | None
    trends: list[str]
