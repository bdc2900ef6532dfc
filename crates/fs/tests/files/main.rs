//! File systems against a plain model, against other programs, and on FTLs.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

mod conformance;
mod cuts;
mod disk;
mod model;
mod requests;
mod tools;
