//! What the host asks of a device: generators of request streams and readers of block traces.
//!
//! Read this file first: [`Workload`] is the contract, and the list is at the end. A new workload is one
//! new file and one line of that list; the configuration, `nandlab list`, the Python class and the docs
//! page follow from it. A new trace format is one file in `trace/` and one line of the list there. What is
//! asked of an index is in [`keys`], with a list of its own.

mod error;
#[macro_use]
mod mix;
pub mod hot_cold;
pub mod keys;
mod permutation;
mod quantity;
pub mod sequential;
mod size;
mod suggest;
pub mod trace;
pub mod uniform;
pub mod zipf;

pub use error::WorkloadError;
pub use mix::{Footprint, Mix};
pub use permutation::Permutation;
pub use quantity::ByteCount;
pub use size::{Size, SizeRange, WeightedSize};
pub use suggest::nearest;

use nandlab_block::Request;
use std::path::Path;

/// A stream of requests, a batch at a time.
///
/// Every request lies inside the device that the workload was opened for, and times never decrease.
pub trait Workload: Send {
    /// Appends at most `room` requests to `batch` and returns how many; 0 is the end of the stream.
    ///
    /// # Errors
    /// [`WorkloadError`], where a trace changed or became unreadable after it was opened.
    fn fill(&mut self, batch: &mut Vec<Request>, room: usize) -> Result<usize, WorkloadError>;

    /// Requests in all, where that is known; for progress, not for results.
    fn len_hint(&self) -> Option<u64>;

    /// Sectors that they read, write and trim together, about, where that is known; for progress, not for results.
    fn sectors_hint(&self) -> Option<u64> {
        None
    }

    /// What of it was set aside so far, in sentences for the reader of a result.
    fn notices(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What a workload is opened for.
pub struct Setting<'a> {
    /// Sectors of the device.
    pub sectors: u64,
    /// Seed of the experiment.
    pub seed: u64,
    /// Folder that relative paths start from.
    pub base: &'a Path,
    /// Told of the records read so far while a trace is looked through; `false` stops that.
    pub watch: &'a (dyn Fn(u64) -> bool + Sync),
}

impl std::fmt::Debug for Setting<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Setting {{ sectors: {}, seed: {}, base: {:?} }}", self.sectors, self.seed, self.base)
    }
}

/// The options of a `[workload.<name>]` table.
pub trait Options {
    /// Checks what can be checked without a device.
    ///
    /// # Errors
    /// [`WorkloadError::Option`] with the key, what was given and what is allowed.
    fn check(&self) -> Result<(), WorkloadError>;

    /// Makes the stream of requests.
    ///
    /// # Errors
    /// As [`Self::check`]; [`WorkloadError::TooSmall`]; for traces also what is wrong with the file.
    fn open(&self, setting: &Setting<'_>) -> Result<Box<dyn Workload>, WorkloadError>;

    /// Whether the requests carry times of their own, as an open loop needs.
    fn has_times(&self) -> bool;
}

/// An entry of the list of workloads.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name in `[workload.<name>]`.
    pub name: &'static str,
    /// The source file, whose head comment is the docs page.
    pub source: &'static str,
    /// The schema of its options.
    pub options: fn() -> schemars::Schema,
}

/// Makes the configuration and the list of every workload from one line each.
macro_rules! workloads {
    ($($(#[$doc:meta])* $variant:ident($module:ident), $file:literal;)*) => {
        /// The `[workload.<name>]` table of an experiment: which workload, with its options.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum WorkloadConfig {
            $($(#[$doc])* $variant($module::Config),)*
        }

        impl WorkloadConfig {
            /// The name of the chosen workload.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => stringify!($module),)* }
            }

            /// The options of the chosen workload.
            pub fn options(&self) -> &dyn Options {
                match self { $(Self::$variant(config) => config,)* }
            }
        }

        /// Every workload.
        pub const LIST: &[Entry] = &[
            $(Entry {
                name: stringify!($module),
                source: include_str!($file),
                options: || schemars::schema_for!($module::Config),
            },)*
        ];
    };
}

workloads! {
    /// One request after the other, from the start of the footprint to its end, again and again.
    Sequential(sequential), "sequential.rs";
    /// Every address equally often.
    Uniform(uniform), "uniform.rs";
    /// The k-th most popular address with a frequency proportional to 1 / k^theta.
    Zipf(zipf), "zipf.rs";
    /// A few addresses take most of the accesses.
    HotCold(hot_cold), "hot_cold.rs";
    /// Requests that were recorded.
    Trace(trace), "trace/mod.rs";
}
