//! A disk as its page shows it.

use crate::http::{Block, Kind, Snapshot, Watched};
use crate::Disk;
use nandlab_lab::json;
use nandlab_lab::served::{LiveBlock, LiveKind};
use serde_json::Value;

impl Watched for Disk {
    fn snapshot(&self) -> Snapshot {
        let live = self.live();
        Snapshot {
            figures: json::value(&live),
            pages_per_block: live.pages_per_block,
            blocks: live.blocks.iter().map(shown).collect(),
        }
    }

    fn record(&self) -> Value {
        self.stats()
    }
}

fn shown(block: &LiveBlock) -> Block {
    let kind = match block.kind {
        LiveKind::Free => Kind::Free,
        LiveKind::Data => Kind::Data,
        LiveKind::Log => Kind::Log,
        LiveKind::Map => Kind::Map,
        LiveKind::Retired => Kind::Retired,
    };
    Block { kind, valid: block.valid, pe_cycles: block.pe_cycles }
}
