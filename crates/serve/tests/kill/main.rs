//! A process of these tests is killed. Programs of other tests would inherit the locks of its images: it is alone.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

mod counts;
mod kill;
#[path = "../all/support/mod.rs"]
mod support;
