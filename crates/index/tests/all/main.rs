//! The index tests, in one executable.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

mod cuts;
mod lsm;
mod pool;
mod theory;
mod tree;
