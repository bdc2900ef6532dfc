//! Driver state of a file system on bare flash besides its tables: the flash and the open files.

use super::{collector, failed};
use crate::{FsError, Handle};
use nandlab_nand::{Cause, Geometry, Nand, NandError, PageBuf};
use std::cell::Cell;
use std::collections::BTreeMap;

/// Open files, and whether the file system is still usable.
#[derive(Debug, Default)]
pub(crate) struct Handles {
    open: BTreeMap<u32, u32>,
    last: u32,
    /// True after the flash failed in the middle of a change; the tables may be half changed.
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

    /// All open files, once per handle.
    pub(crate) fn files(&self) -> Vec<u32> {
        self.open.values().copied().collect()
    }

    /// Bytes that firmware would need for the handles.
    pub(crate) fn bytes(&self) -> u64 {
        self.open.len() as u64 * 8
    }
}

/// A file system that owns its flash.
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

    /// Converts a flash error for the caller. Any error except an unreadable page stops further
    /// work.
    fn failed(&self, error: NandError) -> FsError {
        let broken = &self.handles().broken;
        broken.set(broken.get() || !matches!(error, NandError::Uncorrectable(_)));
        failed(self.geometry(), error)
    }

    /// Refuses further work after a flash failure, until the next mount.
    fn alive(&self) -> Result<(), FsError> {
        if self.handles().broken.get() {
            return Err(self.failed(NandError::PowerLost));
        }
        Ok(())
    }

    /// The file behind a handle, if the file system is still usable.
    fn opened(&self, handle: Handle) -> Result<u32, FsError> {
        self.alive()?;
        self.handles().file(handle)
    }

    /// Runs `work` with `cause` as the cause of its flash operations.
    fn within<R>(&mut self, cause: Cause, work: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.flash().ctx().set_cause(cause);
        let done = work(self);
        self.flash().ctx().set_cause(before);
        done
    }

    /// Collects and retires blocks with failed programs, as far as possible.
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
