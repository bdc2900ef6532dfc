//! Random operations on a tree and on an ordered map, everything compared; the state after a new start; refusals.

use super::trims::{DISCARD, FSTRIM};
use super::{contents, disk, range, refuses_and_stays_whole, small, tiered, Map};
use nandlab_block::{Blank, ByteCount, Mirror};
use nandlab_index::lsm::{Allocation, Backlog, Bloom, FileChoice, Options, Tree, Trim};
use nandlab_index::IndexError;
use nandlab_nand::random::Random;

fn key(random: &mut Random) -> Vec<u8> {
    (random.below(3_000) as u32).wrapping_mul(0x9E37_79B9).to_be_bytes().to_vec()
}

fn value(random: &mut Random, options: &Options) -> Vec<u8> {
    let bytes = random.below(u64::from(options.value_bytes) + 1);
    (0..bytes).map(|_| random.next_u64() as u8).collect()
}

/// Random operations, with a flush and a new start now and then; unflushed operations before a new start may be lost.
fn conforms(options: &Options, steps: u64, seed: u64) {
    options.check().unwrap();
    let config = options.config();
    let mut disk = disk(4 << 20);
    let mut random = Random::new(seed);
    let mut map = Map::new();
    Tree::create(&mut disk, &config).unwrap();
    for part in 0..6 {
        let mut tree = Tree::open(&mut disk, &config).unwrap();
        assert_eq!(contents(&mut tree), map, "part {part} of {options:?}");
        let growth = if part < 4 { 0.75 } else { 0.2 };
        for step in 0..steps / 6 {
            let key = key(&mut random);
            if random.chance(0.2) {
                assert_eq!(tree.get(&key).unwrap().as_ref(), map.get(&key));
            } else if random.chance(growth) {
                let value = value(&mut random, options);
                tree.put(&key, &value).unwrap();
                map.insert(key, value);
            } else {
                tree.delete(&key).unwrap();
                map.remove(&key);
            }
            if step % 97 == 0 {
                tree.flush().unwrap();
            }
        }
        let report = tree.check().unwrap();
        assert_eq!(report.records, map.len() as u64);
        let (from, end) = (key(&mut random), key(&mut random));
        if from < end {
            let expected = map.range(from.clone()..end.clone()).map(|(k, v)| (k.clone(), v.clone())).collect();
            assert_eq!(range(&mut tree, Some(&from), Some(&end)), expected);
        }
        if part == 2 {
            tree.compact(&[0; 4], &[0xFF; 4]).unwrap();
            assert_eq!(tree.check().unwrap().table_records, map.len() as u64, "one record a key is left");
        }
        tree.flush().unwrap();
    }
}

#[test]
fn every_compaction_is_an_ordered_map() {
    let leveled = small();
    for (options, seed) in [
        (leveled.clone(), 1),
        (Options { dynamic_levels: Some(false), trim: DISCARD, ..leveled.clone() }, 2),
        (Options { file_choice: Some(FileChoice::RoundRobin), target_file_multiplier: Some(2), ..leveled.clone() }, 3),
        (Options { backlog: Some(Backlog::Sizes), level0_slowdown: Some(9), ..leveled.clone() }, 10),
        (Options { level0_trigger: 1, bloom_bits_per_key: 0.0, cache_bytes: ByteCount(0), ..leveled.clone() }, 4),
        (Options { wal: false, bloom: Bloom::Lines, ..leveled.clone() }, 5),
        (Options { extent_bytes: ByteCount(4096), value_bytes: 700, block_bytes: 512, ..leveled }, 6),
        (Options { level0_slowdown: Some(9), trim: FSTRIM, allocation: Allocation::NextFit, ..small() }, 9),
        (tiered(small()), 7),
        (Options { level0_trigger: 8, wal: false, trim: Trim::Never, ..tiered(small()) }, 8),
    ] {
        conforms(&options, 9_000, seed);
    }
}

#[test]
fn one_tree_may_change_its_compaction() {
    let mut disk = disk(1 << 20);
    let mut map = Map::new();
    let mut random = Random::new(1);
    Tree::create(&mut disk, &small().config()).unwrap();
    for options in [small(), tiered(small()), small(), tiered(small())] {
        let mut tree = Tree::open(&mut disk, &options.config()).unwrap();
        for _ in 0..1_500 {
            let (key, value) = (key(&mut random), value(&mut random, &options));
            tree.put(&key, &value).unwrap();
            map.insert(key, value);
        }
        tree.check().unwrap();
        assert_eq!(contents(&mut tree), map);
        tree.flush().unwrap();
    }
}

#[test]
fn a_bulk_load_fills_the_last_level() {
    for options in [small(), tiered(small())] {
        let mut disk = disk(1 << 20);
        let records = || (0..5_000_u32).map(|n| ((3 * n).to_be_bytes().to_vec(), n.to_le_bytes().to_vec()));
        {
            let mut tree = Tree::create(&mut disk, &options.config()).unwrap();
            let twice = records().take(9).chain(records().take(1));
            let refused = tree.bulk_load(&mut twice.into_iter()).unwrap_err();
            assert!(matches!(refused, IndexError::BulkLoad { record: 9, .. }), "{refused}");
            tree.bulk_load(&mut records()).unwrap();
            assert!(matches!(tree.bulk_load(&mut records()), Err(IndexError::BulkLoad { .. })));
        }
        let mut tree = Tree::open(&mut disk, &options.config()).unwrap();
        assert_eq!(contents(&mut tree), records().collect());
        let levels = tree.levels();
        assert!(levels[6].0 > 10 && levels[..6].iter().all(|&level| level == (0, 0)), "{levels:?}");
        for n in 0..15_000_u32 {
            assert_eq!(tree.get(&n.to_be_bytes()).unwrap().is_some(), n % 3 == 0);
        }
        let stats = tree.stats();
        let rate = stats.bloom.false_positive_rate().unwrap();
        assert!(stats.bloom.negative > 9_000 && rate < 0.02, "{stats:?}");
    }
}

#[test]
fn a_full_tree_refuses_and_stays_whole() {
    for options in [small(), tiered(small()), Options { wal: false, ..small() }] {
        let records = refuses_and_stays_whole(&mut disk(96 << 10), &options);
        assert!(records > 500, "{records}");
    }
}

#[test]
fn wrong_lengths_and_other_keys_are_refused() {
    let mut disk: Mirror<Blank> = disk(1 << 20);
    let options = small();
    let mut tree = Tree::create(&mut disk, &options.config()).unwrap();
    assert!(matches!(tree.put(&[1; 5], &[]), Err(IndexError::Length { what: "key", bytes: 5, .. })));
    assert!(matches!(tree.put(&[1; 4], &[0; 13]), Err(IndexError::Length { what: "value", bytes: 13, .. })));
    drop(tree);
    let longer = Options { key_bytes: 8, ..options };
    assert!(matches!(Tree::open(&mut disk, &longer.config()), Err(IndexError::Mismatch { key: "key_bytes", .. })));
    let mut blank = super::disk(1 << 20);
    assert!(matches!(Tree::open(&mut blank, &longer.config()), Err(IndexError::NoIndex { .. })));
    let mut tiny = super::disk(4 << 10);
    assert!(matches!(Tree::create(&mut tiny, &longer.config()), Err(IndexError::Option { key: "extent_bytes", .. })));
}
