//! Tests that start programs, which inherit the locks of open images for a moment: tests of images are apart.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

mod programs;
#[path = "../all/support/mod.rs"]
mod support;
mod volumes;
