//! Key workloads: deterministic, of the shares and frequencies that they promise.

use nandlab_workload::keys::inserts::{self, Order};
use nandlab_workload::keys::ycsb::{self, Mix};
use nandlab_workload::keys::{load_update, trace, Action, KeyOp, KeyOptions, KeySetting};
use nandlab_workload::WorkloadError;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn stream(options: &dyn KeyOptions, seed: u64) -> Vec<KeyOp> {
    let setting = KeySetting { seed, base: Path::new("."), largest_key: u64::MAX };
    options.open(&setting).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn the_same_seed_makes_the_same_stream_and_another_one_another() {
    let inserts = |order| inserts::Config { order, operations: 5_000, ..Default::default() };
    let ycsb = |mix| ycsb::Config { mix, records: 1_000, operations: 5_000, ..Default::default() };
    let load = load_update::Config { records: 1_000, updates: 5_000, ..Default::default() };
    let mut all: Vec<Box<dyn KeyOptions>> = vec![Box::new(load)];
    all.extend([Order::Random, Order::Skewed].map(|order| Box::new(inserts(order)) as Box<dyn KeyOptions>));
    all.extend(Mix::ALL.map(|mix| Box::new(ycsb(mix)) as Box<dyn KeyOptions>));
    for options in all {
        let first = stream(&*options, 1);
        assert_eq!(first, stream(&*options, 1));
        assert_ne!(first, stream(&*options, 2));
    }
}

#[test]
fn inserts_come_in_their_order() {
    let config = |order| inserts::Config { order, operations: 100_000, keys: 1 << 31, theta: 0.99 };
    let random = stream(&config(Order::Random), 7);
    let different: BTreeSet<u64> = random.iter().map(|op| op.key).collect();
    // The number of pairs that fall together is n^2 / 2 / 2^31 = 2.3 on average.
    assert!(
        random.len() - different.len() < 12 && random.iter().all(|op| op.action == Action::Insert && op.key < 1 << 31)
    );
    let mean = different.iter().sum::<u64>() as f64 / different.len() as f64 / f64::from(1 << 30);
    assert!((mean - 1.0).abs() < 0.01, "{mean}");
    let small = inserts::Config { keys: 10, operations: 25, ..config(Order::Sequential) };
    assert!(stream(&small, 1).iter().zip(0..).all(|(op, n)| op.key == n % 10));
    let mut counts = BTreeMap::new();
    for op in stream(&inserts::Config { keys: 1_000, theta: 1.0, ..config(Order::Skewed) }, 1) {
        assert_eq!(op.action, Action::Put);
        *counts.entry(op.key).or_insert(0_u32) += 1;
    }
    // The most popular of 1,000 keys comes with frequency 1 / H(1000) = 0.1336.
    let most = f64::from(*counts.values().max().unwrap()) / 100_000.0;
    assert!((most - 0.1336).abs() < 0.005, "{most}");
}

#[test]
fn ycsb_mixes_have_their_shares() {
    for (mix, usual, other, share) in [
        (Mix::A, Action::Read, Action::Update, 0.5),
        (Mix::B, Action::Read, Action::Update, 0.05),
        (Mix::C, Action::Read, Action::Update, 0.0),
        (Mix::D, Action::Read, Action::Insert, 0.05),
        (Mix::E, Action::Scan(1), Action::Insert, 0.05),
        (Mix::F, Action::Read, Action::ReadModifyWrite, 0.5),
    ] {
        let ops = stream(&ycsb::Config { mix, records: 2_000, operations: 50_000, ..Default::default() }, 3);
        let (load, run) = ops.split_at(2_000);
        assert!(load.iter().all(|op| op.action == Action::Insert));
        let mut there: BTreeSet<u64> = load.iter().map(|op| op.key).collect();
        assert_eq!(there.len(), 2_000, "keys are all different");
        let mut others = 0;
        let mut scanned = 0;
        for op in run {
            others += u32::from(op.action == other);
            match op.action {
                Action::Insert => assert!(there.insert(op.key)),
                Action::Scan(records) => scanned += u64::from(records),
                action => assert!(action == usual || action == other),
            }
            assert!(there.contains(&op.key), "{mix:?}: a key that was never inserted");
        }
        assert!((f64::from(others) / 50_000.0 - share).abs() < 0.008, "{mix:?}: {others}");
        if mix == Mix::E {
            let mean = scanned as f64 / f64::from(50_000 - others);
            assert!((mean - 50.5).abs() < 0.6, "scans of {mean} records");
        }
    }
}

/// Reads of mix D go to the newest records, also to those inserted on the way.
#[test]
fn ycsb_d_reads_the_latest() {
    let ops = stream(&ycsb::Config { mix: Mix::D, records: 1_000, operations: 50_000, ..Default::default() }, 3);
    let mut inserted = Vec::new();
    let (mut newest, mut reads) = (0, 0);
    for op in ops {
        if op.action == Action::Insert {
            inserted.push(op.key);
        } else {
            reads += 1;
            newest += u32::from(inserted[inserted.len() - 10..].contains(&op.key));
        }
    }
    let share = f64::from(newest) / f64::from(reads);
    // The first 10 of 1,000 ranks with exponent 0.99: 39 %.
    assert!((0.36..0.42).contains(&share), "{share}");
}

#[test]
fn a_load_ascends_and_updates_hit_it() {
    let config = load_update::Config { records: 500, updates: 5_000, spacing: 7, ..Default::default() };
    let ops = stream(&config, 1);
    assert!(ops[..500].iter().zip(0..).all(|(op, n)| *op == KeyOp { action: Action::Load, key: n * 7 }));
    let updated: BTreeSet<u64> = ops[500..].iter().map(|op| op.key).collect();
    assert!(ops[500..].iter().all(|op| op.action == Action::Update && op.key % 7 == 0 && op.key < 3_500));
    assert!(updated.len() > 495, "{} of 500 keys", updated.len());
    let puts = stream(&load_update::Config { puts: true, ..config }, 1);
    assert_eq!(puts[..500], ops[..500]);
    assert!(puts[500..].iter().zip(&ops[500..]).all(|(put, op)| *put == KeyOp { action: Action::Put, key: op.key }));
}

fn read(text: &str) -> Result<Vec<KeyOp>, WorkloadError> {
    // One file for each text, as tests run side by side.
    let name = text.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let path = std::env::temp_dir().join(format!("nandlab-keys-{}-{name:x}.csv", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let config = trace::Config { path: path.display().to_string(), scan_records: 9 };
    let ops =
        config.open(&KeySetting { seed: 0, base: Path::new("."), largest_key: u64::MAX }).and_then(Iterator::collect);
    std::fs::remove_file(&path).unwrap();
    ops
}

#[test]
fn a_trace_is_read_as_it_stands() {
    let ops = read("op,key\nI,5\r\nU,18446744073709551615\nP,0\nR,1\nM,2\nS,3\nD,4").unwrap();
    let actions: Vec<Action> = ops.iter().map(|op| op.action).collect();
    use Action::{Delete, Insert, Put, Read, ReadModifyWrite, Scan, Update};
    assert_eq!(actions, [Insert, Update, Put, Read, ReadModifyWrite, Scan(9), Delete]);
    assert_eq!(ops.iter().map(|op| op.key).collect::<Vec<_>>(), [5, u64::MAX, 0, 1, 2, 3, 4]);
    assert_eq!(read("\u{FEFF}op,key\n").unwrap(), []);
}

#[test]
fn a_malformed_trace_is_refused_with_its_place() {
    for (text, expected) in [
        ("", "line 1, column 1: expected the header `op,key`, found the end of the line"),
        ("key,op\n", "line 1, column 1: expected the header"),
        ("op,key\nI,1\nX,1\n", "line 3, column 1: expected op, one of I, U, P, R, M, S, D, found `X,1`"),
        ("op,key\n\nI,1\n", "line 2, column 1: expected op"),
        ("op,key\nI;1\n", "line 2, column 2: expected `,` and then key, found `;1`"),
        ("op,key\nI,\n", "line 2, column 3: expected key, a whole number up to 2^64 - 1, found the end of the line"),
        ("op,key\nI,-1\n", "line 2, column 3: expected key"),
        ("op,key\nI,+1\n", "line 2, column 3: expected key"),
        ("op,key\nI,18446744073709551616\n", "line 2, column 3: expected key"),
        ("op,key\nI,1,2\n", "line 2, column 3: expected key"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text:?}: {error}");
    }
    let missing = trace::Config { path: "no such trace".into(), scan_records: 1 };
    let error =
        missing.open(&KeySetting { seed: 0, base: Path::new("."), largest_key: u64::MAX }).map(drop).unwrap_err();
    assert!(error.to_string().contains("there is no such file"));
}

#[test]
fn wrong_options_are_refused_with_a_sentence() {
    let message = |options: &dyn KeyOptions| options.check().unwrap_err().to_string();
    assert!(message(&inserts::Config { operations: 0, ..Default::default() }).contains("operations = 0"));
    assert!(message(&inserts::Config { keys: u64::MAX, ..Default::default() }).contains("at most 2^62"));
    assert!(message(&inserts::Config { theta: -1.0, ..Default::default() }).contains("theta = -1"));
    assert!(message(&ycsb::Config { key_bits: 17, ..Default::default() }).contains("key_bits = 17 cannot work: 100000"));
    assert!(message(&ycsb::Config { longest_scan: 0, ..Default::default() }).contains("longest_scan = 0"));
    assert!(message(&load_update::Config { spacing: 1 << 60, ..Default::default() }).contains("records x spacing"));
    assert!(message(&trace::Config { path: String::new(), scan_records: 1 }).contains("path"));
}

#[test]
fn keys_are_numbers_most_significant_byte_first() {
    let op = KeyOp { action: Action::Read, key: 0x0102_0304_0506_0708 };
    assert_eq!(op.bytes(), [5, 6, 7, 8]);
    assert_eq!(op.bytes(), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(op.bytes::<18>()[9..], [0, 1, 2, 3, 4, 5, 6, 7, 8]);
}
