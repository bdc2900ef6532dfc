//! What a page that shows a device at work needs, as small as it can be.

use super::{AskedBy, Served};
use crate::record::{us, waf, HostCounts, Latencies, MatrixRow};
use crate::stack::BlockKind;
use serde::Serialize;

/// A block of a device at work.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LiveBlock {
    /// Pages that hold the newest copy of something.
    pub valid: u32,
    /// Its P/E cycles.
    pub pe_cycles: u32,
    /// What it is used for.
    pub kind: LiveKind,
}

/// What a block is used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LiveKind {
    /// It can be filled: erased, or erased before its next use.
    Free,
    /// It holds data of the host.
    Data,
    /// It is a log, a mirror or a replacement of data blocks.
    Log,
    /// It holds what the FTL keeps for itself: a map, lists, notes.
    Map,
    /// It is bad.
    Retired,
}

/// A device at work.
#[derive(Clone, Debug, Serialize)]
pub struct Live {
    /// The name of the FTL, or of the file system on bare flash.
    pub ftl: &'static str,
    /// The size of the disk, bytes.
    pub bytes: u64,
    /// Simulated time since the opening, us.
    pub time_us: f64,
    /// What the host asked since the opening.
    pub host: HostCounts,
    /// Programs of pages since the opening.
    pub programs: u64,
    /// Erases of blocks since the opening.
    pub erases: u64,
    /// Victim blocks that were collected since the opening.
    pub gc_runs: u64,
    /// Write amplification since the opening; null where nothing was written.
    pub waf: Option<f64>,
    /// The same since the image was made.
    pub waf_in_all: Option<f64>,
    /// Blocks that can be filled.
    pub free_blocks: u64,
    /// Who asked for what, and why, since the opening.
    pub matrix: Vec<MatrixRow>,
    /// Latencies since the opening, us.
    pub latency_us: Option<Latencies>,
    /// Who asked for what since the opening.
    #[serde(flatten)]
    pub asked: AskedBy,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Every block, in the order of addresses.
    #[serde(skip)]
    pub blocks: Vec<LiveBlock>,
}

impl Served {
    /// The device as it is now.
    pub fn live(&mut self) -> Live {
        let time_us = us(self.now());
        let page = self.sizing.geometry.sectors_per_page();
        let all = self.lifetime();
        let total = self.engine.matrix().since(&self.start.matrix);
        let cells = total.total();
        let blocks = self.live_blocks();
        Live {
            ftl: self.lowest(),
            bytes: self.sizing.logical_bytes(),
            time_us,
            host: self.meter.host,
            programs: cells.programs(),
            erases: cells.erase_shares / nandlab_nand::ERASE_SHARE,
            gc_runs: self.engine.events().gc_runs - self.start.events.gc_runs,
            waf: waf(cells.programs(), page, self.meter.host.written_sectors),
            waf_in_all: waf(all.flash().programs, page, all.host.written_sectors),
            free_blocks: blocks.iter().filter(|block| block.kind == LiveKind::Free).count() as u64,
            matrix: MatrixRow::all(&total, None, &self.experiment.device.profile),
            latency_us: self.meter.latency.as_ref().map(crate::latency::LatencyMeter::summary),
            asked: self.asked(),
            pages_per_block: self.sizing.geometry.pages_per_block(),
            blocks,
        }
    }

    fn live_blocks(&self) -> Vec<LiveBlock> {
        let (states, chip) = (self.engine.blocks(), self.engine.chip());
        let blocks = states.iter().zip(chip.pe_cycles()).zip(chip.uses());
        let live = blocks.map(|((state, &pe_cycles), kind)| LiveBlock {
            valid: state.valid,
            pe_cycles,
            kind: match kind {
                BlockKind::Retired => LiveKind::Retired,
                _ if state.is_free => LiveKind::Free,
                BlockKind::Map => LiveKind::Map,
                BlockKind::Data | BlockKind::Erased => LiveKind::Data,
            },
        });
        let mut live: Vec<_> = live.collect();
        for block in self.engine.log_blocks() {
            live[block.0 as usize].kind = LiveKind::Log;
        }
        live
    }
}
