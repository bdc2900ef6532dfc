//! Devices made steady by their own workload.

use crate::support::{parse, record, refused};
use nandlab_lab::record::{PreconditionRecord, Record};
use nandlab_lab::{run, Control, LabError, Outputs};
use std::fmt::Write;
use std::path::Path;
use tempfile::TempDir;

const SKEWED: &str = r#"
[workload.hot_cold]
requests = 20_000
hot_share = 0.1
hot_accesses = 0.9
[precondition]
fill = "sequential"
[ftl.page]
placement = "one"
[device]
model = "counting"
capacity = "64 MiB"
over_provisioning = 0.25
[device.shape]
pages_per_block = 64
"#;

const OWN: [&str; 2] = ["precondition.steady=0.01", "precondition.steady_writes=workload"];
const PAGES: u64 = 16384;

fn before(record: &Record) -> PreconditionRecord {
    record.precondition.unwrap()
}

/// The run's refusal, for an experiment with accepted text.
fn refused_at_run(text: &str, sets: &[&str]) -> String {
    match run(&parse(text, sets).unwrap(), Path::new("."), &Control::default(), Outputs::default()) {
        Err(LabError::Config(error)) => {
            assert!(error.key.is_some(), "{}", error.message);
            error.message
        }
        other => panic!("{:?}", other.map(|record| record.to_json())),
    }
}

/// A trace that writes the device once in order, then repeats one tenth: its parts differ in cost.
fn trace(folder: &TempDir, name: &str, again: u64) -> String {
    let mut text = "time_us,op,sector,sectors\n".to_owned();
    for at in (0..PAGES).chain((0..again).map(|turn| turn * 7919 % (PAGES / 10))) {
        writeln!(text, "{},W,{},8", 0, at * 8).unwrap();
    }
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn a_device_is_steady_under_its_own_workload() {
    // The result after far more such writes.
    let long = ["workload.hot_cold.requests=800_000", "precondition.warm_up=700_000"];
    let expected = record(SKEWED, &long).waf.unwrap();
    let steady = record(SKEWED, &OWN);
    assert_eq!(before(&steady).steady, Some(true));
    let found = steady.waf.unwrap();
    // Tolerance: windows differ by up to 1 %, and WAF varies by about as much over 20,000 writes.
    assert!((found / expected - 1.0).abs() < 0.03, "{found} and {expected}");
    // Uniform writes make a different device: at first, greedy pays a quarter less for them than for skewed
    // writes.
    let uniform = record(SKEWED, &[OWN[0], "workload.hot_cold.requests=5_000"]);
    assert!(uniform.waf.unwrap() < 0.9 * expected, "{:?} and {expected}", uniform.waf);
    let told = |record: &Record| record.notices.iter().any(|notice| notice.contains("precondition.steady_writes"));
    assert!(told(&uniform) && !told(&steady), "{:?}", uniform.notices);
    assert!(!told(&record(SKEWED, &[OWN[0], "workload.hot_cold.read_share=1"])), "it writes nothing");
    // A warm-up of one capacity counts as the workload's own writes; a shorter one hardly changes the device.
    let warm = |requests| told(&record(SKEWED, &[OWN[0], &format!("precondition.warm_up={requests}")]));
    assert!(warm(1) && warm(PAGES - 1) && !warm(PAGES));
}

/// Uniform page writes make a device steady only for uniform page writes.
#[test]
fn whoever_writes_otherwise_than_uniformly_is_told() {
    let text = SKEWED.replace("[workload.hot_cold]\nrequests = 20_000\nhot_share = 0.1\nhot_accesses = 0.9\n", "");
    let told = |workload: &str| {
        let found = record(&text, &[&format!("workload={{ {workload} }}"), "precondition.steady=0.05"]);
        let notice = found.notices.into_iter().find(|notice| notice.contains("precondition.steady_writes"))?;
        Some(notice.split_once("the workload (")?.1.split_once(')')?.0.to_owned())
    };
    for (workload, how) in [
        ("uniform = { requests = 2000 }", None),
        ("uniform = { requests = 2000, size = 512, alignment = 512 }", None),
        ("zipf = { requests = 2000, theta = 0.0 }", None),
        ("zipf = { requests = 2000, theta = 0.1 }", Some("zipf")),
        ("sequential = { requests = 2000 }", Some("sequential")),
        ("uniform = { requests = 2000, footprint = 0.5 }", Some("uniform, on a part of the device")),
        ("uniform = { requests = 2000, trim_share = 0.1 }", Some("uniform, with trims")),
        ("uniform = { requests = 2000, size = \"8 KiB\" }", Some("uniform, of more than a page at a time")),
        // Most cross a page boundary.
        ("uniform = { requests = 2000, alignment = 512 }", Some("uniform, of more than a page at a time")),
        (
            "uniform = { requests = 2000, size = \"1536 B\", alignment = 1024 }",
            Some("uniform, of more than a page at a time"),
        ),
    ] {
        assert_eq!(told(workload).as_deref(), how, "{workload}");
    }
    let small = "uniform = { requests = 2000, size = 512, alignment = 512 }";
    let text = text.replace("[ftl.page]\nplacement = \"one\"\n", "[ftl.sector_map]\n");
    let found = record(&text, &[&format!("workload={{ {small} }}"), "precondition.steady=0.05"]);
    assert!(found.notices.iter().any(|notice| notice.contains("(uniform, of parts of pages, which this FTL gathers)")));
}

#[test]
fn windows_that_nothing_counts_are_refused_or_told() {
    let error = refused(SKEWED, &[OWN[0], "precondition.steady_windows=3"]);
    assert!(error.message.contains("it is a number of windows from 4"), "{error}");
    let told = |sets: &[&str]| parse(SKEWED, sets).unwrap().notices;
    let found = told(&["precondition.steady_windows=7"]);
    assert!(found.len() == 1 && found[0].starts_with("precondition.steady_windows = 7 has no effect: "), "{found:?}");
    assert!(told(&[OWN[0], "precondition.steady_windows=7"]).is_empty());
    assert!(told(&["precondition.steady_windows=50"]).is_empty(), "the default, which every record has");
}

#[test]
fn what_it_takes_is_kept_apart() {
    let steady = record(SKEWED, &OWN);
    let made = before(&steady);
    let windows = u64::from(made.windows.unwrap());
    assert!((2..50).contains(&windows), "{windows}");
    assert_eq!(steady.host.requests, 20_000, "all of the workload is measured");
    // A window ends with the batch that fills the capacity.
    let written = made.requests - PAGES;
    assert!((windows * PAGES..windows * (PAGES + 1024)).contains(&written), "{windows} windows, {written} requests");
    assert_eq!(made.waf, Some(made.flash.programs as f64 / made.requests as f64));
    let reads = record(SKEWED, &[&OWN[..], &["workload.hot_cold.read_share=0.5"]].concat());
    let written = before(&reads).requests - PAGES;
    let windows = u64::from(before(&reads).windows.unwrap());
    assert!(written as f64 > 1.9 * (windows * PAGES) as f64, "a window is a capacity written, whatever is read");
    // The rounds use other random numbers than the measurement, but the same in every run.
    assert_eq!(record(SKEWED, &OWN).precondition, steady.precondition);
}

#[test]
fn the_search_ends_at_its_limit() {
    let sets = ["precondition.steady=0", "precondition.steady_windows=4", OWN[1]];
    let found = before(&record(SKEWED, &sets));
    assert_eq!((found.windows, found.steady), (Some(4), Some(false)));
    let told = |sets: &[&str]| {
        record(SKEWED, sets)
            .notices
            .iter()
            .filter(|notice| notice.contains("the device was not steady after 4 windows"))
            .count()
    };
    assert_eq!((told(&sets), told(&OWN)), (1, 0));
}

/// 1 % of the pages get 99 % of the writes, and have a frontier of their own.
const VERY_HOT: [&str; 4] = [
    "workload.hot_cold.hot_share=0.01",
    "workload.hot_cold.hot_accesses=0.99",
    "ftl.page.placement=two",
    "device.over_provisioning=0.28",
];

#[test]
fn cold_blocks_that_still_fill_with_stale_pages_are_not_steady() {
    // The write amplification is 1.02 for ten windows, and more than twice that in the end.
    let long = ["workload.hot_cold.requests=5_000_000", "precondition.warm_up=4_000_000"];
    let expected = record(SKEWED, &[&VERY_HOT[..], &long].concat()).waf.unwrap();
    assert!(expected > 2.2, "{expected}");
    let more = ["precondition.steady_windows=1000", "workload.hot_cold.requests=500_000"];
    let steady = record(SKEWED, &[&VERY_HOT[..], &OWN, &more].concat());
    let (made, found) = (before(&steady), steady.waf.unwrap());
    assert_eq!(made.steady, Some(true), "{made:?}");
    assert!(made.windows > Some(50), "{made:?}");
    assert!((found / expected - 1.0).abs() < 0.03, "{found} and {expected}");
    let short = before(&record(SKEWED, &[&VERY_HOT[..], &OWN].concat()));
    assert_eq!((short.windows, short.steady), (Some(50), Some(false)), "50 windows are too few, and that is said");
}

/// Cold blocks get so few writes that neither write amplification nor the stale-page distribution moves by 1 %
/// in a short search: 1.001 after five windows, and 1.45 after 250.
#[test]
fn cold_blocks_that_hardly_anybody_writes_are_not_steady_either() {
    let hardly = [
        "workload.hot_cold.hot_share=0.001",
        "workload.hot_cold.hot_accesses=0.999",
        "device.capacity=256 MiB",
        "device.shape.pages_per_block=256",
    ];
    let found = before(&record(SKEWED, &[&VERY_HOT[2..], &hardly, &OWN].concat()));
    assert_eq!((found.windows, found.steady), (Some(50), Some(false)));
    // The search does not wait for never-written pages.
    let never = ["workload.hot_cold.footprint=8 MiB", "device.over_provisioning=0.28"];
    let found = before(&record(SKEWED, &[&never[..], &OWN].concat()));
    assert_eq!(found.steady, Some(true));
}

/// Uniform writes to one part of a device; static wear levelling eventually moves the rest.
const LEVELLED: &str = r#"
[workload.uniform]
requests = 1_000
footprint = 0.4
[precondition]
fill = "sequential"
steady = 0.05
steady_writes = "workload"
[ftl.page]
[device]
model = "counting"
capacity = "16 MiB"
over_provisioning = 0.28
[device.shape]
pages_per_block = 32
"#;

/// The notice about waiting wear levelling, from its name on.
fn waits(record: &Record) -> Option<&str> {
    assert_eq!(before(record).steady, Some(true));
    let mut told =
        record.notices.iter().filter_map(|notice| notice.strip_prefix("the device was called steady before "));
    let first = told.next();
    assert_eq!(told.next(), None);
    first
}

#[test]
fn wear_levelling_that_waits_is_told() {
    const LONG: &str = "workload.uniform.requests=100_000";
    for wear in ["threshold", "bet", "dual_pool"] {
        let chosen = format!("ftl.page.wear.{wear}.erases=40");
        let told = |sets: &[&str]| {
            let found = record(LEVELLED, &[&[&*chosen], sets].concat());
            (found.gc.wear_moves, waits(&found).map(ToOwned::to_owned))
        };
        let (moves, says) = told(&[]);
        let starts = format!("ftl.page.wear = \"{wear}\" had moved anything, and it has moved nothing since: ");
        assert!(moves == 0 && says.as_ref().is_some_and(|says| says.starts_with(&starts)), "{moves} {says:?}");
        let (moves, says) = told(&[LONG]);
        let starts =
            format!("ftl.page.wear = \"{wear}\" had moved anything, and it began to move data in what was measured: ");
        assert!(moves > 20 && says.as_ref().is_some_and(|says| says.starts_with(&starts)), "{moves} {says:?}");
        // The notice's advice works.
        assert_eq!(told(&[LONG, "precondition.warm_up=90_000"]).1, None);
        assert_eq!(told(&[&format!("ftl.page.wear.{wear}.erases=2")]).1, None);
        let uniform = "precondition.steady_writes=uniform";
        let reads = |share| told(&[uniform, &format!("workload.uniform.read_share={share}")]).1;
        assert!(reads(0.9).is_some() && reads(1.0).is_none(), "of what writes cost nothing is told");
        // A warm-up counts requests, and here requests come from the file system.
        let files = told(&[uniform, "workload={ postmark = { number = 20, transactions = 40 } }", "fs=fat"]).1.unwrap();
        assert!(
            files.ends_with(&format!("once it does; with a smaller ftl.page.wear.{wear}.erases it begins sooner")),
            "{files}"
        );
    }
    for wear in ["none", "dynamic"] {
        assert_eq!(waits(&record(LEVELLED, &[&format!("ftl.page.wear={wear}"), LONG])), None);
    }
    let sets = ["ftl.page.wear.bet.erases=40", "precondition.steady=0", "precondition.steady_windows=4"];
    assert!(
        !record(LEVELLED, &sets).notices.iter().any(|notice| notice.contains("ftl.page.wear")),
        "nobody called it steady"
    );
}

#[test]
fn a_state_knows_whether_its_wear_was_levelled() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    for (threshold, waited) in [(40, true), (2, false)] {
        let sets = [&*format!("ftl.page.wear.bet.erases={threshold}")];
        // Both mount the device anew, and count moves from there.
        assert_eq!(waits(&saved_as(LEVELLED, &sets, &state)).is_some(), waited, "{threshold}, saved");
        assert_eq!(waits(&begun_as(LEVELLED, &sets, &state).unwrap()).is_some(), waited, "{threshold}, begun with");
    }
}

#[test]
fn windows_of_a_trace_are_whole_rounds() {
    let folder = tempfile::tempdir().unwrap();
    let again = 9_000;
    let trace = format!("workload={{ trace = {{ path = {:?} }} }}", trace(&folder, "t.csv", again));
    let steady = record(SKEWED, &[&OWN[..], &[&trace]].concat());
    let made = before(&steady);
    // In one-capacity windows, the halves would mix in varying shares and never agree.
    assert_eq!(made.steady, Some(true));
    assert_eq!(made.requests, PAGES + u64::from(made.windows.unwrap()) * (PAGES + again));
    assert_eq!(steady.host.requests, PAGES + again, "then it is measured from its start");
}

#[test]
fn a_buffer_takes_its_part() {
    let buffer = "buffer={ lru = { size = \"16 MiB\" } }";
    let (plain, buffered) = (record(SKEWED, &OWN), record(SKEWED, &[&OWN[..], &[buffer]].concat()));
    let (plain, buffered) = (before(&plain), before(&buffered));
    // The buffer holds the hot pages, so most writes never reach the flash.
    assert!(buffered.waf.unwrap() < 0.7 * plain.waf.unwrap(), "{buffered:?} and {plain:?}");
    assert_eq!(buffered.steady, Some(true));
}

/// Two fio jobs, one with think time.
fn jobs() -> String {
    let jobs = "[workload.fio]\ntext = \"\"\"\n[a]\nrw=randwrite\nbs=4k\nsize=48m\niodepth=4\nioengine=libaio\n\
                [b]\nrw=write\nbs=16k\nsize=4m\nthinktime=50\n\"\"\"\n";
    let text = SKEWED.replace("model = \"counting\"", "model = \"timed\"");
    format!("{jobs}{}", &text[text.find("[precondition]").unwrap()..])
}

#[test]
fn jobs_that_pace_themselves_begin_anew() {
    let text = jobs();
    let steady = record(&text, &[&OWN[..], &["precondition.steady=0.05"]].concat());
    let made = before(&steady);
    assert_eq!(made.steady, Some(true), "{made:?}");
    assert_eq!(steady.host.requests, 12_288 + 256);
    assert!(made.time_us.unwrap() > 0.0 && steady.time_us.unwrap() > 0.0);
}

#[test]
fn what_cannot_make_it_steady_is_refused() {
    let own = OWN[1];
    let error = refused(SKEWED, &[own]);
    assert!(error.message.contains("precondition.steady_writes") && error.message.contains("set precondition.steady"));
    let files = "[workload.postmark]\n[fs.fat]\n[ftl.page]\n[device]\ncapacity = \"64 MiB\"";
    let error = refused(files, &OWN);
    assert!(error.message.contains("those of an index or a file system"), "{}", error.message);
    let error = refused(SKEWED, &[OWN[0], "precondition.steady_writes=\"zipf\""]);
    assert!(error.message.contains("uniform") && error.message.contains("workload"), "{}", error.message);
    let error = refused_at_run(SKEWED, &[&OWN[..], &["workload.hot_cold.read_share=1.0"]].concat());
    assert!(error.contains("the workload writes nothing, and a window is the capacity of 64 MiB"), "{error}");
    let error = refused_at_run(SKEWED, &[&OWN[..], &["workload.hot_cold.requests=5"]].concat());
    assert!(error.contains("the workload writes 20 KiB"), "{error}");
}

fn begun(sets: &[&str], state: &Path) -> Result<Record, LabError> {
    begun_as(SKEWED, sets, state)
}

fn begun_as(text: &str, sets: &[&str], state: &Path) -> Result<Record, LabError> {
    let from = format!("precondition.from_state={:?}", state.display().to_string());
    let experiment = parse(text, &[sets, &[&from]].concat())?;
    run(&experiment, Path::new("."), &Control::default(), Outputs::default())
}

fn saved(sets: &[&str], state: &Path) -> Record {
    saved_as(SKEWED, sets, state)
}

fn saved_as(text: &str, sets: &[&str], state: &Path) -> Record {
    let outputs = Outputs { save_state: Some(state), ..Outputs::default() };
    run(&parse(text, sets).unwrap(), Path::new("."), &Control::default(), outputs).unwrap()
}

#[test]
fn a_state_knows_the_workload_that_made_it() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let first = saved(&OWN, &state);
    let again = begun(&OWN, &state).unwrap();
    assert_eq!((again.flash, again.precondition), (first.flash, first.precondition));
    let plain = record(SKEWED, &OWN);
    assert_eq!(before(&first).requests, before(&plain).requests, "saving changes nothing of it");
    // Options for the measurement alone may differ, and an experiment without preconditioning accepts any
    // state.
    begun(&[&OWN[..], &["host.queue_depth=4"]].concat(), &state).unwrap();
    begun(&["precondition={}", "workload.hot_cold.hot_share=0.3"], &state).unwrap();
    let warm = begun(&[&OWN[..], &["precondition.warm_up=5_000"]].concat(), &state).unwrap();
    let (warm, cold) = (before(&warm), before(&first));
    assert_eq!(warm.requests, cold.requests + 5_000);
    assert_eq!(warm.waf, Some(warm.flash.programs as f64 / warm.requests as f64));
    for (set, says) in [
        (
            "workload.hot_cold.hot_share=0.3",
            "it was made with workload.hot_cold.hot_share = 0.1, and the experiment has 0.3",
        ),
        (
            "buffer={ lru = { size = \"1 MiB\" } }",
            "it was made without buffer, and the experiment has buffer = { lru = {",
        ),
        ("seed=2", "it was made with seed = 1, and the experiment has 2"),
        ("precondition.steady_writes=uniform", "it was made with precondition.steady_writes = \"workload\", and the"),
    ] {
        let error = begun(&[&OWN[..], &[set]].concat(), &state).unwrap_err().to_string();
        assert!(error.contains(says), "{set}: {error}");
    }
}

#[test]
fn a_state_knows_the_trace_that_made_it() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let play = |path: &str| format!("workload={{ trace = {{ path = {path:?} }} }}");
    let (trace, other) = (trace(&folder, "t.csv", 4_000), trace(&folder, "u.csv", 4_100));
    saved(&[&OWN[..], &[&play(&trace)]].concat(), &state);
    let moved = folder.path().join("moved.csv").display().to_string();
    std::fs::copy(&trace, &moved).unwrap();
    begun(&[&OWN[..], &[&play(&moved)]].concat(), &state).unwrap();
    let error = begun(&[&OWN[..], &[&play(&other)]].concat(), &state).unwrap_err().to_string();
    assert!(error.contains("it was made with workload.trace.path = "), "{error}");
}

/// The device's speed decides the write order among self-paced jobs.
#[test]
fn a_state_knows_the_device_that_jobs_were_paced_by() {
    let folder = tempfile::tempdir().unwrap();
    let (state, text) = (folder.path().join("state"), jobs());
    let own = [&OWN[..], &["precondition.steady=0.05"]].concat();
    saved_as(&text, &own, &state);
    begun_as(&text, &own, &state).unwrap();
    for (set, says) in [
        ("device.timing.program_us=700", "it was made with device.timing.program_us = "),
        ("host.firmware_us=5", "host.firmware_us"),
    ] {
        let error = begun_as(&text, &[&own[..], &[set]].concat(), &state).unwrap_err().to_string();
        assert!(error.contains(says), "{set}: {error}");
    }
}
