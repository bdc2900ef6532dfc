//! File systems against a plain model, against programs that others wrote, and over translation layers.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

mod conformance;
mod cuts;
mod disk;
mod model;
mod requests;
mod tools;
