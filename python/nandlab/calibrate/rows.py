"""Rows measured on a drive: jobs, and their figures.

A row is one direction in one job. Jobs at the same time make up a `Case`; one run measures it
again. Job options have fio's names and form: `bs=4k`, `iodepth=32`, `rate=10m`.
"""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from nandlab import reading
from nandlab._native import ConfigError
from nandlab.calibrate.words import known_or_near
from nandlab.writing import units
from nandlab.writing.new_file import readable

Direction = Literal["read", "write"]

ACCURACY = {
    "iops": 0.01,
    "mean_us": 0.02,
    "p50_us": 0.03,
    "p90_us": 0.03,
    "p99_us": 0.05,
    "p999_us": 0.2,
    "request_uj": 0.02,
    "power_w": 0.02,
}
"""Possible figures in a row, and each one's relative error that counts as one unit in the fit."""

KINDS: Mapping[str, tuple[Direction, ...]] = {
    "read": ("read",),
    "write": ("write",),
    "randread": ("read",),
    "randwrite": ("write",),
    "rw": ("read", "write"),
    "randrw": ("read", "write"),
}
"""Values for `rw`, and such a job's directions."""

ENERGY = ("request_uj", "power_w")
"""Figures from a meter: energy for each of the row's requests in microjoules, and mean power in watts. In a
case with several rows both count the whole drive."""
OPTIONS = ("name", "group", "rw", "bs", "iodepth", "numjobs", "rwmixread", "rate", "direction", "hold_out")
TIMES = tuple(figure for figure in ACCURACY if figure not in ENERGY)
"""Figures that fio measures."""
FIGURES = (*TIMES, "energy_j", "power_w")
"""Columns with figures: `energy_j` becomes `request_uj`."""
COLUMNS = (*OPTIONS, *FIGURES, "requests", "runtime_s")
ALSO = {
    "kind": "rw",
    "operation": "rw",
    "block_bytes": "bs",
    "request_bytes": "bs",
    "queue_depth": "iodepth",
    "jobs": "numjobs",
    "lat_mean_us": "mean_us",
    "lat_p50_us": "p50_us",
    "lat_p90_us": "p90_us",
    "lat_p99_us": "p99_us",
    "lat_p99.9_us": "p999_us",
}
"""Other names for columns."""
UNUSED = ("bandwidth_bytes_s", "condition", "engine", "lat_max_us", "note", "source_path")
"""Columns that may be there and change nothing."""
NEEDED = ("rw", "bs", "iodepth")
SECTOR = 512


@dataclass(frozen=True)
class Job:
    """A job's work."""

    rw: str
    bs: int
    """Bytes in a request."""
    iodepth: int
    numjobs: int = 1
    rwmixread: int = 50
    """Share of reads in a mix, in per cent."""
    rate: int = 0
    """Most bytes a second for each clone in each direction; 0 for no limit."""

    @property
    def label(self) -> str:
        """A name such as `randread.4k.qd32`."""
        size = f"{self.bs // 1024}k" if self.bs % 1024 == 0 else f"{self.bs}b"
        clones = f".x{self.numjobs}" if self.numjobs > 1 else ""
        unit, name = (2**20, "mib_s") if self.rate >= 2**20 else (2**10, "kib_s")
        rate = f".{units.short(self.rate / unit)}{name}" if self.rate else ""
        mix = f".r{self.rwmixread}" if len(KINDS[self.rw]) > 1 else ""
        return f"{self.rw}{mix}.{size}.qd{self.iodepth}{clones}{rate}"


@dataclass(frozen=True)
class Row:
    """A job's direction, with its measured figures."""

    name: str
    job: Job
    direction: Direction
    measured: Mapping[str, float]
    """Figures by their names in `ACCURACY`; empty for a job that only ran beside others."""
    where: str
    """The file and the place in it."""
    hold_out: bool = False


@dataclass(frozen=True)
class Case:
    """Rows whose jobs ran at the same time; rows from one job stand together."""

    rows: tuple[Row, ...]

    @property
    def jobs(self) -> list[tuple[str, Job]]:
        """The jobs by their rows' names, without directions."""
        return list(dict.fromkeys((_without_direction(row), row.job) for row in self.rows))

    def job_of(self, row: Row) -> int:
        """The index in `jobs` for a row's job."""
        return self.jobs.index((_without_direction(row), row.job))


def _without_direction(row: Row) -> str:
    return row.name.removesuffix(f".{row.direction}")


@dataclass
class _Line:
    """A line in a table; its cells are taken one by one."""

    cells: Mapping[str, str]
    where: str

    def refused(self, column: str, why: str) -> ConfigError:
        return ConfigError(f"{self.where}: {column}: {why}")

    def text(self, column: str) -> str:
        return (self.cells.get(column) or "").strip()

    def whole(self, column: str, default: int, least: int, most: int) -> int:
        text = self.text(column)
        if not text:
            return default
        if not re.fullmatch(r"\d{1,9}", text) or not least <= int(text) <= most:
            raise self.refused(column, f"expected a whole number from {least:,} to {most:,}, given {text!r}")
        return int(text)

    def size(self, column: str, default: int = 0) -> int:
        text = self.text(column)
        if not text:
            return default
        try:
            return bytes_of(text)
        except ValueError:
            raise self.refused(column, f"expected bytes such as 4096 or 4k, given {text!r}") from None


def bytes_of(text: str) -> int:
    """Bytes as fio writes them: k, m and g are powers of 1,024.

    Raises:
        ValueError: It is no such size.

    >>> bytes_of("4k"), bytes_of("4 KiB"), bytes_of("512")
    (4096, 4096, 512)

    """
    found = re.fullmatch(r"\s*(\d{1,15})\s*([kmgt]?)(?:i?b)?\s*", text, re.IGNORECASE)
    if found is None:
        raise ValueError(text)
    return int(found[1]) * 1024 ** " kmgt".index(found[2].lower() or " ")


def read_csv(path: str | os.PathLike[str], note: Callable[[str], object] = lambda _: None) -> list[Case]:
    """A table's rows; `note` hears about unused columns.

    Raises:
        ConfigError: With the file, the line, the column, and the allowed values.
        OSError: The file cannot be read.

    """
    name = readable(path)
    try:
        text = reading.text(path, "utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name}: byte {error.start} is not UTF-8 text") from None
    kept = [(at, line) for at, line in enumerate(text.splitlines(), 1) if line.strip() and line[0] != "#"]
    if not kept:
        raise ConfigError(f"{name}: the file is empty: expected a line with columns and a line for each row")
    reader = csv.reader(line for _, line in kept)
    columns = _columns(name, [cell.strip() for cell in next(reader)])
    unused = [column for column in columns if column in UNUSED]
    if "energy_j" not in columns:
        unused += [column for column in columns if column in ("requests", "runtime_s")]
    if unused:
        note(f"{name}: not used: {', '.join(unused)}")
    rows: dict[str, list[Row]] = {}
    for (at, _), cells in zip(kept[1:], reader, strict=False):
        where = f"{name}, line {at}"
        if len(cells) != len(columns):
            raise ConfigError(f"{where}: {len(cells)} cells, and the first line names {len(columns)} columns")
        line = _Line(dict(zip(columns, cells, strict=True)), where)
        rows.setdefault(line.text("group") or where, []).append(_row(line))
    if not rows:
        raise ConfigError(f"{name}: there are columns and no rows")
    return [Case(tuple(_adjacent(each))) for each in rows.values()]


def _columns(name: str, given: Sequence[str]) -> Sequence[str]:
    columns = [ALSO.get(column, column) for column in given]
    for column in columns:
        known_or_near(f"{name}: there is no column", column, (*COLUMNS, *ALSO, *UNUSED))
        if columns.count(column) > 1:
            raise ConfigError(f"{name}: the column {column} is there twice")
    missing = [column for column in NEEDED if column not in columns]
    if missing:
        raise ConfigError(f"{name}: the column {missing[0]} is missing; rows need {', '.join(NEEDED)}")
    if not set(columns) & set(FIGURES):
        raise ConfigError(f"{name}: no column has a measured figure; there are {', '.join(FIGURES)}")
    return columns


def _row(line: _Line) -> Row:
    job = checked(
        Job(
            rw=line.text("rw"),
            bs=line.size("bs"),
            iodepth=line.whole("iodepth", 1, 1, 65_536),
            numjobs=line.whole("numjobs", 1, 1, 64),
            rwmixread=line.whole("rwmixread", 50, 0, 100),
            rate=line.size("rate"),
        ),
        line.where,
    )
    measured = {}
    for figure in (*TIMES, "power_w"):
        if text := line.text(figure):
            measured[figure] = _figure(line, figure, text)
    if text := line.text("energy_j"):
        measured["request_uj"] = 1e6 * _figure(line, "energy_j", text) / _requests(line, measured)
    direction = line.text("direction") or KINDS[job.rw][0]
    if direction not in KINDS[job.rw]:
        allowed = " or ".join(KINDS[job.rw])
        raise line.refused("direction", f"rw = {job.rw} has {allowed}, given {direction!r}")
    held = line.text("hold_out")
    if held not in ("", "yes", "no"):
        raise line.refused("hold_out", f"expected yes or no, given {held!r}")
    return named_row(line.text("name") or job.label, job, direction, measured, line.where, held == "yes")


def _requests(line: _Line, measured: Mapping[str, float]) -> float:
    """The requests that took a row's energy."""
    if text := line.text("requests"):
        return _figure(line, "requests", text)
    text = line.text("runtime_s")
    if text and "iops" in measured:
        return _figure(line, "runtime_s", text) * measured["iops"]
    raise line.refused("energy_j", "it needs the row's requests, or its runtime_s and iops")


def named_row(  # noqa: PLR0913 - the fields of a row
    name: str, job: Job, direction: str, measured: Mapping[str, float], where: str, hold_out: bool
) -> Row:
    """A row; in a mix its name ends with the direction."""
    toward: Direction = "write" if direction == "write" else "read"
    full = f"{name}.{toward}" if len(KINDS[job.rw]) > 1 else name
    return Row(full, job, toward, measured, where, hold_out)


def _figure(line: _Line, figure: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise line.refused(figure, f"expected a number above 0, given {text!r}")
    return value


def checked(job: Job, where: str) -> Job:
    """The job, if it can run.

    Raises:
        ConfigError: With the place, the option and the allowed values.

    """
    known_or_near(f"{where}: rw: there is no kind of job", job.rw, tuple(KINDS))
    if job.bs == 0 or job.bs % SECTOR:
        raise ConfigError(f"{where}: bs: expected a multiple of {SECTOR} bytes above 0, given {job.bs}")
    return job


def _adjacent(rows: Sequence[Row]) -> Iterable[Row]:
    """The rows, with each job's rows together."""
    keys = list(dict.fromkeys(_without_direction(row) for row in rows))
    return sorted(rows, key=lambda row: keys.index(_without_direction(row)))


@dataclass(frozen=True)
class Rows:
    """All cases in a calibration, with different names."""

    cases: tuple[Case, ...]
    files: tuple[str, ...] = field(default=())

    @property
    def rows(self) -> list[Row]:
        """Rows with a measured figure."""
        return [row for case in self.cases for row in case.rows if row.measured]


def together(cases: Iterable[Case], files: Sequence[str]) -> Rows:
    """The cases from all files; a repeated name gets a number.

    Raises:
        ConfigError: No row has a measured figure.

    """
    taken: dict[str, int] = {}
    found = []
    for case in cases:
        rows = []
        for row in case.rows:
            count = taken[row.name] = taken.get(row.name, 0) + 1
            rows.append(row if count == 1 else replace(row, name=_numbered(row, count)))
        found.append(Case(tuple(rows)))
    rows_of = Rows(tuple(found), tuple(files))
    if not rows_of.rows:
        raise ConfigError(f"{', '.join(files)}: no row has a measured figure")
    return rows_of


def _numbered(row: Row, count: int) -> str:
    base = _without_direction(row)
    return f"{base}#{count}{row.name.removeprefix(base)}"
