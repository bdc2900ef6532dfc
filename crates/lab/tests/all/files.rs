//! File workloads over a file system, from experiment text to record.

use crate::support::{parse, record, FILE_TRACE};
use nandlab_lab::config::{Experiment, Format};
use nandlab_lab::record::{Record, StopReason};
use nandlab_lab::{inspect, run, Control, Outputs};
use nandlab_workload::{Asks, LIST};
use std::path::Path;

/// A small device, and a small workload.
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
    // The workload deletes as many files as it creates.
    assert_eq!((fs.transactions, fs.operations.create), (120, fs.operations.unlink));
    assert_eq!(fs.operations.close, fs.operations.create + fs.operations.open);
    let samples: Vec<u64> = fs.samples.iter().map(|sample| sample.transactions).collect();
    assert_eq!(samples, [25, 50, 75, 100, 120]);
    let (last, transactions) = (fs.samples.last().unwrap(), fs.phases.transactions);
    assert_eq!((last.programs, last.erases), (transactions.flash.programs, transactions.flash.erases));
    assert_eq!((last.requests, last.time_us), (transactions.requests, transactions.time_us));
    // The workload removed everything, so nearly all space is free again.
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

/// The record without the parts that depend on the device model.
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
    let remount = record.remount.map(|mount| (mount.page_reads, mount.spare_reads, mount.nvram_accesses));
    let Record { host, flash, matrix, gc, nvram, .. } = record;
    format!("{host:?} {flash:?} {matrix:?} {gc:?} {nvram:?} {remount:?} {fs:?}")
}

#[test]
fn every_model_counts_the_same_and_every_run_too() {
    for sets in [&[][..], &["fs.fat.trim=true", "precondition.fill=\"random\"", "fs.fat.write_through=\"operation\""]] {
        let of = |model: &str| result(&record(SMALL, &[sets, &[model]].concat()));
        let timed = of("device.model=\"timed\"");
        assert_eq!(timed, of("device.model=\"timed\""));
        assert_eq!(timed, of("device.model=\"counting\""));
        // With bytes, the run compares everything the file system reads with its earlier writes.
        assert_eq!(timed, of("device.model=\"bytes\""));
    }
}

/// The smallest version of each file workload.
fn least(name: &str) -> Vec<String> {
    let options: &[&str] = match name {
        "postmark" => &["number=20", "transactions=40"],
        "camera" => &["transactions=4", "shots=3", "shortest_photo=\"20 KiB\"", "longest_photo=\"60 KiB\""],
        "files" => &[FILE_TRACE],
        _ => &["transactions=6"],
    };
    vec![format!("workload={{ {name} = {{ {} }} }}", options.join(", "))]
}

#[test]
fn every_workload_of_files_runs_over_every_ftl() {
    let files: Vec<&str> = LIST.iter().filter(|entry| entry.asks == Asks::Files).map(|entry| entry.name).collect();
    assert!(files.len() >= 6, "{files:?}");
    for name in files {
        for ftl in nandlab_ftl::anywhere() {
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
    assert!(
        stopped.message.ends_with(
            "the root directory of 512 entries has no 2 in a row for '257'; more fs.fat.root_entries have room for more, \
             fs.fat.fat = \"fat32\" has a root directory that grows, and so have subdirectories, such as those of \
             workload.postmark.subdirectories; or the workload needs less"
        ),
        "{}",
        stopped.message
    );
    assert!(record.partial && record.fs.unwrap().operations.create == 256);
    let control = Control::default();
    control.cancel();
    let record = run(&parse(SMALL, &[]).unwrap(), Path::new("."), &control, Outputs::default()).unwrap();
    assert_eq!(record.stopped.unwrap().why, StopReason::Cancelled);
}

#[test]
fn a_full_volume_of_a_given_size_names_that_size() {
    let record = record(SMALL, &["fs.fat.volume_bytes=\"40 KiB\""]);
    let message = record.stopped.unwrap().message;
    assert!(message.ends_with("; a larger fs.fat.volume_bytes has more, or the workload needs less"), "{message}");
    // PostMark's initial files are not a transaction.
    assert!(message.contains(" operations on files, before the first transaction: "), "{message}");
}

#[test]
fn each_way_out_of_a_full_root_directory_leads_out() {
    for way in [
        &["fs.fat.root_entries=4096"][..],
        &["workload.postmark.subdirectories=10"],
        &["fs.fat.fat=\"fat32\"", "fs.fat.cluster_bytes=512", "device.capacity=\"36 MiB\""],
    ] {
        let record = record(&SMALL.replace("8 MiB", "32 MiB"), &[&["workload.postmark.number=500"], way].concat());
        assert!(!record.partial, "{way:?}: {:?}", record.stopped);
    }
}

#[test]
fn what_does_not_fit_together_is_refused_with_a_way_out() {
    let refused = |text: &str, sets: &[&str]| parse(text, sets).unwrap_err().to_string();
    let without = SMALL.replace("[fs.fat]\n", "");
    let cases = [
        (refused(&without, &[]), "x.toml, line 2, column 11: workload.postmark asks for files, and there is no file"),
        (
            refused(&without, &[]),
            "add a table [fs.fat] or [fs.yaffs] or [fs.minv] or [fs.firmware] or [fs.posix], or choose a workload that asks for sectors \
             (sequential,",
        ),
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

/// A small chip with pages of 512 B, and a small workload; tests add the file system.
const BARE: &str = r#"
[workload.postmark]
number = 40
transactions = 400
[device]
profile = "k9f5608"
capacity = "768 KiB"
"#;

/// Pages of 2 KiB, programmed once and in ascending order.
const LARGE_PAGES: [&str; 3] = [
    "device.capacity=\"1 MiB\"",
    "device.shape={ page_bytes=2048, spare_bytes=64, pages_per_block=16 }",
    "device.rules={ program_order=\"ascending_dense\", partial_programs=1 }",
];

const YAFFS: &str = "fs={ yaffs={} }";
const OLD: &str = "fs.yaffs.code=\"2007\"";
const MINV: &str = "fs={ minv={ nvram={ read_ns=20, write_ns=60, read_nj=1, write_nj=2 } } }";

#[test]
fn every_model_counts_the_same_on_bare_flash_and_every_run_too() {
    let large = [&[YAFFS], &LARGE_PAGES[..]].concat();
    let scanned = [&["fs={ yaffs={ checkpoint=false, short_op_cache=4 } }"], &LARGE_PAGES[..]].concat();
    for sets in [vec![YAFFS], large, scanned, vec![MINV]] {
        let of = |more: &[&str]| result(&record(BARE, &[&sets, more].concat()));
        let timed = of(&[]);
        assert!(timed.contains("aggressive: Some("), "{timed}");
        assert_eq!(timed, of(&[]));
        assert_eq!(timed, of(&["device.model=\"counting\""]));
        // With bytes, the run compares everything the workload reads with its earlier writes.
        assert_eq!(timed, of(&["device.model=\"bytes\""]));
        // The stack for faults and operation logs.
        assert_eq!(timed, of(&["device.faults={ seed=3 }"]));
    }
}

#[test]
fn the_parts_of_a_run_on_bare_flash_sum_to_the_record() {
    for sets in [&[YAFFS][..], &[MINV], &[&[YAFFS], &LARGE_PAGES[..]].concat()] {
        let record = record(BARE, &[sets, &["host.sample_transactions=100", "host.sample_blocks=true"]].concat());
        assert!(!record.partial, "{:?}", record.stopped);
        let fs = record.fs.as_ref().unwrap();
        let parts = [fs.phases.set_up, fs.phases.transactions, fs.phases.clean_up];
        let sum = |of: fn(&nandlab_lab::record::FsPhase) -> u64| parts.iter().map(of).sum::<u64>();
        assert_eq!(sum(|part| part.operations), fs.operations.total);
        assert_eq!(sum(|part| part.requests), record.host.requests);
        assert_eq!(sum(|part| part.written_sectors), record.host.written_sectors);
        assert_eq!(sum(|part| part.flash.programs), record.flash.programs);
        assert_eq!(sum(|part| part.flash.spare_programs), record.flash.spare_programs);
        assert_eq!(sum(|part| part.flash.erases), record.flash.erases);
        // Host requests are file reads and writes, counted in touched file sectors.
        let asked = (record.host.reads, record.host.writes, record.host.flushes);
        assert_eq!(asked, (fs.operations.read, fs.operations.write, fs.operations.sync));
        assert!(record.host.written_sectors * 512 >= fs.written_bytes && fs.written_bytes > 0);
        // Operations run one after another: the total is data-sheet time plus NVRAM time. For a header in a
        // large page, the transfer is shorter than the data sheet's full page.
        let in_nvram = record.nvram.map_or(0.0, |nvram| nvram.used.time_us);
        let ahead = record.busy_us + in_nvram - record.time_us.unwrap();
        assert!(ahead.abs() < 0.01 || ahead > 0.0 && record.device.page_bytes > 512, "{ahead}");
        let time: f64 = parts.iter().map(|part| part.time_us.unwrap()).sum();
        assert!((time / record.time_us.unwrap() - 1.0).abs() < 1e-9);
        let gc = record.gc;
        assert_eq!(gc.runs, gc.passive.unwrap() + gc.aggressive.unwrap());
        assert!(gc.aggressive.unwrap() > 0 && gc.empty_runs <= gc.runs, "{gc:?}");
        let copies: u64 = record.matrix.iter().filter(|row| row.cause == "gc").map(|row| row.copies).sum();
        assert_eq!(copies, record.flash.copies, "nothing but collection copies");
        for sample in &fs.samples {
            let (blocks, gc) = (sample.blocks.as_ref().unwrap(), sample.gc.unwrap());
            assert_eq!(blocks.live.iter().map(|&(_, count)| count).sum::<u64>(), u64::from(record.device.blocks));
            let live: u64 = blocks.live.iter().map(|&(live, count)| u64::from(live) * count).sum();
            let each = blocks.live_pages.as_ref().unwrap();
            assert_eq!(live, each.iter().map(|&live| u64::from(live)).sum::<u64>());
            assert!(blocks.unused <= blocks.empty && gc.passive + gc.aggressive + gc.emptied <= sample.erases + 1);
        }
        assert_eq!(fs.samples.iter().map(|sample| sample.transactions).collect::<Vec<_>>(), [100, 200, 300, 400]);
        assert_eq!(fs.samples[3].programs, fs.phases.transactions.flash.programs);
        // An erased device needs no format.
        assert_eq!(fs.phases.format.flash.programs + fs.phases.mount.flash.programs, 0);
        let known = ["file_data host", "file_data gc", "object_header host", "object_header gc", "ftl checkpoint"];
        let of = |row: &nandlab_lab::record::MatrixRow| format!("{} {}", row.origin, row.cause);
        assert!(record.matrix.iter().all(|row| row.programs == 0 || known.contains(&of(row).as_str())));
    }
}

#[test]
fn what_a_mount_reads_depends_on_where_the_metadata_is() {
    let of = |sets: &[&str]| record(BARE, sets);
    let blocks = |record: &Record| u64::from(record.device.blocks);
    // Per file system, on an erased device: each block's first two pages; its first page; its first page.
    let small = of(&[YAFFS]);
    assert_eq!((small.mount.page_reads, small.mount.spare_reads), (0, 2 * blocks(&small)));
    let again = small.remount.unwrap();
    assert!(again.spare_reads > 10 * blocks(&small), "all spare areas of the blocks in use: {again:?}");
    assert!(again.time_us.unwrap() > 0.0 && again.nvram_accesses.is_none());
    let minv = of(&[MINV]);
    assert_eq!((minv.mount.page_reads, minv.mount.spare_reads), (0, blocks(&minv)));
    let again = minv.remount.unwrap();
    assert!(again.page_reads == 0 && again.spare_reads <= 1, "{again:?}");
    assert!((1..64).contains(&again.nvram_accesses.unwrap()), "{again:?}");
    let saved = of(&[&[YAFFS], &LARGE_PAGES[..]].concat()).remount.unwrap();
    let scanned = of(&[&["fs={ yaffs={ checkpoint=false } }"], &LARGE_PAGES[..]].concat()).remount.unwrap();
    assert!(saved.spare_reads < scanned.spare_reads, "{saved:?} {scanned:?}");
}

#[test]
fn a_mount_of_a_volume_is_that_of_the_ftl_and_its_own() {
    for ftl in nandlab_ftl::anywhere() {
        let ftl = format!("ftl={{ {}={{}} }}", ftl.name);
        let set = |model: &str| record(BARE, &["fs={ fat={} }", &ftl, "device.over_provisioning=1.5", model]);
        let timed = set("device.model=\"timed\"");
        let again = timed.remount.unwrap_or_else(|| panic!("{ftl}: {:?}", timed.notices));
        let own = again.fs.unwrap();
        // The boot sector and the table's first entries, with the volume's state.
        assert!((1..=8).contains(&own.page_reads), "{ftl}: {again:?}");
        // An FTL must look at each block at least once.
        assert!(
            again.spare_reads + again.page_reads - own.page_reads >= u64::from(timed.device.blocks),
            "{ftl}: {again:?}"
        );
        assert!(again.time_us.unwrap() > own.time_us.unwrap() && own.time_us.unwrap() > 0.0, "{ftl}: {again:?}");
        let counts = |record: &Record| record.remount.map(|mount| (mount.page_reads, mount.spare_reads));
        assert_eq!(counts(&set("device.model=\"counting\"")), counts(&timed));
        assert_eq!(counts(&set("device.model=\"bytes\"")), counts(&timed));
    }
    let buffered =
        ["fs={ fat={} }", "ftl={ page={} }", "buffer={ lru={ size=\"16 KiB\" } }", "device.over_provisioning=0.5"];
    assert!(record(BARE, &buffered).remount.is_none());
}

#[test]
fn what_happened_first_is_told_by_its_transaction() {
    for fs in [YAFFS, MINV] {
        let record = record(BARE, &[fs, "host.sample_transactions=1"]);
        let found = record.fs.unwrap();
        let first = found.first.unwrap();
        let seen = |wanted: &dyn Fn(&nandlab_lab::record::FsSample) -> bool| {
            found.samples.iter().find(|sample| wanted(sample)).map(|sample| sample.transactions)
        };
        assert_eq!(first.passive, seen(&|sample| sample.gc.unwrap().passive > 0), "{fs}");
        assert_eq!(first.aggressive, seen(&|sample| sample.gc.unwrap().aggressive > 0), "{fs}");
        assert_eq!(first.all_used, seen(&|sample| sample.blocks.as_ref().unwrap().unused == 0), "{fs}");
        assert!(first.aggressive.is_some() && first.all_used.is_some(), "{fs}: {first:?}");
    }
    let over_ftl = record(BARE, &["fs={ fat={} }", "ftl={ page={} }", "device.over_provisioning=0.5"]);
    assert!(over_ftl.fs.unwrap().first.is_none());
}

#[test]
fn metadata_in_nvram_is_counted_and_costs_what_the_experiment_says() {
    let free = record(BARE, &["fs={ minv={} }"]);
    let paid = record(BARE, &[MINV]);
    let (before, after) = (free.nvram.unwrap(), paid.nvram.unwrap());
    assert_eq!((before.used.reads, before.used.writes), (after.used.reads, after.used.writes));
    assert_eq!((before.used.time_us, before.used.energy_j), (0.0, 0.0));
    assert_eq!(free.flash, paid.flash);
    assert!((paid.time_us.unwrap() - free.time_us.unwrap() - after.used.time_us).abs() < 0.01);
    assert!(after.used.energy_j > 0.0 && after.bytes > 64 << 10 && paid.ram.total_bytes < 1 << 10, "{after:?}");
    // No metadata goes to flash, and no page gets a mark.
    assert!(paid.matrix.iter().all(|row| row.origin == "file_data") && paid.flash.spare_programs == 0);
    assert!(record(BARE, &[YAFFS]).nvram.is_none());
}

#[test]
fn every_workload_of_files_runs_on_bare_flash() {
    for name in LIST.iter().filter(|entry| entry.asks == Asks::Files).map(|entry| entry.name) {
        for fs in [&[YAFFS][..], &[MINV], &[&[YAFFS], &LARGE_PAGES[..]].concat()] {
            let least = least(name);
            let sets: Vec<&str> = least.iter().map(String::as_str).collect();
            let record = record(BARE, &[fs, &sets, &["device.capacity=\"8 MiB\"", "device.model=\"bytes\""]].concat());
            assert!(!record.partial, "{name} on {fs:?}: {:?}", record.stopped);
            assert!(record.fs.unwrap().transactions > 0 && record.waf.unwrap() > 0.0, "{name} on {fs:?}");
        }
    }
}

#[test]
fn faults_on_bare_flash_are_counted() {
    for fs in [&[YAFFS][..], &[MINV], &[&[YAFFS], &LARGE_PAGES[..]].concat()] {
        let faults =
            "device.faults={ program_failure_rate=0.001, erase_failure_rate=0.001, factory_bad_blocks=[3, 4] }";
        let sets = [fs, &[faults, "device.model=\"bytes\"", "device.capacity=\"2 MiB\""]].concat();
        let record = record(BARE, &sets);
        let counts = record.faults.unwrap();
        assert!(!record.partial && counts.failed_programs > 0 && counts.retired_blocks > 0, "{fs:?}: {counts:?}");
        assert!(record.remount.is_some(), "{:?}", record.notices);
    }
}

#[test]
fn a_full_flash_ends_the_run_with_what_was_measured() {
    for fs in [YAFFS, MINV] {
        let record = record(BARE, &[fs, "workload.postmark.number=400"]);
        let stopped = record.stopped.unwrap();
        assert_eq!(stopped.why, StopReason::FsFull);
        assert!(stopped.message.contains("a larger device.capacity"), "{}", stopped.message);
        assert!(record.flash.programs > 1000 && record.remount.is_some());
        let control = Control::default();
        control.cancel();
        let record = run(&parse(BARE, &[fs]).unwrap(), Path::new("."), &control, Outputs::default()).unwrap();
        assert_eq!(record.stopped.unwrap().why, StopReason::Cancelled);
    }
}

#[test]
fn a_full_nvram_names_what_makes_it_larger() {
    let few = "fs={ minv={ objects=20 } }";
    let stopped = record(BARE, &[few]).stopped.unwrap();
    assert_eq!(stopped.why, StopReason::FsFull);
    assert!(
        stopped.message.ends_with("more fs.minv.objects have more NVRAM, or the workload needs less"),
        "{}",
        stopped.message
    );
    assert!(!record(BARE, &[MINV]).partial, "there is room on the flash");
}

#[test]
fn what_needs_an_ftl_is_refused_on_bare_flash() {
    let refused = |sets: &[&str]| parse(BARE, sets).unwrap_err().to_string();
    let cases = [
        (&["fs={ fat={} }"][..], "the experiment needs the key `ftl`"),
        (&["ftl={ page={} }"], "add a table [fs.fat] or [fs.yaffs] or [fs.minv] or [fs.firmware] or [fs.posix], or choose a"),
        (
            &[YAFFS, "ftl={ page={} }"],
            "ftl.page would not be used: fs.yaffs is on bare flash; leave [ftl.page] out (--set ftl=none), or choose a \
             file system over an FTL (fat)",
        ),
        (&[MINV, "buffer={ lru={} }"], "buffer.lru would not be used: fs.minv is on bare flash"),
        (&[YAFFS, "precondition.fill=\"random\""], "it writes logical pages, and fs.yaffs is on bare flash, which has none"),
        (&[YAFFS, "device.over_provisioning=0.2"], "device.over_provisioning would not be used: a file system on bare"),
        (&[YAFFS, "device.blocks_per_plane=50"], "device.blocks_per_plane would not be used"),
        (&[YAFFS, "workload={ uniform={} }"], "fs.yaffs would not be used: workload.uniform asks for sectors"),
        (&[YAFFS, "fs.yaffs.gc.reserved_blocks=1"], "fs.yaffs.gc.reserved_blocks = 1 cannot work"),
        (&[YAFFS, "fs.yaffs.gc.tries=3"], "fs.yaffs.gc.tries = 3 cannot work: only the code of 2007 reads it"),
        (&[YAFFS, OLD, "fs.yaffs.gc.refresh_period=9"], "refresh_period = 9 cannot work: only the code of 2014 reads"),
        (&[YAFFS, "fs.yaffs.format=\"yaffs2\""], "fs.yaffs.format = yaffs2 cannot work: it needs pages of at least 1024"),
        (&[YAFFS, "device.capacity=\"64 KiB\""], "fs.yaffs.gc.reserved_blocks = 5 cannot work: the device has 4 blocks"),
        (&[MINV, "fs.minv.objects=1"], "fs.minv.objects = 1 cannot work"),
        (&[MINV, "fs.minv.nvram.read_ns=-1"], "fs.minv.nvram.read_ns = -1 cannot work"),
        (&[MINV, "host.queue_depth=2"], "a file system waits for each request"),
        (&["fs={ fat={} }", "ftl={ page={} }", "host.sample_blocks=true"], "host.sample_blocks = true cannot work"),
    ];
    for (sets, sentence) in cases {
        let error = refused(sets);
        assert!(error.contains(sentence), "{error}\n{sentence}");
    }
    let whole = parse(BARE, &[YAFFS]).unwrap().sizing().unwrap();
    assert_eq!((whole.geometry.blocks(), whole.logical_pages), (48, 48 * 32));
    let rounded = parse(BARE, &[YAFFS, "device.capacity=\"700 KiB\""]).unwrap();
    assert!(rounded.notices[0].contains("rounded up to 704 KiB"), "{:?}", rounded.notices);
    // The resolved experiment can be parsed again.
    let resolved = parse(BARE, &[MINV]).unwrap().to_json();
    let again = Experiment::parse(&resolved, Format::Json, "x", Path::new("."), &[]).unwrap();
    assert_eq!(again.to_json(), resolved);
}

/// The phone of Doh et al. (2008), sampled every 20 days: samples, and the first with an aggressive collection.
fn phone(file: &str) -> (Vec<nandlab_lab::record::FsSample>, u64) {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments").join(file));
    let sets = ["host.sample_transactions=20", "host.sample_blocks=false", "workload.phone.transactions=2500"];
    let samples = record(&text.unwrap(), &sets).fs.unwrap().samples;
    let first = samples.iter().find(|sample| sample.gc.unwrap().aggressive > 0).unwrap().transactions;
    for sample in samples.iter().filter(|sample| sample.transactions % 500 == 0) {
        let (gc, blocks) = (sample.gc.unwrap(), sample.blocks.as_ref().unwrap());
        println!(
            "{file} {}: {:.1} s, {} programs, {} erases, {} passive, {} aggressive, {} emptied; {} unused, {} empty",
            sample.transactions,
            sample.time_us.unwrap() / 1e6,
            sample.programs,
            sample.erases,
            gc.passive,
            gc.aggressive,
            gc.emptied,
            blocks.unused,
            blocks.empty
        );
    }
    (samples, first)
}

#[test]
fn the_phone_uses_every_block_and_collects_when_the_paper_says() {
    let (yaffs, first) = phone("yaffs-phone.toml");
    let used = yaffs.iter().find(|sample| sample.blocks.as_ref().unwrap().unused == 0).unwrap().transactions;
    println!("yaffs: every block was used by {used}, aggressive from {first}");
    assert!((900..=1100).contains(&used), "{used}");
    assert!((1001..=2000).contains(&first), "{first}");
    assert!(yaffs[24].transactions == 500 && yaffs[24].gc.unwrap().passive > 0);
    let (minv, first) = phone("minv-phone.toml");
    println!("minv: aggressive from {first}; until 2,000 {} erases", minv[99].erases);
    assert!((2001..=2500).contains(&first), "{first}");
    assert!(minv[99].transactions == 2000 && minv[99].blocks.as_ref().unwrap().unused > 0);
    // The paper's claim for every interval: metadata in NVRAM is faster.
    assert!(yaffs.iter().zip(&minv).all(|(yaffs, minv)| minv.time_us < yaffs.time_us));
}
