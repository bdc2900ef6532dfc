//! Mechanism that FTLs share; decisions are in the FTLs and in victim policies.

pub(crate) mod area;
pub(crate) mod banks;
pub mod block_mapped;
pub(crate) mod block_scan;
pub mod block_table;
pub(crate) mod bound_logs;
mod closing_order;
pub(crate) mod copies;
pub(crate) mod erase;
pub mod frontier;
pub(crate) mod merge_buffer;
pub(crate) mod newest;
pub(crate) mod paged_map;
pub(crate) mod partial;
pub mod placement;
pub(crate) mod pool;
mod scan;
pub mod sectored;
pub mod store;
pub(crate) mod trim_note;
pub(crate) mod trim_notes;
pub(crate) mod valid_counts;
pub mod victim;
pub mod wear;
