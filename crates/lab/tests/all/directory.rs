//! File workloads in a real directory of this machine.

use crate::support::FILE_TRACE;
use nandlab_lab::config::{Experiment, Format};
use nandlab_lab::record::{Record, StopReason};
use nandlab_lab::{inspect, run, Control, LabError, Outputs, Phase};
use nandlab_workload::{Asks, LIST};
use std::fs;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// A folder with the directory of the experiments in it.
fn with_directory() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("in")).unwrap();
    folder
}

/// Names in this directory.
fn names(folder: &TempDir) -> Vec<String> {
    let names = fs::read_dir(folder.path().join("in")).unwrap();
    names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

const POSTMARK: &str =
    "[workload.postmark]\nnumber = 40\ntransactions = 120\nsubdirectories = 3\n[fs.posix]\ndirectory = \"in\"\n";

fn parse(text: &str, base: &Path, sets: &[&str]) -> Result<Experiment, LabError> {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    Experiment::parse(text, Format::Toml, "x.toml", base, &sets)
}

fn record(folder: &TempDir, sets: &[&str]) -> Result<Record, LabError> {
    run(&parse(POSTMARK, folder.path(), sets)?, folder.path(), &Control::default(), Outputs::default())
}

/// A record without wall-clock times.
fn timeless(record: &Record) -> String {
    Record { speed: nandlab_lab::record::Speed::default(), ..record.clone() }.to_json()
}

/// Waits until a run has begun this many transactions.
fn wait_for(control: &Control, transactions: u64) {
    loop {
        let (phase, done, _) = control.progress();
        assert!(phase != Phase::Done, "the run ended by itself");
        if phase == Phase::Workload && done >= transactions {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A practically endless run.
const ENDLESS: [&str; 2] = ["workload.postmark.transactions=1_000_000_000", "workload.postmark.bias_create=6"];

#[test]
fn every_workload_of_files_does_the_same_in_a_directory_as_on_fat_and_leaves_it_empty() {
    let folder = with_directory();
    for name in LIST.iter().filter(|entry| entry.asks == Asks::Files).map(|entry| entry.name) {
        let workload = match name {
            "postmark" => "workload={ postmark={ number=20, transactions=40 } }".to_owned(),
            "camera" => "workload={ camera={ transactions=5, shots=3, longest_photo=\"800 KiB\" } }".to_owned(),
            "files" => format!("workload={{ files={{ {FILE_TRACE} }} }}"),
            _ => format!("workload={{ {name}={{ transactions=6 }} }}"),
        };
        let real = record(&folder, &[&workload]).unwrap();
        assert_eq!(names(&folder), [""; 0], "{name}");
        assert!(!real.partial, "{name}: {:?}", real.stopped);
        let on_fat = [
            &workload,
            "fs={ fat={} }",
            "ftl={ page={} }",
            "device={ capacity=\"16 MiB\", over_provisioning=0.2, model=\"counting\" }",
            "host.sample_transactions=0",
        ];
        let simulated = record(&folder, &on_fat).unwrap();
        let (real_fs, simulated_fs) = (real.fs.as_ref().unwrap(), simulated.fs.as_ref().unwrap());
        assert_eq!(real_fs.operations, simulated_fs.operations, "{name}");
        assert_eq!(real_fs.read_bytes, simulated_fs.read_bytes, "{name}");
        assert_eq!(real_fs.written_bytes, simulated_fs.written_bytes, "{name}");
        assert_eq!(real.host.writes, real_fs.operations.write, "{name}");
        assert_eq!(timeless(&real), timeless(&record(&folder, &[&workload]).unwrap()), "{name}");
    }
}

#[test]
fn there_is_no_device_and_no_simulated_time() {
    let folder = with_directory();
    let record = record(&folder, &["host.sample_transactions=50"]).unwrap();
    let resolved: serde_json::Value = serde_json::from_str(&record.experiment.to_json()).unwrap();
    assert!(resolved.get("device").is_none() && resolved.get("ftl").is_none(), "{resolved}");
    assert_eq!((record.device.name.as_str(), record.device.physical_bytes, record.wear.max), ("none", 0, 0));
    assert!(record.matrix.is_empty() && record.series.is_empty() && record.flash.programs == 0);
    assert!(record.time_us.is_none() && record.waf.is_none() && record.energy_j.is_none() && record.remount.is_none());
    let fs = record.fs.unwrap();
    assert_eq!((fs.transactions, fs.volume.units, fs.volume.free_bytes), (120, 0, None));
    assert_eq!(fs.samples.iter().map(|sample| sample.transactions).collect::<Vec<_>>(), [50, 100, 120]);
    let took = record.speed.phases.unwrap();
    assert!(took.transactions_s > 0.0 && took.set_up_s > 0.0 && took.clean_up_s > 0.0, "{took:?}");
    assert!(took.transactions_s + took.set_up_s + took.clean_up_s <= record.speed.wall_s, "{took:?}");
    // The resolved experiment can be parsed again.
    let again = Experiment::parse(&record.experiment.to_json(), Format::Json, "x", folder.path(), &[]).unwrap();
    assert_eq!(again.to_json(), record.experiment.to_json());
}

#[test]
fn a_run_that_is_stopped_leaves_nothing_behind() {
    let folder = with_directory();
    let experiment = parse(POSTMARK, folder.path(), &ENDLESS).unwrap();
    let control = Control::default();
    let record = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&experiment, folder.path(), &control, Outputs::default()));
        wait_for(&control, 2000);
        assert!(names(&folder).len() > 2, "it is under way");
        control.cancel();
        running.join().unwrap().unwrap()
    });
    assert_eq!(record.stopped.unwrap().why, StopReason::Cancelled);
    assert!(record.fs.unwrap().operations.create > 40);
    assert_eq!(names(&folder), [""; 0]);
}

#[test]
fn what_somebody_else_puts_there_stays_and_stops_the_run() {
    let folder = with_directory();
    // The workload's files are called 1, 2, 3 and so on: a file created after the start of the run gets in its
    // way.
    let sets = ["workload={ postmark={ number=100000, transactions=10 } }"];
    let experiment = parse(POSTMARK, folder.path(), &sets).unwrap();
    let control = Control::default();
    let (mine, other) = (folder.path().join("in/60000"), folder.path().join("in/note"));
    let record = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&experiment, folder.path(), &control, Outputs::default()));
        wait_for(&control, 0);
        fs::write(&mine, "mine").unwrap();
        fs::write(&other, "a note").unwrap();
        running.join().unwrap().unwrap()
    });
    let stopped = record.stopped.unwrap();
    assert_eq!(stopped.why, StopReason::FsFailed);
    assert!(
        stopped.message.ends_with("the system says: `60000` was put there by somebody else"),
        "{}",
        stopped.message
    );
    assert_eq!((fs::read(&mine).unwrap(), fs::read(&other).unwrap()), (b"mine".to_vec(), b"a note".to_vec()));
    assert_eq!(names(&folder).len(), 2);
}

#[test]
fn a_subdirectory_with_a_file_of_somebody_else_is_told() {
    let folder = with_directory();
    let experiment = parse(POSTMARK, folder.path(), &ENDLESS).unwrap();
    let control = Control::default();
    let record = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&experiment, folder.path(), &control, Outputs::default()));
        wait_for(&control, 100);
        fs::write(folder.path().join("in/s1/note"), "a note").unwrap();
        control.cancel();
        running.join().unwrap().unwrap()
    });
    assert_eq!(record.notices, ["`s1` could not be removed from the directory of fs.posix and stayed there"]);
    assert_eq!(names(&folder), ["s1"]);
    assert_eq!(fs::read_dir(folder.path().join("in/s1")).unwrap().count(), 1);
}

#[test]
fn a_directory_that_cannot_be_used_is_refused() {
    let folder = with_directory();
    fs::create_dir(folder.path().join("full")).unwrap();
    fs::write(folder.path().join("full/letter"), "x").unwrap();
    let at = |path: &str| record(&folder, &[&format!("fs.posix.directory=\"{path}\"")]).unwrap_err().to_string();
    let cases = [
        ("out", "fs.posix.directory = \"out\" cannot work: there is no directory "),
        ("full", "full holds `letter`"),
        ("full/letter", "letter is a file, and an empty directory is needed"),
        ("", "fs.posix.directory = \"\" cannot work: it is the path of an empty directory"),
    ];
    for (path, sentence) in cases {
        let error = at(path);
        assert!(error.contains(sentence) && error.contains("--set fs.posix.directory"), "{error}\n{sentence}");
    }
    assert_eq!(fs::read_dir(folder.path().join("full")).unwrap().count(), 1);
    // Inspection reports the same, and creates nothing.
    let look = |text: &str| inspect(&parse(text, folder.path(), &[]).unwrap(), folder.path());
    let error = look(&POSTMARK.replace("\"in\"", "\"full\"")).unwrap_err().to_string();
    assert!(error.starts_with("x.toml, line 6, column 13: fs.posix.directory = \"full\" cannot work"), "{error}");
    assert!(look(POSTMARK).unwrap().contains("\"name\":\"none\""));
    let log = folder.path().join("log.csv");
    let experiment = parse(POSTMARK, folder.path(), &[]).unwrap();
    let error =
        run(&experiment, folder.path(), &Control::default(), Outputs { op_log: Some(&log), ..Outputs::default() })
            .unwrap_err()
            .to_string();
    assert!(error.starts_with("an operation log has the operations of a device"), "{error}");
    assert!(!log.exists());
}

#[test]
fn what_needs_a_device_is_refused_with_a_way_out() {
    let folder = with_directory();
    let refused = |sets: &[&str]| parse(POSTMARK, folder.path(), sets).unwrap_err().to_string();
    let cases = [
        (
            &["ftl={ page={} }"][..],
            "ftl.page would not be used: fs.posix is a real directory; leave [ftl.page] out (--set ftl=none), or choose a \
             file system over an FTL (fat)",
        ),
        (&["buffer={ lru={} }"], "buffer.lru would not be used: fs.posix is a real directory"),
        (&["device.capacity=\"1 MiB\""], "device would not be used: fs.posix is a real directory"),
        (&["precondition.fill=\"random\""], "fs.posix is a real directory, which has none"),
        (&["host.sample_blocks=true"], "host.sample_blocks = true cannot work"),
        (&["workload={ uniform={} }"], "fs.posix would not be used: workload.uniform asks for sectors"),
        (&["fs={ posix={} }"], "needs the key `directory`"),
    ];
    for (sets, sentence) in cases {
        let error = refused(sets);
        assert!(error.contains(sentence), "{error}\n{sentence}");
    }
    // The advice works, also over a file with all these tables.
    let text =
        "[workload.phone]\ntransactions = 3\n[fs.fat]\n[ftl.bast]\n[buffer.lru]\n[precondition]\nfill = \"random\"\n\
                [device]\ncapacity = \"8 MiB\"\n";
    let without = ["fs={ posix={ directory=\"in\" } }", "ftl=none", "buffer=none", "device=none", "precondition=none"];
    let experiment = parse(text, folder.path(), &without).unwrap();
    assert!(!run(&experiment, folder.path(), &Control::default(), Outputs::default()).unwrap().partial);
    let yaffs = ["fs=yaffs", "ftl=none", "buffer=none", "precondition=none"];
    assert!(parse(text, folder.path(), &yaffs).unwrap().ftl.is_none());
    for (set, sentence) in [
        ("ftl=none", "the experiment needs the key `ftl`"),
        ("fttl=none", "the experiment has no key `fttl`; did you mean `ftl`?"),
        ("workload=none", "workload: expected one of"),
        ("seed=none", "seed: expected a whole number from 0 to 18446744073709551615, given nothing"),
    ] {
        let error = parse(text, folder.path(), &[set]).unwrap_err().to_string();
        assert!(error.contains(sentence), "{error}");
    }
}
