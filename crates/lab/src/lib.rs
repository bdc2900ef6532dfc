//! The laboratory: reads, checks, assembles, runs and measures an experiment.
//!
//! Rooms; each sees only the rooms above it in this list:
//!
//! * [`bundled`], [`profiles`], [`memories`]: files that come with the program.
//! * [`config`]: an experiment's text as a checked description.
//! * [`stack`]: the description as a running stack: device, FTL, buffer, or a file system on bare flash.
//! * [`record`]: a run's result; `latency`: histograms for request latencies.
//! * [`run`](run()): precondition, play, measure.
//! * [`served`]: a device in an image that programs use.
//!
//! Beside them: [`json`], [`papers`], [`lists`] with everything that has a name, [`traces`] (examined without a run), and
//! [`bench`].

pub mod bench;
pub mod bundled;
pub mod config;
mod control;
mod error;
pub mod json;
mod latency;
pub mod lists;
pub mod memories;
pub mod own;
pub mod papers;
pub mod profiles;
pub mod record;
mod run;
pub mod served;
pub mod stack;
pub mod traces;

pub use control::{Control, Phase};
pub use error::{ConfigError, LabError, TraceError};
pub use nandlab_block::{byte_units, ByteCount};
pub use run::{inspect, run, Outputs};
pub use stack::timeline::Window;

/// What the tests of this crate look into: not meant for others, and nothing here is kept stable.
///
/// A test in `src` would make cargo compile this crate a second time, so unit tests are in `tests/all/inside`, too. What they
/// need beyond these items is public where it stands, and hidden.
#[doc(hidden)]
pub mod inside {
    pub use crate::config::advice::least;
    pub use crate::config::footprint::{available_bytes, needed_bytes, too_large};
    pub use crate::config::tree::{Part, Tree};
    pub use crate::config::typed::typed;
    pub use crate::latency::{LatencyMeter, RecordedMeter};
    pub use crate::record::blocks::MOST_GROUPS;
    pub use crate::record::recycling::Line;
    pub use crate::record::sampled::{estimate, has_trend, student_t, Sampled, SampledRecord, WindowFigures};
    pub use crate::run::contents::Contents;
    pub use crate::run::meter::Pace;
    pub use crate::run::notices::fell_behind;
    pub use crate::run::precondition::Preconditioning;
    pub use crate::run::series::{Below, Series, MAX_SAMPLES};
    pub use crate::run::state::difference::{difference, toml};
    pub use crate::run::steady::{gathered, is_steady, on_their_way, Seen, Window};
    pub use crate::served::lifetime::LifetimeCell;
    pub use crate::stack::new_file::{cannot_write, Finish};
    pub use crate::stack::verify::Oracle;
    pub use crate::traces::heat::{Heat, CHUNK};
}
