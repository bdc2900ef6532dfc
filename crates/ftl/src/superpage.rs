//! Super-page map: one map entry per logical page, for a controller that programs whole super-pages.
//!
//! ## Idea
//! The two firmwares for the OpenSSD Jasmine board. A device page is their virtual page: the pages on two planes and
//! two chips programmed together, 32 KiB. It is the unit of the map, so a small write pays for a whole page. A bank is
//! a die. The greedy firmware gives each logical page a bank, `logical page % banks`, and every bank collects its own
//! garbage. The tutorial firmware lets the banks take turns and never erases anything. The blocks, their collection and
//! their failures are the engine's (`parts/engine.rs`).
//!
//! ## Write path
//! A page goes to the next page in the one block that its bank fills. A partial write to a mapped page first reads the
//! other sectors. If it has at most `one_read_sectors` sectors and begins behind the first one, it reads the whole page
//! at once. Otherwise it reads the hole before its sectors and the hole behind them, each on its own. Then the whole
//! page is programmed. A partial write to an unmapped page programs its sectors and reads nothing.
//!
//! The last page in each block is kept for a list: the block's logical pages. It is programmed when the bank's next page finds
//! the others full. A block for the host is opened while more than `reserve_blocks` blocks are free. Otherwise the victim
//! is the bank's closed block with the fewest valid pages, the first among equals. Its list is read, the pages still
//! mapped are copied to a reserved block, and the victim is erased, all at once. The reserved block then takes host pages
//! behind the survivors. A bank whose blocks fail leaves pages to the others, and so does one with more valid pages than
//! its share (`parts/engine/room.rs`).
//!
//! ## Recovery
//! Mount reads every spare area, and no list: each spare area tells the logical page and the sequence number, also in
//! blocks that are not full and have no list yet. The highest number wins. A block being filled before is closed as it
//! is, without a list. Its collection reads its pages' spare areas, as it does after an unreadable list. Note pages keep
//! the trims; they are written at a flush, and in any bank that collects.
//!
//! ## Invariants
//! Every mapped page is the newest copy on flash. Exactly the mapped pages and live notes are valid. Each block is free,
//! being filled, closed, being emptied, failing or bad. A list names the same pages as its block's spare areas.
//!
//! ## Differences
//! The board cannot keep metadata in spare areas; here every page has it. So the data that the firmware saves only at
//! shutdown, and forgets when power goes, survives. Pages never written read as zeros, not as 0xFF. A read or a copy
//! takes a whole page; the controller can transfer parts. The firmware keeps 1 block in reserve and has no answer to
//! failing programs and erases; `reserve_blocks = 1` is its figure, 2 takes a fault during garbage collection.
//! `firmware_blocks` leaves out its blocks for code, log and map. The firmware leaves out the first page in its first
//! block, and has no trim. Its tutorial version forgets its map when it is switched on; here `tutorial` is mounted like
//! the other. A bank exports a block less than the firmware's, its open one. With several banks each
//! exports two less, so a bank with failed blocks can leave pages to the others.
//!
//! ## References
//! The OpenSSD Project, Jasmine firmware 1.1.0, 2011: facts of its design and constants, no code.
//! K. Han, J. Ahn, D. Shin: Implementing a Sector-level Mapping FTL Algorithm at OpenSSD. KIISE, in Korean.

mod check;
mod config;
mod mount;

use crate::parts::blocks::table::BlockTable;
pub use crate::parts::collection::Collection;
use crate::parts::engine::{self, Noted, PageMapped, Pages, Target};
use crate::parts::noted_map::{Holds, NotedMap};
use crate::parts::partial::{padded, read_mapped, refuse_lost};
use crate::{Facts, FtlError, RamUse, Trims, Variant};
pub use config::{Allocation, Config, Firmware, ReverseMap};
use nandlab_nand::{
    scoped, BlockId, Cause, Geometry, Kind, Lpn, Nand, NandError, Oob, Origin, PageBuf, Ppa, Rules, SectorMask,
};

/// The FTL.
pub type SuperPage = PageMapped<Scheme>;

/// Set in a list entry for a trim note.
const NOTE: u32 = 1 << 31;

/// The list for a bank's open block.
#[derive(Clone, Debug)]
struct List {
    block: BlockId,
    /// Logical pages, or segments with [`NOTE`] set, by page; fewer than all if a mount found the block.
    entries: Vec<u32>,
}

/// The map, and the open blocks' lists.
#[derive(Debug)]
pub struct Scheme {
    config: Config,
    geometry: Geometry,
    map: NotedMap,
    lists: Vec<List>,
    /// By block: whether its last page lists the others.
    listed: Vec<bool>,
    /// By block: whether the firmware keeps it for itself.
    apart: Vec<bool>,
}

impl Scheme {
    /// The target for a host page.
    #[inline]
    fn target(&self, at: Lpn) -> Target {
        match self.config.allocation() {
            Allocation::Static => Target::On(at.0 % self.geometry.dies()),
            Allocation::Dynamic => Target::InTurn,
        }
    }

    /// Writes a host page and maps it.
    #[inline]
    fn store_page<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<(), FtlError> {
        let oob = Oob::data(at, Default::default(), nand.ctx().origin());
        self.store(pages, nand, self.target(at), page, oob)
    }

    /// Reads the sectors missing from a partial write to a mapped page, merges and writes the page.
    fn store_part<N: Nand>(
        &mut self,
        pages: &mut Pages,
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
        let stored = self.store_page(pages, nand, at, &whole);
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

    /// The entries in a block's list; `None` if the list cannot be read.
    fn listed_in<N: Nand>(&self, nand: &mut N, block: BlockId) -> Result<Option<Vec<u32>>, FtlError> {
        let data_pages = self.config.data_pages(&self.geometry);
        let mut list = vec![0; 4 * data_pages as usize];
        match nand.read_tail(self.geometry.page(block, data_pages), &mut list) {
            Ok(_) => {}
            Err(NandError::Uncorrectable(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let entries = list.chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")));
        Ok(Some(entries.collect()))
    }

    /// Whether the map still points to the page for this list entry.
    fn lives(&self, page: Ppa, entry: u32) -> bool {
        let kind = if entry & NOTE == 0 { Kind::Data } else { Kind::TrimNote };
        self.map.counts(kind, Lpn(entry & !NOTE), page)
    }
}

impl Noted for Scheme {
    #[inline]
    fn map(&self) -> &NotedMap {
        &self.map
    }

    #[inline]
    fn map_mut(&mut self) -> &mut NotedMap {
        &mut self.map
    }

    #[inline]
    fn placed(&mut self, kind: Kind, at: Lpn, to: Ppa) {
        let block = self.geometry.block_of(to);
        let list = &mut self.lists[self.geometry.die_of(block) as usize];
        if list.block != block {
            list.block = block;
            list.entries.clear();
        }
        list.entries.push(if kind == Kind::TrimNote { at.0 | NOTE } else { at.0 });
    }
}

impl engine::Scheme for Scheme {
    type Config = Config;

    fn variants() -> Vec<Variant<Config>> {
        config::variants()
    }

    fn notices(config: &Config, geometry: &Geometry, _: u32) -> Result<Vec<String>, FtlError> {
        Ok(config.notices(geometry))
    }

    fn facts(config: &Config) -> Facts {
        let collects = config.firmware != Firmware::Tutorial;
        Facts { trims: Trims::noted(config.durable_trim), collects, ..Facts::default() }
    }

    fn max_logical_pages(config: &Config, geometry: &Geometry, _: &Rules) -> Result<u32, FtlError> {
        config.max_logical_pages(geometry)
    }

    fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Config) -> Result<(Pages, Self), FtlError> {
        mount::mount(nand, logical_pages, config)
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
        if sectors == full {
            return self.store_page(pages, nand, at, page);
        }
        if self.map.at(at).is_some() {
            return self.store_part(pages, nand, at, sectors, page);
        }
        self.store_page(pages, nand, at, &padded(page, sectors, full))
    }

    #[inline]
    fn read<N: Nand>(
        &mut self,
        _: &mut Pages,
        nand: &mut N,
        at: Lpn,
        sectors: SectorMask,
        page: &mut N::Buf,
    ) -> Result<(), FtlError> {
        read_mapped(nand, self.map.at(at), sectors, page)
    }

    fn trim<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, at: Lpn) -> Result<(), FtlError> {
        self.unmap(pages, nand, at)
    }

    fn flush<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N) -> Result<(), FtlError> {
        self.write_notes(pages, nand, Target::InTurn)
    }

    fn most_pending(&self, reserve_blocks: u32, data_pages: u32) -> u32 {
        self.map.most_pending(reserve_blocks, data_pages)
    }

    fn full(&self, die: usize) -> Option<FtlError> {
        (self.config.firmware == Firmware::Tutorial).then(|| {
            FtlError::Full(format!(
                "bank {die} has no erased page left: ftl.superpage.firmware = \"tutorial\" programs each of the {} pages of \
                 the device once and erases nothing; \"greedy\" collects garbage",
                self.geometry.pages()
            ))
        })
    }

    /// Programs the block's list.
    fn end_block<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, block: BlockId) -> Result<bool, FtlError> {
        let list = &self.lists[self.geometry.die_of(block) as usize];
        let is_whole = list.block == block && list.entries.len() == pages.data_pages as usize;
        if self.config.list_pages() == 0 || !is_whole {
            return Ok(true);
        }
        let tail: Vec<u8> = list.entries.iter().flat_map(|entry| entry.to_le_bytes()).collect();
        let oob = Oob { kind: Kind::List, ..Oob::data(Lpn(block.0), pages.keeper.next_seq(), Origin::FTL) };
        let blank = N::Buf::zeroed(self.geometry.page_bytes());
        let at = self.geometry.page(block, pages.data_pages);
        match scoped(nand, Cause::Map, |nand| nand.program(at, &blank, &tail, oob)) {
            Ok(_) => self.listed[block.index()] = true,
            Err(NandError::ProgramFailed(_)) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }

    /// Reads the victim's list, or all its spare areas if it has none.
    fn chosen<N: Nand>(&mut self, pages: &Pages, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        if std::mem::take(&mut self.listed[block.index()]) {
            if let Some(list) = self.listed_in(nand, block)? {
                let first = self.geometry.page(block, 0).0;
                let alive = (first..).map(Ppa).zip(list).filter(|&(page, entry)| self.lives(page, entry)).count();
                assert_eq!(alive as u32, pages.table.valid_pages(block), "valid pages of block {block} by its list");
                return Ok(());
            }
        }
        pages.read_spares(nand, block)
    }

    #[inline]
    fn follow(&mut self, _: &BlockTable, (kind, at): (Kind, Lpn), (from, to): (Ppa, Ppa)) -> bool {
        self.placed(kind, at, to);
        self.map.follow(kind, at, (from, to))
    }

    fn holds_lost<N: Nand>(&mut self, _: &mut Pages, _: &mut N, from: Ppa) -> Result<Holds, FtlError> {
        Ok(self.map.search(from))
    }

    fn renew_note<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, segment: u32, die: u32) -> Result<(), FtlError> {
        self.write_note(pages, nand, Target::Moved(die), segment)
    }

    fn emptied<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, die: u32) -> Result<(), FtlError> {
        self.write_notes(pages, nand, Target::Moved(die))
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
        ram.dram.insert("map", self.map.bytes());
        ram.dram.insert("valid_counts", 2 * u64::from(self.geometry.blocks()));
        if self.config.list_pages() > 0 {
            let entries = u64::from(self.config.data_pages(&self.geometry));
            ram.sram.insert("lists", 4 * entries * self.lists.len() as u64);
        }
        ram.sram.insert("trim_notes", self.map.note_bytes());
        ram
    }

    fn valid_in(&self, block: BlockId) -> Option<u32> {
        self.apart[block.index()].then_some(0)
    }

    fn check<N: Nand>(&self, pages: &Pages, nand: &mut N) {
        check::check(self, pages, nand);
    }
}
