//! The tests of the flash devices, in one executable.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

mod aging;
mod backed;
mod damaged;
mod faulty;
mod nvm;
mod paired_pages;
mod power_cut;
mod regular;
mod rules;
mod support;
mod timed;
mod traced;
mod weak_pages;
