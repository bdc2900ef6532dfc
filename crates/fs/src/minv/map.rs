//! A file's map: a tree with NVRAM nodes, from chunks to flash pages.

use super::layout::{FANOUT, HEAD, HEIGHT, PENDING, ROOT_NODE};
use super::memory::{Change, Head, Type};
use super::Minv;
use crate::FsError;
use nandlab_nand::nvm::Nvm;
use nandlab_nand::{Nand, Ppa};

/// A chunk's entry offset in its node at that height; leaves have height 1.
fn slot(index: u32, height: u8) -> u64 {
    u64::from(index >> (4 * u32::from(height - 1)) & (FANOUT - 1)) * 4
}

/// Least map height to include `index`.
fn height_for(index: u32) -> u8 {
    (1..HEIGHT).find(|&height| index >> (4 * u32::from(height)) == 0).unwrap_or(HEIGHT)
}

impl<N: Nand, V: Nvm> Minv<N, V> {
    /// A chunk's map entry address; `None` if its node does not exist yet.
    pub(super) fn entry(&mut self, object: u32, chunk: u32) -> Result<Option<u64>, FsError> {
        let (index, height) = (chunk - 1, self.known(object)?.height);
        if height < height_for(index) {
            return Ok(None);
        }
        let none = Change::default();
        let mut node = self.half(&none, self.field(object, ROOT_NODE))?;
        for level in (1..=height).rev() {
            if node == 0 {
                return Ok(None);
            }
            let at = self.layout().node(node - 1) + slot(index, level);
            if level == 1 {
                return Ok(Some(at));
            }
            node = self.half(&none, at)?;
        }
        Ok(None)
    }

    /// Upper bound on new map nodes for chunks `first` to `last`.
    pub(super) fn most_new_nodes(&mut self, object: u32, first: u32, last: u32) -> Result<u32, FsError> {
        let mut leaves = 0;
        for chunk in first..=last {
            let is_first_of_leaf = chunk == first || (chunk - 1) % FANOUT == 0;
            leaves += u32::from(is_first_of_leaf && self.entry(object, chunk)?.is_none());
        }
        if leaves == 0 {
            return Ok(0);
        }
        let height = self.known(object)?.height;
        let needed = height_for(last - 1).max(height);
        let spanned = |level: u8| {
            let node_of = |chunk: u32| (chunk - 1) >> (4 * u32::from(level));
            node_of(last) - node_of(first) + 1
        };
        // A growing map gets one more node of each height above its old root. Below the root, each height may
        // lack every node on the way to the chunks. An empty map also lacks its root; if one leaf is enough,
        // the leaf is the root.
        let grown = if height == 0 { u8::from(needed > 1) } else { needed - height };
        Ok(leaves + (2..needed).map(spanned).sum::<u32>() + u32::from(grown))
    }

    /// Adds the missing nodes on the path to a chunk's map entry to `change`; returns the entry's address.
    pub(super) fn put_path(
        &mut self,
        change: &mut Change,
        object: u32,
        head: &mut Head,
        chunk: u32,
    ) -> Result<u64, FsError> {
        let index = chunk - 1;
        let root = self.field(object, ROOT_NODE);
        if head.height == 0 {
            // Nothing is mapped yet, so the path down creates every node.
            head.height = height_for(index);
        }
        while head.height < height_for(index) {
            let below = self.half(change, root)?;
            let node = self.take_node(change)?;
            self.put_half(change, self.layout().node(node), below)?;
            self.put_half(change, root, node + 1)?;
            head.height += 1;
        }
        self.put_head(change, object, *head);
        let mut at = root;
        for level in (1..=head.height).rev() {
            let mut node = self.half(change, at)?;
            if node == 0 {
                node = self.take_node(change)? + 1;
                self.put_half(change, at, node)?;
            }
            at = self.layout().node(node - 1) + slot(index, level);
        }
        Ok(at)
    }

    /// Finishes giving up the pages of a shortened or removed file.
    pub(super) fn finish_pending(&mut self) -> Result<(), FsError> {
        let word = self.now(PENDING)?;
        let (object, first) = (word as u32, (word >> 32) as u32);
        if object == 0 {
            return Ok(());
        }
        let head = self.known(object)?;
        let root = self.field(object, ROOT_NODE);
        if head.height > 0 {
            self.drop_pages(root, head.height, 0, first)?;
            if first <= 1 {
                self.drop_nodes(root, head.height, Some((object, head)))?;
            }
        } else {
            self.drop_text(root)?;
        }
        let mut change = Change::default();
        if head.kind == Type::Removed {
            change.put(self.field(object, HEAD), 0);
        }
        change.put(PENDING, 0);
        self.commit(&change)
    }

    /// Gives up all pages from chunk `first` on below the entry at `at`; `index` is the first chunk index
    /// below that entry.
    fn drop_pages(&mut self, at: u64, height: u8, index: u64, first: u32) -> Result<(), FsError> {
        let value = self.half(&Change::default(), at)?;
        if value == 0 {
            return Ok(());
        }
        if height == 0 {
            if index + 1 < u64::from(first) {
                return Ok(());
            }
            let page = Ppa(value - 1);
            let mut change = Change::default();
            self.put_half(&mut change, at, 0)?;
            self.put_void(&mut change, page)?;
            self.commit(&change)?;
            self.owners[page.index()] = None;
            return self.erase_if_empty(self.geometry.block_of(page));
        }
        let span = 1u64 << (4 * u32::from(height - 1));
        for entry in 0..u64::from(FANOUT) {
            let start = index + entry * span;
            if start + span >= u64::from(first) {
                self.drop_pages(self.layout().node(value - 1) + entry * 4, height - 1, start, first)?;
            }
        }
        Ok(())
    }

    /// Frees the nodes below the entry at `at`; freeing the root also resets the map height.
    fn drop_nodes(&mut self, at: u64, height: u8, root_of: Option<(u32, Head)>) -> Result<(), FsError> {
        let value = self.half(&Change::default(), at)?;
        if value == 0 {
            return Ok(());
        }
        if height > 1 {
            for entry in 0..u64::from(FANOUT) {
                self.drop_nodes(self.layout().node(value - 1) + entry * 4, height - 1, None)?;
            }
        }
        let mut change = Change::default();
        self.put_half(&mut change, at, 0)?;
        self.drop_node(&mut change, value - 1)?;
        if let Some((object, head)) = root_of {
            self.put_head(&mut change, object, Head { height: 0, ..head });
        }
        self.commit(&change)
    }

    /// Frees a symbolic link's text nodes.
    fn drop_text(&mut self, at: u64) -> Result<(), FsError> {
        loop {
            let mut change = Change::default();
            let node = self.half(&change, at)?;
            if node == 0 {
                return Ok(());
            }
            let next = self.half(&change, self.layout().node(node - 1))?;
            self.put_half(&mut change, at, next)?;
            self.drop_node(&mut change, node - 1)?;
            self.commit(&change)?;
        }
    }
}
