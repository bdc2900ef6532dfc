//! Tenants on a zoned drive: each has zones of its own, and nobody refuses what it does there.

use crate::support::{parse, record, refused};
use nandlab_lab::record::{Record, TenantRecord, ZoneRun};
use nandlab_lab::{run, Control, Outputs};
use std::path::Path;

/// A zone has 2 blocks with 64 pages each, 4 KiB a page: 512 KiB with 448 KiB to write. There are 32.
const DRIVE: &str = "[ftl.zns]\n[device]\nprofile = \"generic\"\ncapacity = \"16 MiB\"\nover_provisioning = 0.2\n[device.shape]\n\
                     pages_per_block = 64\n[device.zones]\nblocks_per_die = 2\ncapacity = \"448 KiB\"\nsize = \"512 KiB\"\n";
const LIMITS: &str = "max_open = 4\nmax_active = 4\n";
const ZONE: u64 = 448 << 10;
const LSM: &str =
    "index.lsm = { key_bytes = 8, value_bytes = 100, write_buffer_bytes = \"64 KiB\", level_base_bytes = \"512 KiB\", \
     target_file_bytes = \"128 KiB\"";
const INSERTS: &str = "workload.inserts = { operations = 12000, order = \"random\" }";

fn job(keys: &str) -> String {
    format!("[a]\nzonemode=zbd\nioengine=libaio\nfilename=x\n{}\n", keys.replace(';', "\n"))
}

fn tenant(name: &str, keys: &str, workload: &str) -> String {
    format!("[[workload.tenants.tenant]]\nname = \"{name}\"\n{keys}\n{workload}\n")
}

fn of_fio(name: &str, keys: &str, job_keys: &str) -> String {
    tenant(name, keys, &format!("workload.fio.text = \"\"\"\n{}\"\"\"", job(job_keys)))
}

fn tree(name: &str, keys: &str, more: &str) -> String {
    tenant(name, &format!("{LSM}{more} }}\n{keys}"), INSERTS)
}

fn text(tenants: &[String], limits: &str) -> String {
    format!("[workload.tenants]\nuntil = \"last\"\n{}{DRIVE}{limits}", tenants.concat())
}

fn rows(record: &Record) -> &[TenantRecord] {
    record.tenants.as_deref().unwrap()
}

fn report(record: &Record) -> &[ZoneRun] {
    &record.zones.as_ref().unwrap().report
}

/// Nothing was refused.
fn played(text: &str, sets: &[&str]) -> Record {
    let record = record(text, sets);
    let zones = record.zones.as_ref().unwrap();
    assert!(zones.refused.is_empty(), "{:?}", zones.refused);
    record
}

/// What each zone got: bytes written and resets.
fn by_zone(record: &Record) -> Vec<(u64, u64)> {
    report(record).iter().flat_map(|row| vec![(row.written_bytes, row.resets); row.zones as usize]).collect()
}

#[test]
fn a_job_that_is_the_only_tenant_is_the_job() {
    for keys in [
        "rw=write;bs=16k;iodepth=8;loops=2",
        "rw=randwrite;bs=8k;iodepth=32;io_size=32m;norandommap;max_open_zones=3",
        "rw=write;bs=60k;iodepth=64;numjobs=4;size=4m;offset_increment=4m",
    ] {
        for part in ["", "part = \"whole\""] {
            let only = played(&text(&[of_fio("only", part, keys)], LIMITS), &[]);
            let alone = played(&format!("[workload.fio]\ntext = \"\"\"\n{}\"\"\"\n{DRIVE}{LIMITS}", job(keys)), &[]);
            assert_eq!((only.host, only.flash, only.time_us), (alone.host, alone.flash, alone.time_us), "{keys}");
            assert_eq!(report(&only), report(&alone), "{keys}");
            assert!(only.notices.iter().all(|notice| !notice.contains("knows no zones")), "{:?}", only.notices);
        }
    }
}

/// A job in order fills each of its zones twice, with a reset between; one at random writes and resets zones of its own.
#[test]
fn two_jobs_keep_to_the_zones_of_their_parts() {
    let in_order = of_fio("order", "part = \"4 MiB\"", "rw=write;bs=16k;iodepth=8;loops=2;max_open_zones=1");
    let random = of_fio("random", "", "rw=randwrite;bs=8k;iodepth=16;io_size=24m;norandommap;max_open_zones=3");
    for model in ["timed", "bytes"] {
        let record = played(
            &text(&[in_order.clone(), random.clone()], LIMITS),
            &[&format!("device.model={model}"), "host.queues.commands=4"],
        );
        let zones = by_zone(&record);
        assert!(zones[..8].iter().all(|&zone| zone == (2 * ZONE, 1)), "{zones:?}");
        let (written, resets) = zones[8..].iter().fold((0, 0), |sum, zone| (sum.0 + zone.0, sum.1 + zone.1));
        assert_eq!(written, 24 << 20);
        assert!(resets > 24, "{resets}");
        assert_eq!(rows(&record).iter().map(|row| row.bytes).collect::<Vec<_>>(), [16 * ZONE, 24 << 20]);
        assert_eq!(record.host.written_sectors * 512, 16 * ZONE + (24 << 20));
    }
}

/// Trees place their files in zones, and the second one's seed is its own.
#[test]
fn two_trees_keep_to_the_zones_of_their_parts_and_are_the_same_twice() {
    for (more, limits) in [("", ""), (", threads = 2", ""), ("", "max_open = 8\nmax_active = 8\n")] {
        let half = "part = \"8 MiB\"";
        let both = text(&[tree("a", half, more), tree("b", half, more)], limits);
        let two = played(&both, &["device.model=bytes"]);
        assert!(rows(&two).iter().all(|row| row.stopped.is_none()), "{:?} {more}", rows(&two)[0].stopped);
        let written = rows(&two).iter().map(|row| row.index.unwrap().written_bytes).collect::<Vec<_>>();
        let zones = by_zone(&two);
        let sums = [&zones[..16], &zones[16..]].map(|half| half.iter().map(|zone| zone.0).sum::<u64>());
        assert_eq!(sums[..], written, "{more} {limits}");
        assert_eq!(two.host.written_sectors * 512, sums[0] + sums[1]);
        assert!(zones.iter().any(|zone| zone.1 > 0), "no zone was emptied");
        let most = two.zones.as_ref().unwrap().used.most_active;
        assert!(limits.is_empty() || most <= 8, "{most}");
        let again = played(&both, &["device.model=bytes"]);
        assert_eq!((again.flash, again.time_us, report(&again)), (two.flash, two.time_us, report(&two)));
        assert_eq!(rows(&again), rows(&two));
    }
}

/// As with [index].
#[test]
fn a_tree_that_is_the_only_tenant_is_the_tree() {
    let index = LSM.replace("index.lsm = ", "lsm = ");
    for more in ["", ", threads = 2"] {
        let only = played(&text(&[tree("tree", "", more)], LIMITS), &[]);
        let inserts = INSERTS.replace("workload.", "");
        let alone = played(&format!("[workload]\n{inserts}\n[index]\n{index}{more} }}\n{DRIVE}{LIMITS}"), &[]);
        assert_eq!(report(&only), report(&alone));
        assert_eq!((only.flash.programs, only.flash.erases), (alone.flash.programs, alone.flash.erases));
        if more.is_empty() {
            // With jobs in the background a tenant may read a few blocks less, on a page map, too.
            assert_eq!((only.flash, only.time_us), (alone.flash, alone.time_us));
            assert_eq!(rows(&only)[0].index.unwrap().latency_us, alone.index.unwrap().latency_us);
        }
    }
}

/// A load before the measurement leaves its zones to the tree.
#[test]
fn trees_load_their_zones_before_the_measurement() {
    let ycsb = "workload.ycsb = { mix = \"a\", records = 6000, operations = 4000 }";
    let trees = ["a", "b"].map(|name| tenant(name, &format!("{LSM} }}"), ycsb));
    let loaded = played(&text(&trees, ""), &["precondition.load=true"]);
    let whole = played(&text(&trees, ""), &[]);
    for at in 0..2 {
        let [first, second] = [&loaded, &whole].map(|record| rows(record)[at].index.unwrap());
        let (ours, theirs) = (first.operations, second.operations);
        assert_eq!((ours.total, ours.read, ours.update), (4_000, theirs.read, theirs.update));
        assert_eq!((theirs.insert, first.records), (6_000, second.records));
    }
    assert!(loaded.host.written_sectors < whole.host.written_sectors / 2 + whole.host.written_sectors / 4);
}

#[test]
fn conventional_zones_belong_to_the_tenant_that_has_them() {
    let first = of_fio("first", "part = \"1 MiB\"", "rw=randwrite;bs=4k;iodepth=4;io_size=2m;norandommap");
    let both = [first, tree("tree", "part = \"8 MiB\"", "")];
    let sets = ["device.zones.conventional=2", "device.over_provisioning=0.5"];
    let record = played(&text(&both, ""), &sets);
    let row = report(&record)[0].clone();
    assert_eq!((row.first, row.state, row.write_pointer_bytes), (0, "not_write_pointer", None));
    let written = by_zone(&record)[..2].iter().map(|zone| zone.0).sum::<u64>();
    assert_eq!((written, rows(&record)[1].stopped.clone()), (2 << 20, None));
    let other_way = [tree("tree", "part = \"8 MiB\"", ""), both[0].clone()];
    let error = why(&text(&other_way, ""), &sets);
    assert!(
        error.contains("tenant[0].part = 8 MiB cannot work: the first zones of its part, 2, are conventional"),
        "{error}"
    );
    let tree =
        format!("[workload]\n{}\n[index]\n{} }}\n{DRIVE}", INSERTS.replace("workload.", ""), LSM.replace("index.", ""));
    let error = refused(&tree, &sets).message;
    assert!(error.contains("device.zones.conventional = 2 cannot work with index.lsm"), "{error}");
}

/// Why the experiment is refused, by its text or with the start of its run.
fn why(text: &str, sets: &[&str]) -> String {
    match parse(text, sets) {
        Err(error) => error.to_string(),
        Ok(experiment) => {
            run(&experiment, Path::new("."), &Control::default(), Outputs::default()).unwrap_err().to_string()
        }
    }
}

#[test]
fn what_does_not_go_with_zones_is_refused() {
    let job = |part: &str| of_fio("job", part, "rw=write;bs=16k");
    let plain = |name: &str| tree(name, "", "");
    let cases = [
        (text(&[job("part = \"700 KiB\"")], ""), "a zone of the device has 512 KiB"),
        (text(&[job("part = 0.01")], ""), "it is less than a zone of the device, 512 KiB"),
        (text(&[job("queues = 2")], ""), "only a single queue keeps it"),
        (text(&[tree("tree", "part = \"2 MiB\"", "")], ""), "it needs 6 zones, and the part of this tenant has 4"),
        (text(&[job("part = \"16 MiB\""), job("").replace("job", "late")], ""), "in whole zones of 512 KiB"),
        (text(&[tree("tree", "part = \"whole\"", ""), job("")], ""), "no other tenant may move these"),
        (text(&[plain("tree"), job("part = \"whole\"")], ""), "no other tenant may move these"),
        (text(&[plain("tree"), job("")], LIMITS), "this tenant may take any number of them"),
        (text(&[plain("a"), plain("b")], LIMITS), "its share of device.zones.max_active is 2"),
        (text(&[tree("tree", "queues = 2", "")], ""), "only a single queue keeps it"),
        (text(&[tenant("tree", "index.btree = {}", INSERTS)], ""), "a B+tree and a file system write anywhere"),
        (
            text(&[tenant("mail", "fs.fat = {}", "workload.postmark = {}")], ""),
            "tenant[0].fs = fat cannot work: a B+tree and a file system write anywhere",
        ),
    ];
    for (text, expected) in cases {
        let error = why(&text, &[]);
        assert!(error.contains(expected), "{error}\n{text}");
    }
    // A tree that only loads, since another tenant runs alone, needs its zones for itself just as well.
    let loading =
        |tree: String| text(&[tree, job("")], "").replace("[workload.tenants]", "[workload.tenants]\nalone = \"job\"");
    let load = ["precondition.load=true"];
    let error = why(&loading(tree("tree", "part = \"whole\"", "")), &load);
    assert!(error.contains("no other tenant may move these"), "{error}");
    let limited = format!("{}{LIMITS}", loading(plain("tree")));
    let error = why(&limited, &load);
    assert!(error.contains("this tenant may take any number of them"), "{error}");
    // A share is rounded down to whole zones: 3.2 of 32 are 3.
    let record = played(&text(&[of_fio("job", "part = 0.1", "rw=write;bs=16k")], ""), &[]);
    assert_eq!(record.host.written_sectors * 512, 3 * ZONE);
    let told = record_of_generator().notices;
    assert!(
        told.iter().any(|notice| notice.starts_with("workload.uniform knows no zones: a zone refuses")),
        "{told:?}"
    );
}

fn record_of_generator() -> Record {
    let reads = "workload.uniform = { requests = 10, read_share = 1.0 }";
    record(&text(&[tenant("reads", "", reads), of_fio("job", "", "rw=write;bs=16k;size=1m")], ""), &[])
}
