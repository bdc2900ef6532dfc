//! Trace: requests that were recorded.
//!
//! ## Idea
//! The records of a file are played in their order, once or `repeat` times. The file is text, one request a
//! line, plain or compressed with gzip; it is read in constant memory. Before the run it is read through
//! once: a malformed line, an address beyond the device or a damaged file is found before anything is
//! simulated.
//!
//! ## Differences
//! Each repetition starts after the one before by the mean gap between two requests, so that times never
//! decrease. Times count only with `host.arrival = "recorded"`.

mod addresses;
mod csv;
mod format;
pub(crate) mod lines;
mod play;

pub use addresses::Addresses;
pub use format::{Entry, Format, FormatName, Malformed, FORMATS};
pub use play::Summary;

use crate::{Options, Setting, Workload, WorkloadError};
use play::{Plan, Player, Records};
use std::path::{Path, PathBuf};

/// Options of `[workload.trace]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The file; a relative path starts at the folder of the experiment.
    pub path: String,
    /// How the file is written.
    #[serde(default)]
    pub format: FormatName,
    /// What is done with addresses beyond the device: `reject`, `fold` or `compact`.
    #[serde(default)]
    pub addresses: Addresses,
    /// How often the trace is played.
    #[serde(default = "once")]
    pub repeat: u64,
    /// Only this many requests from the start of the trace, each time it is played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
}

fn once() -> u64 {
    1
}

impl Config {
    /// The whole of the trace at `path`, once.
    pub fn new(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            format: FormatName::default(),
            addresses: Addresses::default(),
            repeat: 1,
            requests: None,
        }
    }

    fn file(&self, base: &Path) -> PathBuf {
        base.join(&self.path)
    }

    /// Reads the trace through and counts.
    ///
    /// # Errors
    /// [`WorkloadError::Record`], [`WorkloadError::File`]; [`WorkloadError::Stopped`] where `watch` says so.
    pub fn summary(&self, base: &Path, watch: &(dyn Fn(u64) -> bool + Sync)) -> Result<Summary, WorkloadError> {
        let mut records = Records::open(self.file(base), self.format, self.requests)?;
        Summary::of(&mut records, watch, |_| {})
    }
}

impl Options for Config {
    fn check(&self) -> Result<(), WorkloadError> {
        if self.path.is_empty() {
            return Err(WorkloadError::option("path", &"\"\"", "expected the path of a trace"));
        }
        if self.repeat == 0 {
            return Err(WorkloadError::option("repeat", &0, "a trace is played at least once"));
        }
        if self.requests == Some(0) {
            return Err(WorkloadError::option("requests", &0, "at least one request is played"));
        }
        Ok(())
    }

    fn open(&self, setting: &Setting<'_>) -> Result<Box<dyn Workload>, WorkloadError> {
        self.check()?;
        let plan = Plan {
            file: self.file(setting.base),
            format: self.format,
            limit: self.requests,
            repeat: self.repeat,
            addresses: self.addresses,
            capacity: setting.sectors,
        };
        Ok(Box::new(Player::open(plan, setting.watch)?))
    }

    fn has_times(&self) -> bool {
        true
    }
}
