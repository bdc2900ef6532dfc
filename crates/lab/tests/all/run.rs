//! Runs: equal seeds, equal counts across the stacks, theory, partial results, reasons for early ends.

use crate::support::{record, MIXED};
use nandlab_lab::config::{Experiment, Format};
use nandlab_lab::record::{Record, StopReason, Stopped};
use nandlab_lab::{run, Control, LabError, Outputs, Phase};
use serde_json::Value;
use std::path::Path;

/// A smaller run, with as much room as MTBS needs; every FTL collects or merges all the same.
const SMALL: [&str; 2] = ["workload.zipf.requests=6000", "device.capacity=16 MiB"];

fn parse(text: &str, sets: &[&str]) -> Experiment {
    crate::support::parse(text, sets).unwrap()
}

fn logging(log: &Path) -> Outputs<'_> {
    Outputs { op_log: Some(log), ..Outputs::default() }
}

fn json(record: &Record) -> Value {
    let mut json: Value = serde_json::from_str(&record.to_json()).unwrap();
    json.as_object_mut().unwrap().remove("speed");
    json
}

#[test]
fn equal_seeds_give_equal_records() {
    for ftl in nandlab_ftl::anywhere() {
        let ftl = format!("ftl={}", ftl.name);
        let small = [&SMALL[..], &[&ftl]].concat();
        let first = json(&record(MIXED, &small));
        assert_eq!(first, json(&record(MIXED, &small)), "{ftl}");
        assert_ne!(first["flash"], json(&record(MIXED, &[&small[..], &["seed=2"]].concat()))["flash"], "{ftl}");
    }
}

#[test]
fn every_stack_counts_alike() {
    for ftl in nandlab_ftl::anywhere() {
        counts_alike(&[&SMALL[..], &[&format!("ftl={}", ftl.name)]].concat());
    }
}

fn counts_alike(sets: &[&str]) {
    let timed = json(&record(MIXED, sets));
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("ops.csv");
    let logged = run(&parse(MIXED, sets), Path::new("."), &Control::default(), logging(&log)).unwrap();
    let mut all = vec![json(&logged)];
    for device in [
        &["device.model=counting"][..],
        &["device.model=bytes"],
        &["device.faults={}"],
        &["device.model=bytes", "device.faults={}"],
    ] {
        all.push(json(&record(MIXED, &[sets, device].concat())));
    }
    for other in &all {
        for key in ["host", "flash", "waf", "matrix", "gc", "wear", "ram", "mount"] {
            if key == "mount" && other["time_us"].is_null() {
                continue;
            }
            assert_eq!(timed[key], other[key], "{sets:?}: {key}");
        }
    }
    assert_eq!(timed["time_us"], all[0]["time_us"], "a log changes no times");
    assert_eq!(timed["latency_us"], all[2]["latency_us"], "nor do bytes");
    assert!(all[1]["latency_us"].is_null() && all[1]["time_us"].is_null(), "counting alone keeps no time");
    // The log holds every operation, including mount and preconditioning.
    let lines = std::fs::read_to_string(log).unwrap().lines().count() as u64 - 1;
    let sum = |part: &Value| {
        let of = |key: &str| part[key].as_u64().unwrap();
        of("reads") + of("programs") - of("copies") + of("erases") + of("spare_reads") + of("spare_programs")
    };
    let mount = timed["mount"]["spare_reads"].as_u64().unwrap() + timed["mount"]["page_reads"].as_u64().unwrap();
    assert_eq!(lines, sum(&timed["flash"]) + sum(&timed["precondition"]["flash"]) + mount);
}

/// A collection, a merge, a move or a trim frees each block.
#[test]
fn no_erase_counts_for_a_request_of_the_host() {
    for ftl in nandlab_ftl::anywhere() {
        let ftl = format!("ftl={}", ftl.name);
        let record = record(MIXED, &[&ftl]);
        let erases = |of_host: bool| -> f64 {
            let rows = record.matrix.iter().filter(|row| matches!(row.cause, "host" | "read_modify_write") == of_host);
            rows.map(|row| row.erases).sum()
        };
        assert_eq!(erases(true), 0.0, "{ftl}");
        assert!(erases(false) > 100.0, "{ftl}: {} erases", erases(false));
    }
}

#[test]
fn the_controller_is_set_beside_what_firmware_needs() {
    let board = ["device.profile=jasmine", "device.capacity=256 MiB", "workload.zipf.requests=10", "precondition={}"];
    let controller = |sets: &[&str]| {
        let ram = record(MIXED, &[&board[..], sets].concat()).ram;
        (ram.controller, ram.sram.values().sum::<u64>(), ram.dram.values().sum::<u64>())
    };
    for ftl in ["ftl=sector_map", "ftl=superpage", "ftl=dftl"] {
        let (found, sram, dram) = controller(&[ftl]);
        let found = found.unwrap();
        assert_eq!((found.sram_bytes, found.dram_bytes), (96 << 10, Some(64 << 20)), "{ftl}");
        assert_eq!((found.used_sram_bytes, found.used_dram_bytes), (sram, dram), "{ftl}");
    }
    let (bare, (found, _, dram)) = (controller(&[]), controller(&["buffer.lru.size=4 MiB"]));
    assert!(dram >= bare.2 + (4 << 20), "a write buffer is in the memory of the controller");
    assert_eq!(found.unwrap().used_dram_bytes, dram);
    let (found, ..) = controller(&["device.controller.dram_bytes=1024"]);
    assert_eq!(found.map(|one| (one.sram_bytes, one.dram_bytes)), Some((96 << 10, Some(1024))));
    assert_eq!(record(MIXED, &["workload.zipf.requests=10", "precondition={}"]).ram.controller, None);
    for (table, dram) in [("{ sram_bytes = 65536 }", None), ("{ sram_bytes = 65536, dram_bytes = 0 }", Some(0))] {
        let given = [&format!("device.controller={table}"), "workload.zipf.requests=10", "precondition={}"];
        let found = record(MIXED, &given).ram.controller.unwrap();
        assert_eq!((found.sram_bytes, found.dram_bytes), (65_536, dram), "what nobody says is not 0");
    }
}

#[test]
fn every_buffer_gives_back_what_was_written() {
    for buffer in nandlab_buffer::BufferConfig::all() {
        let buffer = format!("buffer={}", buffer.name());
        let record = record(MIXED, &["device.model=bytes", &buffer]);
        assert_eq!(record.host.requests, 40_000);
        let counts = record.buffer.unwrap();
        assert!(counts.hits + counts.misses > 40_000, "{buffer}: {counts:?}");
    }
}

#[test]
fn a_pass_through_changes_nothing() {
    let kinds = [
        &["device.model=timed"][..],
        &["device.model=counting"],
        // The run compares each read with the last write.
        &["device.model=bytes"],
        &[
            "device.model=bytes",
            "device.faults={ program_failure_rate = 1e-4, bit_errors = { rber = 2e-4, ecc_bits = 3 } }",
        ],
    ];
    let is_long = std::env::var_os("NANDLAB_LONG").is_some();
    for (place, ftl) in nandlab_ftl::anywhere().enumerate() {
        // The quick form takes every kind for the page map, and one in turn for the others.
        let taken = |kind: usize| is_long || ftl.name == "page" || kind == place % kinds.len();
        let ftl = format!("ftl={}", ftl.name);
        for (_, sets) in (0..).zip(kinds).filter(|&(kind, _)| taken(kind)) {
            let sets = [&SMALL[..], &[ftl.as_str()], sets].concat();
            let mut bare = json(&record(MIXED, &sets));
            let mut buffered = json(&record(MIXED, &[&sets[..], &["buffer=pass_through"]].concat()));
            assert!(bare["buffer"].is_null());
            let counts = buffered["buffer"].take();
            assert_eq!([&counts["hits"], &counts["demotions"], &counts["flushes"]], [0, 0, 0]);
            // Requests of 512 B to 24 KiB, aligned to 512 B: about 4.1 pages of 4 KiB each.
            let accesses = bare["host"]["reads"].as_f64().unwrap() + bare["host"]["writes"].as_f64().unwrap();
            let pages = counts["misses"].as_f64().unwrap() / accesses;
            assert!((3.9..4.2).contains(&pages), "{pages}");
            assert_eq!(
                buffered["experiment"].as_object_mut().unwrap().remove("buffer").unwrap()["pass_through"],
                Value::Object(Default::default())
            );
            assert_eq!(bare.as_object_mut().unwrap().remove("buffer"), Some(Value::Null));
            buffered.as_object_mut().unwrap().remove("buffer");
            assert_eq!(bare, buffered, "{sets:?}");
        }
    }
}

#[test]
fn rows_and_columns_of_the_matrix_sum_to_the_counters() {
    let record = json(&record(MIXED, &[]));
    let sum =
        |key: &str| record["matrix"].as_array().unwrap().iter().map(|row| row[key].as_f64().unwrap()).sum::<f64>();
    for key in ["reads", "programs", "copies", "spare_reads", "spare_programs", "meta_reads", "meta_programs"] {
        assert_eq!(sum(key), record["flash"][key].as_f64().unwrap(), "{key}");
    }
    assert!((sum("erases") - record["flash"]["erases"].as_f64().unwrap()).abs() < 1e-6);
    assert!(record["flash"]["meta_programs"].as_u64().unwrap() > 0, "trim notes");
    assert!(record["gc"]["runs"].as_u64().unwrap() > 0);
}

const STEADY: &str = r#"
[workload.uniform]
requests = 400_000
[precondition]
fill = "random"
overwrites = 4
[ftl.page]
reserve_blocks = 1
[device]
model = "counting"
capacity = "128 MiB"
over_provisioning = 0.2
[device.shape]
pages_per_block = 64
"#;

#[test]
fn sequential_writes_are_not_amplified() {
    let sets = [
        "workload={ sequential = { requests = 100_000, size = '16 KiB' } }",
        "precondition.overwrites=0",
        "precondition.fill=sequential",
    ];
    let record = record(STEADY, &sets);
    assert_eq!(record.waf, Some(1.0));
    assert!(record.flash.erases > 5000 && record.flash.copies == 0);
}

#[test]
fn uniform_writes_are_amplified_as_theory_says() {
    let record = record(STEADY, &[]);
    // Greedy, finite blocks: f (1 - rho b / m) = rho b (H_b - H_m) - (b - m), A = b / (b - m + f); rho excludes
    // blocks without reclaimable data (two frontiers, the reserve).
    let (blocks, b) = (f64::from(record.device.blocks) - 3.0, 64.0);
    let rho = f64::from(32_768) / (blocks * b);
    let harmonic = |from: u32| (from + 1..=64).map(|i| 1.0 / f64::from(i)).sum::<f64>();
    let theory = (1..64)
        .find_map(|m| {
            let valid = f64::from(m);
            let f = (rho * b * harmonic(m) - (b - valid)) / (1.0 - rho * b / valid);
            (0.0..1.0).contains(&f).then(|| b / (b - valid + f))
        })
        .unwrap();
    let waf = record.waf.unwrap();
    assert!((waf / theory - 1.0).abs() < 0.02, "measured {waf}, theory {theory}");
    assert_eq!(record.precondition.unwrap().requests, 5 * 32_768);
    let tail = record.series.last().unwrap().waf.unwrap();
    assert!((tail / waf - 1.0).abs() < 0.1, "steady: {tail} {waf}");
}

#[test]
fn a_cancelled_run_gives_what_it_has() {
    let experiment = parse(STEADY, &["workload.uniform.requests=1_000_000_000_000"]);
    let control = Control::default();
    let record = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&experiment, Path::new("."), &control, Outputs::default()));
        while !matches!(control.progress(), (Phase::Workload, 10_000.., _)) {
            std::thread::yield_now();
        }
        control.cancel();
        running.join().unwrap().unwrap()
    });
    assert!(record.partial);
    assert!(record.host.requests >= 10_000 && record.host.requests == record.host.writes);
    assert!(record.waf.unwrap() > 1.0 && !record.series.is_empty());
    let message = format!("after {} requests", record.host.requests);
    assert_eq!(record.stopped, Some(Stopped { why: StopReason::Cancelled, message }));
    assert_eq!(control.progress().0, Phase::Done);
}

#[test]
fn long_requests_do_not_hold_up_a_cancel() {
    let experiment = parse(STEADY, &["workload.uniform.requests=1_000_000", "workload.uniform.size='128 MiB'"]);
    let control = Control::default();
    let record = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&experiment, Path::new("."), &control, Outputs::default()));
        while control.progress().0 != Phase::Workload {
            std::thread::yield_now();
        }
        control.cancel();
        running.join().unwrap().unwrap()
    });
    assert!(record.partial && record.host.requests < 1024, "fewer than a batch: {}", record.host.requests);
}

#[test]
fn a_run_cancelled_before_it_starts_is_empty() {
    let control = Control::default();
    control.cancel();
    let record = run(&parse(STEADY, &[]), Path::new("."), &control, Outputs::default()).unwrap();
    assert!(record.partial);
    assert_eq!((record.host.requests, record.waf), (0, None));
    let stopped = record.stopped.unwrap();
    assert_eq!(stopped.why, StopReason::Cancelled);
    // The preconditioning has not begun either.
    assert_eq!(
        stopped.message,
        "after 0 of 163840 requests of the preconditioning: nothing of the workload was measured"
    );
}

#[test]
fn a_run_cancelled_while_it_preconditions_says_that_nothing_was_measured() {
    let experiment = parse(STEADY, &["precondition.overwrites=10_000"]);
    let control = Control::default();
    let record = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&experiment, Path::new("."), &control, Outputs::default()));
        while !matches!(control.progress(), (Phase::Precondition, 10_000.., _)) {
            std::thread::yield_now();
        }
        control.cancel();
        running.join().unwrap().unwrap()
    });
    let done = record.precondition.unwrap().requests;
    let message =
        format!("after {done} of 327712768 requests of the preconditioning: nothing of the workload was measured");
    assert_eq!(record.stopped, Some(Stopped { why: StopReason::Cancelled, message }));
    assert!(record.partial && done >= 10_000 && record.host.requests == 0);
}

#[test]
fn recorded_arrivals_are_kept_and_come_after_the_preconditioning() {
    let sets = [
        "workload.zipf.requests_per_s=500",
        "workload.zipf.alignment=4096",
        "host.queue_depth=1",
        "host.arrival=recorded",
        "workload.zipf.size='4 KiB'",
    ];
    let record = record(MIXED, &sets);
    let seconds = record.time_us.unwrap() / 1e6;
    assert!((78.5..81.5).contains(&seconds), "40,000 requests at 500 a second: {seconds} s");
    let latency = record.latency_us.unwrap();
    assert!(latency.read.unwrap().mean < 2_000.0, "an idle device answers at once: {latency:?}");
}

#[test]
fn closed_loop_latency_is_the_data_sheet_time() {
    let text = "[workload.sequential]\nrequests = 1000\n[ftl.page]\n[device]\ncapacity = \"64 MiB\"\n[device.energy]\nread_nj = 1e3\nprogram_nj = 2e3\nerase_nj = 1";
    let record = record(text, &[]);
    let write = record.latency_us.unwrap().write.unwrap();
    // 500 us of program and (4096 + 128) bytes at 2.5 ns on the bus.
    assert_eq!((write.mean, write.max), (510.56, 510.56));
    assert_eq!(record.time_us, Some(510_560.0));
    assert_eq!(record.energy_j.unwrap().total, 1000.0 * 2e3 * 1e-9);
    let throughput = record.throughput.unwrap();
    assert!((throughput.written_mb_per_s - 4096.0 / 510.56).abs() < 1e-9, "{throughput:?}");
}

#[test]
fn faults_are_counted_and_survived() {
    let faults =
        "device.faults={ seed = 3, factory_bad_share = 0.01, program_failure_rate = 1e-4, erase_failure_rate = 1e-3 }";
    let record = record(MIXED, &[faults, "device.model=bytes"]);
    let counted = record.faults.unwrap();
    assert!(counted.failed_programs > 0 && counted.failed_erases > 0, "{counted:?}");
    assert!(counted.retired_blocks >= counted.failed_erases, "{counted:?}");
    assert_eq!(record.host.unreadable, 0);
}

#[test]
fn data_lost_to_bit_errors_is_counted_and_the_run_goes_on() {
    let faults = "device.faults={ bit_errors = { rber = 2e-4, ecc_bits = 3 } }";
    let record = record(MIXED, &[faults, "device.model=bytes"]);
    assert!(record.host.unreadable > 0 && record.host.requests == 40_000, "{:?}", record.host);
    assert!(record.faults.unwrap().corrected_bits > 0);
}

#[test]
fn too_small_a_device_names_its_keys() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.csv"), "time_us,op,sector,sectors\n0,W,1000000,8\n").unwrap();
    let text = "[workload.trace]\npath = \"t.csv\"\n[ftl.page]\n[device]\ncapacity = \"64 MiB\"";
    let error = |text: &str, sets: &[&str]| {
        run(&parse(text, sets), folder.path(), &Control::default(), Outputs::default()).map(|_| ()).unwrap_err()
    };
    let LabError::Config(too_small) = error(text, &[]) else { panic!("a small device is a wrong configuration") };
    assert_eq!(too_small.key.as_deref(), Some("workload.trace.path"));
    for part in ["1000008 sectors (488.29 MiB)", "131072 (64 MiB)", "device.capacity", "fold", "compact"] {
        assert!(too_small.message.contains(part), "{too_small}");
    }
    assert!(matches!(error(text, &["workload.trace.path=none.csv"]), LabError::Trace(_)));
}

#[test]
fn the_seed_reaches_the_random_choices_of_an_ftl() {
    let folder = tempfile::tempdir().unwrap();
    // Pages of 40 logical blocks in turn, with one of 8 KiB among every three of 4 KiB, so victims differ in
    // cost.
    let rows =
        (0..4_000).map(|n| format!("{n},W,{},{}\n", n * 7 % 40 * 256 + n % 5 * 8, if n % 3 == 0 { 16 } else { 8 }));
    let trace = std::iter::once("time_us,op,sector,sectors\n".to_owned()).chain(rows).collect::<String>();
    std::fs::write(folder.path().join("t.csv"), trace).unwrap();
    let text =
        "[workload.trace]\npath = \"t.csv\"\n[ftl.bast]\n[device]\nmodel = \"counting\"\ncapacity = \"64 MiB\"\n\
                [device.shape]\npages_per_block = 32";
    let flash = |sets: &[&str]| {
        json(&run(&parse(text, sets), folder.path(), &Control::default(), Outputs::default()).unwrap())["flash"].clone()
    };
    assert_eq!(flash(&["seed=1"]), flash(&["seed=2"]), "nothing here is random");
    let random = "ftl.bast.victim=random";
    assert_eq!(flash(&[random, "seed=1"]), flash(&[random, "seed=1"]));
    assert_ne!(flash(&[random, "seed=1"]), flash(&[random, "seed=2"]));
}

#[test]
fn what_does_not_fit_the_device_is_refused_with_the_experiment() {
    for (set, key) in [
        ("device.faults={ program_failure_rate = 7 }", "device.faults.program_failure_rate"),
        ("device.faults={ failing_erases = [0] }", "device.faults.failing_erases"),
        ("workload.zipf.footprint=1 TiB", "workload.zipf.footprint"),
    ] {
        let parsed = Experiment::parse(MIXED, Format::Toml, "x.toml", Path::new("."), &[set.to_owned()]);
        let Err(LabError::Config(error)) = parsed else { panic!("{set} is a wrong configuration") };
        assert_eq!(error.key.as_deref(), Some(key), "{error}");
        assert_eq!(error.file, Some(format!("--set {set}")), "{error}");
    }
}

#[test]
fn an_operation_log_that_cannot_be_written_stops_the_run_before_it_starts() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("missing/ops.csv");
    let error = run(&parse(MIXED, &[]), Path::new("."), &Control::default(), logging(&target)).unwrap_err();
    assert!(error.to_string().ends_with("cannot be written: the folder does not exist"), "{error}");
    let unusable = parse(MIXED, &["device.faults={ factory_bad_share = 0.9 }"]);
    let error =
        run(&unusable, Path::new("."), &Control::default(), logging(&folder.path().join("ops.csv.gz"))).unwrap_err();
    assert!(matches!(error, LabError::DeviceFull(_)), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "a failed run leaves nothing behind");
}

/// Bit errors destroy map pages, and the FTL rebuilds them from the newest copies on flash: the test compares
/// every byte.
#[test]
fn a_map_page_that_is_lost_is_made_again_of_what_was_mapped() {
    let text = r#"
[workload.uniform]
requests = 4000
alignment = "512 B"
read_share = 0.6
[host]
queue_depth = 1
[precondition]
fill = "sequential"
[ftl.hybrid_map]
cmt_units = 2
cmt_unit_bytes = 4096
[device]
model = "bytes"
capacity = "16 MiB"
over_provisioning = "600 %"
shape = { channels = 2, dies_per_channel = 2, pages_per_block = 32 }
[device.faults.bit_errors]
rber = 1e-4
ecc_bits = 4
codeword_bytes = 512
"#;
    let lost: u64 = [3, 6, 10, 12]
        .into_iter()
        .map(|seed| record(text, &[&format!("seed={seed}")]).faults.unwrap().uncorrectable_reads)
        .sum();
    assert!(lost > 0, "no page was lost");
}
