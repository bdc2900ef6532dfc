//! Disk and protocol tests that start no other program, in one executable.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

mod control;
mod damage;
mod disk;
mod faults;
mod http;
mod limits;
mod nvme;
mod protocol;
mod random;
mod stale;
mod support;
mod vanished;
