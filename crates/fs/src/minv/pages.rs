//! Pages: allocation, programming, mapping and release. Blocks: opening, erasing, retiring and collecting.

use super::layout::{ALLOCATION, ERASING, LINK, ORDER, SUMS, USABLE};
use super::memory::Change;
use super::Minv;
use crate::flash::BlockUse;
use crate::parts::chunks::Chunked;
use crate::parts::collector::{Collect, Collector};
use crate::parts::driver::Driver;
use crate::parts::tags::Tags;
use crate::parts::wait;
use crate::FsError;
use nandlab_nand::nvm::Nvm;
use nandlab_nand::{scoped, BlockId, Cause, Kind, Nand, NandError, Origin, Ppa};

/// Block state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Empty = 0,
    Open = 1,
    Full = 2,
    Bad = 3,
}

/// A block's first word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Block {
    pub(super) state: State,
    /// True after a failed program: the block is retired once it is empty.
    pub(super) failing: bool,
    pub(super) erases: u32,
}

impl Block {
    pub(super) fn to_word(self) -> u64 {
        self.state as u64 | u64::from(self.failing) << 8 | u64::from(self.erases) << 32
    }

    pub(super) fn from_word(word: u64) -> Self {
        let state = [State::Empty, State::Open, State::Full, State::Bad][word as usize & 3];
        Self { state, failing: word >> 8 & 1 == 1, erases: (word >> 32) as u32 }
    }
}

/// A used page's contents, if known from a write or read since the mount.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Owner {
    pub(super) object: u32,
    pub(super) chunk: u32,
    /// Byte count in the tags. Bytes behind it in the page do not belong to the file, and a copy must not
    /// claim them.
    pub(super) bytes: u32,
    pub(super) kind: Kind,
}

/// NVRAM words also kept in registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Registers {
    pub(super) open: Option<(BlockId, u32)>,
    pub(super) sequence: u32,
    pub(super) cursor: u32,
    pub(super) empty: u32,
    pub(super) in_use: u32,
    pub(super) usable: u32,
}

impl Registers {
    pub(super) fn allocation(&self) -> u64 {
        let (block, next) = self.open.unwrap_or((BlockId::NONE, 0));
        u64::from(block.0) | u64::from(next) << 32
    }

    pub(super) fn put(&self, change: &mut Change) {
        change.put(ALLOCATION, self.allocation());
        change.put(ORDER, u64::from(self.sequence) | u64::from(self.cursor) << 32);
        self.put_sums(change);
        change.put(USABLE, self.usable.into());
    }

    pub(super) fn put_sums(&self, change: &mut Change) {
        change.put(SUMS, u64::from(self.empty) | u64::from(self.in_use) << 32);
    }
}

impl<N: Nand, V: Nvm> Minv<N, V> {
    pub(super) fn block(&mut self, block: BlockId) -> Result<Block, FsError> {
        let at = self.layout().block(block.0);
        Ok(Block::from_word(self.now(at)?))
    }

    fn bit(&self, at: Ppa) -> (u64, u32) {
        let (block, page) = (self.geometry.block_of(at), self.geometry.page_in_block(at));
        (self.layout().block(block.0) + 8 + u64::from(page / 64) * 8, page % 64)
    }

    /// Whether a page is in use.
    pub(super) fn is_used(&mut self, at: Ppa) -> Result<bool, FsError> {
        let (word, bit) = self.bit(at);
        Ok(self.now(word)? >> bit & 1 == 1)
    }

    fn put_bit(&mut self, change: &mut Change, at: Ppa, used: bool) -> Result<(), FsError> {
        let (word, bit) = self.bit(at);
        let before = self.word(change, word)?;
        change.put(word, before & !(1 << bit) | u64::from(used) << bit);
        Ok(())
    }

    /// Each block's use.
    pub(super) fn uses(&self) -> Vec<BlockUse> {
        let mut bytes = vec![0; 8 + self.layout().bitmap_words as usize * 8];
        let blocks = (0..self.geometry.blocks()).map(|block| {
            self.nvm.peek(self.layout().block(block), &mut bytes);
            let (word, bits) = bytes.split_first_chunk().expect("the word of the block comes first");
            let live = bits.iter().map(|byte| byte.count_ones()).sum();
            BlockUse { live, empty: Block::from_word(u64::from_le_bytes(*word)).state == State::Empty }
        });
        blocks.collect()
    }

    /// A block's used pages.
    pub(super) fn live(&mut self, block: BlockId) -> Result<u32, FsError> {
        let at = self.layout().block(block.0);
        let mut bits = vec![0; self.layout().bitmap_words as usize * 8];
        self.nvm.read(at + 8, &mut bits).map_err(crate::parts::dark)?;
        Ok(bits.iter().map(|byte| byte.count_ones()).sum())
    }

    /// Programs a chunk to the next page, without mapping it.
    pub(super) fn program(&mut self, owner: Owner, page: &N::Buf) -> Result<Ppa, FsError> {
        loop {
            let to = self.allocate()?;
            let oob = self.tags(owner).to_oob(false, owner.kind, Origin::FILE_DATA);
            let done = self.nand.program(to, page, &[], oob);
            if self.programmed(to, done.map(drop))? {
                self.owners[to.index()] = Some(owner);
                return Ok(to);
            }
        }
    }

    fn tags(&self, owner: Owner) -> Tags {
        Tags { sequence: self.registers.sequence, ..Tags::new(owner.object, owner.chunk, owner.bytes) }
    }

    fn programmed(&mut self, to: Ppa, done: Result<(), NandError>) -> Result<bool, FsError> {
        wait(&mut self.nand);
        match done {
            Ok(()) => Ok(true),
            Err(NandError::ProgramFailed(_)) => {
                let block = self.geometry.block_of(to);
                self.failing.push(block);
                self.registers.usable -= 1;
                self.close_open(true)?;
                Ok(false)
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Closes the open block.
    pub(super) fn close_open(&mut self, failing: bool) -> Result<(), FsError> {
        let Some((block, _)) = self.registers.open.take() else { return Ok(()) };
        let entry = self.block(block)?;
        let mut change = Change::default();
        change.put(self.layout().block(block.0), Block { state: State::Full, failing, ..entry }.to_word());
        self.registers.put(&mut change);
        self.commit(&change)
    }

    /// The next page; the register advances when the page is mapped.
    fn allocate(&mut self) -> Result<Ppa, FsError> {
        loop {
            match self.registers.open {
                Some((block, next)) if next < self.geometry.pages_per_block() => {
                    return Ok(self.geometry.page(block, next));
                }
                Some(_) => self.close_open(false)?,
                None => self.open_block()?,
            }
        }
    }

    fn open_block(&mut self) -> Result<(), FsError> {
        let blocks = self.geometry.blocks();
        for step in 1..=blocks {
            let block = BlockId((self.registers.cursor + step) % blocks);
            let entry = self.block(block)?;
            if entry.state == State::Empty {
                self.registers.cursor = block.0;
                self.registers.sequence += 1;
                self.registers.empty -= 1;
                self.registers.open = Some((block, 0));
                let mut change = Change::default();
                change.put(self.layout().block(block.0), Block { state: State::Open, ..entry }.to_word());
                self.registers.put(&mut change);
                return self.commit(&change);
            }
        }
        Err(FsError::Full { what: "no block is left that could be erased".into() })
    }

    /// Erases a block without used pages. After a failed program or erase, the block is retired.
    pub(super) fn erase(&mut self, block: BlockId) -> Result<(), FsError> {
        self.store(ERASING, u64::from(block.0) + 1)?;
        let entry = self.block(block)?;
        let erased = if entry.failing { Err(NandError::EraseFailed(block)) } else { self.nand.erase(block).map(drop) };
        let mut change = Change::default();
        let mut registers = self.registers;
        let after = match erased {
            Ok(()) => {
                registers.empty += 1;
                Block { state: State::Empty, failing: false, erases: entry.erases + 1 }
            }
            Err(NandError::EraseFailed(_)) => {
                let retired = scoped(&mut self.nand, Cause::BadBlock, |nand| nand.retire(block));
                retired.map_err(|error| self.failed(error))?;
                registers.usable -= u32::from(!entry.failing);
                self.failing.retain(|&failing| failing != block);
                self.retired += 1;
                Block { state: State::Bad, ..entry }
            }
            Err(error) => return Err(self.failed(error)),
        };
        wait(&mut self.nand);
        for at in self.pages_of(block) {
            self.owners[at.index()] = None;
        }
        change.put(self.layout().block(block.0), after.to_word());
        change.put(ERASING, 0);
        registers.put(&mut change);
        self.registers = registers;
        self.commit(&change)
    }

    pub(super) fn pages_of(&self, block: BlockId) -> impl Iterator<Item = Ppa> {
        let first = self.geometry.page(block, 0).0;
        (first..first + self.geometry.pages_per_block()).map(Ppa)
    }

    /// Erases a full block after its last page was given up.
    pub(super) fn erase_if_empty(&mut self, block: BlockId) -> Result<(), FsError> {
        let entry = self.block(block)?;
        if entry.state == State::Full && self.collecting != Some(block) && self.live(block)? == 0 {
            self.erase(block)?;
            self.collector.counts.emptied += 1;
        }
        Ok(())
    }

    /// Points a map entry to a newly programmed page with one eight-byte store. Before and after this store,
    /// the NVRAM tells which of the two pages is in use.
    pub(super) fn relink(&mut self, entry: u64, to: Ppa) -> Result<(), FsError> {
        let before = Ppa(self.half(&Change::default(), entry)?.wrapping_sub(1));
        self.store(LINK + 8, u64::from(to.0) | u64::from(before.0) << 32)?;
        self.store(LINK, entry)?;
        let mut change = Change::default();
        self.put_half(&mut change, entry, to.0 + 1)?;
        self.commit(&change)?;
        self.advance();
        self.settle_link(to, before)?;
        let allocation = self.registers.allocation();
        self.store(ALLOCATION, allocation)?;
        self.store(LINK, 0)?;
        self.erase_if_empty(self.geometry.block_of(before))
    }

    /// Advances past the page at the allocation point.
    pub(super) fn advance(&mut self) {
        if let Some((_, next)) = &mut self.registers.open {
            *next += 1;
        }
    }

    /// Sets the bits for the used page and its predecessor.
    pub(super) fn settle_link(&mut self, used: Ppa, void: Ppa) -> Result<(), FsError> {
        for (at, is_used) in [(used, true), (void, false)] {
            let mut change = Change::default();
            self.put_bit(&mut change, at, is_used)?;
            self.commit(&change)?;
        }
        Ok(())
    }

    /// Takes a page into use as part of `change`.
    pub(super) fn put_taken(&mut self, change: &mut Change, to: Ppa, before: Ppa) -> Result<(), FsError> {
        self.put_bit(change, to, true)?;
        if before.is_some() {
            self.put_bit(change, before, false)?;
        } else {
            self.registers.in_use += 1;
        }
        self.advance();
        self.registers.put_sums(change);
        change.put(ALLOCATION, self.registers.allocation());
        Ok(())
    }

    /// Gives up a page as part of `change`.
    pub(super) fn put_void(&mut self, change: &mut Change, at: Ppa) -> Result<(), FsError> {
        self.put_bit(change, at, false)?;
        self.registers.in_use -= 1;
        self.registers.put_sums(change);
        Ok(())
    }

    /// A used page's contents; its tags are read if it was written before the mount.
    pub(super) fn owner(&mut self, at: Ppa) -> Result<Owner, FsError> {
        if let Some(owner) = self.owners[at.index()] {
            return Ok(owner);
        }
        let oob = self.nand.read_spare(at).map_err(|error| self.failed(error))?;
        let oob = oob.ok_or_else(|| FsError::Damaged(format!("page {at} is in use and erased")))?;
        let tags = Tags::from_oob(false, &oob);
        Ok(Owner { object: tags.object, chunk: tags.chunk, bytes: tags.bytes, kind: oob.kind })
    }

    /// Moves a used page to the allocation point.
    pub(super) fn move_page(&mut self, from: Ppa) -> Result<(), FsError> {
        let mut owner = self.owner(from)?;
        let entry = self.entry(owner.object, owner.chunk)?;
        let entry = entry.ok_or_else(|| FsError::Damaged(format!("page {from} is in use and no map has it")))?;
        owner.bytes = owner.bytes.min(self.bytes_in(owner.object, owner.chunk)?);
        let to = loop {
            let to = self.allocate()?;
            let oob = self.tags(owner).to_oob(false, owner.kind, Origin::FILE_DATA);
            match self.nand.copy(from, to, oob) {
                Err(NandError::Uncorrectable(page)) if page == from => {
                    owner.kind = Kind::Lost;
                    self.collector.counts.lost += 1;
                    let contents = self.blank();
                    break self.program(owner, &contents)?;
                }
                done => {
                    if self.programmed(to, done.map(drop))? {
                        break to;
                    }
                }
            }
        };
        self.owners[to.index()] = Some(owner);
        self.collector.counts.copied += 1;
        self.relink(entry, to)
    }

    fn empty_block(&mut self, block: BlockId) -> Result<(), FsError> {
        self.collecting = Some(block);
        for at in self.pages_of(block) {
            if self.is_used(at)? {
                self.move_page(at)?;
            }
        }
        self.collecting = None;
        self.erase(block)
    }
}

impl<N: Nand, V: Nvm> Collect for Minv<N, V> {
    type Error = FsError;

    fn collector(&mut self) -> &mut Collector {
        &mut self.collector
    }

    fn blocks(&self) -> u32 {
        self.geometry.blocks()
    }

    fn erased_blocks(&self) -> u32 {
        self.registers.empty
    }

    fn live_pages(&mut self, block: BlockId) -> Result<Option<u32>, FsError> {
        match self.block(block)?.state {
            State::Full => self.live(block).map(Some),
            _ => Ok(None),
        }
    }

    fn urgent(&mut self) -> Option<BlockId> {
        self.failing.first().copied()
    }

    fn collect(&mut self, block: BlockId) -> Result<(), FsError> {
        let cause = if self.block(block)?.failing { Cause::BadBlock } else { Cause::Gc };
        self.within(cause, |fs| fs.empty_block(block))
    }
}
