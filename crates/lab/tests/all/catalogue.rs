//! Published traces, if `NANDLAB_TRACES` names their folder: counts, shares, and agreement between two of them.
//!
//! The traces are not part of the project, and most ask to be cited; `docs/traces.md` describes their formats.
//! The figures come from the publishers or catalogues, or from counts independent of the readers.

use nandlab_block::{Op, Request};
use nandlab_lab::config::{Experiment, Format};
use nandlab_lab::traces::{info, InfoOptions};
use nandlab_lab::{run, Control, Outputs};
use nandlab_workload::trace::{Action, Config, FormatName};
use std::path::{Path, PathBuf};

/// The trace folder; without it the tests have nothing to read.
fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("NANDLAB_TRACES").map(PathBuf::from);
    if folder.is_none() {
        println!("NANDLAB_TRACES names no folder of published traces: nothing was read");
    }
    folder
}

struct Listed {
    file: &'static str,
    format: FormatName,
    requests: u64,
    /// Their percentage, to one decimal, if published.
    writes: Option<f64>,
    action: Option<Action>,
}

const fn listed(file: &'static str, format: FormatName, requests: u64, writes: Option<f64>) -> Listed {
    Listed { file, format, requests, writes, action: None }
}

/// Requests and writes from the traces' catalogue; entries without a share come from `wc` line counts.
const LISTED: &[Listed] = &[
    listed("biotracer/log106_Messaging.txt", FormatName::Biotracer, 5_702, None),
    listed("biotracer/log225_MusicTwitter.txt", FormatName::Biotracer, 30_057, Some(93.8)),
    listed("biotracer/log176_Booting.txt", FormatName::Biotracer, 18_417, Some(33.1)),
    listed("biotracer/log125_copyHtoD.txt", FormatName::Biotracer, 9_278, Some(66.0)),
    listed("flashsim2010/fin1.trace", FormatName::Flashsim, 50_000, Some(41.6)),
    listed("flashsim2010/desktop.trace", FormatName::Flashsim, 32_527, Some(61.7)),
    listed("flashsim2010/web1.trace", FormatName::Flashsim, 50_000, None),
    listed("disksim-ssd/ssd-iozone-aligned2-100K.trace", FormatName::Disksim, 100_000, Some(100.0)),
    // 66,898 commands 0x2A, counted in the bytes; the catalogue rounds 58.75 % up.
    listed("cloudphysics/cloudPhysicsIO.vscsi", FormatName::Vscsi, 113_872, Some(58.75)),
    listed("ms-dtrs/DTRS100M.trace", FormatName::Mqsim, 127_043, Some(11.0)),
    listed("ssdsim-example/example.ascii", FormatName::Mqsim, 10_000, None),
    listed("mqsim/tpcc-small.trace", FormatName::Mqsim, 6_999, None),
    listed("mqsim/wsrch-small.trace", FormatName::Mqsim, 24_783, None),
    listed("msr/hm_1.revised_5000.txt", FormatName::Mqsim, 5_000, None),
    listed("umass/Financial_mini.spc", FormatName::Spc, 949, None),
    // Lines after the archive's headers; the first one follows them without a line end.
    listed("fiu/cheetah.cs.fiu.edu-110108-113008.1_sample_10000_lines", FormatName::Fiu, 9_998, Some(11.0)),
    listed("mobile-pixel6a/telegram_exec.csv.gz", FormatName::Pixel, 251_879, Some(90.4)),
    listed("mobile-pixel6a/telegram_precond.csv.gz", FormatName::Pixel, 5_320, None),
    listed("mobile-pixel6a/pubg_exec.csv.gz", FormatName::Pixel, 67_757, None),
    listed("mobile-pixel6a/pubg_precond.csv.gz", FormatName::Pixel, 51_110, None),
    listed("mobile-pixel6a/cod_exec.csv.gz", FormatName::Pixel, 223_998, None),
    listed("mobile-pixel6a/cod_precond.csv.gz", FormatName::Pixel, 72_878, None),
    // blkparse's summary reports 9,039 completed reads and 848 completed writes.
    listed("ycsb-fs/blkparseout_ext4.txt", FormatName::Blkparse, 9_039 + 848, None),
    // 5,003 writes, 4 reads and a discard.
    listed("wiscsee/blkparse-events-for-ftlsim.txt", FormatName::Wiscsee, 5_008, None),
    Listed {
        // The summary reports 161 reads and 512 writes sent to the device, and none completed.
        action: Some(Action::D),
        ..listed("wiscsee/blkparse-output.txt", FormatName::Blkparse, 161 + 512, None)
    },
];

/// BIOtracer's files, all in one form.
const BIOTRACER: usize = 19;

fn config(listed: &Listed) -> Config {
    Config { action: listed.action, side_by_side: true, ..Config::new(listed.file) }
}

#[test]
fn counts_and_shares_are_those_of_the_catalogue() {
    let Some(folder) = folder() else { return };
    for listed in LISTED {
        let summary = config(listed).summary(&folder, &|_| true).unwrap();
        assert_eq!((summary.format, summary.requests), (listed.format, listed.requests), "{}", listed.file);
        let share = 100.0 * summary.writes as f64 / summary.requests as f64;
        if let Some(writes) = listed.writes {
            assert!((share - writes).abs() <= 0.051, "{}: {share} % writes, published {writes} %", listed.file);
        }
        assert_eq!((summary.tally.skipped, summary.tally.rounded), (0, 0), "{}", listed.file);
    }
}

#[test]
fn every_trace_of_the_smartphones_is_whole() {
    let Some(folder) = folder() else { return };
    let mut files = 0;
    for entry in std::fs::read_dir(folder.join("biotracer")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        // Counted without the reader: lines, odd flags, and one sector less for each packed write.
        let fields =
            |line: &str| line.split_whitespace().take(4).map(|word| word.parse().unwrap()).collect::<Vec<u64>>();
        let (mut requests, mut writes, mut written) = (0, 0, 0);
        for line in text.lines().map(fields) {
            let is_write = line[3] % 2 == 1;
            requests += 1;
            writes += u64::from(is_write);
            written += if is_write { line[1] - u64::from(line[1] % 8 == 1) } else { 0 };
        }
        let summary = Config::new(path.to_str().unwrap()).summary(Path::new(""), &|_| true).unwrap();
        assert_eq!((summary.requests, summary.writes, summary.written_sectors), (requests, writes, written));
        files += 1;
    }
    assert_eq!(files, BIOTRACER);
}

#[test]
fn recorded_latencies_are_those_of_the_columns() {
    let Some(folder) = folder() else { return };
    let text = std::fs::read_to_string(folder.join("biotracer/log106_Messaging.txt")).unwrap();
    // From the fifth column to the eighth, and from the seventh, in microseconds; without the reader.
    let mut counted = [[0.0_f64; 4]; 2];
    for line in text.lines() {
        let all: Vec<f64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let (whole, alone) = ((all[7] - all[4]) * 1e6, (all[7] - all[6]) * 1e6);
        let kind = &mut counted[usize::from(all[3] as u64 % 2 == 1)];
        *kind = [kind[0] + 1.0, kind[1] + whole, kind[2].max(whole), kind[3].max(alone)];
    }
    let options = InfoOptions { page_bytes: 4096, pictures: false };
    let told = info(&Config::new("biotracer/log106_Messaging.txt"), &folder, options, &|_| true).unwrap();
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    for (kind, [count, sum, most, alone]) in ["read", "write"].into_iter().zip(counted) {
        let found = |table: &str, key: &str| told[table][kind][key].as_f64().unwrap();
        assert_eq!(found("recorded_latency_us", "count"), count);
        // Floats of such seconds are exact to a quarter of a microsecond.
        assert!((found("recorded_latency_us", "mean") - sum / count).abs() < 0.5);
        assert!((found("recorded_latency_us", "max") - most).abs() < 1.0);
        assert!((found("recorded_service_us", "max") - alone).abs() < 1.0);
    }
}

#[test]
fn clocks_that_were_set_while_a_phone_booted_are_mended() {
    let Some(folder) = folder() else { return };
    // Its times go from 4 s to 10,363,866 s in the first lines, and to 1,398,396,748 s in line 543.
    let summary = Config::new("biotracer/log176_Booting.txt").summary(&folder, &|_| true).unwrap();
    assert_eq!(summary.tally.clock_jumps, 2, "{:?}", summary.notices);
    let span_s = (summary.last_ns - summary.first_ns) as f64 / 1e9;
    // From the last jump to the end are 112 s.
    assert!((112.0..130.0).contains(&span_s), "{span_s}");
}

fn requests(folder: &Path, file: &str, format: FormatName) -> Vec<(Request, String)> {
    let mut records = Config { format, ..Config::new(file) }.records(folder).unwrap();
    let mut all = Vec::new();
    while let Some((request, device)) = records.next_request().unwrap() {
        all.push((request, String::from_utf8_lossy(records.device_name(device)).into_owned()));
    }
    all
}

/// Whoever made the nanoseconds kept seven digits from the seconds.
fn is_close(one: u64, other: u64) -> bool {
    one.abs_diff(other) <= 1_000 + one / 5_000_000
}

#[test]
fn excerpts_of_financial1_agree() {
    let Some(folder) = folder() else { return };
    let spc = requests(&folder, "umass/Financial_mini.spc", FormatName::Spc);
    let ssdsim = requests(&folder, "ssdsim-example/example.ascii", FormatName::Ssdsim);
    let flashsim = requests(&folder, "flashsim2010/fin1.trace", FormatName::Flashsim);
    assert_eq!((spc.len(), ssdsim.len(), flashsim.len()), (949, 10_000, 50_000));
    for (number, (one, other)) in spc.iter().zip(&ssdsim).enumerate() {
        let (a, b) = (&one.0, &other.0);
        assert_eq!((a.op, a.sector, a.sectors, &one.1), (b.op, b.sector, b.sectors, &other.1), "record {number}");
        assert!(is_close(a.time, b.time), "record {number}: {} and {} ns", a.time, b.time);
    }
    for (number, (one, other)) in ssdsim[2..].iter().zip(&flashsim).enumerate() {
        let (a, b) = (&one.0, &other.0);
        assert_eq!((a.op, a.sector), (b.op, b.sector), "record {number}");
        assert_eq!(b.sectors, 8 * (a.sectors / 8).max(1), "record {number}");
        assert!(is_close(a.time, b.time), "record {number}: {} and {} ns", a.time, b.time);
    }
}

#[test]
fn excerpts_of_websearch_agree() {
    let Some(folder) = folder() else { return };
    let mqsim = requests(&folder, "mqsim/wsrch-small.trace", FormatName::Mqsim);
    let flashsim = requests(&folder, "flashsim2010/web1.trace", FormatName::Flashsim);
    assert_eq!(mqsim.len(), 24_783);
    for (number, (one, other)) in mqsim.iter().zip(&flashsim).enumerate() {
        let (a, b) = (&one.0, &other.0);
        assert_eq!((a.time, a.op, a.sector), (b.time, b.op, b.sector), "record {number}");
        assert_eq!(b.sectors, 8 * (a.sectors / 8).max(1), "record {number}");
    }
}

#[test]
fn a_block_trace_agrees_with_the_totals_that_blkparse_prints() {
    let Some(folder) = folder() else { return };
    let config = Config::new("ycsb-fs/blkparseout_ext4.txt");
    let summary = config.summary(&folder, &|_| true).unwrap();
    assert_eq!((summary.reads, summary.writes), (9_039, 848));
    // Sectors completed by the four processors; blkparse prints the sum of the reads as "1023MiB", with 1000
    // KiB each.
    assert_eq!(summary.read_sectors / 2, 380_048 + 204_108 + 233_648 + 205_268);
    assert_eq!(summary.written_sectors / 2, 246_040);
}

#[test]
fn overwrites_and_devices_are_those_of_the_catalogue() {
    let Some(folder) = folder() else { return };
    // 36.9 GB on 1,060 MiB.
    let iozone = Config::new("disksim-ssd/ssd-iozone-aligned2-100K.trace");
    let mut touched = nandlab_workload::trace::TouchedPages::default();
    let mut written = 0;
    for (request, _) in requests(&folder, iozone.path.as_deref().unwrap(), FormatName::Auto) {
        assert_eq!((request.op, request.sector % 8, request.sectors % 8), (Op::Write, 0, 0));
        touched.add(&request);
        written += u64::from(request.sectors);
    }
    assert_eq!((written as f64 * 512.0 / 1e8).round(), 369.0);
    assert_eq!((touched.len() as f64 / 256.0).round(), 1_060.0);
    assert_eq!(written / 8 / touched.len(), 33);
    // 5,003 writes, 69 MB.
    let sqlite = Config::new("wiscsee/blkparse-events-for-ftlsim.txt").summary(&folder, &|_| true).unwrap();
    assert_eq!((sqlite.writes, sqlite.written_sectors * 512 / 1_000_000), (5_003, 69));
    // Several storage units: the reader must not choose one silently.
    let example = Config::new("ssdsim-example/example.ascii");
    let summary = example.summary(&folder, &|_| true).unwrap();
    assert_eq!(summary.devices.len(), 22);
    let error = example.check_devices(&folder, &summary).unwrap_err().to_string();
    assert!(error.contains("the trace has 22 devices: \"0\" (1013 requests), \"1\" (828 requests)"), "{error}");
}

#[test]
fn every_trace_runs_on_the_page_map() {
    let Some(folder) = folder() else { return };
    for listed in LISTED {
        let mut trace = serde_json::json!({ "path": listed.file, "addresses": "fold" });
        if listed.action.is_some() {
            trace["action"] = "D".into();
        }
        let several = config(listed).summary(&folder, &|_| true).unwrap().devices.len() > 1;
        trace["side_by_side"] = several.into();
        let text = serde_json::json!({
            "workload": { "trace": trace },
            "ftl": { "page": {} },
            "device": { "capacity": "2 GiB", "model": "counting" },
        });
        let experiment = Experiment::parse(&text.to_string(), Format::Json, "", &folder, &[]).unwrap();
        let record = run(&experiment, &folder, &Control::default(), Outputs::default()).unwrap();
        assert_eq!(record.host.requests, listed.requests, "{}", listed.file);
    }
}
