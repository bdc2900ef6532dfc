//! The tests of the write buffers, in one executable.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

mod common;
mod conformance;
mod golden;
mod power_cut;
mod reference;
mod worked;
