//! The contents of a disk whose FTL cannot be mounted, as a plain file.

use crate::{check_range, copy, Due, Export};
use nandlab_lab::served::Rescued;
use std::io::{self, Error, ErrorKind};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

const SECTOR: usize = nandlab_nand::SECTOR_BYTES as usize;

/// A rescued disk for [`copy`].
struct Found(Mutex<Rescued>);

/// Writes what is on flash into a new file; returns the byte ranges whose newest copy is damaged, which stay holes.
///
/// # Errors
/// The file exists or cannot be written. No file is left then.
pub fn rescue(found: Rescued, path: &Path) -> io::Result<Vec<Range<u64>>> {
    copy(&Found(Mutex::new(found)), path)
}

fn read_only() -> Error {
    ErrorKind::ReadOnlyFilesystem.into()
}

impl Export for Found {
    fn size(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).sectors() * SECTOR as u64
    }

    fn preferred_block(&self) -> u32 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).page_bytes()
    }

    fn is_read_only(&self) -> bool {
        true
    }

    /// Reads whole sectors.
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<Due> {
        check_range(self.size(), offset, out.len() as u64)?;
        if offset % SECTOR as u64 != 0 || out.len() % SECTOR != 0 {
            return Err(ErrorKind::InvalidInput.into());
        }
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sectors = (offset / SECTOR as u64..).zip(out.chunks_exact_mut(SECTOR));
        match sectors.all(|(sector, bytes)| found.read(sector, bytes)) {
            true => Ok(Due::NOW),
            false => Err(ErrorKind::InvalidData.into()),
        }
    }

    fn write(&self, _: u64, _: &[u8], _: bool) -> io::Result<Due> {
        Err(read_only())
    }

    fn write_zeroes(&self, _: u64, _: u64, _: bool, _: bool) -> io::Result<Due> {
        Err(read_only())
    }

    fn trim(&self, _: u64, _: u64, _: bool) -> io::Result<Due> {
        Err(read_only())
    }

    fn hand_over(&self) -> io::Result<()> {
        Ok(())
    }

    fn flush(&self) -> io::Result<Due> {
        Ok(Due::NOW)
    }
}
