"""A typed view of the result record.

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
from nandlab.record.fdp import Fdp
from nandlab.record.fs import FileCounts, FsBlocks, FsCollections, FsFirst, Nvram, Volume
from nandlab.record.groups import Groups
from nandlab.record.index import IndexFigures
from nandlab.record.latencies import Latencies, LongestRequest, OriginLatency
from nandlab.record.parts import Parts, Path
from nandlab.record.recyclings import Recyclings
from nandlab.record.sampled import Sampled
from nandlab.record.speed import Speed
from nandlab.record.tenants import Tenant
from nandlab.record.view import View
from nandlab.record.zones import Zones
from nandlab.writing.units import counted


class Stopped(View):
    """The reason for an early end: `why`, and a `message` with the state of the run.

    "cancelled": by the caller; "worn_out": too few good blocks; "index_full": no page is left for the index;
    "fs_full": the file system has no room; "unreadable": the index or the file system lost a page to
    bit errors; "fs_failed": this machine refused an operation in the directory of `fs.posix`;
    "firmware_failed": a firmware in C failed, broke a rule of the chip or read wrong bytes.
    """

    why: Literal[
        "cancelled", "worn_out", "index_full", "fs_full", "unreadable", "fs_failed", "firmware_failed"
    ]
    message: str


class HostCounts(View):
    """Requests by the workload, without preconditioning.

    `partial_writes` do not begin and end with device pages, `unaligned_writes` do not begin with one;
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
    unaligned_writes: int
    unreadable: int


class FlashCounts(View):
    """Flash operations. Reads and programs include both halves of a copy, and metadata pages,
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
    """A map paged in from flash: entries found in memory, entries missed, and changed entries written back.

    `double_reads` are host reads of a page that had to read its map page, or a wrong page, first; `gc_runs`
    counts victim blocks with map pages, `gc_copies` the pages moved for them; `folded_pages` are logical
    pages with scattered sectors, put together by garbage collection.
    """

    hits: int
    misses: int
    dirty_evictions: int
    double_reads: int
    gc_runs: int
    gc_copies: int
    folded_pages: int


class Cell(View):
    """A cell in the attribution matrix: the pages' author (`origin`), and the operation's reason (`cause`).

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


class Merges(View):
    """How log blocks became data blocks."""

    switch: int
    partial: int
    full: int


class Gc(View):
    """Garbage collection: victim blocks collected, and blocks moved for wear.

    Some victims held nothing valid (`empty_runs`), some were chosen in a gap between requests. A file system
    on bare flash also counts victims collected with enough erased blocks at hand (`passive`) and with few
    (`aggressive`), and `emptied` blocks: erased outside collection, when their last used page went.
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
    """Cost for one phase on a file system; `requests` and sectors are the file system's own."""

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
    """Phases on a file system; the whole record covers the last three."""

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
    """File system activity; `host` has its requests to the device."""

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
    """Work before the measurement, and its cost.

    `windows` is how many capacities were written until the device was `steady`, or to the limit.
    """

    requests: int
    flash: FlashCounts
    waf: float | None
    windows: int | None
    steady: bool | None
    time_us: float | None


class MountShare(View):
    """Page reads and time to mount a file system over an FTL."""

    page_reads: int
    time_us: float | None


class Mount(View):
    """Reads and time for a mount; NVRAM accesses if the file system has NVRAM.

    `fs` is the share read by a file system over an FTL, once there is one.
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
    """Flash energy, in joules."""

    read: float
    program: float
    erase: float
    total: float


class WholeEnergy(View):
    """Energy for flash, buffer and NVRAM together, in joules.

    `static`, `total` and `per_gb_written` (10^9 bytes) are None without time.
    """

    dynamic: float
    static: float | None
    total: float | None
    per_gb_written: float | None


class Controller(View):
    """Controller memories in bytes, and the share needed by the FTL and the write buffer.

    `dram_bytes` is None if the device profile does not say.
    """

    sram_bytes: int
    dram_bytes: int | None
    used_sram_bytes: int
    used_dram_bytes: int


class Ram(View):
    """Memory needed by the FTL's firmware, in bytes by structure; SRAM and DRAM apart.

    `controller` is None if the device profile names none, and without an FTL.
    """

    sram: dict[str, int]
    dram: dict[str, int]
    total_bytes: int
    controller: Controller | None


class Faults(View):
    """Failures; retired blocks are out of use, lost pages had too many bit errors when they were moved."""

    failed_programs: int
    failed_erases: int
    corrected_bits: int
    uncorrectable_reads: int
    retired_blocks: int
    lost_pages: int


class DeviceFacts(View):
    """Device sizes; over-provisioning is physical over logical size, less 1.

    `endurance` is a block's rated P/E cycles. Below `fs.posix`, a real directory, there is no
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
    """The result of a run; two records are equal if all but `speed` is equal.

    Attributes:
        version: nandlab's version.
        seed: Seed for random numbers.
        experiment: The whole experiment with every default written out; running it again gives this result.
        partial: Whether the run was stopped before its end.
        stopped: The reason; None if it came to its end.
        busy_us: Sum over all operations' data-sheet times, us.
        joined_programs: Programs sharing another plane's array time; `busy_us` has all.
        reads_ahead: Reads served at once, because the erase or program on their die gave way.
        spared_transfer_us: Channel time saved when a read moved part of a page, us;
            `busy_us` includes it.
        path: Work by controller, link and firmware; None if they take no time.
        parts: Busy dies and channels, and waits by their reason; None without time, and in
            records of older versions.
        waf: Write amplification: programs x sectors per page / sectors written by the host;
            None when nothing was written.
        fdp: Reclaim units and their handles; None without `placement.fdp`.
        groups: Groups of blocks with sizes from a model; None without `placement.midas`.
        zones: What the host did with zones, and what they refused; None without `ftl.zns`.
        matrix: Flash operations by origin and cause; rows and columns sum to `flash`.
        nvram: A file system's NVRAM; None without.
        mount: Cost to open the device.
        remount: Cost to mount the file system again after the run, FTL included; None without one.
        time_us: Simulated host time until the last answer; None when the model keeps no
            time. In records by older versions (`ends_with` says so) it ends with the last flash operation.
        drain_us: Time with flash still busy after it.
        in_flight: Mean requests under way; None without time, and if they took none.
        energy_j: Flash energy; None if its profile states none.
        energy_all_j: Energy with buffer and NVRAM added; None if nothing states one.
        latency_by_origin: Latencies by the asking part in the host; None if only one part asked.
        tenants: Each tenant's part in the run; None without tenants.
        longest_request: The slowest request, and its waits; None without time.
        latency_histogram: By request kind, pairs: an upper bound in microseconds, and a count.
        recorded_latency_us: Latencies as the trace recorded them, issue to end; None without
            `host.arrival = "recorded"`, and if the trace has no such times.
        recorded_service_us: The recorded device's share in it; None if the trace does not tell.
        recorded_latency_histogram: `recorded_latency_us` as `latency_histogram`.
        sample: Estimates for the whole workload from windows; None without `host.sample`.
        series: Up to 200 samples over the run.
        notices: Anything rounded or left out, in sentences.

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
    fdp: Fdp | None
    groups: Groups | None
    zones: Zones | None
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
    tenants: list[Tenant] | None
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
    sample: Sampled | None
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
        """The end point for `time_us`: the last answer to the host; in older records the last operation."""
        return "answer" if "drain_us" in self._data else "flash"

    def flash_time_us(self) -> float | None:
        """Simulated time until flash is at rest, us: the whole for shares by die. None without time."""
        time_us = self._data["time_us"]
        return None if time_us is None else time_us + (self._data.get("drain_us") or 0.0)

    def waf_by_cause(self) -> dict[str, float]:
        """Parts by cause, the host's own first; they sum to `waf`. Empty without writes."""
        sectors = self.host.written_sectors
        if not sectors:
            return {}
        per_page = self.device.page_bytes // 512
        programs: dict[str, int] = {}
        for cell in self.matrix:
            programs[cell.cause] = programs.get(cell.cause, 0) + cell.programs
        parts = {cause: count * per_page / sectors for cause, count in programs.items() if count}
        return dict(sorted(parts.items(), key=lambda part: (part[0] != "host", part[0] != "gc", -part[1])))
