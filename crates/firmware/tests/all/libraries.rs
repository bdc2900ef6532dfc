//! Public libraries under the prover: known faults are found again, in few steps.
//!
//! `NANDLAB_FIRMWARE` names a folder with the shared objects, each made from a file in `examples/firmware` and the library's
//! own sources. Without it, or without an object, a test prints SKIPPED.

use crate::prove::{found, prove};
use serde_json::json;
use std::path::PathBuf;
use std::time::Instant;

fn object(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("NANDLAB_FIRMWARE").map(|folder| PathBuf::from(folder).join(name));
    let path = path.filter(|path| path.is_file());
    if path.is_none() {
        println!("SKIPPED: NANDLAB_FIRMWARE has no {name}");
    }
    path
}

/// Forms that a chip leaves whose pages read as erased only if they are.
const WITHOUT_WEAK: [&str; 6] =
    ["clean", "done", "torn_page", "torn_spare", "torn_erase.unreadable", "torn_erase.prefix"];

/// After a rename that was cut between its two commits, a neighbour is hidden.
#[test]
fn littlefs_2_9_3_hides_a_synced_file_and_2_9_0_does_not() {
    let script = "mkdir:d put:d/b:20 put:d/a:20 move:d/a:b";
    if let Some(old) = object("littlefs-v2.9.0.so") {
        let (status, report, _) = prove(&old, &json!({"script": script, "forms": WITHOUT_WEAK}));
        assert_eq!((status, &report["findings"]), (0, &json!([])), "{report}");
        assert!(report["cases"].as_u64().unwrap() > 40, "{report}");
    }
    if let Some(new) = object("littlefs-v2.9.3.so") {
        let start = Instant::now();
        let (status, report, _) = prove(&new, &json!({"scripts": 10, "forms": WITHOUT_WEAK}));
        let (kind, replay, steps) = found(&report);
        assert_eq!((status, kind), (1, "lost"), "{report}");
        assert!(replay.contains("move:") && steps <= 4, "{report}");
        assert!(start.elapsed().as_secs() < 120, "{:?}", start.elapsed());
    }
}

/// A torn checkpoint page ends all later writes.
#[test]
fn dhara_refuses_writes_after_a_torn_page() {
    let Some(dhara) = object("dhara.so") else { return };
    let start = Instant::now();
    let (status, report, _) = prove(&dhara, &json!({"scripts": 4, "forms": WITHOUT_WEAK}));
    let (kind, replay, steps) = found(&report);
    assert_eq!((status, kind), (1, "refused"), "{report}");
    assert!(replay.contains("torn") && steps <= 6, "{report}");
    assert!(start.elapsed().as_secs() < 120, "{:?}", start.elapsed());
}

/// SPIFFS on a serial NOR: a cut in the write of a file leaves a file that no write replaces.
#[test]
fn spiffs_refuses_a_write_after_bits_in_between() {
    let Some(spiffs) = object("spiffs.so") else { return };
    let start = Instant::now();
    let device = json!({"pages_per_block": 16, "page_bytes": 256, "word_bytes": 1, "partial_programs": 255});
    let (status, report, _) = prove(&spiffs, &json!({"scripts": 5, "device": device, "shrink_s": 5.0}));
    let findings = report["findings"].as_array().unwrap();
    let refused = findings.iter().find(|finding| finding["kind"] == "refused").expect("a refused write");
    assert!(status == 1 && refused["steps"].as_u64().unwrap() <= 2, "{report}");
    assert!(report["cases"].as_u64().unwrap() > 5000, "{report}");
    assert!(start.elapsed().as_secs() < 120, "{:?}", start.elapsed());
}
