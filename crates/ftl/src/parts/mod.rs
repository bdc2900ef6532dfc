//! Mechanism that FTLs share; decisions are in the FTLs and in victim policies.

pub mod block_mapped;
pub mod blocks;
pub(crate) mod bound_logs;
pub(crate) mod copies;
pub(crate) mod flash_map;
pub(crate) mod merge_buffer;
pub(crate) mod newest;
pub(crate) mod partial;
pub mod placement;
pub mod sectored;
pub mod store;
pub(crate) mod trim_note;
pub(crate) mod trim_notes;
pub mod victim;
pub mod wear;
