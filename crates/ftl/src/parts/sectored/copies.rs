//! Each logical sector's newest copy, for searches through flash.

use super::NOTHING;
use nandlab_nand::tables::Table;
use nandlab_nand::{Geometry, Ppa, Seq};
use std::ops::Range;

/// Four bytes per logical sector; sequence numbers are kept per page, a few bytes for many sectors.
pub(super) struct Copies {
    /// By logical sector: its newest copy's address, [`NOTHING`] without one.
    addresses: Table<u32>,
    /// By page: its sequence number.
    seqs: Vec<u64>,
    /// log2 of the sectors per page.
    page_shift: u32,
}

impl Copies {
    pub(super) fn new(geometry: &Geometry, logical_sectors: u32) -> Self {
        Self {
            addresses: Table::blank(logical_sectors as usize),
            seqs: vec![0; geometry.pages() as usize],
            page_shift: geometry.sectors_per_page().trailing_zeros(),
        }
    }

    /// Adds a page with copies of these logical sectors in order, [`NOTHING`] for none; fails with the first sector
    /// that is too large.
    pub(super) fn add_page(&mut self, page: Ppa, seq: Seq, sectors: impl IntoIterator<Item = u32>) -> Result<(), u32> {
        self.seqs[page.index()] = seq.0;
        for (address, sector) in (page.0 << self.page_shift..).zip(sectors).filter(|&(_, at)| at != NOTHING) {
            let known = self.addresses.get(sector as usize).ok_or(sector)?;
            if known == NOTHING || (self.seq(known), known) < (seq.0, address) {
                self.addresses.set(sector as usize, address);
            }
        }
        Ok(())
    }

    fn seq(&self, address: u32) -> u64 {
        self.seqs[(address >> self.page_shift) as usize]
    }

    /// The address of a logical sector's newest copy; [`NOTHING`] without one.
    #[inline]
    pub(super) fn at(&self, sector: u32) -> u32 {
        self.addresses.get(sector as usize).unwrap_or(NOTHING)
    }

    /// Drops copies of these logical sectors older than `seq`.
    pub(super) fn hide(&mut self, sectors: Range<usize>, seq: u64) {
        for sector in sectors.start..sectors.end.min(self.addresses.len()) {
            let address = self.addresses.at(sector);
            if address != NOTHING && self.seq(address) < seq {
                self.addresses.set(sector, NOTHING);
            }
        }
    }

    /// The addresses of all copies.
    pub(super) fn all(&self) -> impl Iterator<Item = u32> + '_ {
        self.addresses.entries().map(|(_, address)| address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_copy_counts_unless_it_is_hidden() {
        let geometry = Geometry::single_die(4, 4, 2048).unwrap();
        let mut copies = Copies::new(&geometry, 8);
        assert_eq!(copies.add_page(Ppa(3), Seq(20), 4..8), Ok(()));
        assert_eq!(copies.add_page(Ppa(1), Seq(30), [5, NOTHING, 0]), Ok(()));
        assert_eq!(copies.add_page(Ppa(2), Seq(10), [7, 1, 0]), Ok(()));
        assert_eq!(
            (0..9).map(|at| copies.at(at)).collect::<Vec<_>>(),
            [6, 9, NOTHING, NOTHING, 12, 4, 14, 15, NOTHING]
        );
        copies.hide(0..2, 21);
        copies.hide(6..100, 20);
        assert_eq!(copies.all().collect::<Vec<_>>(), [6, 12, 4, 14, 15], "only sector 1 has a copy from before");
        assert_eq!(copies.add_page(Ppa(5), Seq(40), [2, 8]), Err(8));
    }
}
