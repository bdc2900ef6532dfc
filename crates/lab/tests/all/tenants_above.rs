//! Tenants with an index or a file system: beside an idle tenant they are what they are alone, and two add up.

use crate::support::{parse, record, refused};
use nandlab_lab::record::{Record, StopReason, TenantRecord};
use nandlab_lab::{run, Control, Outputs, Phase};
use std::path::Path;
use std::sync::Arc;

const DEVICE: &str =
    "[ftl.page]\n[device]\nprofile = \"generic-8x4\"\ncapacity = \"64 MiB\"\n[device.shape]\nchannels = 2\n\
                      dies_per_channel = 2\npages_per_block = 32\n";
const INSERTS: &str = "inserts = { operations = 20000, order = \"random\" }";
const LSM: &str =
    "lsm = { key_bytes = 8, value_bytes = 100, write_buffer_bytes = \"64 KiB\", level_base_bytes = \"512 KiB\", target_file_bytes = \"128 KiB\" }";
const BESIDE: &str =
    "lsm = { key_bytes = 8, value_bytes = 100, write_buffer_bytes = \"64 KiB\", level_base_bytes = \"512 KiB\", \
                      target_file_bytes = \"128 KiB\", threads = 2 }";
const BTREE: &str = "btree = { page_bytes = 4096, pool_frames = 16 }";
const MAIL: &str = "postmark = { number = 40, transactions = 300 }";
/// One read, and then nothing.
const IDLE: &str =
    "[[workload.tenants.tenant]]\nname = \"idle\"\nworkload.uniform = { requests = 1, read_share = 1.0 }\n";

fn tenant(name: &str, keys: &str, workload: &str) -> String {
    format!("[[workload.tenants.tenant]]\nname = \"{name}\"\n{keys}\nworkload.{workload}\n")
}

fn tree(name: &str, index: &str, keys: &str) -> String {
    tenant(name, &format!("index.{index}\n{keys}"), INSERTS)
}

fn text(tenants: &[String], until: &str) -> String {
    format!("[workload.tenants]\nuntil = \"{until}\"\n{}{DEVICE}", tenants.concat())
}

fn played(tenants: &[String]) -> Record {
    record(&text(tenants, "last"), &[])
}

fn rows(record: &Record) -> &[TenantRecord] {
    record.tenants.as_deref().unwrap()
}

/// Same kind and number of operations and requests as with [index]; the device's counts differ by the idle tenant's read.
#[test]
fn an_index_beside_an_idle_tenant_is_the_index_alone() {
    for index in [LSM, BTREE, BESIDE] {
        let alone = record(
            &format!("[workload]\n{INSERTS}\n[index]\n{index}\n{DEVICE}"),
            &["device.capacity=32MiB", "device.over_provisioning=0.3"],
        );
        let beside = played(&[tree("tree", index, "part = \"32 MiB\""), IDLE.to_owned()]);
        let (ours, theirs) = (rows(&beside)[0].index.unwrap(), alone.index.unwrap());
        assert_eq!(rows(&beside)[0].stopped, None);
        assert_eq!(
            (ours.operations, ours.records, ours.user_bytes),
            (theirs.operations, theirs.records, theirs.user_bytes)
        );
        assert_eq!(rows(&beside)[0].requests, beside.host.requests - 1);
        if index == BESIDE {
            // Whether a job begins now or later depends on times, which differ with the device's size.
            let near = ours.written_bytes as f64 / theirs.written_bytes as f64;
            assert!((0.9..1.1).contains(&near), "{near}");
            continue;
        }
        assert_eq!((ours.written_bytes, ours.height), (theirs.written_bytes, theirs.height), "{index}");
        assert_eq!(ours.lsm.map(|lsm| lsm.levels), theirs.lsm.map(|lsm| lsm.levels));
        assert_eq!((ours.pool, ours.page_writes), (theirs.pool, theirs.page_writes));
        let (host, other) = (beside.host, alone.host);
        assert_eq!((host.reads, host.writes, host.trims), (other.reads + 1, other.writes, other.trims), "{index}");
        assert_eq!((host.flushes, host.written_sectors), (other.flushes, other.written_sectors), "{index}");
    }
}

/// Times, too: a device of its own and a part of a device that nobody else uses answer alike.
#[test]
fn a_tree_that_is_the_only_tenant_takes_its_time() {
    let only = played(&[tree("tree", LSM, "")]);
    let alone = record(&format!("[workload]\n{INSERTS}\n[index]\n{LSM}\n{DEVICE}"), &[]);
    assert_eq!(only.flash, alone.flash);
    assert_eq!(rows(&only)[0].index.unwrap().latency_us, alone.index.unwrap().latency_us);
    assert_eq!(only.time_us, alone.time_us);
}

#[test]
fn two_trees_write_the_sum_and_wait_for_each_other() {
    let one = played(&[tree("a", LSM, "part = \"32 MiB\"")]);
    let two = played(&[tree("a", LSM, "part = \"32 MiB\""), tree("b", LSM, "part = \"32 MiB\"")]);
    let [first, second] = [0, 1].map(|at| rows(&two)[at].index.unwrap());
    // Each has a seed of its own; the first has the experiment's.
    let alone = rows(&one)[0].index.unwrap();
    assert_eq!((first.written_bytes, first.records), (alone.written_bytes, alone.records));
    assert_ne!(first.records, second.records, "the seeds are the same");
    let written = first.written_bytes + second.written_bytes;
    assert_eq!(two.host.written_sectors * 512, written);
    assert_eq!(rows(&two)[0].requests + rows(&two)[1].requests, two.host.requests);
    let mean = |record: &Record| rows(record)[0].mean_us.unwrap();
    assert!(mean(&two) > 1.01 * mean(&one), "{} beside {}", mean(&two), mean(&one));
}

/// Everything at once, twice.
#[test]
fn trees_and_files_beside_a_generator_are_the_same_twice() {
    let reads = "uniform = { requests = 3000, read_share = 0.5 }";
    let all = [
        tree("beside", BESIDE, "queues = 2"),
        tree("btree", BTREE, "limit = { mb_per_s = 20 }"),
        tenant("mail", "fs.fat = {}", MAIL),
        tenant("noise", "queue_depth = 4", reads),
    ];
    for until in ["first", "last"] {
        let with = format!("[host.queues]\ncommands = 4\n{}", text(&all, until));
        let (first, second) = (record(&with, &[]), record(&with, &[]));
        assert_eq!((first.host, first.flash, first.time_us), (second.host, second.flash, second.time_us));
        assert_eq!(first.tenants, second.tenants);
        let found: u64 = rows(&first).iter().map(|row| row.requests).sum();
        assert_eq!(found, first.host.requests);
        assert!(rows(&first).iter().all(|row| row.stopped.is_none() && row.requests > 0), "{:?}", first.tenants);
        if until == "last" {
            let operations = [0, 1].map(|at| rows(&first)[at].index.unwrap().operations.total);
            assert_eq!(operations, [20_000, 20_000]);
            assert_eq!(rows(&first)[2].files.unwrap().transactions, 300);
        }
    }
}

#[test]
fn files_of_a_tenant_are_those_of_the_file_system_alone() {
    let alone = record(
        &format!("[workload]\n{MAIL}\n[fs.fat]\n{DEVICE}"),
        &["device.capacity=32MiB", "device.over_provisioning=0.3"],
    );
    let beside = played(&[tenant("mail", "fs.fat = {}\npart = \"32 MiB\"", MAIL), IDLE.to_owned()]);
    let (ours, theirs) = (rows(&beside)[0].files.unwrap(), alone.fs.unwrap());
    assert_eq!((ours.operations, ours.transactions), (theirs.operations, theirs.transactions));
    assert_eq!(
        (ours.read_bytes, ours.written_bytes, ours.volume),
        (theirs.read_bytes, theirs.written_bytes, theirs.volume)
    );
    // Format and mount are requests of the tenant, and come before the record of the file system alone.
    let written = rows(&beside)[0].bytes;
    assert!(written > (alone.host.written_sectors + alone.host.read_sectors) * 512, "{written}");
}

/// The run ends inside an operation: what the tree has then can still be checked, record by record.
#[test]
fn the_run_may_end_before_the_tree() {
    let short = tenant("short", "", "uniform = { requests = 100, read_share = 0.0 }");
    for index in [LSM, BTREE, BESIDE] {
        let record = record(&text(&[tree("tree", index, ""), short.clone()], "first"), &[]);
        let index = rows(&record)[0].index.unwrap();
        assert!((1..20_000).contains(&index.operations.total), "{}", index.operations.total);
        // The operation in which the run ended may be there already.
        assert!(index.records.abs_diff(index.operations.insert - index.present) <= 1, "{index:?}");
        assert_eq!((&rows(&record)[0].stopped, &record.stopped), (&None, &None));
    }
}

#[test]
fn a_full_tree_ends_and_the_others_go_on() {
    let reads = "uniform = { requests = 20000, read_share = 1.0 }";
    let full = tree("full", LSM, "part = \"2 MiB\"");
    let record = played(&[full, tenant("reads", "", reads)]);
    let row = &rows(&record)[0];
    assert_eq!(row.stopped.as_ref().map(|stopped| stopped.why), Some(StopReason::IndexFull), "{row:?}");
    assert!((1..20_000).contains(&row.index.unwrap().operations.total));
    assert_eq!((rows(&record)[1].requests, &record.stopped), (20_000, &None));
}

#[test]
fn what_does_not_go_together_is_refused() {
    let message = |tenants: &str, sets: &[&str]| refused(&format!("{tenants}{DEVICE}"), sets).message;
    let bare = message(&tenant("a", "", INSERTS), &[]);
    assert!(bare.contains("it asks for keys: give the tenant an index, such as index.lsm = {}"), "{bare}");
    let bare = message(&tenant("a", "", MAIL), &[]);
    assert!(bare.contains("give the tenant a file system, such as fs.fat = {}"), "{bare}");
    let unused = message(&tenant("a", "index.btree = {}\nfs.fat = {}", INSERTS), &[]);
    assert!(unused.contains("its workload asks for no files; leave it out"), "{unused}");
    let bare_flash = message(&tenant("a", "fs.yaffs = {}", MAIL), &[]);
    assert!(bare_flash.contains("not over sectors; take fat"), "{bare_flash}");
    let small = message(&tree("a", LSM, "part = \"64 KiB\""), &[]);
    assert!(small.contains("workload.tenants.tenant[0].index.lsm"), "{small}");
    let key = message(&tree("a", "btree = { page_bytes = 1000 }", ""), &[]);
    assert!(key.contains("workload.tenants.tenant[0].index.btree.page_bytes = 1000 cannot work"), "{key}");
    let warm = message(&tree("a", LSM, ""), &["precondition.warm_up=10"]);
    assert!(warm.contains("it counts requests, and this workload asks an index or a file system"), "{warm}");
    let paced = message(&tree("a", LSM, "arrival = \"closed\""), &[]);
    assert!(paced.contains("an index and a file system pace themselves; leave it out"), "{paced}");
}

/// The load of a tree and of a file system comes before the measurement, and is the same as inside it.
#[test]
fn loads_come_before_the_measurement() {
    let gets = "ycsb = { mix = \"c\", records = 4000, operations = 500 }";
    let noise = || tenant("noise", "queue_depth = 2", "uniform = { requests = 300, read_share = 0.5 }");
    for (index, keys) in [(LSM, gets), (BESIDE, gets), (BTREE, gets)] {
        let all = [tenant("tree", &format!("index.{index}"), keys), tenant("mail", "fs.fat = {}", MAIL), noise()];
        let inside = record(&text(&all, "last"), &[]);
        let before = record(&text(&all, "last"), &["precondition.load=true"]);
        let again = record(&text(&all, "last"), &["precondition.load=true"]);
        assert_eq!((&before.tenants, before.time_us, before.flash), (&again.tenants, again.time_us, again.flash));
        let cost = before.precondition.unwrap();
        assert_eq!(inside.precondition, None);
        assert_eq!(
            cost.requests + before.host.requests,
            inside.host.requests,
            "nothing is made twice, nothing is left out"
        );
        let written = |record: &Record| record.host.written_sectors;
        assert!(written(&before) < written(&inside), "{} {}", written(&before), written(&inside));
        for at in [0, 1] {
            let (ours, theirs) = (&rows(&before)[at], &rows(&inside)[at]);
            assert!(ours.requests < theirs.requests, "{} {}", ours.requests, theirs.requests);
            assert_eq!(ours.stopped, None);
        }
        let (ours, theirs) = (rows(&before)[0].index.unwrap(), rows(&inside)[0].index.unwrap());
        assert_eq!((ours.operations.total, ours.operations.read, ours.records), (500, 500, theirs.records));
        assert_eq!((ours.user_bytes, ours.waf_index), (0, None), "gets write nothing for the user");
        assert!(ours.written_bytes < theirs.written_bytes);
        let (ours, theirs) = (rows(&before)[1].files.unwrap(), rows(&inside)[1].files.unwrap());
        assert!(ours.written_bytes < theirs.written_bytes && ours.operations.total < theirs.operations.total);
        assert_eq!((ours.transactions, ours.volume), (theirs.transactions, theirs.volume));
        // The clock begins anew for all: a tenant of 300 requests takes no time from the loads.
        assert!(rows(&before)[2].time_us < cost.time_us.unwrap() / 2.0, "{} {cost:?}", rows(&before)[2].time_us);
        assert_eq!(rows(&before)[2].requests, 300);
    }
}

/// With the loads before it, a tree alone takes what its operations take.
#[test]
fn a_closed_loop_of_gets_takes_their_latencies() {
    let gets = "ycsb = { mix = \"c\", records = 4000, operations = 500 }";
    let one = [tenant("tree", &format!("index.{LSM}"), gets)];
    let record = record(&text(&one, "last"), &["precondition.load=true"]);
    let index = rows(&record)[0].index.unwrap();
    let latency = index.latency_us.unwrap();
    let sum = latency.read.unwrap().mean * 500.0;
    let time = record.time_us.unwrap();
    assert!((sum / time - 1.0).abs() < 0.01, "{sum} us in operations, {time} us in all");
}

#[test]
fn loads_that_cannot_be_are_told() {
    let reads = || tenant("reads", "", "uniform = { requests = 100, read_share = 1.0 }");
    let none = refused(&text(&[reads()], "last"), &["precondition.load=true"]).message;
    assert!(none.contains("no tenant has an index or a file system to load"), "{none}");
    let full = tenant(
        "full",
        &format!("index.{LSM}\npart = \"2 MiB\""),
        "ycsb = { mix = \"c\", records = 100000, operations = 5 }",
    );
    let record = record(&text(&[full, reads()], "last"), &["precondition.load=true"]);
    let row = &rows(&record)[0];
    assert_eq!(row.stopped.as_ref().map(|stopped| stopped.why), Some(StopReason::IndexFull));
    assert!(row.stopped.as_ref().unwrap().message.ends_with("a larger part has more"), "{:?}", row.stopped);
    assert_eq!(row.index.unwrap().operations.total, 0, "nothing of it was measured");
    assert_eq!(rows(&record)[1].requests, 100, "the others go on");
}

/// A tenant that ends in its load, or has nothing else to do, is told; one that runs alone finds the others loaded.
#[test]
fn loads_that_leave_nothing_to_measure_are_told() {
    let reads = || tenant("reads", "", "uniform = { requests = 100, read_share = 1.0 }");
    let load = ["precondition.load=true"];
    let gets = |records: u32| format!("ycsb = {{ mix = \"c\", records = {records}, operations = 5 }}");
    let full = tenant("full", &format!("index.{LSM}\npart = \"2 MiB\""), &gets(100_000));
    let ended = record(&text(&[full, reads()], "first"), &load);
    let stopped = ended.stopped.unwrap();
    assert_eq!((stopped.why, ended.host.requests), (StopReason::IndexFull, 0));
    assert!(
        stopped.message.starts_with("in the loads of the tenants, tenant full ended after "),
        "{}",
        stopped.message
    );
    let bare = record(&text(&[tree("tree", LSM, ""), reads()], "last"), &load);
    assert!(
        bare.notices.iter().any(|notice| notice.contains("makes only the index of tenant tree")),
        "{:?}",
        bare.notices
    );
    let both = [tenant("tree", &format!("index.{LSM}"), &gets(4_000)), reads()];
    let beside = record(&text(&both, "last"), &load);
    let alone = record(&text(&both, "last"), &["precondition.load=true", "workload.tenants.alone=reads"]);
    assert_eq!(alone.precondition, beside.precondition, "the device is the same");
    assert_eq!(rows(&alone).iter().map(|row| row.requests).collect::<Vec<_>>(), [100]);
    let whole = tenant("whole", &format!("index.{LSM}"), "load_update = { records = 4000, updates = 0 }");
    let nothing = record(&text(&[whole, reads()], "last"), &load);
    let told = "tenant whole does all of its operations in its load: its workload has none behind it";
    assert!(nothing.notices.iter().any(|notice| notice == told), "{:?}", nothing.notices);
    let aged = refused(&text(&both, "last"), &["precondition.load=true", "precondition.shelf_days=30"]).message;
    assert!(aged.contains("days without power; take one of the two"), "{aged}");
}

/// Operations that make no request: nobody else tells the tenant that its run is cancelled.
#[test]
fn a_cancelled_run_ends_a_tree_that_makes_no_requests() {
    let gets = "ycsb = { mix = \"c\", records = 100, operations = 400000000 }";
    let one = [tenant("tree", "index.btree = { page_bytes = 4096, pool_frames = 512 }", gets)];
    let text = text(&one, "last");
    let control = Arc::new(Control::default());
    let watched = control.clone();
    let stop = std::thread::spawn(move || {
        while watched.progress().0 != Phase::Workload {
            std::thread::yield_now();
        }
        watched.cancel();
    });
    let record = run(&parse(&text, &[]).unwrap(), Path::new("."), &control, Outputs::default()).unwrap();
    stop.join().unwrap();
    assert_eq!(record.stopped.map(|stopped| stopped.why), Some(StopReason::Cancelled));
    assert!(record.tenants.unwrap()[0].index.unwrap().operations.total < 400_000_000);
}

/// Runs side by side in several threads, each with threads of its tenants: the results are those of one.
#[test]
fn runs_side_by_side_are_the_same_as_one() {
    let all = [
        tree("beside", BESIDE, ""),
        tree("btree", BTREE, ""),
        tenant("mail", "fs.fat = {}", MAIL),
        tenant("noise", "queue_depth = 4", "uniform = { requests = 3000, read_share = 0.5 }"),
    ];
    let text = text(&all, "last");
    let sets = ["precondition.load=true"];
    let one = record(&text, &sets);
    let others = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| record(&text, &sets))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    for other in others {
        assert_eq!((&other.tenants, other.flash, other.host), (&one.tenants, one.flash, one.host));
        assert_eq!(
            (other.time_us, other.latency_us, other.precondition),
            (one.time_us, one.latency_us, one.precondition)
        );
    }
}

/// The levels of a tenant's tree have their handles, as those of a tree alone.
#[test]
fn levels_of_a_tenant_have_their_handles() {
    let placed = ["ftl.page.placement.fdp={ handles = 8 }", "device.over_provisioning=0.4"];
    let levels = LSM.replace("lsm = {", "lsm = { placement = \"levels\",");
    let used = |record: &Record| {
        let fdp = record.fdp.as_ref().unwrap();
        assert_eq!(fdp.invalid_identifiers, 0);
        fdp.handles.iter().map(|handle| handle.host_pages > 0).collect::<Vec<_>>()
    };
    let alone = record(&format!("[workload]\n{INSERTS}\n[index]\n{levels}\n{DEVICE}"), &placed);
    let beside = record(&text(&[tree("tree", &levels, ""), IDLE.to_owned()], "last"), &placed);
    assert_eq!(used(&beside), used(&alone));
    assert!(used(&beside).iter().filter(|used| **used).count() > 1, "{:?}", used(&beside));
}
