//! A placement with knowledge about the writes to come.

use crate::support::{parse, record, refused};
use nandlab_lab::config::{Experiment, Format};
use nandlab_lab::{run, Control, LabError, Outputs};
use std::path::Path;

const SKEWED: &str = r#"
[workload.zipf]
requests = 60_000
[precondition]
fill = "sequential"
overwrites = 1.0
[ftl.page.placement.oracle]
[device]
model = "counting"
capacity = "32 MiB"
over_provisioning = 0.25
[device.shape]
pages_per_block = 64
"#;

const SEPBIT: [&str; 2] = ["ftl.page.placement=sepbit", "ftl.page.victim=cost_benefit"];

fn refused_at_run(text: &str, sets: &[&str], outputs: Outputs<'_>) -> String {
    match run(&parse(text, sets).unwrap(), Path::new("."), &Control::default(), outputs) {
        Err(LabError::Config(error)) => {
            assert_eq!(error.key.as_deref(), Some("ftl.page.placement.oracle"));
            error.message
        }
        other => panic!("{:?}", other.map(|record| record.to_json())),
    }
}

#[test]
fn what_comes_is_known_with_and_without_time_buffer_and_trims() {
    let buffered = ["buffer.lru.size=1 MiB"];
    let trimmed = ["workload.zipf.trim_share=0.1"];
    for sets in [&[][..], &["device.model=timed"], &buffered, &trimmed, &["device.model=bytes"]] {
        let known = record(SKEWED, sets);
        let foretold = record(SKEWED, &[&SEPBIT, sets].concat());
        let host = (known.host.writes, known.host.trims);
        assert_eq!(host, (foretold.host.writes, foretold.host.trims), "{sets:?}: one workload");
        let (best, waf) = (known.waf.unwrap(), foretold.waf.unwrap());
        assert!(best < 0.8 * waf, "{sets:?}: {best} with the future, {waf} without");
        // Two runs with the same seed write the same.
        assert_eq!(known.flash.programs, record(SKEWED, sets).flash.programs);
    }
}

#[test]
fn a_file_system_and_an_index_have_a_future_too() {
    let fat = SKEWED.replace(
        "[workload.zipf]\nrequests = 60_000",
        "[workload.postmark]\ntransactions = 2000\nnumber = 500\n[fs.fat]",
    );
    let fat = fat.replace("fill = \"sequential\"\noverwrites = 1.0\n", "");
    let known = record(&fat, &[]).waf.unwrap();
    let without = record(&fat, &["ftl.page.placement=two"]).waf.unwrap();
    assert!(known <= without, "{known} with the future, {without} without");
}

#[test]
fn what_nobody_can_know_is_refused() {
    let message = refused(SKEWED, &["precondition.overwrites=0", "precondition.steady=0.05"]).message;
    assert!(message.contains("does not go with precondition.steady"), "{message}");
    let text = "[ftl.page.placement.oracle]\n[device]\ncapacity = \"64 MiB\"\nover_provisioning = 0.3\n";
    let disk = Experiment::parse_disk(text, Format::Toml, "disk.toml", Path::new("."), &[]);
    let message = disk.unwrap_err().to_string();
    assert!(message.contains("nobody knows before what programs will write"), "{message}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state");
    let outputs = Outputs { save_state: Some(&file), ..Outputs::default() };
    let message = refused_at_run(SKEWED, &[], outputs);
    assert!(message.contains("a saved state ends after the preconditioning"), "{message}");
    assert!(!file.exists());
}

/// Two jobs share a device, and one thinks between its writes: the device's speed decides whose write comes next.
#[test]
fn a_workload_that_depends_on_the_device_is_refused() {
    let jobs = r#"
[workload.fio]
text = """
[global]
rw=randwrite
bs=4k
size=16m
io_size=64m
ioengine=libaio
[a]
thinktime=1000
[b]
offset=0
iodepth=4
"""
[ftl.page.placement.oracle]
classes = 4
[device]
capacity = "32 MiB"
over_provisioning = 0.25
[device.shape]
pages_per_block = 64
"#;
    let message = refused_at_run(jobs, &[], Outputs::default());
    assert!(message.contains("pages died at another time than in the run before"), "{message}");
}
