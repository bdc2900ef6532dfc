//! Walks over the records of a run: tables that do not overlap, in ascending order.

use super::super::storage::FileId;
use super::reader::Io;
use super::{entry, Item, Table};
use crate::IndexError;
use nandlab_nand::Origin;
use std::rc::Rc;

/// How a cursor reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Access {
    /// Block by block through the cache.
    Cached,
    /// So many bytes at once, in whole units, past the cache: for compaction.
    Ahead(u64),
}

/// A position in a run.
#[derive(Debug)]
pub(in super::super) struct RunCursor {
    /// The tables, and the bytes of each.
    tables: Vec<(FileId, u64)>,
    access: Access,
    /// The table and its place among them, and its next data block to be loaded.
    open: Option<Rc<Table>>,
    table: usize,
    next_block: u32,
    /// The loaded block's records, and where the current one begins.
    records: Rc<[u8]>,
    at: usize,
    /// What was read ahead: its table, its offset in the file, its bytes; from a unit's begin to a unit's end.
    ahead: (usize, u64, Vec<u8>),
    /// Bytes read ahead, in total.
    pub(in super::super) read_bytes: u64,
}

impl RunCursor {
    /// A cursor at the first record with a key at or above `from`.
    pub(in super::super) fn new(
        io: &mut Io<'_>,
        tables: Vec<(FileId, u64)>,
        access: Access,
        from: Option<&[u8]>,
    ) -> Result<Self, IndexError> {
        let mut cursor = Self {
            tables,
            access,
            open: None,
            table: 0,
            next_block: 0,
            records: Rc::from([]),
            at: 0,
            ahead: (usize::MAX, 0, Vec::new()),
            read_bytes: 0,
        };
        if let (Some(from), Some(&(file, bytes))) = (from, cursor.tables.first()) {
            let table = io.table(file, bytes)?;
            cursor.next_block = table.block_for(from);
            cursor.open = Some(table);
        }
        cursor.settle(io)?;
        while let Some((key, _)) = cursor.current() {
            if from.is_none_or(|from| key >= from) {
                break;
            }
            cursor.advance(io)?;
        }
        Ok(cursor)
    }

    /// The current record; `None` at the end.
    #[inline]
    pub(in super::super) fn current(&self) -> Option<Item<'_>> {
        let table = self.open.as_ref()?;
        let (key, value, _) = entry(&self.records[self.at..], table.key_bytes)?;
        Some((key, value))
    }

    /// Goes to the next record.
    #[inline]
    pub(in super::super) fn advance(&mut self, io: &mut Io<'_>) -> Result<(), IndexError> {
        if let Some((_, _, length)) =
            self.open.as_ref().and_then(|table| entry(&self.records[self.at..], table.key_bytes))
        {
            self.at += length;
        }
        if self.at == self.records.len() {
            self.settle(io)?;
        }
        Ok(())
    }

    /// Loads the next block, in the next table if this one has no more.
    fn settle(&mut self, io: &mut Io<'_>) -> Result<(), IndexError> {
        while let Some(&(file, bytes)) = self.tables.get(self.table) {
            let table = match &self.open {
                Some(table) => table.clone(),
                None => io.table(file, bytes)?,
            };
            if self.next_block == table.blocks() {
                (self.table, self.next_block, self.open) = (self.table + 1, 0, None);
                continue;
            }
            self.open = Some(table.clone());
            self.records = match self.access {
                Access::Cached => table.block(io, self.next_block)?,
                Access::Ahead(bytes) => self.load(io, &table, bytes)?,
            };
            (self.next_block, self.at) = (self.next_block + 1, 0);
            if !self.records.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// The next block's records. A request that cuts a block is followed by one for what comes behind it, as with
    /// RocksDB's `FilePrefetchBuffer`: no unit of the data is read twice.
    fn load(&mut self, io: &mut Io<'_>, table: &Table, at_once: u64) -> Result<Rc<[u8]>, IndexError> {
        let (from, end) = table.span(self.next_block);
        let unit = io.store.unit_bytes() as u64;
        let (of, start, bytes) = &mut self.ahead;
        if *of != self.table {
            bytes.clear();
            (*of, *start) = (self.table, from - from % unit);
        }
        while end > *start + bytes.len() as u64 {
            // Blocks before this one are not needed again.
            let passed = (from - from % unit - *start) as usize;
            bytes.drain(..passed);
            *start += passed as u64;
            let (_, last) = table.span(table.blocks() - 1);
            let next = *start + bytes.len() as u64;
            let (read, _) = io.read(table.file, next, (next + at_once).min(last), Origin::INDEX_LEAF)?;
            self.read_bytes += read.len() as u64;
            bytes.extend(read);
        }
        let (_, start, bytes) = &self.ahead;
        table.checked(self.next_block, &bytes[(from - start) as usize..(end - start) as usize])
    }
}
