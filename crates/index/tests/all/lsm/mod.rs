//! The LSM tree.

mod backlog;
mod beside;
mod cuts;
mod damage;
mod figures;
mod fillrandom;
mod hard_cases;
mod model;
mod pending;
mod request_sizes;
mod trims;
mod zones;
mod zones_beside;

use crate::{ascending, Map};
use nandlab_block::{Blank, BlockDevice, ByteCount, Mirror};
use nandlab_index::lsm::{Compaction, Options, TieredOptions, Tree};
use nandlab_index::IndexError;

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
        backlog: None,
        ..options
    }
}

/// Puts records until many were refused because the device is full, and compares what is there then with those that were not;
/// returns their number.
fn refuses_and_stays_whole(device: &mut dyn BlockDevice, options: &Options) -> usize {
    let mut tree = Tree::create(device, &options.config()).unwrap();
    let (mut map, mut refusals) = (Map::new(), 0);
    for n in 0..12_000_u32 {
        let key = n.wrapping_mul(0x9E37_79B9).to_be_bytes();
        match tree.put(&key, &n.to_be_bytes()) {
            Ok(()) => drop(map.insert(key.to_vec(), n.to_be_bytes().to_vec())),
            Err(IndexError::NoSpace { .. }) => refusals += 1,
            Err(error) => panic!("{error}"),
        }
    }
    println!("{} records, {refusals} refusals", map.len());
    assert!(refusals > 100);
    tree.check().unwrap();
    assert_eq!(contents(&mut tree), map);
    map.len()
}

/// Puts new keys, small tables, until one is refused; compares what is there, and returns the records and tables.
fn fills(device: &mut dyn BlockDevice, options: &Options) -> (usize, u64) {
    let config = Options { target_file_bytes: ByteCount(4 << 10), ..options.clone() }.config();
    let (mut tree, mut map) = (Tree::create(device, &config).unwrap(), Map::new());
    let refused = (0..150_000_u32).find(|n| {
        let (key, value) = (n.wrapping_mul(0x9E37_79B9).to_be_bytes(), n.to_be_bytes());
        match tree.put(&key, &value) {
            Ok(()) => map.insert(key.to_vec(), value.to_vec()).is_some(),
            Err(IndexError::NoSpace { .. }) => true,
            Err(error) => panic!("{error}"),
        }
    });
    assert!(refused.is_some(), "{} records", map.len());
    assert_eq!(contents(&mut tree), map);
    (map.len(), tree.levels().map(|(tables, _)| tables).iter().sum())
}

fn contents(tree: &mut Tree<'_>) -> Map {
    range(tree, None, None)
}

fn range(tree: &mut Tree<'_>, from: Option<&[u8]>, end: Option<&[u8]>) -> Map {
    let mut cursor = tree.range(from, end).unwrap();
    ascending(|| cursor.next().unwrap().map(|(key, value)| (key.to_vec(), value.to_vec())))
}
