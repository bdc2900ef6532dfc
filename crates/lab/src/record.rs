//! The result of a run: stable names, each with its unit. Serialized as JSON.

mod blocks;
mod buffer;
mod device;
mod energy;
mod figures;
mod fs;
mod index;
mod latency;
mod longest;
mod mount;
mod origins;
mod recycling;
mod reliability;
mod slc;
mod speed;

pub(crate) use blocks::CYCLES_THAT_TELL;
pub use blocks::{BlockGroup, BlocksRecord, LifeRecord, LifetimeRecord, Sample, Wear};
pub use buffer::{BufferRecord, MemoryRecord, NvramRecord, PlacementRecord, SavingRecord};
pub use device::{device_record, ControllerRecord, DeviceRecord};
pub(crate) use energy::Powers;
pub use energy::{BufferEnergyRecord, MemoryEnergyRecord, WholeEnergyRecord};
pub(crate) use figures::{rate, us, waf};
pub use fs::{FileCounts, FsBlocks, FsCollections, FsFirst, FsPhase, FsPhases, FsRecord, FsSample, VolumeRecord};
pub use index::{IndexRecord, OperationCounts, PageKinds, PoolRecord};
pub use latency::{Latencies, LatencyHistograms, LatencySummary};
pub(crate) use longest::Longest;
pub use longest::{LatencyPart, LongestRequest};
pub use mount::{MountRecord, MountShare};
pub use origins::OriginLatency;
pub use recycling::RecyclingRecord;
pub use reliability::ReliabilityRecord;
pub(crate) use slc::busy_us;
pub use slc::SlcRecord;
pub use speed::{Speed, SpeedPhases};

use crate::config::Experiment;
use nandlab_ftl::Events;
use nandlab_nand::profile::Profile;
use nandlab_nand::{Cell, Matrix};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a run cost, and what would make it again.
///
/// Everything but `speed` is the same for the same experiment on every machine.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// Version of the program.
    pub version: &'static str,
    /// Seed of everything random.
    pub seed: u64,
    /// The experiment with every default explicit.
    pub experiment: Experiment,
    /// Whether the run was stopped before its end; all counts are those up to then.
    pub partial: bool,
    /// Why it was stopped; null where it came to its end.
    pub stopped: Option<Stopped>,
    /// What the host asked.
    pub host: HostCounts,
    /// What the flash did for it.
    pub flash: FlashCounts,
    /// Sum of the data-sheet times of all operations, us; with one die and nothing outstanding, their time.
    pub busy_us: f64,
    /// Programs that took no array time of their own, since another plane programmed at the same time; all of it is in
    /// `busy_us`.
    pub joined_programs: u64,
    /// Reads that did not wait for the erase or the program on their die, which was suspended or began after them.
    pub reads_ahead: u64,
    /// Write amplification: programs x sectors per page / sectors written by the host; null where none were.
    pub waf: Option<f64>,
    /// Merges of log blocks.
    pub merges: Merges,
    /// Log blocks renewed by moving their valid pages.
    pub migrations: u64,
    /// What became of single log blocks; null where none was kept, or the options of the FTL keep none.
    pub recyclings: Option<RecyclingRecord>,
    /// Garbage collection.
    pub gc: Gc,
    /// The map of an FTL that pages it in from flash; null for others.
    pub map: Option<MapCounts>,
    /// The blocks of one bit a cell; null where there are none.
    pub slc: Option<SlcRecord>,
    /// Who asked for what, and why; sums to `flash`.
    pub matrix: Vec<MatrixRow>,
    /// What the buffer did; null without one.
    pub buffer: Option<BufferRecord>,
    /// What the index did; null without one.
    pub index: Option<IndexRecord>,
    /// What the file system did; null without one.
    pub fs: Option<FsRecord>,
    /// The NVRAM of a file system; null without.
    pub nvram: Option<FsNvramRecord>,
    /// What the preconditioning cost; null where there was none.
    pub precondition: Option<PreconditionRecord>,
    /// What opening the device cost.
    pub mount: MountRecord,
    /// What opening it again cost after the run, with a file system; null without one, under a buffer, and where the run
    /// could not go on.
    pub remount: Option<MountRecord>,
    /// Simulated time from the start of the workload to the end of its last operation, us; null without time.
    pub time_us: Option<f64>,
    /// Latencies of requests, us; null without time.
    pub latency_us: Option<Latencies>,
    /// Both by the part of the host that asked; null without time, and where one part asked for everything.
    pub latency_by_origin: Option<Vec<OriginLatency>>,
    /// Latencies as histograms; null without time.
    pub latency_histogram: Option<LatencyHistograms>,
    /// From the time of a request to its end when the trace was recorded, us, of all requests of the trace; null without
    /// `host.arrival = "recorded"`, and where the trace has no such times.
    pub recorded_latency_us: Option<Latencies>,
    /// What of it the recorded device took, us; null where the trace does not say that.
    pub recorded_service_us: Option<Latencies>,
    /// `recorded_latency_us` as histograms.
    pub recorded_latency_histogram: Option<LatencyHistograms>,
    /// The request that took longest, and why if that is asked for; null without time, and where no request took any.
    pub longest_request: Option<LongestRequest>,
    /// Simulated throughput; null without time.
    pub throughput: Option<Throughput>,
    /// Energy of the flash, J; null where the profile states none.
    pub energy_j: Option<EnergyRecord>,
    /// Energy of flash, buffer and NVRAM together, J; null where none of them states one.
    pub energy_all_j: Option<WholeEnergyRecord>,
    /// Memory that firmware would need, bytes.
    pub ram: RamRecord,
    /// P/E cycles of the blocks at the end, preconditioning included.
    pub wear: Wear,
    /// What the blocks hold at the end.
    pub blocks: BlocksRecord,
    /// How long the device lasts under this workload; null where nothing was written or no block was erased.
    pub lifetime: Option<LifetimeRecord>,
    /// What failed, where faults were asked for.
    pub faults: Option<FaultRecord>,
    /// Bit errors of cells that age, where they were asked for.
    pub reliability: Option<ReliabilityRecord>,
    /// The run in the course of its requests; at most 200 samples.
    pub series: Vec<Sample>,
    /// The device.
    pub device: DeviceRecord,
    /// How fast the simulation ran; not a result.
    pub speed: Speed,
    /// What was rounded or set aside, in sentences.
    pub notices: Vec<String>,
}

/// What stopped a run before its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stopped {
    /// The kind of it.
    pub why: StopReason,
    /// Where the run stood, a sentence.
    pub message: String,
}

/// What can stop a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The caller, such as Ctrl-C.
    Cancelled,
    /// Too few good blocks are left to take another write.
    WornOut,
    /// The index has no page left for what it may need.
    IndexFull,
    /// The file system has no room for what the workload writes.
    FsFull,
    /// A page of the index or of the file system was lost to bit errors.
    Unreadable,
    /// The system of this machine refused an operation in a real directory.
    FsFailed,
}

/// What the host asked. A request that failed is counted, its sectors are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCounts {
    /// Requests of every kind.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Trims.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
    /// 512-byte sectors read.
    pub read_sectors: u64,
    /// 512-byte sectors written.
    pub written_sectors: u64,
    /// 512-byte sectors trimmed.
    pub trimmed_sectors: u64,
    /// Writes that do not begin and end with pages of the device.
    pub partial_writes: u64,
    /// Requests that failed because data was lost to bit errors.
    pub unreadable: u64,
}

/// What the flash did. Reads and programs include the halves of copies and metadata pages, and not operations
/// on a spare area alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlashCounts {
    /// Page reads.
    pub reads: u64,
    /// Page programs.
    pub programs: u64,
    /// Copies, each of which is also a read and a program.
    pub copies: u64,
    /// Block erases.
    pub erases: u64,
    /// Reads of a spare area alone.
    pub spare_reads: u64,
    /// Programs of a spare area alone.
    pub spare_programs: u64,
    /// Reads of metadata pages, a part of `reads`.
    pub meta_reads: u64,
    /// Programs of metadata pages, a part of `programs`.
    pub meta_programs: u64,
}

impl FlashCounts {
    pub(crate) fn of(cell: &Cell) -> Self {
        Self {
            reads: cell.reads(),
            programs: cell.programs(),
            copies: cell.copies,
            erases: cell.erase_shares / nandlab_nand::ERASE_SHARE,
            spare_reads: cell.spare_reads,
            spare_programs: cell.spare_programs,
            meta_reads: cell.meta_reads,
            meta_programs: cell.meta_programs,
        }
    }

    fn and(&self, other: &Self) -> Self {
        Self {
            reads: self.reads + other.reads,
            programs: self.programs + other.programs,
            copies: self.copies + other.copies,
            erases: self.erases + other.erases,
            spare_reads: self.spare_reads + other.spare_reads,
            spare_programs: self.spare_programs + other.spare_programs,
            meta_reads: self.meta_reads + other.meta_reads,
            meta_programs: self.meta_programs + other.meta_programs,
        }
    }
}

/// Merges of log blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Merges {
    /// Log blocks that became data blocks as they were.
    pub switch: u64,
    /// Log blocks that were completed.
    pub partial: u64,
    /// Data blocks gathered anew.
    pub full: u64,
}

impl Merges {
    pub(crate) fn between(start: &Events, end: &Events) -> Self {
        Self {
            switch: end.switch_merges - start.switch_merges,
            partial: end.partial_merges - start.partial_merges,
            full: end.full_merges - start.full_merges,
        }
    }
}

/// Garbage collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Gc {
    /// Victim blocks collected.
    pub runs: u64,
    /// Those of them whose victim held nothing valid: it was erased, and nothing moved or merged for it.
    pub empty_runs: u64,
    /// Those of the victims that were chosen in a gap between requests.
    pub idle_runs: u64,
    /// Steps of collection, mostly copies and erases, that were made in such gaps, whenever the victim was chosen.
    pub idle_steps: u64,
    /// Blocks emptied to even out wear.
    pub wear_moves: u64,
    /// Runs of a file system on bare flash with enough erased blocks at hand; null for others.
    pub passive: Option<u64>,
    /// The other runs of it.
    pub aggressive: Option<u64>,
    /// Blocks that it erased because their last page in use went, outside of collection.
    pub emptied: Option<u64>,
}

/// What an FTL did whose map is on flash. Reads and programs of its pages are in the matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MapCounts {
    /// Entries, or units of the map, that were asked for and in memory.
    pub hits: u64,
    /// Those that were not.
    pub misses: u64,
    /// Those that had changed when they left memory.
    pub dirty_evictions: u64,
    /// Victim blocks that held pages of the map, a part of `gc.runs`.
    pub gc_runs: u64,
    /// Pages of the map that were moved for it.
    pub gc_copies: u64,
    /// Logical pages whose sectors lay apart and that garbage collection put together.
    pub folded_pages: u64,
}

impl MapCounts {
    pub(crate) fn between(start: &Events, end: &Events) -> Option<Self> {
        let pages_map = end.map_hits + end.map_misses > 0;
        pages_map.then(|| Self {
            hits: end.map_hits - start.map_hits,
            misses: end.map_misses - start.map_misses,
            dirty_evictions: end.map_dirty_evictions - start.map_dirty_evictions,
            gc_runs: end.map_gc_runs - start.map_gc_runs,
            gc_copies: end.map_gc_copies - start.map_gc_copies,
            folded_pages: end.folded_pages - start.folded_pages,
        })
    }
}

/// Counts of one origin and one cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatrixRow {
    /// The author of the page.
    pub origin: String,
    /// Why the flash was asked.
    pub cause: &'static str,
    /// Page reads.
    pub reads: u64,
    /// Page programs.
    pub programs: u64,
    /// Copies.
    pub copies: u64,
    /// Block erases; one is shared by the origins whose pages were invalid in the block.
    pub erases: f64,
    /// Reads of a spare area alone.
    pub spare_reads: u64,
    /// Programs of a spare area alone.
    pub spare_programs: u64,
    /// Reads of metadata pages.
    pub meta_reads: u64,
    /// Programs of metadata pages.
    pub meta_programs: u64,
    /// Sum of the data-sheet times of these operations, us.
    pub busy_us: f64,
}

impl MatrixRow {
    /// The rows of `matrix`, of which `slc` was in blocks of one bit a cell.
    pub(crate) fn all(matrix: &Matrix, slc: Option<&Matrix>, profile: &Profile) -> Vec<Self> {
        let row = |(origin, cause, cell): (nandlab_nand::Origin, nandlab_nand::Cause, &Cell)| {
            let FlashCounts { reads, programs, copies, spare_reads, spare_programs, meta_reads, meta_programs, .. } =
                FlashCounts::of(cell);
            Self {
                origin: origin.name(),
                cause: cause.name(),
                reads,
                programs,
                copies,
                erases: cell.erases(),
                spare_reads,
                spare_programs,
                meta_reads,
                meta_programs,
                busy_us: busy_us(profile, cell, slc.map(|slc| slc.cell(origin, cause))),
            }
        };
        matrix.nonzero().map(row).collect()
    }
}

/// What the preconditioning cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreconditionRecord {
    /// Page writes, and requests of the workload that came before the measurement.
    pub requests: u64,
    /// What the flash did for them.
    pub flash: FlashCounts,
    /// Write amplification; null where nothing was written.
    pub waf: Option<f64>,
    /// Capacities written until the device was steady, or to the limit; null where that was not asked for.
    pub windows: Option<u32>,
    /// Whether it was steady then.
    pub steady: Option<bool>,
    /// Simulated time, us; null without time.
    pub time_us: Option<f64>,
}

impl PreconditionRecord {
    /// This and what came after it: `written_sectors` in all.
    pub(crate) fn and(&self, other: &Self, written_sectors: u64, sectors_per_page: u32) -> Self {
        let flash = self.flash.and(&other.flash);
        Self {
            requests: self.requests + other.requests,
            flash,
            waf: waf(flash.programs, sectors_per_page, written_sectors),
            windows: self.windows,
            steady: self.steady,
            time_us: self.time_us.zip(other.time_us).map(|(before, after)| before + after),
        }
    }
}

/// The NVRAM of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FsNvramRecord {
    /// Bytes that the metadata of the device takes.
    pub bytes: u64,
    /// What was done with it.
    #[serde(flatten)]
    pub used: NvramRecord,
}

/// Throughput in simulated time; MB are 1,000,000 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Throughput {
    /// Requests a second.
    pub requests_per_s: f64,
    /// Megabytes read a second.
    pub read_mb_per_s: f64,
    /// Megabytes written a second.
    pub written_mb_per_s: f64,
}

/// Energy of the flash, J; a copy is a read and a program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EnergyRecord {
    /// Reads.
    pub read: f64,
    /// Programs.
    pub program: f64,
    /// Erases.
    pub erase: f64,
    /// All of it.
    pub total: f64,
}

impl EnergyRecord {
    /// What operations take; `None` where the profile states none.
    pub(crate) fn of(profile: &Profile, operations: &Cell) -> Option<Self> {
        profile.energy(operations).map(|used| Self {
            read: used.read_j,
            program: used.program_j,
            erase: used.erase_j,
            total: used.total_j(),
        })
    }
}

/// Memory that firmware would need, bytes by structure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RamRecord {
    /// Fast memory on the controller.
    pub sram: BTreeMap<&'static str, u64>,
    /// Memory beside it.
    pub dram: BTreeMap<&'static str, u64>,
    /// Both together.
    pub total_bytes: u64,
    /// What of it the controller has; null where the profile says nothing of one, and without an FTL.
    pub controller: Option<ControllerRecord>,
}

/// What failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FaultRecord {
    /// Programs, copies and spare programs that failed.
    pub failed_programs: u64,
    /// Erases that failed.
    pub failed_erases: u64,
    /// Bits that the ECC corrected, at every read anew.
    pub corrected_bits: u64,
    /// Reads, copies included, of pages with more errors than the ECC corrects.
    pub uncorrectable_reads: u64,
    /// Blocks taken out of use after a failure.
    pub retired_blocks: u64,
    /// Pages whose contents were lost to bit errors while they were moved.
    pub lost_pages: u64,
}

impl Record {
    /// The record as one JSON document.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a record has text keys and finite numbers only")
    }
}
