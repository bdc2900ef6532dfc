//! Reading and playing traces.

use crate::support::{gzip, setting, Folder};
use nandlab_block::{Op, Queues, Request};
use nandlab_workload::trace::{Action, Addresses, Config, FormatName};
use nandlab_workload::{Options, Setting, Workload, WorkloadError};
use std::path::Path;

const HEADER: &str = "time_us,op,sector,sectors,origin\n";

fn open(folder: &Folder, config: &Config, sectors: u64) -> Result<Box<dyn Workload>, WorkloadError> {
    config.open(&setting(sectors, 1, &folder.path))
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
    let setting = Setting {
        sectors: 100_000,
        seed: 1,
        base: Path::new(&folder.path),
        watch: &|seen| seen < 100_000,
        took: None,
        queues: Queues::default(),
        placements: None,
        zones: None,
    };
    assert_eq!(config.open(&setting).map(|_| ()).unwrap_err(), WorkloadError::Stopped);
}

/// Operation, first sector and sectors of what a text holds, which has to be told as `format`.
fn told(name: &str, text: &str, format: FormatName, action: Option<Action>) -> Vec<(Op, u64, u64)> {
    let folder = Folder::new(name);
    let config = Config { action, ..folder.write("trace", text.as_bytes()) };
    let summary = config.summary(&folder.path, &|_| true).unwrap();
    assert_eq!(summary.format, format);
    let all = play(&folder, &config, 1 << 40).unwrap();
    all.iter().map(|one| (one.op, one.sector, one.sectors.into())).collect()
}

const FLUSH: (Op, u64, u64) = (Op::Flush, 0, 0);

#[test]
fn a_flush_has_the_sector_minus_one_in_every_program_that_prints_it() {
    let write = (Op::Write, 64, 8);
    for flags in ["FF", "FWS", "F", "FFS"] {
        for sector in ["-1", "18446744073709551615", "18446744073709551614", "99999999999999999999999", "-77", "0"] {
            let ftrace = format!(
                "  app-12    [001] d..1.    7.500000: block_rq_issue: 8,0 WS 4096 () 64 + 8 [app]\n  \
                 kworker/1:1H-20    [001] d..1.    7.600000: block_rq_issue: 8,0 {flags} 0 () {sector} + 0 [kworker/1:1H]\n"
            );
            assert_eq!(told("ftrace-flush", &ftrace, FormatName::Ftrace, None), [write, FLUSH], "{ftrace}");
            let perf = ftrace.replace("block_rq_issue", "block:block_rq_issue").replace("app-12", "app 12");
            assert_eq!(told("perf-flush", &perf, FormatName::Ftrace, None), [write, FLUSH], "{perf}");
            let blkparse = format!(
                "  8,0 1 1 0.000000000 12 C WS 64 + 8 [app]\n  8,0 1 2 0.000100000 20 C {flags} {sector} + 0 [0]\n  \
                 8,0 1 3 0.000200000 20 C {flags} [kworker]\n  8,0 1 4 0.000300000 20 C {flags} {sector} [kworker]\n"
            );
            let all = told("blkparse-flush", &blkparse, FormatName::Blkparse, None);
            assert_eq!(all, [write, FLUSH, FLUSH, FLUSH], "{blkparse}");
        }
    }
}

#[test]
fn a_write_has_the_flushes_that_its_letters_ask_for() {
    let (write, read) = ((Op::Write, 64, 8), (Op::Read, 8, 8));
    for (flags, expected) in [
        ("WS", vec![write, read]),
        ("FW", vec![FLUSH, write, read]),
        ("FWS", vec![FLUSH, write, read]),
        ("WF", vec![write, FLUSH, read]),
        ("WFS", vec![write, FLUSH, read]),
        // Both: the block layer flushes, writes, and makes the write durable.
        ("FWFS", vec![FLUSH, write, FLUSH, read]),
        ("FWFSM", vec![FLUSH, write, FLUSH, read]),
    ] {
        let blkparse = format!("  8,0 1 1 0.1 12 Q {flags} 64 + 8 [app]\n  8,0 1 2 0.2 12 Q R 8 + 8 [app]\n");
        assert_eq!(told("q", &blkparse, FormatName::Blkparse, Some(Action::Q)), expected, "{blkparse}");
        let ftrace = format!(
            " app-12 [001] d..1. 7.5: block_bio_queue: 8,0 {flags} 64 + 8 [app]\n app-12 [001] d..1. 7.6: \
             block_bio_queue: 8,0 RA 8 + 8 [app]\n"
        );
        assert_eq!(told("bio", &ftrace, FormatName::Ftrace, Some(Action::Q)), expected, "{ftrace}");
    }
}

#[test]
fn a_record_may_be_as_large_as_a_drive() {
    let bytes = 3_801_035_759_616;
    let log = format!("fio version 3 iolog\n0 x add\n0 x open\n10 x trim 0 {bytes}\n20 x write 4096 4096\n");
    let folder = Folder::new("large");
    let config = folder.write("x.iolog", log.as_bytes());
    let summary = config.summary(&folder.path, &|_| true).unwrap();
    assert_eq!((summary.requests, summary.trims, summary.trimmed_sectors), (2, 1, bytes / 512));
    let all = play(&folder, &config, bytes / 512).unwrap();
    let sectors: u64 = all.iter().filter(|one| one.op == Op::Trim).map(|one| u64::from(one.sectors)).sum();
    assert_eq!(
        (
            sectors,
            all.windows(2)
                .all(|pair| pair[0].op != Op::Trim || pair[1].op != Op::Trim || pair[0].end() == pair[1].sector)
        ),
        (bytes / 512, true)
    );
    // So may a write: 3 GiB and 5 TiB.
    for sectors in [6_u64 << 20, 10 << 30] {
        let config = folder.write("x.csv", format!("time_us,op,sector,sectors\n0,W,8,{sectors}\n1,F,0,0\n").as_bytes());
        let all = play(&folder, &config, 1 << 40).unwrap();
        assert_eq!(all.iter().map(|one| u64::from(one.sectors)).sum::<u64>(), sectors);
        assert_eq!((all[0].sector, all[all.len() - 2].end(), all[all.len() - 1].op), (8, 8 + sectors, Op::Flush));
        let summary = config.summary(&folder.path, &|_| true).unwrap();
        assert_eq!((summary.requests, summary.writes, summary.written_sectors), (2, 1, sectors));
    }
}

#[test]
fn a_file_that_changed_is_read_again_by_runs_that_share() {
    let folder = Folder::new("shared");
    let sharing = nandlab_workload::trace::Sharing::begin();
    let config = folder.write("trace.csv", many(10).as_bytes());
    let first = play(&folder, &config, 100_000).unwrap();
    assert_eq!(play(&folder, &config, 100_000).unwrap(), first);
    let longer = folder.write("trace.csv", many(11).as_bytes());
    assert_eq!(play(&folder, &longer, 100_000).unwrap().len(), first.len() + 1);
    std::fs::remove_file(folder.path.join("trace.csv")).unwrap();
    play(&folder, &longer, 100_000).unwrap_err();
    drop(sharing);
}
