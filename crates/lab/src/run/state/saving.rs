//! Progress while a state is saved.

use crate::control::{Control, Phase};
use std::io::{self, Read, Write};

/// A byte in memory, copied out and back, and a byte compressed into the file: how long each takes, by proportion.
const COPY: u64 = 1;
const PACK: u64 = 3;

/// Bytes of a state on their way: to memory, back from there, into the file.
pub(super) struct Saving<'a> {
    control: &'a Control,
    done: u64,
}

impl<'a> Saving<'a> {
    /// Begins the phase for a state of `bytes`.
    pub(super) fn begin(control: &'a Control, bytes: u64) -> Self {
        control.enter(Phase::SavingState, bytes * (2 * COPY + PACK), 0);
        Self { control, done: 0 }
    }

    /// Counts what goes through to memory or back.
    pub(super) fn copying<T>(&mut self, inner: T) -> Counted<'a, '_, T> {
        Counted { inner, weight: COPY, saving: self }
    }

    /// Counts what is compressed.
    pub(super) fn packing<T>(&mut self, inner: T) -> Counted<'a, '_, T> {
        Counted { inner, weight: PACK, saving: self }
    }

    /// Whether the run was cancelled: then nothing is kept.
    pub(super) fn is_cancelled(&self) -> bool {
        self.control.is_cancelled()
    }
}

/// A reader or writer whose bytes count as progress; it fails once the run is cancelled.
pub(super) struct Counted<'a, 's, T> {
    inner: T,
    weight: u64,
    saving: &'s mut Saving<'a>,
}

impl<T> Counted<'_, '_, T> {
    pub(super) fn into_inner(self) -> T {
        self.inner
    }

    fn count(&mut self, bytes: usize) -> io::Result<usize> {
        self.saving.done += bytes as u64 * self.weight;
        self.saving.control.set_done(self.saving.done);
        match self.saving.is_cancelled() {
            true => Err(io::Error::other("the run was stopped")),
            false => Ok(bytes),
        }
    }
}

impl<T: Write> Write for Counted<'_, '_, T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.count(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<T: Read> Read for Counted<'_, '_, T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(bytes)?;
        self.count(read)
    }
}
