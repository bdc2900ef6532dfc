//! The LSM tree.

mod cuts;
mod damage;
mod figures;
mod hard_cases;
mod model;
mod zones;

use crate::{ascending, Map};
use nandlab_block::{Blank, ByteCount, Mirror};
use nandlab_index::lsm::{Compaction, Options, TieredOptions, Tree};

fn disk(bytes: u64) -> Mirror<Blank> {
    Mirror::new(Blank::new(bytes / 512))
}

/// Small sizes, so that a few thousand records make several levels.
fn small() -> Options {
    Options {
        value_bytes: 12,
        write_buffer_bytes: ByteCount(2 << 10),
        target_file_bytes: ByteCount(2 << 10),
        level_base_bytes: Some(ByteCount(6 << 10)),
        level_multiplier: Some(3),
        block_bytes: 256,
        cache_bytes: ByteCount(4 << 10),
        write_unit_bytes: 512,
        extent_bytes: ByteCount(512),
        ..Options::default()
    }
}

#[allow(clippy::needless_pass_by_value)] // as an option set is written where it is used
fn tiered(options: Options) -> Options {
    Options {
        compaction: Compaction::Tiered(TieredOptions::default()),
        level_base_bytes: None,
        level_multiplier: None,
        dynamic_levels: None,
        target_file_multiplier: None,
        file_choice: None,
        ..options
    }
}

fn contents(tree: &mut Tree<'_>) -> Map {
    range(tree, None, None)
}

fn range(tree: &mut Tree<'_>, from: Option<&[u8]>, end: Option<&[u8]>) -> Map {
    let mut cursor = tree.range(from, end).unwrap();
    ascending(|| cursor.next().unwrap().map(|(key, value)| (key.to_vec(), value.to_vec())))
}
