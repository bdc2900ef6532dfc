//! File workloads over a file system, from the text of an experiment to its record.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

use nandlab_lab::config::{Experiment, Format};
use nandlab_lab::record::{Record, StopReason};
use nandlab_lab::{inspect, run, Control, LabError};
use nandlab_workload::{Asks, LIST};
use std::path::Path;

/// A small device, and few of everything.
const SMALL: &str = r#"
[workload.postmark]
number = 40
transactions = 120
[fs.fat]
[ftl.bast]
[device]
profile = "k9l8g08u0m"
capacity = "8 MiB"
over_provisioning = 0.5
"#;

fn parse(text: &str, sets: &[&str]) -> Result<Experiment, LabError> {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    Experiment::parse(text, Format::Toml, "x.toml", Path::new("."), &sets)
}

fn record(text: &str, sets: &[&str]) -> Record {
    run(&parse(text, sets).unwrap(), Path::new("."), &Control::default(), None).unwrap()
}

#[test]
fn the_parts_of_a_run_sum_to_the_record() {
    let record = record(SMALL, &["host.sample_transactions=25"]);
    assert!(!record.partial);
    let fs = record.fs.as_ref().unwrap();
    let parts = [fs.phases.set_up, fs.phases.transactions, fs.phases.clean_up];
    let sum = |of: fn(&nandlab_lab::record::FsPhase) -> u64| parts.iter().map(of).sum::<u64>();
    assert_eq!(sum(|part| part.operations), fs.operations.total);
    assert_eq!(sum(|part| part.requests), record.host.requests);
    assert_eq!(sum(|part| part.read_sectors), record.host.read_sectors);
    assert_eq!(sum(|part| part.written_sectors), record.host.written_sectors);
    assert_eq!(sum(|part| part.flash.programs), record.flash.programs);
    assert_eq!(sum(|part| part.flash.erases), record.flash.erases);
    assert_eq!(sum(|part| part.merges.full), record.merges.full);
    let time: f64 = parts.iter().map(|part| part.time_us.unwrap()).sum();
    assert!((time / record.time_us.unwrap() - 1.0).abs() < 1e-9);
    assert!(parts.iter().all(|part| part.flash.programs > 0), "{parts:?}");
    // As many files go as are made.
    assert_eq!((fs.transactions, fs.operations.create), (120, fs.operations.unlink));
    assert_eq!(fs.operations.close, fs.operations.create + fs.operations.open);
    let samples: Vec<u64> = fs.samples.iter().map(|sample| sample.transactions).collect();
    assert_eq!(samples, [25, 50, 75, 100, 120]);
    let (last, transactions) = (fs.samples.last().unwrap(), fs.phases.transactions);
    assert_eq!((last.programs, last.erases), (transactions.flash.programs, transactions.flash.erases));
    assert_eq!((last.requests, last.time_us), (transactions.requests, transactions.time_us));
    // Everything was removed: all but nothing is free again.
    assert_eq!(fs.volume.free_bytes, Some(fs.volume.units * fs.volume.unit_bytes));
    // One boot sector, two tables of 16-bit entries, 32 sectors of root directory.
    let fat_sectors = (fs.volume.units + 2).div_ceil(256);
    assert_eq!(fs.phases.format.written_sectors, 1 + 2 * fat_sectors + 32);
    assert!(record.ram.sram["fat_sectors"] == 64 << 10 && record.ram.total_bytes > 64 << 10);
}

#[test]
fn every_origin_of_a_volume_is_in_the_matrix() {
    let record = record(SMALL, &["workload.postmark.subdirectories=3"]);
    for origin in ["boot", "fat", "root_directory", "directory", "file_data"] {
        let programs: u64 = record.matrix.iter().filter(|row| row.origin == origin).map(|row| row.programs).sum();
        assert!(programs > 0, "{origin}");
    }
    assert!(!record.matrix.iter().any(|row| row.origin == "host"), "{:?}", record.matrix);
}

/// Everything that a record says but what depends on the model of the device.
fn result(record: &Record) -> String {
    let mut fs = record.fs.clone().unwrap();
    fs.latency_us = None;
    let phases = &mut fs.phases;
    for part in
        [&mut phases.format, &mut phases.mount, &mut phases.set_up, &mut phases.transactions, &mut phases.clean_up]
    {
        part.time_us = None;
    }
    fs.samples.iter_mut().for_each(|sample| sample.time_us = None);
    format!("{:?} {:?} {:?} {:?} {fs:?}", record.host, record.flash, record.matrix, record.gc)
}

#[test]
fn every_model_counts_the_same_and_every_run_too() {
    for sets in [&[][..], &["fs.fat.trim=true", "precondition.fill=\"random\"", "fs.fat.write_through=\"operation\""]] {
        let of = |model: &str| result(&record(SMALL, &[sets, &[model]].concat()));
        let timed = of("device.model=\"timed\"");
        assert_eq!(timed, of("device.model=\"timed\""));
        assert_eq!(timed, of("device.model=\"counting\""));
        // With bytes, whatever the file system reads is compared with what it wrote.
        assert_eq!(timed, of("device.model=\"bytes\""));
    }
}

/// The least of each workload of files.
fn least(name: &str) -> Vec<String> {
    let options: &[&str] = match name {
        "postmark" => &["number=20", "transactions=40"],
        _ => &["transactions=6"],
    };
    let table = format!("workload={{ {name} = {{ {} }} }}", options.join(", "));
    vec![table]
}

#[test]
fn every_workload_of_files_runs_over_every_ftl() {
    let files: Vec<&str> = LIST.iter().filter(|entry| entry.asks == Asks::Files).map(|entry| entry.name).collect();
    assert!(files.len() >= 6, "{files:?}");
    for name in files {
        for ftl in nandlab_ftl::LIST {
            let ftl = format!("ftl={{ {} = {{}} }}", ftl.name);
            let sets = [least(name), vec![ftl.clone(), "device.model=\"bytes\"".to_owned()]].concat();
            let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
            let text = SMALL.replace("8 MiB", "16 MiB").replace("0.5", "1.2");
            let record = record(&text, &sets);
            assert!(!record.partial, "{name} over {ftl}: {:?}", record.stopped);
            let fs = record.fs.unwrap();
            assert!(fs.transactions > 0 && fs.operations.write > 0 && fs.written_bytes > 0, "{name} over {ftl}");
        }
    }
}

#[test]
fn a_full_volume_ends_the_run_with_what_was_measured() {
    let record = record(SMALL, &["workload.postmark.number=2000"]);
    let stopped = record.stopped.unwrap();
    assert_eq!(stopped.why, StopReason::FsFull);
    assert!(stopped.message.contains("the root directory of 512 entries has no 2 in a row"), "{}", stopped.message);
    assert!(record.partial && record.fs.unwrap().operations.create == 256);
    let control = Control::default();
    control.cancel();
    let record = run(&parse(SMALL, &[]).unwrap(), Path::new("."), &control, None).unwrap();
    assert_eq!(record.stopped.unwrap().why, StopReason::Cancelled);
}

#[test]
fn what_does_not_fit_together_is_refused_with_a_way_out() {
    let refused = |text: &str, sets: &[&str]| parse(text, sets).unwrap_err().to_string();
    let without = SMALL.replace("[fs.fat]\n", "");
    let cases = [
        (refused(&without, &[]), "x.toml, line 2, column 11: workload.postmark asks for files, and there is no file"),
        (refused(&without, &[]), "add a table [fs.fat], or choose a workload that asks for sectors (sequential,"),
        (
            refused(SMALL, &["workload={ uniform = {} }"]),
            "fs.fat would not be used: workload.uniform asks for sectors of the device; leave [fs.fat] out, or choose a \
             workload that asks for files (postmark,",
        ),
        (refused(&without, &["index.btree.page_bytes=512"]), "workload.postmark asks for files"),
        (
            refused(SMALL, &["index.btree.page_bytes=512"]),
            "index.btree would not be used: workload.postmark asks for files",
        ),
        (refused(SMALL, &["host.queue_depth=4"]), "a file system waits for each request"),
        (refused(SMALL, &["host.arrival=\"recorded\""]), "operations on files have no times of their own"),
        (refused(SMALL, &["fs.fat.fats=3"]), "fs.fat.fats = 3 cannot work: a volume has 1 or 2 copies of its FAT"),
        (refused(SMALL, &["fs.fat.cluster_bytes=\"3 KiB\""]), "fs.fat.cluster_bytes = 3 KiB cannot work"),
        (refused(SMALL, &["fs.fat.volume_bytes=\"9 MiB\""]), "the device has 8388608 bytes"),
        (refused(SMALL, &["fs.fat.fat=\"fat32\""]), "fs.fat.fat = \"fat32\" cannot work: the number of clusters"),
        (refused(SMALL, &["fs.fat.clusters=1"]), "clusters"),
        (
            refused("[workload.uniform]\n[ftl.page]\n", &["host.sample_transactions=5"]),
            "host.sample_transactions = 5 cannot work",
        ),
    ];
    for (error, sentence) in cases {
        assert!(error.contains(sentence), "{error}\n{sentence}");
    }
    assert!(inspect(&parse(SMALL, &[]).unwrap(), Path::new(".")).unwrap().contains("\"trace\":null"));
}
