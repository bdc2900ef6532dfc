//! Writes a table from records in ascending order.

use super::super::bloom::{self, Filter};
use super::super::storage::{FileId, Lifetime, Storage};
use super::super::Config;
use super::reader::Index;
use super::{close, put_entry, Table, FILTER_PART, FOOTER_BYTES, FOOTER_PART, INDEX_PART, SUM_BYTES};
use crate::IndexError;
use nandlab_nand::Origin;
use std::rc::Rc;

/// Bytes of a filter beside its bits: kind, probes, sum, and the rest of a last line.
const FILTER_AROUND: usize = 2 + SUM_BYTES + 64;

/// A table being written.
#[derive(Debug)]
pub(in super::super) struct Builder<'c> {
    config: &'c Config,
    file: FileId,
    /// Bytes not appended to the file yet, and where they begin in it.
    bytes: Vec<u8>,
    start: u64,
    /// Where the open block begins in `bytes`.
    block: usize,
    index: Index,
    hashes: Vec<u64>,
    records: u64,
    tombstones: u64,
    smallest: Vec<u8>,
    largest: Vec<u8>,
    /// Bytes of data blocks, and of index, filter, footer and padding.
    data_bytes: u64,
}

/// A table that was written.
#[derive(Debug)]
pub(in super::super) struct Built {
    pub(in super::super) table: Rc<Table>,
    pub(in super::super) records: u64,
    pub(in super::super) tombstones: u64,
    /// Bytes of the table without padding, and with it.
    pub(in super::super) bytes: u64,
    pub(in super::super) written: u64,
    pub(in super::super) smallest: Vec<u8>,
    pub(in super::super) largest: Vec<u8>,
}

impl<'c> Builder<'c> {
    /// Begins a table that is expected to have `expected_bytes`.
    pub(in super::super) fn new(
        store: &mut dyn Storage,
        config: &'c Config,
        file: FileId,
        expected_bytes: u64,
        lifetime: Lifetime,
    ) -> Result<Self, IndexError> {
        store.create(file, expected_bytes, lifetime)?;
        Ok(Self {
            config,
            file,
            bytes: Vec::new(),
            start: 0,
            block: 0,
            index: Index::default(),
            hashes: Vec::new(),
            records: 0,
            tombstones: 0,
            smallest: Vec::new(),
            largest: Vec::new(),
            data_bytes: 0,
        })
    }

    pub(in super::super) fn file(&self) -> FileId {
        self.file
    }

    /// Bytes of data blocks so far.
    pub(in super::super) fn bytes(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// Bytes at most that are not in the file yet, those of index, filter and footer included.
    pub(in super::super) fn rest_bytes(&self) -> u64 {
        let blocks = self.index.blocks() as usize + 1;
        let index = blocks * (self.config.key_bytes + size_of::<u64>()) + SUM_BYTES;
        let filter = (self.config.bloom_bits_per_key * self.records as f64 / 8.0) as usize + FILTER_AROUND;
        (self.bytes.len() + SUM_BYTES + index + filter + FOOTER_BYTES) as u64
    }

    /// Adds a record; its key is above all before.
    pub(in super::super) fn add(
        &mut self,
        store: &mut dyn Storage,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), IndexError> {
        let open = self.bytes.len() - self.block;
        let record = key.len() + 2 + value.map_or(0, <[u8]>::len);
        if open > 0 && open + record + SUM_BYTES > self.config.block_bytes {
            self.end_block(store)?;
        }
        debug_assert!(self.records == 0 || self.largest[..] < *key, "keys ascend");
        if self.records == 0 {
            self.smallest = key.to_vec();
        }
        self.largest.clear();
        self.largest.extend_from_slice(key);
        put_entry(&mut self.bytes, key, value);
        if self.config.bloom_bits_per_key > 0.0 {
            self.hashes.push(bloom::hash(key));
        }
        self.records += 1;
        self.tombstones += u64::from(value.is_none());
        Ok(())
    }

    fn end_block(&mut self, store: &mut dyn Storage) -> Result<(), IndexError> {
        close(&mut self.bytes, self.block, self.file, self.index.blocks());
        self.block = self.bytes.len();
        self.index.add(&self.largest, self.start + self.block as u64);
        self.write(store, Origin::INDEX_LEAF, self.config.table_write_bytes as usize)
    }

    /// Appends whole units, `table_write_bytes` at once, while there are at least `least` bytes.
    fn write(&mut self, store: &mut dyn Storage, origin: Origin, least: usize) -> Result<(), IndexError> {
        let mut written = 0;
        loop {
            let left = self.bytes.len() - written;
            let now = (left - left % store.unit_bytes()).min(self.config.table_write_bytes as usize);
            if now == 0 || left < least {
                break;
            }
            store.append(self.file, &self.bytes[written..written + now], origin)?;
            written += now;
        }
        self.bytes.drain(..written);
        self.start += written as u64;
        self.block = self.bytes.len();
        Ok(())
    }

    /// Writes the rest, and the index, the filter and the footer behind it.
    pub(in super::super) fn finish(mut self, store: &mut dyn Storage) -> Result<Built, IndexError> {
        if self.bytes.len() > self.block {
            self.end_block(store)?;
        }
        self.data_bytes = self.start + self.bytes.len() as u64;
        self.write(store, Origin::INDEX_LEAF, 0)?;
        let part = self.bytes.len();
        self.index.encode(&mut self.bytes);
        close(&mut self.bytes, part, self.file, INDEX_PART);
        let index_end = self.start + self.bytes.len() as u64;
        let bits = self.config.bloom_bits_per_key;
        let filter = (bits > 0.0).then(|| Filter::new(self.config.bloom, bits, &self.hashes));
        if let Some(filter) = &filter {
            let part = self.bytes.len();
            self.bytes.extend(filter.encode());
            close(&mut self.bytes, part, self.file, FILTER_PART);
        }
        let part = self.bytes.len();
        for number in [self.records, self.tombstones, self.data_bytes, index_end] {
            self.bytes.extend_from_slice(&number.to_le_bytes());
        }
        self.bytes.extend_from_slice(&self.index.blocks().to_le_bytes());
        self.bytes.extend_from_slice(&u32::from(filter.is_some()).to_le_bytes());
        close(&mut self.bytes, part, self.file, FOOTER_PART);
        let bytes = self.start + self.bytes.len() as u64;
        let padded = self.bytes.len().next_multiple_of(store.unit_bytes());
        self.bytes.resize(padded, 0);
        self.write(store, Origin::INDEX_INNER, 0)?;
        store.seal(self.file);
        let table = Table::new(self.file, self.index, filter, self.config.key_bytes);
        Ok(Built {
            table: Rc::new(table),
            records: self.records,
            tombstones: self.tombstones,
            bytes,
            written: self.start,
            smallest: self.smallest,
            largest: self.largest,
        })
    }
}
