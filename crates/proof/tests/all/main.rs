//! The comparisons with the plain model and the house rules, in one executable.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

mod below;
mod buffers;
mod conformance;
mod damage;
mod differential;
mod early;
mod faults;
mod foreign;
mod fuzz;
mod golden;
mod index;
mod lsm;
mod lsm_faults;
mod model;
mod pairs;
mod power_cut;
mod subjects;
mod tidy;
mod unstable;
mod weak_dies;
mod wrappers;
