//! Mechanism that FTLs share; decisions are in the FTLs and in victim policies.

pub mod block_mapped;
pub mod block_table;
pub mod frontier;
mod scan;
pub mod store;
pub mod victim;
