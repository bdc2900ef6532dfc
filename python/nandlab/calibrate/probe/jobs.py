"""The probe's jobs, and the files for fio.

Each job isolates one part of a drive. `docs/calibrating.md` explains them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nandlab.writing.new_file import write_whole

TARGET = "/dev/nvme9n9"
"""The placeholder for a device."""

SHARED = ("norandommap=1", "randrepeat=0")
"""Options of all jobs: places come again, and each pass has other ones."""

READ_S = 6
"""Seconds of a read job after its ramp."""

HOT_BYTES = (4096, 8192, 16384)
"""Sizes of reads of one place."""
REGIONS = (8192, 16384, 32768, 65536, 131_072)
"""Regions read in pieces of 4 KiB."""
SIZES = tuple(4096 << at for at in range(9))
"""Sizes of single random reads: 4 KiB to 1 MiB."""
ALIGNMENTS = tuple(8192 << at for at in range(10))
"""Alignments of random reads of 4 KiB: 8 KiB to 4 MiB."""
SYNC_BYTES = (4096, 8192, 16384, 32768, 65536)
"""Sizes of writes with a flush behind each."""
BURST_BYTES = (16384, 131_072)
"""Sizes of writes in a burst."""
BURSTS = tuple(1 << at for at in range(10))
"""Lengths of bursts in MiB."""
WRITES_BYTES = 2 * sum(BURSTS) * 2**20
"""Bytes that all bursts write together."""


@dataclass(frozen=True)
class ProbeJob:
    """A job: its name, and its options besides the shared ones."""

    name: str
    options: Mapping[str, str]

    @property
    def pauses(self) -> bool:
        """Whether the job only leaves the drive idle."""
        return self.name.startswith("pause")


@dataclass(frozen=True)
class JobFile:
    """A file with jobs that run one after the other."""

    name: str
    """Its name without an ending; the results are `NAME.json`."""
    title: str
    destroys: str
    """What it destroys; empty for a file that only reads."""
    jobs: tuple[ProbeJob, ...]

    def text(self, target: str) -> str:
        """The file's text, with a device or a file as the target."""
        head = [f"# {self.title}"]
        head += [f"# THIS DESTROYS DATA: {self.destroys}"] if self.destroys else ["# It only reads."]
        head += [f"#   {command(self)}", *("[global]", "ioengine=libaio", "direct=1", f"filename={target}")]
        head += [*SHARED, "percentile_list=50:90:99:99.9"]
        for job in self.jobs:
            head += ["", f"[{job.name}]", "stonewall"]
            head += [f"{key}={value}" for key, value in job.options.items()]
        return "\n".join(head) + "\n"


def command(file: JobFile) -> str:
    """The command that runs a file, in its folder. With `--readonly` fio refuses to write."""
    only = "" if file.destroys else " --readonly"
    return f"fio{only} --output-format=json --output={file.name}.json {file.name}.fio"


def short(size: int) -> str:
    """Bytes as fio writes them.

    >>> short(4096), short(512), short(2**20)
    ('4k', '512', '1m')
    """
    for unit, name in ((2**20, "m"), (2**10, "k")):
        if size % unit == 0:
            return f"{size // unit}{name}"
    return str(size)


def _read(name: str, bs: int, depth: int, **more: str) -> ProbeJob:
    timed = {"time_based": "1", "ramp_time": "1", "runtime": str(READ_S)}
    return ProbeJob(name, {"rw": "randread", "bs": short(bs), "iodepth": str(depth), **timed, **more})


def _place(name: str, bs: int, depth: int, size: int) -> ProbeJob:
    """Reads of one region, again and again: a job with a runtime makes one pass of them."""
    return _read(name, bs, depth, size=short(size), io_size="1t")


def _reads() -> tuple[ProbeJob, ...]:
    found = [_place("hot.4k.qd1", 4096, 1, 4096)]
    found += [_place(f"hot.{short(size)}.qd32", size, 32, size) for size in HOT_BYTES]
    found += [_place(f"region.{short(size)}", 4096, 32, size) for size in REGIONS]
    found += [_read(f"read.{short(size)}.qd1", size, 1) for size in SIZES]
    found += [_read("read.4k.qd256", 4096, 256), _read("read.128k.qd64", 131_072, 64)]
    found += [_read(f"align.{short(size)}", 4096, 256, ba=short(size)) for size in ALIGNMENTS]
    # A drive with sectors of 4 KiB refuses it, so it is the last one.
    return (*found, _place("hot.512.qd32", 512, 32, 512))


def _writes() -> tuple[ProbeJob, ...]:
    found = []
    for size in SYNC_BYTES:
        options = {"rw": "write", "bs": short(size), "iodepth": "1", "fsync": "1", "size": "64m"}
        found.append(ProbeJob(f"sync.{short(size)}", {**options, "time_based": "1", "runtime": "4"}))
    offset = 64 * 2**20
    for size in BURST_BYTES:
        for length in BURSTS:
            name = f"{short(size)}.{length}m"
            idle = {"rw": "read", "bs": "4k", "iodepth": "1", "rate_iops": "10"}
            found.append(ProbeJob(f"pause.{name}", {**idle, "time_based": "1", "runtime": "2"}))
            options = {"rw": "write", "bs": short(size), "iodepth": "1", "offset": str(offset)}
            found.append(ProbeJob(f"burst.{name}", {**options, "size": f"{length}m"}))
            offset += length * 2**20
    return tuple(found)


READS = JobFile(
    "probe-reads",
    "Reads that tell page, dies, channels, link and times. 4 minutes. Fill the drive in sequence before it.",
    "",
    _reads(),
)
WRITES = JobFile(
    "probe-writes",
    "Writes that tell program time and buffer. 2 minutes. Format or trim the whole drive before it.",
    "it overwrites the first 3 GiB of the drive, and needs a drive that was formatted or trimmed as a whole.",
    _writes(),
)
FILL = JobFile(
    "probe-fill",
    "A sequential fill, so that reads meet data in a known order. It takes as long as the drive takes.",
    "it overwrites the whole drive.",
    (ProbeJob("fill", {"rw": "write", "bs": "1m", "iodepth": "32", "size": "100%"}),),
)
OVERWRITE = JobFile(
    "probe-overwrite",
    "Random writes until the drive collects: they tell the spare area. It takes as long as the drive takes.",
    "it overwrites the whole drive.",
    (
        ProbeJob(
            "overwrite",
            {
                "rw": "randwrite",
                "bs": "64k",
                "iodepth": "64",
                "size": "100%",
                "io_size": "50%",
                "write_bw_log": "probe-overwrite",
                "log_avg_msec": "1000",
            },
        ),
    ),
)
FILES = (WRITES, FILL, READS, OVERWRITE)
"""All files, in the order in which they run."""
LOG = "probe-overwrite_bw.1.log"
"""fio's log beside the results of `OVERWRITE`."""


def files(writes: bool) -> Sequence[JobFile]:
    """The files to write."""
    return FILES if writes else (READS,)


def readme(chosen: Sequence[JobFile], target: str) -> str:
    """How to run the files."""
    lines = [f"Jobs of `nandlab calibrate --probe-jobs` for {target}. They need fio 3.28 or newer."]
    if target == TARGET:
        lines += ["", "First put your drive in the place of the placeholder:", ""]
        names = " ".join(f"{file.name}.fio" for file in chosen)
        lines.append(f"  sed -i s,{TARGET},/dev/YOURS, {names}")
    if len(chosen) > 1:
        lines += [
            "",
            "THEY DESTROY ALL DATA ON THE DRIVE. Before the first file, trim all of it: blkdiscard.",
        ]
    lines += ["", "Run in this folder, in this order:", ""]
    for file in chosen:
        lines += [f"  {command(file)}", f"      {file.title}"]
        if file.destroys:
            lines.append(f"      DESTROYS DATA: {file.destroys}")
    if len(chosen) == 1:
        lines += ["", "The reads tell most on a drive that was filled in sequence."]
    return "\n".join([*lines, "", "Then: nandlab calibrate --probe THIS_FOLDER", ""])


def write_jobs(folder: str, writes: bool, target: str) -> Sequence[JobFile]:
    """Writes the files and README.txt; raises OSError with a sentence."""
    chosen = files(writes)
    Path(folder).mkdir(parents=True, exist_ok=True)
    # No job file stays that this README does not warn of.
    for name in {file.name for file in files(True)} - {file.name for file in chosen}:
        (Path(folder) / f"{name}.fio").unlink(missing_ok=True)
    for file in chosen:
        write_whole(Path(folder) / f"{file.name}.fio", file.text(target).encode())
    write_whole(Path(folder) / "README.txt", readme(chosen, target).encode())
    return chosen
