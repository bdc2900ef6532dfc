//! Key workloads over an LSM tree, from experiment text to record.

use crate::support::{parse, record, refused};
use nandlab_lab::record::{IndexRecord, LsmRecord, StopReason};
use nandlab_lab::{run, Control, LabError, Outputs};
use std::path::Path;

const SMALL: &str = r#"
[workload.inserts]
operations = 20_000
[index.lsm]
write_buffer_bytes = "16 KiB"
target_file_bytes = "16 KiB"
level_base_bytes = "64 KiB"
level_multiplier = 4
write_unit_bytes = 1024
extent_bytes = "4 KiB"
[ftl.page]
[device]
profile = "btree"
capacity = "2 MiB"
over_provisioning = 1.0
"#;

/// A drive of four dies, and puts that are flushed now and then.
const BESIDE: &str = r#"
[workload.ycsb]
records = 6_000
operations = 30_000
mix = "a"
[index.lsm]
value_bytes = 100
write_buffer_bytes = "64 KiB"
target_file_bytes = "64 KiB"
level_base_bytes = "256 KiB"
level_multiplier = 4
cache_bytes = "64 KiB"
flush_every = 100
[ftl.page]
[device]
profile = "generic-8x4"
capacity = "8 MiB"
over_provisioning = 0.5
[device.shape]
channels = 1
dies_per_channel = 4
pages_per_block = 16
"#;

fn lsm(index: &IndexRecord) -> LsmRecord {
    index.lsm.unwrap()
}

#[test]
fn bytes_written_are_told_by_source_and_multiply_with_the_devices() {
    let record = record(SMALL, &["index.lsm.flush_every=500"]);
    let index = record.index.unwrap();
    let tree = lsm(&index);
    let tables = tree.flush_bytes + tree.load_bytes + tree.compaction_bytes;
    assert_eq!(index.written_bytes, tree.wal_bytes + tables + tree.manifest_bytes);
    assert_eq!(index.written_bytes, 512 * record.host.written_sectors);
    assert_eq!(tree.compaction_bytes, tree.levels.iter().map(|level| level.compaction_written).sum::<u64>());
    // A record has 4 bytes of key and 4 of value.
    assert_eq!(index.user_bytes, 8 * (index.operations.insert - index.present));
    assert_eq!(index.records, index.operations.insert - index.present);
    let waf_index = index.written_bytes as f64 / index.user_bytes as f64;
    let (total, device) = (index.waf_total.unwrap(), record.waf.unwrap());
    println!("index {waf_index:.3} x device {device:.3} = {total:.3}");
    assert_eq!((index.waf_index.unwrap(), total), (waf_index, waf_index * device));
    // Bytes programmed over bytes of the user, from the device's own counts.
    let programmed = record.flash.programs as f64 * 512.0;
    assert!((programmed / index.user_bytes as f64 / total - 1.0).abs() < 1e-9);
    assert_eq!(index.flushes, 40);
    for (origin, bytes) in [("journal", tree.wal_bytes), ("index_header", tree.manifest_bytes)] {
        let rows = record.matrix.iter().filter(|row| row.origin == origin && row.cause == "host");
        assert_eq!(rows.map(|row| 512 * row.programs).sum::<u64>(), bytes, "{origin}");
    }
    assert!(tree.levels.iter().filter(|level| level.tables > 0).count() >= 2, "{:?}", tree.levels);
    assert!(tree.bloom_false_positive_rate.unwrap() < 0.02 && tree.space_amplification.unwrap() >= 1.0);
}

#[test]
fn the_btree_has_its_write_amplification_too() {
    let text = SMALL.replace(
        &SMALL[SMALL.find("[index.lsm]").unwrap()..SMALL.find("[ftl").unwrap()],
        "[index.btree]\npage_bytes = 1024\npool_frames = 12\n",
    );
    let record = record(&text, &[]);
    let index = record.index.unwrap();
    assert_eq!(index.written_bytes, 512 * record.host.written_sectors);
    assert_eq!(index.user_bytes, 8 * index.records);
    assert_eq!(index.waf_total.unwrap(), index.waf_index.unwrap() * record.waf.unwrap());
    assert!(index.lsm.is_none());
}

#[test]
fn every_key_workload_runs_alike_on_every_model() {
    for workload in [
        "workload={ inserts = { operations = 9_000, order = \"skewed\", keys = 6_000 } }",
        "workload={ ycsb = { mix = \"a\", records = 4_000, operations = 4_000 } }",
        "workload={ ycsb = { mix = \"e\", records = 4_000, operations = 2_000 } }",
        "workload={ ycsb = { mix = \"f\", records = 4_000, operations = 4_000 } }",
        "workload={ load_update = { records = 6_000, updates = 6_000, theta = 0.9 } }",
    ] {
        for compaction in ["leveled", "{ tiered = {} }"] {
            let of = |sets: &[&str]| {
                let text = if compaction == "leveled" {
                    SMALL.to_owned()
                } else {
                    SMALL.replace(
                        "level_base_bytes = \"64 KiB\"\nlevel_multiplier = 4\n",
                        "compaction = { tiered = {} }\n",
                    )
                };
                let record = record(&text, &[&[workload, "index.lsm.flush_every=700"], sets].concat());
                let mut index = record.index.unwrap();
                index.latency_us = None;
                (index, format!("{:?} {:?} {:?}", record.host, record.flash, record.matrix))
            };
            let timed = of(&[]);
            assert!(timed.0.records > 1_000 && timed.0.absent == 0, "{workload}");
            assert_eq!(timed, of(&["device.model=\"counting\""]), "{workload}");
            // The device compares every page with its last write.
            assert_eq!(timed, of(&["device.model=\"bytes\""]), "{workload}");
        }
    }
}

#[test]
fn both_indexes_find_the_same_keys() {
    let btree = SMALL.replace(
        &SMALL[SMALL.find("[index.lsm]").unwrap()..SMALL.find("[ftl").unwrap()],
        "[index.btree]\npage_bytes = 1024\npool_frames = 12\n",
    );
    for mix in ["a", "d", "e", "f"] {
        let workload = format!("workload={{ ycsb = {{ mix = \"{mix}\", records = 3_000, operations = 3_000 }} }}");
        let [lsm, btree] = [SMALL, &btree].map(|text| record(text, &[&workload]).index.unwrap());
        assert_eq!(lsm.operations, btree.operations);
        let found = |index: &IndexRecord| (index.records, index.absent, index.present, index.scanned_records);
        assert_eq!(found(&lsm), found(&btree), "mix {mix}");
    }
}

/// The same tree straight on a zoned drive.
const ZONED: &[&str] = &["ftl={ zns = {} }", "device.zones={ blocks_per_die = 1 }"];

#[test]
fn a_zoned_drive_takes_the_tree_and_each_byte_once() {
    let [page, zns] = [&[][..], ZONED].map(|sets| record(SMALL, &[sets, &["index.lsm.flush_every=500"]].concat()));
    let (index, tree, zones) = (zns.index.unwrap(), lsm(&zns.index.unwrap()), zns.zones.unwrap());
    println!("{tree:?} {zones:?}");
    assert_eq!(index.records, page.index.unwrap().records);
    assert_eq!(index.written_bytes, 512 * zns.host.written_sectors);
    let tables = tree.flush_bytes + tree.load_bytes + tree.compaction_bytes;
    assert_eq!(index.written_bytes, tree.wal_bytes + tables + tree.manifest_bytes + tree.moved_bytes);
    assert_eq!(zones.refused.values().sum::<u64>(), 0, "no request is refused");
    assert!(zones.used.resets > 20);
}

#[test]
fn the_tree_on_zones_is_the_same_on_every_model_and_within_the_limits() {
    for limits in ["{ blocks_per_die = 1, max_active = 4, max_open = 2 }", "{ blocks_per_die = 2, max_open = 1 }"] {
        let zones = format!("device.zones={limits}");
        let of = |model: &str| {
            let record = record(SMALL, &[ZONED[0], &zones, model]);
            let mut index = record.index.unwrap();
            index.latency_us = None;
            let zones = record.zones.unwrap();
            assert_eq!(zones.refused.values().sum::<u64>(), 0, "{limits}");
            (index, format!("{:?} {:?} {:?}", record.host, record.flash, zones.used))
        };
        let timed = of("device.model=\"timed\"");
        assert_eq!(timed, of("device.model=\"counting\""));
        assert_eq!(timed, of("device.model=\"bytes\""));
    }
    let btree = refused(SMALL, &[ZONED, &["index={ btree = {} }"]].concat()).message;
    assert!(btree.contains("[index.btree] does not go with ftl.zns: a B+tree writes its pages in place"), "{btree}");
    let few = [ZONED[0], "device.zones={ max_active = 3 }"];
    let message = refused(SMALL, &few).message;
    assert!(message.contains("device.zones.max_active = 3 cannot work with index.lsm"), "{message}");
}

#[test]
fn a_drive_with_too_few_zones_for_a_tree_is_refused_before_the_first_operation() {
    let few = parse(SMALL, &[ZONED, &["device.capacity=\"80 KiB\""]].concat()).unwrap();
    let LabError::Config(error) = run(&few, Path::new("."), &Control::default(), Outputs::default()).unwrap_err()
    else {
        panic!("another error")
    };
    assert_eq!(error.key.as_deref(), Some("index.lsm.write_unit_bytes"));
    assert!(error.message.contains("the manifest takes"), "{}", error.message);
}

#[test]
fn a_full_zoned_drive_gives_what_was_measured_until_then() {
    let tight = ["device.capacity=\"512 KiB\"", "workload.inserts.operations=1_000_000"];
    let record = record(SMALL, &[ZONED, &tight].concat());
    let (index, stopped) = (record.index.unwrap(), record.stopped.unwrap());
    println!("{stopped:?} {:?} {:?}", record.zones.unwrap(), index.lsm);
    assert!(record.partial && stopped.why == StopReason::IndexFull, "{stopped:?}");
    assert_eq!(index.records + index.present, index.operations.total, "the tree is intact");
    assert!(lsm(&index).moved_bytes > 0, "zones were collected before");
}

#[test]
fn levels_have_handles_of_their_own() {
    let placed =
        ["index.lsm.placement=levels", "ftl.page.placement={ fdp = { handles = 8 } }", "device.capacity=\"8 MiB\""];
    let record = record(SMALL, &placed);
    let fdp = format!("{:?}", record.fdp.unwrap());
    println!("{fdp}");
    let none = crate::support::record(SMALL, &placed[1..]);
    assert_ne!(fdp, format!("{:?}", none.fdp.unwrap()), "all through one handle");
    assert_eq!(record.index.unwrap().written_bytes, none.index.unwrap().written_bytes);
}

#[test]
fn the_drive_moves_what_was_deleted_and_not_trimmed() {
    let of = |trim: &str| {
        let full = [
            "device.capacity=\"512 KiB\"",
            "device.over_provisioning=0.15",
            "workload={ load_update = { records = 16_000, updates = 40_000, theta = 0.0 } }",
            "index.lsm.allocation=next_fit",
            &format!("index.lsm.trim={trim}"),
        ];
        let record = record(SMALL, &full);
        let tree = lsm(&record.index.unwrap());
        assert_eq!((tree.trims, tree.trimmed_bytes), (record.host.trims, 512 * record.host.trimmed_sectors), "{trim}");
        println!("{trim}: {} trims, {} bytes left, waf {:?}", tree.trims, tree.untrimmed_bytes, record.waf);
        (tree, record.waf.unwrap())
    };
    let (at_once, waf_at_once) = of("at_once");
    let (discard, _) = of("{ discard = { bytes = \"64 KiB\" } }");
    let (never, waf_never) = of("never");
    assert!(at_once.untrimmed_bytes == 0 && discard.untrimmed_bytes < 64 << 10 && discard.trims < at_once.trims);
    assert!(never.trims == 0 && never.untrimmed_bytes > 100 << 10);
    assert!(waf_at_once < 1.05 && waf_never > 1.5, "{waf_never} {waf_at_once}");
}

#[test]
fn every_bad_value_is_refused_with_key_value_and_reason() {
    for (set, expected) in [
        ("index.lsm.key_bytes=0", "index.lsm.key_bytes = 0 cannot work: a key has 1 to 64 bytes"),
        ("index.lsm.level0_trigger=0", "index.lsm.level0_trigger = 0 cannot work"),
        ("index.lsm.trim={ fstrim = { every_bytes = 0 } }", "an interval has at least 1 byte"),
        ("index.lsm.write_unit_bytes=1000", "index.lsm.write_unit_bytes = 1000 cannot work: a unit is a power of two"),
        ("index.lsm.compaction={ tiered = {} }", "it counts only with compaction = \"leveled\""),
        ("index.lsm.extent_bytes=\"1 MiB\"", "the manifest takes"),
        ("index.lsm.queue_depth=8", "it counts only with threads of 1 or more"),
        ("index.lsm.bloom_bits=9", "bloom_bits"),
        ("index.lsm.key_bytes=2", "index.lsm.key_bytes = 2 cannot work: workload.inserts asks for keys up to"),
    ] {
        let message = refused(SMALL, &[set]).message;
        assert!(message.contains(expected), "{set}: {message}");
    }
}

#[test]
fn a_full_tree_gives_what_was_measured_until_then() {
    let record = record(SMALL, &["workload.inserts.operations=1_000_000"]);
    let (index, stopped) = (record.index.unwrap(), record.stopped.unwrap());
    assert!(record.partial && stopped.why == StopReason::IndexFull, "{stopped:?}");
    let start = format!("after {} operations: the index is full", index.operations.total);
    assert!(stopped.message.starts_with(&start), "{stopped:?}");
    assert_eq!(index.records + index.present, index.operations.total, "the tree is intact");
}

#[test]
fn a_run_can_be_stopped() {
    let control = Control::default();
    control.cancel();
    let before = run(&parse(SMALL, &[]).unwrap(), Path::new("."), &control, Outputs::default()).unwrap();
    assert!(before.partial && before.stopped.unwrap().message.starts_with("before the first operation"));
}

/// Tables and reads are those of the foreground; the longest put no longer waits for a whole compaction, and reads wait
/// for the device beside one.
#[test]
fn jobs_in_the_background_take_the_longest_waits_from_puts_and_give_reads_some() {
    let of = |sets: &[&str]| record(BESIDE, sets);
    let (foreground, background) = (of(&[]).index.unwrap(), of(&["index.lsm.threads=2"]));
    let again = of(&["index.lsm.threads=2", "device.model=\"bytes\""]);
    // The device compares every read with its last write.
    assert_eq!(format!("{:?} {:?}", background.host, background.index), format!("{:?} {:?}", again.host, again.index));
    assert_eq!(background.index.unwrap().written_bytes, 512 * background.host.written_sectors);
    let background = background.index.unwrap();
    let tables = |index: &IndexRecord| (index.records, lsm(index).flush_bytes, lsm(index).compaction_bytes);
    assert_eq!(tables(&foreground), tables(&background));
    let [before, after] = [foreground, background].map(|index| index.latency_us.unwrap());
    let longest = |latency: Option<nandlab_lab::record::LatencySummary>| latency.unwrap().max;
    println!("puts {} {}", longest(before.write), longest(after.write));
    assert!(longest(after.write) < 0.3 * longest(before.write));
    assert!(longest(after.read) > 3.0 * longest(before.read));
    assert_eq!(lsm(&background).stalls.memtables.count, 0);
}

/// Over zones, too: the drive takes every request of the jobs, and each byte once.
#[test]
fn jobs_over_zones_write_what_the_foreground_writes() {
    for limits in ["{ blocks_per_die = 1 }", "{ blocks_per_die = 1, max_active = 6, max_open = 4 }"] {
        let zones = format!("device.zones={limits}");
        let of = |sets: &[&str]| record(BESIDE, &[&["ftl={ zns = {} }", &zones], sets].concat());
        let (foreground, background) = (of(&[]).index.unwrap(), of(&["index.lsm.threads=2"]));
        let again = of(&["index.lsm.threads=2", "device.model=\"bytes\""]);
        // The device compares every read with its last write.
        assert_eq!(
            format!("{:?} {:?}", background.host, background.index),
            format!("{:?} {:?}", again.host, again.index)
        );
        assert_eq!(background.zones.unwrap().refused.values().sum::<u64>(), 0, "no request is refused");
        assert!(background.waf.unwrap() < 1.05, "{:?}", background.waf);
        let background = background.index.unwrap();
        let tables = |index: &IndexRecord| (index.records, lsm(index).flush_bytes, lsm(index).compaction_bytes);
        assert_eq!(tables(&foreground), tables(&background), "{limits}");
        let [before, after] = [foreground, background].map(|index| index.latency_us.unwrap());
        let longest = |latency: Option<nandlab_lab::record::LatencySummary>| latency.unwrap().max;
        println!("{limits}: puts {} {}", longest(before.write), longest(after.write));
        assert!(longest(after.write) < 0.3 * longest(before.write));
        assert!(longest(after.read) > 2.0 * longest(before.read));
    }
}

#[test]
fn puts_without_flushes_wait_for_memtables_and_by_the_triggers() {
    let of = |sets: &[&str]| {
        let puts = ["workload={ inserts = { operations = 20_000 } }", "index.lsm.flush_every=0", "index.lsm.threads=1"];
        lsm(&record(BESIDE, &[&puts[..], sets].concat()).index.unwrap()).stalls
    };
    let usual = of(&[]);
    assert!(usual.memtables.count > 0 && usual.memtables.time_us > 0.0 && usual.level_0.count == 0, "{usual:?}");
    let few = of(&["index.lsm.level0_slowdown=4", "index.lsm.level0_stop=4"]);
    assert!(few.level_0.count > 0 && few.level_0.time_us > 0.0, "{few:?}");
    let pending = ["index.lsm.pending_slow_bytes=\"64 KiB\"", "index.lsm.slow_bytes_per_s=\"8 MiB\""];
    let slow = of(&pending).slow;
    // A put has 4 bytes of key, 2 of its length and 100 of value.
    assert!((slow.time_us / slow.count as f64 - 106.0 / 8.388608).abs() < 0.01, "{slow:?}");
}

#[test]
fn a_device_without_times_keeps_the_order_of_the_foreground() {
    let of = |sets: &[&str]| {
        let record = record(BESIDE, &[&["device.model=\"counting\""], sets].concat());
        format!("{:?} {:?} {:?}", record.host, record.flash, record.index)
    };
    assert_eq!(of(&[]), of(&["index.lsm.threads=2"]));
}
