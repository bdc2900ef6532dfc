//! The prover on the toy firmware: the sound one passes, and each planted fault is found with a short script.

use crate::support::{cc, libraries, root};
use serde_json::{json, Value};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Builds a firmware with one definition.
fn firmware(folder: &Path, source: &str, define: &str) -> PathBuf {
    let to = folder.join(format!("{define}.so"));
    let define = format!("-D{define}");
    cc(&["-shared", "-fPIC", "-O1", &define], &[root().join(source)], &to);
    to
}

fn toy(folder: &Path, define: &str) -> PathBuf {
    firmware(folder, "examples/firmware/toy/toy.c", define)
}

/// Runs the prover; returns its exit status, report and messages.
pub(crate) fn prove(firmware: &Path, more: &Value) -> (i32, Value, String) {
    let mut request = json!({"firmware": firmware, "library": libraries().join("libnandlab.so"), "jobs": 2});
    for (key, value) in more.as_object().expect("an object") {
        request[key] = value.clone();
    }
    let mut prover = Command::new(env!("CARGO_BIN_EXE_nandlab-prove"));
    let piped = prover.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("the prover starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(request.to_string().as_bytes()).expect("the prover reads");
    drop(input);
    let done = child.wait_with_output().expect("the prover ends");
    let report = serde_json::from_slice(&done.stdout).unwrap_or(Value::Null);
    (done.status.code().expect("no signal"), report, String::from_utf8_lossy(&done.stderr).into_owned())
}

/// The first finding.
pub(crate) fn found(report: &Value) -> (&str, &str, u64) {
    let finding = &report["findings"][0];
    let text = |key: &str| finding[key].as_str().unwrap_or_default();
    (text("kind"), text("replay"), finding["steps"].as_u64().unwrap_or_default())
}

#[test]
fn the_toy_survives_cuts_double_cuts_and_faults() {
    let folder = tempfile::tempdir().unwrap();
    let toy = toy(folder.path(), "SOUND");
    let (status, report, _) = prove(&toy, &json!({"scripts": 10}));
    assert_eq!((status, &report["findings"], &report["name"]), (0, &json!([]), &json!("toy")), "{report}");
    assert!(report["cases"].as_u64().unwrap() > 3000, "{report}");
    let (status, report, _) = prove(&toy, &json!({"scripts": 3, "depth": 2}));
    assert_eq!((status, &report["findings"]), (0, &json!([])), "{report}");
    assert!(report["cases"].as_u64().unwrap() > 3000, "{report}");
    let (status, report, _) = prove(&toy, &json!({"scripts": 6, "faults": true, "seed": 7}));
    assert_eq!((status, &report["findings"]), (0, &json!([])), "{report}");
}

#[test]
fn each_planted_fault_is_found_and_its_text_replays() {
    let folder = tempfile::tempdir().unwrap();
    for (fault, kind, most) in [
        ("TRUSTS_SPARE", "unreadable", 1),
        ("FILLS_ON", "rule", 2),
        ("SKIPS_ERASE", "rule", 1),
        ("ERASES_EARLY", "lost", 100),
    ] {
        let toy = toy(folder.path(), fault);
        let (status, report, _) = prove(&toy, &json!({"scripts": 5, "shrink_s": 5.0}));
        let (told, replay, steps) = found(&report);
        assert_eq!((status, told), (1, kind), "{fault}: {report}");
        assert!(steps <= most, "{fault}: {steps} steps");
        let (status, again, _) = prove(&toy, &json!({"script": replay}));
        assert_eq!((status, found(&again)), (1, (told, replay, steps)), "{fault}: {again}");
        assert_eq!(again["findings"][0]["sentence"], report["findings"][0]["sentence"], "{fault}");
    }
}

#[test]
fn crashes_and_hangs_are_named_and_the_proof_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    for (how, kind, sentence) in [
        ("CRASHES", "crash", "SIGSEGV"),
        ("ABORTS", "crash", "SIGABRT"),
        ("EXITS", "crash", "the status 3"),
        ("HANGS", "hang", "did not come back"),
        ("SLEEPS", "hang", "did not come back"),
    ] {
        let firmware = firmware(folder.path(), "crates/firmware/tests/c/ends.c", how);
        let (status, report, _) = prove(&firmware, &json!({"scripts": 2, "limit_s": 0.05}));
        let (told, replay, steps) = found(&report);
        assert_eq!((status, told, steps), (1, kind, 1), "{how}: {report}");
        assert!(replay.contains("torn_page"), "{how}: {replay}");
        assert!(report["findings"][0]["sentence"].as_str().unwrap().contains(sentence), "{how}: {report}");
        assert_eq!(report["findings"].as_array().unwrap().len(), 1, "{how}: {report}");
    }
}

#[test]
fn a_wrong_request_is_refused_with_its_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let toy = toy(folder.path(), "SOUND");
    let empty = folder.path().join("empty.c");
    std::fs::write(&empty, "int nothing;\n").unwrap();
    let none = folder.path().join("none.so");
    cc(&["-shared", "-fPIC"], &[empty], &none);
    for (firmware, more, sentence) in [
        (&toy, json!({"script": "w1 x"}), "\"x\" is no step"),
        (&toy, json!({"forms": ["half"]}), "form half is none of clean"),
        (&toy, json!({"script": "put:a:9"}), "the firmware has sectors"),
        (&toy, json!({"depth": 3}), "depth is 1 or 2"),
        (&toy, json!({"device": {"partial_programs": 0}}), "partial_programs = 0"),
        (&toy, json!({"script": "bad:99"}), "the device has blocks 0 to 15"),
        (&toy, json!({"wrong": 1}), "unknown field `wrong`"),
        (&none, json!({}), "there is no nl_block and no nl_file"),
        (&folder.path().join("no.so"), json!({}), "No such file"),
    ] {
        let (status, _, told) = prove(firmware, &more);
        assert_eq!(status, 2, "{told}");
        assert!(told.contains(sentence), "{told}");
    }
    // The toy refuses a chip with too few blocks, without any cut.
    let (status, report, _) = prove(&toy, &json!({"device": {"blocks": 4}, "scripts": 1}));
    assert_eq!((status, found(&report)), (1, ("mount", "", 0)), "{report}");
}

/// Renames, folders and contents: a firmware of snapshots passes, and each planted fault is found in two steps.
#[test]
fn a_file_firmware_is_proved_and_its_faults_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let script = "put:a:200 put:b:90 s move:a:c append:b:20 mkdir:d m put:d/a:50 move:b:d/b truncate:c:7 remove:c s";
    let device = json!({"blocks": 8, "pages_per_block": 4, "page_bytes": 2048});
    for (fault, kind, words) in [
        ("SOUND", "", ""),
        ("NO_CHECK", "garbage", "a list has the name"),
        ("LATE_NAMES", "lost", "a was renamed to c, and is under neither name"),
    ] {
        let files = firmware(folder.path(), "crates/firmware/tests/c/files.c", fault);
        let (status, report, told) = prove(&files, &json!({"script": script, "device": device, "shrink_s": 5.0}));
        let (found, _, steps) = found(&report);
        assert_eq!((status, found), (i32::from(!kind.is_empty()), kind), "{fault}: {report}\n{told}");
        assert!(steps <= 2, "{fault}: {report}");
        assert!(report["findings"][0]["sentence"].as_str().unwrap_or_default().contains(words), "{fault}: {report}");
        assert_eq!(report["cases"], 250, "{fault}: cuts of every form at every operation");
        assert!(prove(&files, &json!({"script": "w1"})).2.contains("w and t are for sectors"));
    }
}
