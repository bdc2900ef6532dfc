//! The bodies of the fuzz targets, so that `make fuzz`, the quick form in `make test` and a replay share them.
//!
//! Each takes the bytes of a fuzzer, returns where they mean nothing, and panics at a defect. `fuzz/` holds the
//! libFuzzer targets, one of the same name for each function of [`TARGETS`]; `fuzz/seeds/<name>/` holds inputs
//! to start from and every input that once failed.

mod configuration;
mod image;
mod nbd;
mod operations;
mod options;
mod trace;

pub use operations::{Case, End};

/// A target by its name.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the libFuzzer target and of its folder of seeds.
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
];

/// Bytes of a message beside what it quotes.
const MAX_MESSAGE: usize = 1_000;

/// Requests, remounts, faults and power cuts on an FTL of the list with varied options, beside the model.
///
/// # Panics
/// Where an acknowledged byte is lost, an invariant is broken, or a fault ends in anything but a sentence.
pub fn ftl_operations(data: &[u8]) {
    if let Some(case) = Case::from_bytes(data) {
        case.run();
    }
}

/// An experiment as text; one that is accepted and small is run.
///
/// # Panics
/// Where a refusal is no sentence or has no place, or an accepted experiment cannot be written, read again and run.
pub fn configuration(data: &[u8]) {
    configuration::run(data);
}

/// A trace, line by line and as a file.
///
/// # Panics
/// Where a line is read as what it does not say, a request is outside the device or out of order, or a refusal
/// is no sentence.
pub fn trace(data: &[u8]) {
    trace::run(data);
}

/// An image with changed bytes.
///
/// # Panics
/// Where it is neither refused in a sentence nor a device that can be used.
pub fn image(data: &[u8]) {
    image::run(data);
}

/// What an NBD client sends, beside a model of the disk.
///
/// # Panics
/// Where the server does not answer as the protocol says, or a read finds what was not written.
pub fn nbd(data: &[u8]) {
    nbd::run(data);
}

/// A message that can be shown: words, on one line, without control characters of the input, and no longer than
/// people read; `quoted` bytes of the input may be in it.
fn sentence(message: &str, quoted: usize) {
    assert!(message.contains(' ') && message.len() <= MAX_MESSAGE + quoted, "no sentence: {message:?}");
    assert!(!message.contains(char::is_control), "control characters: {message:?}");
}
