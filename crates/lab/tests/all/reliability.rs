//! Aging cells in experiments and in records. Expected figures are closed forms.

use crate::support::{parse, record, refused, MIXED};
use nandlab_lab::config::{Experiment, Format};
use nandlab_lab::{run, Control, LabError, Outputs};
use std::path::Path;

/// Reads alone, one at a time, from a filled single-die device.
const READS: &str = r#"
[workload.uniform]
requests = 2_000
read_share = 1.0
[precondition]
fill = "sequential"
[ftl.page]
[device]
capacity = "2 MiB"
over_provisioning = 0.5
[device.shape]
page_bytes = 4096
pages_per_block = 16
[device.reliability]
ecc_bits = 8
codeword_bytes = 4096
"#;

/// Bits per codeword.
const BITS: f64 = 32_768.0;

fn set(key: &str, value: f64) -> String {
    format!("device.reliability.{key}={value:e}")
}

#[test]
fn a_retry_is_a_read_in_every_figure() {
    let energy = "device.energy={ read_nj=1000, program_nj=4000, erase_nj=30000 }";
    let plain = record(READS, &[energy]);
    let none = plain.reliability.unwrap();
    assert_eq!((none.retries, none.retried_reads, none.uncorrectable_reads, none.most_errors), (0, 0, 0, 0.0));
    // 32 wrong bits shrink to a quarter after two steps.
    let retried = record(READS, &[energy, &set("rber", 32.0 / BITS)]);
    let told = retried.reliability.unwrap();
    assert_eq!((told.retried_reads, told.retries, told.most_retries), (2_000, 4_000, 2));
    assert_eq!((told.uncorrectable_reads, told.refreshes, told.lost_pages, told.most_errors), (0, 0, 0, 32.0));
    assert_eq!(retried.flash.reads, 3 * plain.flash.reads);
    let row = retried.matrix.iter().find(|row| row.cause == "read_retry").unwrap();
    assert_eq!((row.origin.as_str(), row.reads), ("host", 4_000));
    assert_eq!(retried.time_us.unwrap(), 3.0 * plain.time_us.unwrap());
    assert_eq!(retried.busy_us, 3.0 * plain.busy_us);
    let read_j = |record: &nandlab_lab::record::Record| record.energy_j.unwrap().read;
    assert!((read_j(&retried) / read_j(&plain) - 3.0).abs() < 1e-12);
    let max = |record: &nandlab_lab::record::Record| record.latency_us.as_ref().unwrap().read.unwrap().max;
    assert!((max(&retried) / max(&plain) - 3.0).abs() < 1e-3, "a histogram's bucket");
}

#[test]
fn without_the_table_nothing_is_told() {
    let text = READS.split("[device.reliability]").next().unwrap();
    let plain = record(text, &[]);
    assert_eq!(plain.reliability, None);
    let counted = record(READS, &[]);
    assert_eq!((plain.flash, plain.time_us), (counted.flash, counted.time_us), "no errors, no difference");
}

#[test]
fn pages_that_no_step_corrects_fail_the_requests() {
    let lost = record(READS, &[&set("rber", 257.0 / BITS)]);
    let told = lost.reliability.unwrap();
    assert_eq!((lost.host.unreadable, told.uncorrectable_reads, told.retries), (2_000, 2_000, 10_000));
    let kept = record(READS, &[&set("rber", 256.0 / BITS)]);
    assert_eq!((kept.host.unreadable, kept.reliability.unwrap().retries), (0, 10_000));
}

#[test]
fn a_device_that_lies_ages() {
    let retention = [
        set("retention", 1.0 / BITS),
        "device.reliability.retention_exponent=0.5".to_owned(),
        "device.reliability.initial_pe_cycles=1000".to_owned(),
    ];
    let after = |days: &str| {
        let mut sets: Vec<&str> = retention.iter().map(String::as_str).collect();
        let days = format!("precondition.shelf_days={days}");
        sets.push(&days);
        record(READS, &sets).reliability.unwrap()
    };
    // One bit after a day and 8 after 64; the run itself takes far less than a hundredth of a day.
    assert_eq!(after("63.99").retries, 0);
    assert_eq!(after("64.01").retries, 2_000);
    assert!((after("64").most_errors - 8.0).abs() < 1e-3);
    let two_years = after("730");
    assert_eq!((two_years.retries, two_years.most_retries), (4_000, 2), "27 bits");
}

#[test]
fn blocks_are_rewritten_before_a_read_is_repeated() {
    let hot = [
        "workload={ zipf={ requests=20000, read_share=1.0, theta=1.2 } }".to_owned(),
        set("read_disturb", 1.0 / 32.0 / BITS),
        "device.reliability.read_disturb_wear_exponent=0".to_owned(),
    ];
    let mut sets: Vec<&str> = hot.iter().map(String::as_str).collect();
    let worn = record(READS, &sets);
    assert!(worn.reliability.unwrap().retries > 1_000, "{:?}", worn.reliability);
    sets.push("ftl.page.refresh_percent=75");
    let refreshed = record(READS, &sets);
    let told = refreshed.reliability.unwrap();
    // 8 bits come after 256 reads, 75 % of that after 192; up to 16 pages are moved with as many reads.
    assert_eq!((told.retries, told.uncorrectable_reads), (0, 0));
    assert!(told.refreshes > 20 && told.refreshes <= 20_000 / 192, "{told:?}");
    let moved = refreshed.matrix.iter().filter(|row| row.cause == "refresh");
    let (copies, erases) = moved.fold((0, 0.0), |(copies, erases), row| (copies + row.copies, erases + row.erases));
    assert!(copies >= 16 * told.refreshes - 16, "{copies} copies for {} blocks", told.refreshes);
    assert!((erases - told.refreshes as f64).abs() < 1e-9, "{erases}");
    assert_eq!(refreshed.gc.runs, 0);
}

#[test]
fn bytes_come_back_from_cells_that_age() {
    let sets = [
        "device.model=bytes",
        "workload.zipf.requests=15_000",
        "device.reliability.ecc_bits=8",
        "device.reliability.read_disturb=1e-4",
        "device.reliability.initial_pe_cycles=1000",
        "device.reliability.retry_steps=40",
        "ftl.page.refresh_percent=100",
    ];
    let bytes = record(MIXED, &sets);
    let told = bytes.reliability.unwrap();
    assert!(told.retries > 100 && told.refreshes > 10, "{told:?}");
    let timed = record(MIXED, &[&sets[1..], &["device.model=timed"]].concat());
    assert_eq!((timed.flash, timed.time_us, timed.reliability), (bytes.flash, bytes.time_us, bytes.reliability));
    assert_eq!(bytes.host.unreadable, 0);
}

#[test]
fn what_cannot_work_is_refused_where_it_stands() {
    for (key, value, sentence) in [
        ("rber", "-1e-4", "device.reliability.rber = -0.0001 cannot work: it lies between 0 and 0.5"),
        ("retention", "nan", "device.reliability.retention: expected a finite number, given nan"),
        ("wear_exponent", "-2.0", "device.reliability.wear_exponent = -2 cannot work: it lies between 0 and 10"),
        (
            "codeword_bytes",
            "0",
            "device.reliability.codeword_bytes = 0 cannot work: a page of 4096 B is a whole number",
        ),
        ("codeword_bytes", "3000", "device.reliability.codeword_bytes = 3000 cannot work: a page of 4096 B"),
        ("ecc_bits", "0", "device.reliability.ecc_bits = 0 cannot work: it is at least 1"),
        ("retry_steps", "1000", "device.reliability.retry_steps = 1000 cannot work: a page is read again at most 100"),
        ("retry_factor", "2.0", "device.reliability.retry_factor = 2 cannot work: it lies between 0 and 1"),
    ] {
        // In the text, because an override cannot hold a not-a-number.
        let line = format!("{key} = {value}\n");
        let own = ["ecc_bits = 8\n", "codeword_bytes = 4096\n"].into_iter().find(|own| own.starts_with(key));
        let text = own.map_or_else(|| READS.to_owned() + &line, |own| READS.replace(own, &line));
        let error = refused(&text, &[]);
        assert_eq!(error.key.as_deref(), Some(&*format!("device.reliability.{key}")));
        assert!(error.message.starts_with(sentence), "{}", error.message);
        assert!(error.line.is_some(), "{error}");
    }
    let error = refused(READS, &["precondition.shelf_days=-1"]);
    assert_eq!(error.message, "precondition.shelf_days = -1 cannot work: it is a number of days from 0 to 36525");
    let error = refused(READS, &["device.faults.bit_errors={ rber=1e-4, ecc_bits=8 }"]);
    assert!(error.message.contains("two models of the same bit errors"), "{}", error.message);
    let error = refused(&READS.replace("ecc_bits = 8\n", ""), &[]);
    assert!(error.message.contains("ecc_bits"), "{}", error.message);
    let error = refused(&READS.replace("[ftl.page]", "[ftl.bast]\nrefresh_percent = 50"), &[]);
    assert!(error.message.contains("refresh_percent"), "{}", error.message);
}

#[test]
fn what_has_no_effect_without_aging_is_told() {
    let text = READS.split("[device.reliability]").next().unwrap();
    let notices = parse(text, &["precondition.shelf_days=30", "ftl.page.refresh_percent=75"]).unwrap().notices;
    for key in ["precondition.shelf_days", "ftl.page.refresh_percent"] {
        let sentence = format!("{key} has no effect without device.reliability: no cell ages");
        assert!(notices.contains(&sentence), "{notices:?}");
    }
    let aging = parse(READS, &["precondition.shelf_days=30", &set("rber", 1e-4)]).unwrap();
    assert!(aging.notices.is_empty(), "{:?}", aging.notices);
}

#[test]
fn a_resolved_experiment_keeps_what_was_asked() {
    let asked = parse(READS, &["precondition.shelf_days=30", &set("rber", 1e-4)]).unwrap();
    let again = Experiment::parse(&asked.to_json(), Format::Json, "", Path::new("."), &[]).unwrap();
    assert_eq!(again.device.reliability, asked.device.reliability);
    assert_eq!(again.to_json(), asked.to_json());
    assert!(!parse(MIXED, &[]).unwrap().to_json().contains("shelf_days"), "experiments of before stay the same");
}

#[test]
fn a_state_holds_no_ages_and_says_so() {
    let folder = std::env::temp_dir().join(format!("nandlab-aging-{}", std::process::id()));
    let outputs = Outputs { save_state: Some(&folder), ..Outputs::default() };
    let experiment = parse(READS, &[]).unwrap();
    match run(&experiment, Path::new("."), &Control::default(), outputs) {
        Err(LabError::Config(error)) => assert!(
            error.message.ends_with(
                "it holds nothing of device.reliability, neither ages of pages nor reads of blocks; leave it out"
            ),
            "{}",
            error.message
        ),
        other => panic!("{:?}", other.map(|record| record.flash)),
    }
    assert!(!folder.exists());
}
