//! The tests of the workloads and of the readers of traces, in one executable.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

mod cachelib;
mod files;
mod fio;
mod fio_course;
mod fio_itself;
mod fio_passes;
mod fio_placing;
mod fio_random;
mod fio_verify;
mod fio_zones;
mod formats;
mod generators;
mod keys;
mod placed;
mod postmark;
mod support;
mod trace;
