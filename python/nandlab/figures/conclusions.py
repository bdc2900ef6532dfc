"""What a run, and several side by side, come to: three to six sentences, each computed from the records."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence

from nandlab.figures import summary, wear
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
COARSE = 5
"""Least P/E cycles of the most worn block to judge how even wear is: below, chance decides."""
NAMED = 4
"""Most designs named in one sentence."""

Designs = Mapping[str, Sequence[Record]]
"""By name its results, which differ in their seed."""
Figure = Callable[[Record], float | None]

Compared = tuple[str, str, Figure, Callable[[float | None], str]]
COMPARED: tuple[Compared, ...] = (
    ("is fastest", "time", lambda record: record.time_us, units.time_us),
    ("needs least RAM", "RAM", lambda record: record.ram.total_bytes, units.size),
)
"""What is said of the best design, of which figure, and how to read and write it."""
AMPLIFIED: Compared = ("has the least WAF", "WAF", lambda record: record.waf, units.ratio)
"""What stays comparable where designs do not write the same."""


def of_run(result: Record) -> list[str]:
    """What one run comes to; empty for a real directory, which tells nothing about flash."""
    if not summary.has_device(result):
        return []
    found = [*_amplification(result), *_asked(result), *_tail(result), *_wear(result), *_moved(result)]
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
    # Small writes program whole pages, and a file system writes its own pages beside the file's.
    host = causes.get("host", 0.0)
    alone = f", {units.ratio(host, 2)} of them without any collection or merge" if host > 1 + ALIKE else ""
    if cause is None or share < ALIKE:
        yield f"{own}, nearly all of them for the writes themselves."
    else:
        rest = (
            f"{_cause(cause)} is the largest part besides the host's, with {units.percent(share, 0)} of them."
        )
        yield f"{own}{alone}; {rest}"


def _asked(result: Record) -> Iterator[str]:
    shares = summary.erases_by_origin(result)
    if len(shares) > 1:
        origin, share = next(iter(shares.items()))
        yield f"{_capital(_origin(origin))} causes {_part(share)} of the erases."
    elif result.flash.erases == 0 and result.flash.programs:
        yield "No block was erased: the run is too short to tell what space and wear cost."


def _tail(result: Record) -> Iterator[str]:
    latency = summary.latency_of(result, "write") or summary.latency_of(result, "read")
    if latency is None or not latency.p50 or latency.p99 is None:
        return
    kind = "write" if summary.latency_of(result, "write") is not None else "read"
    times, slow = latency.p99 / latency.p50, units.time_us(latency.p99)
    if times >= UNEVEN:
        yield f"One {kind} in 100 takes {slow} or longer, {_times(times)} the median."
    elif latency.max >= UNEVEN * latency.p50:
        longest = (
            f"the slowest takes {units.time_us(latency.max)}, {_times(latency.max / latency.p50)} the median"
        )
        yield f"99 of 100 {kind}s end within {slow}; {longest}."
    else:
        yield f"The {kind}s take nearly the same time: 99 of 100 end within {slow}."


def _wear(result: Record) -> Iterator[str]:
    wear = result.wear
    if not wear.max or not wear.mean:
        return
    times = wear.max / wear.mean
    if times < UNEVEN:
        yield f"Wear is even: the most worn block has {wear.max:,} P/E cycles, the mean {wear.mean:.1f}."
    elif wear.max < COARSE:
        cycles = units.counted(wear.max, "P/E cycle")
        yield f"Too few blocks were erased to judge how even wear is: none has more than {cycles}."
    else:
        yield f"Wear is uneven: the most worn block has {_times(times)} the mean P/E cycles."


def _moved(result: Record) -> Iterator[str]:
    """How much the host wrote, or read where it did not write, and how fast where there is time."""
    wrote = result.host.written_sectors > 0
    sectors = result.host.written_sectors if wrote else result.host.read_sectors
    if not sectors:
        return
    said = f"The host {'wrote' if wrote else 'read'} {units.size(sectors * 512)}"
    through = result.throughput
    if not result.time_us or through is None:
        yield f"{said}." if result.time_us is not None else f"{said}; the device keeps no time."
        return
    rate = through.written_mb_per_s if wrote else through.read_mb_per_s
    yield f"{said} at {units.short(rate)} MB/s." if rate else f"{said}."


def of_comparison(panels: Mapping[str, Designs]) -> list[str]:
    """What several designs come to, by workload and name; one workload may have an empty name."""
    whole = {
        panel: {
            name: records
            for name, records in designs.items()
            # A real directory tells nothing about flash.
            if not any(record.partial for record in records) and summary.has_device(records[0])
        }
        for panel, designs in panels.items()
    }
    if len(panels) > 1:
        # What wears least comes first, for every workload there is room for.
        most = max(1, MOST // len(panels))
        told = {panel: _told(designs)[:most] for panel, designs in whole.items()}
        found = [
            f"{panel}: {each}"
            for at in range(most)
            for panel, rows in told.items()
            for row in rows[at : at + 1]
            for each in _best(whole[panel], *row)
        ]
        return found[:MOST]
    found = []
    for panel, designs in whole.items():
        if not _same_work(designs):
            found.append("The designs run different workloads: times and totals are not compared.")
        found += [each for row in _told(designs) for each in _best(designs, *row)]
        found += costliest(designs)
        missing = sum(any(record.partial for record in records) for records in panels[panel].values())
        if missing:
            verb = "is" if missing == 1 else "are"
            found.append(f"{units.counted(missing, 'run')} ended early and {verb} not compared.")
    return found[:MOST]


def _told(designs: Designs) -> list[Compared]:
    """The figures that can be compared."""
    if not _same_work(designs):
        return [AMPLIFIED, COMPARED[-1]]
    measure = wear.column([record for records in designs.values() for record in records])
    return [("wears least", measure.title, measure.value, measure.text), *COMPARED]


def _same_work(designs: Designs) -> bool:
    asked = [record.experiment["workload"] for records in designs.values() for record in records]
    return all(each == asked[0] for each in asked)


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
    plural = {"wears": "wear", "is": "are", "needs": "need", "has": "have"}
    best = write(known[least])
    if noun.startswith("erases"):
        best = f"{best} {noun}" if known[least] != 1 else f"1 {noun.replace('erases', 'erase')}"
    verb, _, rest = words.partition(" ")
    verb = verb if len(leaders) == 1 else plural[verb]
    factor = f", {_more(known[most] / known[least])}" if known[least] else ""
    yield (f"{_listed(leaders)} {verb} {rest} ({best}); {_quoted(most)} has {write(known[most])}{factor}.")


def _listed(names: Sequence[str]) -> str:
    """Designs in one line; many are counted.

    >>> _listed(["page", "fast", "block"]), _listed(["page, timed", "fast"])
    ('page, fast and block', '"page, timed" and fast')
    >>> _listed(["a", "b", "c", "d", "e", "f"])
    'a, b, c and 3 more'
    """
    shown = [_quoted(name) for name in names]
    if len(shown) > NAMED:
        shown = [*shown[: NAMED - 1], f"{len(shown) - NAMED + 1} more"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _quoted(name: str) -> str:
    """A design's name; its commas separate nothing in a sentence."""
    return f'"{name}"' if "," in name else name


def costliest(designs: Designs) -> Iterator[str]:
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
            yield f"In {_quoted(most)} {_cause(cause)} makes {_part(share)} of the page programs."
    least = min(designs, key=lambda name: designs[name][0].flash.erases)
    shares = summary.erases_by_origin(designs[least][0])
    if len(shares) > 1:
        origin, share = next(iter(shares.items()))
        yield f"{_capital(_origin(origin))} causes {_part(share)} of the erases of {_quoted(least)}."


def _cause(name: str) -> str:
    return "garbage collection" if name == "gc" else summary.plain(name)


def _origin(name: str) -> str:
    """Who asked for an erase.

    >>> _origin("object_header"), _origin("wal"), _origin("file_data")
    ('the object header', 'the WAL', 'the file data')
    """
    return f"the {name.upper() if name in ('fat', 'ftl', 'wal') else summary.plain(name)}"


def _part(share: float) -> str:
    """A share in words.

    >>> _part(0.5), _part(0.334), _part(0.61), _part(0.997), _part(1.0)
    ('half', '33 %', '61 %', 'nearly all', 'all')
    """
    if abs(share - 0.5) < 0.02:
        return "half"
    if share > 0.995:
        return "all" if share == 1 else "nearly all"
    return units.percent(share, 0)


def _times(factor: float) -> str:
    """A factor in words.

    >>> _times(13.2), _times(1.46)
    ('13 times', '1.5 times')
    """
    return f"{factor:,.0f} times" if factor >= 10 else f"{factor:.1f} times"


def _more(factor: float) -> str:
    """How much more the other one has.

    >>> _more(13.2), _more(1.46), _more(1.012)
    ('13 times that', '1.5 times that', '1.2 % more')
    """
    return f"{_times(factor)} that" if factor >= 1.1 else f"{(factor - 1) * 100:.2g} % more"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def of_figures(
    rows: Sequence[tuple[str, float]], name: str, maximise: bool, write: Callable[[float], str]
) -> str:
    """What a figure comes to over several points: the best one, the worst, and the factor between them."""
    best, worst = (pick(rows, key=lambda row: row[1]) for pick in ((max, min) if maximise else (min, max)))
    high, low = max(best[1], worst[1]), min(best[1], worst[1])
    factor = f", a factor of {high / low:.3g}" if low > 0 else ""
    if 1 < high / (low or high) < 1.1:
        factor = f", a difference of {(high / low - 1) * 100:.2g} %"
    word = "largest" if maximise else "least"
    return f"{name} is {word} with {best[0]}: {write(best[1])}; {worst[0]} has {write(worst[1])}{factor}."
