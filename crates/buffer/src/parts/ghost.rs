//! Ghosts: evicted pages, remembered by number only.

use super::list::{Links, List};
use super::table::Table;
use nandlab_nand::prefetch::prefetch;

/// Page numbers in order of arrival.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ghost {
    table: Table,
    links: Links,
    list: List,
    keys: Vec<u32>,
    free: Vec<u32>,
}

impl Ghost {
    /// Bytes for `ghosts` entries.
    pub(crate) fn bytes(ghosts: u64) -> u64 {
        Table::bytes(ghosts) + Links::bytes(ghosts) + 4 * ghosts
    }

    pub(crate) fn len(&self) -> u32 {
        self.list.len()
    }

    /// Starts loading what [`Self::remove`] looks at first.
    #[inline]
    pub(crate) fn prefetch(&self, key: u32) {
        self.table.prefetch(key);
    }

    /// Starts loading what the next calls of [`Self::pop`] need, as [`super::pages::Pages::prefetch_victims`] does.
    #[inline]
    pub(crate) fn prefetch_oldest(&self) {
        if !self.list.is_empty() {
            let last = self.list.back();
            let before = self.links.prev(last);
            self.table.prefetch(self.keys[last as usize]);
            prefetch(&self.keys, before as usize);
            self.links.prefetch(before);
        }
    }

    /// Adds `key`, a new entry, as the newest.
    pub(crate) fn push(&mut self, key: u32) {
        let entry = self.free.pop().unwrap_or_else(|| {
            self.keys.push(0);
            self.keys.len() as u32 - 1
        });
        self.keys[entry as usize] = key;
        self.table.insert(key, entry);
        self.list.push_front(&mut self.links, entry);
    }

    /// Removes `key`; true if it was present.
    pub(crate) fn remove(&mut self, key: u32) -> bool {
        let Some(entry) = self.table.remove(key) else { return false };
        self.list.remove(&mut self.links, entry);
        self.free.push(entry);
        true
    }

    /// Removes the oldest entry, if any.
    pub(crate) fn pop(&mut self) {
        if !self.list.is_empty() {
            self.remove(self.keys[self.list.back() as usize]);
        }
    }
}
