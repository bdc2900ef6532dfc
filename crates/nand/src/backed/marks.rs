//! Marks in an image: up to which program everything is written, and up to which one it is flushed.
//!
//! A mark also has totals. A checksum proves a record whole, never current: if the records tell less than a mark, some are
//! old or missing.

use super::layout::{is_sealed, seal, u64_at, Tag, MARK_BYTES, MARK_HEAD_BYTES};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A mark as it stands in the file.
type Record = [u8; MARK_BYTES];

/// An image's totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Totals {
    /// Erases, and blocks marked bad.
    pub removals: u64,
    /// Words stored in the NVRAM.
    pub stores: u64,
    /// Programs in no record, after damage.
    pub missing: u64,
}

/// A mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mark {
    /// The last program it covers.
    pub program: u64,
    /// `None` in images from versions without them.
    pub totals: Option<Totals>,
    /// Whether the disk was closed then: the mark at the end of the file is the same.
    pub is_closed: bool,
}

impl Mark {
    pub fn to_bytes(self, tag: Tag) -> Record {
        let mut record = [0; MARK_BYTES];
        record[..8].copy_from_slice(&self.program.to_le_bytes());
        seal(tag, &mut record[..MARK_HEAD_BYTES]);
        if let Some(Totals { removals, stores, missing }) = self.totals {
            for (place, total) in record[MARK_HEAD_BYTES..].chunks_exact_mut(8).zip([removals, stores, missing]) {
                place.copy_from_slice(&total.to_le_bytes());
            }
            record[CLOSED_AT] = u8::from(self.is_closed);
            seal(tag, &mut record);
        }
        record
    }

    /// The mark in `record`, if it is whole.
    pub fn from_bytes(tag: Tag, record: &Record) -> Option<Self> {
        let has_totals = record[MARK_HEAD_BYTES..].iter().any(|&byte| byte != 0);
        if !is_sealed(tag, &record[..MARK_HEAD_BYTES]) || has_totals && !is_sealed(tag, record) {
            return None;
        }
        let total = |number: usize| u64_at(record, MARK_HEAD_BYTES + 8 * number);
        let totals = has_totals.then(|| Totals { removals: total(0), stores: total(1), missing: total(2) });
        Some(Self { program: u64_at(record, 0), totals, is_closed: record[CLOSED_AT] != 0 })
    }
}

/// The place of the byte of a closed disk, behind the totals.
const CLOSED_AT: usize = MARK_HEAD_BYTES + 24;

/// The marks in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Noted {
    /// All programs up to this one were flushed. A page is torn only if the machine ends between its program and the next
    /// flush, so a settled page with wrong bytes is damaged.
    pub settled: Option<Mark>,
    /// All programs up to this one are in the file with their records, whenever the process ends; [`Cut`](super::cut::Cut)
    /// tells which later ones count. `None`: both copies are damaged, or the image is from a version without this mark.
    pub written: Option<Mark>,
    /// The last closed disk's mark, at the end of the file: records in front of it that are older were put back.
    pub end: Option<Mark>,
}

impl Noted {
    /// All programs up to this one are in the file. A flushed program is written.
    pub fn start(&self) -> Option<u64> {
        self.written.map(|written| written.program.max(self.settled().program))
    }

    pub fn settled(&self) -> Mark {
        self.settled.unwrap_or_default()
    }
}

/// Counts an image's changes, and knows the marks in its file.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// The last program's number.
    programs: AtomicU64,
    removals: AtomicU64,
    stores: AtomicU64,
    missing: AtomicU64,
    noted: Mutex<Noted>,
}

impl Marks {
    /// Takes the marks found in the file over.
    pub fn found(&self, noted: Noted) {
        *self.noted() = noted;
    }

    /// The last program's number.
    pub fn programs(&self) -> u64 {
        self.programs.load(Ordering::Acquire)
    }

    /// From now on `program` is the last one's number; its record was gathered, so no mark is ahead of it.
    pub fn set_programs(&self, program: u64) {
        self.programs.store(program, Ordering::Release);
    }

    /// Counts erases and bad blocks whose records were written.
    pub fn add_removals(&self, removals: u64) {
        self.removals.fetch_add(removals, Ordering::AcqRel);
    }

    /// Counts stored NVRAM words.
    pub fn add_stores(&self, stores: u64) {
        self.stores.fetch_add(stores, Ordering::AcqRel);
    }

    /// From now on so many programs are in no record.
    pub fn set_missing(&self, missing: u64) {
        self.missing.store(missing, Ordering::Release);
    }

    /// A mark for everything until now.
    pub fn now(&self) -> Mark {
        let totals = Totals {
            removals: self.removals.load(Ordering::Acquire),
            stores: self.stores.load(Ordering::Acquire),
            missing: self.missing.load(Ordering::Acquire),
        };
        Mark { program: self.programs(), totals: Some(totals), is_closed: false }
    }

    /// Hands the mark of the programs written so far to `write`, which first writes everything gathered; `None` if it stands
    /// in the file.
    pub fn note_written(&self, write: impl FnOnce(Option<Record>) -> io::Result<()>) -> io::Result<()> {
        // Held through the write: another thread's older mark may not come behind this one.
        let mut noted = self.noted();
        let mark = self.now();
        let is_new = noted.written.is_none_or(|written| written.program != mark.program);
        write(is_new.then(|| mark.to_bytes(Tag::Written)))?;
        if is_new {
            noted.written = Some(mark);
        }
        Ok(())
    }

    /// Hands a closed disk's mark to `write`, over the written programs' mark.
    pub fn note_closed(&self, mark: Mark, write: impl FnOnce(Record) -> io::Result<()>) -> io::Result<()> {
        let mut noted = self.noted();
        // Whoever went on meanwhile has not closed it.
        if self.now() == mark {
            let mark = Mark { is_closed: true, ..mark };
            write(mark.to_bytes(Tag::Written))?;
            noted.written = Some(mark);
        }
        Ok(())
    }

    /// Hands the flush's `mark` to `write` if it has a later program; with `every_total`, if it has anything new.
    pub fn settle(
        &self,
        mark: Mark,
        every_total: bool,
        write: impl FnOnce(Record) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut noted = self.noted();
        let is_new = noted.settled.is_none_or(|settled| {
            mark.program > settled.program || every_total && mark.program == settled.program && mark != settled
        });
        if is_new {
            write(mark.to_bytes(Tag::Settled))?;
            noted.settled = Some(mark);
        }
        Ok(())
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
