//! BPLRU: evicts the least recently written block, as a whole block.
//!
//! ## Idea
//! A log-block FTL can take a block by a switch if all of it is written in order. So BPLRU pads the victim
//! with its missing pages, read from flash, and writes it from its first page to its last.
//!
//! ## Write path
//! Blocks are in a list by last write; a write moves its whole block to the front. A block written in order
//! from its first sector to its last will not be written again soon, so it moves to the end (LRU
//! compensation). The victim is the block at the end; it is padded.
//!
//! ## Recovery
//! Everything is in DRAM: a power cut loses all unflushed data.
//!
//! ## Invariants
//! Every page is on the node of its block, and every node is in the list once.
//!
//! ## Differences
//! Padding and compensation are options; both are on by default. Reads bypass the buffer unless `cache_reads`
//! is set, and never move a block. A host flush writes the dirty pages without padding. A page never written
//! is padded with zeros, and these are written. A page lost to bit errors is left out.
//!
//! ## References
//! H. Kim, S. Ahn, "BPLRU: a buffer management scheme for improving random writes in flash storage", FAST
//! 2008.

use crate::parts::blocks::Node;
use crate::parts::blockwise::{BlockOrder, Blockwise, Manner, Use};
use crate::parts::cache::Cached;
use crate::parts::list::{Links, List};
use crate::parts::sizes::one_memory;
use crate::{MountError, Options};
use nandlab_block::ByteCount;
use nandlab_nand::nvm::Nvm;
use nandlab_nand::Geometry;

/// Options of `[buffer.bplru]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Buffer size; rounded down to whole pages.
    pub size: ByteCount,
    /// Whether to cache pages on reads.
    pub cache_reads: bool,
    /// Whether to complete a block before it is written, by reading its missing pages from below.
    pub padding: bool,
    /// Whether a block written wholly and in order becomes the next victim.
    pub compensation: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { size: crate::DEFAULT_SIZE, cache_reads: false, padding: true, compensation: true }
    }
}

impl Options for Config {
    one_memory!("bplru");

    fn variants(&self) -> Vec<(&'static str, Self)> {
        vec![
            ("unpadded", Self { padding: false, compensation: false, ..self.clone() }),
            ("reads", Self { cache_reads: true, ..self.clone() }),
        ]
    }
}

impl Config {
    pub(crate) fn mount(
        &self,
        geometry: &Geometry,
        nvram: &mut dyn Nvm,
    ) -> Result<Cached<Blockwise<Bplru>>, MountError> {
        let manner = Manner { caches_reads: self.cache_reads, pads: self.padding };
        let order = Bplru { compensates: self.compensation, links: Links::default(), list: List::default() };
        Blockwise::mount(geometry, nvram, &self.memories()[0], manner, order)
    }
}

/// Nodes by last write.
#[derive(Debug)]
pub(crate) struct Bplru {
    compensates: bool,
    links: Links,
    list: List,
}

impl BlockOrder for Bplru {
    #[inline]
    fn used(&mut self, used: &Use) {
        if used.is_new {
            self.list.push_front(&mut self.links, used.node);
        } else if used.is_write {
            self.list.move_to_front(&mut self.links, used.node);
        }
        if used.completes && self.compensates {
            self.list.remove(&mut self.links, used.node);
            self.list.push_back(&mut self.links, used.node);
        }
    }

    fn victim(&mut self) -> Node {
        self.list.back()
    }

    fn shrunk(&mut self, _: Node, _: u32) {}

    fn closed(&mut self, node: Node) {
        self.list.remove(&mut self.links, node);
    }

    fn bytes(&self, nodes: u64) -> u64 {
        Links::bytes(nodes)
    }
}
