//! The block cache: data blocks in memory, the least recently used leaves.

use super::storage::FileId;
use std::collections::BTreeMap;
use std::rc::Rc;

type Key = (FileId, u32);

/// Data blocks by table and number.
#[derive(Debug)]
pub(super) struct BlockCache {
    most_bytes: u64,
    bytes: u64,
    blocks: BTreeMap<Key, (Rc<[u8]>, u64)>,
    /// By the time of the last use.
    used: BTreeMap<u64, Key>,
    clock: u64,
    pub(super) hits: u64,
    pub(super) misses: u64,
}

impl BlockCache {
    pub(super) fn new(most_bytes: u64) -> Self {
        let (blocks, used) = (BTreeMap::new(), BTreeMap::new());
        Self { most_bytes, bytes: 0, blocks, used, clock: 0, hits: 0, misses: 0 }
    }

    /// The block, if it is there; counts a hit or a miss.
    pub(super) fn get(&mut self, file: FileId, block: u32) -> Option<Rc<[u8]>> {
        let Some((bytes, used)) = self.blocks.get_mut(&(file, block)) else {
            self.misses += 1;
            return None;
        };
        self.hits += 1;
        self.used.remove(used);
        self.clock += 1;
        *used = self.clock;
        self.used.insert(self.clock, (file, block));
        Some(bytes.clone())
    }

    /// Keeps a block after a read.
    pub(super) fn put(&mut self, file: FileId, block: u32, bytes: &Rc<[u8]>) {
        if bytes.len() as u64 > self.most_bytes {
            return;
        }
        self.remove((file, block));
        self.clock += 1;
        self.blocks.insert((file, block), (bytes.clone(), self.clock));
        self.used.insert(self.clock, (file, block));
        self.bytes += bytes.len() as u64;
        while self.bytes > self.most_bytes {
            let (_, &oldest) = self.used.first_key_value().expect("a block has bytes");
            self.remove(oldest);
        }
    }

    /// A table is gone.
    pub(super) fn forget(&mut self, file: FileId) {
        let blocks: Vec<Key> = self.blocks.range((file, 0)..=(file, u32::MAX)).map(|(&key, _)| key).collect();
        for key in blocks {
            self.remove(key);
        }
    }

    fn remove(&mut self, key: Key) {
        if let Some((bytes, used)) = self.blocks.remove(&key) {
            self.used.remove(&used);
            self.bytes -= bytes.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_block_leaves() {
        let mut cache = BlockCache::new(200);
        let block: Rc<[u8]> = vec![0; 80].into();
        for n in 0..2 {
            cache.put(FileId(1), n, &block);
        }
        assert!(cache.get(FileId(1), 0).is_some());
        cache.put(FileId(2), 0, &block);
        assert!(cache.get(FileId(1), 1).is_none(), "it was used least recently");
        cache.forget(FileId(1));
        assert!(cache.get(FileId(1), 0).is_none() && cache.get(FileId(2), 0).is_some());
        assert_eq!((cache.hits, cache.misses, cache.bytes), (2, 2, 80));
    }
}
