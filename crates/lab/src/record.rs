//! A run's result: stable names, each with its unit. Serialized as JSON.

pub(crate) mod blocks;
mod buffer;
mod device;
mod energy;
mod fdp;
mod figures;
mod fs;
mod groups;
mod index;
mod latency;
mod lifetime;
mod longest;
mod mount;
mod origins;
mod parts;
mod path;
pub(crate) mod recycling;
mod reliability;
pub(crate) mod sampled;
mod slc;
mod speed;
mod stopped;
mod tenants;
mod worn;
mod zones;

pub use blocks::{BlockGroup, BlocksRecord, Sample, Wear};
pub use buffer::{BufferRecord, MemoryRecord, NvramRecord, PlacementRecord, SavingRecord};
pub use device::{device_record, ControllerRecord, DeviceRecord};
pub(crate) use energy::Powers;
pub use energy::{BufferEnergyRecord, EnergyRecord, MemoryEnergyRecord, WholeEnergyRecord};
pub use fdp::{FdpRecord, HandleRecord, PlacementEventKind, PlacementEventRecord};
pub(crate) use figures::{rate, us, waf};
pub use fs::{FileCounts, FsBlocks, FsCollections, FsFirst, FsPhase, FsPhases, FsRecord, FsSample, VolumeRecord};
pub use groups::GroupsRecord;
pub use index::{IndexRecord, LevelRecord, LsmRecord, OperationCounts, PageKinds, PoolRecord};
pub use latency::{Latencies, LatencyHistograms, LatencySummary};
pub use lifetime::{Life, LifeRange, LifeRecord, LifetimeRecord};
pub(crate) use longest::Longest;
pub use longest::{LatencyPart, LatencyStep, LongestRequest};
pub use mount::{MountRecord, MountShare};
pub use origins::OriginLatency;
pub(crate) use parts::PartsMark;
pub use parts::{PartsRecord, UnitsRecord, WaitsRecord};
pub use path::PathRecord;
pub use recycling::RecyclingRecord;
pub use reliability::ReliabilityRecord;
pub use sampled::{Estimate, Sampled, SampledRecord, WindowFigures};
pub(crate) use slc::busy_us;
pub use slc::SlcRecord;
pub use speed::{Speed, SpeedPhases};
pub use stopped::{StopReason, Stopped};
pub use tenants::{TenantFiles, TenantRecord};
pub use worn::{Cycles, Worn};
pub use zones::{ZoneLatencies, ZoneRun, ZonesRecord};

use crate::config::Experiment;
use crate::json;
use nandlab_ftl::Events;
use nandlab_nand::profile::Profile;
use nandlab_nand::{Cell, Matrix};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A run's cost, and the inputs that reproduce it.
///
/// Everything but `speed` is the same for the same experiment on every machine.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// Program version.
    pub version: &'static str,
    /// Seed for everything random.
    pub seed: u64,
    /// The experiment with every default explicit; it can be run again as it is.
    pub experiment: Experiment,
    /// Whether the run was stopped before its end; if so, all counts end there.
    pub partial: bool,
    /// Why it was stopped; null if it reached its end.
    pub stopped: Option<Stopped>,
    /// Host requests.
    pub host: HostCounts,
    /// Flash operations.
    pub flash: FlashCounts,
    /// Summed data-sheet times of all operations, us; with one die and a queue depth of 1, also their elapsed time.
    pub busy_us: f64,
    /// Programs without array time of their own, because another plane of the die programmed at the same time
    /// (`plane_overlap = "multi_plane"`); `busy_us` includes their full time.
    pub joined_programs: u64,
    /// Reads that overtook an erase or a program on their die, by suspending it or by going first.
    pub reads_ahead: u64,
    /// Channel time that reads of a part of a page did not take, us; `busy_us` includes it.
    pub spared_transfer_us: f64,
    /// Work of the controller, the link and the firmware; null if none takes time, or no request comes by itself.
    pub path: Option<PathRecord>,
    /// How busy dies and channels were, what requests waited for, and which part limits the run; null without time.
    pub parts: Option<PartsRecord>,
    /// Write amplification: `flash.programs` x sectors per page / `host.written_sectors`; null without a write or a
    /// device.
    pub waf: Option<f64>,
    /// Log-block merges.
    pub merges: Merges,
    /// Log blocks renewed by moving their valid pages.
    pub migrations: u64,
    /// History of single log blocks; null if none was kept, or if the FTL's options keep none.
    pub recyclings: Option<RecyclingRecord>,
    /// Data placement by the host; null without it.
    pub fdp: Option<FdpRecord>,
    /// Groups of blocks with sizes from a model; null without any.
    pub groups: Option<GroupsRecord>,
    /// Changes of zones, and refused requests; null without a zoned drive.
    pub zones: Option<ZonesRecord>,
    /// Garbage collection.
    pub gc: Gc,
    /// Activity of a map paged in from flash; null for other FTLs.
    pub map: Option<MapCounts>,
    /// Blocks with one bit per cell; null if there are none.
    pub slc: Option<SlcRecord>,
    /// Operations by origin (who wrote the page) and cause (why the flash was asked); columns sum to `flash`.
    pub matrix: Vec<MatrixRow>,
    /// Buffer activity; null without one.
    pub buffer: Option<BufferRecord>,
    /// Index activity; null without one.
    pub index: Option<IndexRecord>,
    /// File-system activity; null without one.
    pub fs: Option<FsRecord>,
    /// A file system's NVRAM; null without.
    pub nvram: Option<FsNvramRecord>,
    /// Cost of the part before the measurement; null if there was none. No other figure but `wear` includes it. A state
    /// brings the cost of its own preparation.
    pub precondition: Option<PreconditionRecord>,
    /// Cost to open the device.
    pub mount: MountRecord,
    /// Cost to mount a file system once more after the last unmount, and the FTL below it; in no other figure. Null
    /// without a file system, under a buffer, and after a run unable to go on.
    pub remount: Option<MountRecord>,
    /// Simulated time of the host from the workload's start to the answer to its last request, us; null without time.
    pub time_us: Option<f64>,
    /// How long flash was still busy after that, us; null without time.
    pub drain_us: Option<f64>,
    /// Mean number of requests under way in `time_us`: rate times mean latency gives the same (Little's law). Null
    /// without time, and where the requests took none.
    pub in_flight: Option<f64>,
    /// Request latencies, us; null without time.
    pub latency_us: Option<Latencies>,
    /// Latencies and histograms by origin; null without time, and if one origin made all requests.
    pub latency_by_origin: Option<Vec<OriginLatency>>,
    /// Each tenant's part in the run; null without tenants.
    pub tenants: Option<Vec<TenantRecord>>,
    /// Latencies as histograms; null without time.
    pub latency_histogram: Option<LatencyHistograms>,
    /// From arrival to end of all trace requests when the trace was recorded, us; null without
    /// `host.arrival = "recorded"`, and if the trace has no such times.
    pub recorded_latency_us: Option<Latencies>,
    /// The recorded device's own share in these times, us; null if the trace does not give it.
    pub recorded_service_us: Option<Latencies>,
    /// `recorded_latency_us` as histograms.
    pub recorded_latency_histogram: Option<LatencyHistograms>,
    /// The slowest request, and its explanation if the experiment asks for one; null without time, and if no
    /// request took any.
    pub longest_request: Option<LongestRequest>,
    /// Simulated throughput; null without time, and where the requests took none.
    pub throughput: Option<Throughput>,
    /// Flash energy, J; null if the profile states none.
    pub energy_j: Option<EnergyRecord>,
    /// Energy of flash, buffer and NVRAM together, J; null if all three lack figures.
    pub energy_all_j: Option<WholeEnergyRecord>,
    /// Memory needed by firmware, bytes.
    pub ram: RamRecord,
    /// Blocks' P/E cycles at the end, preconditioning included.
    pub wear: Wear,
    /// Block contents at the end.
    pub blocks: BlocksRecord,
    /// Device lifetime under this workload; null if nothing was written or no block was erased.
    pub lifetime: Option<LifetimeRecord>,
    /// Failures, if the experiment asks for faults.
    pub faults: Option<FaultRecord>,
    /// Bit errors in aging cells, if the experiment asks for them.
    pub reliability: Option<ReliabilityRecord>,
    /// Estimates for the whole workload from windows; null without `host.sample`.
    pub sample: Option<SampledRecord>,
    /// Time series from the workload's start; at most 200 samples.
    pub series: Vec<Sample>,
    /// The device.
    pub device: DeviceRecord,
    /// Simulation speed; not a result.
    pub speed: Speed,
    /// Sentences: inputs that were rounded or had no effect, a device that fell behind recorded arrivals, a trace that
    /// erased nothing on a new device, reads of pages never written.
    pub notices: Vec<String>,
}

/// Requests of the host. A failed request counts, but its sectors do not. A file system on bare flash and a real
/// directory make no requests: there these are the workload's reads, writes and syncs, in sectors of their files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCounts {
    /// All requests.
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
    /// Writes with a start or end inside a device page.
    pub partial_writes: u64,
    /// Writes with a start inside a device page.
    pub unaligned_writes: u64,
    /// Requests failed because bit errors lost their data.
    pub unreadable: u64,
}

/// Flash operations. Reads and programs include metadata pages and both halves of copies, but not operations on
/// a spare area alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlashCounts {
    /// Page reads.
    pub reads: u64,
    /// Page programs.
    pub programs: u64,
    /// Copies; each is also a read and a program.
    pub copies: u64,
    /// Block erases.
    pub erases: u64,
    /// Spare-only reads.
    pub spare_reads: u64,
    /// Spare-only programs.
    pub spare_programs: u64,
    /// Metadata-page reads, included in `reads`.
    pub meta_reads: u64,
    /// Metadata-page programs, included in `programs`.
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

/// Log-block merges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Merges {
    /// Switch merges: a log block became the data block unchanged.
    pub switch: u64,
    /// Partial merges: copies of other pages completed the log block.
    pub partial: u64,
    /// Full merges: a new data block was gathered.
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
    /// Victims without valid pages: erased without moves or merges.
    pub empty_runs: u64,
    /// Victims chosen in a gap between requests.
    pub idle_runs: u64,
    /// Collection steps in such gaps, mostly copies and erases, whenever the victim was chosen.
    pub idle_steps: u64,
    /// Blocks emptied for wear levelling.
    pub wear_moves: u64,
    /// On bare flash, a file system's runs with enough erased blocks; null for others.
    pub passive: Option<u64>,
    /// Its other runs.
    pub aggressive: Option<u64>,
    /// Blocks erased outside collection, after their last used page was freed.
    pub emptied: Option<u64>,
}

/// Activity of a map on flash. The matrix contains its page reads and programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MapCounts {
    /// Map entries, or units, found in memory.
    pub hits: u64,
    /// Entries or units not found in memory.
    pub misses: u64,
    /// Entries or units evicted after a change.
    pub dirty_evictions: u64,
    /// Host reads of a page that had to read its map page from flash first, or with LeaFTL a wrong page. A request of
    /// several pages counts each.
    pub double_reads: u64,
    /// Victim blocks with map pages, included in `gc.runs`.
    pub gc_runs: u64,
    /// Map pages moved by these collections.
    pub gc_copies: u64,
    /// Logical pages with scattered sectors, put together by collection in `ftl.hybrid_map`, by collection and log
    /// merges in `ftl.sector_log`.
    pub folded_pages: u64,
}

impl MapCounts {
    pub(crate) fn between(start: &Events, end: &Events) -> Option<Self> {
        (end.map_hits + end.map_misses > 0).then(|| Self {
            hits: end.map_hits - start.map_hits,
            misses: end.map_misses - start.map_misses,
            dirty_evictions: end.map_dirty_evictions - start.map_dirty_evictions,
            double_reads: end.map_double_reads - start.map_double_reads,
            gc_runs: end.map_gc_runs - start.map_gc_runs,
            gc_copies: end.map_gc_copies - start.map_gc_copies,
            folded_pages: end.folded_pages - start.folded_pages,
        })
    }
}

/// Counts for one origin and one cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatrixRow {
    /// The page's author.
    pub origin: String,
    /// Reason for the operation.
    pub cause: &'static str,
    /// Page reads.
    pub reads: u64,
    /// Page programs.
    pub programs: u64,
    /// Copies.
    pub copies: u64,
    /// Block erases. Origins share an erase in proportion to their invalid pages in the block. It counts for the cause
    /// that freed the block, even if it waits until the block is taken (`erase_when = "on_alloc"`).
    pub erases: f64,
    /// Spare-only reads.
    pub spare_reads: u64,
    /// Spare-only programs.
    pub spare_programs: u64,
    /// Metadata-page reads.
    pub meta_reads: u64,
    /// Metadata-page programs.
    pub meta_programs: u64,
    /// Summed data-sheet times of these operations, us.
    pub busy_us: f64,
}

impl MatrixRow {
    /// The rows of `matrix`; `slc` is its part in blocks with one bit per cell.
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

/// Preconditioning cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreconditionRecord {
    /// Page writes, plus requests before the measurement: those of a warm-up, and of the tenants' loads.
    pub requests: u64,
    /// Flash operations for them.
    pub flash: FlashCounts,
    /// Write amplification; null if nothing was written.
    pub waf: Option<f64>,
    /// Capacities written until the device was steady, or up to the limit; null if the experiment does not ask
    /// for a steady device.
    pub windows: Option<u32>,
    /// Whether it was steady at the end.
    pub steady: Option<bool>,
    /// Simulated time, us; null without time.
    pub time_us: Option<f64>,
}

impl PreconditionRecord {
    /// This cost plus a later one: `written_sectors` is their total.
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

/// A file system's NVRAM.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FsNvramRecord {
    /// Bytes for the device's metadata.
    pub bytes: u64,
    /// Its accesses.
    #[serde(flatten)]
    pub used: NvramRecord,
}

/// Throughput in simulated time, over `time_us`, without requests that zones refused; MB are 1,000,000 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Throughput {
    /// Requests a second.
    pub requests_per_s: f64,
    /// Megabytes read a second.
    pub read_mb_per_s: f64,
    /// Megabytes written a second.
    pub written_mb_per_s: f64,
}

/// Memory needed by firmware, bytes by structure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RamRecord {
    /// Fast memory on the controller.
    pub sram: BTreeMap<&'static str, u64>,
    /// Memory beside the controller.
    pub dram: BTreeMap<&'static str, u64>,
    /// The sum.
    pub total_bytes: u64,
    /// The controller's memory and its use; null if the profile has no controller, and without an FTL.
    pub controller: Option<ControllerRecord>,
}

/// Flash failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FaultRecord {
    /// Failed programs, copies and spare programs.
    pub failed_programs: u64,
    /// Failed erases.
    pub failed_erases: u64,
    /// Bits corrected by the ECC, counted again at every read.
    pub corrected_bits: u64,
    /// Page reads, copies included, with more errors than the ECC corrects.
    pub uncorrectable_reads: u64,
    /// Blocks retired after a failure.
    pub retired_blocks: u64,
    /// Pages lost to bit errors during a move.
    pub lost_pages: u64,
}

impl Record {
    /// The record as one JSON document.
    pub fn to_json(&self) -> String {
        json::text(self)
    }
}
