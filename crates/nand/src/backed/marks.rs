//! The numbers of two programs in an image: up to which one everything is written, and up to which one it is flushed.

use super::layout::{is_sealed, seal, u64_at, Tag, MARK_BYTES};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A mark as it stands in the file.
type Record = [u8; MARK_BYTES];

/// The marks in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Noted {
    /// All programs up to this one were flushed. A page is torn only if the machine ends between its program and the next
    /// flush, so a settled page with wrong bytes is damaged.
    pub settled: u64,
    /// All programs up to this one are in the file with their records, whenever the process ends; [`Cut`](super::cut::Cut)
    /// tells which later ones count. `None`: both copies are damaged, or the image is from a version without this mark.
    pub written: Option<u64>,
}

/// Counts an image's programs, and knows the marks in its file.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// The last program's number.
    programs: AtomicU64,
    noted: Mutex<Noted>,
}

/// The number in a mark's newer copy that is whole.
pub(super) fn number(tag: Tag, copies: [Record; 2]) -> Option<u64> {
    copies.into_iter().filter(|record| is_sealed(tag, record)).map(|record| u64_at(&record, 0)).max()
}

fn record(tag: Tag, program: u64) -> Record {
    let mut record = [0; MARK_BYTES];
    record[..8].copy_from_slice(&program.to_le_bytes());
    seal(tag, &mut record);
    record
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

    /// Hands the mark of the programs written so far to `write`, which first writes everything gathered; `None` if it stands
    /// in the file.
    pub fn note_written(&self, write: impl FnOnce(Option<Record>) -> io::Result<()>) -> io::Result<()> {
        // Held through the write: another thread's older mark may not come behind this one.
        let mut noted = self.noted();
        let programs = self.programs();
        let is_new = noted.written != Some(programs);
        write(is_new.then(|| record(Tag::Written, programs)))?;
        noted.written = Some(programs);
        Ok(())
    }

    /// Hands the mark of the programs flushed up to `program` to `write`, if it is new.
    pub fn settle(&self, program: u64, write: impl FnOnce(Record) -> io::Result<()>) -> io::Result<()> {
        let mut noted = self.noted();
        if program > noted.settled {
            write(record(Tag::Settled, program))?;
            noted.settled = program;
        }
        Ok(())
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
