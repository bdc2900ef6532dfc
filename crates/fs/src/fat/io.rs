//! The cache as the library sees it: a stream of bytes.

use super::cache::Cache;
use nandlab_block::Error;
use std::cell::RefCell;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::rc::Rc;

/// A stream over the sectors of a device.
#[derive(Debug)]
pub(super) struct Io<'d>(pub(super) Rc<RefCell<Cache<'d>>>);

/// The library hands on its own kind of error; the cache keeps ours.
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

    /// Nothing: the library asks for it after each file, and the end of an operation writes what is changed.
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
