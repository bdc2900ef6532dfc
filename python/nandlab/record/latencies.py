"""How long requests and operations took, as the result record has it."""

from __future__ import annotations

from nandlab.record.view import View


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


class OriginLatency(View):
    """Latencies of the requests of one part of the host; histograms as `latency_histogram` of a result."""

    origin: str
    latency_us: Latencies
    latency_histogram: dict[str, list[list[float]]]


class LatencyPart(View):
    """Time of the longest request, in microseconds, that went to operations of one `cause`.

    `own_us` is that of operations that the request itself led to, `waited_us` that of earlier ones.
    """

    cause: str
    own_us: float
    waited_us: float


class LongestRequest(View):
    """The request that took longest, its `number` from 1, and what its time went to, the most first.

    `parts` and what follows are None unless `host.explain_longest` asked for them. `space_us` is the wait
    for space in the controller's write buffer, `elsewhere_us` other time in which it waited for no operation
    of the flash, `unknown_us` that of operations which the simulator no longer remembered.
    """

    number: int
    op: str
    origin: str
    arrival_us: float
    latency_us: float
    parts: list[LatencyPart] | None
    space_us: float | None
    elsewhere_us: float | None
    unknown_us: float | None
