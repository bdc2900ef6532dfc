//! A zone's random write area: the host writes a stretch behind the write pointer in any order, and again.
//!
//! The area begins at the write pointer. What lies in it waits in memory until it is final: a commit moves the write pointer,
//! or a write of the host does that goes beyond the area. A write may go as far beyond it as the area is long.

use super::waiting::Waiting;
use super::Sequential;
use crate::zones::ZoneOptions;
use crate::FtlError;
use nandlab_block::{ByteCount, ZoneFault, ZoneState};
use nandlab_nand::{Geometry, Lpn, Nand, PageBuf, SectorMask};

/// Sizes of random write areas, in pages; all 0 if no zone can have one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct AreaShape {
    pub(super) pages: u32,
    /// By so many pages the write pointer moves.
    granularity: u32,
    /// Most areas at a time; 0 is no limit.
    most: u32,
}

impl AreaShape {
    /// # Errors
    /// [`FtlError::Config`] if a size is no whole number of pages, or the granularity does not divide the area.
    pub(super) fn new(options: &ZoneOptions, geometry: &Geometry, capacity: u32) -> Result<Self, FtlError> {
        let page = u64::from(geometry.page_bytes());
        let Some(area) = options.random_write_area else {
            let needs = |option: String| {
                Err(FtlError::Config(format!("device.zones.{option}: it needs device.zones.random_write_area")))
            };
            if let Some(granularity) = options.commit_granularity {
                return needs(format!("commit_granularity = {granularity}"));
            }
            if options.max_random_write_areas > 0 {
                return needs(format!("max_random_write_areas = {}", options.max_random_write_areas));
            }
            return Ok(Self::default());
        };
        let granularity = options.commit_granularity.unwrap_or(ByteCount(page));
        let is_whole = |bytes: ByteCount| bytes.0 > 0 && bytes.0 % page == 0 && bytes.0 / page <= u64::from(capacity);
        if !is_whole(area) {
            return Err(FtlError::Config(format!(
                "device.zones.random_write_area = {area}: it is a whole number of pages of {page} bytes, and no more than the \
                 zone's capacity of {capacity} pages"
            )));
        }
        if !is_whole(granularity) || area.0 % granularity.0 != 0 {
            return Err(FtlError::Config(format!(
                "device.zones.commit_granularity = {granularity}: it is a whole number of pages of {page} bytes, and divides \
                 device.zones.random_write_area = {area}"
            )));
        }
        let pages = |bytes: ByteCount| (bytes.0 / page) as u32;
        Ok(Self { pages: pages(area), granularity: pages(granularity), most: options.max_random_write_areas })
    }

    /// Pages of all areas that there can be at a time, on a device of so many zones.
    pub(super) fn most_pages(&self, options: &ZoneOptions, zones: u32) -> u64 {
        let active = options.most_active(zones);
        let areas = if self.most > 0 { self.most.min(active) } else { active };
        u64::from(areas) * u64::from(self.pages)
    }
}

impl Sequential {
    pub(super) fn is_random(&self, zone: u32) -> bool {
        self.waiting[zone as usize].as_ref().is_some_and(|waiting| waiting.is_random)
    }

    /// Opens an empty zone, and gives it a random write area.
    pub(super) fn open_random(&mut self, zone: u32) -> Result<(), FtlError> {
        let fault = |fault| Err(FtlError::Zone { zone, fault });
        if self.area.pages == 0 {
            return fault(ZoneFault::InvalidField);
        }
        if self.is_random(zone) {
            return self.open(zone, ZoneState::ExplicitlyOpened);
        }
        if self.states[zone as usize] != ZoneState::Empty {
            return fault(ZoneFault::InvalidTransition);
        }
        // A zone without a good block keeps what waits to be read, and takes no area from others.
        let has_area = |&zone: &u32| self.is_random(zone) && self.states[zone as usize] != ZoneState::ReadOnly;
        let areas = (0..self.zones.count()).filter(has_area).count() as u32;
        if self.area.most > 0 && areas == self.area.most {
            return fault(ZoneFault::NoRandomWriteArea);
        }
        self.open(zone, ZoneState::ExplicitlyOpened)?;
        self.waiting[zone as usize] = Some(Box::new(Waiting { is_random: true, ..Waiting::default() }));
        Ok(())
    }

    /// Admits a write of the sectors from `at` to `end` of a zone with a random write area.
    pub(super) fn admit_random(&mut self, nand: &mut impl Nand, zone: u32, at: u64, end: u64) -> Result<(), FtlError> {
        let fault = |fault| Err(FtlError::Zone { zone, fault });
        let first = self.write_pointer(zone);
        if end > self.capacity_sectors() {
            return fault(ZoneFault::Boundary);
        }
        if at < first || end > first + 2 * u64::from(self.area.pages) * u64::from(self.sectors_per_page) {
            return fault(ZoneFault::InvalidWrite);
        }
        self.open_for_write(nand, zone)
    }

    /// Keeps a page of a zone with a random write area; what is too far before it becomes final.
    pub(super) fn write_random<N: Nand>(
        &mut self,
        nand: &mut N,
        at: Lpn,
        sectors: SectorMask,
        page: &N::Buf,
    ) -> Result<(), FtlError> {
        let (zone, place) = self.split(at);
        let behind = (place - self.zones.written(zone)) as usize;
        let page_bytes = nand.geometry().page_bytes();
        if let Some(waiting) = &mut self.waiting[zone as usize] {
            waiting.add(behind, sectors, page, page_bytes);
        }
        let most = self.area.pages as usize;
        while self.waiting[zone as usize].as_ref().is_some_and(|waiting| waiting.parts.len() > most) {
            let before = self.zones.written(zone);
            let committed = self.commit_pages(nand, zone, self.area.granularity);
            self.used.implicit_commit_pages += u64::from(self.zones.written(zone) - before);
            if let (Err(_), Some(waiting)) = (&committed, &mut self.waiting[zone as usize]) {
                waiting.parts.truncate(most);
            }
            committed?;
        }
        Ok(())
    }

    /// Makes everything up to the sector `last` of a zone final.
    pub(super) fn commit<N: Nand>(&mut self, nand: &mut N, zone: u32, last: u64) -> Result<(), FtlError> {
        let fault = |fault| Err(FtlError::Zone { zone, fault });
        if !self.is_random(zone) {
            return fault(ZoneFault::InvalidOperation);
        }
        let of_page = u64::from(self.sectors_per_page);
        let (first, end) = (self.write_pointer(zone), last + 1);
        let most = (first + u64::from(self.area.pages) * of_page).min(self.capacity_sectors());
        let granularity = u64::from(self.area.granularity) * of_page;
        let is_step = end > first && ((end - first) % granularity == 0 || end == self.capacity_sectors());
        if !is_step || end > most {
            return fault(ZoneFault::InvalidField);
        }
        self.open_for_write(nand, zone)?;
        self.used.commits += 1;
        self.commit_pages(nand, zone, ((end - first) / of_page) as u32)?;
        self.filled(zone);
        Ok(())
    }

    /// Programs the first pages of a zone's random write area; pages that nobody wrote are zeros.
    pub(super) fn commit_pages<N: Nand>(&mut self, nand: &mut N, zone: u32, pages: u32) -> Result<(), FtlError> {
        let page_bytes = nand.geometry().page_bytes();
        for _ in 0..pages {
            if !self.zones.has_room(zone) {
                break;
            }
            let part = self.waiting[zone as usize].as_ref().and_then(|waiting| waiting.parts.front());
            let page = part.map_or_else(|| N::Buf::zeroed(page_bytes), |part| part.page(page_bytes));
            let place = self.zones.written(zone);
            self.program(nand, zone, &page)?;
            self.stage.forget(zone, place);
            if let Some(waiting) = &mut self.waiting[zone as usize] {
                waiting.parts.pop_front();
            }
        }
        Ok(())
    }
}
