//! Reads that move a part of a page over the channel.
//!
//! The array reads the whole page into the register. Then the channel moves only the sectors that the host asked
//! for, each with its share of the spare area, which holds its ECC.

use super::Timed;
use crate::context::{Cause, Time};
use crate::nand::Nand;

impl<N: Nand, const EXTRAS: bool> Timed<N, EXTRAS> {
    /// The transfer of a page that is read now.
    #[inline]
    pub(super) fn read_transfer(&mut self) -> Time {
        let whole = self.times.page_transfer;
        if !EXTRAS || !self.moves_sectors {
            return whole;
        }
        let ctx = self.inner.ctx();
        let sectors = ctx.asked();
        let per_page = self.geometry.sectors_per_page();
        if sectors == 0 || sectors >= per_page || ctx.cause() != Cause::Host {
            return whole;
        }
        let shape = self.geometry.shape();
        let bytes = u64::from(shape.page_bytes + shape.spare_bytes) * u64::from(sectors);
        let transfer = self.times.part_transfer(bytes.div_ceil(per_page.into()) as u32);
        self.inner.ctx().spare(whole - transfer);
        transfer
    }
}
