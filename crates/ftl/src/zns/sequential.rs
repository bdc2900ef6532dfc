//! Zones that are written at their write pointers alone.

mod admit;
mod random_area;
mod stage;
mod waiting;

use super::Config;
use crate::zones::{Layout, ZoneOptions, ZoneUse, Zones};
use crate::{BlockState, Events, Ftl, FtlError, RamUse, Uses};
use nandlab_block::{Request, ZoneFault, ZoneReport, ZoneShape, ZoneState};
use nandlab_nand::controller::ZoneTimes;
use nandlab_nand::{Geometry, Kind, Lpn, Nand, NandError, Oob, PageBuf, Rules, SectorMask, Time};
use random_area::AreaShape;
use stage::Stage;
use std::collections::VecDeque;
use waiting::Waiting;

impl Config {
    /// Blocks that hold what a flush found waiting in memory: all that can wait at a time fits in one less than are kept.
    fn staged_blocks(&self, geometry: &Geometry, layout: &Layout) -> Result<u32, FtlError> {
        let area = AreaShape::new(&self.zones, geometry, layout.capacity)?;
        let pages = u64::from(self.zones.most_active(layout.zones)) + area.most_pages(&self.zones, layout.zones);
        let blocks = pages.div_ceil(u64::from(geometry.pages_per_block()));
        Ok(u32::try_from(blocks).unwrap_or(u32::MAX).saturating_add(2))
    }

    pub(super) fn layout(&self, geometry: &Geometry) -> Result<Layout, FtlError> {
        self.zones.check_append()?;
        let own = Layout::new(geometry, &self.zones)?;
        let staged = self.staged_blocks(geometry, &own)?.div_ceil(geometry.dies());
        let spare_blocks = self.zones.spare_blocks.saturating_add(staged);
        let of_die = geometry.blocks() / geometry.dies();
        if spare_blocks.saturating_add(self.zones.blocks_per_die) > of_die {
            let area = self.zones.random_write_area;
            let what = area.map_or("zones".to_owned(), |area| format!("device.zones.random_write_area = {area}"));
            return Err(FtlError::Config(format!(
                "{what}: what may wait for the zones takes {staged} of the {of_die} blocks on each die, beside {} spare ones; set \
                 device.zones.max_active or max_random_write_areas, or take a larger device",
                self.zones.spare_blocks
            )));
        }
        let layout = Layout::new(geometry, &ZoneOptions { spare_blocks, ..self.zones })?;
        if layout.zones == 0 {
            return Err(FtlError::Config(format!(
                "device.zones.blocks_per_die = {}: the device has no room for a zone beside {spare_blocks} spare blocks on each die",
                self.zones.blocks_per_die
            )));
        }
        Ok(layout)
    }

    pub(super) fn planned_shape(&self, geometry: &Geometry) -> Result<ZoneShape, FtlError> {
        let layout = self.layout(geometry)?;
        let sectors = |pages: u32| u64::from(pages) * u64::from(geometry.sectors_per_page());
        let ZoneOptions { max_open, max_active, conventional, .. } = self.zones;
        Ok(ZoneShape {
            size: sectors(layout.pitch),
            capacity: sectors(layout.capacity),
            max_open,
            max_active,
            conventional,
        })
    }
}

/// The sequential zones of a drive, as a drive of their own.
#[derive(Debug)]
pub(super) struct Sequential {
    zones: Zones,
    states: Vec<ZoneState>,
    /// Zones opened by writes, the one opened longest ago in front.
    opened: VecDeque<u32>,
    open: u32,
    active: u32,
    /// By zone: when it is open for writes, ns.
    opened_at: Vec<Time>,
    /// Active zones that the mount found.
    found_active: u32,
    options: ZoneOptions,
    times: ZoneTimes,
    /// By zone: what waits, if anything does or may.
    waiting: Vec<Option<Box<Waiting>>>,
    area: AreaShape,
    stage: Stage,
    sectors_per_page: u32,
    logical_pages: u32,
    /// Staged pages that a mount could not read.
    lost: u64,
    used: ZoneUse,
    /// By zone: sectors that the host wrote, and resets, since the mount.
    counts: Vec<(u64, u64)>,
}

impl Sequential {
    /// Counts a refused request.
    pub(super) fn refused(&mut self, fault: ZoneFault) {
        self.used.refused[fault as usize] += 1;
    }

    /// Pages from one zone's start to the next one's.
    fn pitch(&self) -> u32 {
        self.zones.layout.pitch
    }

    /// The zone of a logical page, and the page in it.
    #[inline]
    fn split(&self, at: Lpn) -> (u32, u32) {
        (at.0 / self.pitch(), at.0 % self.pitch())
    }

    /// The next sector of a zone to be written, counted from its start.
    fn write_pointer(&self, zone: u32) -> u64 {
        let waiting = self.waiting[zone as usize].as_ref().map_or(0, |waiting| waiting.sectors());
        u64::from(self.zones.written(zone)) * u64::from(self.sectors_per_page) + u64::from(waiting)
    }

    fn oob(&self, zone: u32, nand: &mut impl Nand) -> Oob {
        let at = zone * self.pitch() + self.zones.written(zone);
        Oob::data(Lpn(at), Default::default(), nand.ctx().origin())
    }

    fn program<N: Nand>(&mut self, nand: &mut N, zone: u32, page: &N::Buf) -> Result<(), FtlError> {
        let oob = self.oob(zone, nand);
        let written = self.zones.write(nand, zone, page, &[], oob);
        // Nobody but the device knows where a zone's pages lie.
        self.zones.take_moved();
        if self.zones.has_failed() {
            self.zones.retire_failed(nand)?;
        }
        match written {
            Err(FtlError::WornOut { .. }) => {
                self.leave(zone, ZoneState::ReadOnly);
                Err(FtlError::Zone { zone, fault: nandlab_block::ZoneFault::ReadOnly })
            }
            written => written.map(|_| ()),
        }
    }

    /// Adds sectors to those that wait, and programs the page with its last one. If it cannot be programmed, the sectors before
    /// wait on.
    fn wait<N: Nand>(&mut self, nand: &mut N, zone: u32, sectors: SectorMask, page: &N::Buf) -> Result<(), FtlError> {
        let page_bytes = nand.geometry().page_bytes();
        let mut waiting = self.waiting[zone as usize].clone().unwrap_or_default();
        waiting.add(0, sectors, page, page_bytes);
        if waiting.sectors() < self.sectors_per_page {
            self.waiting[zone as usize] = Some(waiting);
            return Ok(());
        }
        let place = self.zones.written(zone);
        self.program(nand, zone, &waiting.parts[0].page(page_bytes))?;
        self.waiting[zone as usize] = None;
        self.stage.forget(zone, place);
        Ok(())
    }

    /// Keeps a zone's state after a write.
    fn filled(&mut self, zone: u32) {
        if !self.zones.has_room(zone) {
            self.waiting[zone as usize] = None;
            self.leave(zone, ZoneState::Full);
        }
    }
}

impl Ftl for Sequential {
    type Config = Config;
    fn max_logical_pages(geometry: &Geometry, _: &Rules, config: &Config) -> Result<u32, FtlError> {
        let layout = config.layout(geometry)?;
        Ok(layout.zones.saturating_mul(layout.pitch))
    }

    fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Config) -> Result<Self, FtlError> {
        let geometry = *nand.geometry();
        let layout = config.layout(&geometry)?;
        // Everything a mount finds must stay: without a cut, programs may still be running.
        nand.ctx().fence();
        stage::mount(nand, logical_pages, layout, config)
    }

    fn admit<N: Nand>(&mut self, nand: &mut N, request: &Request) -> Result<Request, FtlError> {
        self.admit_request(nand, request)
    }

    fn write<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &N::Buf) -> Result<(), FtlError> {
        let (zone, place) = self.split(at);
        self.counts[zone as usize].0 += u64::from(sectors.count());
        if self.is_random(zone) {
            self.write_random(nand, at, sectors, page)?;
            self.filled(zone);
            return Ok(());
        }
        debug_assert_eq!(place, self.zones.written(zone), "a write is admitted at the write pointer alone");
        let is_whole = self.waiting[zone as usize].is_none() && sectors == nand.geometry().full_mask();
        if is_whole {
            self.program(nand, zone, page)?;
        } else {
            self.wait(nand, zone, sectors, page)?;
        }
        self.filled(zone);
        Ok(())
    }

    fn read<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &mut N::Buf) -> Result<(), FtlError> {
        let (zone, place) = self.split(at);
        page.clear(sectors);
        if zone >= self.zones.count() {
            return Ok(());
        }
        if place < self.zones.written(zone) {
            let at = self.zones.page(zone, place);
            return match nand.read(at, page)?.kind {
                Kind::Data => Ok(()),
                // It stands for a page that could not be read when its block was written again.
                _ => Err(NandError::Uncorrectable(at).into()),
            };
        }
        let behind = (place - self.zones.written(zone)) as usize;
        let part = self.waiting[zone as usize].as_ref().and_then(|waiting| waiting.parts.get(behind));
        if let (Some(part), Some(bytes)) = (part, page.bytes_mut()) {
            bytes.copy_from_slice(part.bytes());
        }
        Ok(())
    }

    /// A zone gives up its pages by a reset alone.
    fn trim<N: Nand>(&mut self, _: &mut N, _: Lpn, _: SectorMask) -> Result<(), FtlError> {
        Ok(())
    }

    fn flush<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        for zone in 0..self.zones.count() {
            self.stage_zone(nand, zone)?;
        }
        nand.ctx().fence();
        let end = nand.ctx().acknowledged();
        nand.ctx().wait_until(end);
        Ok(())
    }

    fn zone_shape(&self) -> Option<ZoneShape> {
        let ZoneOptions { max_open, max_active, conventional, .. } = self.options;
        let (size, capacity) = (self.pitch_sectors(), self.capacity_sectors());
        Some(ZoneShape { size, capacity, max_open, max_active, conventional })
    }

    fn zone_at(&self, sector: u64) -> Option<ZoneReport> {
        self.report(sector)
    }

    fn uses(&self) -> Uses {
        Uses { zones: Some(self.used), by_zone: self.by_zone(), ..Uses::default() }
    }

    fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    fn ram(&self) -> RamUse {
        let mut ram = RamUse::default();
        let blocks = u64::from(self.zones.count()) * self.zones.layout.blocks() as u64;
        ram.dram.insert("zones", 4 * blocks + 8 * u64::from(self.zones.count()));
        let area_pages = self.area.most_pages(&self.options, self.zones.count());
        if area_pages > 0 {
            let page_bytes = self.zones.keeper.geometry().page_bytes();
            ram.dram.insert("random_write_areas", area_pages * u64::from(page_bytes));
        }
        ram
    }

    fn events(&self) -> Events {
        Events { retired_blocks: self.zones.keeper.retired(), lost_pages: self.lost, ..Events::default() }
    }

    fn free_blocks(&self) -> u64 {
        self.zones.keeper.count_all()
    }

    fn blocks(&self) -> Vec<BlockState> {
        let mut valid = vec![0; self.zones.keeper.geometry().blocks() as usize];
        for zone in 0..self.zones.count() {
            for (at, block) in self.zones.blocks(zone).iter().enumerate() {
                valid[block.index()] = self.zones.layout.written_in(at, self.zones.written(zone));
            }
        }
        self.zones.keeper.states(|block| valid[block.index()])
    }

    fn check<N: Nand>(&self, nand: &mut N) {
        self.zones.check(nand, &self.stage.blocks());
        let count = |is: fn(ZoneState) -> bool| self.states.iter().filter(|&&state| is(state)).count() as u32;
        assert_eq!(count(ZoneState::is_open), self.open, "open zones");
        assert_eq!(count(ZoneState::is_active), self.active, "active zones");
        let ZoneOptions { max_open, max_active, .. } = self.options;
        assert!(max_open == 0 || self.open <= max_open, "{} open zones", self.open);
        // A cut may undo a finish, so a mount may find more active zones than there may be.
        assert!(max_active == 0 || self.active <= max_active.max(self.found_active), "{} active zones", self.active);
        self.stage.check(|zone, place| {
            let behind = place.checked_sub(self.zones.written(zone))?;
            Some(self.waiting[zone as usize].as_ref()?.parts.len() > behind as usize)
        });
        for (zone, &state) in (0..).zip(&self.states) {
            if let Some(waiting) = &self.waiting[zone as usize] {
                assert!(!waiting.is_over(), "zone {zone}: something waits, or may");
                let most = if waiting.is_random { self.area.pages as usize } else { 1 };
                assert!(waiting.parts.len() <= most, "zone {zone}: {} pages wait", waiting.parts.len());
            }
            let written = self.write_pointer(zone);
            let capacity = u64::from(self.zones.layout.capacity) * u64::from(self.sectors_per_page);
            match state {
                ZoneState::Empty => assert_eq!(written, 0, "zone {zone}"),
                ZoneState::Full => assert_eq!(written, capacity, "zone {zone}"),
                ZoneState::ReadOnly => {}
                _ => assert!(written < capacity, "zone {zone} is {state:?}"),
            }
        }
    }
}
