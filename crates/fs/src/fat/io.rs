//! The cache as a byte stream for the library.

use super::cache::Cache;
use nandlab_block::Error;
use std::cell::RefCell;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::rc::Rc;

/// A byte stream over a device's sectors.
#[derive(Debug)]
pub(super) struct Io<'d>(pub(super) Rc<RefCell<Cache<'d>>>);

/// Wraps a device error for the library; the cache keeps the original.
fn hidden(error: Error) -> io::Error {
    io::Error::other(error)
}

impl Read for Io<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.borrow_mut().read(bytes).map_err(hidden)
    }
}

impl Write for Io<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes).map_err(hidden)
    }

    /// Does nothing: the library flushes after each file, but changes are written at the end of the
    /// operation.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Io<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let mut cache = self.0.borrow_mut();
        let position = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => cache.device_bytes().checked_add_signed(by),
            SeekFrom::Current(by) => cache.position.checked_add_signed(by),
        };
        cache.position = position.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(cache.position)
    }
}
