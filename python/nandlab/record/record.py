"""What a run came to: a typed view of the result record.

The names are those of the JSON record that `nandlab run --json` prints. Units stand last in a name:
`_us` microseconds and `_s` seconds of simulated time unless said otherwise, `_j` joules, `_bytes` bytes,
`sectors` of 512 bytes.
"""

from __future__ import annotations

import copy
from typing import Any, Literal

from nandlab.record.blocks import Blocks, Lifetime, Sample, Wear
from nandlab.record.buffer import BufferCounts
from nandlab.record.cells import Reliability, SlcCounts
from nandlab.record.fs import FileCounts, FsBlocks, FsCollections, FsFirst, Nvram, Volume
from nandlab.record.index import IndexFigures
from nandlab.record.latencies import Latencies, LongestRequest, OriginLatency
from nandlab.record.recyclings import Recyclings
from nandlab.record.speed import Speed
from nandlab.record.view import View
from nandlab.writing.units import counted


class Stopped(View):
    """What ended a run before its end: `why`, and a `message` that says where it stood.

    "cancelled": by the caller; "worn_out": too few good blocks; "index_full": no page is left for the index;
    "fs_full": the file system has no room; "unreadable": a page of the index or the file system was lost to
    bit errors; "fs_failed": this machine refused an operation in the directory of `fs.posix`.
    """

    why: Literal["cancelled", "worn_out", "index_full", "fs_full", "unreadable", "fs_failed"]
    message: str


class HostCounts(View):
    """What the workload asked for; preconditioning not included.

    `partial_writes` are writes that do not begin and end with pages of the device;
    `unreadable` requests failed because data was lost to bit errors; their sectors are not counted.
    """

    requests: int
    reads: int
    writes: int
    trims: int
    flushes: int
    read_sectors: int
    written_sectors: int
    trimmed_sectors: int
    partial_writes: int
    unreadable: int


class FlashCounts(View):
    """What the flash did. Reads and programs include the halves of copies and metadata pages,
    not operations on a spare area alone.
    """  # noqa: D205 - one sentence more than fits a line

    reads: int
    programs: int
    copies: int
    erases: int
    spare_reads: int
    spare_programs: int
    meta_reads: int
    meta_programs: int


class MapCounts(View):
    """A map that is paged in from flash: entries found in memory or not, and those that left it changed.

    `gc_runs` are victim blocks that held pages of the map, `gc_copies` the pages moved for it;
    `folded_pages` are logical pages whose sectors lay apart and that garbage collection put together.
    """

    hits: int
    misses: int
    dirty_evictions: int
    gc_runs: int
    gc_copies: int
    folded_pages: int


class Cell(View):
    """A cell of the attribution matrix: the pages' author (`origin`), and why the flash was asked (`cause`).

    An erase is shared by the origins whose pages were invalid in the block, so `erases` may have a fraction.
    """

    origin: str
    cause: str
    reads: int
    programs: int
    copies: int
    erases: float
    spare_reads: int
    spare_programs: int
    meta_reads: int
    meta_programs: int
    busy_us: float


class Path(View):
    """How long each part between host and FTL worked, us, and the writes that waited for buffer space."""

    processor_us: float
    firmware_us: float
    link_read_us: float
    link_write_us: float
    buffer_waits: int
    buffer_wait_us: float


class Units(View):
    """Dies or channels: the mean busy share of the time until flash was at rest, that of the busiest one.

    `which` is its number. `busy_us` has the busy time of each; None for more than 64.
    """

    mean: float
    most: float
    which: int
    busy_us: list[float] | None


class Waits(View):
    """How long requests waited for each part, us, summed over the requests."""

    dies: float
    channels: float
    processor: float
    firmware: float
    write_buffer: float
    link_read: float
    link_write: float


class Parts(View):
    """What limits a run: how busy dies and channels were, and what requests waited for.

    `limit` is the name of the part that they waited for longest; where none waited, that of the busiest.
    """

    dies: Units
    channels: Units
    waits_us: Waits
    limit: str | None


class Merges(View):
    """How log blocks became data blocks."""

    switch: int
    partial: int
    full: int


class Gc(View):
    """Garbage collection: victim blocks collected, and blocks moved for wear.

    Of the victims some held nothing valid (`empty_runs`), some were chosen in a gap between requests.
    With a file system on bare flash also those collected with enough erased blocks at hand (`passive`) and
    with few, and blocks that were `emptied`: erased outside of collection, as their last page in use went.
    """

    runs: int
    empty_runs: int
    idle_runs: int
    idle_steps: int
    wear_moves: int
    passive: int | None
    aggressive: int | None
    emptied: int | None


class FsPhase(View):
    """What a part of the run of a file system cost; `requests` and sectors are those of the file system."""

    operations: int
    requests: int
    read_sectors: int
    written_sectors: int
    flash: FlashCounts
    merges: Merges
    migrations: int
    busy_us: float
    time_us: float | None


class FsPhases(View):
    """The parts of the run of a file system; the record as a whole covers the last three."""

    format: FsPhase
    mount: FsPhase
    set_up: FsPhase
    transactions: FsPhase
    clean_up: FsPhase


class FsSample(View):
    """Counts after so many transactions, since the first began; `gc` and `blocks` on bare flash only."""

    transactions: int
    requests: int
    written_sectors: int
    reads: int
    programs: int
    copies: int
    erases: int
    busy_us: float
    time_us: float | None
    gc: FsCollections | None
    blocks: FsBlocks | None


class FsFigures(View):
    """What a file system did; its requests to the device are those of `host`."""

    operations: FileCounts
    transactions: int
    read_bytes: int
    written_bytes: int
    phases: FsPhases
    volume: Volume
    latency_us: Latencies | None
    first: FsFirst | None
    samples: list[FsSample]


class Preconditioning(View):
    """What came before the measurement, and what it cost.

    `windows` is how many capacities were written until the device was `steady`, or to the limit.
    """

    requests: int
    flash: FlashCounts
    waf: float | None
    windows: int | None
    steady: bool | None
    time_us: float | None


class MountShare(View):
    """What a file system over an FTL had read when it was mounted, and how long that took."""

    page_reads: int
    time_us: float | None


class Mount(View):
    """What a mount read, and how long it took; accesses to the NVRAM of a file system, where it has one.

    `fs` is what of this a file system over an FTL had read, once there is one.
    """

    page_reads: int
    spare_reads: int
    nvram_accesses: int | None
    time_us: float | None
    fs: MountShare | None


class Throughput(View):
    """Requests and 10^6 bytes per second of simulated time."""

    requests_per_s: float
    read_mb_per_s: float
    written_mb_per_s: float


class Energy(View):
    """Energy of the flash, in joules."""

    read: float
    program: float
    erase: float
    total: float


class WholeEnergy(View):
    """Energy of flash, buffer and NVRAM together, in joules.

    `static`, `total` and `per_gb_written` (10^9 bytes) are None where no time is kept.
    """

    dynamic: float
    static: float | None
    total: float | None
    per_gb_written: float | None


class Controller(View):
    """Memories of the controller in bytes, and what the FTL and the write buffer need of them.

    `dram_bytes` is None where the device profile does not say.
    """

    sram_bytes: int
    dram_bytes: int | None
    used_sram_bytes: int
    used_dram_bytes: int


class Ram(View):
    """Memory that the FTL's firmware would need, in bytes by structure; SRAM and DRAM apart.

    `controller` is None where the device profile says nothing of one, and without an FTL.
    """

    sram: dict[str, int]
    dram: dict[str, int]
    total_bytes: int
    controller: Controller | None


class Faults(View):
    """What failed; retired blocks are out of use, lost pages had too many bit errors when they were moved."""

    failed_programs: int
    failed_erases: int
    corrected_bits: int
    uncorrectable_reads: int
    retired_blocks: int
    lost_pages: int


class DeviceFacts(View):
    """Sizes of the device; over-provisioning is physical over logical size, less 1.

    `endurance` is the P/E cycles that a block is made for. Below `fs.posix`, a real directory, there is no
    device: its name is "none", and the sizes are 0.
    """

    name: str
    blocks: int
    pages_per_block: int
    page_bytes: int
    physical_bytes: int
    logical_bytes: int
    over_provisioning: float
    dies: int
    endurance: int


class Record(View):
    """What a run came to; records are equal where all but `speed` is.

    Attributes:
        version: Version of nandlab.
        seed: Start of the random numbers.
        experiment: The whole experiment with every default written out; running it again gives this result.
        partial: Whether the run was stopped before its end.
        stopped: Why it was; None where it came to its end.
        busy_us: Sum of the data-sheet times of all operations, us.
        joined_programs: Programs that shared the array time of another plane's; all is in `busy_us`.
        reads_ahead: Reads that did not wait for the erase or the program on their die, which gave way.
        spared_transfer_us: Channel time that reads of a part of a page did not take, us;
            `busy_us` includes it.
        path: Work of controller, link and firmware; None where they take no time.
        parts: How busy dies and channels were, and what requests waited for; None without time, and in
            records of older versions.
        waf: Write amplification: programs x sectors per page / sectors that the host wrote;
            None when nothing was written.
        matrix: Flash operations by origin and cause; rows and columns sum to `flash`.
        nvram: That of a file system; None without.
        mount: What opening the device cost.
        remount: What mounting a file system again cost after the run, its FTL included; None without one.
        time_us: Simulated time of the host until the answer to its last request; None when the model keeps no
            time. In records of older versions (`ends_with` says so) it ends with the last flash operation.
        drain_us: How long flash was still busy after that.
        in_flight: Mean number of requests under way; None without time, and where they took none.
        energy_j: Energy of the flash; None where its profile states none.
        energy_all_j: That of the buffer and of NVRAM added; None where nothing states one.
        latency_by_origin: Latencies by the part of the host that asked; None where one part asked.
        longest_request: The request that took longest, and what it waited for; None without time.
        latency_histogram: By kind of request, pairs of an upper bound in microseconds and a count.
        recorded_latency_us: From the time of a request to its end when the trace was recorded; None without
            `host.arrival = "recorded"`, and where the trace has no such times.
        recorded_service_us: What of it the recorded device took; None where the trace does not say that.
        recorded_latency_histogram: `recorded_latency_us` as `latency_histogram`.
        series: Up to 200 samples over the run.
        notices: What was rounded or left out, in sentences.

    """

    version: str
    seed: int
    experiment: dict[str, Any]
    partial: bool
    stopped: Stopped | None
    host: HostCounts
    flash: FlashCounts
    busy_us: float
    joined_programs: int
    reads_ahead: int
    spared_transfer_us: float
    path: Path | None
    parts: Parts | None
    waf: float | None
    merges: Merges
    migrations: int
    recyclings: Recyclings | None
    gc: Gc
    map: MapCounts | None
    slc: SlcCounts | None
    matrix: list[Cell]
    buffer: BufferCounts | None
    index: IndexFigures | None
    fs: FsFigures | None
    nvram: Nvram | None
    precondition: Preconditioning | None
    mount: Mount
    remount: Mount | None
    time_us: float | None
    drain_us: float | None
    in_flight: float | None
    latency_us: Latencies | None
    latency_by_origin: list[OriginLatency] | None
    latency_histogram: dict[str, list[list[float]]] | None
    recorded_latency_us: Latencies | None
    recorded_service_us: Latencies | None
    recorded_latency_histogram: dict[str, list[list[float]]] | None
    longest_request: LongestRequest | None
    throughput: Throughput | None
    energy_j: Energy | None
    energy_all_j: WholeEnergy | None
    ram: Ram
    wear: Wear
    blocks: Blocks
    lifetime: Lifetime | None
    faults: Faults | None
    reliability: Reliability | None
    series: list[Sample]
    device: DeviceFacts
    speed: Speed
    notices: list[str]

    def __init__(self, data: dict[str, Any]) -> None:
        super().__init__(copy.deepcopy(data))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self._timeless() == other._timeless()

    # As a dictionary, it has no hash.
    __hash__ = None  # type: ignore[assignment]

    def _timeless(self) -> dict[str, Any]:
        return {name: value for name, value in self._data.items() if name != "speed"}

    def __repr__(self) -> str:
        waf = "no writes" if self.waf is None else f"waf {self.waf:.3f}"
        erases, requests = counted(self.flash.erases, "erase"), counted(self.host.requests, "request")
        return f"<Result {waf}, {erases}, {requests}{', partial' if self.partial else ''}>"

    def without_speed(self) -> dict[str, Any]:
        """The record without `speed`: equal for equal experiments, on every machine."""
        return copy.deepcopy(self._timeless())

    @property
    def ends_with(self) -> Literal["answer", "flash"]:
        """What `time_us` ends with: the last answer to the host; in older records the last operation."""
        return "answer" if "drain_us" in self._data else "flash"

    def flash_time_us(self) -> float | None:
        """Simulated time until flash is at rest, us: what shares of dies are of. None when none is kept."""
        time_us = self._data["time_us"]
        return None if time_us is None else time_us + (self._data.get("drain_us") or 0.0)

    def waf_by_cause(self) -> dict[str, float]:
        """The parts of `waf` by cause, the host's own first; they sum to it. Empty without writes."""
        sectors = self.host.written_sectors
        if not sectors:
            return {}
        per_page = self.device.page_bytes // 512
        programs: dict[str, int] = {}
        for cell in self.matrix:
            programs[cell.cause] = programs.get(cell.cause, 0) + cell.programs
        parts = {cause: count * per_page / sectors for cause, count in programs.items() if count}
        return dict(sorted(parts.items(), key=lambda part: (part[0] != "host", part[0] != "gc", -part[1])))
