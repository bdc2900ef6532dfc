//! The file systems on bare flash, against a plain model: random operations with mounts, faults and power
//! cuts.

mod collection;
mod cuts;
mod damage;
mod holes;
mod model;
mod mounts;
mod operations;
mod phone;
mod rig;
