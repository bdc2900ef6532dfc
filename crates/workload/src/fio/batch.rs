//! Keys about ends: how many requests a job takes at a time.

use super::text::{number, Entry};
use super::Malformed;

/// The keys, as a job has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Batch {
    pub(super) least: u32,
    pub(super) most: u32,
    pub(super) low: u32,
}

impl Default for Batch {
    fn default() -> Self {
        Self { least: 1, most: 0, low: 0 }
    }
}

impl Batch {
    /// Takes a key.
    pub(super) fn set(&mut self, entry: &Entry<'_>) -> Result<(), Malformed> {
        let count = number(entry, 0, u32::MAX.into())? as u32;
        match entry.key {
            // fio submits all it has before it waits, so their number changes nothing.
            "iodepth_batch" | "iodepth_batch_submit" => {}
            "iodepth_batch_complete_max" => self.most = count,
            "iodepth_low" => self.low = count,
            _ => self.least = count,
        }
        Ok(())
    }

    /// Whether it looks behind each request, and waits for it (backend.c of fio 3.33, `io_in_polling`).
    pub(super) fn is_polling(self) -> bool {
        self.least == 0 && self.most == 0
    }
}
