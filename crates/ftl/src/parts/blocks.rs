//! Blocks of a device: who has them, and what is known of each.

pub(crate) mod area;
pub(crate) mod counts;
pub mod frontier;
pub(crate) mod keeper;
mod minimum;
mod order;
pub(crate) mod scan;
pub mod table;
