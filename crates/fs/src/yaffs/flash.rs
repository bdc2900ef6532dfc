//! Pages: allocation, programming and release. Blocks: opening, erasing and retiring.

use super::blocks::{Block, State};
use super::objects::Owner;
use super::{header, Yaffs};
use crate::parts::chunks::Chunked;
use crate::parts::driver::Driver;
use crate::parts::tags::Tags;
use crate::parts::wait;
use crate::FsError;
use nandlab_nand::{scoped, BlockId, Cause, Kind, Nand, NandError, Oob, Origin, Ppa};

/// A page to be programmed.
pub(super) struct Page<'a, B> {
    pub(super) tags: Tags,
    pub(super) kind: Kind,
    pub(super) contents: &'a B,
    pub(super) tail: &'a [u8],
}

impl<N: Nand> Yaffs<N> {
    /// Origin for this page kind.
    pub(super) fn origin(kind: Kind) -> Origin {
        if kind == Kind::Header {
            Origin::OBJECT_HEADER
        } else {
            Origin::FILE_DATA
        }
    }

    /// Programs the next page, or the one after it if that fails, and takes it into use.
    pub(super) fn program(&mut self, page: &Page<'_, N::Buf>) -> Result<Ppa, FsError> {
        loop {
            let to = self.allocate()?;
            let oob = self.stamped(page.tags, page.kind, to);
            self.nand.ctx().set_origin(oob.origin);
            let done = self.nand.program(to, page.contents, page.tail, oob);
            if self.programmed(to, done.map(drop))? {
                self.adopt(to, page.tags, page.kind);
                return Ok(to);
            }
        }
    }

    /// Copies a page to the next one and takes the copy into use; `None` if the page is unreadable.
    pub(super) fn copy(&mut self, from: Ppa, tags: Tags, kind: Kind) -> Result<Option<Ppa>, FsError> {
        loop {
            let to = self.allocate()?;
            let oob = self.stamped(tags, kind, to);
            match self.nand.copy(from, to, oob) {
                Err(NandError::Uncorrectable(page)) if page == from => {
                    self.give_back(to);
                    return Ok(None);
                }
                done => {
                    if self.programmed(to, done.map(drop))? {
                        self.adopt(to, tags, kind);
                        return Ok(Some(to));
                    }
                }
            }
        }
    }

    /// Metadata for a page at `to`.
    fn stamped(&self, tags: Tags, kind: Kind, to: Ppa) -> Oob {
        let sequence = self.blocks.get(self.geometry.block_of(to)).sequence;
        Tags { sequence, ..tags }.to_oob(self.small, kind, Self::origin(kind))
    }

    /// Whether a program succeeded; a failure closes its block.
    fn programmed(&mut self, to: Ppa, done: Result<(), NandError>) -> Result<bool, FsError> {
        wait(&mut self.nand);
        match done {
            Ok(()) => Ok(true),
            Err(NandError::ProgramFailed(_)) => {
                let block = self.geometry.block_of(to);
                self.close_open();
                self.blocks.change(block, |entry| entry.failing = true);
                self.failing.push(block);
                Ok(false)
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    fn adopt(&mut self, to: Ppa, tags: Tags, kind: Kind) {
        self.blocks.take(to);
        let lost = kind == Kind::Lost;
        let Tags { object, chunk, serial, bytes, .. } = tags;
        self.owners[to.index()] = Owner { object, chunk, serial, bytes, lost };
        if tags.shrinks {
            self.blocks.change(self.geometry.block_of(to), |block| block.shrinks = true);
        }
        if let Some((block, next)) = self.blocks.open {
            if next == self.geometry.pages_per_block() {
                self.blocks.set_state(block, State::Full);
                self.blocks.open = None;
            }
        }
    }

    /// Closes the open block.
    fn close_open(&mut self) {
        if let Some((block, _)) = self.blocks.open.take() {
            self.blocks.set_state(block, State::Full);
        }
    }

    /// The next page.
    fn allocate(&mut self) -> Result<Ppa, FsError> {
        self.void_checkpoint()?;
        while self.blocks.open.is_none() {
            self.open_block()?;
        }
        let (block, page) = self.blocks.open.expect("a block was just opened");
        self.blocks.open = Some((block, page + 1));
        Ok(self.geometry.page(block, page))
    }

    /// Gives back the last allocated page, which was not programmed.
    fn give_back(&mut self, to: Ppa) {
        self.blocks.open = Some((self.geometry.block_of(to), self.geometry.page_in_block(to)));
    }

    /// Opens the next empty block; if its erase fails, no block is open.
    fn open_block(&mut self) -> Result<(), FsError> {
        if let Some(block) = self.take_empty(State::Open)? {
            self.blocks.open = Some((block, 0));
        }
        Ok(())
    }

    /// Takes an empty block into that state, erased and with the next sequence number; `None` if its erase
    /// failed.
    pub(super) fn take_empty(&mut self, state: State) -> Result<Option<BlockId>, FsError> {
        let Some(block) = self.blocks.next_empty() else {
            return Err(FsError::Full { what: "no block is left that could be erased".into() });
        };
        if self.blocks.get(block).state == (State::Empty { erased: false }) && !self.erase(block)? {
            return Ok(None);
        }
        let sequence = self.sequence;
        self.sequence += 1;
        self.blocks.change(block, |entry| *entry = Block { state, sequence, ..Block::EMPTY });
        Ok(Some(block))
    }

    /// Erases a block without used pages. After a failed program or erase, it retires the block and returns
    /// false.
    pub(super) fn erase(&mut self, block: BlockId) -> Result<bool, FsError> {
        debug_assert_eq!(self.blocks.get(block).in_use, 0, "block {block} holds pages in use");
        self.gradual.forget(block);
        let was_failing = self.blocks.get(block).failing;
        if !was_failing {
            match self.nand.erase(block) {
                Ok(_) => {
                    wait(&mut self.nand);
                    self.blocks.change(block, |entry| *entry = Block::EMPTY);
                    return Ok(true);
                }
                Err(NandError::EraseFailed(_)) => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        let retired = scoped(&mut self.nand, Cause::BadBlock, |nand| nand.retire(block));
        retired.map_err(|error| self.failed(error))?;
        wait(&mut self.nand);
        self.blocks.change(block, |entry| *entry = Block { state: State::Bad, ..Block::EMPTY });
        self.failing.retain(|&failing| failing != block);
        self.retired += 1;
        Ok(false)
    }

    /// Gives up a used page. A 512 B page also gets a deletion mark if `mark` is set.
    pub(super) fn give_up(&mut self, at: Ppa, mark: bool) -> Result<(), FsError> {
        self.void_checkpoint()?;
        if self.small && mark {
            self.mark_deleted(at)?;
        }
        self.blocks.release(at, false);
        self.owners[at.index()] = Owner::NONE;
        self.erase_if_empty(self.geometry.block_of(at))
    }

    /// Programs a deletion mark; a failure makes the page unreadable, which has the same effect.
    pub(super) fn mark_deleted(&mut self, at: Ppa) -> Result<(), FsError> {
        let owner = self.owners[at.index()];
        let tags = Tags { serial: owner.serial, ..Tags::new(owner.object, owner.chunk, 0) };
        self.mark(at, tags, Self::origin(owner.kind()))
    }

    /// Programs a deletion mark over these tags.
    pub(super) fn mark(&mut self, at: Ppa, tags: Tags, origin: Origin) -> Result<(), FsError> {
        let oob = tags.to_oob(self.small, Kind::Deleted, origin);
        match self.nand.program_spare(at, oob) {
            Ok(_) | Err(NandError::ProgramFailed(_)) => {
                wait(&mut self.nand);
                Ok(())
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Erases a full block without used pages, unless its contents are still needed.
    fn erase_if_empty(&mut self, block: BlockId) -> Result<(), FsError> {
        let entry = self.blocks.get(block);
        let is_needed = entry.shrinks && !self.gradual.is_emptying(block);
        if entry.state != State::Full || entry.in_use > 0 || is_needed || !self.may_erase() {
            return Ok(());
        }
        self.collector.counts.emptied += u64::from(self.erase(block)?);
        Ok(())
    }

    /// Whether another used block would remain after an erase. A device in use must not look blank: a mount
    /// would mistake a block with a cut erase for one never used.
    pub(super) fn may_erase(&self) -> bool {
        let holds = |block: &Block| !matches!(block.state, State::Empty { .. } | State::Bad);
        self.blocks.iter().filter(|(_, block)| holds(block)).nth(1).is_some()
    }

    /// Writes a header after only the file's contents changed.
    pub(super) fn write_header(&mut self, number: u32) -> Result<(), FsError> {
        self.ask_collector()?;
        self.put_header(number, 0, false)
    }

    /// Replaces an object's header.
    ///
    /// The caller runs the collector before it changes the object. The collector writes tags from the object
    /// in memory, so after a cut before the new header, flash would hold tags of a change that never
    /// happened.
    pub(super) fn put_header(&mut self, number: u32, shadows: u32, shrinks: bool) -> Result<(), FsError> {
        let before = self.objects.get(number).header;
        self.nand.ctx().set_origin(Origin::OBJECT_HEADER);
        if before.is_some() {
            // YAFFS reads the whole page.
            let mut page = self.blank();
            match self.nand.read_with_tail(before, &mut page, &mut [0; header::BYTES]) {
                // The header's contents are already in memory.
                Ok(_) | Err(NandError::Uncorrectable(_)) => {}
                Err(error) => return Err(self.failed(error)),
            }
        } else if self.blocks.free_pages() <= self.reserve() {
            return Err(FsError::Full { what: "there is no room for another name".into() });
        }
        let at = self.program_header(number, shadows, shrinks)?;
        let object = self.objects.get_mut(number);
        object.header = at;
        object.stored_size = object.size;
        object.dirty = false;
        if before.is_some() {
            self.give_up(before, true)?;
        }
        Ok(())
    }

    /// Programs a header with the object's current state.
    pub(super) fn program_header(&mut self, number: u32, shadows: u32, shrinks: bool) -> Result<Ppa, FsError> {
        self.time += 1;
        let time = self.time;
        let object = self.objects.get_mut(number);
        object.time = time;
        let tail = object.header(shadows).to_bytes();
        let serial = match object.header {
            before if before.is_some() => self.owners[before.index()].serial.wrapping_add(1) & 3,
            _ => 1,
        };
        let tags = Tags { serial, shrinks: shrinks && !self.small, ..Tags::new(number, 0, 0) };
        let contents = self.blank();
        self.program(&Page { tags, kind: Kind::Header, contents: &contents, tail: &tail })
    }
}
