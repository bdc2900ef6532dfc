//! Published figures.

use super::fillrandom::{fill, Fill, Filled};
use super::{disk, tiered};
use nandlab_block::ByteCount;
use nandlab_index::lsm::{Backlog, Options, Tree};

/// RocksDB's universal compaction: size ratio 1 %, size amplification 200 %, trigger 8 runs, flushes of equal size. One
/// run is left after 8 and 26 flushes, and then 73 units are written: a write amplification of 2.8077.
#[test]
fn universal_compaction_is_as_published() {
    let options = Options {
        key_bytes: 8,
        value_bytes: 100,
        write_buffer_bytes: ByteCount(1 << 20),
        write_unit_bytes: 512,
        level0_trigger: 8,
        ..tiered(Options::default())
    };
    let mut disk = disk(64 << 20);
    let mut tree = Tree::create(&mut disk, &options.config()).unwrap();
    let mut single = Vec::new();
    for flush in 1..=26_u64 {
        for n in 0..1000 {
            tree.put(&(n * 1000 + flush).to_be_bytes(), &[flush as u8; 100]).unwrap();
        }
        tree.write_out().unwrap();
        let runs = tree.levels()[0].0 + tree.levels()[1..].iter().filter(|level| level.0 > 0).count() as u64;
        if runs == 1 && flush > 1 {
            single.push(flush);
        }
    }
    assert_eq!(single, [8, 26]);
    let stats = tree.stats();
    let unit = stats.flush_bytes as f64 / 26.0;
    let units = (stats.flush_bytes + stats.compaction_bytes()) as f64 / unit;
    println!("{units:.3} units written");
    // What is around the records, a footer and a unit's padding, is a little less in larger tables.
    assert!((units - 73.0).abs() < 0.4, "{units}");
    assert_eq!(tree.check().unwrap().records, 26_000);
}

/// The leveled runs, at full size.
fn fill_random(keys: u64, slowdown: u32) -> Filled {
    let filled = fill(&Fill { keys, multiplier: 10, slowdown, backlog: Backlog::Sizes, scale: 1 });
    let (stats, levels) = (&filled.stats, filled.levels);
    println!("to levels {:?}", stats.compaction_written.map(|bytes| bytes / 1_000_000));
    println!(
        "{keys} keys: {} memtables, flushed {} MB, written {} MB, W-Amp {:.3}, live {} MB, levels {levels:?}",
        stats.memtables,
        stats.flush_bytes / 1_000_000,
        filled.written() / 1_000_000,
        filled.w_amp(),
        filled.live / 1_000_000,
    );
    filled
}

fn is_near(what: &str, measured: f64, published: f64, percent: f64) {
    let off = 100.0 * (measured / published - 1.0);
    println!("{what}: {measured:.4}, published {published}: {off:+.1} %");
    assert!(off.abs() <= percent, "{what}: {measured}, published {published}");
}

/// RocksDB merges in threads while puts go on. These figures lie between two that depend on nothing but the operations: a
/// put waits for all compaction that is due, or only while level 0 has 20 tables, RocksDB's
/// `level0_slowdown_writes_trigger`. More keys write less than either: see `backlog.rs`.
fn lies_between(keys: u64, published: f64) -> [Filled; 2] {
    let both = [20, 8].map(|slowdown| fill_random(keys, slowdown));
    let [late, at_once] = [&both[0], &both[1]].map(Filled::w_amp);
    println!("{keys} keys: {late:.3} put off, {at_once:.3} at once, published {published}");
    assert!(late < published && published < at_once);
    both
}

#[test]
fn a_million_random_keys_are_written_as_often_as_published() {
    let [_, filled] = lies_between(1_000_000, 2.5);
    is_near("W-Amp", filled.w_amp(), 2.5, 15.0);
    is_near("flushed, GiB", filled.stats.flush_bytes as f64 / f64::from(1 << 30), 0.130, 3.0);
    is_near("written, GiB", filled.written() as f64 / f64::from(1 << 30), 0.33, 3.0);
    is_near("live, MB", filled.live as f64 / 1e6, 0.632 * 136.0, 1.0);
}

/// The long form: long enough that RocksDB's writer waits.
#[test]
fn ten_million_random_keys_are_written_as_often_as_published() {
    if std::env::var_os("NANDLAB_LONG").is_none() {
        return;
    }
    lies_between(10_000_000, 5.5);
    // db_bench 7.8.3 takes 10.1 tables of level 0 at once, on average.
    let filled = fill_random(10_000_000, 11);
    is_near("W-Amp", filled.w_amp(), 5.5, 10.0);
    let mib = |level: usize| filled.levels[level].1 as f64 / f64::from(1 << 20);
    is_near("last level, MiB", mib(6), 829.0, 3.0);
    is_near("level 5, MiB", mib(5), 80.0, 10.0);
    is_near("tables of level 5", filled.levels[5].0 as f64, 11.0, 10.0);
    is_near("tables of the last level", filled.levels[6].0 as f64, 119.0, 6.0);
    is_near("live, MB", filled.live as f64 / 1e6, 0.632 * 1360.0, 1.0);
}
