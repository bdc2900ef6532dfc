//! An index on a block device: a B+tree ([`btree`]) over a buffer pool ([`pool`]), with real bytes.
//!
//! The device below may be a file system's, a buffer, or an FTL on NAND; a [`Mirror`] keeps the bytes for one that only
//! counts. Every request carries the origin of its page: leaf, inner page, root or header.

pub mod btree;
mod error;
mod mirror;
pub mod pool;

pub use btree::{Config, Records, Tree};
pub use error::IndexError;
pub use mirror::{Blank, Mirror};
pub use pool::{Budget, Pool, Replacement, WriteBack};
