//! Each logical block's buffered pages.

use super::list::{Links, List, NONE};
use super::pages::{Pages, Slot};
use super::table::Table;

/// A block node's number.
pub(crate) type Node = u32;

#[derive(Clone, Copy, Debug)]
struct Block {
    lbn: u32,
    pages: List,
}

/// A node for each logical block with buffered pages.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    pages_per_block: u32,
    table: Table,
    nodes: Vec<Block>,
    free: Vec<Node>,
    chains: Links,
    /// Each slot's node.
    node_of: Vec<Node>,
    /// The last lookup's block and node: successive requests often stay in one block.
    last: (u32, Node),
}

impl Blocks {
    pub(crate) fn new(pages_per_block: u32) -> Self {
        Self {
            pages_per_block,
            table: Table::default(),
            nodes: Vec::new(),
            free: Vec::new(),
            chains: Links::default(),
            node_of: Vec::new(),
            last: (NONE, NONE),
        }
    }

    /// Bytes for `pages` pages, each possibly in its own block.
    pub(crate) fn bytes(pages: u64) -> u64 {
        Table::bytes(pages) + 16 * pages + Links::bytes(pages) + 4 * pages
    }

    #[inline]
    pub(crate) fn block_of(&self, lpn: u32) -> u32 {
        lpn / self.pages_per_block
    }

    /// A logical block's node.
    #[inline]
    pub(crate) fn find(&self, lbn: u32) -> Option<Node> {
        if self.last.0 == lbn {
            return Some(self.last.1);
        }
        self.table.get(lbn)
    }

    /// A buffered page's node.
    #[inline]
    pub(crate) fn node_of(&self, slot: Slot) -> Node {
        self.node_of[slot as usize]
    }

    /// Adds a page to its block's node, created if necessary; returns the node, and whether it is new.
    #[inline]
    pub(crate) fn add(&mut self, lpn: u32, slot: Slot) -> (Node, bool) {
        let lbn = self.block_of(lpn);
        let (node, is_new) = match self.find(lbn) {
            Some(node) => (node, false),
            None => (self.open(lbn), true),
        };
        self.last = (lbn, node);
        if slot as usize >= self.node_of.len() {
            self.node_of.resize((slot as usize + 1).next_power_of_two(), NONE);
        }
        self.node_of[slot as usize] = node;
        self.nodes[node as usize].pages.push_front(&mut self.chains, slot);
        (node, is_new)
    }

    fn open(&mut self, lbn: u32) -> Node {
        let block = Block { lbn, pages: List::default() };
        let node = match self.free.pop() {
            Some(node) => {
                self.nodes[node as usize] = block;
                node
            }
            None => {
                self.nodes.push(block);
                self.nodes.len() as u32 - 1
            }
        };
        self.table.insert(lbn, node);
        node
    }

    /// Removes a page from its node, and the node after its last page; returns the node, and whether it was
    /// removed.
    #[inline]
    pub(crate) fn remove(&mut self, slot: Slot) -> (Node, bool) {
        let node = self.node_of[slot as usize];
        let block = &mut self.nodes[node as usize];
        block.pages.remove(&mut self.chains, slot);
        let is_gone = block.pages.is_empty();
        if is_gone {
            self.table.remove(block.lbn);
            if self.last.0 == block.lbn {
                self.last = (NONE, NONE);
            }
            self.free.push(node);
        }
        (node, is_gone)
    }

    /// Buffered pages in the block.
    #[inline]
    pub(crate) fn len(&self, node: Node) -> u32 {
        self.nodes[node as usize].pages.len()
    }

    /// The block's logical pages.
    pub(crate) fn range(&self, node: Node) -> std::ops::Range<u32> {
        let first = self.nodes[node as usize].lbn * self.pages_per_block;
        first..first.saturating_add(self.pages_per_block)
    }

    /// Slots with the block's buffered pages.
    pub(crate) fn slots(&self, node: Node) -> impl Iterator<Item = Slot> + '_ {
        self.nodes[node as usize].pages.oldest_first(&self.chains)
    }

    /// Collects the block's dirty slots.
    pub(crate) fn dirty(&self, pages: &Pages, node: Node, into: &mut Vec<Slot>) {
        into.clear();
        into.extend(self.slots(node).filter(|&slot| pages.is_dirty(slot)));
    }
}
