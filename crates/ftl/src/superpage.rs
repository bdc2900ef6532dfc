//! Super-page map: one map entry per logical page, for a controller that programs whole super-pages.
//!
//! ## Idea
//! The two firmwares for the OpenSSD Jasmine board. A device page is their virtual page: the pages on two planes and
//! two chips programmed together, 32 KiB. It is the unit of the map, so a small write pays for a whole page. A bank is
//! a die. The greedy firmware gives each logical page a bank, `logical page % banks`, and every bank collects its own
//! garbage. The tutorial firmware lets the banks take turns and never erases anything.
//!
//! ## Write path
//! A page goes to the next page in the one block that its bank fills. A partial write to a mapped page first reads the
//! other sectors. If it has at most `one_read_sectors` sectors and begins behind the first one, it reads the whole page
//! at once. Otherwise it reads the hole before its sectors and the hole behind them, each on its own. Then the whole
//! page is programmed. A partial write to an unmapped page programs its sectors and reads nothing.
//!
//! The last page in each block is kept for a list of the block's logical pages, programmed as soon as the page before
//! it is. When at most `reserve_blocks` blocks are free, the victim is the bank's closed block with the fewest valid
//! pages, the first among equals. Its list is read, the pages still mapped are copied to a reserved block, and the
//! victim is erased, all at once. The reserved block then takes host pages behind the survivors.
//!
//! ## Recovery
//! Mount reads every spare area, and no list: each spare area tells the logical page and the sequence number, also in
//! blocks that are not full and have no list yet. The highest number wins. Each bank fills its roomiest block further. Another
//! block that was being filled stays as it is, without a list. Its collection reads its pages' spare areas, as it does
//! after an unreadable list. The first write to a bank ends a collection interrupted by a cut. Note pages keep the
//! trims; they are written at a flush, and in any bank that collects.
//!
//! ## Invariants
//! Every mapped page is the newest copy on flash, in its logical page's bank. A block's count is its mapped pages and
//! live notes. Each block is free, being filled, closed, failing or bad. A list names the same pages as its block's
//! spare areas.
//!
//! ## Differences
//! The board cannot keep metadata in spare areas; here every page has it. So the data that the firmware saves only at
//! shutdown, and forgets when power goes, survives. Pages never written read as zeros, not as 0xFF. A read or a copy
//! takes a whole page; the controller can transfer parts. The firmware keeps 1 block in reserve and has no answer to
//! failing programs and erases; `reserve_blocks = 1` is its figure, 2 takes a fault during garbage collection.
//! `firmware_blocks` leaves out its blocks for code, log and map. The firmware leaves out the first page in its first
//! block, and has no trim. Its tutorial version forgets its map when it is switched on; here `tutorial` is mounted like
//! the other.
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

/// The block being filled on a bank.
#[derive(Debug)]
struct Active {
    /// Its pages, without the one for the list.
    frontier: Frontier,
    /// Their contents so far: logical pages, or segments with [`NOTE`] set.
    list: Vec<u32>,
    /// Whether the bank has its reserve, as far as this was found out since the mount.
    is_whole: bool,
}

/// Set in a list entry for a trim note.
const NOTE: u32 = 1 << 31;

/// The super-page map's RAM state.
#[derive(Debug)]
pub struct SuperPage {
    map: NotedMap,
    keeper: Keeper,
    /// Valid pages in each block.
    counts: ValidCounts,
    /// Blocks with a failed program, to be emptied and retired.
    failing: VecDeque<BlockId>,
    active: Vec<Active>,
    /// By block: whether its last page lists the others.
    listed: Vec<bool>,
    /// The bank that had the last turn, if they take turns.
    turn: usize,
    geometry: Geometry,
    full: SectorMask,
    /// Pages in a block for the host.
    data_pages: u32,
    config: Config,
    /// The victim's surviving pages, with their entries; kept between victims to reuse the memory.
    survivors: collect::Survivors,
    events: Events,
}

impl SuperPage {
    /// A valid page counts no more as soon as the operation ending at `end` is on flash.
    #[inline]
    fn supersede(&mut self, old: Ppa, end: Time) {
        let block = self.geometry.block_of(old);
        self.counts.sub(block, 1);
        self.keeper.supersede_in(block, end);
    }

    /// A page's bank.
    fn bank_of(&self, page: Ppa) -> usize {
        self.geometry.die_of(self.geometry.block_of(page)) as usize
    }

    /// The bank for a host page.
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

    /// Writes a host page and maps it.
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

    /// Programs a bank's next page; leaves a block with a failed program behind.
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
            // Opening a block may have moved this page's older copy, so the sequence number comes last.
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

    /// Reads the sectors missing from a partial write to a mapped page, merges and writes the page.
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

    /// The number of reads for the sectors missing from a write.
    fn reads_for(&self, sectors: SectorMask) -> u32 {
        let (first, end) = (sectors.0.trailing_zeros(), 64 - sectors.0.leading_zeros());
        let is_one_run = end - first == sectors.count();
        if !is_one_run || (first > 0 && sectors.count() <= self.config.one_read_sectors) {
            return 1;
        }
        u32::from(first > 0) + u32::from(end < self.geometry.sectors_per_page())
    }

    /// Writes the note for `segment` anew, in `bank`.
    fn write_note<N: Nand>(&mut self, nand: &mut N, bank: usize, segment: u32) -> Result<(), FtlError> {
        scoped(nand, Cause::Trim, |nand| {
            let note = self.map.note(segment, self.keeper.seq());
            let blank = N::Buf::zeroed(self.geometry.page_bytes());
            let to = self.program(nand, bank, &blank, &note, (segment | NOTE, Kind::TrimNote))?;
            self.adopt_note(nand, segment, to);
            self.end_if_full(nand, bank)
        })
    }

    /// The note for `segment` is now at `to`; the old one becomes invalid.
    fn adopt_note<N: Nand>(&mut self, nand: &mut N, segment: u32, to: Ppa) {
        let end = nand.ctx().last();
        // The old note hid old contents of pages written since. Their writes must be on flash before it goes: its block
        // is erased after `noted`.
        let (old, noted) = self.map.renew(segment, to, end);
        self.keeper.noted(noted);
        if old.is_some() {
            self.supersede(old, end);
        }
        self.counts.add(self.geometry.block_of(to), 1);
    }

    /// Most pages valid in `bank` at the same time.
    fn most_valid(&self, bank: usize) -> u32 {
        most_in_bank(self.keeper.good_in(bank as u32), &self.config, &self.geometry)
    }

    /// Fails if bad blocks leave a bank too little for the exported pages.
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

/// Most valid pages in a bank with `good` good blocks such that garbage collection still finds an invalid one.
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

    fn free_blocks(&self) -> u64 {
        self.keeper.count_all()
    }

    fn blocks(&self) -> Vec<BlockState> {
        self.keeper.states(|block| self.counts.valid(block))
    }

    fn check<N: Nand>(&self, nand: &mut N) {
        scoped(nand, Cause::Mount, |nand| check::check(self, nand));
    }
}
