//! Time of a mount's reads on a device where nothing was ever programmed.

use super::Timed;
use crate::context::Time;
use crate::nand::Nand;

impl<N: Nand, const EXTRAS: bool> Timed<N, EXTRAS> {
    /// Takes the time of reading every spare area, in the order of the pages, if no operation came before; false otherwise, or
    /// if the reads of several units keep each other waiting for a bus again and again.
    ///
    /// A unit reads one page after the other. The first transfers on a bus wait for each other; from then on each unit transfers
    /// while the others read.
    pub(super) fn time_all_spare_reads(&mut self) -> bool {
        let (array, transfer) = (self.times.spare_read, self.times.spare_transfer);
        let (ready, most) =
            (self.inner.ctx().ready(), self.channels.iter().map(super::Channel::units).max().unwrap_or(1));
        let is_new = self.units.iter().all(|unit| unit.free == 0) && ready == 0;
        // A turn of transfers on the bus is no longer than a read.
        let is_regular = most as Time * transfer <= array + transfer;
        if EXTRAS || !is_new || !is_regular || !self.inner.read_untouched() {
            return false;
        }
        let pages = Time::from(self.geometry.pages()) / self.units.len() as Time;
        for unit in 0..self.units.len() {
            let (channel, lane) = (self.units[unit].channel as usize, self.units[unit].lane as usize);
            let end = pages * (array + transfer) + lane as Time * transfer;
            if transfer > 0 {
                self.channels[channel].busy += (pages - 1) * transfer;
                self.channels[channel].take(lane, end - transfer, transfer);
            }
            self.units[unit].free = end;
            self.units[unit].busy += pages * (array + transfer);
            self.complete(end);
        }
        true
    }
}
