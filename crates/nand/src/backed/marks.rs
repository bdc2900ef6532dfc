//! Marks in an image: up to which program everything is written, and up to which it is flushed.

use super::layout::{is_sealed, seal, u64_at, Tag, MARK_BYTES};
use super::shared::Shared;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

/// The numbers of two programs.
///
/// `written`: all programs up to it are in the file with their records, whenever the process ends. Which of the later ones
/// count is [`Cut`](super::cut::Cut)'s question.
///
/// `settled`: all programs up to it were flushed. A page is torn only if the machine ends between its program and the
/// next flush, so a settled page with wrong bytes is damaged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    pub settled: u64,
    /// `None`: both copies are damaged, or the image is from a version without this mark.
    pub written: Option<u64>,
}

impl Shared {
    /// Reads the marks.
    pub fn read_marks(&self) -> io::Result<Marks> {
        let settled = self.read_mark(Tag::Settled, self.layout.settled)?.unwrap_or(0);
        let marks = Marks { settled, written: self.read_mark(Tag::Written, self.layout.written)? };
        *self.marks() = marks;
        Ok(marks)
    }

    fn read_mark(&self, tag: Tag, place: u64) -> io::Result<Option<u64>> {
        let mut mark = None;
        for place in [Some(place), self.layout.second(place)].into_iter().flatten() {
            let mut record = [0; MARK_BYTES];
            self.read_at(place, &mut record)?;
            if is_sealed(tag, &record) {
                mark = mark.max(Some(u64_at(&record, 0)));
            }
        }
        Ok(mark)
    }

    fn write_mark(&self, tag: Tag, place: u64, program: u64) -> io::Result<()> {
        let mut record = [0; MARK_BYTES];
        record[..8].copy_from_slice(&program.to_le_bytes());
        seal(tag, &mut record);
        self.write_at(place, &record)
    }

    /// The last program's number.
    pub fn programs(&self) -> u64 {
        self.programs.load(Ordering::Relaxed)
    }

    /// From now on `program` is the last one's number; its record was gathered, so no mark is ahead of it.
    pub fn set_programs(&self, program: u64) {
        self.programs.store(program, Ordering::Release);
    }

    /// Writes everything gathered, and marks it: from here on, records may be removed.
    pub fn note_written(&self) -> io::Result<()> {
        // Another thread's older mark may not come behind this one.
        let mut marks = self.marks();
        let programs = self.programs.load(Ordering::Acquire);
        if marks.written == Some(programs) {
            return self.write_gathered();
        }
        self.write_mark(Tag::Written, self.layout.written, programs)?;
        marks.written = Some(programs);
        Ok(())
    }

    /// Marks the programs up to `program` as flushed.
    pub fn settle(&self, program: u64) -> io::Result<()> {
        let mut marks = self.marks();
        if program > marks.settled {
            self.write_mark(Tag::Settled, self.layout.settled, program)?;
            marks.settled = program;
        }
        Ok(())
    }

    fn marks(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
