//! Reading and playing traces.

use crate::support::{gzip, Folder};
use nandlab_block::{Op, Request};
use nandlab_workload::trace::{Addresses, Config, FormatName};
use nandlab_workload::{Options, Setting, Workload, WorkloadError};
use std::path::Path;

const HEADER: &str = "time_us,op,sector,sectors,origin\n";

fn open(folder: &Folder, config: &Config, sectors: u64) -> Result<Box<dyn Workload>, WorkloadError> {
    config.open(&Setting { sectors, seed: 1, base: &folder.path, watch: &|_| true, took: None })
}

fn play(folder: &Folder, config: &Config, sectors: u64) -> Result<Vec<Request>, WorkloadError> {
    let mut workload = open(folder, config, sectors)?;
    let mut all = Vec::new();
    while workload.fill(&mut all, 1000)? > 0 {}
    Ok(all)
}

/// A trace of `records` pseudo-random requests below sector 100,000.
fn many(records: u64) -> String {
    let mut random = nandlab_nand::random::Random::new(1);
    let mut text = HEADER.to_owned();
    for n in 0..records {
        let op = ["R", "W", "W", "T"][random.below(4) as usize];
        text += &format!("{},{op},{},{},database\n", n * 3, random.below(99_000), 1 + random.below(64));
    }
    text
}

#[test]
fn plain_crlf_unterminated_and_compressed_files_are_equal() {
    let folder = Folder::new("forms");
    let text = many(30_000);
    let expected = play(&folder, &folder.write("plain.csv", text.as_bytes()), 100_000).unwrap();
    assert_eq!(expected.len(), 30_000);
    assert_eq!(expected[1].time, 3_000);
    let mut two_members = gzip(&text.as_bytes()[..5_000]);
    two_members.extend(gzip(&text.as_bytes()[5_000..]));
    for (name, bytes) in [
        ("crlf.csv", text.replace('\n', "\r\n").into_bytes()),
        ("unterminated.csv", text.trim_end().as_bytes().to_vec()),
        ("bom.csv", format!("\u{FEFF}{text}").into_bytes()),
        ("compressed.csv.gz", gzip(text.as_bytes())),
        ("compressed-without-a-name-for-it", two_members),
    ] {
        assert_eq!(play(&folder, &folder.write(name, &bytes), 100_000).unwrap(), expected, "{name}");
    }
}

#[test]
fn a_line_too_long_is_named_with_its_number() {
    let folder = Folder::new("long");
    for (before, line) in [("", 1), ("time_us,op,sector,sectors\n0,W,0,8\n", 3)] {
        let text = format!("{before}{}", "1".repeat(300_000));
        let config = Config { format: FormatName::Csv, ..folder.write("long.csv", text.as_bytes()) };
        let error = open(&folder, &config, 100_000).map(|_| ()).unwrap_err().to_string();
        let expected = format!("long.csv, line {line}, column 1: the line is longer than 262144 bytes");
        assert!(error.ends_with(&expected), "{error}");
    }
}

#[test]
fn malformed_lines_are_named_before_anything_is_played() {
    let folder = Folder::new("malformed");
    let mut text = many(100);
    text += "900,W,7,x,wal\n";
    let error = open(&folder, &folder.write("bad.csv", text.as_bytes()), 100_000).map(|_| ()).unwrap_err();
    let file = folder.path.join("bad.csv").display().to_string();
    assert_eq!(
        error.to_string(),
        format!("{file}, line 102, column 9: expected sectors, a whole number of 512-byte sectors, found `x,wal`")
    );
    let text = format!("{HEADER}5,W,0,8,wal\n4,W,0,8,wal\n");
    let error = play(&folder, &folder.write("backwards.csv", text.as_bytes()), 100_000).unwrap_err().to_string();
    assert!(error.contains("line 3, column 1: time goes back from 5 to 4 us"), "{error}");
}

#[test]
fn files_that_cannot_be_read_get_a_sentence() {
    let folder = Folder::new("unreadable");
    let packed = gzip(many(50_000).as_bytes());
    let middle = packed.len() / 2;
    let mut damaged = packed.clone();
    // The checksum at the end: damage that inflating alone does not see.
    damaged[packed.len() - 8] ^= 1;
    for (config, sentence) in [
        (Config::new("missing.csv"), "there is no such file"),
        (Config::new("."), "this is a folder"),
        (folder.write("empty.csv", b""), "the file is empty"),
        (folder.write("bare.csv", HEADER.as_bytes()), "there is no request in it"),
        (folder.write("short.csv.gz", &packed[..packed.len() - 9]), "the gzip data ends too early"),
        (folder.write("cut.csv.gz", &packed[..middle]), "the gzip data ends too early"),
        (folder.write("stump.csv.gz", &packed[..2]), "the gzip data ends too early"),
        (folder.write("damaged.csv.gz", &damaged), "the gzip data is damaged"),
        (folder.write("more.csv.gz", &[&packed[..], b"more\n"].concat()), "there is something else behind the end"),
    ] {
        let error = play(&folder, &config, 100_000).unwrap_err();
        assert!(error.to_string().contains(sentence), "{config:?}: {error}");
    }
}

#[test]
fn too_small_a_device_names_both_sizes_and_the_ways_out() {
    let folder = Folder::new("small");
    let text = format!("{HEADER}0,W,0,8,wal\n1,W,1048568,8,wal\n2,F,0,0,wal\n");
    let mut config = folder.write("large.csv", text.as_bytes());
    let error = play(&folder, &config, 4096).unwrap_err().to_string();
    let file = folder.path.join("large.csv").display().to_string();
    assert_eq!(
        error,
        format!(
            "{file} needs 1048576 sectors (512 MiB) and the device has 4096 (2 MiB): give it a larger device, or \
             set workload.trace.addresses to \"fold\" (addresses modulo the device) or \"compact\" \
             (the touched 4 KiB pages without the gaps between them)"
        )
    );
    let sectors = |config: &Config| play(&folder, config, 4096).unwrap().iter().map(|r| r.sector).collect::<Vec<_>>();
    config.addresses = Addresses::Fold;
    assert_eq!(sectors(&config), [0, 4088, 0]);
    config.addresses = Addresses::Compact;
    assert_eq!(sectors(&config), [0, 8, 0]);
    let error = play(&folder, &config, 8).unwrap_err().to_string();
    assert!(error.contains("needs 16 sectors") && !error.contains("compact"), "{error}");
}

#[test]
fn repetitions_follow_each_other_in_time() {
    let folder = Folder::new("repeat");
    let text = format!("{HEADER}10,W,0,8,wal\n20,R,8,8,wal\n40,F,0,0,wal\n");
    let config = Config { repeat: 3, ..folder.write("short.csv", text.as_bytes()) };
    let workload = open(&folder, &config, 64).unwrap();
    assert_eq!(workload.len_hint(), Some(9));
    let all = play(&folder, &config, 64).unwrap();
    // Span 30 us, mean gap 15 us.
    let times: Vec<u64> = all.iter().map(|request| request.time / 1000).collect();
    assert_eq!(times, [0, 10, 30, 45, 55, 75, 90, 100, 120]);
    assert_eq!(all[3..6].iter().map(|r| r.op).collect::<Vec<_>>(), [Op::Write, Op::Read, Op::Flush]);
    let config = Config { requests: Some(2), ..config };
    assert_eq!(play(&folder, &config, 64).unwrap().len(), 6);
}

#[test]
fn summary_counts() {
    let folder = Folder::new("summary");
    let text = format!("{HEADER}10,W,0,8,wal\n20,R,100,4,wal\n30,T,200,50,wal\n40,F,0,0,wal\n");
    let summary = folder.write("short.csv", text.as_bytes()).summary(&folder.path, &|_| true).unwrap();
    assert_eq!((summary.requests, summary.reads, summary.writes, summary.trims, summary.flushes), (4, 1, 1, 1, 1));
    assert_eq!((summary.read_sectors, summary.written_sectors, summary.trimmed_sectors), (4, 8, 50));
    assert_eq!((summary.end_sector, summary.longest, summary.first_ns, summary.last_ns), (250, 8, 10_000, 40_000));
}

#[test]
fn looking_through_a_trace_can_be_stopped() {
    let folder = Folder::new("stop");
    let config = folder.write("long.csv", many(200_000).as_bytes());
    let setting =
        Setting { sectors: 100_000, seed: 1, base: Path::new(&folder.path), watch: &|seen| seen < 100_000, took: None };
    assert_eq!(config.open(&setting).map(|_| ()).unwrap_err(), WorkloadError::Stopped);
}
