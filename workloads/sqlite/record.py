"""Records this folder's block traces from a real SQLite, and checks them.

Usage: python3 record.py [--output FOLDER]   record both traces (Linux, needs strace)
       python3 record.py --check             validate the traces and print their counts

`application.py` runs under strace, once with a rollback journal and once with a
write-ahead log (WAL). The system calls on the database's files become requests
to a block device of 512-byte sectors; README.md states the rules.
"""

import argparse
import dataclasses
import gzip
import hashlib
import os
import pathlib
import platform
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator

FOLDER = pathlib.Path(__file__).resolve().parent
TRACES = {"rollback": "delete", "wal": "wal"}  # file name and journal mode
HEADER = "time_us,op,sector,sectors,origin"
ORIGINS = {"": "database", "-journal": "journal", "-wal": "wal"}  # by the suffix of the file name
DATABASE = "app.db"

SECTOR_BYTES = 512
PAGE_SECTORS = 8
EXTENT_SECTORS = 128
DEVICE_SECTORS = 122_368  # 59.75 MiB: what 64 MiB of flash exports at 7 % over-provisioning
MERGE_SECTORS = 256

CALLS = (
    "?open,openat,?creat,close,?dup,?dup2,dup3,read,write,readv,writev,pread64,pwrite64,preadv,pwritev,"
    "fsync,fdatasync,ftruncate,truncate,?unlink,unlinkat,?rename,renameat,?renameat2,lseek,fallocate,mmap"
)
LINE = re.compile(r"(\d+) +(\d+)\.(\d{6}) (\w+)\((.*)\) += (-?\w+)(.*)")
PATH = re.compile(r"<([^>]*)>")
QUOTED = re.compile(r'"([^"]*)"')
REQUEST = re.compile(r"([RWTF]),(\d+),(\d+),(database|journal|wal)")


class RecordError(Exception):
    """A sentence for the person who records."""


class Layout:
    """A map from files to the device: extents of 64 KiB, the lowest free one first.

    Extent 0 belongs to the file system's superblock and is never given away.
    """

    def __init__(self) -> None:
        self.used = bytearray(DEVICE_SECTORS // EXTENT_SECTORS)
        self.used[0] = 1
        self.files: dict[str, list[int]] = {}

    def grow(self, name: str, sectors: int) -> None:
        """Gives the file `name` extents until it holds `sectors`."""
        extents = self.files.setdefault(name, [])
        while len(extents) * EXTENT_SECTORS < sectors:
            free = self.used.find(0)
            if free < 0:
                raise RecordError(f"The device of {DEVICE_SECTORS} sectors is full; shrink the tables.")
            self.used[free] = 1
            extents.append(free)

    def shrink(self, name: str, sectors: int) -> Iterator[tuple[int, int]]:
        """Frees extents wholly beyond `sectors`; yields the freed runs (sector, sectors)."""
        extents = self.files.get(name, [])
        keep = -(-sectors // EXTENT_SECTORS)
        freed = sorted(extents[keep:])
        del extents[keep:]
        for extent in freed:
            self.used[extent] = 0
        return runs((extent * EXTENT_SECTORS, EXTENT_SECTORS) for extent in freed)

    def locate(self, name: str, first: int, end: int) -> Iterator[tuple[int, int]]:
        """The device runs (sector, sectors) behind a file's sectors `first` to `end` (excluded)."""
        extents = self.files[name]
        pieces = []
        while first < end:
            within = first % EXTENT_SECTORS
            length = min(EXTENT_SECTORS - within, end - first)
            pieces.append((extents[first // EXTENT_SECTORS] * EXTENT_SECTORS + within, length))
            first += length
        return runs(pieces)


def runs(pieces: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Joins adjacent pieces (sector, sectors)."""
    start, length = 0, 0
    for sector, sectors in pieces:
        if length and sector == start + length:
            length += sectors
            continue
        if length:
            yield start, length
        start, length = sector, sectors
    if length:
        yield start, length


class Trace:
    """The requests so far, and the ones a further call may still extend.

    One request per file and direction is open. Any flush or trim closes it, and so
    does a request in the other direction on its file: a merge never moves an access
    past one it must stay behind.
    """

    def __init__(self) -> None:
        self.requests: list[list] = []  # [time_us, op, sector, sectors, origin]
        self.open: dict[tuple[str, str], list] = {}

    def transfer(self, time_us: int, op: str, sector: int, sectors: int, origin: str) -> None:
        """Adds a read or write, or extends an open request it continues."""
        self.open.pop(("R" if op == "W" else "W", origin), None)
        request = self.open.get((op, origin))
        if request is not None and self.extend(request, sector + sectors, sector):
            return
        while sectors:
            length = min(sectors, MERGE_SECTORS)
            request = [time_us, op, sector, length, origin]
            self.requests.append(request)
            sector, sectors = sector + length, sectors - length
        self.open[op, origin] = request

    @staticmethod
    def extend(request: list, end: int, sector: int) -> bool:
        """Lengthens `request` to `end` when `sector` is its last one or the next."""
        _, op, start, length, _ = request
        if not start + length - 1 <= sector <= start + length or end - start > MERGE_SECTORS:
            return False
        if end <= start + length:
            return op == "W"  # written again before it was sent; a second read of a sector is a request
        request[3] = end - start
        return True

    def barrier(self, time_us: int, op: str, sector: int, sectors: int, origin: str) -> None:
        """Adds a flush or a trim."""
        self.open.clear()
        self.requests.append([time_us, op, sector, sectors, origin])


class Converter:
    """Turns one process's system calls into requests.

    `position` keeps the file offset behind each descriptor, as a list with one
    number; duplicated descriptors share it.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.origins = {f"{folder}/{DATABASE}{suffix}": origin for suffix, origin in ORIGINS.items()}
        self.shared_memory = f"{folder}/{DATABASE}-shm"
        self.layout = Layout()
        self.trace = Trace()
        self.position: dict[int, list[int]] = {}
        self.process = ""
        self.now_us = 0

    def line(self, text: str) -> None:
        """Takes one line from strace; failed calls and calls on other files are passed over."""
        if self.folder not in text:
            return  # most lines: the start of the interpreter
        match = LINE.fullmatch(text)
        if match is None:
            raise RecordError(f"strace printed a line that the recorder does not understand: {text!r}.")
        process, seconds, micros, call, arguments, result, result_path = match.groups()
        if result.startswith("-"):
            return
        # The system's clock may step back, a trace may not.
        self.now_us = max(self.now_us, int(seconds) * 1_000_000 + int(micros))
        path = path_of(call, arguments, result_path)
        if path == self.folder and call in ("fsync", "fdatasync"):
            self.trace.barrier(self.now_us, "F", 0, 0, "journal")
        elif path in self.origins:
            if self.process not in ("", process):
                raise RecordError("Two processes used the database; the recorder follows one.")
            self.process = process
            self.convert(call, self.origins[path], arguments, int(result, 0))
        elif path.startswith(self.folder + "/") and path != self.shared_memory:
            raise RecordError(f"SQLite used an unexpected file: {pathlib.PurePath(path).name}.")

    def convert(self, call: str, name: str, arguments: str, result: int) -> None:
        """Takes a successful call on the file `name` with its `result`."""
        last_argument = arguments.rpartition(", ")[2]
        if call in ("pread64", "pwrite64"):
            self.transfer(call[1].upper(), name, int(last_argument), result)
        elif call in ("fsync", "fdatasync"):
            self.trace.barrier(self.now_us, "F", 0, 0, name)
        elif call in ("ftruncate", "truncate"):
            self.truncate(name, int(last_argument))
        elif call in ("unlink", "unlinkat"):
            self.truncate(name, 0)
        elif call in ("open", "openat", "creat") and "O_APPEND" not in arguments:
            self.position[result] = [0]
            if call == "creat" or "O_TRUNC" in arguments:
                self.truncate(name, 0)
        else:
            self.convert_at_position(call, name, arguments, result)

    def convert_at_position(self, call: str, name: str, arguments: str, result: int) -> None:
        """Takes a call that uses or changes the offset behind a descriptor."""
        number = arguments.partition("<")[0]
        position = self.position.get(int(number)) if number.isdecimal() else None
        if call == "close":
            self.position.pop(int(number), None)
        elif call in ("dup", "dup2", "dup3") and position:
            self.position[result] = position
        elif call == "lseek" and position:
            position[0] = result
        elif call in ("read", "write") and position:
            self.transfer(call[0].upper(), name, position[0], result)
            position[0] += result
        else:
            raise RecordError(f"The recorder cannot follow {call} on SQLite's {name} file.")

    def transfer(self, op: str, name: str, offset: int, length: int) -> None:
        """Reads or writes `length` bytes at `offset` in a file, rounded out to sectors."""
        if length == 0:
            return  # a read at the end of the file
        first, end = offset // SECTOR_BYTES, -(-(offset + length) // SECTOR_BYTES)
        self.layout.grow(name, end)
        for sector, sectors in self.layout.locate(name, first, end):
            self.trace.transfer(self.now_us, op, sector, sectors, name)

    def truncate(self, name: str, size: int) -> None:
        """Sets a file's size in bytes; 0 also stands for its removal."""
        sectors = -(-size // SECTOR_BYTES)
        self.layout.grow(name, sectors)
        for sector, count in self.layout.shrink(name, sectors):
            self.trace.barrier(self.now_us, "T", sector, count, name)


def path_of(call: str, arguments: str, result_path: str) -> str:
    """The path of the file behind a call; empty without a file.

    strace prints each descriptor's path in angle brackets, and relative names
    behind their folder's descriptor.
    """
    if call in ("open", "openat", "creat"):
        annotated = PATH.search(result_path)
        return annotated[1] if annotated else ""
    annotated, name = PATH.search(arguments), QUOTED.search(arguments)
    if call in ("truncate", "unlink", "unlinkat", "rename", "renameat", "renameat2"):
        return str(pathlib.PurePosixPath(annotated[1] if annotated else "", name[1]))
    return annotated[1] if annotated else ""


@dataclasses.dataclass
class Counts:
    """A trace's figures; `--check` prints the fields in this order.

    Origins have their shares among requests. The footprint is the number of 4 KiB pages
    ever written. The mapped share is the part of the device's sectors with data
    (written, not trimmed), its mean taken over the written sectors. Unwritten
    reads touch a sector without data. The digest covers all columns but the time.
    """

    requests: int = 0
    reads: int = 0
    writes: int = 0
    trims: int = 0
    flushes: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    trimmed_bytes: int = 0
    mean_write_bytes: float = 0.0
    database_share: float = 0.0
    journal_share: float = 0.0
    wal_share: float = 0.0
    highest_sector: int = 0
    footprint_pages: int = 0
    written_over_footprint: float = 0.0
    mapped_share_mean: float = 0.0
    mapped_share_max: float = 0.0
    unwritten_reads: int = 0
    duration_s: float = 0.0
    compressed_bytes: int = 0
    requests_sha256: str = ""


class Checker:
    """Validates a trace line by line and replays it on a map with the written sectors."""

    def __init__(self) -> None:
        self.counts = Counts()
        self.written = bytearray(DEVICE_SECTORS)
        self.ever_written = bytearray(DEVICE_SECTORS // PAGE_SECTORS)
        self.mapped = 0
        self.mapped_sum = 0
        self.by_origin = dict.fromkeys(ORIGINS.values(), 0)
        self.time_us = 0
        self.digest = hashlib.sha256()

    def line(self, text: str) -> None:
        """Takes one line; a `RecordError` names the fault in it."""
        time_text, _, rest = text.partition(",")
        match = REQUEST.fullmatch(rest)
        if match is None or not time_text.isdecimal():
            raise RecordError(f"expected {HEADER}, found {text!r}")
        time_us = int(time_text)
        if time_us < self.time_us or (self.counts.requests == 0 and time_us != 0):
            raise RecordError(f"the time starts at 0 and never decreases, found {time_us}")
        self.time_us = time_us
        self.digest.update(rest.encode() + b"\n")
        op, sector, sectors, origin = match[1], int(match[2]), int(match[3]), match[4]
        self.counts.requests += 1
        self.by_origin[origin] += 1
        if op == "F":
            self.counts.flushes += 1
            if sector or sectors:
                raise RecordError(f"a flush has no sectors, found {sector},{sectors}")
            return
        if sectors == 0 or sector < EXTENT_SECTORS or sector + sectors > DEVICE_SECTORS:
            allowed = f"{EXTENT_SECTORS} to {DEVICE_SECTORS - 1}"
            raise RecordError(f"files lie on sectors {allowed}, found {sector},{sectors}")
        if op != "T" and sectors > MERGE_SECTORS:
            raise RecordError(f"a read or write has at most {MERGE_SECTORS} sectors, found {sectors}")
        {"R": self.read, "W": self.write, "T": self.trim}[op](sector, sectors)

    def read(self, sector: int, sectors: int) -> None:
        """Counts a read, and whether it touches a sector without data."""
        self.counts.reads += 1
        self.counts.read_bytes += sectors * SECTOR_BYTES
        if 0 in self.written[sector : sector + sectors]:
            self.counts.unwritten_reads += 1

    def write(self, sector: int, sectors: int) -> None:
        """Counts a write and marks its sectors as mapped."""
        self.counts.writes += 1
        self.counts.written_bytes += sectors * SECTOR_BYTES
        end = sector + sectors
        self.counts.highest_sector = max(self.counts.highest_sector, end - 1)
        self.mapped += self.written.count(0, sector, end)
        self.mapped_sum += self.mapped * sectors
        self.written[sector:end] = b"\1" * sectors
        pages = range(sector // PAGE_SECTORS, (end - 1) // PAGE_SECTORS + 1)
        self.ever_written[pages.start : pages.stop] = b"\1" * len(pages)
        self.counts.mapped_share_max = max(self.counts.mapped_share_max, self.mapped / DEVICE_SECTORS)

    def trim(self, sector: int, sectors: int) -> None:
        """Counts a trim and marks its sectors as empty."""
        if sector % PAGE_SECTORS or sectors % PAGE_SECTORS:
            raise RecordError(f"a trim has whole units of {PAGE_SECTORS} sectors, found {sector},{sectors}")
        self.counts.trims += 1
        self.counts.trimmed_bytes += sectors * SECTOR_BYTES
        self.mapped -= self.written.count(1, sector, sector + sectors)
        self.written[sector : sector + sectors] = bytes(sectors)

    def finish(self) -> Counts:
        """The counts over all lines taken."""
        counts = self.counts
        if counts.writes == 0:
            raise RecordError("it holds no write")
        counts.mean_write_bytes = counts.written_bytes / counts.writes
        for origin, requests in self.by_origin.items():
            setattr(counts, f"{origin}_share", requests / counts.requests)
        counts.footprint_pages = sum(self.ever_written)
        counts.written_over_footprint = counts.written_bytes / (
            counts.footprint_pages * PAGE_SECTORS * SECTOR_BYTES
        )
        counts.mapped_share_mean = self.mapped_sum * SECTOR_BYTES / counts.written_bytes / DEVICE_SECTORS
        counts.duration_s = self.time_us / 1e6
        counts.requests_sha256 = self.digest.hexdigest()[:16]
        return counts


def check(path: pathlib.Path) -> Counts:
    """Reads a trace back; raises `RecordError` with file and line at the first fault."""
    checker = Checker()
    number = 0
    try:
        with gzip.open(path, "rt", encoding="ascii", newline="\n") as lines:
            for number, line in enumerate(lines, start=1):
                if number > 1:
                    checker.line(line.rstrip("\n"))
                elif line != HEADER + "\n":
                    raise RecordError(f"expected the header {HEADER}, found {line!r}")
        counts = checker.finish()
    except FileNotFoundError:
        raise RecordError(f"{path.name} is missing; record it first.") from None
    except (RecordError, OSError, EOFError, UnicodeDecodeError, zlib.error) as fault:
        raise RecordError(f"{path.name}, line {number}: {fault}.") from None
    counts.compressed_bytes = path.stat().st_size
    return counts


def print_table(columns: dict[str, Counts]) -> None:
    """One row per count, one column per trace."""
    print(f"{'':24}" + "".join(f"{name:>18}" for name in columns))
    for field in dataclasses.fields(Counts):
        values = [getattr(counts, field.name) for counts in columns.values()]
        form = {int: ",", float: ",.3f", str: ""}[field.type]
        cells = [format(value, form) for value in values]
        print(f"{field.name:24}" + "".join(f"{cell:>18}" for cell in cells))


def versions() -> str:
    """The recording's versions, as the README states them."""
    strace = subprocess.run(["strace", "-V"], capture_output=True, text=True, check=True)
    return (
        f"SQLite {sqlite3.sqlite_version}, Python {platform.python_version()}, "
        f"strace {strace.stdout.splitlines()[0].split()[-1]}, "
        f"Linux {platform.release().partition('-')[0]} {platform.machine()}"
    )


def require_strace() -> None:
    """Raises a sentence unless strace is there and may trace a process."""
    if shutil.which("strace") is None:
        raise RecordError("Recording needs strace, which is not installed (Debian: apt-get install strace).")
    probe = subprocess.run(
        ["strace", "-f", "-y", "-o", os.devnull, "-e", f"trace={CALLS}", sys.executable, "-S", "-c", ""],
        capture_output=True,
        text=True,
    )
    if probe.returncode != 0:
        reason = (probe.stderr.strip() or "no message").splitlines()[-1]
        raise RecordError(f"strace is installed but cannot trace a process here ({reason}).")


def record(journal_mode: str, trace_path: pathlib.Path) -> None:
    """Runs the application once in a temporary folder and writes its block trace."""
    with tempfile.TemporaryDirectory(prefix="sqlite-record-") as scratch:
        folder = pathlib.Path(scratch).resolve() / "database"
        folder.mkdir()
        calls_path = pathlib.Path(scratch, "calls")
        command = ["strace", "-f", "-y", "-ttt", "-s", "0", "-o", calls_path, "-e", f"trace={CALLS}"]
        command += [sys.executable, "-S", "-B", FOLDER / "application.py", folder / DATABASE, journal_mode]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode != 0:
            reason = (run.stderr.strip() or "no message").splitlines()[-1]
            raise RecordError(f"The application stopped with status {run.returncode} ({reason}).")
        converter = Converter(str(folder))
        with calls_path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                converter.line(line.rstrip("\n"))
    write_trace(converter.trace.requests, trace_path)


def write_trace(requests: list[list], path: pathlib.Path) -> None:
    """Writes requests as CSV, compressed without name and time so that equal requests give equal bytes."""
    if not requests:
        raise RecordError("strace showed no request to the database's files; nothing is written.")
    start_us = requests[0][0]
    lines = [HEADER]
    lines += [f"{time_us - start_us},{','.join(map(str, columns))}" for time_us, *columns in requests]
    unfinished = path.with_suffix(".part")
    try:
        unfinished.write_bytes(
            gzip.compress(("\n".join(lines) + "\n").encode("ascii"), compresslevel=9, mtime=0)
        )
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def main() -> int:
    """Records or checks; the exit status is 0, or 1 with a sentence on standard error."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="validate the traces and print their counts")
    parser.add_argument(
        "--output", type=pathlib.Path, default=FOLDER, help="folder of the traces (default: this one)"
    )
    options = parser.parse_args()
    paths = {name: options.output / f"{name}.csv.gz" for name in TRACES}
    try:
        if not options.check:
            require_strace()
            options.output.mkdir(parents=True, exist_ok=True)
            for name, path in paths.items():
                print(f"recording {name} ...", file=sys.stderr)
                record(TRACES[name], path)
            print(f"Recorded with {versions()}.")
        print_table({name: check(path) for name, path in paths.items()})
    except RecordError as fault:
        print(f"record.py: {fault}", file=sys.stderr)
        return 1
    except OSError as fault:
        print(f"record.py: {fault.filename or options.output}: {fault.strerror}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("record.py: interrupted; a trace that was not finished is not written.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
