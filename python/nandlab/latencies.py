"""How long requests and operations took, as the result record has it."""

from __future__ import annotations

from nandlab.view import View


class Latency(View):
    """Time from arrival to completion, in microseconds of simulated time; 90 % took no longer than `p90`."""

    mean: float
    p50: float
    p90: float
    p99: float
    p999: float
    max: float
    count: int


class Latencies(View):
    """Latency by kind of request."""

    read: Latency | None
    write: Latency | None
    trim: Latency | None
    flush: Latency | None
