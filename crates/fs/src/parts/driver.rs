//! What the driver of a file system on bare flash holds beside its tables: the flash, and the files that are open.

use super::{collector, failed};
use crate::{FsError, Handle};
use nandlab_nand::{Cause, Geometry, Nand, NandError, PageBuf};
use std::cell::Cell;
use std::collections::BTreeMap;

/// Open files, and whether the file system may go on.
#[derive(Debug, Default)]
pub(crate) struct Handles {
    open: BTreeMap<u32, u32>,
    last: u32,
    /// The flash failed in the middle of a change: the tables may be half changed.
    broken: Cell<bool>,
}

impl Handles {
    /// Opens a file.
    pub(crate) fn hand_out(&mut self, file: u32) -> Handle {
        self.last += 1;
        self.open.insert(self.last, file);
        Handle(self.last)
    }

    /// The file behind a handle.
    pub(crate) fn file(&self, handle: Handle) -> Result<u32, FsError> {
        self.open.get(&handle.0).copied().ok_or(FsError::Closed)
    }

    pub(crate) fn close(&mut self, handle: Handle) {
        self.open.remove(&handle.0);
    }

    /// The files that are open, as often as they are.
    pub(crate) fn files(&self) -> Vec<u32> {
        self.open.values().copied().collect()
    }

    /// Bytes that firmware would need for them.
    pub(crate) fn bytes(&self) -> u64 {
        self.open.len() as u64 * 8
    }
}

/// A file system that has its flash to itself.
pub(crate) trait Driver: Sized {
    type Flash: Nand;
    fn flash(&mut self) -> &mut Self::Flash;
    fn geometry(&self) -> &Geometry;
    fn handles(&self) -> &Handles;
    fn handles_mut(&mut self) -> &mut Handles;

    fn page_bytes(&self) -> u64 {
        self.geometry().page_bytes().into()
    }

    /// A page of zeros.
    fn blank(&self) -> <Self::Flash as Nand>::Buf {
        PageBuf::zeroed(self.geometry().page_bytes())
    }

    /// What the flash failed with, for the caller. After all but a page that cannot be read nothing goes on.
    fn failed(&self, error: NandError) -> FsError {
        let broken = &self.handles().broken;
        broken.set(broken.get() || !matches!(error, NandError::Uncorrectable(_)));
        failed(self.geometry(), error)
    }

    /// Refuses further work after the flash failed, until the next mount.
    fn alive(&self) -> Result<(), FsError> {
        if self.handles().broken.get() {
            return Err(self.failed(NandError::PowerLost));
        }
        Ok(())
    }

    /// The file behind a handle, if the file system may go on.
    fn opened(&self, handle: Handle) -> Result<u32, FsError> {
        self.alive()?;
        self.handles().file(handle)
    }

    /// Does `work`, whose operations on flash have that cause.
    fn within<R>(&mut self, cause: Cause, work: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.flash().ctx().set_cause(cause);
        let done = work(self);
        self.flash().ctx().set_cause(before);
        done
    }

    /// Collects and retires the blocks in which a program failed, as far as they may be.
    fn retire_failing(&mut self) -> Result<(), FsError>
    where
        Self: collector::Collect<Error = FsError>,
    {
        while let Some(block) = self.urgent() {
            self.collect(block)?;
        }
        Ok(())
    }
}
