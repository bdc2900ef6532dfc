//! Times in blocks with one bit per cell.

use super::{quantity, Durations, Profile, Timing};
use crate::address::Shape;
use crate::context::{Cell, Time, ERASE_SHARE};
use serde::{Deserialize, Serialize};

/// Operation times in a block with one bit per cell; other times are as in any block.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlcTiming {
    /// Array to page register (tR); also a spare-only read.
    #[serde(deserialize_with = "quantity")]
    pub read_us: f64,
    /// Page register to array (tPROG); also a spare-only program.
    #[serde(deserialize_with = "quantity")]
    pub program_us: f64,
    /// Block erase (tBERS).
    #[serde(deserialize_with = "quantity")]
    pub erase_us: f64,
}

impl Profile {
    /// As [`Self::busy_ns`], but `slc` is `cell`'s part in blocks with one bit per cell
    /// ([`crate::slc::Metered`] counts it).
    pub fn busy_ns_with_slc(&self, cell: &Cell, slc: &Cell) -> Time {
        let busy = self.busy_ns(cell);
        let Some(one) = Durations::slc(&self.timing, &self.shape) else { return busy };
        let array = |times: &Durations| {
            let erases = u128::from(slc.erase_shares) * u128::from(times.erase) / u128::from(ERASE_SHARE);
            slc.page_reads * times.read
                + slc.page_programs * times.program
                + slc.spare_reads * times.spare_read
                + slc.spare_programs * times.spare_program
                + erases as Time
        };
        (busy + array(&one)).saturating_sub(array(&Durations::new(&self.timing, &self.shape)))
    }
}

impl Durations {
    /// The same for a block of one bit a cell; `None` if the chip has none.
    ///
    /// # Panics
    /// As [`Self::new`].
    pub(crate) fn slc(timing: &Timing, shape: &Shape) -> Option<Self> {
        let SlcTiming { read_us, program_us, erase_us } = timing.slc?;
        let many = Self::new(timing, shape);
        let mut timing = Timing { read_us, program_us, erase_us, ..*timing };
        (timing.spare_read_us, timing.spare_program_us) = (None, None);
        let one = Self::new(&timing, shape);
        // A stated copy time applies to pages of many bits; the part beyond read and program is not array time.
        let copy_inside = many.copy_inside.map(|total| many.copied(total, &one, &one));
        Some(Self { copy_inside, ..one })
    }

    /// Time for an inside copy with a read at `from` and a program at `to`, if a copy at `self` takes `total`.
    pub(crate) fn copied(&self, total: Time, from: &Self, to: &Self) -> Time {
        total.saturating_sub(self.read + self.program) + from.read + to.program
    }
}
