"""What writes say: program time, link, buffer.

* A write of one page and a flush behind it wait for one transfer and one program. If a die programs several
  pages at once, only the last one of them waits for the program.
* Writes that follow a pause go into the buffer as fast as the link brings them. Once it is full, each waits
  until flash has freed space. A burst of W bytes then ends when flash has W less the buffer's bytes.

The second gives a first estimate of the buffer. Simulated bursts on a drive with the numbers known so far
refine it: the least squares of `nandlab.calibrate.fit` look for the buffer with the measured mean latencies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from nandlab.calibrate.fit import Search, search
from nandlab.calibrate.flat import known_of
from nandlab.calibrate.free import free_of
from nandlab.calibrate.probe.jobs import BURST_BYTES, BURSTS, short
from nandlab.calibrate.probe.model import Drive
from nandlab.calibrate.probe.quantity import Quantity
from nandlab.calibrate.probe.reads import Times
from nandlab.calibrate.probe.results import Measures, Results
from nandlab.calibrate.probe.settled import drive_of
from nandlab.calibrate.rows import Case, Job, Row
from nandlab.calibrate.runs import Bench, bench_of
from nandlab.experiment import Experiment
from nandlab.writing.toml_text import toml_value

FULL = 1.05
"""A burst met a full buffer if its mean latency is above that of an idle drive by this factor."""
BUFFER = "device.controller.write_buffer_bytes"
UNBUFFERED_US = 100.0
"""A write that a buffer answers takes less than this in addition to the time outside flash."""
ROUND = 4096
"""The fit's buffer is a multiple of this."""
ROWS = 3
"""Bursts in the fit: the shortest ones that met a full buffer."""
BUDGET = 40
MOST_PAGES = 8
"""Pages at once that the buffer's interval allows for if flushes tell nothing about them."""
NEAR = 0.15
"""A count of pages at once is known if the flushes tell a whole number to within this share."""


@dataclass(frozen=True)
class Burst:
    """Writes after a pause, one at a time."""

    name: str
    bs: int
    bytes: int
    mean_us: float

    @property
    def time_us(self) -> float:
        """The whole burst's time."""
        return self.mean_us * self.bytes / self.bs


def bursts(results: Results, bs: int) -> list[Burst]:
    """The bursts with writes of a size, the shortest first; a small drive cuts long ones off."""
    found: dict[int, Burst] = {}
    for length in BURSTS:
        name = f"burst.{short(bs)}.{length}m"
        each = results.jobs[name]
        found.setdefault(each.bytes, Burst(name, bs, each.bytes, each.mean_us))
    return list(found.values())


def _idle_us(results: Results, bs: int) -> float:
    """The latency of a write that finds space in the buffer."""
    shortest = results.jobs[f"burst.{short(bs)}.{BURSTS[0]}m"]
    return min(shortest.mean_us, shortest.p50_us or shortest.mean_us)


def _full(results: Results, bs: int) -> list[Burst]:
    idle = _idle_us(results, bs)
    return [each for each in bursts(results, bs) if each.mean_us > FULL * idle]


def drain_mb_s(results: Results) -> float | None:
    """The rate at which flash takes writes, from the two longest bursts; None if none met a full buffer."""
    rates = [_rate_between(_full(results, bs)) for bs in BURST_BYTES]
    return max((rate for rate in rates if rate is not None), default=None)


def _rate_between(full: Sequence[Burst]) -> float | None:
    """The rate between the two longest bursts, MB/s; None with fewer, or if the longer one took no longer."""
    if len(full) < 2 or not full[-1].time_us > full[-2].time_us:
        return None
    return (full[-1].bytes - full[-2].bytes) / (full[-1].time_us - full[-2].time_us)


@dataclass(frozen=True)
class Program:
    """How dies program."""

    time: Quantity
    """For `count` pages; for one page on a protected drive."""
    pages: Quantity
    count: int = 1
    """Pages at once."""
    is_protected: bool = False
    """Whether flushes are answered at once."""


@dataclass(frozen=True)
class Writes:
    """Quantities, and the drive with all numbers; None if something in it is unknown."""

    quantities: tuple[Quantity, ...]
    buffer_bytes: float | None = None
    drive: Drive | None = None


def estimate_writes(results: Results, times: Times | None, jobs: int | None = None) -> Writes:
    """The quantities that writes show.

    Args:
        results: The jobs' results.
        times: The numbers from reads; without them nothing is known from writes.
        jobs: Simulated runs at once.

    """
    names = (("program time", "us"), ("pages at once", ""), ("link, writes", "MB/s"), ("write buffer", "B"))
    why = results.absent.get("probe-writes") or ("" if times else "it takes the numbers that reads tell")
    if why or times is None:
        return Writes(tuple(Quantity(name, unit, why=why) for name, unit in names))
    if (waited := _unbuffered(results, times)) is not None:
        why = "writes wait for flash: no buffer answers them"
        quantities = (waited, *(Quantity(name, unit, why=why) for name, unit in names[1:]))
        return Writes(quantities, drive=_unbuffered_drive(times, waited))
    program = _program(results, times)
    small, large = BURST_BYTES
    byte_us = (_idle_us(results, large) - _idle_us(results, small)) / (large - small)
    link = _link(byte_us, results, times)
    buffer = _buffer(results, times, program, byte_us, jobs)
    quantities = (program.time, program.pages, link, buffer)
    return Writes(quantities, buffer.value, _drive(results, times, program, byte_us, buffer))


def _unbuffered(results: Results, times: Times) -> Quantity | None:
    """The program time of a drive whose writes wait for flash; None if a buffer answers them.

    Outside flash a write takes about as long as a read. The interval allows for the whole of it.
    """
    size, small = times.shape.page_bytes, BURST_BYTES[0]
    job = results.get(f"sync.{short(size)}")
    outside, byte_us = times.values["outside_us"], times.values["link_byte_us"]
    # Many writes with a flush fill a buffer that capacitors protect, so a short burst tells.
    if job is None or _idle_us(results, small) < outside + small * byte_us + UNBUFFERED_US:
        return None
    outside += size * byte_us
    program = job.mean_us - times.page_us - outside
    return Quantity.within("program time", "us", program, outside, "a write waits for flash")


def _unbuffered_drive(times: Times, program: Quantity) -> Drive | None:
    if program.value is None:
        return None
    plain = drive_of(times)
    return replace(plain, program_us=program.value, buffer_bytes=0, link_write_mb_s=plain.link_mb_s)


def _drive(
    results: Results, times: Times, program: Program, byte_us: float, buffer: Quantity
) -> Drive | None:
    """The drive with the numbers from reads and writes; None without program time or buffer.

    A write's time outside flash in addition to a read's counts as its command's.
    """
    if program.time.value is None or buffer.value is None:
        return None
    written = _model(results, times, program, byte_us)
    outside_us = times.values["outside_us"]
    # Writes of 4 KiB need no list.
    measures = results.get("sync.4k")
    single_us = written.latency_us if measures is None else measures.mean_us - 4096 * byte_us
    single_us = min(written.latency_us, max(0.0, single_us))
    return replace(
        written,
        latency_us=min(outside_us, single_us),
        read_command_us=max(0.0, outside_us - single_us),
        write_command_us=max(0.0, single_us - outside_us),
        list_us=max(0.0, times.values["list_us"]),
        write_list_us=written.latency_us - single_us,
        buffer_bytes=round(buffer.value),
    )


def _program(results: Results, times: Times) -> Program:
    """From flushes; from the rate of all dies on a drive that answers a flush from its buffer."""
    page_us, shape = times.page_us, times.shape
    measures = results.get(f"sync.{short(shape.page_bytes)}")
    error = 2 * max(times.error, 0.001)
    half = times.halves["command_us"] + times.halves["byte_us"] * shape.page_bytes
    drain = drain_mb_s(results)
    if measures is not None and measures.sync_us is not None:
        sync = measures.sync_us
        die = shape.dies * shape.page_bytes / sync
        channel = shape.channels * shape.page_bytes / page_us
        # A flush behind capacitors takes the time outside flash alone, even the slowest one.
        waits = max(sync, measures.sync_p99_us or 0.0) > 1.25 * (times.values["outside_us"] + page_us)
        if sync > page_us and waits and (drain is None or drain > 0.7 * min(die, channel)):
            count = _at_once(measures, page_us)
            longest = measures.sync_p99_us if count > 1 and measures.sync_p99_us else sync
            remark = "with a flush behind each page" if count == 1 else f"of {count} pages at once"
            time = Quantity.within("program time", "us", longest - page_us, half + error * longest, remark)
            return Program(time, Quantity.exact("pages at once", "", count), count)
    unknown = Quantity("pages at once", "", why="flushes do not wait for flash")
    if drain is None:
        why = "flushes do not wait for flash, and no burst fills the buffer"
        return Program(Quantity("program time", "us", why=why), unknown)
    cycle = shape.dies * shape.page_bytes / drain
    if shape.dies / shape.channels * page_us > 0.9 * cycle:
        why = "flushes do not wait for flash, and channels limit writes"
        return Program(Quantity("program time", "us", why=why), unknown)
    return Program(_from_rate(times, cycle, half + 5 * error * cycle), unknown, is_protected=True)


def _from_rate(times: Times, cycle_us: float, half: float) -> Quantity:
    """The program time by a die's time for each page.

    Dies that program several pages at once take their pages from the channel at the same time. A page then
    waits for those of the channel's other dies, so less of the cycle is left for the program.
    """
    shape, name = times.shape, "program time"
    value = cycle_us - times.page_us
    if not half < value:
        return Quantity.within(name, "us", value, half)
    low = max(0.0, cycle_us - shape.dies / shape.channels * times.page_us - half)
    remark = "for each page, from all dies' rate; less if a die programs several at once"
    return Quantity(name, "us", value, low, value + half, remark)


def _at_once(measures: Measures, page_us: float) -> int:
    """Pages that a die programs at once: of so many flushes one waits for the program."""
    if measures.sync_us is None or measures.sync_p99_us is None:
        return 1
    ratio = (measures.sync_p99_us - page_us) / (measures.sync_us - page_us)
    return max(1, round(ratio)) if abs(ratio - round(ratio)) < NEAR * ratio else 1


def _link(byte_us: float, results: Results, times: Times) -> Quantity:
    small, large = BURST_BYTES
    error = 2 * max(times.error, 0.001) * (_idle_us(results, large) + _idle_us(results, small))
    half = error / (large - small)
    if not half < byte_us:
        return Quantity("link, writes", "MB/s", why="the write time hardly depends on the size")
    return Quantity("link, writes", "MB/s", 1 / byte_us, 1 / (byte_us + half), 1 / (byte_us - half))


def _buffer(results: Results, times: Times, program: Program, byte_us: float, jobs: int | None) -> Quantity:
    name, unit = "write buffer", "B"
    time_us = program.time.value
    if time_us is None:
        return Quantity(name, unit, why=f"it takes the program time: {program.time.why}")
    for bs in BURST_BYTES:
        full = _full(results, bs)
        if len(full) > 1:
            break
    else:
        return Quantity(name, unit, why="flash takes writes as fast as the link brings them")
    drive = _model(results, times, program, byte_us)
    first = _first(full, time_us + times.page_us)
    if not full[0].bs < first:
        return Quantity(name, unit, why="no burst ends with more bytes than flash has taken: no buffer")
    found = _refined(drive, full[:ROWS], first, jobs)
    if not program.is_protected or found.low is None or found.high is None:
        return found
    # Dies that program several pages at once hold some of them; no job shows how many.
    held = (MOST_PAGES - 1) * times.shape.dies * times.shape.page_bytes
    return replace(found, low=max(0.0, found.low - held), high=found.high + held)


def _first(full: Sequence[Burst], cycle_us: float) -> float:
    """The buffer by the first bursts that met a full one."""
    drain = _rate_between(full) or 0.0
    return full[0].bytes - drain * max(0.0, full[0].time_us - cycle_us / 2)


def _model(results: Results, times: Times, program: Program, byte_us: float) -> Drive:
    """The drive as far as it is known. A command's and a list's time count as latency."""
    small, _ = BURST_BYTES
    return replace(
        drive_of(times),
        program_us=program.time.value or 0.0,
        program_pages=program.count,
        protected=program.is_protected,
        link_write_mb_s=min(1e5, 1 / byte_us) if byte_us > 0 else 1e5,
        latency_us=max(0.0, _idle_us(results, small) - byte_us * small),
        list_us=0.0,
    )


@dataclass(frozen=True)
class BurstBench(Bench):
    """A bench that runs bursts on an erased drive."""

    lengths: Mapping[str, int]

    def of(self, case: Case, sets: Sequence[str] = ()) -> Experiment:
        """The experiment for a burst."""
        (row,) = case.rows
        text = (
            f"[global]\nfilename=/dev/drive\nioengine=libaio\n[job0]\nrw=write\nbs={row.job.bs}\n"
            f"size={self.lengths[row.name]}\n"
        )
        return self.experiment.override(*sets, f"workload={toml_value({'fio': {'text': text}})}")


def _refined(drive: Drive, full: Sequence[Burst], first: float, jobs: int | None) -> Quantity:
    """The buffer by the fit, between 0.5 and 2 times the first estimate."""
    least = 2 * max(each.bytes for each in full)
    base = bench_of(drive.built(1, least).override('precondition={fill="none"}'), 1)
    bench = BurstBench(
        base.experiment, base.requests, base.logical_bytes, {each.name: each.bytes for each in full}
    )
    cases = [
        Case((Row(each.name, Job("write", each.bs, 1), "write", {"mean_us": each.mean_us}, each.name),))
        for each in full
    ]
    low, high = (max(ROUND, round(factor * first / ROUND) * ROUND) for factor in (0.5, 2))
    free = free_of(bench, {BUFFER: f"{low}..{high}"})
    wanted = Search(bench, free, cases, BUDGET, 1, jobs)
    best = search(wanted)
    known = known_of(wanted, best)
    (value,) = wanted.values(best.places)
    alone = None if known is None else known.alone[0]
    remark = f"writes of {short(full[0].bs)}: steps of a write or a page are not visible"
    return Quantity.within("write buffer", "B", value, full[0].bs if alone is None else alone, remark)
