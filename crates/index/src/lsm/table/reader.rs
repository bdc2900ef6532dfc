//! Reads a table: its index and its filter stay in memory once it is open, its data blocks go through the cache.

use super::super::bloom::Filter;
use super::super::cache::BlockCache;
use super::super::codec::Parser;
use super::super::storage::{FileId, Storage};
use super::{entry, opened, FILTER_PART, FOOTER_BYTES, FOOTER_PART, INDEX_PART};
use crate::IndexError;
use nandlab_nand::Origin;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The device and the cache, and what was read.
pub(in super::super) struct Io<'d> {
    pub(in super::super) store: Box<dyn Storage + 'd>,
    pub(in super::super) cache: BlockCache,
    /// The tables whose index and filter are in memory.
    pub(in super::super) tables: BTreeMap<FileId, Rc<Table>>,
    pub(in super::super) key_bytes: usize,
    /// Bytes read for lookups and range reads, and to open tables.
    pub(in super::super) read_bytes: u64,
}

impl<'d> Io<'d> {
    pub(in super::super) fn new(store: Box<dyn Storage + 'd>, cache_bytes: u64, key_bytes: usize) -> Self {
        Self { store, cache: BlockCache::new(cache_bytes), tables: BTreeMap::new(), key_bytes, read_bytes: 0 }
    }

    /// A table of `bytes` bytes; its index and its filter are read if they are not in memory.
    pub(in super::super) fn table(&mut self, file: FileId, bytes: u64) -> Result<Rc<Table>, IndexError> {
        if let Some(table) = self.tables.get(&file) {
            return Ok(table.clone());
        }
        let table = Rc::new(Table::open(self, file, bytes, self.key_bytes)?);
        self.tables.insert(file, table.clone());
        Ok(table)
    }

    /// Deletes a file.
    pub(in super::super) fn delete(&mut self, file: FileId) -> Result<(), IndexError> {
        self.cache.forget(file);
        self.tables.remove(&file);
        self.store.delete(file)
    }

    /// Reads `from..end` of a file, as whole units.
    pub(super) fn read(
        &mut self,
        file: FileId,
        from: u64,
        end: u64,
        origin: Origin,
    ) -> Result<(Vec<u8>, usize), IndexError> {
        let unit = self.store.unit_bytes() as u64;
        let start = from - from % unit;
        let mut bytes = vec![0; (end.next_multiple_of(unit) - start) as usize];
        self.store.read(file, start, &mut bytes, origin)?;
        Ok((bytes, (from - start) as usize))
    }

    /// Reads a part of a file, of `end - from` bytes.
    fn part(&mut self, file: FileId, from: u64, end: u64, origin: Origin) -> Result<Vec<u8>, IndexError> {
        let (mut bytes, skip) = self.read(file, from, end, origin)?;
        self.read_bytes += bytes.len() as u64;
        bytes.drain(..skip);
        bytes.truncate((end - from) as usize);
        Ok(bytes)
    }
}

/// The last key and the end of each data block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Index {
    keys: Vec<u8>,
    ends: Vec<u64>,
}

impl Index {
    pub(super) fn add(&mut self, last_key: &[u8], end: u64) {
        self.keys.extend_from_slice(last_key);
        self.ends.push(end);
    }

    pub(super) fn blocks(&self) -> u32 {
        self.ends.len() as u32
    }

    pub(super) fn encode(&self, to: &mut Vec<u8>) {
        let key_bytes = self.keys.len() / self.ends.len().max(1);
        for (at, end) in self.ends.iter().enumerate() {
            to.extend_from_slice(&self.keys[at * key_bytes..(at + 1) * key_bytes]);
            to.extend_from_slice(&end.to_le_bytes());
        }
    }

    fn decode(bytes: &[u8], blocks: u32, key_bytes: usize) -> Option<Self> {
        let mut parser = Parser(bytes);
        let mut index = Self::default();
        for _ in 0..blocks {
            let key = parser.bytes(key_bytes)?;
            let end = parser.u64()?;
            index.add(key, end);
        }
        (parser.0.is_empty() && index.ends.is_sorted()).then_some(index)
    }

    fn key(&self, block: usize, key_bytes: usize) -> &[u8] {
        &self.keys[block * key_bytes..(block + 1) * key_bytes]
    }
}

/// What a table says about a key.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) enum Lookup {
    /// The filter says that the key is not there.
    Filtered,
    /// It is not there, though the filter, if there is one, let it pass.
    Absent,
    /// Its value, or that it is deleted.
    Found(Option<Vec<u8>>),
}

/// An open table.
#[derive(Debug)]
pub(in super::super) struct Table {
    pub(super) file: FileId,
    index: Index,
    filter: Option<Filter>,
    pub(super) key_bytes: usize,
}

impl Table {
    pub(super) fn new(file: FileId, index: Index, filter: Option<Filter>, key_bytes: usize) -> Self {
        Self { file, index, filter, key_bytes }
    }

    /// Reads the footer, the index and the filter of a table with `bytes` bytes.
    ///
    /// # Errors
    /// [`IndexError::DamagedFile`], [`IndexError::Device`].
    fn open(io: &mut Io<'_>, file: FileId, bytes: u64, key_bytes: usize) -> Result<Self, IndexError> {
        let damaged = |what: &str| IndexError::DamagedFile { file: file.0, why: format!("its {what} is not whole") };
        let footer_at = bytes.checked_sub(FOOTER_BYTES as u64).ok_or_else(|| damaged("length"))?;
        if bytes > io.store.room(file) {
            return Err(damaged("room"));
        }
        let footer = io.part(file, footer_at, bytes, Origin::INDEX_INNER)?;
        let footer = opened(&footer, file, FOOTER_PART).ok_or_else(|| damaged("footer"))?;
        let mut parser = Parser(&footer[16..]);
        let ends = (parser.u64(), parser.u64(), parser.u32(), parser.u32());
        let (Some(data_end), Some(index_end), Some(blocks), Some(has_filter)) = ends else {
            return Err(damaged("footer"));
        };
        let index = io.part(file, data_end, index_end, Origin::INDEX_INNER)?;
        let index = opened(&index, file, INDEX_PART).and_then(|bytes| Index::decode(bytes, blocks, key_bytes));
        let index = index.ok_or_else(|| damaged("index"))?;
        let filter = if has_filter == 0 {
            None
        } else {
            let filter = io.part(file, index_end, footer_at, Origin::INDEX_INNER)?;
            Some(opened(&filter, file, FILTER_PART).and_then(Filter::decode).ok_or_else(|| damaged("filter"))?)
        };
        Ok(Self::new(file, index, filter, key_bytes))
    }

    /// Data blocks.
    pub(super) fn blocks(&self) -> u32 {
        self.index.blocks()
    }

    /// Where data block `block` begins and ends.
    pub(super) fn span(&self, block: u32) -> (u64, u64) {
        let block = block as usize;
        (if block == 0 { 0 } else { self.index.ends[block - 1] }, self.index.ends[block])
    }

    /// The first data block with a key at or above `key`; the number of blocks if there is none.
    pub(super) fn block_for(&self, key: &[u8]) -> u32 {
        let (mut low, mut high) = (0, self.index.ends.len());
        while low < high {
            let middle = (low + high) / 2;
            if self.index.key(middle, self.key_bytes) < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low as u32
    }

    /// A data block's records, if its sum is right.
    pub(super) fn checked(&self, block: u32, bytes: &[u8]) -> Result<Rc<[u8]>, IndexError> {
        opened(bytes, self.file, block).map(Rc::from).ok_or_else(|| IndexError::DamagedFile {
            file: self.file.0,
            why: format!("the sum of data block {block} is wrong"),
        })
    }

    /// A data block's records, through the cache.
    pub(super) fn block(&self, io: &mut Io<'_>, block: u32) -> Result<Rc<[u8]>, IndexError> {
        if let Some(records) = io.cache.get(self.file, block) {
            return Ok(records);
        }
        let (from, end) = self.span(block);
        let bytes = io.part(self.file, from, end, Origin::INDEX_LEAF)?;
        let records = self.checked(block, &bytes)?;
        io.cache.put(self.file, block, &records);
        Ok(records)
    }

    /// Looks for a key with this hash.
    pub(in super::super) fn get(&self, io: &mut Io<'_>, key: &[u8], hash: u64) -> Result<Lookup, IndexError> {
        if self.filter.as_ref().is_some_and(|filter| !filter.may_hold(hash)) {
            return Ok(Lookup::Filtered);
        }
        let block = self.block_for(key);
        if block == self.blocks() {
            return Ok(Lookup::Absent);
        }
        let records = self.block(io, block)?;
        let mut rest = &records[..];
        while let Some((found, value, length)) = entry(rest, self.key_bytes) {
            match found.cmp(key) {
                std::cmp::Ordering::Less => rest = &rest[length..],
                std::cmp::Ordering::Equal => return Ok(Lookup::Found(value.map(<[u8]>::to_vec))),
                std::cmp::Ordering::Greater => break,
            }
        }
        Ok(Lookup::Absent)
    }

    /// Whether the table has a filter.
    pub(in super::super) fn has_filter(&self) -> bool {
        self.filter.is_some()
    }

    /// Whether the filter lets a key with this hash pass.
    pub(in super::super) fn may_hold(&self, hash: u64) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.may_hold(hash))
    }

    /// Bytes of the index and of the filter in memory.
    pub(in super::super) fn memory_bytes(&self) -> u64 {
        let index = self.index.keys.len() as u64 + 8 * self.index.ends.len() as u64;
        index + self.filter.as_ref().map_or(0, Filter::bytes)
    }
}
