"""What reads say: page, dies, channels, read time, channel rate, link.

A die reads its array, then its channel moves the data, then the link does. So

* reads of one place at depth 32 keep one die busy: a request takes `read + bytes * channel`;
* a region of several pages is on several dies, and its reads are faster: the largest slow region is a page;
* reads at places that are multiples of all dies' pages meet a single die: the smallest such distance counts
  dies;
* a single read of n pages takes `outside + read + rounds * (command + page * channel) + bytes * link`, where
  rounds are `ceil(n / channels)`.

All times are one linear least-squares problem. The number of channels is the one with the smallest residual.
The command's time is part of it if the residual is much smaller then. Reads of one place meet one page type.
If random reads take another time, both read times are unknowns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nandlab.calibrate.probe.jobs import ALIGNMENTS, HOT_BYTES, REGIONS, SIZES, short
from nandlab.calibrate.probe.quantity import Quantity
from nandlab.calibrate.probe.results import Results
from nandlab.calibrate.probe.settled import closest

if TYPE_CHECKING:
    import numpy

FLOOR = 0.001
"""Least relative error of a figure: fio rounds."""
TIE = 3.0
"""A residual up to this factor above the smallest one may be as good."""
FASTER = 1.4
"""Several dies are faster than one by more than this factor."""
LIST_BYTES = 8192
"""Commands for more bytes need a list of memory pages."""
NAMES = (
    ("page size", "B"),
    ("dies", ""),
    ("channels", ""),
    ("read time", "us"),
    ("command time", "us"),
    ("channel rate", "MB/s"),
    ("link, reads", "MB/s"),
    ("time outside flash", "us"),
)
UNKNOWNS = ("read_us", "byte_us", "outside_us", "link_byte_us", "list_us", "command_us", "hot_us")
PLAIN = 5
"""Unknowns of a drive without command time and page types; they come first."""
TYPED = 0.015
"""Reads of one place and random reads differ by more than this share on a drive with page types."""
SIMPLER = 2.0
"""A command's time is known if the residual without it is larger by more than this factor."""


@dataclass(frozen=True)
class Shape:
    """Counts that the jobs show."""

    page_bytes: int
    dies: int
    channels: int


@dataclass(frozen=True)
class Times:
    """Times in us, and the half-widths of their intervals."""

    shape: Shape
    values: dict[str, float]
    halves: dict[str, float]
    error: float
    """Relative error of the figures, from the fit's residual."""
    types_us: tuple[float, ...] = ()
    """Read times of page types in turn; empty if all pages are alike."""

    @property
    def page_us(self) -> float:
        """A page's time on the channel."""
        return self.values["command_us"] + self.shape.page_bytes * self.values["byte_us"]

    @property
    def is_typed(self) -> bool:
        """Whether random reads take another time than reads of one place."""
        return self.values["hot_us"] > 0


@dataclass(frozen=True)
class Reads:
    """Quantities, and the times behind them if they are known."""

    quantities: tuple[Quantity, ...]
    times: Times | None


def _die_rate(results: Results) -> float:
    return results.jobs["hot.4k.qd32"].iops


def _random_us(results: Results) -> float:
    """Time of random reads in addition to reads of one place; 0 without page types."""
    one, many = results.jobs["hot.4k.qd1"].mean_us, results.jobs["read.4k.qd1"].mean_us
    return many - one if abs(many - one) > TYPED * one else 0.0


def page_bytes(results: Results) -> int | None:
    """The largest region on one die; None if no region is on several."""
    one, slow = _die_rate(results), 4096
    for size in REGIONS:
        if results.jobs[f"region.{short(size)}"].iops > FASTER * one:
            return slow
        slow = size
    return None


def die_count(results: Results, page: int) -> int | None:
    """Dies by the smallest distance at which all reads meet one die; None without such a distance."""
    one = 1e6 / (1e6 / _die_rate(results) + _random_us(results))
    for size in ALIGNMENTS:
        if size >= page and results.jobs[f"align.{short(size)}"].iops < FASTER * one:
            return max(1, size // page)
    return None


def estimate_reads(results: Results, jobs: int | None = None) -> Reads:
    """The quantities that reads show."""
    if "probe-reads" in results.absent:
        return _unknown(NAMES, results.absent["probe-reads"])
    page = page_bytes(results)
    if page is None:
        return _unknown(
            NAMES,
            "reads of one place are as fast as reads of many: there is a single die, or the drive "
            "answers from memory, or nothing was written there",
        )
    dies = die_count(results, page)
    if dies is None:
        size = Quantity.exact("page size", "B", page)
        rest = _unknown(
            NAMES[1:],
            "no distance up to 4 MiB meets a single die: more dies, or the drive was not filled in sequence",
        )
        return Reads((size, *rest.quantities), None)
    times = fitted(results, page, dies, jobs)
    return Reads(_quantities(results, times), times)


def _unknown(names: Sequence[tuple[str, str]], why: str) -> Reads:
    return Reads(tuple(Quantity(name, unit, why=why) for name, unit in names), None)


def fitted(results: Results, page: int, dies: int, jobs: int | None = None) -> Times:
    """The times for the number of channels with the smallest residual; simulated rows settle a tie."""
    counts = [count for count in range(1, dies + 1) if dies % count == 0]
    found = sorted((_solved(results, Shape(page, dies, count)) for count in counts), key=lambda it: it.error)
    most = max(TIE * found[0].error, FLOOR)
    likely = [replace(each, types_us=_types(results, each)) for each in found if each.error <= most]
    return closest(results, likely, jobs)


def _types(results: Results, times: Times) -> tuple[float, ...]:
    """Read times of two or three page types; empty if all pages are alike.

    Reads at every second page of a die meet the first of two types only, and all of three types.
    """
    if not times.is_typed:
        return ()
    first, mean = times.values["hot_us"], times.values["read_us"]
    second = results.get(f"align.{short(2 * times.shape.dies * times.shape.page_bytes)}")
    if second is None:
        # No job reads at this distance, so the types are not known; the mean over them is.
        return ()
    slower = 1e6 / second.iops - 1e6 / _die_rate(results)
    if abs(slower) < abs(mean - first) / 2:
        return first, max(0.1, 2 * mean - first)
    hot, single = results.jobs["hot.4k.qd1"].p50_us, results.jobs["read.4k.qd1"].p50_us
    middle = mean if hot is None or single is None else max(0.1, first + single - hot)
    return first, middle, max(0.1, 3 * mean - first - middle)


def _rows(results: Results, shape: Shape) -> list[tuple[list[float], float]]:
    """Coefficients of `UNKNOWNS`, and the measured time."""
    rows: list[tuple[list[float], float]] = []
    read, hot = (0.0, 1.0) if _random_us(results) else (1.0, 0.0)
    for size in (512, *HOT_BYTES):
        measures = results.get(f"hot.{short(size)}.qd32")
        if measures is not None and size <= shape.page_bytes:
            rows.append(([read, size, 0, 0, 0, 1, hot], 1e6 / measures.iops))
    rows.append(([read, 4096, 1, 4096, 0, 1, hot], results.jobs["hot.4k.qd1"].mean_us))
    for size in SIZES:
        pages = max(1, size // shape.page_bytes)
        if pages <= shape.dies:
            rounds = math.ceil(pages / shape.channels)
            moved = rounds * min(size, shape.page_bytes)
            row = [1.0, moved, 1.0, size, float(size > LIST_BYTES), rounds, 0.0]
            rows.append((row, results.jobs[f"read.{short(size)}.qd1"].mean_us))
    return rows


def _solved(results: Results, shape: Shape) -> Times:
    """The times with as few unknowns as do."""
    rows = _rows(results, shape)
    typed = (PLAIN + 1,) if _random_us(results) else ()
    plain = _least(rows, shape, (*range(PLAIN), *typed))
    if shape.dies == shape.channels:
        return plain
    whole = _least(rows, shape, (*range(PLAIN + 1), *typed))
    if plain.error > SIMPLER * max(whole.error, FLOOR):
        return whole
    # A command's time may hide in the other numbers.
    hidden = {name: abs(whole.values[name] - plain.values[name]) for name in UNKNOWNS[:PLAIN]}
    return replace(plain, halves={name: half + hidden.get(name, 0.0) for name, half in plain.halves.items()})


def _least(rows: Sequence[tuple[list[float], float]], shape: Shape, used: Sequence[int]) -> Times:
    """Least squares for some of the unknowns; the others are 0."""
    import numpy as np
    from scipy.optimize import nnls

    weighted = np.array([[row[at] / time for at in used] for row, time in rows])
    scale = np.maximum(np.linalg.norm(weighted, axis=0), 1e-12)
    found, _ = nnls(weighted / scale, np.ones(len(rows)))
    residual = weighted / scale @ found - 1
    error = math.sqrt(float(residual @ residual) / max(1, len(rows) - len(used)))
    widths = 2 * max(error, FLOOR) * _spread(weighted / scale) / scale
    values, halves = dict.fromkeys(UNKNOWNS, 0.0), dict.fromkeys(UNKNOWNS, 0.0)
    for at, value, half in zip(used, found / scale, widths, strict=True):
        values[UNKNOWNS[at]], halves[UNKNOWNS[at]] = float(value), float(half)
    return Times(shape, values, halves, error)


def _spread(matrix: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
    """Standard errors for unit errors of the rows; infinite for what no row determines."""
    import numpy as np

    _, sizes, vectors = np.linalg.svd(matrix, full_matrices=True)
    sizes = np.concatenate([sizes, np.zeros(matrix.shape[1] - len(sizes))])
    strong = sizes > 1e-9 * sizes.max()
    spread = np.sqrt(((vectors[strong].T / sizes[strong]) ** 2).sum(axis=1))
    lost = (np.abs(vectors[~strong]) > 1e-6).any(axis=0) if (~strong).any() else np.zeros(len(spread), bool)
    return np.asarray(np.where(lost, math.inf, spread))


def _quantities(results: Results, times: Times) -> tuple[Quantity, ...]:
    shape, values, halves = times.shape, times.values, times.halves
    single = results.jobs["read.4k.qd1"]
    # Random reads meet each page type by chance.
    chance = abs(values["read_us"] - values["hot_us"]) if times.is_typed else 0.0
    half = halves["read_us"] + 2 * chance / math.sqrt(single.requests)
    remark = ""
    if single.p50_us and single.p99_us and single.p99_us > 1.03 * single.p50_us:
        remark = (
            f"reads differ: the 99th percentile is {single.p99_us - single.p50_us:.1f} us above the median"
        )
    if times.is_typed:
        remark = f"the mean of all pages; {values['hot_us']:.4g} at the start of the drive"
    return (
        Quantity.exact("page size", "B", shape.page_bytes, "bytes that one die reads at once"),
        Quantity.exact("dies", "", shape.dies),
        Quantity.exact("channels", "", shape.channels),
        Quantity.within("read time", "us", values["read_us"], half, remark),
        _command(times),
        _rate("channel rate", values["byte_us"], halves["byte_us"]),
        _rate("link, reads", values["link_byte_us"], halves["link_byte_us"]),
        Quantity.within("time outside flash", "us", values["outside_us"], halves["outside_us"]),
    )


def _command(times: Times) -> Quantity:
    if times.shape.dies == times.shape.channels:
        why = "with one die on each channel it counts as read and program time"
        return Quantity("command time", "us", why=why)
    if not times.values["command_us"]:
        return Quantity("command time", "us", why="it is too small to show")
    return Quantity.within(
        "command time", "us", times.values["command_us"], times.halves["command_us"], "on the channel"
    )


def _rate(name: str, byte_us: float, half: float) -> Quantity:
    """A rate from a time for each byte, in 10^6 bytes a second."""
    if not byte_us > 0 or not half < byte_us:
        return Quantity(name, "MB/s", why="no job depends on it by more than the figures' accuracy")
    return Quantity(name, "MB/s", 1 / byte_us, 1 / (byte_us + half), 1 / (byte_us - half))
