"""What a run, and several side by side, come to: three to six sentences, each computed from the records."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence

from nandlab.figures import summary
from nandlab.figures.interval import half_width
from nandlab.record.record import Record
from nandlab.writing import units

MOST = 6
"""Most sentences before a report."""
ALIKE = 0.01
"""Figures within this share are the same."""
LARGE = 0.25
"""A part from this share on is worth a sentence."""
UNEVEN = 2.0
"""From this ratio on, blocks wear unevenly, and latencies have a tail."""

Designs = Mapping[str, Sequence[Record]]
"""By name its results, which differ in their seed."""
Figure = Callable[[Record], float | None]

COMPARED: tuple[tuple[str, str, Figure, Callable[[float | None], str]], ...] = (
    ("wears least", "erases", lambda record: record.flash.erases, units.count),
    ("is fastest", "time", lambda record: record.time_us, units.time_us),
    ("needs least RAM", "RAM", lambda record: record.ram.total_bytes, units.size),
)
"""What is said of the best design, of which figure, and how to read and write it."""


def of_run(result: Record) -> list[str]:
    """What one run comes to; empty for a real directory, which tells nothing about flash."""
    if not summary.has_device(result):
        return []
    found = [*_amplification(result), *_asked(result), *_tail(result), *_wear(result), *_written(result)]
    if result.stopped is not None:
        found.insert(0, "The run ended before its workload did: every figure is of the part until then.")
    return found[:MOST]


def _amplification(result: Record) -> Iterator[str]:
    causes = result.waf_by_cause()
    if not causes:
        yield "Nothing was written to the flash."
        return
    extra = {cause: part for cause, part in causes.items() if cause != "host"}
    own = f"Each page of host writes costs {units.ratio(result.waf, 2)} page programs"
    cause = max(extra, key=lambda name: extra[name], default=None)
    share = extra[cause] / sum(causes.values()) if cause is not None else 0.0
    if cause is None or share < ALIKE:
        yield f"{own}, nearly all of them the host's own."
    else:
        name = _cause(cause)
        yield f"{own}; {name} is the largest part besides the host's, with {units.percent(share, 0)} of them."


def _asked(result: Record) -> Iterator[str]:
    shares = summary.erases_by_origin(result)
    if len(shares) > 1:
        origin, share = next(iter(shares.items()))
        yield f"{_capital(summary.plain(origin))} causes {_part(share)} of the erases."
    elif result.flash.erases == 0:
        yield "No block was erased: the run is too short to tell what space and wear cost."


def _tail(result: Record) -> Iterator[str]:
    latency = summary.latency_of(result, "write") or summary.latency_of(result, "read")
    if latency is None or not latency.p50 or latency.p99 is None:
        return
    kind = "write" if summary.latency_of(result, "write") is not None else "read"
    times, slow = latency.p99 / latency.p50, units.time_us(latency.p99)
    if times < UNEVEN:
        yield f"The {kind}s take nearly the same time: 99 of 100 end within {slow}."
    else:
        yield f"One {kind} in 100 takes {slow} or longer, {_times(times)} the median."


def _wear(result: Record) -> Iterator[str]:
    wear = result.wear
    if not wear.max or not wear.mean:
        return
    times = wear.max / wear.mean
    if times >= UNEVEN:
        yield f"Wear is uneven: the most worn block has {_times(times)} the mean P/E cycles."
    else:
        yield f"Wear is even: the most worn block has {wear.max:,} P/E cycles, the mean {wear.mean:.1f}."


def _written(result: Record) -> Iterator[str]:
    if result.time_us and result.throughput is not None and result.throughput.written_mb_per_s:
        rate = units.short(result.throughput.written_mb_per_s)
        yield f"The host wrote {units.size(result.host.written_sectors * 512)} at {rate} MB/s."


def of_comparison(panels: Mapping[str, Designs]) -> list[str]:
    """What several designs come to, by workload and name; one workload may have an empty name."""
    whole = {
        panel: {
            name: records
            for name, records in designs.items()
            if not any(record.partial for record in records)
        }
        for panel, designs in panels.items()
    }
    if len(panels) > 1:
        # What wears least comes first, for every workload there is room for.
        told = COMPARED[: max(1, MOST // len(panels))]
        found = [f"{panel}: {each}" for row in told for panel in whole for each in _best(whole[panel], *row)]
        return found[:MOST]
    found = []
    for panel, designs in whole.items():
        found += [each for row in COMPARED for each in _best(designs, *row)]
        found += _costliest(designs)
        missing = len(panels[panel]) - len(designs)
        if missing:
            verb = "is" if missing == 1 else "are"
            found.append(f"{units.counted(missing, 'run')} ended early and {verb} not compared.")
    return found[:MOST]


def _best(
    designs: Designs, words: str, noun: str, figure: Figure, write: Callable[[float | None], str]
) -> Iterator[str]:
    known, halves = dict[str, float](), dict[str, float]()
    for name, records in designs.items():
        values = [value for record in records if (value := figure(record)) is not None]
        if len(values) == len(records):
            known[name] = statistics.fmean(values)
            halves[name] = half_width(values) if len(values) > 1 else 0.0
    if len(known) < 2:
        return
    least, most = (pick(known, key=lambda name: known[name]) for pick in (min, max))
    reach = {name: max(ALIKE * known[most], halves[name] + halves[least]) for name in known}
    if all(known[name] - known[least] <= reach[name] for name in known):
        noise = "their 95 % intervals" if any(halves.values()) else "1 %"
        yield f"The designs do not differ in {noun}: all have {write(known[least])}, within {noise}."
        return
    leaders = [
        name
        for name, value in known.items()
        if value - known[least] <= max(ALIKE * known[least], halves[name] + halves[least])
    ]
    # Verbs follow their number.
    plural = {"wears": "wear", "is": "are", "needs": "need"}
    unit = f" {noun}" if noun == "erases" else ""
    verb, _, rest = words.partition(" ")
    verb = verb if len(leaders) == 1 else plural[verb]
    factor = f", {_times(known[most] / known[least])} that" if known[least] else ""
    yield (
        f"{' and '.join(leaders)} {verb} {rest} ({write(known[least])}{unit}); "
        f"{most} has {write(known[most])}{factor}."
    )


def _costliest(designs: Designs) -> Iterator[str]:
    """Why the design with most programs has them, and whose erases the one with fewest erases has."""
    if len(designs) < 2:
        return
    most = max(designs, key=lambda name: designs[name][0].flash.programs)
    causes = designs[most][0].waf_by_cause()
    extra = {cause: part for cause, part in causes.items() if cause != "host"}
    if extra:
        cause = max(extra, key=lambda name: extra[name])
        share = extra[cause] / sum(causes.values())
        if share >= LARGE:
            yield f"In {most} {_cause(cause)} makes {_part(share)} of the page programs."
    least = min(designs, key=lambda name: designs[name][0].flash.erases)
    shares = summary.erases_by_origin(designs[least][0])
    if len(shares) > 1:
        origin, share = next(iter(shares.items()))
        yield f"{_capital(summary.plain(origin))} causes {_part(share)} of the erases of {least}."


def _cause(name: str) -> str:
    return "garbage collection" if name == "gc" else summary.plain(name)


def _part(share: float) -> str:
    """A share in words.

    >>> _part(0.5), _part(0.334), _part(0.61), _part(1.0)
    ('half', '33 %', '61 %', 'all')
    """
    if abs(share - 0.5) < 0.02:
        return "half"
    return "all" if share > 0.995 else units.percent(share, 0)


def _times(factor: float) -> str:
    """A factor in words.

    >>> _times(13.2), _times(1.46)
    ('13 times', '1.5 times')
    """
    return f"{factor:,.0f} times" if factor >= 10 else f"{factor:.1f} times"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def of_figures(
    rows: Sequence[tuple[str, float]], name: str, maximise: bool, write: Callable[[float], str]
) -> str:
    """What a figure comes to over several points: the best one, the worst, and the factor between them."""
    best, worst = (pick(rows, key=lambda row: row[1]) for pick in ((max, min) if maximise else (min, max)))
    high, low = max(best[1], worst[1]), min(best[1], worst[1])
    factor = f", a factor of {high / low:.3g}" if low > 0 else ""
    word = "largest" if maximise else "least"
    return f"{name} is {word} with {best[0]}: {write(best[1])}; {worst[0]} has {write(worst[1])}{factor}."
