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
//! Beside them: [`papers`], [`lists`] with everything that has a name, [`traces`] (examined without a run), and
//! [`bench`].

pub mod bench;
pub mod bundled;
pub mod config;
mod control;
mod error;
mod latency;
pub mod lists;
pub mod memories;
pub mod papers;
pub mod profiles;
pub mod record;
mod run;
pub mod served;
pub mod stack;
pub mod traces;

pub use control::{Control, Phase};
pub use error::{ConfigError, LabError, TraceError};
pub use run::{inspect, run, Outputs};
