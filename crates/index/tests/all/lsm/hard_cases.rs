//! Cases that LSM trees got wrong.

use super::{contents, disk, small, tiered, Map};
use nandlab_block::ByteCount;
use nandlab_index::lsm::{Options, Tree, LEVELS};

const LAST: usize = LEVELS - 1;

fn tables(tree: &Tree<'_>) -> [u64; LEVELS] {
    tree.levels().map(|(tables, _)| tables)
}

#[test]
fn one_key_compacted_by_hand_stays_in_the_last_level() {
    for options in [small(), Options { dynamic_levels: Some(true), level0_trigger: 1, ..small() }, tiered(small())] {
        let mut disk = disk(1 << 20);
        let config = options.config();
        let mut tree = Tree::create(&mut disk, &config).unwrap();
        let mut expected = [0; LEVELS];
        expected[LAST] = 1;
        for round in 0..3 {
            tree.put(&[7; 4], &[round]).unwrap();
            tree.compact(&[0; 4], &[0xFF; 4]).unwrap();
            assert_eq!(tables(&tree), expected, "round {round}");
            tree.flush().unwrap();
            drop(tree);
            tree = Tree::open(&mut disk, &config).unwrap();
            assert_eq!(tables(&tree), expected, "round {round}, opened anew");
        }
        assert_eq!(tree.get(&[7; 4]).unwrap(), Some(vec![2]));
    }
}

#[test]
fn a_table_whose_rewrite_changes_nothing_is_rewritten_at_most_once() {
    for options in [small(), tiered(small())] {
        let mut disk = disk(1 << 20);
        let mut tree = Tree::create(&mut disk, &options.config()).unwrap();
        for n in 0..1_000_u32 {
            tree.put(&n.to_be_bytes(), &[1; 8]).unwrap();
        }
        for n in (0..1_000_u32).step_by(2) {
            tree.delete(&n.to_be_bytes()).unwrap();
        }
        tree.compact(&[0; 4], &[0xFF; 4]).unwrap();
        let once = tree.stats();
        assert_eq!(tree.check().unwrap().table_records, 500);
        for _ in 0..3 {
            tree.compact(&[0; 4], &[0xFF; 4]).unwrap();
            tree.compact_top().unwrap();
        }
        let again = tree.stats();
        assert_eq!((again.compactions, again.compaction_bytes()), (once.compactions, once.compaction_bytes()));
    }
}

#[test]
fn ascending_keys_only_move() {
    let mut disk = disk(4 << 20);
    let options = Options { level0_trigger: 1, ..small() };
    let mut tree = Tree::create(&mut disk, &options.config()).unwrap();
    let mut map = Map::new();
    for n in 0..20_000_u32 {
        tree.put(&n.to_be_bytes(), &n.to_le_bytes()).unwrap();
        map.insert(n.to_be_bytes().to_vec(), n.to_le_bytes().to_vec());
    }
    let stats = tree.stats();
    // Tables that do not overlap are never written twice; check() would find two that overlap in a level.
    assert!(stats.moves > 90 && stats.compaction_bytes() == 0, "{stats:?}");
    tree.check().unwrap();
    assert_eq!(contents(&mut tree), map);
}

#[test]
fn a_moved_table_never_overlaps_another() {
    let mut disk = disk(4 << 20);
    let mut moves = 0;
    for (trigger, step) in [(1, 3), (2, 7), (4, 1)] {
        let options = Options { level0_trigger: trigger, ..small() };
        let mut tree = Tree::create(&mut disk, &options.config()).unwrap();
        // Runs of ascending keys that touch each other at their ends.
        for run in 0..60_u32 {
            for n in 0..120_u32 {
                let key = (run * 37 % 60) * 119 + n / step * step;
                tree.put(&key.to_be_bytes(), &run.to_be_bytes()).unwrap();
            }
            tree.check().unwrap();
        }
        moves += tree.stats().moves;
    }
    println!("{moves} moves");
    assert!(moves > 10);
}

#[test]
fn tables_grow_with_the_distance_to_the_base_level() {
    let mut disk = disk(16 << 20);
    let options = Options { target_file_multiplier: Some(2), level0_trigger: 2, ..small() };
    let mut tree = Tree::create(&mut disk, &options.config()).unwrap();
    for n in 0..60_000_u32 {
        tree.put(&n.wrapping_mul(0x9E37_79B9).to_be_bytes(), &[1; 12]).unwrap();
    }
    let levels = tree.levels();
    println!("{levels:?}");
    let base = (1..LEVELS).find(|&level| levels[level].0 > 0).unwrap();
    assert!(base < LAST - 1, "there are three levels or more");
    for (level, &(tables, bytes)) in levels.iter().enumerate().skip(base) {
        let target = 2048 << (level - base);
        // A table may end up to a block and what is around its data later; the last of a compaction is smaller.
        let mean = bytes / tables;
        assert!(mean > target / 3 && mean < target * 13 / 10, "level {level}: {mean} bytes, target {target}");
    }
}

#[test]
fn deleted_keys_are_dropped_in_the_last_level() {
    let mut disk = disk(1 << 20);
    let mut tree = Tree::create(&mut disk, &small().config()).unwrap();
    for round in 0..10_u32 {
        for n in 0..400_u32 {
            tree.put(&n.to_be_bytes(), &round.to_be_bytes()).unwrap();
        }
        for n in 0..400_u32 {
            tree.delete(&n.to_be_bytes()).unwrap();
        }
    }
    tree.compact(&[0; 4], &[0xFF; 4]).unwrap();
    let report = tree.check().unwrap();
    assert_eq!((report.records, report.tables), (0, 0), "nothing is left of 4,000 deleted records");
    assert!(tree.stats().dropped > 0);
}

#[test]
fn a_log_of_padding_makes_the_memtable_a_table_early() {
    let mut disk = disk(1 << 20);
    let options = Options { write_buffer_bytes: ByteCount(16 << 10), ..small() };
    let mut tree = Tree::create(&mut disk, &options.config()).unwrap();
    for n in 0..300_u32 {
        tree.put(&n.to_be_bytes(), &[1; 12]).unwrap();
        tree.flush().unwrap();
    }
    let stats = tree.stats();
    // Each flush writes a unit of 512 bytes for a record; four logs of 35 units hold 140 of them, the memtable 431.
    assert_eq!((stats.wal_bytes, stats.memtables), (300 * 512, 2));
}
