//! Saved states from preconditioned devices, and runs that begin with them.

use crate::support::{parse, MIXED};
use nandlab_lab::config::Experiment;
use nandlab_lab::record::Record;
use nandlab_lab::{run, Control, LabError, Outputs, Phase};
use serde_json::Value;
use std::path::Path;

/// The mixed workload on a smaller device.
fn small(sets: &[&str]) -> Result<Experiment, LabError> {
    let smaller = [
        "workload.zipf.requests=8_000",
        "precondition.overwrites=0.7",
        "device.capacity=8 MiB",
        "device.over_provisioning=1.5", // MTBS keeps half of each block as its spare area
        "device.shape={ pages_per_block = 32, channels = 1, dies_per_channel = 1 }",
    ];
    parse(MIXED, &[&smaller[..], sets].concat())
}

fn outcome(sets: &[&str], save: Option<&Path>) -> Result<Record, LabError> {
    outcome_of(&small(sets)?, save)
}

fn outcome_of(experiment: &Experiment, save: Option<&Path>) -> Result<Record, LabError> {
    run(experiment, Path::new("."), &Control::default(), Outputs { save_state: save, ..Outputs::default() })
}

/// A record's measured part, without speed and experiment.
fn measured(record: &Record) -> Value {
    let mut json: Value = serde_json::from_str(&record.to_json()).unwrap();
    json.as_object_mut().unwrap().retain(|key, _| key != "speed" && key != "experiment");
    json
}

fn from(file: &Path) -> String {
    format!("precondition.from_state={:?}", file.display().to_string())
}

#[test]
fn whoever_begins_with_a_state_measures_what_the_run_did_that_saved_it() {
    let folder = tempfile::tempdir().unwrap();
    for ftl in nandlab_ftl::anywhere() {
        for model in ["timed", "counting"] {
            let sets = [format!("ftl={}", ftl.name), format!("device.model={model}")];
            let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
            let saved = outcome(&sets, Some(&folder.path().join("state"))).unwrap();
            let state = from(&folder.path().join("state"));
            let begun = outcome(&[&sets[..], &[&state]].concat(), None).unwrap();
            assert_eq!(measured(&saved), measured(&begun), "{}, {model}", ftl.name);
            // The preconditioning options may be omitted.
            for nothing in ["precondition={}", "precondition=none"] {
                let bare = outcome(&[&sets[..], &[nothing, &state]].concat(), None).unwrap();
                assert_eq!(measured(&saved), measured(&bare), "{}, {model}, {nothing}", ftl.name);
            }
            let before = begun.precondition.unwrap();
            assert_eq!(before.requests, 2048 + 1434);
            // Also on a device that does more than count.
            let log = folder.path().join("ops.csv");
            let outputs = Outputs { op_log: Some(&log), ..Outputs::default() };
            let logged = small(&[&sets[..], &[&state]].concat()).unwrap();
            let logged = run(&logged, Path::new("."), &Control::default(), outputs).unwrap();
            assert_eq!(measured(&saved), measured(&logged), "{}, {model}", ftl.name);
        }
    }
}

/// A mount does not change the cost: the device performs about like one that never lost power.
#[test]
fn a_state_stands_for_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let sets = ["workload.zipf.requests=30_000", "device.over_provisioning=0.25"];
    let fresh = outcome(&sets, None).unwrap();
    let saved = outcome(&sets, Some(&folder.path().join("state"))).unwrap();
    assert_eq!(fresh.precondition, saved.precondition);
    let (fresh_waf, saved_waf) = (fresh.waf.unwrap(), saved.waf.unwrap());
    assert!((saved_waf / fresh_waf - 1.0).abs() < 0.02, "{fresh_waf} and {saved_waf}");
    assert!(saved.wear.mean > saved.flash.erases as f64 / saved.device.blocks as f64, "wear before it counts as wear");
}

#[test]
fn another_workload_host_model_and_a_warm_up_go_with_a_state() {
    let folder = tempfile::tempdir().unwrap();
    outcome(&[], Some(&folder.path().join("state"))).unwrap();
    let state = from(&folder.path().join("state"));
    let sets = [
        "workload={ uniform = { requests = 3000 } }",
        "host.queue_depth=1",
        "device.model=counting",
        "precondition={ warm_up = 1000 }",
        "seed=9",
        &state,
    ];
    let record = outcome(&sets, None).unwrap();
    assert_eq!(record.host.requests, 2000);
    let before = record.precondition.unwrap();
    assert_eq!(before.requests, 2048 + 1434 + 1000);
    assert!((before.waf.unwrap() - before.flash.programs as f64 / before.requests as f64).abs() < 1e-9);
    // A file system over it is mounted once more at the end.
    let files =
        "[workload.postmark]\nnumber = 20\ntransactions = 50\n[fs.fat]\n[ftl.page]\n[device]\ncapacity = \"8 MiB\"\n\
                 over_provisioning = 1.5\n[device.shape]\npages_per_block = 32\n";
    let record = outcome_of(&parse(files, &[&state]).unwrap(), None).unwrap();
    assert!(record.remount.is_some() && record.precondition.is_some());
}

#[test]
fn what_does_not_fit_is_refused_with_the_key() {
    let folder = tempfile::tempdir().unwrap();
    outcome(&[], Some(&folder.path().join("state"))).unwrap();
    let state = from(&folder.path().join("state"));
    for (sets, says) in [
        (&["ftl=block"][..], "it was made with ftl.page, and the experiment has ftl.block"),
        (&["ftl.page.victim=fifo"], "it was made with ftl.page.victim = \"greedy\", and the experiment has \"fifo\""),
        (&["device.shape.pages_per_block=64"], "it was made with device.shape.blocks_per_plane = "),
        (
            &["device.rules.bits_per_cell=3"],
            "it was made with device.rules.bits_per_cell = 1, and the experiment has 3",
        ),
        (&["device.shape.page_bytes=8192"], "it was made with device.shape."),
        (&["device.capacity=4 MiB", "device.over_provisioning=400 %"], "it was made "),
        (
            &["precondition.overwrites=2"],
            "it was made with precondition.overwrites = 0.7, and the experiment has 2.0: make it again, or leave",
        ),
        (&["precondition.fill=sequential"], "precondition.fill = \"random\", and the experiment has \"sequential\":"),
        (&["precondition.steady=0.1"], "it was made without precondition.steady, and the experiment has"),
        (&["seed=2"], "it was made with seed = 1, and the experiment has 2: make it again"),
        (&["device.model=bytes"], "it holds no bytes"),
        (&["device.faults={ erase_failure_rate = 0.1 }"], "it holds nothing of device.faults"),
    ] {
        let error = outcome(&[sets, &[&state]].concat(), None).unwrap_err();
        let LabError::Config(wrong) = &error else { panic!("{error}") };
        assert!(wrong.message.contains(says), "{sets:?}: {error}");
        assert_eq!(wrong.key.as_deref(), Some("precondition.from_state"), "{sets:?}: {error}");
        // `nandlab check` reports the same.
        assert!(nandlab_lab::inspect(&small(&[sets, &[&state]].concat()).unwrap(), Path::new(".")).is_err());
    }
}

#[test]
fn a_file_that_is_no_whole_state_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state");
    outcome(&[], Some(&file)).unwrap();
    let whole = std::fs::read(&file).unwrap();
    let state = from(&file);
    let refused = |contents: &[u8]| {
        std::fs::write(&file, contents).unwrap();
        outcome(&[&state], None).map_or_else(|error| error.to_string(), |record| measured(&record).to_string())
    };
    let unspoilt = refused(&whole);
    for length in [0, 5, 14, 20, 26, 100, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
        let said = refused(&whole[..length]);
        assert!(said.contains("cut short"), "{length}: {said}");
    }
    // Every byte is protected except date, system and flags in the gzip header; a bit that pads a block of the compressed
    // stream says nothing.
    let gzip = 26 + u32::from_le_bytes(whole[18..22].try_into().unwrap()) as usize;
    assert_eq!(whole[gzip..gzip + 2], [0x1F, 0x8B]);
    for at in (0..gzip + 3).chain((gzip + 10..whole.len()).step_by(whole.len() / 200)) {
        let mut other = whole.clone();
        other[at] ^= 0x10;
        let said = refused(&other);
        assert!(said.contains("precondition.from_state = ") || said == unspoilt, "{at}: {said}");
    }
    for behind in [&b"x"[..], &whole[gzip..], &[0; 512]] {
        let said = refused(&[&whole, behind].concat());
        assert!(said.contains("state\": the file goes on behind the state"), "{said}");
    }
    let mut newer = whole.clone();
    newer[14] = 9;
    assert!(refused(&newer).contains("it has version 9 of its form, and this program reads version 2"));
    assert!(refused(b"time_us,op,sector,sectors\n0,W,0,8\n").contains("this is no state"));
    std::fs::remove_file(&file).unwrap();
    let missing = outcome(&[&state], None).unwrap_err().to_string();
    assert!(missing.contains("there is no such file"), "{missing}");
}

#[test]
fn nothing_is_saved_where_there_is_nothing_to_save() {
    let folder = tempfile::tempdir().unwrap();
    for (sets, says) in [
        (&["precondition={}"][..], "there is nothing to save"),
        (&["device.model=bytes"], "it holds no bytes"),
        (&["precondition={ from_state = \"x\" }"], "begins with a state of its own"),
    ] {
        let error = outcome(sets, Some(&folder.path().join("state"))).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let bare = "[workload.postmark]\n[fs.yaffs]\n[device]\ncapacity = \"8 MiB\"\n";
    let error = outcome_of(&parse(bare, &[]).unwrap(), Some(&folder.path().join("state"))).unwrap_err().to_string();
    assert!(error.contains("a state is of a device with an FTL"), "{error}");
    let error = outcome(&[], Some(&folder.path().join("absent/state"))).unwrap_err();
    assert!(matches!(error, LabError::Io(_)), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
}

/// Saving may take minutes: it is a phase with steps of its own, and ends at once when the run is stopped.
#[test]
fn a_run_stopped_while_it_saves_its_state_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let large = ["device.capacity=1 GiB", "device.over_provisioning=0.07", "device.model=counting"];
    let experiment = small(&[&large[..], &["precondition.overwrites=0"]].concat()).unwrap();
    let file = folder.path().join("state");
    let control = Control::default();
    let record = std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            let outputs = Outputs { save_state: Some(&file), ..Outputs::default() };
            run(&experiment, Path::new("."), &control, outputs)
        });
        while !matches!(control.progress(), (Phase::SavingState, 1.., _)) {
            std::thread::yield_now();
        }
        control.cancel();
        let (_, done, total) = control.progress();
        assert!(done < total, "{done} of {total} steps when it was stopped");
        running.join().unwrap().unwrap()
    });
    assert!(record.partial && record.host.requests == 0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
}
