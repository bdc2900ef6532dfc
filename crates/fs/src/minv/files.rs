//! Contents of files.

use super::layout::{PENDING, SIZE};
use super::memory::{Change, Head};
use super::pages::Owner;
use super::Minv;
use crate::parts::tags::{Tags, MAX_CHUNKS};
use crate::parts::{collector, patch};
use crate::FsError;
use nandlab_nand::nvm::Nvm;
use nandlab_nand::{scoped, Cause, Kind, Nand, NandError, Origin, PageBuf, Ppa};

/// Bytes that go into one chunk.
#[derive(Clone, Copy)]
struct Piece<'a> {
    object: u32,
    chunk: u32,
    /// First byte in the chunk.
    offset: usize,
    bytes: &'a [u8],
}

/// Sets what stands in a page from byte `from` on to zero.
fn clear_from(page: Option<&mut [u8]>, from: u32) {
    if let Some(page) = page {
        let from = (from as usize).min(page.len());
        page[from..].fill(0);
    }
}

impl<N: Nand, V: Nvm> Minv<N, V> {
    fn chunk_of(&self, at: u64) -> u32 {
        (at / self.page_bytes()) as u32 + 1
    }

    fn base_of(&self, chunk: u32) -> u64 {
        u64::from(chunk - 1) * self.page_bytes()
    }

    /// Bytes of the file in a chunk.
    pub(super) fn bytes_in(&mut self, object: u32, chunk: u32) -> Result<u32, FsError> {
        let size = self.size(object)?;
        Ok(size.saturating_sub(self.base_of(chunk)).min(self.page_bytes()) as u32)
    }

    pub(super) fn read_file(&mut self, object: u32, at: u64, bytes: &mut [u8]) -> Result<usize, FsError> {
        self.nand.ctx().set_origin(Origin::FILE_DATA);
        let wanted = self.size(object)?.saturating_sub(at).min(bytes.len() as u64) as usize;
        let mut done = 0;
        while done < wanted {
            let from = at + done as u64;
            let chunk = self.chunk_of(from);
            let offset = (from - self.base_of(chunk)) as usize;
            let count = (self.page_bytes() as usize - offset).min(wanted - done);
            self.read_piece(object, chunk, offset, &mut bytes[done..done + count])?;
            done += count;
        }
        Ok(wanted)
    }

    fn read_piece(&mut self, object: u32, chunk: u32, offset: usize, into: &mut [u8]) -> Result<(), FsError> {
        into.fill(0);
        let at = self.page(object, chunk)?;
        if !at.is_some() {
            return Ok(());
        }
        let mut page = self.blank();
        let bytes = self.load(at, &mut page)?;
        clear_from(page.bytes_mut(), bytes);
        if let Some(held) = page.bytes() {
            into.copy_from_slice(&held[offset..offset + into.len()]);
        }
        Ok(())
    }

    /// Reads a page in use; returns how many of its bytes belong to the file.
    fn load(&mut self, at: Ppa, page: &mut N::Buf) -> Result<u32, FsError> {
        let oob = self.nand.read(at, page).map_err(|error| self.failed(error))?;
        if oob.kind == Kind::Lost {
            return Err(self.failed(NandError::Uncorrectable(at)));
        }
        Ok(Tags::from_oob(false, &oob).bytes)
    }

    pub(super) fn write_file(&mut self, object: u32, at: u64, bytes: &[u8]) -> Result<(), FsError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let end = self.end_of(at, bytes.len() as u64)?;
        let (first, last) = (self.chunk_of(at), self.chunk_of(end - 1));
        self.refuse_full(object, first, last)?;
        self.renew_tail(object, end, first)?;
        let mut done = 0;
        for chunk in first..=last {
            let offset = (at + done as u64 - self.base_of(chunk)) as usize;
            let count = (self.page_bytes() as usize - offset).min(bytes.len() - done);
            self.write_piece(Piece { object, chunk, offset, bytes: &bytes[done..done + count] })?;
            done += count;
        }
        Ok(())
    }

    /// The end of `bytes` bytes from `at` on, where a file can be so long.
    fn end_of(&self, at: u64, bytes: u64) -> Result<u64, FsError> {
        let most = u64::from(MAX_CHUNKS) * self.page_bytes();
        match at.checked_add(bytes) {
            Some(end) if end <= most => Ok(end),
            _ => Err(FsError::TooLong { most }),
        }
    }

    /// Refuses a write of the chunks `first` to `last` where it would not end.
    fn refuse_full(&mut self, object: u32, first: u32, last: u32) -> Result<(), FsError> {
        let (mut fresh, mut nodes) = (0, 0);
        for chunk in first..=last {
            let entry = self.entry(object, chunk)?;
            fresh += u64::from(!self.page(object, chunk)?.is_some());
            nodes += u32::from(entry.is_none() && (chunk == first || (chunk - 1) % 16 == 0));
        }
        // Above each leaf there may be a node of each height.
        if nodes > 0 && !self.has_nodes(nodes + nodes.div_ceil(15) + 5)? {
            return Err(FsError::Full { what: "the NVRAM has no room for the map of the file".into() });
        }
        let overwrites = u64::from(u64::from(last - first + 1) > fresh || self.known(object)?.stale_tail);
        if self.free_pages() < self.reserve() + fresh + overwrites {
            let free = self.free_pages().saturating_sub(self.reserve()) * self.page_bytes();
            let what = format!("{} bytes do not fit into the {free} that are free", fresh * self.page_bytes());
            return Err(FsError::Full { what });
        }
        Ok(())
    }

    /// Before a file grows to `end`: its last page must hold zeros behind the old end, unless the write that begins in
    /// chunk `first` sees to that.
    fn renew_tail(&mut self, object: u32, end: u64, first: u32) -> Result<(), FsError> {
        let size = self.size(object)?;
        if !self.known(object)?.stale_tail || end <= size {
            return Ok(());
        }
        let tail = self.chunk_of(size);
        if first > tail {
            self.write_piece(Piece { object, chunk: tail, offset: 0, bytes: &[] })?;
        }
        Ok(())
    }

    fn write_piece(&mut self, piece: Piece<'_>) -> Result<(), FsError> {
        let Piece { object, chunk, offset, bytes } = piece;
        self.nand.ctx().set_origin(Origin::FILE_DATA);
        collector::check(self, self.geometry.pages_per_block())?;
        let mut page = self.blank();
        let before = self.page(object, chunk)?;
        if before.is_some() && (bytes.len() as u64) < self.page_bytes() {
            let held = {
                let cause = self.nand.ctx().set_cause(Cause::ReadModifyWrite);
                let held = self.load(before, &mut page);
                self.nand.ctx().set_cause(cause);
                held?
            };
            let kept = self.bytes_in(object, chunk)?;
            clear_from(page.bytes_mut(), held.min(kept));
        }
        patch(page.bytes_mut(), offset, bytes);
        let size = self.size(object)?;
        let end = self.base_of(chunk) + (offset + bytes.len()) as u64;
        let grown = if bytes.is_empty() { size } else { size.max(end) };
        let head = self.known(object)?;
        let renews = head.stale_tail && chunk == self.chunk_of(size);
        self.put_chunk(object, chunk, &page, (size, grown), Head { stale_tail: head.stale_tail && !renews, ..head })
    }

    /// Programs a chunk and maps it, with the new length of the file.
    fn put_chunk(
        &mut self,
        object: u32,
        chunk: u32,
        page: &N::Buf,
        (size, grown): (u64, u64),
        mut head: Head,
    ) -> Result<(), FsError> {
        let before = self.page(object, chunk)?;
        let bytes = grown.saturating_sub(self.base_of(chunk)).min(self.page_bytes()) as u32;
        let owner = Owner { object, chunk, bytes, kind: Kind::Data };
        let is_plain = before.is_some() && grown == size && self.known(object)? == head;
        if is_plain {
            let entry = self.entry(object, chunk)?.expect("a mapped chunk has an entry");
            let to = self.program(owner, page)?;
            return self.relink(entry, to);
        }
        let mut change = Change::default();
        let entry = self.put_path(&mut change, object, &mut head, chunk)?;
        let to = self.program(owner, page)?;
        self.put_half(&mut change, entry, to.0 + 1)?;
        self.put_taken(&mut change, to, before)?;
        change.put(self.field(object, SIZE), grown);
        self.commit(&change)?;
        if before.is_some() {
            self.owners[before.index()] = None;
            self.erase_if_empty(self.geometry.block_of(before))?;
        }
        Ok(())
    }

    /// Cuts or extends a file.
    pub(super) fn resize(&mut self, object: u32, bytes: u64) -> Result<(), FsError> {
        let size = self.size(object)?;
        self.end_of(bytes, 0)?;
        if bytes == size {
            return Ok(());
        }
        if bytes > size {
            if self.known(object)?.stale_tail {
                let tail = self.chunk_of(size);
                self.refuse_full(object, tail, tail)?;
                self.renew_tail(object, bytes, tail + 1)?;
            }
            let at = self.field(object, SIZE);
            return self.store(at, bytes);
        }
        collector::check(self, self.geometry.pages_per_block())?;
        let (gone, tail) = (self.chunk_of(bytes + self.page_bytes() - 1), self.chunk_of(bytes));
        let stale_tail = bytes > self.base_of(tail) && self.page(object, tail)?.is_some();
        let head = Head { stale_tail, ..self.known(object)? };
        let mut change = Change::default();
        self.put_head(&mut change, object, head);
        change.put(self.field(object, SIZE), bytes);
        if head.height > 0 {
            change.put(PENDING, u64::from(object) | u64::from(gone) << 32);
        }
        self.commit(&change)?;
        self.finish_pending()
    }

    /// Collects and retires the blocks in which a program failed.
    pub(super) fn retire_failing(&mut self) -> Result<(), FsError> {
        use collector::Collect;
        while let Some(block) = self.urgent() {
            self.collect(block)?;
        }
        Ok(())
    }

    /// Runs `work` as part of a mount.
    pub(super) fn mounting<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.nand.ctx().set_cause(Cause::Mount);
        let done = work(self);
        self.nand.ctx().set_cause(before);
        done
    }

    /// The spare area at a page, for a mount.
    pub(super) fn look(&mut self, at: Ppa) -> Result<Option<nandlab_nand::Oob>, NandError> {
        scoped(&mut self.nand, Cause::Mount, |nand| nand.read_spare(at))
    }
}
