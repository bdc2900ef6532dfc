//! BPLRU: the least recently written block goes, as a whole block.
//!
//! ## Idea
//! A log-block FTL takes a block that is written wholly and in order by switching it. So the block that goes is padded
//! with what is missing of it, read from flash, and written from its first page to its last.
//!
//! ## Write path
//! Blocks stand in a list by their last write; a write moves its whole block to the front. A block that was written in
//! order from its first sector to its last will not be written again soon, and moves to the end (LRU compensation). The
//! block at the end goes, with padding.
//!
//! ## Recovery
//! All of it is DRAM: a power cut takes what was not flushed.
//!
//! ## Invariants
//! Every page is on the node of its block, every node in the list once.
//!
//! ## Differences
//! Padding and compensation are options; both are on. Reads pass by, unless `cache_reads` lets them in; they never move a
//! block. A flush of the host writes what is dirty, without padding. A page of which nothing was ever written pads as
//! zeros, and is written. A page that is lost to bit errors is left out.
//!
//! ## References
//! H. Kim, S. Ahn, "BPLRU: a buffer management scheme for improving random writes in flash storage", FAST 2008.

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
    /// Size of the buffer; rounded down to whole pages.
    pub size: ByteCount,
    /// Whether pages that were read come in.
    pub cache_reads: bool,
    /// Whether a block is made whole before it is written: what is not here is read from below.
    pub padding: bool,
    /// Whether a block that was written wholly and in order goes next.
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

/// The nodes by their last write.
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
