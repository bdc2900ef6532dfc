//! A device's blocks: their owners and their state.

pub(crate) mod area;
pub(crate) mod counts;
pub mod frontier;
pub(crate) mod keeper;
mod minimum;
mod order;
pub(crate) mod pool_blocks;
pub(crate) mod scan;
mod shelf;
pub mod table;
