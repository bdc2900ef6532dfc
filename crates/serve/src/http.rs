//! A live page for a disk at work, in a browser on this machine.
//!
//! ## Idea
//! `/` is one self-contained page. It listens to `/events`; a frame comes four times a second, with the figures and the
//! blocks changed since the previous frame. `/record` has the record so far as JSON, `/metrics` the counters for
//! Prometheus. The server listens only on a loopback address or a Unix socket. It answers requests for this machine
//! alone, so no page from elsewhere can read the figures through a browser. A connection carries one request without a
//! body, and has limits for its time and length.

mod metrics;
mod request;
mod server;

pub use server::{Page, PageError};

use serde_json::Value;

/// A block as the page shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// Its use.
    pub kind: Kind,
    /// Its valid pages.
    pub valid: u32,
    /// Its P/E cycles.
    pub pe_cycles: u32,
}

/// A block's use; the page has the same numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It can be filled.
    Free = 0,
    /// It holds host data.
    Data = 1,
    /// It holds an FTL's map, lists or notes.
    Map = 2,
    /// It is bad.
    Retired = 3,
    /// It is a log, a mirror or a replacement for data blocks.
    Log = 4,
}

/// A disk as it is now.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The figures, with the record's names.
    pub figures: Value,
    /// Pages in a block.
    pub pages_per_block: u32,
    /// Every block, by address.
    pub blocks: Vec<Block>,
}

/// The page's data source.
pub trait Watched: Send + Sync {
    /// The disk as it is now.
    fn snapshot(&self) -> Snapshot;

    /// The record so far.
    fn record(&self) -> Value;
}
