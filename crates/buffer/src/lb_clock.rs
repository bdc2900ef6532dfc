//! LB-CLOCK: of the blocks that were not written of late, the one with the most pages goes.
//!
//! ## Idea
//! A bit for each block says that it was written since the hand passed it. Blocks without it are candidates, and of those
//! the largest goes: recency keeps what is being written, size makes room with few merges.
//!
//! ## Write path
//! A write sets the bit of its block. A block that was just written wholly, in order, to its last page loses the bit.
//! Where room is needed, the hand goes one round over all blocks: it clears the bits that are set, and blocks without are
//! candidates; where there is none, it goes a second round. The candidate with the most pages goes, the first that the
//! hand saw of several, and the hand stands behind it.
//!
//! ## Recovery
//! All of it is DRAM: a power cut takes what was not flushed.
//!
//! ## Invariants
//! The tournament over the ring holds the number of pages of each candidate, and 0 in every other place.
//!
//! ## Differences
//! The round is not walked: candidates stand in a tournament, and the others are listed since the last round, so that a
//! victim costs a few steps. A new block takes the place in the ring that was given up last, which is mostly that of the
//! last victim, right behind the hand. Reads pass by, unless `cache_reads` lets them in; they never set a bit. A flush of
//! the host leaves bits as they are.
//!
//! ## References
//! B. Debnath, S. Subramanya, D. Du, D. J. Lilja, "Large block CLOCK (LB-CLOCK): a write caching algorithm for solid state
//! disks", MASCOTS 2009.

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

/// The ring: a node stands in the place of its number.
#[derive(Debug, Default)]
pub(crate) struct LbClock {
    candidates: Tournament,
    nodes: Vec<State>,
    /// Nodes whose bit was set since the last round.
    written: Vec<Node>,
    hand: Node,
}

/// What is known of a node.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    pages: u32,
    /// The bit.
    is_written: bool,
    /// Whether it is in the list of those that were written.
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
