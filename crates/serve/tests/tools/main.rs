//! Tests that start programs; these inherit open images' locks for a moment, so image tests are apart.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

mod programs;
#[path = "../all/support/mod.rs"]
mod support;
mod volumes;
