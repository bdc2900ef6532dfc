//! Block map: a map entry for every logical block.
//!
//! ## Idea
//! A page lies at its own place in the data block of its logical block, so one map entry stands for a whole
//! block. A page that is written again goes, at the same place, to a replacement block; when that one takes
//! it no more, the logical block is merged into one block.
//!
//! ## Write path
//! A write goes in place to the newest block of its logical block: the replacement block if there is one, else
//! the data block. Where its page is programmed there, or passed over on a chip that programs in ascending
//! order, a data block gets a replacement block. A replacement block ends in one of three merges: it holds
//! every valid page and becomes the data block (switch); it takes the valid pages of the data block and
//! becomes the data block (partial); or both are gathered, with the page that is being written, into a new
//! block (full). Old blocks are erased, the older one first.
//! Where replacement blocks or free blocks run out, the logical block whose merge copies the fewest pages is
//! merged. A chip without gaps is served by filling them: with the valid pages of the data block, which a merge
//! would copy later, or with padding pages where there are none.
//! A page that the host writes in part is read first, merged and written whole. A logical block without valid
//! pages gives its blocks back without a copy. A logical block stays on its die where it can; new ones take
//! the dies in turn.
//!
//! ## Recovery
//! Mount reads every spare area. The blocks of a logical block were filled one after the other, so sequence
//! numbers order them, and of several copies of a page that in the newest block wins. Three blocks with newest
//! pages are what a full merge leaves that was cut: its target is dropped, the other two hold everything that
//! was acknowledged. Where its last page carries the merged mark the merge was complete, and the other two, which
//! may be erased in part, are dropped: they hold only pages that were trimmed and not flushed.
//! Blocks whose pages are all superseded are erased before the mount ends. The page
//! programmed last in a block may be torn, so it is read in full, and so is the one programmed before a page
//! with the resumed mark. A block without gaps is filled further; one with gaps may be left from a torn erase
//! and takes no more pages. A free block is erased again before its first page, those that hold nothing
//! first; and the last block in use is kept when it is trimmed: so flash that was written never looks blank.
//! Trims are kept by note pages in blocks of their own, written at a flush: a bitmap of the unmapped pages of
//! one segment of the address space, which hides every copy older than itself.
//!
//! ## Invariants
//! A logical block has at most one data and one replacement block, all pages of the second newer than all of
//! the first; the newest copy of each page is valid and no other; no other block holds a page of the host that
//! can be read; an unmapped page is unmapped by a note, or by the next flush. `reserve_blocks` stay free when
//! a block is opened for the host, so a merge always finds its target.
//!
//! ## Differences
//! Ban chains any number of replacement units; here there is one. The logical block that is merged when room
//! runs out is the cheapest one: our reading of the greedy collection of Kim, Choi and Kwak, who say of their FTL
//! only that it maps blocks and collects greedily. Flash of Ban's time programs pages in any order; gaps,
//! padding and early copies are ours. A bit for each page says whether it is valid, and counts as memory, where
//! a small controller reads spare areas.
//!
//! ## References
//! A. Ban: Flash File System. US Patent 5,404,485, 1995. A. Ban: Flash File System Optimized for Page-Mode Flash
//! Technologies. US Patent 5,937,425, 1999 (replacement units).
//! K. M. Kim, J.-H. Choi, J. W. Kwak: WAP-LRU: Write Pattern Analysis Based Hybrid Disk Buffer Management in
//! Flash Storage Systems. 2018.

mod check;
mod merge;
mod mount;
mod notes;
#[cfg(test)]
mod tests;

use crate::parts::store::fill::Fill;
use crate::parts::store::free_blocks::FreeBlocks;
use crate::parts::store::page_bits::PageBits;
use crate::{error, Events, Ftl, FtlError, RamUse, Trims, Variant};
use nandlab_nand::prefetch::prefetch;
use nandlab_nand::{
    scoped, BlockId, Cause, Geometry, Kind, Lpn, Nand, NandError, Oob, PageBuf, Ppa, Rules, SectorMask, Seq,
};
use notes::Notes;

/// Options of the block map.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Most replacement blocks in use at once; as many as the free blocks allow where that is less. With 0 a page
    /// that is written again costs a full merge. Default 8, a convention: the patent has no such limit.
    pub replacement_blocks: u32,
    /// Blocks of the device that stay free for merges; at least 1. With 1 a program failure or a torn page
    /// during a merge may leave no room; the default, 2, is safe.
    pub reserve_blocks: u32,
    /// Whether a flush makes trims survive a power cut, at the price of a note page for each segment of the
    /// address space that was trimmed, and of a block or more for the notes. Without it there are no
    /// notes, and a mount brings back what a trimmed page held last, as long as that is not erased. Default true.
    pub durable_trim: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { replacement_blocks: 8, reserve_blocks: 2, durable_trim: true }
    }
}

impl Config {
    /// Blocks that hold no logical block: the reserve, and room for one replacement block.
    fn spare_blocks(&self) -> u32 {
        self.reserve_blocks.saturating_add(self.replacement_blocks.min(1))
    }
}

/// The blocks of a logical block; [`BlockId::NONE`] where there is none.
#[derive(Clone, Copy, Debug)]
struct Entry {
    data: BlockId,
    replacement: BlockId,
}

impl Entry {
    const NONE: Self = Self { data: BlockId::NONE, replacement: BlockId::NONE };

    /// The block that was opened last.
    #[inline]
    fn newest(&self) -> BlockId {
        if self.replacement.is_some() {
            self.replacement
        } else {
            self.data
        }
    }

    /// The blocks there are, the older one first.
    fn blocks(&self) -> impl Iterator<Item = BlockId> {
        [self.data, self.replacement].into_iter().filter(|block| block.is_some())
    }
}

/// The RAM state of the block map.
#[derive(Debug)]
pub struct BlockMap {
    /// By logical block.
    map: Vec<Entry>,
    /// By physical block: the pages that hold the newest copy of a mapped page.
    valid: PageBits,
    fill: Fill,
    free: FreeBlocks,
    /// Logical blocks that have a replacement block.
    replaced: Vec<u32>,
    notes: Notes,
    seq: u64,
    config: Config,
    logical_pages: u32,
    geometry: Geometry,
    full: SectorMask,
    /// Whether the chip programs without gaps.
    dense: bool,
    events: Events,
}

impl BlockMap {
    /// The logical block of a page and its place there.
    #[inline]
    fn split(&self, at: Lpn) -> (usize, u32) {
        // Logical pages are numbered block by block, as physical ones are.
        let page = Ppa(at.0);
        (self.geometry.block_of(page).index(), self.geometry.page_in_block(page))
    }

    /// The logical page at `place` of a logical block.
    #[inline]
    fn logical_page(&self, logical_block: usize, place: u32) -> Lpn {
        Lpn(self.geometry.page(BlockId(logical_block as u32), place).0)
    }

    /// The block that holds the newest copy of a page; [`BlockId::NONE`] where the page is unmapped.
    #[inline]
    fn holder(&self, logical_block: usize, place: u32) -> BlockId {
        let Entry { data, replacement } = self.map[logical_block];
        if replacement.is_some() && self.valid.has(replacement, place) {
            return replacement;
        }
        if data.is_some() && self.valid.has(data, place) {
            return data;
        }
        BlockId::NONE
    }

    #[inline]
    fn next_seq(&mut self) -> Seq {
        let seq = self.seq;
        self.seq += 1;
        Seq(seq)
    }

    /// Writes a page of the host.
    #[inline]
    fn store<N: Nand>(&mut self, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<(), FtlError> {
        let (logical_block, place) = self.split(at);
        let newest = self.map[logical_block].newest();
        if newest.is_some() && self.fill.takes(newest, place) {
            return self.put(nand, logical_block, place, page);
        }
        self.make_room(nand, logical_block, place, page)
    }

    /// Programs a page of the host into the newest block of its logical block, which takes it.
    #[inline]
    fn put<N: Nand>(&mut self, nand: &mut N, logical_block: usize, place: u32, page: &N::Buf) -> Result<(), FtlError> {
        let Entry { data, replacement } = self.map[logical_block];
        let block = self.map[logical_block].newest();
        if self.dense && !self.fill_gap(nand, logical_block, place)? {
            return self.leave_failed(nand, logical_block, place, page);
        }
        let at = self.logical_page(logical_block, place);
        if !self.program(nand, at, block, place, page)? {
            return self.leave_failed(nand, logical_block, place, page);
        }
        self.valid.insert(block, place);
        if replacement.is_some() {
            self.valid.remove(data, place);
        }
        Ok(())
    }

    /// Writes a page of the host that no block of its logical block takes as things are.
    fn make_room<N: Nand>(
        &mut self,
        nand: &mut N,
        logical_block: usize,
        place: u32,
        page: &N::Buf,
    ) -> Result<(), FtlError> {
        loop {
            let entry = self.map[logical_block];
            let newest = entry.newest();
            if newest.is_some() && self.fill.takes(newest, place) {
                return self.put(nand, logical_block, place, page);
            }
            if entry.replacement.is_some() {
                if self.merge(nand, logical_block, Some((place, page)))? {
                    return Ok(());
                }
            } else if !entry.data.is_some() {
                self.map[logical_block].data = self.open(nand, BlockId::NONE, false)?;
            } else if self.config.replacement_blocks == 0 {
                return self.gather(nand, logical_block, Some((place, page)));
            } else {
                let replacement = self.open(nand, entry.data, true)?;
                self.map[logical_block].replacement = replacement;
                self.replaced.push(logical_block as u32);
            }
        }
    }

    /// Reads the rest of a page that the host writes in part, merges and writes it.
    fn store_part<N: Nand>(
        &mut self,
        nand: &mut N,
        at: Lpn,
        from: Ppa,
        sectors: SectorMask,
        page: &N::Buf,
    ) -> Result<(), FtlError> {
        let mut whole = N::Buf::zeroed(self.geometry.page_bytes());
        let read = scoped(nand, Cause::ReadModifyWrite, |nand| nand.read(from, &mut whole))?;
        refuse_lost(from, read)?;
        whole.merge(page, sectors);
        let end = nand.ctx().last();
        let before = nand.ctx().after(end);
        let stored = self.store(nand, at, &whole);
        nand.ctx().set_ready(before);
        stored
    }

    /// Where the newest copy of a page is.
    #[inline]
    fn lookup(&self, at: Lpn) -> Option<Ppa> {
        let (logical_block, place) = self.split(at);
        let block = self.holder(logical_block, place);
        block.is_some().then(|| self.geometry.page(block, place))
    }

    /// Gives back the blocks of a logical block without valid pages.
    fn drop_logical_block<N: Nand>(&mut self, nand: &mut N, logical_block: usize) -> Result<(), FtlError> {
        let Entry { data, replacement } = self.map[logical_block];
        if replacement.is_some() {
            self.map[logical_block] = Entry { data: replacement, replacement: BlockId::NONE };
            self.replaced.retain(|&other| other as usize != logical_block);
            self.release(nand, data)?;
        }
        // Flash that was written must not look blank after a cut of the last erase.
        if self.free.in_use() > 1 {
            let last = std::mem::replace(&mut self.map[logical_block], Entry::NONE);
            self.release(nand, last.data)?;
        }
        Ok(())
    }

    /// Blocks that stay free when one is opened for the host.
    fn kept_free(&self) -> u32 {
        self.config.reserve_blocks + self.notes.unclaimed()
    }

    fn needed_blocks(&self) -> u32 {
        self.map.len() as u32 + self.config.spare_blocks() + self.notes.most_blocks()
    }

    /// Fails where bad blocks leave too little for what is exported.
    fn refuse_worn_out(&self) -> Result<(), FtlError> {
        let (good, needed) = (self.free.good(), self.needed_blocks());
        if good < needed {
            return Err(FtlError::WornOut { good, needed });
        }
        Ok(())
    }
}

/// A page that stands for lost data reads as an error, never as other bytes.
#[inline]
fn refuse_lost(at: Ppa, oob: Oob) -> Result<(), FtlError> {
    if oob.kind == Kind::Lost {
        return Err(NandError::Uncorrectable(at).into());
    }
    Ok(())
}

/// Pages for data and notes, blocks of notes, and the blocks that a device needs at least.
fn sizes(geometry: &Geometry, config: &Config) -> (u32, u32, u32) {
    let spare = config.spare_blocks();
    let pages = geometry.blocks().saturating_sub(spare) * geometry.pages_per_block();
    let notes = if config.durable_trim { notes::most_blocks(geometry, pages) } else { 0 };
    (pages, notes, spare.saturating_add(notes).saturating_add(1))
}

impl Ftl for BlockMap {
    type Config = Config;

    fn variants() -> Vec<Variant<Config>> {
        let usual = Config::default;
        vec![
            Variant::safe("replacement_0", Config { replacement_blocks: 0, ..usual() }),
            Variant::safe("replacement_1", Config { replacement_blocks: 1, ..usual() }),
            Variant::tight("reserve_1", Config { reserve_blocks: 1, ..usual() }),
            Variant::tight("least", Config { replacement_blocks: 0, reserve_blocks: 1, ..usual() }),
            Variant::safe("forget_trims", Config { durable_trim: false, ..usual() }),
        ]
    }

    fn trims(config: &Config) -> Trims {
        if config.durable_trim {
            Trims::Durable
        } else {
            Trims::Undone
        }
    }

    fn max_logical_pages(geometry: &Geometry, _rules: &Rules, config: &Config) -> Result<u32, FtlError> {
        let (reserve, blocks) = (config.reserve_blocks, geometry.blocks());
        if reserve == 0 {
            return Err(FtlError::Config(
                "ftl.block.reserve_blocks = 0 would deadlock: a merge needs at least 1 free block".into(),
            ));
        }
        let (pages, notes, needed) = sizes(geometry, config);
        if blocks < needed {
            let fits =
                |&reserve_blocks: &u32| sizes(geometry, &Config { reserve_blocks, ..config.clone() }).2 <= blocks;
            let most = (1..reserve.min(blocks)).rev().find(fits).unwrap_or(0);
            return Err(FtlError::Config(format!(
                "ftl.block.reserve_blocks = {reserve} would deadlock: this device has {}, and the \
                 reserve, one block of data, its replacement and the notes of trims need {needed}{}",
                error::blocks(blocks),
                error::at_most("ftl.block.reserve_blocks", most),
            )));
        }
        Ok(pages - notes * geometry.pages_per_block())
    }

    fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Config) -> Result<Self, FtlError> {
        mount::mount(nand, logical_pages, config)
    }

    #[inline]
    fn write<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &N::Buf) -> Result<(), FtlError> {
        if sectors == self.full {
            return self.store(nand, at, page);
        }
        if let Some(from) = self.lookup(at) {
            return self.store_part(nand, at, from, sectors, page);
        }
        let mut padded = page.clone();
        padded.clear(SectorMask(self.full.0 & !sectors.0));
        self.store(nand, at, &padded)
    }

    #[inline]
    fn read<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &mut N::Buf) -> Result<(), FtlError> {
        match self.lookup(at) {
            None => {
                page.clear(sectors);
                Ok(())
            }
            Some(from) => refuse_lost(from, nand.read(from, page)?),
        }
    }

    fn trim<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask) -> Result<(), FtlError> {
        let (logical_block, place) = self.split(at);
        let block = self.holder(logical_block, place);
        if sectors != self.full || !block.is_some() {
            return Ok(());
        }
        self.valid.remove(block, place);
        self.notes.trimmed(at);
        if self.map[logical_block].blocks().any(|block| !self.valid.is_empty(block)) {
            return Ok(());
        }
        scoped(nand, Cause::Trim, |nand| self.drop_logical_block(nand, logical_block))
    }

    fn flush<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        self.write_notes(nand)?;
        nand.ctx().fence();
        let end = nand.ctx().horizon();
        nand.ctx().wait_until(end);
        Ok(())
    }

    #[inline]
    fn prefetch(&self, at: Lpn) {
        prefetch(&self.map, self.split(at).0);
    }

    fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    fn ram(&self) -> RamUse {
        let mut ram = RamUse::default();
        let (fill, programmed) = self.fill.bytes();
        ram.sram.insert("map", 8 * self.map.len() as u64);
        ram.sram.insert("replaced", 4 * u64::from(self.config.replacement_blocks.min(self.map.len() as u32)));
        ram.sram.insert("fill", fill);
        ram.sram.insert("valid_bits", self.valid.bytes());
        if let Some(programmed) = programmed {
            ram.sram.insert("programmed_bits", programmed);
        }
        ram.sram.insert("trim_notes", self.notes.bytes());
        ram
    }

    fn events(&self) -> Events {
        self.events
    }

    fn check<N: Nand>(&self, nand: &mut N) {
        scoped(nand, Cause::Mount, |nand| check::check(self, nand));
    }
}
