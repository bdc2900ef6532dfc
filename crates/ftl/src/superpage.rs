//! Super-page map: a map entry for every logical page of a controller that programs whole super-pages.
//!
//! ## Idea
//! The two firmwares of the OpenSSD Jasmine board. A page of the device is what they call a virtual page, the pages of
//! two planes and two chips that are programmed together, 32 KiB: the unit of the map, so that a small write pays for a
//! whole page. A bank is a die. The greedy firmware gives each logical page a bank, `logical page % banks`, and every
//! bank collects its own garbage; the tutorial firmware lets the banks take turns and never erases anything.
//!
//! ## Write path
//! A page goes to the next page of the one block that its bank fills. A partial write of a page that is mapped reads
//! what it leaves out: the whole page at once where at most `one_read_sectors` sectors are written that are not the
//! first ones, else the hole before them and the hole behind them, each a read of its own; then the whole page is
//! programmed. Of a page that is not mapped the written sectors are programmed and nothing is read. The last page of
//! each block is kept for the list of its logical pages, which is programmed as soon as the page before it is. Where no
//! more than `reserve_blocks` blocks are free, the closed block of the bank with the fewest valid pages, the first
//! among equals, is the victim: its list is read, the pages to which the map still points are copied to a reserved
//! block, and the victim is erased, all at once; the reserved block takes the host's pages behind the survivors.
//!
//! ## Recovery
//! Mount reads every spare area, and no list: the spare area has the logical page and the sequence number of every
//! page, also of blocks that are not full, where no list is yet. The highest number wins. The block of a bank with the
//! most room is filled further; one that was being filled and stays as it is has no list, so that its collection reads
//! the spare areas of its pages, as it does where a list cannot be read. The first write to a bank ends the collection
//! that a cut interrupted. Trims are kept by note pages, written at a
//! flush, in whatever bank collects.
//!
//! ## Invariants
//! Every mapped page is the newest copy on flash, in the bank of its logical page; the counts of the blocks are those
//! of the mapped pages and live notes in them; each block is free, being filled, closed, failing or bad; a list names
//! what the spare areas of its block name.
//!
//! ## Differences
//! The board cannot keep metadata in spare areas; here every page has it, so what the firmware saves only when it shuts
//! down, and forgets when power goes, survives. What was never written reads as zeros, not as 0xFF. A read or a copy is
//! of a whole page, where the controller can transfer parts. The firmware keeps 1 block in reserve and has no answer to
//! failing programs and erases; `reserve_blocks = 1` is its figure, 2 takes a fault during garbage collection.
//! `firmware_blocks` leaves out its blocks of code, log and map. The firmware leaves out the first page of its first
//! block; there is no trim in it. `tutorial` forgets its map when it is switched on; here it is mounted like the other.
//!
//! ## References
//! The OpenSSD Project, Jasmine firmware 1.1.0, 2011: facts of its design and constants, no code.
//! K. Han, J. Ahn, D. Shin: Implementing a Sector-level Mapping FTL Algorithm at OpenSSD. KIISE, in Korean.

mod check;
mod collect;
mod config;
mod mount;

use crate::parts::blocks::counts::ValidCounts;
use crate::parts::blocks::frontier::Frontier;
use crate::parts::blocks::keeper::Keeper;
use crate::parts::noted_map::NotedMap;
use crate::parts::partial::{padded, read_mapped, refuse_lost};
use crate::parts::trim_notes::TrimNotes;
use crate::{BlockState, Events, Facts, Ftl, FtlError, RamUse, Trims, Variant};
pub use config::{Config, Firmware, ReverseMap};
use nandlab_nand::{
    scoped, BlockId, Cause, Geometry, Kind, Lpn, Nand, NandError, Oob, Origin, PageBuf, Ppa, Rules, SectorMask, Time,
};
use std::collections::VecDeque;

/// The block that a bank fills.
#[derive(Debug)]
struct Active {
    /// Its pages, but for that of the list.
    frontier: Frontier,
    /// What they hold, so far: logical pages, or segments with [`NOTE`] set.
    list: Vec<u32>,
    /// Whether the bank has its reserve, as far as this was found out since the mount.
    is_whole: bool,
}

/// Set in the entry of a list that is a note of trims.
const NOTE: u32 = 1 << 31;

/// The RAM state of the super-page map.
#[derive(Debug)]
pub struct SuperPage {
    map: NotedMap,
    keeper: Keeper,
    /// Valid pages of each block.
    counts: ValidCounts,
    /// Blocks with a failed program, to be emptied and retired.
    failing: VecDeque<BlockId>,
    active: Vec<Active>,
    /// By block: whether its last page is the list of the others.
    listed: Vec<bool>,
    /// The bank of the next page, where they take turns.
    turn: usize,
    geometry: Geometry,
    full: SectorMask,
    /// Pages of a block for the host.
    data_pages: u32,
    config: Config,
    /// Pages that survive in the victim, with their entries: kept from one victim to the next for its room.
    survivors: collect::Survivors,
    events: Events,
}

impl SuperPage {
    /// A valid page counts no more as soon as what ends at `end` is on flash.
    #[inline]
    fn supersede(&mut self, old: Ppa, end: Time) {
        let block = self.geometry.block_of(old);
        self.counts.sub(block, 1);
        self.keeper.supersede_in(block, end);
    }

    /// The bank of a page.
    fn bank_of(&self, page: Ppa) -> usize {
        self.geometry.die_of(self.geometry.block_of(page)) as usize
    }

    /// The bank for a page of the host.
    #[inline]
    fn bank_for(&mut self, at: Lpn) -> usize {
        let banks = self.active.len();
        if banks == 1 {
            return 0;
        }
        if self.config.firmware == Firmware::Greedy {
            return at.index() % banks;
        }
        self.turn = (self.turn + 1) % banks;
        self.turn
    }

    /// Writes a page of the host and maps it.
    #[inline]
    fn store<N: Nand>(&mut self, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<(), FtlError> {
        let bank = self.bank_for(at);
        let to = self.program(nand, bank, page, &[], (at.0, Kind::Data))?;
        let end = nand.ctx().last();
        let old = self.map.write(at, to, end);
        if old.is_some() {
            self.supersede(old, end);
        }
        self.counts.add(self.active[bank].frontier.block, 1);
        self.end_if_full(nand, bank)?;
        if !self.failing.is_empty() {
            self.retire_failing(nand)?;
        }
        Ok(())
    }

    /// Programs the next page of a bank; a block where a program fails is left behind.
    #[inline]
    fn program<N: Nand>(
        &mut self,
        nand: &mut N,
        bank: usize,
        page: &N::Buf,
        tail: &[u8],
        (entry, kind): (u32, Kind),
    ) -> Result<Ppa, FtlError> {
        if !self.active[bank].is_whole {
            self.make_whole(nand, bank)?;
        }
        loop {
            if self.active[bank].frontier.is_full() {
                self.open_block(nand, bank)?;
            }
            // Opening a block may have moved the older copy of this page, so the sequence number comes last.
            let (to, aux) = self.active[bank].frontier.take();
            let origin = if kind == Kind::Data { nand.ctx().origin() } else { Origin::FTL };
            let oob = Oob { kind, aux, ..Oob::data(Lpn(entry & !NOTE), self.keeper.next_seq(), origin) };
            match nand.program(to, page, tail, oob) {
                Ok(_) => {
                    self.active[bank].list.push(entry);
                    return Ok(to);
                }
                Err(NandError::ProgramFailed(_)) => self.fail_active(bank),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Reads what a partial write of a mapped page leaves out, merges and writes the page.
    fn store_part<N: Nand>(
        &mut self,
        nand: &mut N,
        at: Lpn,
        sectors: SectorMask,
        page: &N::Buf,
    ) -> Result<(), FtlError> {
        let from = self.map.at(at);
        let mut whole = N::Buf::zeroed(self.geometry.page_bytes());
        scoped(nand, Cause::ReadModifyWrite, |nand| {
            (0..self.reads_for(sectors)).try_for_each(|_| refuse_lost(from, nand.read(from, &mut whole)?))
        })?;
        whole.merge(page, sectors);
        let end = nand.ctx().last();
        let before = nand.ctx().after(end);
        let stored = self.store(nand, at, &whole);
        nand.ctx().set_ready(before);
        stored
    }

    /// Reads that fetch what a write of these sectors leaves out of its page.
    fn reads_for(&self, sectors: SectorMask) -> u32 {
        let (first, end) = (sectors.0.trailing_zeros(), 64 - sectors.0.leading_zeros());
        let is_one_run = end - first == sectors.count();
        if !is_one_run || (first > 0 && sectors.count() <= self.config.one_read_sectors) {
            return 1;
        }
        u32::from(first > 0) + u32::from(end < self.geometry.sectors_per_page())
    }

    /// Writes the note of `segment` anew, in `bank`.
    fn write_note<N: Nand>(&mut self, nand: &mut N, bank: usize, segment: u32) -> Result<(), FtlError> {
        scoped(nand, Cause::Trim, |nand| {
            let note = self.map.note(segment, self.keeper.seq());
            let blank = N::Buf::zeroed(self.geometry.page_bytes());
            let to = self.program(nand, bank, &blank, &note, (segment | NOTE, Kind::TrimNote))?;
            self.adopt_note(nand, segment, to);
            self.end_if_full(nand, bank)
        })
    }

    /// The note of `segment` is now at `to`; the old one becomes invalid.
    fn adopt_note<N: Nand>(&mut self, nand: &mut N, segment: u32, to: Ppa) {
        let end = nand.ctx().last();
        // The note before hid what a page held that has been written since. That write must be on flash before the
        // note goes, whose block is erased after `noted`.
        let (old, noted) = self.map.renew(segment, to, end);
        self.keeper.noted(noted);
        if old.is_some() {
            self.supersede(old, end);
        }
        self.counts.add(self.geometry.block_of(to), 1);
    }

    /// Most pages that are valid in `bank` at the same time.
    fn most_valid(&self, bank: usize) -> u32 {
        most_in_bank(self.keeper.good_in(bank as u32), &self.config, &self.geometry)
    }

    /// Fails where bad blocks leave a bank too little for what is exported.
    fn refuse_worn_out(&self) -> Result<(), FtlError> {
        if self.config.firmware == Firmware::Tutorial {
            return Ok(());
        }
        let banks = self.active.len() as u32;
        for bank in 0..banks {
            let pages = (self.map.len() as u32).saturating_sub(bank).div_ceil(banks) + self.map.most_notes();
            let room = self.most_valid(bank as usize);
            if room < pages {
                return Err(self.keeper.worn_out((pages - room).div_ceil(self.data_pages)));
            }
            let needed = self.config.kept() + 2;
            if self.keeper.good_in(bank) < needed {
                return Err(self.keeper.worn_out(needed - self.keeper.good_in(bank)));
            }
        }
        Ok(())
    }
}

/// Most pages that may be valid in a bank of so many good blocks while garbage collection still finds one that is not.
fn most_in_bank(good: u32, config: &Config, geometry: &Geometry) -> u32 {
    (good.saturating_sub(config.kept()) * config.data_pages(geometry)).saturating_sub(1)
}

impl Ftl for SuperPage {
    type Config = Config;

    fn variants() -> Vec<Variant<Config>> {
        config::variants()
    }

    fn notices(config: &Config, _: &Geometry, _: u32) -> Result<Vec<String>, FtlError> {
        if config.firmware == Firmware::Greedy {
            return Ok(Vec::new());
        }
        let reserve = (config.reserve_blocks != Config::default().reserve_blocks).then_some("reserve_blocks");
        let list = (config.reverse_map != ReverseMap::ListPage).then_some("reverse_map");
        let notice = |key| format!("ftl.superpage.{key} has no effect: the tutorial firmware collects no garbage");
        Ok(reserve.into_iter().chain(list).map(notice).collect())
    }

    fn facts(config: &Config) -> Facts {
        let collects = config.firmware != Firmware::Tutorial;
        Facts { trims: Trims::noted(config.durable_trim), collects, ..Facts::default() }
    }

    fn max_logical_pages(geometry: &Geometry, _: &Rules, config: &Config) -> Result<u32, FtlError> {
        config.check(geometry)?;
        let banks = geometry.dies();
        let in_bank = most_in_bank(geometry.blocks_per_die() - config.firmware_blocks, config, geometry);
        let notes = TrimNotes::most_pages_for(geometry, banks * in_bank, config.durable_trim);
        // Any bank may hold all notes.
        Ok(banks * in_bank.saturating_sub(notes))
    }

    fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Config) -> Result<Self, FtlError> {
        mount::mount(nand, logical_pages, config)
    }

    #[inline]
    fn write<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &N::Buf) -> Result<(), FtlError> {
        if sectors == self.full {
            return self.store(nand, at, page);
        }
        if self.map.at(at).is_some() {
            return self.store_part(nand, at, sectors, page);
        }
        self.store(nand, at, &padded(page, sectors, self.full))
    }

    #[inline]
    fn read<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &mut N::Buf) -> Result<(), FtlError> {
        read_mapped(nand, self.map.at(at), sectors, page)
    }

    fn trim<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask) -> Result<(), FtlError> {
        if sectors == self.full && self.map.at(at).is_some() {
            let old = self.map.trim(at);
            self.counts.sub(self.geometry.block_of(old), 1);
            while let Some(segment) = self.map.overdue(self.config.kept().max(1), self.data_pages) {
                let bank = self.bank_for(Lpn(segment));
                self.write_note(nand, bank, segment)?;
            }
        }
        Ok(())
    }

    fn flush<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        while let Some(segment) = self.map.pending() {
            let bank = self.bank_for(Lpn(segment));
            self.write_note(nand, bank, segment)?;
        }
        if !self.failing.is_empty() {
            self.retire_failing(nand)?;
        }
        let end = nand.ctx().acknowledged().max(self.keeper.noted_by());
        nand.ctx().fence_at(end);
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
        ram.dram.insert("valid_counts", 2 * u64::from(self.geometry.blocks()));
        if self.config.list_pages() > 0 {
            ram.sram.insert("lists", 4 * u64::from(self.data_pages) * self.active.len() as u64);
        }
        ram.sram.insert("trim_notes", self.map.note_bytes());
        ram
    }

    fn events(&self) -> Events {
        Events { retired_blocks: self.keeper.retired(), ..self.events }
    }

    fn blocks(&self) -> Vec<BlockState> {
        self.keeper.states(|block| self.counts.valid(block))
    }

    fn check<N: Nand>(&self, nand: &mut N) {
        scoped(nand, Cause::Mount, |nand| check::check(self, nand));
    }
}
