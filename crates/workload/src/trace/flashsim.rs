//! FlashSim: traces in the form that was published with that simulator in 2010.
//!
//! `time device sector pages type`, tabs between: milliseconds with six decimals, a number, first 512-byte sector, size
//! in 4 KiB pages, 1 for a read and 0 for a write. DiskSim has the same columns with sizes in sectors, also with tabs:
//! the right unit shows in requests starting at others' ends.
//!
//! Source: Kim, Tauras, Gupta & Urgaonkar, "FlashSim", SIMUL 2009.

use super::fields::{five_columns, FiveColumns, TimeUnit, PAGE_SECTORS};
use super::format::{Format, ReaderOptions};
use super::line::{Line, Malformed};

/// Reads one line.
#[derive(Debug)]
pub struct Flashsim(FiveColumns);

impl Flashsim {
    pub(crate) fn new(options: &ReaderOptions) -> Self {
        Self(FiveColumns {
            time: options.time_unit(TimeUnit::Ms),
            has_fraction: true,
            size_sectors: PAGE_SECTORS,
            size_words: "pages, a whole number of 4 KiB pages",
        })
    }
}

impl Format for Flashsim {
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

    /// DiskSim traces have tabs and six decimals, too: only requests continuing one another tell the two apart.
    fn is_typical(&self, _: &[u8]) -> bool {
        false
    }
}
