//! PostMark against the program: `postmark/recorded.json` holds what Debian's `postmark` asked of a file system, written
//! by `postmark/record_postmark.py`.

use nandlab_workload::files::postmark::Config;
use nandlab_workload::files::{FileOp, FileSetting};
use nandlab_workload::FileOptions;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(serde::Deserialize)]
struct Recorded {
    runs: Vec<Run>,
}

#[derive(serde::Deserialize)]
struct Run {
    options: Config,
    lines: BTreeMap<String, u64>,
    fnv1a: String,
    first: Vec<String>,
}

/// The lines of `record_postmark.py`.
fn lines(config: &Config) -> Vec<String> {
    let setting = FileSetting { seed: 1, base: Path::new(".") };
    let mut lines = Vec::new();
    let (mut begun, tenth) = (0, config.transactions / 10);
    for op in config.open(&setting).unwrap() {
        let op = op.unwrap();
        if matches!(op, FileOp::Transaction | FileOp::CleanUp) {
            if begun > 0 && (begun - 1) % tenth == 0 {
                lines.push("tenth".to_owned());
            }
            begun += 1;
        }
        lines.push(match op {
            FileOp::Transaction if begun == 1 => "transactions".to_owned(),
            FileOp::Transaction => continue,
            FileOp::CleanUp => "clean up".to_owned(),
            FileOp::Mkdir(path) => format!("mkdir {path}"),
            FileOp::Rmdir(path) => format!("rmdir {path}"),
            FileOp::Create { path, .. } => format!("create {path}"),
            FileOp::Open { path, .. } => format!("open {path}"),
            FileOp::Close(_) => "close".to_owned(),
            FileOp::Read { at, bytes, .. } => format!("read {at} {bytes}"),
            FileOp::Write { at, bytes, .. } => format!("write {at} {bytes}"),
            FileOp::Unlink(path) => format!("unlink {path}"),
            other => panic!("PostMark does no {other:?}"),
        });
    }
    lines
}

/// The FNV-1a hash of 64 bits.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

#[test]
fn the_sequence_is_that_of_the_program() {
    // A published value: of "foobar".
    assert_eq!(fnv1a("foobar"), 0x8594_4171_F739_67E8);
    let recorded: Recorded = serde_json::from_str(include_str!("../postmark/recorded.json")).unwrap();
    assert!(recorded.runs.len() >= 12);
    for run in recorded.runs {
        let ours = lines(&run.options);
        let name = format!("{:?}", run.options);
        for (at, (ours, theirs)) in ours.iter().zip(&run.first).enumerate() {
            assert_eq!(ours, theirs, "line {at} of {name}");
        }
        let mut counts = BTreeMap::new();
        for line in &ours {
            *counts.entry(line.split(' ').next().unwrap().to_owned()).or_insert(0) += 1;
        }
        assert_eq!(counts, run.lines, "{name}");
        let text: String = ours.iter().map(|line| format!("{line}\n")).collect();
        assert_eq!(
            format!("{:016x}", fnv1a(&text)),
            run.fnv1a,
            "the first and the counts agree, the rest does not: {name}"
        );
    }
}

#[test]
fn fewer_than_ten_transactions_are_the_start_of_more() {
    let of = |transactions| first_operations(&Config { transactions, number: 20, ..Config::default() });
    assert_eq!(of(9), of(500)[..9]);
}

/// The first operation of each transaction.
fn first_operations(config: &Config) -> Vec<FileOp> {
    let setting = FileSetting { seed: 1, base: Path::new(".") };
    let ops: Vec<FileOp> = config.open(&setting).unwrap().collect::<Result<_, _>>().unwrap();
    ops.windows(2).filter(|pair| pair[0] == FileOp::Transaction).map(|pair| pair[1].clone()).collect()
}

#[test]
fn a_run_without_files_ends_with_a_sentence() {
    let config = Config { number: 3, bias_create: 0, ..Config::default() };
    let setting = FileSetting { seed: 1, base: Path::new(".") };
    let error = config.open(&setting).unwrap().find_map(Result::err).unwrap().to_string();
    // The three are deleted in transactions 1, 2 and 3; the fourth looks for one to read.
    assert!(error.contains("number = 3") && error.contains("in transaction 4 "), "{error}");
    let again = config.open(&setting).unwrap().skip_while(Result::is_ok).count();
    assert_eq!(again, 1, "nothing comes after the error");
}

#[test]
fn options_that_postmark_does_not_take_are_refused_with_their_key() {
    use nandlab_workload::ByteCount;
    let default = Config::default;
    for (config, says) in [
        (Config { size_low: ByteCount(0), ..default() }, "size_low = 0"),
        (Config { size_low: ByteCount(20_000), ..default() }, "size_high = "),
        (Config { size_high: ByteCount(1 << 30), ..default() }, "size_high = "),
        (Config { number: 0, ..default() }, "number = 0"),
        (Config { number: 1 << 30, ..default() }, "number = "),
        (Config { transactions: 0, ..default() }, "transactions = 0"),
        (Config { seed: 0, ..default() }, "seed = 0"),
        (Config { seed: 1 << 31, ..default() }, "seed = "),
        (Config { subdirectories: 1 << 31, ..default() }, "subdirectories = "),
        (Config { read_block: ByteCount(0), ..default() }, "read_block = 0"),
        (Config { write_block: ByteCount(0), ..default() }, "write_block = 0"),
        (Config { bias_read: 11, ..default() }, "bias_read = 11"),
        (Config { bias_create: -2, ..default() }, "bias_create = -2"),
    ] {
        let error = config.check().unwrap_err().to_string();
        assert!(error.starts_with(says), "{error}");
    }
}
