//! A disk in memory, to test and to measure protocols without an FTL.

use crate::{check_range, Described, Description, Due, Export, Health};
use std::io::Result;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes in memory, zero at first.
#[derive(Debug)]
pub struct Memory {
    bytes: Mutex<Vec<u8>>,
    size: u64,
    /// How long each request takes, for a paced disk.
    pace: std::time::Duration,
}

impl Memory {
    /// A disk with `size` bytes that answers at once.
    pub fn new(size: usize) -> Self {
        Self { bytes: Mutex::new(vec![0; size]), size: size as u64, pace: std::time::Duration::ZERO }
    }

    /// The same, with each answer due `pace` after its request.
    pub fn paced(self, pace: std::time::Duration) -> Self {
        Self { pace, ..self }
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn due(&self) -> Due {
        if self.pace.is_zero() {
            Due::NOW
        } else {
            Due::at(std::time::Instant::now() + self.pace)
        }
    }
}

impl Export for Memory {
    fn size(&self) -> u64 {
        self.size
    }

    fn preferred_block(&self) -> u32 {
        4096
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<Due> {
        check_range(self.size, offset, out.len() as u64)?;
        let start = offset as usize;
        out.copy_from_slice(&self.bytes()[start..start + out.len()]);
        Ok(self.due())
    }

    fn write(&self, offset: u64, data: &[u8], _fua: bool) -> Result<Due> {
        check_range(self.size, offset, data.len() as u64)?;
        let start = offset as usize;
        self.bytes()[start..start + data.len()].copy_from_slice(data);
        Ok(self.due())
    }

    fn write_zeroes(&self, offset: u64, length: u64, _may_trim: bool, _fua: bool) -> Result<Due> {
        check_range(self.size, offset, length)?;
        self.bytes()[offset as usize..(offset + length) as usize].fill(0);
        Ok(self.due())
    }

    fn trim(&self, offset: u64, length: u64, _fua: bool) -> Result<Due> {
        check_range(self.size, offset, length)?;
        let (first, end) = (offset.next_multiple_of(512), (offset + length) / 512 * 512);
        if first < end {
            self.bytes()[first as usize..end as usize].fill(0);
        }
        Ok(self.due())
    }

    fn hand_over(&self) -> Result<()> {
        Ok(())
    }

    fn flush(&self) -> Result<Due> {
        Ok(self.due())
    }
}

impl Described for Memory {
    fn description(&self) -> Description {
        let model = "nandlab memory".into();
        Description { identity: 1, model, trims_read_zeros: true, has_volatile_cache: true }
    }

    fn health(&self) -> Health {
        Health { spare_percent: 100, ..Health::default() }
    }
}
