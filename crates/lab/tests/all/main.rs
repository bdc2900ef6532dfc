//! The tests of experiments, in one executable.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

mod amounts;
mod catalogue;
mod clock;
mod config;
mod depth;
mod depth_model;
mod directory;
mod endings;
mod energy;
mod files;
mod fio_zones;
mod host;
mod index;
mod inside;
mod lifetimes;
mod limits;
mod lsm;
mod map_caches;
mod notices;
mod oracle;
mod pairs;
mod path;
mod precondition;
mod reliability;
mod run;
mod sampled;
mod slc;
mod state;
mod steady;
mod support;
mod tenants;
mod tenants_above;
mod tenants_limits;
mod tenants_zones;
mod ways_out;
mod zones;
