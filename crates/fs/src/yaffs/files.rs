//! Contents of files.

use super::flash::Page;
use super::Yaffs;
use crate::parts::patch;
use crate::parts::tags::{Tags, MAX_CHUNKS};
use crate::FsError;
use nandlab_nand::{Kind, Nand, Origin, PageBuf, Ppa};

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

impl<N: Nand> Yaffs<N> {
    /// The chunk that a position is in.
    fn chunk_of(&self, at: u64) -> u32 {
        (at / self.page_bytes()) as u32 + 1
    }

    fn base_of(&self, chunk: u32) -> u64 {
        u64::from(chunk - 1) * self.page_bytes()
    }

    pub(super) fn read_file(&mut self, object: u32, at: u64, bytes: &mut [u8]) -> Result<usize, FsError> {
        self.nand.ctx().set_origin(Origin::FILE_DATA);
        let size = self.objects.get(object).size;
        let wanted = size.saturating_sub(at).min(bytes.len() as u64) as usize;
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
        let range = offset..offset + into.len();
        let copied = |page: &N::Buf, into: &mut [u8]| match page.bytes() {
            Some(held) => into.copy_from_slice(&held[range]),
            None => into.fill(0),
        };
        if let Some(page) = self.cache.get(object, chunk) {
            copied(page, into);
            return Ok(());
        }
        let at = self.objects.get(object).page(chunk);
        if !at.is_some() {
            into.fill(0);
            return Ok(());
        }
        let mut page = self.blank();
        let oob = self.nand.read(at, &mut page).map_err(|error| self.failed(error))?;
        self.refuse_lost(at, oob.kind)?;
        clear_from(page.bytes_mut(), Tags::from_oob(self.small, &oob).bytes);
        copied(&page, into);
        Ok(())
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
    fn refuse_full(&self, object: u32, first: u32, last: u32) -> Result<(), FsError> {
        let file = self.objects.get(object);
        let fresh = (first..=last).filter(|&chunk| !file.page(chunk).is_some()).count() as u64;
        let overwrites = u64::from(u64::from(last - first + 1) > fresh || file.stale_tail);
        let waiting = |&(owner, chunk): &(u32, u32)| {
            let is_here = owner == object && (first..=last).contains(&chunk);
            !is_here && !self.objects.get(owner).page(chunk).is_some()
        };
        let cached = self.cache.dirty().filter(waiting).count() as u64;
        let needed = self.reserve() + fresh + overwrites + cached;
        if self.blocks.free_pages() < needed {
            let free = self.blocks.free_pages().saturating_sub(self.reserve()) * self.page_bytes();
            let what = format!("{} bytes do not fit into the {free} that are free", fresh * self.page_bytes());
            return Err(FsError::Full { what });
        }
        Ok(())
    }

    /// Before a file grows to `end`: its last page must hold zeros behind the old end, unless the write that begins in
    /// chunk `first` sees to that.
    fn renew_tail(&mut self, object: u32, end: u64, first: u32) -> Result<(), FsError> {
        let file = self.objects.get(object);
        if !file.stale_tail || end <= file.size {
            return Ok(());
        }
        let tail = self.chunk_of(file.size);
        if first > tail {
            self.write_piece(Piece { object, chunk: tail, offset: 0, bytes: &[] })?;
        }
        Ok(())
    }

    fn write_piece(&mut self, piece: Piece<'_>) -> Result<(), FsError> {
        let Piece { object, chunk, offset, bytes } = piece;
        let is_whole = bytes.len() as u64 == self.page_bytes();
        if self.cache.is_off() || is_whole {
            self.cache.drop_chunk(object, chunk);
            self.ask_collector()?;
            let mut page = self.blank();
            if !is_whole {
                page = self.old_page(object, chunk)?;
            }
            patch(page.bytes_mut(), offset, bytes);
            self.grow(piece);
            return self.store(object, chunk, &page);
        }
        if !self.cache.holds(object, chunk) {
            let page = self.old_page(object, chunk)?;
            self.make_room()?;
            self.cache.insert(object, chunk, page);
        }
        let kept = self.kept(object, chunk);
        let page = self.cache.get(object, chunk).expect("the page was just put there");
        clear_from(page.bytes_mut(), kept);
        patch(page.bytes_mut(), offset, bytes);
        self.cache.set_dirty(object, chunk);
        self.grow(piece);
        Ok(())
    }

    /// Bytes of a chunk that belong to the file.
    fn kept(&self, object: u32, chunk: u32) -> u32 {
        self.objects.get(object).bytes_in(chunk, self.page_bytes())
    }

    /// What a chunk holds, zeros behind the end of the file.
    fn old_page(&mut self, object: u32, chunk: u32) -> Result<N::Buf, FsError> {
        let mut page = self.blank();
        let at = self.objects.get(object).page(chunk);
        if at.is_some() {
            self.nand.ctx().set_origin(Origin::FILE_DATA);
            let tags = self.read_old(at, &mut page)?;
            clear_from(page.bytes_mut(), tags.bytes.min(self.kept(object, chunk)));
        }
        Ok(page)
    }

    /// The file reaches at least to the end of the piece.
    fn grow(&mut self, piece: Piece<'_>) {
        let end = self.base_of(piece.chunk) + (piece.offset + piece.bytes.len()) as u64;
        let tail = self.chunk_of(self.objects.get(piece.object).size);
        let file = self.objects.get_mut(piece.object);
        if piece.chunk == tail {
            file.stale_tail = false;
        }
        file.dirty |= !piece.bytes.is_empty();
        if !piece.bytes.is_empty() {
            file.size = file.size.max(end);
        }
    }

    /// Writes a chunk to flash.
    fn store(&mut self, object: u32, chunk: u32, page: &N::Buf) -> Result<(), FsError> {
        let before = self.objects.get(object).page(chunk);
        let serial = if before.is_some() { self.owners[before.index()].serial.wrapping_add(1) & 3 } else { 1 };
        let bytes = self.kept(object, chunk);
        let tags = Tags { serial, ..Tags::new(object, chunk, bytes) };
        let to = self.program(&Page { tags, kind: Kind::Data, contents: page, tail: &[] })?;
        self.objects.get_mut(object).map(chunk, to);
        if before.is_some() {
            self.give_up(before, true)?;
        }
        Ok(())
    }

    /// Makes room in the cache for one page.
    fn make_room(&mut self) -> Result<(), FsError> {
        if !self.cache.is_full() {
            return Ok(());
        }
        let Some((object, chunk, dirty)) = self.cache.oldest() else { return Ok(()) };
        if dirty {
            self.write_cached(object, chunk)?;
        }
        self.cache.drop_chunk(object, chunk);
        Ok(())
    }

    fn write_cached(&mut self, object: u32, chunk: u32) -> Result<(), FsError> {
        let Some(page) = self.cache.get(object, chunk).map(|page| page.clone()) else { return Ok(()) };
        self.ask_collector()?;
        self.store(object, chunk, &page)?;
        self.cache.set_clean(object, chunk);
        Ok(())
    }

    /// Writes what is cached of a file, and its header where that has changed.
    pub(super) fn flush(&mut self, object: u32) -> Result<(), FsError> {
        while let Some(chunk) = self.cache.dirty_chunk(object) {
            self.write_cached(object, chunk)?;
        }
        if self.objects.get(object).dirty {
            self.write_header(object)?;
        }
        Ok(())
    }

    /// Cuts or extends a file; the new length is on flash before pages are given up.
    pub(super) fn resize(&mut self, object: u32, bytes: u64) -> Result<(), FsError> {
        let size = self.objects.get(object).size;
        if bytes == size {
            return Ok(());
        }
        self.end_of(bytes, 0)?;
        if bytes > size {
            let file = self.objects.get(object);
            if file.stale_tail {
                let tail = self.chunk_of(size);
                self.refuse_full(object, tail, tail)?;
                self.renew_tail(object, bytes, tail + 1)?;
            }
            while let Some(chunk) = self.cache.dirty_chunk(object) {
                self.write_cached(object, chunk)?;
            }
            self.ask_collector()?;
            self.objects.get_mut(object).size = bytes;
            return self.put_header(object, 0, false);
        }
        self.shrink(object, bytes)
    }

    fn shrink(&mut self, object: u32, bytes: u64) -> Result<(), FsError> {
        let gone = self.chunk_of(bytes + self.page_bytes() - 1);
        let tail = self.chunk_of(bytes);
        self.cache.drop_from(object, gone);
        if self.cache.holds(object, tail) {
            self.write_cached(object, tail)?;
            self.cache.drop_chunk(object, tail);
        }
        self.ask_collector()?;
        let ends_inside = bytes > self.base_of(tail);
        let file = self.objects.get_mut(object);
        file.size = bytes;
        file.stale_tail = ends_inside && file.page(tail).is_some();
        self.put_header(object, 0, true)?;
        let (kept, page) = (self.kept(object, tail), self.objects.get(object).page(tail));
        if page.is_some() {
            let owner = &mut self.owners[page.index()];
            owner.bytes = owner.bytes.min(kept);
        }
        let pages: Vec<(u32, Ppa)> =
            self.objects.get(object).mapped_chunks().filter(|&(chunk, _)| chunk >= gone).collect();
        for (chunk, at) in pages {
            self.objects.get_mut(object).map(chunk, Ppa::NONE);
            self.give_up(at, true)?;
        }
        self.objects.get_mut(object).chunks.truncate(gone as usize - 1);
        Ok(())
    }
}
