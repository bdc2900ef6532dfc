//! LB-CLOCK: evicts the largest block not written recently.
//!
//! ## Idea
//! Each block has a bit, set by writes and cleared when the hand passes. Blocks with a clear bit are
//! candidates, and the largest candidate is evicted: recency keeps the blocks being written, and size frees
//! room with few merges.
//!
//! ## Write path
//! A write sets its block's bit. A block just written in order up to its last page loses the bit. To make
//! room, the hand goes one round over all blocks: it clears set bits, and blocks with a clear bit are
//! candidates. If there is none, it goes a second round. The victim is the candidate with the most pages, and
//! the first of several in hand order. The hand stops behind it.
//!
//! ## Recovery
//! Everything is in DRAM: a power cut loses all unflushed data.
//!
//! ## Invariants
//! The tournament over the ring holds the page count of each candidate, and 0 in every other place.
//!
//! ## Differences
//! The hand does not really walk. Candidates are in a tournament, and a list holds the blocks written since
//! the last round, so choosing a victim takes a few steps. A new block takes the most recently freed ring
//! place, usually the last victim's place right behind the hand. Reads bypass the buffer unless `cache_reads`
//! is set, and never set a bit. A host flush leaves the bits unchanged.
//!
//! ## References
//! B. Debnath, S. Subramanya, D. Du, D. J. Lilja, "Large block CLOCK (LB-CLOCK): a write caching algorithm
//! for solid state disks", MASCOTS 2009.

use crate::parts::blocks::Node;
use crate::parts::blockwise::{mark_of, BlockOrder, Blockwise, Manner, Use};
use crate::parts::cache::Cached;
use crate::parts::sizes::one_memory_config;
use crate::parts::tournament::Tournament;
use crate::{MountError, Options as _};
use nandlab_nand::nvm::Nvm;
use nandlab_nand::Geometry;

one_memory_config!(Config for "lb_clock", false, "reads");

impl Config {
    pub(crate) fn mount(
        &self,
        geometry: &Geometry,
        nvram: &mut dyn Nvm,
    ) -> Result<Cached<Blockwise<LbClock>>, MountError> {
        let manner = Manner { caches_reads: self.cache_reads, pads: false };
        Blockwise::mount(geometry, nvram, &self.memories()[0], manner, LbClock::default())
    }
}

/// The ring; a node's number is its place.
#[derive(Debug, Default)]
pub(crate) struct LbClock {
    candidates: Tournament,
    nodes: Vec<State>,
    /// Nodes whose bit was set since the last round.
    written: Vec<Node>,
    hand: Node,
}

/// State of a node.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    pages: u32,
    /// The bit: written since the hand passed.
    is_written: bool,
    /// Whether the node is in the `written` list.
    is_listed: bool,
}

impl LbClock {
    /// Clears all bits.
    fn sweep(&mut self) {
        for node in self.written.drain(..) {
            let state = &mut self.nodes[node as usize];
            state.is_listed = false;
            if std::mem::take(&mut state.is_written) {
                self.candidates.set(node, state.pages);
            }
        }
    }
}

impl BlockOrder for LbClock {
    #[inline]
    fn used(&mut self, used: &Use) {
        let state = mark_of(&mut self.nodes, used.node);
        state.pages = used.pages;
        let was_written = state.is_written;
        if used.is_write {
            state.is_written = !used.completes;
        }
        if !state.is_written {
            return self.candidates.set(used.node, used.pages);
        }
        if !was_written {
            self.candidates.set(used.node, 0);
            if !std::mem::replace(&mut state.is_listed, true) {
                self.written.push(used.node);
            }
        }
    }

    fn victim(&mut self) -> Node {
        let found = self.candidates.largest_from(self.hand);
        self.sweep();
        let found = found.or_else(|| self.candidates.largest_from(self.hand));
        let node = found.expect("a full buffer has blocks, and no bit is set after a round");
        self.hand = node + 1;
        node
    }

    fn shrunk(&mut self, node: Node, pages: u32) {
        let state = &mut self.nodes[node as usize];
        state.pages = pages;
        if !state.is_written {
            self.candidates.set(node, pages);
        }
    }

    fn closed(&mut self, node: Node) {
        let state = &mut self.nodes[node as usize];
        (state.pages, state.is_written) = (0, false);
        self.candidates.set(node, 0);
    }

    fn bytes(&self, nodes: u64) -> u64 {
        Tournament::bytes(nodes) + 12 * nodes
    }
}
