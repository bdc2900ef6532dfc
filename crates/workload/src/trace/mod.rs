//! Trace: requests that were recorded.
//!
//! ## Idea
//! A file's records are played in order, once or `repeat` times. The format is told from the contents, or forced with
//! `format` (`nandlab list traces`); files packed with gzip, zstd or tar are read directly. The file is read through once
//! before the run: this finds a malformed record, an address beyond the device or a damaged file before the simulation
//! starts. The requests stay in memory for the run (`kept.rs`) unless they are too many; then the file is read again, by a
//! separate thread that reads ahead.
//!
//! ## Differences
//! A trace with several devices is refused until one is chosen or they are laid side by side. Each repetition starts
//! one mean request gap after the previous end, so times never decrease. Times count only with `host.arrival =
//! "recorded"`; otherwise requests come as fast as the device takes them.

mod action;
mod addresses;
mod alibaba;
mod behind;
mod biotracer;
mod blkparse;
mod cells;
mod clock;
mod column_options;
mod columns;
mod continued;
mod csv;
mod detect;
mod devices;
mod disksim;
mod etw;
pub(crate) mod fields;
mod fio;
mod fiu;
mod flashsim;
mod foreign;
mod format;
mod ftrace;
mod guess;
mod kept;
mod line;
pub(crate) mod lines;
mod mqsim;
mod msr;
mod native;
mod nbdkit;
mod objects;
mod pixel;
mod plan;
mod play;
mod qemu;
mod records;
mod rwbs;
mod spc;
mod ssdsim;
mod summary;
mod tally;
mod tar;
mod tencent;
mod times;
pub(crate) mod unpack;
mod vscsi;
mod vscsi2;
mod wiscsee;
mod words;
mod write;

pub use action::Action;
pub use addresses::{Addresses, TouchedPages};
pub use column_options::{Column, ColumnOptions, DeviceColumns, Separator};
pub use fields::TimeUnit;
pub use format::{Entry, Format, FormatName, ReaderOptions, FORMATS};
pub use kept::Sharing;
pub use line::{Found, Frame, Line, Malformed, Took};
pub use records::Records;
pub use summary::{DeviceSummary, PlacementSummary, Summary};
pub use tally::Tally;
pub use write::{Output, OutputFormat};

use crate::{Options, Setting, Workload, WorkloadError};
use plan::Plan;
use play::Player;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// What is done with a record that is not what the format says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// The trace is refused, with the place and what was expected.
    #[default]
    Stop,
    /// It is passed over and counted.
    Skip,
}

/// What is done with a record whose time is before that of the record before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unsorted {
    /// It counts as malformed.
    Reject,
    /// It is taken at the time of the record before, and counted.
    Raise,
}

/// What is done where the clock of the recorded system was set: a time that is behind by more than 1 s, or ahead by more
/// than 100 days.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClockJumps {
    /// The median of the gaps before takes the place of the jump.
    Mend,
    /// Times stay as they are; those that go back are as `unsorted` says.
    Keep,
}

/// The key that has a trace's lines.
pub(crate) const TEXT: &str = "workload.trace.text";

/// Options of `[workload.trace]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The file; a relative path starts at the folder of the experiment. `bundled:sqlite-rollback` and `bundled:sqlite-wal`
    /// are the traces of workloads/sqlite, which come with the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The trace's lines, in place of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// How the file is written.
    #[serde(default)]
    pub format: FormatName,
    /// Which action of a block trace (`blkparse`, `ftrace`, `wiscsee`) is the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// The unit of times, where it is not that of the format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_unit: Option<TimeUnit>,
    /// The columns of the format `columns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<Box<ColumnOptions>>,
    /// What is done with malformed records: `stop` or `skip`.
    #[serde(default)]
    pub on_error: OnError,
    /// What is done with times that go back: `reject` or `raise`; as is usual for the format unless it is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsorted: Option<Unsorted>,
    /// What is done where the clock was set: `mend` or `keep`; logs of real systems are mended unless this
    /// or `unsorted` is set, inputs of simulators and the project's own formats are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_jumps: Option<ClockJumps>,
    /// The device whose requests are played, by its name in the file; a number needs no quotes.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "name")]
    #[schemars(with = "Option<String>")]
    pub device: Option<String>,
    /// The file of a tar archive of several that is the trace, by its name in the archive.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "name")]
    #[schemars(with = "Option<String>")]
    pub member: Option<String>,
    /// Lays the devices of the trace one behind the other, in the order in which they first occur.
    #[serde(default)]
    pub side_by_side: bool,
    /// What is done with addresses beyond the device: `reject`, `fold` or `compact`.
    #[serde(default)]
    pub addresses: Addresses,
    /// Times are multiplied with this; 0.5 is twice as fast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_scale: Option<f64>,
    /// Longer pauses between two requests are cut to so many seconds, before times are scaled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_gap_s: Option<f64>,
    /// How often the trace is played.
    #[serde(default = "once")]
    pub repeat: u64,
    /// Only this many requests from the start of the trace, each time it is played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
}

/// A name, even if it looks like a number.
fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    struct Name;

    impl Visitor<'_> for Name {
        type Value = Option<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a name in quotes, or a whole number")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
            Ok(Some(text.to_owned()))
        }

        fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
            Ok(Some(number.to_string()))
        }

        fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
            Ok(Some(number.to_string()))
        }

        fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
    }
    deserializer.deserialize_any(Name)
}

fn once() -> u64 {
    1
}

impl Config {
    /// The whole trace at `path`, once.
    pub fn new(path: &str) -> Self {
        Self {
            path: Some(path.to_owned()),
            text: None,
            format: FormatName::default(),
            action: None,
            time_unit: None,
            columns: None,
            on_error: OnError::default(),
            unsorted: None,
            clock_jumps: None,
            device: None,
            member: None,
            side_by_side: false,
            addresses: Addresses::default(),
            time_scale: None,
            longest_gap_s: None,
            repeat: 1,
            requests: None,
        }
    }

    /// The file, or the key that has the lines in its place: for messages.
    pub fn source(&self, base: &Path) -> String {
        match self.text {
            None => self.file(base).display().to_string(),
            Some(_) => TEXT.to_owned(),
        }
    }

    fn file(&self, base: &Path) -> PathBuf {
        base.join(self.path.as_deref().unwrap_or_default())
    }

    /// The file's records in order, with their addresses on their devices.
    ///
    /// # Errors
    /// [`WorkloadError::Option`]; [`WorkloadError::File`] or [`WorkloadError::Record`] if its start is wrong.
    pub fn records(&self, base: &Path) -> Result<Records, WorkloadError> {
        self.check()?;
        Records::open(self, base)
    }

    /// Reads the trace through and counts.
    ///
    /// # Errors
    /// As [`Self::records`]; [`WorkloadError::Stopped`] if `watch` returns `false`.
    pub fn summary(&self, base: &Path, watch: &(dyn Fn(u64) -> bool + Sync)) -> Result<Summary, WorkloadError> {
        Summary::of(&mut self.records(base)?, watch, |_, _, _| {})
    }

    /// Refuses a trace without a request.
    ///
    /// # Errors
    /// [`WorkloadError::File`] with the reason and advice.
    pub fn check_requests(&self, base: &Path, summary: &Summary) -> Result<(), WorkloadError> {
        summary.check_requests(self, base)
    }

    /// Refuses a trace with several devices if none was chosen.
    ///
    /// # Errors
    /// [`WorkloadError::File`] with the devices and the ways out.
    pub fn check_devices(&self, base: &Path, summary: &Summary) -> Result<(), WorkloadError> {
        summary.check_devices(self, base)
    }
}

impl Options for Config {
    fn check(&self) -> Result<(), WorkloadError> {
        let path = self.path.as_deref().unwrap_or_default();
        match (&self.path, &self.text) {
            (Some(_), Some(_)) => {
                let why = "the lines are in workload.trace.text already; leave one of the two out";
                return Err(WorkloadError::option("path", &path, why));
            }
            (None, Some(_)) => {
                if let Some(member) = &self.member {
                    let why = "it chooses a file in an archive, and workload.trace.text is none";
                    return Err(WorkloadError::option("member", member, why));
                }
            }
            (_, None) if path.is_empty() => {
                let why = "expected the path of a trace, or its lines in workload.trace.text";
                return Err(WorkloadError::option("path", &"\"\"", why));
            }
            (_, None) => {}
        }
        if self.repeat == 0 {
            return Err(WorkloadError::option("repeat", &0, "a trace is played at least once"));
        }
        if self.requests == Some(0) {
            return Err(WorkloadError::option("requests", &0, "at least one request is played"));
        }
        if self.device.is_some() && self.side_by_side {
            let why = "with workload.trace.device one device is played, and there is nothing to lay beside it";
            return Err(WorkloadError::option("side_by_side", &true, why));
        }
        if self.format == FormatName::Columns && self.columns.is_none() {
            let why =
                "it needs the table [workload.trace.columns] with at least op, address, and size or fixed_size_bytes";
            return Err(WorkloadError::option("format", &"columns", why));
        }
        if let (Some(columns), FormatName::Columns) = (&self.columns, self.format) {
            columns.check()?;
        } else if self.columns.is_some() {
            let why = "they are read only with format = \"columns\"";
            return Err(WorkloadError::option("columns", &"a table", why));
        }
        for (key, value, most) in [("time_scale", self.time_scale, 1e6), ("longest_gap_s", self.longest_gap_s, 9e9)] {
            if value.is_some_and(|value| !(value >= 0.0 && value <= most)) {
                let why = format!("expected a number from 0 to {most}");
                return Err(WorkloadError::option(key, &value.unwrap_or_default(), why));
            }
        }
        Ok(())
    }

    fn open(&self, setting: &Setting<'_>) -> Result<Box<dyn Workload>, WorkloadError> {
        self.check()?;
        let plan = Plan {
            config: self.clone(),
            base: setting.base.to_owned(),
            capacity: setting.sectors,
            most_kept: kept::MOST_BYTES,
        };
        Ok(Box::new(Player::open(plan, setting.watch, setting.took)?))
    }

    fn has_times(&self) -> bool {
        true
    }
}
