//! The newest records, sorted, in memory.

use super::table::Item;
use std::collections::BTreeMap;

/// A key's newest state: its value, or `None` for a deleted key.
pub(super) type Entry = Option<Vec<u8>>;

/// Memory that RocksDB takes for a record beside its key and its value: 8 bytes of sequence number and type, 3 of
/// lengths, and 11 of pointers, since a node of its skip list has 1.33 of them on average.
const NODE_BYTES: u64 = 8 + 3 + 11;

/// Records newer than every table.
#[derive(Debug, Default)]
pub(super) struct Memtable {
    entries: BTreeMap<Vec<u8>, Entry>,
    bytes: u64,
}

/// Bytes of a record in a table: the key, two bytes for the value's length, the value.
pub(super) fn record_bytes(key: &[u8], value: Option<&[u8]>) -> u64 {
    (key.len() + 2 + value.map_or(0, <[u8]>::len)) as u64
}

impl Memtable {
    /// Memory that a record takes.
    pub(super) fn memory_bytes(key: &[u8], value: Option<&[u8]>) -> u64 {
        NODE_BYTES + (key.len() + value.map_or(0, <[u8]>::len)) as u64
    }

    /// Sets a key's newest state. The older one's memory is not free before the memtable is, as in RocksDB.
    pub(super) fn set(&mut self, key: &[u8], value: Option<&[u8]>) {
        self.bytes += Self::memory_bytes(key, value);
        self.entries.insert(key.to_vec(), value.map(<[u8]>::to_vec));
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// Memory that the records take.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.bytes = 0;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Item<'_>> {
        self.entries.iter().map(|(key, value)| (&key[..], value.as_deref()))
    }

    /// The first record at or, with `after`, behind `key`.
    pub(super) fn first(&self, key: &[u8], after: bool) -> Option<Item<'_>> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        let from = if after { Excluded(key) } else { Included(key) };
        let found = self.entries.range::<[u8], _>((from, Unbounded)).next();
        found.map(|(key, value)| (&key[..], value.as_deref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_follow_the_records() {
        let mut table = Memtable::default();
        table.set(b"ab", Some(b"123"));
        table.set(b"cd", None);
        assert_eq!(table.bytes(), 5 + 2 + 2 * 22);
        table.set(b"ab", Some(b"1"));
        assert_eq!(table.bytes(), 5 + 2 + 3 + 3 * 22, "the old record is still in memory");
        assert_eq!(table.first(b"ab", true), Some((&b"cd"[..], None)));
        assert_eq!(table.get(b"ab"), Some(&Some(b"1".to_vec())));
        table.clear();
        assert!(table.is_empty() && table.bytes() == 0);
    }
}
