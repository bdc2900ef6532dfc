//! Ghosts: pages that were here, remembered by number alone.

use super::list::{Links, List};
use super::table::Table;

/// Numbers of pages in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ghost {
    table: Table,
    links: Links,
    list: List,
    keys: Vec<u32>,
    free: Vec<u32>,
}

impl Ghost {
    /// Bytes that so many of them take.
    pub(crate) fn bytes(ghosts: u64) -> u64 {
        Table::bytes(ghosts) + Links::bytes(ghosts) + 4 * ghosts
    }

    pub(crate) fn len(&self) -> u32 {
        self.list.len()
    }

    /// Remembers `key`, which is not among them, as the newest.
    pub(crate) fn push(&mut self, key: u32) {
        let entry = self.free.pop().unwrap_or_else(|| {
            self.keys.push(0);
            self.keys.len() as u32 - 1
        });
        self.keys[entry as usize] = key;
        self.table.insert(key, entry);
        self.list.push_front(&mut self.links, entry);
    }

    /// Forgets `key`; whether it was among them.
    pub(crate) fn remove(&mut self, key: u32) -> bool {
        let Some(entry) = self.table.remove(key) else { return false };
        self.list.remove(&mut self.links, entry);
        self.free.push(entry);
        true
    }

    /// Forgets the oldest, if there is one.
    pub(crate) fn pop(&mut self) {
        if !self.list.is_empty() {
            self.remove(self.keys[self.list.back() as usize]);
        }
    }
}
