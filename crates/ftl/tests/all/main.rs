//! The tests of the translation layers, in one executable.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

mod flushes;
mod gaps;
mod healthy;
mod migration_regret;
mod page;
mod planes;
mod pools;
mod refresh;
mod rhythm;
mod slc;
mod theory;
