//! Host workloads: generators for request streams, and readers for block traces.
//!
//! Read this file first: [`Workload`] is the contract, and the list is at the end. A new workload is one new file and
//! one line in the list; the configuration, `nandlab list`, the Python class and the docs page follow from it. A new
//! trace format is one file in `trace/` and one line in its list. Index workloads, with operations on keys instead of
//! requests, are in [`keys`] and on the same list; so are file system workloads, in [`files`].

mod error;
#[macro_use]
mod mix;
pub mod cachelib;
pub mod files;
pub mod fio;
pub mod hot_cold;
pub mod keys;
mod origins;
mod permutation;
mod placement;
pub mod sequential;
mod size;
pub mod tenants;
pub mod trace;
pub mod uniform;
pub mod zipf;

pub use error::WorkloadError;
pub use files::FileOptions;
pub use keys::KeyOptions;
pub use mix::{Footprint, Mix};
pub use nandlab_block::{nearest, ByteCount};
pub use permutation::Permutation;
pub use placement::Placement;
pub use size::{Size, SizeRange, WeightedSize};

use nandlab_block::{Completion, Op, Queues, Request, ZoneShape};
use nandlab_nand::{Origin, PlacementIds, Time};

use std::path::Path;
use trace::Took;

/// A request stream, a batch at a time.
///
/// Every request lies inside the device the workload was opened for, and times never decrease.
pub trait Workload: Send {
    /// Appends at most `room` requests to `batch` and returns the count; 0 ends the stream.
    ///
    /// # Errors
    /// [`WorkloadError`], if a trace changed or became unreadable after it was opened.
    fn fill(&mut self, batch: &mut Vec<Request>, room: usize) -> Result<usize, WorkloadError>;

    /// Total requests, if known; for progress, not for results.
    fn len_hint(&self) -> Option<u64>;

    /// Sectors read, written and trimmed in total, about, if known; for progress, not for results.
    fn sectors_hint(&self) -> Option<u64> {
        None
    }

    /// Leaves out the next requests, as if they were never asked, and returns how much later the next one comes. Choices
    /// that go from one request to the next, such as a position, stand still meanwhile.
    ///
    /// `None`, and nothing is left out, if the requests behind would no longer be those of the workload.
    fn leave_out(&mut self, _requests: u64) -> Option<Time> {
        None
    }

    /// The part that was handed out, 0 to 1, where a time and no count ends the workload; for progress, not for results.
    fn done_share(&self) -> Option<f64> {
        None
    }

    /// Takes the completions for the last [`Self::fill`], in order; only if [`Options::paces_itself`].
    fn completed(&mut self, _: &[Completion]) {}

    /// The last request of [`Self::fill`] failed, which is said before its end; only if [`Options::paces_itself`].
    fn failed(&mut self) {}

    /// As [`Self::failed`], behind a queue, where the request is known by its number ([`Self::ended`]).
    fn lost(&mut self, _number: u64) {
        self.failed();
    }

    /// Announces later ends, by [`Self::ended`]; only if [`Options::paces_itself`].
    fn tells_later(&mut self) {}

    /// The next request's time, if known; `None` until another request ends.
    fn next_time(&self) -> Option<Time> {
        None
    }

    /// The request with this number ended; they are counted from 0 since [`Self::tells_later`].
    fn ended(&mut self, _number: u64, _end: Time) {}

    /// How long the last request of [`Self::fill`] stood in a submission queue; its time is when it left the queue.
    fn waited(&self) -> Time {
        0
    }

    /// Names for its requests' origins without a fixed name ([`Origin::NAMES`]).
    fn origins(&self) -> Vec<(Origin, String)> {
        Vec::new()
    }

    /// Things ignored so far, in sentences for a result's reader.
    fn notices(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Setting for opening a workload.
pub struct Setting<'a> {
    /// Device sectors.
    pub sectors: u64,
    /// The experiment's seed.
    pub seed: u64,
    /// Folder for relative paths.
    pub base: &'a Path,
    /// Gets the records read so far while a trace is examined; `false` stops the examination.
    pub watch: &'a (dyn Fn(u64) -> bool + Sync),
    /// Gets each trace request's recorded duration, if the trace has durations.
    pub took: Option<&'a dyn Fn(Op, Took)>,
    /// How the controller takes commands from submission queues; only tenants have them.
    pub queues: Queues,
    /// The device's placement identifiers; `None` if its FTL knows none.
    pub placements: Option<PlacementIds>,
    /// The device's zones; `None` if its host sees none.
    pub zones: Option<ZoneShape>,
}

impl std::fmt::Debug for Setting<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Setting {{ sectors: {}, seed: {}, base: {:?} }}", self.sectors, self.seed, self.base)
    }
}

/// The options of a `[workload.<name>]` table.
pub trait Options {
    /// Checks the options without a device.
    ///
    /// # Errors
    /// [`WorkloadError::Option`] with the key, the given value and the allowed ones.
    fn check(&self) -> Result<(), WorkloadError>;

    /// Makes the request stream.
    ///
    /// # Errors
    /// As [`Self::check`]; [`WorkloadError::TooSmall`]; for traces also errors in the file.
    fn open(&self, setting: &Setting<'_>) -> Result<Box<dyn Workload>, WorkloadError>;

    /// Whether the requests carry their own times, as an open loop needs.
    fn has_times(&self) -> bool;

    /// Whether the workload itself is the host: it sets its requests' times, once [`Workload::completed`] told how the
    /// earlier ones went.
    fn paces_itself(&self) -> bool {
        false
    }
}

/// A workload's options, by the target.
#[derive(Clone, Copy)]
pub enum Kind<'a> {
    /// Requests to a device.
    Requests(&'a dyn Options),
    /// Operations on an index's keys.
    Keys(&'a dyn KeyOptions),
    /// Operations on a file system's files.
    Files(&'a dyn FileOptions),
}

impl Kind<'_> {
    /// Checks the options without a device and without files.
    ///
    /// # Errors
    /// [`WorkloadError::Option`].
    pub fn check(&self) -> Result<(), WorkloadError> {
        match self {
            Self::Requests(options) => options.check(),
            Self::Keys(options) => options.check(),
            Self::Files(options) => options.check(),
        }
    }
}

impl std::fmt::Debug for Kind<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Requests(_) => "Requests",
            Self::Keys(_) => "Keys",
            Self::Files(_) => "Files",
        })
    }
}

/// A workload's target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asks {
    /// Device sectors.
    Requests,
    /// Index keys.
    Keys,
    /// Files in a file system.
    Files,
}

impl Asks {
    /// The word for it in lists and messages.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Requests => "sectors",
            Self::Keys => "keys",
            Self::Files => "files",
        }
    }
}

/// An entry in the workload list.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name in `[workload.<name>]`.
    pub name: &'static str,
    /// The source file, whose head comment is the docs page.
    pub source: &'static str,
    /// Its target.
    pub asks: Asks,
    /// Its option schema.
    pub options: fn() -> schemars::Schema,
}

/// Makes the configuration and the list from one line per workload.
macro_rules! workloads {
    ($($(#[$doc:meta])* $kind:ident $variant:ident($($module:ident)::+), $name:literal, $file:literal;)*) => {
        /// The `[workload.<name>]` table of an experiment: which workload, with its options.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum WorkloadConfig {
            $($(#[$doc])* #[serde(rename = $name)] $variant($($module)::+::Config),)*
        }

        impl WorkloadConfig {
            /// The chosen workload's name.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }

            /// The chosen workload's options, by target.
            pub fn kind(&self) -> Kind<'_> {
                match self { $(Self::$variant(config) => Kind::$kind(config),)* }
            }
        }

        /// Every workload.
        pub const LIST: &[Entry] = &[
            $(Entry {
                name: $name,
                source: include_str!($file),
                asks: Asks::$kind,
                options: || schemars::schema_for!($($module)::+::Config),
            },)*
        ];
    };
}

workloads! {
    /// One request after the other, from the start of the footprint to its end, again and again.
    Requests Sequential(sequential), "sequential", "sequential.rs";
    /// Every address equally often.
    Requests Uniform(uniform), "uniform", "uniform.rs";
    /// The k-th most popular address with a frequency proportional to 1 / k^theta.
    Requests Zipf(zipf), "zipf", "zipf.rs";
    /// A few addresses take most of the accesses.
    Requests HotCold(hot_cold), "hot_cold", "hot_cold.rs";
    /// What a flash cache writes: buckets of small objects at random, large objects in order.
    Requests Cachelib(cachelib), "cachelib", "cachelib.rs";
    /// Several jobs at once, as a job file of fio describes them.
    Requests Fio(fio), "fio", "fio/mod.rs";
    /// Several tenants, each with submission queues and a workload of its own.
    Requests Tenants(tenants), "tenants", "tenants/mod.rs";
    /// Requests that were recorded.
    Requests Trace(trace), "trace", "trace/mod.rs";
    /// Keys are inserted: at random, in order, or skewed.
    Keys Inserts(keys::inserts), "inserts", "keys/inserts.rs";
    /// The core workloads A to F of the Yahoo! Cloud Serving Benchmark.
    Keys Ycsb(keys::ycsb), "ycsb", "keys/ycsb.rs";
    /// A bulk load in the order of keys, then updates.
    Keys LoadUpdate(keys::load_update), "load_update", "keys/load_update.rs";
    /// Operations on keys that were recorded.
    Keys Keys(keys::trace), "keys", "keys/trace.rs";
    /// Small files as a mail server has them, created, read, appended to and deleted.
    Files Postmark(files::postmark), "postmark", "files/postmark.rs";
    /// A directory is made and filled with small files, then emptied and removed.
    Files Directories(files::directories), "directories", "files/directories.rs";
    /// A large file is written from start to end, then deleted.
    Files LargeFiles(files::large_files), "large_files", "files/large_files.rs";
    /// Calls and messages of a cell phone.
    Files Phone(files::phone), "phone", "files/phone.rs";
    /// Faxes arrive, wait, and go when they are delivered.
    Files Fax(files::fax), "fax", "files/fax.rs";
    /// Events are logged, and now and then a setting is changed.
    Files EventRecorder(files::event_recorder), "event_recorder", "files/event_recorder.rs";
    /// Photographs are taken, reviewed, in part deleted, and copied off the card.
    Files Camera(files::camera), "camera", "files/camera.rs";
    /// Operations on files that were recorded.
    Files Files(files::trace), "files", "files/trace.rs";
}
