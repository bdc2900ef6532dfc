//! These tests kill one process. Other tests' programs would inherit its image locks, so it is alone.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

mod counts;
mod fio;
mod kill;
mod sqlite;
#[path = "../all/support/mod.rs"]
mod support;
