//! An index on a block device, with real bytes: a B+tree ([`btree`]) over a buffer pool ([`pool`]), or an LSM tree
//! ([`lsm`]).
//!
//! The device below may be a file system's, a buffer, or an FTL on NAND; a [`nandlab_block::Mirror`] keeps the bytes
//! for a counting device. Every request carries its page's origin: leaf, inner page, root or header. [`IndexConfig`] is
//! an experiment's index table; [`LIST`] lists all indexes.

pub mod btree;
mod error;
mod index;
pub mod lsm;
mod options;
pub mod pool;

pub use btree::{Config, Records, Tree};
pub use error::IndexError;
pub use index::{AnyIndex, Index};
pub use options::{IndexConfig, Layout, Options};
pub use pool::{Budget, Pool, Replacement, WriteBack};

/// An entry in the index list.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name in `[index.<name>]`.
    pub name: &'static str,
    /// The source file, whose head comment is the docs page.
    pub source: &'static str,
    /// The paper or book it comes from, short.
    pub paper: &'static str,
    /// Its option schema.
    pub options: fn() -> schemars::Schema,
}

/// Every index.
pub const LIST: &[Entry] = &[
    Entry {
        name: "btree",
        source: include_str!("btree.rs"),
        paper: "Bayer and McCreight 1972",
        options: || schemars::schema_for!(Options),
    },
    Entry {
        name: "lsm",
        source: include_str!("lsm.rs"),
        paper: "O'Neil et al. 1996",
        options: || schemars::schema_for!(lsm::Options),
    },
];
