//! The laboratory: an experiment is read, checked, assembled, run and measured.
//!
//! [`config::Experiment`] is the whole TOML; [`run`] turns it into a [`record::Record`].

pub mod bench;
mod build;
pub mod bundled;
pub mod config;
mod contents;
mod control;
mod engine;
mod error;
mod files;
mod fitted;
mod inspect;
mod keys;
mod latency;
pub mod lists;
pub mod memories;
mod memory;
mod meter;
mod mounts;
mod notices;
mod on_directory;
mod on_flash;
mod oplog;
pub mod papers;
mod precondition;
pub mod profiles;
pub mod record;
mod run;
mod series;
mod source;
mod state;
mod steady;
pub mod traces;
mod verify;

pub use control::{Control, Phase};
pub use error::{ConfigError, LabError, TraceError};
pub use inspect::inspect;
pub use run::{run, Outputs};
