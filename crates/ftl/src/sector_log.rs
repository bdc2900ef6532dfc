//! Sector log: a page map with a log for small writes, and a sector map for the log alone.
//!
//! ## Idea
//! A page map pays for a one-sector write with a read and a program of the whole page. A sector map avoids this, but
//! needs a map that no memory holds. Here the device is page mapped, except for a few blocks: small writes gather in
//! the pages of that log. Only its sectors have their own entries, so the sector map is as small as the log. Log blocks
//! are merged with the data when they are needed again.
//!
//! ## Write path
//! A page written whole goes to the next data page, on the dies in turn, and its sectors in the log count no more.
//! Sectors from other writes gather in a merge buffer. When it has a page's sectors but one, their logical addresses
//! become the last one, and the page is programmed in the log; meanwhile the next buffer is filled. A flush programs
//! the buffer as it is. A page without a copy has nothing to be read: a partial write to it is programmed as a page,
//! padded with zeros, so every sector in the log has a page below it.
//!
//! On several dies the log fills a block on each, and on average half of it is not there yet: a log of 103 blocks works
//! like one of 99 on 8 dies.
//!
//! The dies share the log's blocks equally. When a die has all of its share, one of its log blocks is merged, chosen by
//! `log_victim`. For each logical page with a sector in it,
//! the page and all its sectors in the log are read and programmed as a data page; then the block is erased. The
//! victim's own pages are read once. A die's data is collected by the fewest valid pages, once at most `reserve_blocks`
//! of its blocks are free beyond the log's claim. A moved page with sectors in the log is merged on the way,
//! so it is programmed once.
//!
//! A read takes each page with a part of the wanted sectors, and waiting sectors from the buffer.
//!
//! ## Recovery
//! A mount reads every spare area, the log pages' lists, and the trim notes. The page copy with the highest sequence
//! number counts. A sector in the log counts if it is newer than this copy, and the newest of its kind. A merge has all
//! sectors of its page, so its higher number hides them. No block is erased before the replacements for its pages are
//! on flash. Unflushed sectors in the merge buffer are lost, and the copies they were to replace are still there: the
//! maps learn of a sector only when its page is programmed. Note pages keep the trims; they are written at a flush and
//! before an erase.
//!
//! ## Invariants
//! Every mapped page is the newest copy on flash. Every sector map entry is its sector's newest copy and newer than the
//! page below it, which is mapped. A page is marked as logged if and only if it has such entries. Each block is free,
//! data, log or bad. The log can always take the rest of its share.
//!
//! ## Differences
//! The paper was not at hand; this follows descriptions of it. They leave open three points chosen here: the order in
//! which the log is merged (an option); data collection merges pages as it moves them; a part of a page without a copy
//! is programmed as a page. A bit for each flash page tells whether its logical page has sectors in the log, and a
//! place in the log has its sector in its entry, so only a mount reads lists. No sector is written to the log again:
//! hot sectors have `fifo`. If a part of a page cannot be read in a merge, the whole page is lost. With one sector per
//! page there is no log.
//!
//! ## References
//! S. Jin et al.: Sector Log: Fine-Grained Storage Management for Solid State Drives. ACM SAC 2011.
//! K. Han, J. Ahn, D. Shin: Implementing a Sector-level Mapping FTL Algorithm at OpenSSD. KIISE, in Korean; section 1.

mod check;
mod config;
mod log;
mod merge;
mod mount;

use crate::parts::engine::Noted;
use crate::parts::engine::{self, PageMapped, Pages, Target};
use crate::parts::merge_buffer::{copy_sector, Gathered, Written, DEAD};
use crate::parts::noted_map::{Holds, NotedMap};
use crate::parts::partial::{padded, refuse_lost};
use crate::parts::store::page_bits::PageBits;
use crate::{Facts, FtlError, RamUse, Variant};
pub use config::Config;
pub use log::LogVictim;
use log::{Log, Logged};
use nandlab_block::Op;
use nandlab_nand::{BlockId, Geometry, Kind, Lpn, Nand, NandError, Oob, Origin, PageBuf, Ppa, Rules, SectorMask, Time};

/// The FTL.
pub type SectorLog = PageMapped<Scheme>;

/// In log pages' `aux`; pages from a sector map do not have it.
const OF_LOG: u16 = 4;

/// The map, the log and the sectors gathered for it.
#[derive(Debug)]
pub struct Scheme {
    config: Config,
    geometry: Geometry,
    per_page: u32,
    /// Sectors in a log page.
    gathered: u32,
    map: NotedMap,
    log: Log,
    /// Data pages whose logical page has sectors in the log.
    logged: PageBits,
    buffer: Gathered,
    written: Written,
    list: Vec<u8>,
    /// The frontier that had the last turn.
    log_turn: usize,
}

impl Scheme {
    fn is_logged(&self, page: Ppa) -> bool {
        self.logged.has(self.geometry.block_of(page), self.geometry.page_in_block(page))
    }

    /// Forgets the log's sectors for a logical page that was at `old`; their replacements are there by `end`.
    #[inline]
    fn forget_logged(&mut self, pages: &mut Pages, at: Lpn, old: Ppa, end: Time) {
        if self.is_logged(old) {
            self.log.remove(at, |_| true, |page| pages.keeper.supersede(page, end));
            self.logged.remove(self.geometry.block_of(old), self.geometry.page_in_block(old));
        }
    }

    /// Stores a page of kind Lost.
    #[cold]
    fn store_lost<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        target: Target,
        at: Lpn,
    ) -> Result<(), FtlError> {
        let to = pages.store_lost(self, nand, at, target)?;
        self.map_stored(pages, nand, (at, to));
        Ok(())
    }

    /// Drops a logical page's sectors from the merge buffer.
    #[inline]
    fn drop_buffered(&mut self, at: Lpn) {
        if self.buffer.len() > 0 {
            self.buffer.drop_where(|sector| sector / self.per_page == at.0);
        }
    }

    /// Adds a host sector to the merge buffer, and writes the buffer when it is full.
    #[inline]
    fn add<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        sector: u32,
        (page, place): (&N::Buf, u32),
    ) -> Result<(), FtlError> {
        if self.buffer.len() == self.gathered as usize {
            self.write_buffer(pages, nand)?;
        }
        let origin = nand.ctx().origin();
        match self.buffer.find(sector) {
            Some(at) => self.buffer.overwrite(at, origin, page, place),
            None => self.buffer.push(sector, origin, page, place),
        }
        if self.buffer.len() == self.gathered as usize {
            self.write_buffer(pages, nand)?;
        }
        Ok(())
    }

    /// Programs the merge buffer's sectors in the log, and maps them. The host does not wait for the page, only for the
    /// next buffer.
    fn write_buffer<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N) -> Result<(), FtlError> {
        if !self.buffer.is_needed() {
            self.buffer.clear();
            return Ok(());
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let programmed = self.program_logged(pages, nand, &buffer);
        if programmed.is_ok() {
            buffer.clear();
        }
        // A worn-out device keeps acknowledged data as long as it has power.
        self.buffer = buffer;
        let free = self.written.pass(programmed?);
        nand.ctx().wait_until(free);
        Ok(())
    }

    /// Programs sectors in the log's next page and maps them; returns when the page is on flash.
    fn program_logged<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, from: &Gathered) -> Result<Time, FtlError> {
        let sectors = &from.sectors;
        let mut page = N::Buf::zeroed(self.geometry.page_bytes());
        from.copy_out(0, from.len(), &mut page, 0);
        let mut list = std::mem::take(&mut self.list);
        list.clear();
        sectors.iter().for_each(|sector| list.extend_from_slice(&sector.to_le_bytes()));
        list.resize(4 * self.gathered as usize, u8::MAX);
        let programmed = self.program_in_log(pages, nand, &page, &list, from.author(0, from.len()));
        self.list = list;
        let (to, end) = (programmed?, nand.ctx().last());
        for (place, &sector) in (0..).zip(sectors).filter(|(_, &sector)| sector != DEAD) {
            let at = Lpn(sector / self.per_page);
            let below = self.map.at(at);
            assert!(below.is_some(), "sector {sector} is in the merge buffer and its page is nowhere");
            if self.is_logged(below) {
                self.log.remove(at, |gone| gone == sector, |page| pages.keeper.supersede(page, end));
            }
            self.log.insert(sector, to, place);
            self.logged.insert(self.geometry.block_of(below), self.geometry.page_in_block(below));
        }
        Ok(end)
    }

    fn program_in_log<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        page: &N::Buf,
        list: &[u8],
        author: Origin,
    ) -> Result<Ppa, FtlError> {
        loop {
            self.log_turn = if self.log_turn + 1 >= self.log.frontiers().len() { 0 } else { self.log_turn + 1 };
            let frontier = self.log_turn;
            if self.log.frontiers()[frontier].is_full() {
                self.open_log_block(pages, nand, frontier)?;
            }
            // Opening a block may have merged older sectors, so the sequence number comes last.
            let (to, mark) = self.log.take(frontier);
            let oob = Oob::data(Lpn(0), pages.keeper.next_seq(), author);
            let is_buffered = nand.ctx().set_buffered(true);
            let programmed = nand.program(to, page, list, Oob { kind: Kind::Sectors, aux: OF_LOG | mark, ..oob });
            nand.ctx().set_buffered(is_buffered);
            match programmed {
                Ok(_) => return Ok(to),
                Err(NandError::ProgramFailed(_)) => self.log.abandon(frontier),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Reads a mapped page's sectors from their places.
    fn read_mapped<N: Nand>(
        &mut self,
        nand: &mut N,
        at: Lpn,
        sectors: SectorMask,
        page: &mut N::Buf,
    ) -> Result<(), FtlError> {
        let from = self.map.at(at);
        let mut missing = sectors;
        let mut buffered: Vec<(usize, u32)> = Vec::new();
        if self.buffer.len() > 0 {
            let find = |place| Some((self.buffer.find(at.0 * self.per_page + place)?, place));
            buffered.extend(sectors.iter().filter_map(find));
            buffered.iter().for_each(|&(_, place)| missing.0 &= !(1 << place));
        }
        let mut logged: Vec<Logged> = Vec::new();
        if self.is_logged(from) {
            logged.extend(self.log.of_page(at).into_iter().filter(|logged| missing.has(logged.place)));
            logged.iter().for_each(|logged| missing.0 &= !(1 << logged.place));
        }
        if !missing.is_empty() {
            nand.ctx().ask_of_these(missing.iter().count() as u32);
            refuse_lost(from, nand.read(from, page)?)?;
        }
        logged.sort_unstable_by_key(|logged| (logged.page, logged.at));
        let mut found = N::Buf::zeroed(self.geometry.page_bytes());
        for of_page in logged.chunk_by(|a, b| a.page == b.page) {
            nand.ctx().ask_of_these(of_page.len() as u32);
            nand.read(of_page[0].page, &mut found)?;
            of_page.iter().for_each(|logged| copy_sector(&found, logged.at as usize, page, logged.place as usize));
        }
        buffered.iter().for_each(|&(there, place)| self.buffer.copy_out(there, 1, page, place as usize));
        Ok(())
    }
}

impl Noted for Scheme {
    fn map(&self) -> &NotedMap {
        &self.map
    }

    fn map_mut(&mut self) -> &mut NotedMap {
        &mut self.map
    }

    #[inline]
    fn superseded(&mut self, pages: &mut Pages, at: Lpn, old: Ppa, end: Time) {
        self.forget_logged(pages, at, old, end);
    }
}

impl engine::Scheme for Scheme {
    type Config = Config;
    const FOLLOWS: bool = false;

    fn variants() -> Vec<Variant<Config>> {
        config::variants()
    }

    fn notices(config: &Config, geometry: &Geometry, _logical_pages: u32) -> Result<Vec<String>, FtlError> {
        let mut notices = Vec::new();
        if geometry.sectors_per_page() == 1 {
            notices.push(format!(
                "ftl.sector_log.log_percent = {}: pages of one sector are never written in part, so there is no log",
                config.log_percent
            ));
        }
        Ok(notices)
    }

    fn facts(_config: &Config) -> Facts {
        Facts { gathers: true, ..Facts::default() }
    }

    fn max_logical_pages(config: &Config, geometry: &Geometry, _: &Rules) -> Result<u32, FtlError> {
        config.max_logical_pages(geometry)
    }

    fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Config) -> Result<(Pages, Self), FtlError> {
        mount::mount(nand, logical_pages, config)
    }

    fn claim_in(&self, die: u32) -> u32 {
        self.log.claim_in(die)
    }

    fn share_dies(&mut self, works: &[bool]) {
        self.log.share_dies(works);
    }

    #[inline]
    fn write<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        at: Lpn,
        sectors: SectorMask,
        page: &N::Buf,
    ) -> Result<(), FtlError> {
        let full = self.geometry.full_mask();
        let oob = Oob::data(at, Default::default(), nand.ctx().origin());
        if sectors == full {
            self.store(pages, nand, Target::InTurn, page, oob)?;
            self.drop_buffered(at);
            return Ok(());
        }
        if !self.map.at(at).is_some() {
            return self.store(pages, nand, Target::InTurn, &padded(page, sectors, full), oob);
        }
        let first = at.0 * self.per_page;
        sectors.iter().try_for_each(|place| self.add(pages, nand, first + place, (page, place)))
    }

    fn read<N: Nand>(
        &mut self,
        _: &mut Pages,
        nand: &mut N,
        at: Lpn,
        sectors: SectorMask,
        page: &mut N::Buf,
    ) -> Result<(), FtlError> {
        if !self.map.at(at).is_some() {
            page.clear(sectors);
            return Ok(());
        }
        self.read_mapped(nand, at, sectors, page)
    }

    fn trim<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, at: Lpn) -> Result<(), FtlError> {
        self.drop_buffered(at);
        self.unmap(pages, nand, at)
    }

    fn flush<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N) -> Result<(), FtlError> {
        self.write_buffer(pages, nand)?;
        self.write_notes(pages, nand, Target::InTurn)?;
        while self.log.is_failing() {
            self.merge_next(pages, nand, None)?;
        }
        pages.retire_failing(self, nand)
    }

    fn relocate<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, from: Ppa, die: u32) -> Result<(), FtlError> {
        if self.is_logged(from) {
            return match self.map.holds(nand, from)? {
                Holds::Page(at) => self.merge_page(pages, nand, Target::Moved(die), at, &mut None),
                Holds::Note(_) => unreachable!("no note has sectors in the log"),
            };
        }
        let Some((to, at, kind)) = pages.copy(self, nand, from, Target::Moved(die))? else {
            return match self.map.holds(nand, from)? {
                Holds::Note(segment) => self.write_note(pages, nand, Target::Moved(die), segment),
                Holds::Page(at) => self.store_lost(pages, nand, Target::Moved(die), at),
            };
        };
        self.map.set(kind, at, to);
        pages.supersede(from, nand.ctx().last());
        pages.table.set_valid(to);
        Ok(())
    }

    fn emptied<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, die: u32) -> Result<(), FtlError> {
        self.write_notes(pages, nand, Target::Moved(die))
    }

    /// One per page, and one per sector if the log has sectors from it, or is to get them.
    fn look_ups(&self, _: &Pages, op: Op, at: Lpn, sectors: SectorMask) -> u64 {
        let page = self.map.at(at);
        let is_small = op == Op::Write && sectors != self.geometry.full_mask();
        let in_log = page.is_some() && (is_small || op == Op::Read && self.is_logged(page));
        1 + if in_log { u64::from(sectors.count()) } else { 0 }
    }

    fn most_pending(&self, reserve_blocks: u32, pages_per_block: u32) -> u32 {
        self.map.most_pending(reserve_blocks, pages_per_block)
    }

    #[inline]
    fn prefetch(&self, at: Lpn) {
        self.map.prefetch(at);
    }

    fn logical_pages(&self) -> u32 {
        self.map.len() as u32
    }

    fn ram(&self, _: &Pages) -> RamUse {
        let mut ram = RamUse::default();
        let (blocks, page) = (u64::from(self.geometry.blocks()), u64::from(self.geometry.page_bytes()));
        let buffers = u64::from(self.config.merge_buffers);
        let bits = u64::from(self.geometry.pages()).div_ceil(8);
        ram.dram.insert("map", self.map.bytes());
        ram.dram.insert("valid_bits", bits);
        ram.sram.insert("valid_counts", 2 * blocks + self.log.count_bytes());
        ram.sram.insert("trim_notes", self.map.note_bytes());
        if self.per_page > 1 {
            ram.dram.insert("sector_map", self.log.bytes());
            ram.dram.insert("logged_bits", bits);
            ram.dram.insert("merge_buffers", buffers * page);
            // A log victim, a page to be merged, and a log page needed for it.
            ram.dram.insert("gc_buffer", (u64::from(self.geometry.pages_per_block()) + 2) * page);
            ram.sram.insert("lists", buffers * 4 * u64::from(self.gathered));
        }
        ram
    }

    fn valid_in(&self, block: BlockId) -> Option<u32> {
        self.log.has(block).then(|| self.log.valid(block).div_ceil(self.gathered))
    }

    fn log_blocks(&self) -> Vec<BlockId> {
        (0..self.geometry.blocks()).map(BlockId).filter(|&block| self.log.has(block)).collect()
    }

    fn check<N: Nand>(&self, pages: &Pages, nand: &mut N) {
        check::check(self, pages, nand);
    }
}
