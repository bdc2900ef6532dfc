//! A page that shows a disk at work, in a browser on this machine.
//!
//! ## Idea
//! `/` is one self-contained page. It listens to `/events`, where a frame comes four times a second: the figures, and the
//! blocks that changed since the frame before. `/record` has the record so far as JSON, `/metrics` the counters as
//! Prometheus reads them. The server listens on a loopback address or a Unix socket and on nothing else. It answers
//! requests for this machine alone, so no page from elsewhere can read the figures through a browser.

mod metrics;
mod server;

pub use server::{Page, PageError};

use serde_json::Value;

/// A block as the page shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// What it is used for.
    pub kind: Kind,
    /// Its valid pages.
    pub valid: u32,
    /// Its P/E cycles.
    pub pe_cycles: u32,
}

/// What a block is used for; the numbers are those of the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It can be filled.
    Free = 0,
    /// It holds data of the host.
    Data = 1,
    /// It holds a map, lists or notes of the FTL.
    Map = 2,
    /// It is bad.
    Retired = 3,
    /// It is a log, a mirror or a replacement of data blocks.
    Log = 4,
}

/// A disk as it is now.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The figures, with the names of the record.
    pub figures: Value,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Every block, by address.
    pub blocks: Vec<Block>,
}

/// What the page shows.
pub trait Watched: Send + Sync {
    /// The disk as it is now.
    fn snapshot(&self) -> Snapshot;

    /// The record so far.
    fn record(&self) -> Value;
}
