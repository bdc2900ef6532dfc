//! FAB: evicts the block with the most pages.
//!
//! ## Idea
//! The pages of a logical block are written back together, so the FTL merges the block once. The block with
//! the most buffered pages frees the most room with the fewest merges.
//!
//! ## Write path
//! Each page is attached to its block's node. Any use of its pages makes a block the most recent. The victim
//! is the block with the most pages, and the least recently used of several. Its dirty pages are written as
//! one ordered run, its clean pages are dropped.
//!
//! ## Recovery
//! Everything is in DRAM: a power cut loses all unflushed data.
//!
//! ## Invariants
//! Every page is on the node of its block, and every node is in the list for its page count.
//!
//! ## Differences
//! Caching of reads is an option (`cache_reads`).
//!
//! ## References
//! H. Jo, J.-U. Kang, S.-Y. Park, J.-S. Kim, J. Lee, "FAB: flash-aware buffer management policy for portable
//! media players", IEEE Transactions on Consumer Electronics 52(2), 2006.

use crate::parts::blocks::Node;
use crate::parts::blockwise::{BlockOrder, Blockwise, Manner, Use};
use crate::parts::cache::Cached;
use crate::parts::ranked::Ranked;
use crate::parts::sizes::one_memory_config;
use crate::{MountError, Options as _};
use nandlab_nand::nvm::Nvm;
use nandlab_nand::Geometry;

one_memory_config!(Config for "fab", true, "write_only");

impl Config {
    pub(crate) fn mount(&self, geometry: &Geometry, nvram: &mut dyn Nvm) -> Result<Cached<Blockwise<Fab>>, MountError> {
        let manner = Manner { caches_reads: self.cache_reads, pads: false };
        Blockwise::mount(geometry, nvram, &self.memories()[0], manner, Fab::default())
    }
}

/// Nodes by page count.
#[derive(Debug, Default)]
pub(crate) struct Fab {
    nodes: Ranked,
}

impl BlockOrder for Fab {
    #[inline]
    fn used(&mut self, used: &Use) {
        if used.is_new {
            self.nodes.add(used.node, used.pages);
        } else {
            self.nodes.used(used.node, used.pages);
        }
    }

    fn victim(&mut self) -> Node {
        self.nodes.highest()
    }

    fn shrunk(&mut self, node: Node, pages: u32) {
        self.nodes.set_rank(node, pages);
    }

    fn closed(&mut self, node: Node) {
        self.nodes.remove(node);
    }

    fn bytes(&self, nodes: u64) -> u64 {
        Ranked::bytes(nodes, 1 + nodes)
    }
}
