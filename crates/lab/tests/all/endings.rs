//! Early ends of runs, and the notices in a result.

use nandlab_lab::config::Experiment;
use nandlab_lab::record::{Record, StopReason};
use nandlab_lab::{run, Control, Outputs};
use std::path::Path;

const SMALL: &str = r#"
[workload.uniform]
requests = 20_000
size = "8 KiB"
read_share = 0.5
[precondition]
fill = "sequential"
[ftl.page]
[device]
model = "bytes"
capacity = "4 MiB"
over_provisioning = 1.5 # MTBS keeps half of each block as its spare area
[device.shape]
pages_per_block = 16
"#;

fn experiment(sets: &[&str]) -> Experiment {
    crate::support::parse(SMALL, sets).unwrap()
}

fn record(sets: &[&str]) -> Record {
    crate::support::record(SMALL, sets)
}

#[test]
fn a_worn_out_device_gives_what_was_measured_until_then() {
    let folder = std::env::temp_dir().join(format!("nandlab-worn-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let log = folder.join("ops.csv");
    for ftl in nandlab_ftl::anywhere() {
        let ftl = format!("ftl={}", ftl.name);
        let sets = ["device.faults={ erase_failure_rate = 0.05 }", "workload.uniform.requests=1_000_000", &ftl];
        let outputs = Outputs { op_log: Some(&log), ..Outputs::default() };
        let record = run(&experiment(&sets), Path::new("."), &Control::default(), outputs).unwrap();
        let stopped = record.stopped.as_ref().unwrap();
        assert!(record.partial && stopped.why == StopReason::WornOut, "{stopped:?}");
        let start = format!("after {} requests: the device is worn out: ", record.host.requests);
        assert!(stopped.message.starts_with(&start), "{stopped:?}");
        let faults = record.faults.unwrap();
        assert!(faults.retired_blocks > 10 && record.gc.runs + record.merges.full > 0, "{faults:?}");
        assert_eq!(record.host.requests, record.host.reads + record.host.writes, "those that were carried out");
        assert_eq!(record.host.written_sectors, 16 * record.host.writes);
        let waf = (record.flash.programs * 8) as f64 / record.host.written_sectors as f64;
        assert_eq!(record.waf, Some(waf));
        assert_eq!(record.series.last().unwrap().requests, record.host.requests);
        let operations = std::fs::read_to_string(&log).unwrap().lines().count() as u64;
        assert!(operations > record.flash.programs, "the log of such a run is kept");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_worn_out_device_counts_its_good_blocks() {
    for ftl in nandlab_ftl::anywhere() {
        let ftl = format!("ftl={}", ftl.name);
        let sets = [
            "device.faults={ erase_failure_rate = 0.05 }",
            "workload.uniform.requests=1_000_000",
            "device.shape.channels=2",
            "device.shape.planes_per_die=2",
            &ftl,
        ];
        let record = record(&sets);
        let good = u64::from(record.device.blocks) - record.faults.unwrap().retired_blocks;
        let message = record.stopped.unwrap().message;
        let (counted, needed) = message.split_once(" good blocks are left and at least ").unwrap();
        assert_eq!(counted.rsplit(' ').next().unwrap().parse(), Ok(good), "{message}");
        let needed: u64 = needed.split(' ').next().unwrap().parse().unwrap();
        assert!(needed > good, "{message}");
    }
}

#[test]
fn a_device_worn_out_before_the_workload_says_that_nothing_was_measured() {
    let record = record(&["device.faults={ erase_failure_rate = 0.3 }", "precondition.overwrites=100"]);
    let (stopped, before) = (record.stopped.unwrap(), record.precondition.unwrap());
    assert!(record.partial && stopped.why == StopReason::WornOut, "{stopped:?}");
    let start =
        format!("after {} of 103424 requests of the preconditioning: the device is worn out: ", before.requests);
    assert!(stopped.message.starts_with(&start), "{stopped:?}");
    assert!(stopped.message.ends_with("; nothing of the workload was measured"), "{stopped:?}");
    assert!(before.requests > 1024 && before.flash.programs >= before.requests && before.waf.is_some(), "{before:?}");
    assert_eq!((record.host.requests, record.flash.programs, record.waf), (0, 0, None));
    assert!(record.wear.max > 0, "what the preconditioning did to the blocks is there");
}

#[test]
fn a_run_to_its_end_was_not_stopped() {
    let record = record(&[]);
    assert!(!record.partial && record.stopped.is_none());
    assert_eq!(record.host.requests, 20_000);
}

#[test]
fn the_sectors_of_failed_requests_are_not_counted() {
    // Half-page writes read the other half, so they can hit lost data, too.
    let sets = [
        "device.faults={ bit_errors = { rber = 2e-4, ecc_bits = 3 } }",
        "workload.uniform.size=2 KiB",
        "workload.uniform.alignment=2048",
        "workload.uniform.trim_share=0.1",
    ];
    let record = record(&sets);
    let host = record.host;
    assert!(host.unreadable > 100, "{host:?}");
    let (asked, done) =
        (4 * (host.reads + host.writes + host.trims), host.read_sectors + host.written_sectors + host.trimmed_sectors);
    assert_eq!(asked - done, 4 * host.unreadable, "{host:?}");
    assert!(host.written_sectors < 4 * host.writes && host.read_sectors < 4 * host.reads, "{host:?}");
    assert_eq!(host.requests, 20_000);
}

fn notice<'a>(record: &'a Record, part: &str) -> Option<&'a String> {
    record.notices.iter().find(|notice| notice.contains(part))
}

#[test]
fn reads_of_nothing_are_told() {
    let part = "page reads were of pages that were never written";
    assert_eq!(notice(&record(&[]), part), None, "a full device");
    let empty = record(&["precondition.fill=none", "workload.uniform.read_share=1"]);
    assert_eq!(empty.flash.reads, 0);
    let expected =
        "40000 of 40000 page reads were of pages that were never written, or trimmed since: they cost no time \
                    and no flash read; precondition.fill = \"sequential\" writes every page before the measurement";
    assert_eq!(notice(&empty, part).map(String::as_str), Some(expected));
    // 20,000 page writes soon cover 1,024 pages.
    assert_eq!(notice(&record(&["precondition.fill=none"]), part), None);
    let buffered = record(&["precondition.fill=none", "workload.uniform.read_share=1", "buffer=pass_through"]);
    assert!(notice(&buffered, part).is_some());
}

#[test]
fn wear_beyond_an_endurance_that_counts_for_nothing_is_told() {
    let folder = std::env::temp_dir().join(format!("nandlab-endurance-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let text = nandlab_lab::profiles::LIST.iter().find(|profile| profile.name == "generic").unwrap().text;
    let weak: String = text
        .lines()
        .map(|line| if line.starts_with("endurance") { "endurance = 5\n".into() } else { format!("{line}\n") })
        .collect();
    assert_ne!(weak.trim_end(), text.trim_end());
    std::fs::write(folder.join("weak.toml"), weak).unwrap();
    let profile = format!("device.profile='{}'", folder.join("weak.toml").display());
    let told = |sets: &[&str]| notice(&record(sets), "no operation failed for that").cloned();
    let sentence = told(&[&profile]).unwrap();
    assert!(sentence.starts_with("a block has ") && sentence.contains("the endurance is 5: "), "{sentence}");
    assert!(told(&[&profile, "device.faults={ erase_failure_rate = 1e-6 }"]).is_some(), "constant, whatever the wear");
    assert_eq!(told(&[&profile, "device.faults={ erase_failure_rate = 1e-6, failure_growth = 1 }"]), None);
    assert_eq!(told(&[&profile, "device.faults={ bit_errors = { rber = 1e-9, ecc_bits = 8 } }"]), None);
    assert_eq!(told(&[]), None, "that of the bundled profile was not reached");
    let override_told = record(&["device.rules.endurance=5"]);
    assert_eq!(override_told.notices.len(), 1, "said once: {:?}", override_told.notices);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_device_that_falls_behind_its_requests_is_told() {
    let at = |rate: &str| {
        let rate = format!("workload.uniform.requests_per_s={rate}");
        record(&["host.arrival=recorded", &rate, "workload.uniform.read_share=0"])
    };
    let (slow, fast) = (at("50"), at("100_000"));
    let part = "the device fell behind";
    assert_eq!(notice(&slow, part), None);
    let sentence = notice(&fast, part).unwrap();
    assert!(sentence.contains("host.arrival = \"closed\""), "{sentence}");
    let longest = |record: &Record| record.latency_us.as_ref().unwrap().write.as_ref().unwrap().max;
    assert!(longest(&fast) > 100.0 * longest(&slow), "{} and {}", longest(&fast), longest(&slow));
    assert_eq!(notice(&record(&[]), part), None, "a closed loop waits");
}

#[test]
fn trims_that_compact_leaves_out_are_told() {
    let folder = std::env::temp_dir().join(format!("nandlab-compact-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let lines = "time_us,op,sector,sectors\n0,W,0,8\n1,T,8,8\n2,T,800,8\n3,T,0,16\n4,R,80000,8\n";
    std::fs::write(folder.join("t.csv"), lines).unwrap();
    let trace = |addresses: &str| {
        let set = format!("workload={{ trace = {{ path = 't.csv', repeat = 2, addresses = '{addresses}' }} }}");
        run(&experiment(&[&set]), &folder, &Control::default(), Outputs::default()).unwrap()
    };
    let (compact, fold) = (trace("compact"), trace("fold"));
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!((compact.host.requests, fold.host.requests), (6, 10));
    let sentence = notice(&compact, "4 trims were left out").unwrap();
    assert!(sentence.contains("workload.trace.addresses = \"compact\""), "{sentence}");
    assert_eq!(notice(&fold, "left out"), None);
}
