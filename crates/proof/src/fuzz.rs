//! The fuzz target bodies, shared by `make fuzz`, the quick form in `make test`, and replays.
//!
//! Each takes a fuzzer's bytes, returns if they mean nothing, and panics at a defect. `fuzz/` holds the libFuzzer
//! targets, one with the same name for each function in [`TARGETS`]; `fuzz/seeds/<name>/` holds start inputs and every
//! input that once failed.

mod configuration;
mod image;
mod lsm;
mod nbd;
mod nvme;
mod operations;
mod options;
mod trace;

pub use operations::{Case, End};

/// A target by its name.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name for the libFuzzer target and its seed folder.
    pub name: &'static str,
    /// The body.
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "ftl_operations", run: ftl_operations },
    Target { name: "configuration", run: configuration },
    Target { name: "trace", run: trace },
    Target { name: "image", run: image },
    Target { name: "nbd", run: nbd },
    Target { name: "nvme", run: nvme },
    Target { name: "lsm_operations", run: lsm_operations },
    Target { name: "lsm_bytes", run: lsm_bytes },
];

/// Message bytes besides the quoted input.
const MAX_MESSAGE: usize = 1_000;

/// Requests, remounts, faults and power cuts on a listed FTL with varied options, beside the model.
///
/// # Panics
/// If an acknowledged byte is lost, an invariant is broken, or a fault ends in anything but a sentence.
pub fn ftl_operations(data: &[u8]) {
    if let Some(case) = Case::from_bytes(data) {
        case.run();
    }
}

/// An experiment as text; an accepted and small one is run.
///
/// # Panics
/// If a refusal is no sentence or has no place, or an accepted experiment cannot be written, read again and run.
pub fn configuration(data: &[u8]) {
    configuration::run(data);
}

/// A trace, line by line and as a file.
///
/// # Panics
/// If a line is misread, a request is outside the device or out of order, or a refusal is no sentence.
pub fn trace(data: &[u8]) {
    trace::run(data);
}

/// An image with changed bytes.
///
/// # Panics
/// If it is neither refused in a sentence nor a usable device.
pub fn image(data: &[u8]) {
    image::run(data);
}

/// An NBD client's bytes, beside a disk model.
///
/// # Panics
/// If the server breaks the protocol, or a read returns wrong data.
pub fn nbd(data: &[u8]) {
    nbd::run(data);
}

/// An NVMe host's PDUs over TCP, beside a disk model.
///
/// # Panics
/// If the server breaks the protocol, falls silent, or a read returns wrong data.
pub fn nvme(data: &[u8]) {
    nvme::run(data);
}

/// Operations and new starts on an LSM tree with varied options, beside an ordered map.
///
/// # Panics
/// If the tree and the map differ, an invariant is broken, or a refusal is no sentence.
pub fn lsm_operations(data: &[u8]) {
    lsm::operations(data);
}

/// An LSM tree on a device with changed bytes.
///
/// # Panics
/// If it has contents it never had, or fails with anything but a sentence about the damage.
pub fn lsm_bytes(data: &[u8]) {
    lsm::bytes(data);
}

/// A presentable message: words, on one line, without control characters from the input, and short enough to read; it
/// may quote `quoted` input bytes.
fn sentence(message: &str, quoted: usize) {
    assert!(message.contains(' ') && message.len() <= MAX_MESSAGE + quoted, "no sentence: {message:?}");
    assert!(!message.contains(char::is_control), "control characters: {message:?}");
}
