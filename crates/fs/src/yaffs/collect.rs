//! Garbage collection: the choice of blocks, and emptying a block.

use super::blocks::State;
use super::flash::Page;
use super::objects::Owner;
use super::Yaffs;
use crate::parts::chunks::Chunked;
use crate::parts::collector::{self, Collect, Collector};
use crate::parts::driver::Driver;
use crate::parts::tags::Tags;
use crate::FsError;
use nandlab_nand::{BlockId, Cause, Kind, Nand, NandError, Origin, Ppa};

impl<N: Nand> Collect for Yaffs<N> {
    type Error = FsError;

    fn collector(&mut self) -> &mut Collector {
        &mut self.collector
    }

    fn blocks(&self) -> u32 {
        self.blocks.len()
    }

    fn erased_blocks(&self) -> u32 {
        self.blocks.empty()
    }

    fn checkpoint_blocks(&self) -> u32 {
        self.checkpoint_reserve()
    }

    fn search(&mut self) {
        self.oldest_dirty = None;
    }

    fn live_pages(&mut self, block: BlockId) -> Result<Option<u32>, FsError> {
        let entry = *self.blocks.get(block);
        let may = entry.state == State::Full && self.may_lose(block) && (entry.in_use > 0 || self.may_erase());
        Ok(may.then(|| entry.live()))
    }

    fn urgent(&mut self) -> Option<BlockId> {
        self.oldest_dirty = None;
        let failing = self.failing.clone();
        failing.into_iter().find(|&block| self.may_lose(block) && self.may_erase())
    }

    fn collect(&mut self, block: BlockId) -> Result<(), FsError> {
        self.empty_block(block)
    }
}

impl<N: Nand> Yaffs<N> {
    /// Whether the block may be erased: no page cut by one of its headers can come back from an older block.
    fn may_lose(&mut self, block: BlockId) -> bool {
        let entry = *self.blocks.get(block);
        if self.small || !entry.shrinks {
            return true;
        }
        let blocks = &self.blocks;
        entry.sequence <= *self.oldest_dirty.get_or_insert_with(|| blocks.oldest_dirty())
    }

    /// Moves the live pages away and erases the block.
    pub(super) fn empty_block(&mut self, block: BlockId) -> Result<(), FsError> {
        self.void_checkpoint()?;
        let cause = if self.blocks.get(block).failing { Cause::BadBlock } else { Cause::Gc };
        let origin = self.nand.ctx().origin();
        let done = self.within(cause, |fs| fs.move_all(block));
        self.nand.ctx().set_origin(origin);
        done
    }

    fn move_all(&mut self, block: BlockId) -> Result<(), FsError> {
        self.blocks.set_state(block, State::Collecting);
        let mut done = Vec::new();
        for page in 0..self.geometry.pages_per_block() {
            let at = self.geometry.page(block, page);
            if !self.blocks.is_used(at) {
                continue;
            }
            let Owner { object: number, chunk, .. } = self.owners[at.index()];
            let object = self.objects.get_mut(number);
            if !object.deleted {
                self.move_page(at)?;
            } else if chunk > 0 {
                self.drop_removed(at, &mut done)?;
            } else if object.mapped == 0 {
                // The file's last pages were in this block and go with it.
                object.header = Ppa::NONE;
                self.blocks.release(at, false);
                self.owners[at.index()] = Owner::NONE;
            } else {
                self.move_page(at)?;
            }
        }
        self.erase(block)?;
        done.into_iter().try_for_each(|number| self.forget(number))
    }

    /// Drops a page of a removed file, found by its tags. If it was the file's last one, the file is done.
    pub(super) fn drop_removed(&mut self, at: Ppa, done: &mut Vec<u32>) -> Result<(), FsError> {
        let Owner { object: number, chunk, .. } = self.owners[at.index()];
        let object = self.objects.get_mut(number);
        object.map(chunk, Ppa::NONE);
        if object.mapped == 0 {
            done.push(number);
        }
        self.nand.ctx().set_origin(Origin::FILE_DATA);
        let mut page = self.blank();
        match self.nand.read(at, &mut page) {
            Ok(_) | Err(NandError::Uncorrectable(_)) => {}
            Err(error) => return Err(self.failed(error)),
        }
        self.blocks.release(at, true);
        self.owners[at.index()] = Owner::NONE;
        Ok(())
    }

    /// Forgets a removed object without remaining pages, and its header.
    pub(super) fn forget(&mut self, number: u32) -> Result<(), FsError> {
        let header = self.objects.get(number).header;
        self.objects.remove(number);
        if header.is_some() {
            self.give_up(header, true)?;
        }
        Ok(())
    }

    /// Moves a used page to the allocation point.
    pub(super) fn move_page(&mut self, from: Ppa) -> Result<(), FsError> {
        let owner = self.owners[from.index()];
        let (number, chunk, serial) = (owner.object, owner.chunk, owner.serial.wrapping_add(1) & 3);
        let to = if chunk == 0 {
            self.move_header(from, number, serial)?
        } else {
            let bytes = owner.bytes.min(self.bytes_in(number, chunk)?);
            let tags = Tags { serial, ..Tags::new(number, chunk, bytes) };
            match self.copy(from, tags, owner.kind())? {
                Some(to) => to,
                None => self.program_lost(tags)?,
            }
        };
        self.collector.counts.copied += 1;
        let object = self.objects.get_mut(number);
        if chunk == 0 {
            object.header = to;
        } else {
            object.map(chunk, to);
        }
        if self.small && self.config.mark_copied {
            self.mark_deleted(from)?;
        }
        self.blocks.release(from, false);
        self.owners[from.index()] = Owner::NONE;
        Ok(())
    }

    /// Moves a header. If its file length is current, the header is copied unchanged, but without the shrink
    /// flag: the pages it cut are gone by now.
    fn move_header(&mut self, from: Ppa, number: u32, serial: u8) -> Result<Ppa, FsError> {
        let object = self.objects.get(number);
        if object.stored_size == object.size {
            let keeps = object.deleted && !self.small;
            let tags = Tags { serial, shrinks: keeps, ..Tags::new(number, 0, 0) };
            if let Some(to) = self.copy(from, tags, Kind::Header)? {
                return Ok(to);
            }
        } else {
            let mut page = self.blank();
            match self.nand.read_with_tail(from, &mut page, &mut [0; super::header::BYTES]) {
                Ok(_) | Err(NandError::Uncorrectable(_)) => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        let to = self.program_header(number, 0, false)?;
        let object = self.objects.get_mut(number);
        object.stored_size = object.size;
        Ok(to)
    }

    /// Programs a replacement for an unreadable page.
    fn program_lost(&mut self, tags: Tags) -> Result<Ppa, FsError> {
        self.collector.counts.lost += 1;
        let contents = self.blank();
        self.program(&Page { tags, kind: Kind::Lost, contents: &contents, tail: &[] })
    }

    /// Calls garbage collection, as every write does.
    pub(super) fn ask_collector(&mut self) -> Result<(), FsError> {
        if self.is_old() {
            collector::check(self, self.geometry.pages_per_block())
        } else {
            self.collect_gradually()
        }
    }
}
