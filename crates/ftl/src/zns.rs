//! Zns: a zoned drive as its host sees it, without a map.
//!
//! ## Idea
//! The drive's own firmware: it takes writes at a zone's write pointer alone, changes the states of zones, and refuses
//! everything else with the status that NVMe names. What collects zones is above it: a trace, a job of fio, an LSM tree.
//!
//! ## Write path
//! A request is admitted first, and refused as a whole: at its write pointer, within its zone, and with a place among the open
//! and the active zones. An append goes to the write pointer, wherever that is. Sectors of a page that is not whole wait in
//! memory; the page is programmed with its last sector.
//!
//! A zone that a write has opened may be closed to make room for another one, the one opened longest ago first. Zones that the
//! host opened by a command stay open.
//!
//! A finished zone is filled with pages, as drives do whose finish takes as long as writing the rest. A reset is answered
//! with the erase of the zone's first block, or after the time that the controller is said to take.
//!
//! Opening and closing a zone by a command takes the controller's time, if it is known. A write that opens its zone waits so
//! long before it goes to flash. If the drive closes a zone to make room, that takes no time of its own.
//!
//! Conventional zones come first, if there are any. They take writes anywhere, and again: a page map ([`crate::page`]) over
//! blocks of its own stores them. Nothing moves between these blocks and those of the other zones.
//!
//! ## Recovery
//! A flush writes the sectors that wait in memory to a block apart ([`sequential`]), since a page is programmed once. A mount finds
//! them there, if the page has not been programmed since. Open zones are closed then; one without a sector is empty.
//!
//! ## Invariants
//! A zone's write pointer is behind the pages of its zone and the sectors that wait, but for those in its random write area. It
//! never shrinks but by a reset or a
//! power cut, and then never below what was flushed.
//!
//! ## Differences
//! There are no offline zones. A zone keeps its random write area over a power cut if a flush came after it was opened.
//!
//! ## References
//! T10: Zoned Block Commands (ZBC), 2016, for conventional zones.
//! NVM Express: Zoned Namespace Command Set Specification, revision 1.1, 2021.

mod conventional;
mod sequential;

use crate::zones::{Layout, ZoneOptions};
use crate::{error, BlockState, Events, Ftl, FtlError, RamUse, Uses};
use conventional::Conventional;
use nandlab_block::{Request, ZoneReport, ZoneShape};
use nandlab_nand::controller::ZoneTimes;
use nandlab_nand::section::{Section, Span};
use nandlab_nand::{BlockId, Geometry, Lpn, Nand, Rules, SectorMask, Time};
use sequential::Sequential;

/// Options of the zoned drive: `device.zones` has them all.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The zones of the device: `device.zones`.
    #[serde(skip)]
    pub zones: ZoneOptions,
    /// Times of changes of zones: `device.controller.zone_reset` and `zone_open_us` to `zone_close_us`.
    #[serde(skip)]
    pub times: ZoneTimes,
}

/// How zones divide a device.
struct Plan {
    /// Blocks of the conventional zones, if there are any, and those of the others.
    conventional: Option<Span>,
    sequential: Span,
    /// Pages of the conventional zones.
    pages: u32,
    /// Pages from one zone's start to the next one's.
    pitch: u32,
}

impl Config {
    fn plan(&self, geometry: &Geometry) -> Result<Plan, FtlError> {
        let zones = self.zones.conventional;
        let spare = self.zones.conventional_spare()?;
        let pitch = Layout::new(geometry, &self.zones)?.pitch;
        let blocks = geometry.shape().blocks_per_plane;
        if zones == 0 {
            return Ok(Plan { conventional: None, sequential: Span::new(geometry, 0, blocks), pages: 0, pitch });
        }
        let pages = zones.checked_mul(pitch).filter(|&pages| pages < geometry.pages());
        let span = pages.and_then(|pages| conventional::blocks_for(geometry, pages, spare));
        let plan = span.zip(pages).map(|(span, pages)| {
            let first = span.geometry().shape().blocks_per_plane;
            let sequential = Span::new(geometry, first, blocks - first);
            Plan { conventional: Some(span), sequential, pages, pitch }
        });
        // Whatever else the options ask for, it has to fit into what is left.
        plan.filter(|plan| self.layout(plan.sequential.geometry()).is_ok()).ok_or_else(|| {
            FtlError::Config(format!(
                "device.zones.conventional = {zones}: with their spare space these zones of {pitch} pages leave no room for a \
                 sequential one on this device of {} pages; take fewer, smaller zones or a larger device",
                geometry.pages()
            ))
        })
    }
}

/// The FTL.
#[derive(Debug)]
pub struct Zns {
    conventional: Option<Box<Conventional>>,
    sequential: Sequential,
    /// The blocks of the sequential zones.
    span: Span,
    device_blocks: u32,
    logical_pages: u32,
}

impl Zns {
    /// The conventional zones' sectors come first.
    fn first_sector(&self) -> u64 {
        self.conventional.as_ref().map_or(0, |zones| zones.end())
    }

    fn first_page(&self) -> u32 {
        self.conventional.as_ref().map_or(0, |zones| zones.pages)
    }

    fn first_zone(&self) -> u32 {
        self.conventional.as_ref().map_or(0, |zones| zones.count())
    }

    /// A conventional zone's page.
    #[inline]
    fn conventional(&mut self, at: Lpn) -> Option<&mut Conventional> {
        self.conventional.as_deref_mut().filter(|zones| at.0 < zones.pages)
    }

    fn admit_any<N: Nand>(&mut self, nand: &mut N, request: &Request) -> Result<Request, FtlError> {
        let first = self.first_sector();
        if let Some(zones) = self.conventional.as_ref().filter(|zones| request.sector < zones.end()) {
            return zones.admit(request);
        }
        let within = Request { sector: request.sector - first, ..*request };
        match self.sequential.admit(&mut Section::new(nand, &self.span), &within) {
            Ok(admitted) => Ok(Request { sector: admitted.sector + first, ..admitted }),
            Err(error) => Err(self.told(error)),
        }
    }

    /// An error of the sequential zones, with the drive's number of the zone.
    #[cold]
    fn told(&self, error: FtlError) -> FtlError {
        match error {
            FtlError::Zone { zone, fault } => FtlError::Zone { zone: zone + self.first_zone(), fault },
            error => error,
        }
    }
}

impl Ftl for Zns {
    type Config = Config;
    const HAS_ZONES: bool = true;

    fn set_zones(config: &mut Config, zones: ZoneOptions) -> bool {
        config.zones = zones;
        true
    }

    fn set_zone_times(config: &mut Config, times: ZoneTimes) {
        config.times = times;
    }

    fn planned_zones(config: &Config, geometry: &Geometry) -> Result<Option<ZoneShape>, FtlError> {
        let plan = config.plan(geometry)?;
        config.planned_shape(plan.sequential.geometry()).map(Some)
    }

    fn max_logical_pages(geometry: &Geometry, rules: &Rules, config: &Config) -> Result<u32, FtlError> {
        let plan = config.plan(geometry)?;
        let most = Sequential::max_logical_pages(plan.sequential.geometry(), rules, config)?;
        Ok(plan.pages.saturating_add(most))
    }

    fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Config) -> Result<Self, FtlError> {
        let geometry = *nand.geometry();
        let most = Self::max_logical_pages(&geometry, nand.rules(), config)?;
        let plan = config.plan(&geometry)?;
        let capacity = config.layout(plan.sequential.geometry())?.capacity;
        let options = format!("ftl.zns with zones of {capacity} pages");
        error::refuse_capacity(logical_pages, most, &options, &geometry, "fewer spare blocks")?;
        let sequential_pages = logical_pages.saturating_sub(plan.pages);
        if sequential_pages < plan.pitch {
            return Err(FtlError::Config(format!(
                "{logical_pages} logical pages are less than a zone of ftl.zns, {} pages{}: take a larger capacity or smaller zones",
                plan.pitch,
                if plan.pages > 0 { ", behind its conventional ones" } else { "" },
            )));
        }
        let conventional = match plan.conventional {
            Some(span) => Some(Box::new(Conventional::mount(nand, span, &config.zones, plan.pitch)?)),
            None => None,
        };
        let span = plan.sequential;
        let sequential = Sequential::mount(&mut Section::new(nand, &span), sequential_pages, config)?;
        Ok(Self { conventional, sequential, span, device_blocks: geometry.blocks(), logical_pages })
    }

    fn admit<N: Nand>(&mut self, nand: &mut N, request: &Request) -> Result<Request, FtlError> {
        let admitted = self.admit_any(nand, request);
        if let Err(FtlError::Zone { fault, .. }) = admitted {
            self.sequential.refused(fault);
        }
        admitted
    }

    fn write<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &N::Buf) -> Result<(), FtlError> {
        if let Some(zones) = self.conventional(at) {
            return zones.write(nand, at, sectors, page);
        }
        let within = Lpn(at.0 - self.first_page());
        let written = self.sequential.write(&mut Section::new(nand, &self.span), within, sectors, page);
        written.map_err(|error| self.told(error))
    }

    fn read<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &mut N::Buf) -> Result<(), FtlError> {
        if let Some(zones) = self.conventional(at) {
            return zones.read(nand, at, sectors, page);
        }
        let within = Lpn(at.0 - self.first_page());
        self.sequential.read(&mut Section::new(nand, &self.span), within, sectors, page)
    }

    /// A sequential zone gives up its pages by a reset alone.
    fn trim<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask) -> Result<(), FtlError> {
        match self.conventional(at) {
            Some(zones) => zones.map.trim(&mut Section::new(nand, &zones.span), at, sectors),
            None => Ok(()),
        }
    }

    fn flush<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        if let Some(zones) = &mut self.conventional {
            zones.map.flush(&mut Section::new(nand, &zones.span))?;
        }
        self.sequential.flush(&mut Section::new(nand, &self.span))
    }

    fn pause<N: Nand>(&mut self, nand: &mut N, until: Option<Time>) -> Result<(), FtlError> {
        match &mut self.conventional {
            Some(zones) => zones.map.pause(&mut Section::new(nand, &zones.span), until),
            None => Ok(()),
        }
    }

    fn zone_shape(&self) -> Option<ZoneShape> {
        self.sequential.zone_shape()
    }

    fn zone_at(&self, sector: u64) -> Option<ZoneReport> {
        if let Some(zones) = self.conventional.as_ref().filter(|zones| sector < zones.end()) {
            return Some(zones.report(sector));
        }
        let first = self.first_sector();
        let report = self.sequential.zone_at(sector - first)?;
        let write_pointer = report.write_pointer.map(|at| at + first);
        Some(ZoneReport { start: report.start + first, write_pointer, ..report })
    }

    fn uses(&self) -> Uses {
        let mut uses = self.sequential.uses();
        if let Some(zones) = &self.conventional {
            uses.by_zone.splice(0..0, zones.by_zone());
        }
        uses
    }

    fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    fn ram(&self) -> RamUse {
        let ram = self.sequential.ram();
        match &self.conventional {
            Some(zones) => ram.and(zones.map.ram()),
            None => ram,
        }
    }

    fn events(&self) -> Events {
        let events = self.sequential.events();
        match &self.conventional {
            Some(zones) => events.and(&zones.map.events()),
            None => events,
        }
    }

    fn free_blocks(&self) -> u64 {
        self.sequential.free_blocks() + self.conventional.as_ref().map_or(0, |zones| zones.map.free_blocks())
    }

    fn blocks(&self) -> Vec<BlockState> {
        let mut states = vec![BlockState { valid: 0, is_free: false }; self.device_blocks as usize];
        let mut put = |span: &Span, of_span: Vec<BlockState>| {
            for (block, state) in (0..).map(BlockId).zip(of_span) {
                states[span.block(block).index()] = state;
            }
        };
        put(&self.span, self.sequential.blocks());
        if let Some(zones) = &self.conventional {
            put(&zones.span, zones.map.blocks());
        }
        states
    }

    fn check<N: Nand>(&self, nand: &mut N) {
        if let Some(zones) = &self.conventional {
            zones.map.check(&mut Section::new(nand, &zones.span));
        }
        self.sequential.check(&mut Section::new(nand, &self.span));
    }
}
