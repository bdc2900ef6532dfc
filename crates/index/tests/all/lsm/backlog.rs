//! Puts outrun compaction. RocksDB's rules in 6.17 are compared with published figures, its rules in 7.8 with db_bench.
//!
//! Keys and all sizes are divided by `SCALE`; the tree keeps its shape.

use super::fillrandom::{fill, Fill};
use nandlab_index::lsm::Backlog;

const SCALE: u64 = 20;

/// A db_bench fillrandom run with as many keys as puts.
struct Row {
    /// Keys before scaling.
    keys: u64,
    multiplier: u32,
    /// A put waits once level 0 has so many tables.
    slowdown: u32,
    w_amp: f64,
}

/// M. Callaghan's runs with RocksDB 6.17. Puts wait for 28 tables, half way from 20, where RocksDB slows puts down, to 36,
/// where it stops them.
const PUBLISHED: [Row; 4] = [
    Row { keys: 10_000_000, multiplier: 10, slowdown: 28, w_amp: 5.5 },
    Row { keys: 10_000_000, multiplier: 8, slowdown: 28, w_amp: 5.4 },
    Row { keys: 100_000_000, multiplier: 10, slowdown: 28, w_amp: 8.8 },
    Row { keys: 100_000_000, multiplier: 8, slowdown: 28, w_amp: 8.4 },
];

/// db_bench 7.8.3 (Debian's rocksdb-tools) on two cores, in memory, with two background jobs and
/// `level_compaction_dynamic_file_size` off: 10^7 keys at full size, 10^8 scaled by 20. The bytes come from events in the
/// database's log. Its merges took 10.1, 10.6, 20.0 and 19.5 tables from level 0 on average, so puts wait for as many here.
const DB_BENCH: [Row; 4] = [
    Row { keys: 10_000_000, multiplier: 10, slowdown: 10, w_amp: 5.889 },
    Row { keys: 10_000_000, multiplier: 8, slowdown: 11, w_amp: 5.921 },
    Row { keys: 100_000_000, multiplier: 10, slowdown: 20, w_amp: 9.659 },
    Row { keys: 100_000_000, multiplier: 8, slowdown: 20, w_amp: 9.667 },
];

fn w_amp(row: &Row, backlog: Backlog) -> f64 {
    let &Row { keys, multiplier, slowdown, .. } = row;
    fill(&Fill { keys, multiplier, slowdown, backlog, scale: SCALE }).w_amp()
}

/// Within 10 %. 10^8 keys belong to the long form.
fn are_near(rows: &[Row], backlog: Backlog) {
    let is_long = std::env::var_os("NANDLAB_LONG").is_some();
    for row in rows.iter().filter(|row| is_long || row.keys <= 10_000_000) {
        let measured = w_amp(row, backlog);
        let off = 100.0 * (measured / row.w_amp - 1.0);
        println!("{} keys, multiplier {}: {measured:.3}, {} ({off:+.1} %)", row.keys, row.multiplier, row.w_amp);
        assert!(off.abs() <= 10.0, "{} keys, multiplier {}: {measured}, {}", row.keys, row.multiplier, row.w_amp);
    }
}

#[test]
fn sizes_that_give_way_write_what_is_published_of_rocksdb_6_17() {
    are_near(&PUBLISHED, Backlog::Sizes);
}

#[test]
fn scores_that_give_way_write_what_db_bench_7_8_writes() {
    are_near(&DB_BENCH, Backlog::Scores);
}
