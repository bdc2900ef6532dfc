//! Zoned: a page map on the host's side of a zoned device.
//!
//! ## Idea
//! A zoned device has no map and collects nothing (`zones.rs`). A host that wants to write anywhere keeps a map of its
//! own, writes pages to zones in order, and empties a zone before it resets it. dm-zoned and SPDK's FTL work like this. The
//! unit of collection is the zone, so it is far larger than a block.
//!
//! ## Write path
//! The host has an open zone on each group of dies; a page goes to the next one in turn. A partial write reads the page,
//! merges it and writes it whole. Another open zone takes moved pages.
//!
//! Before a zone is opened for the host, victims are emptied until more than `reserve_zones` are empty. A victim is a zone
//! that nobody fills: the one with the fewest valid pages, or with most of `(1 - u) age / 2u`. Its valid pages are copied
//! inside the device (NVMe's Simple Copy) or read and written by the host. A page moves within its die as long as the die
//! has pages left in the victim, so all dies copy at once. Then it is reset.
//!
//! ## Recovery
//! The device finds its zones, and a page's copy with the highest sequence number counts. Trim notes are pages among the
//! others, as in `page`.
//!
//! ## Invariants
//! Every mapped page is the newest copy on flash, below the write pointer of a zone. A zone is reset after all programs
//! before it: a page counts only if every earlier page of its zone is on flash, too.
//!
//! ## Differences
//! dm-zoned keeps its map in zones that can be written anywhere and buffers writes there; here the map is in memory, and a
//! mount finds it from what pages carry: NVMe's metadata of a block. Its unit of mapping is the zone's chunk, here a page.
//!
//! ## References
//! D. Le Moal: dm-zoned, Linux kernel, Documentation/admin-guide/device-mapper/dm-zoned.rst, 2017.
//! A. Kawaguchi, S. Nishioka, H. Motoda: A Flash-Memory Based File System. USENIX 1995 (cost-benefit).

mod collect;
mod mount;
mod options;
mod valid;

pub use options::{Config, Copying, ZoneVictim};

use crate::parts::copies::newest_copies;
use crate::parts::noted_map::{Holds, NotedMap};
use crate::parts::partial::{read_mapped, store_whole};
use crate::zones::{Moved, ZoneOptions, Zones};
use crate::{BlockState, Events, Ftl, FtlError, RamUse, Variant};
use nandlab_nand::{scoped, Cause, Geometry, Kind, Lpn, Nand, Oob, Origin, PageBuf, Ppa, Rules, SectorMask};
use valid::Valid;

/// The FTL.
#[derive(Debug)]
pub struct Zoned {
    zones: Zones,
    map: NotedMap,
    valid: Valid,
    config: Config,
    /// By group of dies: the zone that the host fills.
    host: Vec<Option<u32>>,
    /// The zone for moved pages.
    moved: Option<u32>,
    /// The group of the host's last page.
    turn: usize,
    /// By zone: programs when it was closed.
    closed_at: Vec<u64>,
    /// Places of valid pages whose contents and spare areas are lost.
    lost: Vec<Ppa>,
    events: Events,
}

/// Where a page goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    Host,
    Moved,
}

impl Zoned {
    /// Programs a page in an open zone. The zone's blocks may be exchanged by the device for it.
    #[inline]
    fn program<N: Nand>(
        &mut self,
        nand: &mut N,
        target: Target,
        page: &N::Buf,
        tail: &[u8],
        oob: Oob,
    ) -> Result<Ppa, FtlError> {
        let zone = self.zone_for(nand, target)?;
        self.write_in(nand, zone, page, tail, oob)
    }

    /// Programs a page in this zone, and follows what the device moved for it.
    #[inline]
    fn write_in<N: Nand>(
        &mut self,
        nand: &mut N,
        zone: u32,
        page: &N::Buf,
        tail: &[u8],
        oob: Oob,
    ) -> Result<Ppa, FtlError> {
        let to = self.zones.write(nand, zone, page, tail, oob);
        if self.zones.has_moved() {
            self.follow();
        }
        to
    }

    /// The zone for a page, with room.
    #[inline]
    fn zone_for<N: Nand>(&mut self, nand: &mut N, target: Target) -> Result<u32, FtlError> {
        match target {
            Target::Host => {
                self.turn = if self.turn + 1 >= self.host.len() { 0 } else { self.turn + 1 };
                match self.host[self.turn] {
                    Some(zone) if self.zones.has_room(zone) => Ok(zone),
                    _ => self.open_for_host(nand),
                }
            }
            Target::Moved => match self.moved {
                Some(zone) if self.zones.has_room(zone) => Ok(zone),
                _ => self.open_for_moved(),
            },
        }
    }

    /// Programs a whole data page and maps it.
    #[inline]
    fn store<N: Nand>(&mut self, nand: &mut N, target: Target, page: &N::Buf, oob: Oob) -> Result<(), FtlError> {
        let to = self.program(nand, target, page, &[], oob)?;
        let old = self.map.write(oob.lpn, to, nand.ctx().last());
        if old.is_some() {
            self.valid.remove(old, &self.zones);
        }
        self.valid.add(to, &self.zones);
        Ok(())
    }

    /// Writes the note of `segment` again.
    fn write_note<N: Nand>(&mut self, nand: &mut N, target: Target, segment: u32) -> Result<(), FtlError> {
        scoped(nand, Cause::Trim, |nand| {
            // Opening a zone may write notes, too.
            let zone = self.zone_for(nand, target)?;
            let note = self.map.note(segment, self.zones.keeper.seq());
            let blank = N::Buf::zeroed(nand.geometry().page_bytes());
            let oob = Oob { kind: Kind::TrimNote, ..Oob::data(Lpn(segment), Default::default(), Origin::FTL) };
            let to = self.write_in(nand, zone, &blank, &note, oob)?;
            let (old, end) = self.map.renew(segment, to, nand.ctx().last());
            self.zones.keeper.noted(end);
            if old.is_some() {
                self.valid.remove(old, &self.zones);
            }
            self.valid.add(to, &self.zones);
            Ok(())
        })
    }

    fn write_notes<N: Nand>(&mut self, nand: &mut N, target: Target) -> Result<(), FtlError> {
        while let Some(segment) = self.map.pending() {
            self.write_note(nand, target, segment)?;
        }
        Ok(())
    }

    /// Follows the pages that the device has moved to other blocks.
    #[cold]
    fn follow(&mut self) {
        for Moved { from, to, oob } in self.zones.take_moved() {
            if !self.valid.has(from) {
                continue;
            }
            self.valid.move_to(from, to);
            let (kind, at) = match oob.kind {
                // It could not be read, nor could its spare area.
                Kind::Deleted => {
                    self.lost.push(to);
                    match self.map.search(from) {
                        Holds::Page(at) => (Kind::Data, at),
                        Holds::Note(segment) => (Kind::TrimNote, Lpn(segment)),
                    }
                }
                kind => (kind, oob.lpn),
            };
            self.events.lost_pages += u64::from(oob.kind == Kind::Lost);
            self.map.set(kind, at, to);
        }
    }

    /// Ends what a failed program has begun: pages that cannot be read are told from older copies, and the block is retired.
    #[cold]
    fn settle<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        while let Some(page) = self.lost.pop() {
            if self.valid.has(page) {
                self.replace_lost(nand, self.map.search(page))?;
            }
        }
        self.zones.retire_failed(nand)
    }

    /// Handles a valid page with lost contents. A page of kind Lost takes its place, or a later mount would bring back an
    /// older copy; a note is written again.
    #[cold]
    fn replace_lost<N: Nand>(&mut self, nand: &mut N, held: Holds) -> Result<(), FtlError> {
        let at = match held {
            Holds::Note(segment) => return self.write_note(nand, Target::Moved, segment),
            Holds::Page(at) => at,
        };
        self.events.lost_pages += 1;
        let blank = N::Buf::zeroed(nand.geometry().page_bytes());
        let oob = Oob { kind: Kind::Lost, ..Oob::data(at, Default::default(), Origin::FTL) };
        self.store(nand, Target::Moved, &blank, oob)
    }
}

impl Ftl for Zoned {
    type Config = Config;
    const SURVIVES_UNSTABLE_PAGES: bool = true;

    fn variants() -> Vec<Variant<Config>> {
        Config::variants()
    }

    fn set_zones(config: &mut Config, zones: ZoneOptions) -> bool {
        config.zones = zones;
        true
    }

    fn max_logical_pages(geometry: &Geometry, _: &Rules, config: &Config) -> Result<u32, FtlError> {
        config.max_logical_pages(geometry)
    }

    fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Config) -> Result<Self, FtlError> {
        mount::mount(nand, logical_pages, config)
    }

    #[inline]
    fn write<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &N::Buf) -> Result<(), FtlError> {
        let oob = Oob::data(at, Default::default(), nand.ctx().origin());
        let old = self.map.at(at);
        store_whole(nand, old, sectors, page, |nand, page| self.store(nand, Target::Host, page, oob))?;
        if self.zones.has_failed() {
            self.settle(nand)?;
        }
        Ok(())
    }

    fn read<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &mut N::Buf) -> Result<(), FtlError> {
        read_mapped(nand, self.map.at(at), sectors, page)
    }

    fn trim<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask) -> Result<(), FtlError> {
        if sectors != nand.geometry().full_mask() {
            return Ok(());
        }
        let old = self.map.trim(at);
        if old.is_some() {
            self.valid.remove(old, &self.zones);
            let of_block = nand.geometry().pages_per_block();
            while let Some(segment) = self.map.overdue(self.config.reserve_zones, of_block) {
                self.write_note(nand, Target::Host, segment)?;
            }
        }
        self.settle(nand)
    }

    fn flush<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        self.write_notes(nand, Target::Host)?;
        self.settle(nand)?;
        let end = nand.ctx().acknowledged().max(self.zones.keeper.noted_by());
        nand.ctx().fence();
        nand.ctx().wait_until(end);
        Ok(())
    }

    #[inline]
    fn prefetch(&self, at: Lpn) {
        self.map.prefetch(at);
    }

    fn logical_pages(&self) -> u32 {
        self.map.len() as u32
    }

    fn ram(&self) -> RamUse {
        let mut ram = RamUse::default();
        ram.dram.insert("map", self.map.bytes());
        ram.dram.insert("valid_bits", self.valid.bytes());
        ram.sram.insert("trim_notes", self.map.note_bytes());
        ram
    }

    fn events(&self) -> Events {
        Events { retired_blocks: self.zones.keeper.retired(), ..self.events }
    }

    fn free_blocks(&self) -> u64 {
        self.zones.keeper.count_all()
    }

    fn blocks(&self) -> Vec<BlockState> {
        self.zones.keeper.states(|block| self.valid.in_block(block))
    }

    fn check<N: Nand>(&self, nand: &mut N) {
        self.zones.check(nand, &[]);
        let newest = newest_copies(nand, self.map.len(), self.zones.keeper.seq(), |_| false);
        self.map.check(nand, |at| newest[at.index()].map_or(0, |(seq, _)| seq));
        self.map.valid().for_each(|page| assert!(self.valid.has(page), "page {page} is not valid"));
        let valid: u32 = (0..self.zones.count()).map(|zone| self.valid.in_zone(zone)).sum();
        assert_eq!(valid as usize, self.map.valid().count(), "valid pages");
        self.valid.check(&self.zones);
    }
}
