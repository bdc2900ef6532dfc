//! Tests of `src/config/footprint.rs`.

use nandlab_lab::config::{Experiment, Format, Model};
use nandlab_lab::inside::{available_bytes, needed_bytes, too_large};
use std::path::Path;

#[test]
fn the_bytes_of_the_pages_count() {
    let sized = |device: &str| {
        let text = format!("[workload.uniform]\n[ftl.page]\n[device]\nmodel = \"bytes\"\n{device}");
        let experiment = Experiment::parse(&text, Format::Toml, "x", Path::new("."), &[]).unwrap();
        let sizing = experiment.sizing().unwrap();
        (experiment, sizing)
    };
    let (experiment, sizing) = sized("capacity = \"64 GiB\"\nover_provisioning = 0.25");
    let needed = needed_bytes(Model::Bytes, &sizing);
    // 80 GiB flash, and 45 bytes for each 4 KiB page.
    assert!((80 << 30..83 << 30).contains(&needed), "{needed}");
    let sentence = too_large(needed, 1 << 30, &experiment.device, &sizing).to_string();
    assert!(sentence.contains("for its tables and the bytes of its pages, and 1 GiB are free"), "{sentence}");
    assert!(sentence.ends_with("lower device.capacity, or choose another device.model"), "{sentence}");
    let lower = |device: &str| {
        let (experiment, sizing) = sized(device);
        too_large(1, 1, &experiment.device, &sizing).to_string()
    };
    let fixed = lower("capacity = \"64 MiB\"\nblocks_per_plane = 200");
    assert!(fixed.contains("lower device.blocks_per_plane and device.capacity, or"), "{fixed}");
    let shape = lower("over_provisioning = 0.25");
    assert!(shape.contains("lower device.shape.blocks_per_plane, or"), "{shape}");
}

#[test]
fn a_device_larger_than_the_memory_gets_a_sentence() {
    let text = "[workload.uniform]\n[ftl.page]\n[device]\ncapacity = \"8 TiB\"\nprofile = \"generic\"";
    let experiment = Experiment::parse(text, Format::Toml, "x", Path::new("."), &[]).unwrap();
    let sizing = experiment.sizing().unwrap();
    let needed = needed_bytes(Model::Counting, &sizing);
    assert!((19 << 30..22 << 30).contains(&needed), "{needed}");
    let sentence = too_large(needed, 1 << 30, &experiment.device, &sizing).to_string();
    assert!(sentence.contains("a device of 8 TiB needs about 20") && sentence.contains("1 GiB are free"), "{sentence}");
    assert!(sentence.contains("lower device.capacity, or give the device larger pages"), "{sentence}");
    assert!(available_bytes().is_none_or(|bytes| bytes > 0));
}
