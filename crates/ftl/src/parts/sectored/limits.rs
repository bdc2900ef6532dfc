//! What the options mean on a device, and what they ask of it.

use super::{entries_per_map_page, Hybrid, Options, MOST_SECTORS};
use crate::parts::flash_map::Shape;
use crate::parts::merge_buffer::check_buffers;
use crate::{error, FtlError};
use nandlab_nand::Geometry;

impl Options {
    /// Sectors in a gathering page.
    pub(super) fn gathered(&self, geometry: &Geometry) -> u32 {
        (geometry.sectors_per_page() - 1).max(1)
    }

    /// Blocks on a die that are filled at the same time.
    pub(super) fn handles(&self) -> u32 {
        self.placing.map_or(1, |placing| placing.handles)
    }

    /// Entries before the sector entries.
    pub(super) fn first_sector_entry(&self, geometry: &Geometry, logical_pages: u32) -> u32 {
        match self.hybrid {
            Some(_) => logical_pages.next_multiple_of(entries_per_map_page(geometry)),
            None => 0,
        }
    }

    /// Sectors from a split page that a victim must hold for the others to be fetched; 0 also if no page is split.
    pub(super) fn gather_from(&self) -> u32 {
        self.hybrid.map_or(0, |hybrid| hybrid.gather_from)
    }

    pub(super) fn entries(&self, geometry: &Geometry, logical_pages: u32) -> u32 {
        self.first_sector_entry(geometry, logical_pages) + logical_pages * geometry.sectors_per_page()
    }

    pub(crate) fn shape(&self, geometry: &Geometry, logical_pages: u32) -> Shape {
        let pages = self.entries(geometry, logical_pages).div_ceil(entries_per_map_page(geometry));
        Shape { form: self.form, pages, spare_percent: self.map_spare_percent }
    }

    fn check(&self, geometry: &Geometry, name: &str) -> Result<(), FtlError> {
        let refuse = |why: String| Err(FtlError::Config(format!("ftl.{name}.{why}")));
        check_buffers(name, self.merge_buffers)?;
        if let Some(placing) = self.placing {
            placing.options().check(&format!("ftl.{name}"))?;
        }
        if !self.unit_bytes.is_power_of_two() || !(8..=1 << 30).contains(&self.unit_bytes) {
            return refuse(format!("cmt_unit_bytes = {}: it is a power of two from 8 B to 1 GiB", self.unit_bytes));
        }
        if self.changed_map_pages > 0 && self.unit_bytes < geometry.page_bytes() {
            return refuse(format!(
                "changed_map_pages = {}: it needs cmt_unit_bytes of at least a page, {} bytes",
                self.changed_map_pages,
                geometry.page_bytes()
            ));
        }
        error::in_range(&format!("ftl.{name}.pages_per_die"), self.pages_per_die, 1..=geometry.pages_per_block())?;
        if self.reserve_blocks == 0 {
            return refuse("reserve_blocks = 0 would deadlock: garbage collection needs at least 1 free block".into());
        }
        let (gather_from, most) = (self.gather_from(), geometry.sectors_per_page().max(Hybrid::HALF_A_SUPER_PAGE));
        if gather_from > most {
            return refuse(format!(
                "gather_from = {gather_from}: it is at most {most}, and a page of this device has {}; 0 fetches nothing",
                error::sectors(geometry.sectors_per_page())
            ));
        }
        if !(1..=1000).contains(&self.map_spare_percent) {
            let percent = self.map_spare_percent;
            return refuse(format!("map_spare_percent = {percent}: it is at least 1 and at most 1000"));
        }
        let sectors = u64::from(geometry.pages()) * u64::from(geometry.sectors_per_page());
        if sectors >= MOST_SECTORS {
            return Err(FtlError::Config(format!(
                "{name} maps sectors with 31 bits, and this device has {sectors}: it may have {} at most",
                MOST_SECTORS - 1
            )));
        }
        // Entries are counted with 32 bits, up to the end of the last map page and unit.
        let per_map_page = u64::from(entries_per_map_page(geometry));
        let of_pages = self.hybrid.map_or(0, |_| u64::from(geometry.pages()).next_multiple_of(per_map_page));
        let entries = of_pages + sectors + per_map_page.max(u64::from(self.unit_bytes / 4));
        if entries > u64::from(u32::MAX) {
            return refuse(format!(
                "cmt_unit_bytes = {}: pages and sectors of this device need {entries} entries with the last unit of the map, \
                 and they may be {} at most; take a smaller device or larger pages",
                self.unit_bytes,
                u32::MAX
            ));
        }
        Ok(())
    }

    pub(super) fn max_logical_pages(&self, geometry: &Geometry, name: &str) -> Result<u32, FtlError> {
        self.check(geometry, name)?;
        let fits = |pages: u32| {
            let sectors = u64::from(pages) * u64::from(geometry.sectors_per_page());
            let usable = self.usable_sectors(geometry, geometry.blocks_per_die(), self.shape(geometry, pages));
            usable.is_some_and(|usable| sectors <= usable.into())
        };
        // More pages need a larger map, so all numbers up to a limit fit.
        let (mut most, mut too_many) = (0, geometry.pages() + 1);
        while too_many - most > 1 {
            let middle = most + (too_many - most) / 2;
            *(if fits(middle) { &mut most } else { &mut too_many }) = middle;
        }
        if most == 0 {
            let (reserve, blocks) = (self.reserve_blocks, geometry.blocks_per_die());
            let shares = self.shape(geometry, 1).shares(geometry, &vec![true; geometry.dies() as usize]);
            let others = shares[0] + self.handles() + 1;
            let needed = u64::from(others) + u64::from(reserve);
            let filled = match self.handles() {
                1 => "one that is being filled".to_owned(),
                handles => format!("{handles} that are being filled"),
            };
            let key = match self.handles() {
                1 => format!("reserve_blocks = {reserve}"),
                handles => format!("fdp.handles = {handles} with reserve_blocks = {reserve}"),
            };
            return Err(FtlError::Config(format!(
                "ftl.{name}.{key} would deadlock: a die of this device has {}, and its reserve, its \
                 share of the map, {filled} and one of data need {needed}{}",
                error::blocks(blocks),
                error::at_most(&format!("ftl.{name}.reserve_blocks"), blocks.saturating_sub(others)),
            )));
        }
        Ok(most)
    }
}
