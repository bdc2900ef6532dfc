//! The record's part about a file system.

use super::{FlashCounts, Latencies, Merges};
use nandlab_fs::parts::collector::Counts;
use nandlab_fs::BlockUse;
use nandlab_workload::files::FileOp;
use serde::Serialize;
use std::collections::BTreeMap;

/// File-system activity. Its requests to the device below are in [`super::Record::host`].
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FsRecord {
    /// Workload operations, by kind.
    pub operations: FileCounts,
    /// Transactions begun.
    pub transactions: u64,
    /// Bytes read by the workload.
    pub read_bytes: u64,
    /// Bytes written by the workload.
    pub written_bytes: u64,
    /// Cost by part of the run.
    pub phases: FsPhases,
    /// The volume.
    pub volume: VolumeRecord,
    /// Operation times in the device, us: `read` for reads, `write` for changes, `flush` for syncs; null
    /// without time.
    pub latency_us: Option<Latencies>,
    /// First transactions with certain events; null but on bare flash.
    pub first: Option<FsFirst>,
    /// Time series over the transactions: counts since the first one.
    pub samples: Vec<FsSample>,
}

/// Transaction number, from 1, at which each event first occurred; null if it never did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FsFirst {
    /// A collection with enough erased blocks at hand.
    pub passive: Option<u64>,
    /// A collection with few erased blocks.
    pub aggressive: Option<u64>,
    /// No block was left unused since the start.
    pub all_used: Option<u64>,
}

/// Operations in a file workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileCounts {
    /// All operations.
    pub total: u64,
    /// Directories made.
    pub mkdir: u64,
    /// Directories removed.
    pub rmdir: u64,
    /// Files created, or truncated to nothing and opened.
    pub create: u64,
    /// Files opened.
    pub open: u64,
    /// Files closed.
    pub close: u64,
    /// Reads.
    pub read: u64,
    /// Writes.
    pub write: u64,
    /// Files truncated or extended.
    pub truncate: u64,
    /// Files synced.
    pub sync: u64,
    /// Renames.
    pub rename: u64,
    /// Files removed.
    pub unlink: u64,
}

impl FileCounts {
    pub(crate) fn add(&mut self, op: &FileOp) {
        let kind = match op {
            FileOp::Transaction | FileOp::CleanUp => return,
            FileOp::Mkdir(_) => &mut self.mkdir,
            FileOp::Rmdir(_) => &mut self.rmdir,
            FileOp::Create { .. } => &mut self.create,
            FileOp::Open { .. } => &mut self.open,
            FileOp::Close(_) => &mut self.close,
            FileOp::Read { .. } => &mut self.read,
            FileOp::Write { .. } => &mut self.write,
            FileOp::Truncate { .. } => &mut self.truncate,
            FileOp::Sync(_) => &mut self.sync,
            FileOp::Rename { .. } => &mut self.rename,
            FileOp::Unlink(_) => &mut self.unlink,
        };
        *kind += 1;
        self.total += 1;
    }
}

/// Parts of a run. The whole record covers the last three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FsPhases {
    /// Formatting the volume.
    pub format: FsPhase,
    /// Mounting it.
    pub mount: FsPhase,
    /// The workload before its first transaction.
    pub set_up: FsPhase,
    /// The transactions.
    pub transactions: FsPhase,
    /// The workload after the last transaction, and the unmount.
    pub clean_up: FsPhase,
}

/// Cost of one part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FsPhase {
    /// Workload operations.
    pub operations: u64,
    /// File-system requests.
    pub requests: u64,
    /// 512-byte sectors read by the file system.
    pub read_sectors: u64,
    /// 512-byte sectors written by the file system.
    pub written_sectors: u64,
    /// Flash operations.
    pub flash: FlashCounts,
    /// Log-block merges.
    pub merges: Merges,
    /// Log blocks renewed by moving their valid pages.
    pub migrations: u64,
    /// Summed data-sheet times of all flash operations, us.
    pub busy_us: f64,
    /// Simulated time, us; null without time.
    pub time_us: Option<f64>,
}

/// A volume, and its free space at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VolumeRecord {
    /// File allocation unit, bytes.
    pub unit_bytes: u64,
    /// Unit count.
    pub units: u64,
    /// Bytes not used by files; null if the run ended inside an operation.
    pub free_bytes: Option<u64>,
}

/// Counts since the first transaction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FsSample {
    /// Finished transactions.
    pub transactions: u64,
    /// File-system requests.
    pub requests: u64,
    /// 512-byte sectors written by the file system.
    pub written_sectors: u64,
    /// Flash page reads.
    pub reads: u64,
    /// Page programs.
    pub programs: u64,
    /// Copies; each is also a read and a program.
    pub copies: u64,
    /// Block erases.
    pub erases: u64,
    /// Summed data-sheet times of all flash operations, us.
    pub busy_us: f64,
    /// Simulated time, us; null without time.
    pub time_us: Option<f64>,
    /// Garbage collection by a file system on bare flash; null for others.
    pub gc: Option<FsCollections>,
    /// Block states at this moment; null but on bare flash.
    pub blocks: Option<FsBlocks>,
}

/// Garbage collection by a file system on bare flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FsCollections {
    /// Blocks collected while enough blocks were erased.
    pub passive: u64,
    /// Blocks collected while few blocks were erased.
    pub aggressive: u64,
    /// Blocks erased outside collection, after their last used page was freed.
    pub emptied: u64,
}

impl FsCollections {
    pub(crate) fn between(start: &Counts, end: &Counts) -> Self {
        Self {
            passive: end.passive - start.passive,
            aggressive: end.aggressive - start.aggressive,
            emptied: end.emptied - start.emptied,
        }
    }
}

/// Block states under a file system on bare flash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FsBlocks {
    /// Never-written blocks.
    pub unused: u64,
    /// Blocks without content, never-written ones included.
    pub empty: u64,
    /// Pairs: live-page count, blocks with that count; ascending.
    pub live: Vec<(u32, u64)>,
    /// Live pages per block; null unless asked for.
    pub live_pages: Option<Vec<u32>>,
}

impl FsBlocks {
    /// Never-written blocks.
    pub(crate) fn unused(blocks: &[BlockUse], pe_cycles: &[u32]) -> u64 {
        blocks.iter().zip(pe_cycles).filter(|(block, &cycles)| block.empty && cycles == 0).count() as u64
    }

    pub(crate) fn of(blocks: &[BlockUse], pe_cycles: &[u32], each: bool) -> Self {
        let mut live = BTreeMap::new();
        blocks.iter().for_each(|block| *live.entry(block.live).or_insert(0) += 1);
        Self {
            unused: Self::unused(blocks, pe_cycles),
            empty: blocks.iter().filter(|block| block.empty).count() as u64,
            live: live.into_iter().collect(),
            live_pages: each.then(|| blocks.iter().map(|block| block.live).collect()),
        }
    }
}
