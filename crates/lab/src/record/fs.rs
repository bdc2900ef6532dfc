//! The part of a record that is about a file system.

use super::{FlashCounts, Latencies, Merges};
use nandlab_fs::parts::collector::Counts;
use nandlab_fs::BlockUse;
use nandlab_workload::files::FileOp;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a file system did. The requests to the device below are those in [`super::Record::host`].
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FsRecord {
    /// Operations of the workload, by kind.
    pub operations: FileCounts,
    /// Transactions that were begun.
    pub transactions: u64,
    /// Bytes that the workload read.
    pub read_bytes: u64,
    /// Bytes that it wrote.
    pub written_bytes: u64,
    /// What each part of the run cost.
    pub phases: FsPhases,
    /// The volume.
    pub volume: VolumeRecord,
    /// Time of operations in the device, us: `read` of reads, `write` of what changes something, `flush` of syncs; null
    /// without time.
    pub latency_us: Option<Latencies>,
    /// The transactions in which something was seen first; null but on bare flash.
    pub first: Option<FsFirst>,
    /// The transactions in their course: counts since the first of them.
    pub samples: Vec<FsSample>,
}

/// The number of the transaction, from 1, at the end of which something was seen first; null where it never was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FsFirst {
    /// A collection with enough erased blocks at hand.
    pub passive: Option<u64>,
    /// A collection with few erased blocks.
    pub aggressive: Option<u64>,
    /// No block was left that was never written.
    pub all_used: Option<u64>,
}

/// Operations of a file workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileCounts {
    /// All of them.
    pub total: u64,
    /// Directories made.
    pub mkdir: u64,
    /// Directories removed.
    pub rmdir: u64,
    /// Files created, or cut to nothing and opened.
    pub create: u64,
    /// Files opened.
    pub open: u64,
    /// Files closed.
    pub close: u64,
    /// Reads.
    pub read: u64,
    /// Writes.
    pub write: u64,
    /// Files cut or extended.
    pub truncate: u64,
    /// Files made durable.
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

/// The parts of a run. The record as a whole covers the last three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FsPhases {
    /// Making the volume.
    pub format: FsPhase,
    /// Mounting it.
    pub mount: FsPhase,
    /// What the workload does before its first transaction.
    pub set_up: FsPhase,
    /// The transactions.
    pub transactions: FsPhase,
    /// What it does after the last, and the unmount.
    pub clean_up: FsPhase,
}

/// What a part of the run cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FsPhase {
    /// Operations of the workload.
    pub operations: u64,
    /// Requests of the file system.
    pub requests: u64,
    /// 512-byte sectors that it read.
    pub read_sectors: u64,
    /// 512-byte sectors that it wrote.
    pub written_sectors: u64,
    /// What the flash did.
    pub flash: FlashCounts,
    /// Merges of log blocks.
    pub merges: Merges,
    /// Log blocks renewed by moving their valid pages.
    pub migrations: u64,
    /// Sum of the data-sheet times of all operations of the flash, us.
    pub busy_us: f64,
    /// Simulated time, us; null without time.
    pub time_us: Option<f64>,
}

/// A volume, and what is free on it at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VolumeRecord {
    /// Bytes of the unit in which files take space.
    pub unit_bytes: u64,
    /// Those units.
    pub units: u64,
    /// Bytes that no file uses; null where the run ended inside an operation.
    pub free_bytes: Option<u64>,
}

/// Counts after some of the transactions, from the first of them on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FsSample {
    /// Transactions that are over.
    pub transactions: u64,
    /// Requests of the file system.
    pub requests: u64,
    /// 512-byte sectors that it wrote.
    pub written_sectors: u64,
    /// Page reads of the flash.
    pub reads: u64,
    /// Page programs.
    pub programs: u64,
    /// Copies, each of which is also a read and a program.
    pub copies: u64,
    /// Block erases.
    pub erases: u64,
    /// Sum of the data-sheet times of all operations of the flash, us.
    pub busy_us: f64,
    /// Simulated time, us; null without time.
    pub time_us: Option<f64>,
    /// Garbage collection of a file system on bare flash; null for others.
    pub gc: Option<FsCollections>,
    /// The blocks at this moment; null but on bare flash.
    pub blocks: Option<FsBlocks>,
}

/// Garbage collection of a file system on bare flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FsCollections {
    /// Blocks that were collected with enough erased ones at hand.
    pub passive: u64,
    /// Blocks that were collected with few erased ones.
    pub aggressive: u64,
    /// Blocks that were erased because their last page in use went, outside of collection.
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

/// What is in the blocks of a file system on bare flash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FsBlocks {
    /// Blocks that were never written.
    pub unused: u64,
    /// Blocks with nothing in them, those included.
    pub empty: u64,
    /// Live pages, and the blocks that hold so many; ascending.
    pub live: Vec<(u32, u64)>,
    /// Live pages of each block; null unless asked for.
    pub live_pages: Option<Vec<u32>>,
}

impl FsBlocks {
    /// Blocks that were never written.
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
