//! A device with data placement by the host as a disk of reclaim units.

use super::{Disk, Inner};
use crate::{check_range, Due, MediaUse, Placed, Placing};
use nandlab_block::{Error, Op, Payload};
use nandlab_lab::served::{PlacementEvents, Served};
use nandlab_nand::{PlacementId, Time};
use std::io;

/// The constants of an image's data placement, if its FTL has it.
pub(super) fn placing(served: &Served) -> Option<Placing> {
    let units = served.units()?;
    Some(Placing { ids: units.ids, persistent: units.persistent, unit_bytes: units.bytes })
}

impl Disk {
    /// Whether the host says which data belongs together.
    pub(crate) fn is_placed(&self) -> bool {
        self.placing.is_some()
    }

    /// As [`crate::Export::write_zeroes`], through a handle.
    pub(super) fn zero_through(
        &self,
        placement: PlacementId,
        (offset, length): (u64, u64),
        may_trim: bool,
        fua: bool,
    ) -> io::Result<Due> {
        check_range(self.size, offset, length)?;
        self.refuse_writes()?;
        let page = u64::from(self.page_bytes);
        self.change(fua, |inner| match may_trim {
            _ if inner.is_zoned => inner.zero_in_zone(offset, length),
            true => inner.through(placement, |inner| inner.zero_or_trim(offset, length, page)),
            false => inner.through(placement, |inner| inner.zero(offset, length)),
        })
    }
}

impl Inner {
    /// Carries out `work`, whose writes go through a handle.
    fn through(
        &mut self,
        placement: PlacementId,
        work: impl FnOnce(&mut Self) -> Result<Time, Error>,
    ) -> Result<Time, Error> {
        self.placement = placement;
        let done = work(self);
        self.placement = PlacementId::NONE;
        done
    }
}

impl Placed for Disk {
    fn placing(&self) -> Placing {
        self.placing.clone().expect("the disk was asked whether its host places")
    }

    fn bytes_left(&self) -> Vec<Vec<u64>> {
        let used = self.lock().served.use_of_units().unwrap_or_default();
        let bytes = |&sectors: &u64| sectors * super::SECTOR;
        used.sectors_left.iter().map(|group| group.iter().map(bytes).collect()).collect()
    }

    fn events(&self) -> (PlacementEvents, u64) {
        let mut inner = self.lock();
        let events = inner.served.use_of_units().map(|used| used.events).unwrap_or_default();
        (events, inner.served.now() / 1_000_000)
    }

    fn media_use(&self) -> MediaUse {
        let mut inner = self.lock();
        let all = inner.served.lifetime();
        let (flash, page) = (all.flash(), u64::from(self.page_bytes));
        let block = page * u64::from(inner.served.sizing().geometry.pages_per_block());
        MediaUse {
            host_bytes: all.host.written_sectors * super::SECTOR,
            media_bytes: flash.programs * page,
            erased_bytes: flash.erases * block,
        }
    }

    fn write(&self, offset: u64, data: &[u8], fua: bool, placement: PlacementId) -> io::Result<Due> {
        check_range(self.size, offset, data.len() as u64)?;
        self.refuse_writes()?;
        self.change(fua, |inner| inner.through(placement, |inner| inner.write_bytes(offset, data)))
    }

    fn write_zeroes(&self, range: (u64, u64), may_trim: bool, fua: bool, placement: PlacementId) -> io::Result<Due> {
        self.zero_through(placement, range, may_trim, fua)
    }

    fn update(&self, placements: &[PlacementId]) -> io::Result<Due> {
        self.refuse_writes()?;
        self.change(false, |inner| {
            let mut done = 0;
            for &placement in placements {
                let update = |inner: &mut Inner| inner.ask(Op::UnitUpdate, 0, 0, Payload::None);
                done = done.max(inner.through(placement, update)?);
            }
            Ok(done)
        })
    }
}
