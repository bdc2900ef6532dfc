//! What goes wrong with an image.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Why an image file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BackedError {
    /// The operating system refused.
    #[error("cannot {action} the image {}: {source}", path.display())]
    Io {
        /// The image.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// An image is never overwritten.
    #[error("the image {} exists already: open it, or remove it first", .0.display())]
    Exists(PathBuf),
    /// Another process has it open.
    #[error("the image {} is in use by another process: end that one first", .0.display())]
    InUse(PathBuf),
    /// The file does not begin as an image does.
    #[error("{} is not a nandlab image: its first bytes are not those of one", .0.display())]
    NotAnImage(PathBuf),
    /// An earlier or a later program wrote the image.
    #[error("the image {} has format version {found}, this program reads version {reads}", path.display())]
    Version {
        /// The image.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The version that can be read.
        reads: u32,
    },
    /// A truncated or padded file.
    #[error("the image {} has {found} bytes, the device in its header needs {expected}", path.display())]
    Length {
        /// The image.
        path: PathBuf,
        /// Its length.
        found: u64,
        /// The length that its header implies.
        expected: u64,
    },
    /// A header that contradicts its checksum or the rules.
    #[error("the image {} is damaged: {what}", path.display())]
    Damaged {
        /// The image.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// Whole records that contradict each other.
    #[error("the image {} is not current: {what}. Part of it is missing or older than the rest", path.display())]
    Stale {
        /// The image.
        path: PathBuf,
        /// What tells so.
        what: String,
    },
}

/// Why an image failed while it was used; empty while it works.
#[derive(Clone, Debug, Default)]
pub struct Failure(Arc<OnceLock<BackedError>>);

impl Failure {
    /// The first error, if there was one.
    pub fn get(&self) -> Option<&BackedError> {
        self.0.get()
    }

    /// Keeps the first error.
    pub(super) fn keep(&self, error: BackedError) {
        let _ = self.0.set(error);
    }
}
