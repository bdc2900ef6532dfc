//! Conventional zones: written in any order, and again, as a drive without zones.
//!
//! A page map over some blocks of each die stores them. These blocks hold nothing else.

use crate::page::{Config, PageMap};
use crate::zones::{ZoneCount, ZoneOptions};
use crate::{Ftl, FtlError};
use nandlab_block::{Op, Request, ZoneFault, ZoneReport, ZoneState};
use nandlab_nand::section::{Section, Span};
use nandlab_nand::{Geometry, Lpn, Nand, PageBuf, Rules, SectorMask};

/// The conventional zones of a drive: its first ones.
#[derive(Debug)]
pub(super) struct Conventional {
    pub(super) map: PageMap,
    pub(super) span: Span,
    /// Pages, and sectors, of all these zones.
    pub(super) pages: u32,
    sectors: u64,
    zone_sectors: u64,
    reads_across: bool,
    /// By zone: sectors that the host wrote since the mount.
    written: Vec<u64>,
}

/// The fewest blocks of each plane whose page map takes so many pages with the spare space that is asked for, before the last
/// block; `None` if there are no such.
pub(super) fn blocks_for(geometry: &Geometry, pages: u32, spare: f64) -> Option<Span> {
    let physical = f64::from(pages) * (1.0 + spare);
    let of_blocks = u64::from(geometry.planes()) * u64::from(geometry.pages_per_block());
    let least = ((physical / of_blocks as f64).ceil() as u32).max(1);
    let takes = |span: &Span| {
        let most = PageMap::max_logical_pages(span.geometry(), &Rules::default(), &Config::default());
        most.is_ok_and(|most| pages <= most)
    };
    let mut spans = (least..geometry.shape().blocks_per_plane).map(|blocks| Span::new(geometry, 0, blocks));
    spans.find(takes)
}

impl Conventional {
    pub(super) fn mount<N: Nand>(
        nand: &mut N,
        span: Span,
        options: &ZoneOptions,
        zone_pages: u32,
    ) -> Result<Self, FtlError> {
        let (zones, of_page) = (options.conventional, u64::from(nand.geometry().sectors_per_page()));
        let pages = zones * zone_pages;
        let map = PageMap::mount(&mut Section::new(nand, &span), pages, &Config::default())?;
        Ok(Self {
            map,
            span,
            pages,
            sectors: u64::from(pages) * of_page,
            zone_sectors: u64::from(zone_pages) * of_page,
            reads_across: options.read_across_zones,
            written: vec![0; zones as usize],
        })
    }

    pub(super) fn count(&self) -> u32 {
        self.written.len() as u32
    }

    /// The first sector behind these zones.
    pub(super) fn end(&self) -> u64 {
        self.sectors
    }

    /// Admits a request that begins in one of these zones.
    pub(super) fn admit(&self, request: &Request) -> Result<Request, FtlError> {
        let zone = (request.sector / self.zone_sectors) as u32;
        let fault = match request.op {
            // Behind them are zones that take writes at their write pointer alone.
            Op::Write if request.end() > self.sectors => ZoneFault::Boundary,
            Op::Read if request.end() > self.sectors && !self.reads_across => ZoneFault::Boundary,
            Op::Append | Op::Zone(_) => ZoneFault::InvalidField,
            Op::Read | Op::Write | Op::Trim | Op::Flush | Op::UnitUpdate => return Ok(*request),
        };
        Err(FtlError::Zone { zone, fault })
    }

    pub(super) fn write<N: Nand>(
        &mut self,
        nand: &mut N,
        at: Lpn,
        sectors: SectorMask,
        page: &N::Buf,
    ) -> Result<(), FtlError> {
        let of_page = u64::from(nand.geometry().sectors_per_page());
        self.written[(u64::from(at.0) * of_page / self.zone_sectors) as usize] += u64::from(sectors.count());
        self.map.write(&mut Section::new(nand, &self.span), at, sectors, page)
    }

    pub(super) fn read<N: Nand>(
        &mut self,
        nand: &mut N,
        at: Lpn,
        sectors: SectorMask,
        page: &mut N::Buf,
    ) -> Result<(), FtlError> {
        page.clear(sectors);
        self.map.read(&mut Section::new(nand, &self.span), at, sectors, page)
    }

    pub(super) fn report(&self, sector: u64) -> ZoneReport {
        ZoneReport {
            start: sector / self.zone_sectors * self.zone_sectors,
            capacity: self.zone_sectors,
            write_pointer: None,
            state: ZoneState::NotWritePointer,
            has_random_area: false,
        }
    }

    pub(super) fn by_zone(&self) -> impl Iterator<Item = ZoneCount> + '_ {
        self.written.iter().map(|&written_sectors| ZoneCount {
            state: ZoneState::NotWritePointer,
            write_pointer: None,
            written_sectors,
            resets: 0,
        })
    }
}
