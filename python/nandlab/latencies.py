"""How long requests and operations took, as the result record has it."""

from __future__ import annotations

from nandlab import units
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

    `parts` and what follows are None unless `host.explain_longest` asked for them. `elsewhere_us` is time
    in which it waited for no operation of the flash, `unknown_us` that of operations which the simulator no
    longer remembered.
    """

    number: int
    op: str
    origin: str
    arrival_us: float
    latency_us: float
    parts: list[LatencyPart] | None
    elsewhere_us: float | None
    unknown_us: float | None


def longest_parts(longest: LongestRequest) -> list[tuple[str, float]]:
    """What the longest request spent its time on, in words, with microseconds; the most first."""
    found: list[tuple[str, float]] = []
    for part in longest.parts or []:
        plain = part.cause.replace("_", " ")
        waited = f"waiting for {plain if part.cause != 'host' else 'other requests'}"
        own = "its own operations" if part.cause == "host" else f"its own {plain}"
        found += [(waited, part.waited_us), (own, part.own_us)]
    found += [("other memories", longest.elsewhere_us or 0.0), ("no longer known", longest.unknown_us or 0.0)]
    return sorted(((words, us) for words, us in found if us > 0), key=lambda each: -each[1])


def longest_words(longest: LongestRequest, can_explain: bool = True) -> str:
    """The longest request in one line: what it was, and what its time went to.

    `can_explain`: whether `host.explain_longest` may be asked for, so that it is worth to be named.
    """
    parts = ", ".join(f"{units.time_us(us)} {words}" for words, us in longest_parts(longest))
    hint = "host.explain_longest = true says why" if can_explain else ""
    return f"{longest.op} {longest.number:,}" + (f": {words}" if (words := parts or hint) else "")
