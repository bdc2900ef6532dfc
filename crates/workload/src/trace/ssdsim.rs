//! SSDsim: the ASCII traces of that simulator.
//!
//! `time device sector sectors type`, blanks between: nanoseconds, a number (the storage unit in traces made from SPC),
//! first 512-byte sector, sector count, 1 for a read and 0 for a write. MQSim writes the same.
//!
//! Source: Hu et al., "Performance Impact and Interplay of SSD Parallelism", ICS 2011.

use super::fields::{five_columns, FiveColumns, TimeUnit};
use super::format::{Format, ReaderOptions};
use super::line::{Line, Malformed};

/// Reads one line.
#[derive(Debug)]
pub struct Ssdsim(FiveColumns);

impl Ssdsim {
    pub(crate) fn new(options: &ReaderOptions) -> Self {
        Self(FiveColumns {
            time: options.time_unit(TimeUnit::Ns),
            has_fraction: false,
            size_sectors: 1,
            size_words: "sectors, a whole number of 512-byte sectors",
        })
    }
}

impl Format for Ssdsim {
    fn names(&self) -> Option<&'static [&'static str]> {
        Some(&[])
    }

    #[inline]
    fn record<'a>(&'a mut self, line: &'a [u8]) -> Result<Line<'a>, Malformed> {
        five_columns(line, self.0)
    }

    fn keeps_order(&self) -> bool {
        true
    }
}
