//! MQSim: the ASCII traces of that simulator.
//!
//! `time device sector sectors type`, blanks between: nanoseconds, a number, first 512-byte sector, sector count, 0 for
//! a write and 1 for a read. SSDsim writes the same.
//!
//! Source: Tavakkol et al., "MQSim", FAST 2018, and the manual in its repository.

use super::fields::{five_columns, FiveColumns, TimeUnit};
use super::format::{Format, ReaderOptions};
use super::line::{Line, Malformed};

/// Reads one line.
#[derive(Debug)]
pub struct Mqsim(FiveColumns);

impl Mqsim {
    pub(crate) fn new(options: &ReaderOptions) -> Self {
        Self(FiveColumns {
            time: options.time_unit(TimeUnit::Ns),
            has_fraction: false,
            size_sectors: 1,
            size_words: "sectors, a whole number of 512-byte sectors",
        })
    }
}

impl Format for Mqsim {
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
