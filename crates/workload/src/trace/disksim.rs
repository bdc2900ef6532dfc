//! DiskSim: the default ASCII traces of that simulator.
//!
//! `time device block blocks flags`, spaces or tabs between: milliseconds with a fraction, a number, first 512-byte
//! sector, sector count, 1 for a read and 0 for a write. FlashSim writes sizes in pages instead. The right unit shows
//! in requests starting at others' ends. If this is unclear, tabs or six decimals leave it open, and `format` has to
//! say it.
//!
//! Source: Bucy, Schindler, Schlosser & Ganger, "The DiskSim Simulation Environment", CMU-PDL-08-101, 2008.

use super::fields::{five_columns, FiveColumns, TimeUnit};
use super::format::{Format, ReaderOptions};
use super::line::{Line, Malformed};

/// Reads one line.
#[derive(Debug)]
pub struct Disksim(FiveColumns);

impl Disksim {
    pub(crate) fn new(options: &ReaderOptions) -> Self {
        Self(FiveColumns {
            time: options.time_unit(TimeUnit::Ms),
            has_fraction: true,
            size_sectors: 1,
            size_words: "blocks, a whole number of 512-byte sectors",
        })
    }
}

impl Format for Disksim {
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

    fn is_typical(&self, line: &[u8]) -> bool {
        !line.contains(&b'\t') && super::fields::decimals(line).is_some_and(|digits| digits != 6)
    }
}
