//! The tests of the file systems, in one executable.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

mod files;
mod flash;
