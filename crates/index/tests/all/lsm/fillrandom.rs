//! db_bench's fillrandom: as many puts as there are keys, of 8 bytes with values of 128, and then all due compactions.

use super::disk;
use nandlab_block::ByteCount;
use nandlab_index::lsm::{Backlog, Options, Stats, Tree};
use nandlab_nand::random::Random;

/// A run.
pub struct Fill {
    /// Keys before scaling.
    pub keys: u64,
    pub multiplier: u32,
    /// A put waits once level 0 has so many tables.
    pub slowdown: u32,
    pub backlog: Backlog,
    /// What keys and all sizes are divided by; the tree keeps its shape.
    pub scale: u64,
}

/// What a run left.
pub struct Filled {
    pub stats: Stats,
    pub levels: [(u64, u64); 7],
    pub live: u64,
}

impl Filled {
    pub fn written(&self) -> u64 {
        self.stats.flush_bytes + self.stats.compaction_bytes()
    }

    pub fn w_amp(&self) -> f64 {
        self.written() as f64 / self.stats.flush_bytes as f64
    }
}

pub fn fill(run: &Fill) -> Filled {
    let options = Options {
        key_bytes: 8,
        value_bytes: 128,
        write_buffer_bytes: ByteCount(8_000_000 / run.scale),
        target_file_bytes: ByteCount(8_000_000 / run.scale),
        level0_trigger: 8,
        level0_slowdown: Some(run.slowdown),
        level_base_bytes: Some(ByteCount(64_000_000 / run.scale)),
        level_multiplier: Some(run.multiplier),
        dynamic_levels: Some(true),
        backlog: Some(run.backlog),
        wal: false,
        ..Options::default()
    };
    let keys = run.keys / run.scale;
    let mut disk = disk(keys * 136 * 3 + (256 << 20));
    let mut tree = Tree::create(&mut disk, &options.config()).unwrap();
    let mut random = Random::new(1);
    for _ in 0..keys {
        tree.put(&random.below(keys).to_be_bytes(), &[7; 128]).unwrap();
    }
    tree.flush().unwrap();
    // "All compactions done": level 0 is empty, and so is the first level below it.
    tree.compact_top().unwrap();
    let live = tree.check().unwrap().live_bytes;
    Filled { stats: tree.stats(), levels: tree.levels(), live }
}
