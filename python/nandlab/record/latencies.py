"""How long requests and operations took, as the result record has it."""

from __future__ import annotations

from nandlab.record.view import View


class Latency(View):
    """Time from arrival to completion, us of simulated time; 90 % took at most `p90`."""

    mean: float
    p50: float
    p90: float
    p99: float
    p999: float
    max: float
    count: int


class Latencies(View):
    """Latency by request kind."""

    read: Latency | None
    write: Latency | None
    trim: Latency | None
    flush: Latency | None


class OriginLatency(View):
    """Latencies for one part of the host; histograms as a result's `latency_histogram`."""

    origin: str
    latency_us: Latencies
    latency_histogram: dict[str, list[list[float]]]


class LatencyPart(View):
    """The longest request's time for operations with one `cause`, in microseconds.

    `own_us` is for operations the request itself led to, `waited_us` for earlier ones.
    """

    cause: str
    own_us: float
    waited_us: float


class LatencyStep(View):
    """A part of the longest request's time, from `from_us` to `to_us` after its arrival, in microseconds.

    `part` is the die or the plane at work ("die 3"), `cause` why it was, `own` whether for the request
    itself; None outside the flash.
    """

    from_us: float
    to_us: float
    part: str | None
    cause: str | None
    own: bool


class LongestRequest(View):
    """The slowest request, its `number` from 1, and its time by cause, the longest first.

    `parts` and the following are None unless `host.explain_longest` asked for them. `space_us` is the wait
    for space in the controller's write buffer, `elsewhere_us` other time in which it waited for no flash
    operation, `unknown_us` time for operations the simulator no longer remembered. `steps` are the same in
    the order of time, at most the longest 300.
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
    steps: list[LatencyStep] | None
