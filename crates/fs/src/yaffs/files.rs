//! File contents.

use super::flash::Page;
use super::Yaffs;
use crate::parts::chunks::{clear_from, patch, Chunked, Piece};
use crate::parts::driver::Driver;
use crate::parts::tags::Tags;
use crate::FsError;
use nandlab_nand::{Kind, Nand, Ppa};

impl<N: Nand> Chunked for Yaffs<N> {
    fn has_small_tags(&self) -> bool {
        self.small
    }

    fn size(&mut self, file: u32) -> Result<u64, FsError> {
        Ok(self.objects.get(file).size)
    }

    fn has_stale_tail(&mut self, file: u32) -> Result<bool, FsError> {
        Ok(self.objects.get(file).stale_tail)
    }

    fn page(&mut self, file: u32, chunk: u32) -> Result<Ppa, FsError> {
        Ok(self.objects.get(file).page(chunk))
    }

    fn cached(&mut self, file: u32, chunk: u32) -> Option<&N::Buf> {
        self.cache.get(file, chunk).map(|page| &*page)
    }

    fn free_pages(&self) -> u64 {
        self.blocks.free_pages()
    }

    fn reserve(&self) -> u64 {
        u64::from(self.config.gc.reserved_blocks + self.checkpoint_reserve())
            * u64::from(self.geometry.pages_per_block())
    }

    /// Cached chunks without a page yet.
    fn promised(&mut self, file: u32, first: u32, last: u32) -> Result<u64, FsError> {
        let waiting = |&(owner, chunk): &(u32, u32)| {
            let is_here = owner == file && (first..=last).contains(&chunk);
            !is_here && !self.objects.get(owner).page(chunk).is_some()
        };
        Ok(self.cache.dirty().filter(waiting).count() as u64)
    }

    fn write_piece(&mut self, piece: Piece<'_>) -> Result<(), FsError> {
        let Piece { file, chunk, offset, bytes } = piece;
        let goes_past = self.is_old() && bytes.len() as u64 == self.page_bytes();
        // Later pages may reach flash before the cached one does, and then tell that the file is longer: bytes behind its
        // old end must be void by then.
        let is_renewed = self.objects.get(file).stale_tail && chunk == self.chunk_of(self.objects.get(file).size);
        if self.cache.is_off() || goes_past || is_renewed {
            self.ask_collector()?;
            let mut page = if goes_past { self.blank() } else { self.old_page(file, chunk)? };
            patch(&mut page, offset, bytes);
            self.grow(piece);
            self.store(file, chunk, &page)?;
            self.cache.drop_chunk(file, chunk);
            return Ok(());
        }
        if !self.cache.holds(file, chunk) {
            self.make_room()?;
            let page = self.old_page(file, chunk)?;
            self.cache.insert(file, chunk, page);
        }
        let kept = self.bytes_in(file, chunk)?;
        let page = self.cache.get(file, chunk).expect("the page was just put there");
        clear_from(page, kept);
        patch(page, offset, bytes);
        self.cache.set_dirty(file, chunk);
        self.grow(piece);
        Ok(())
    }

    fn prepare_read(&mut self) -> Result<bool, FsError> {
        if !self.cache.is_off() {
            self.make_room()?;
        }
        Ok(!self.cache.is_off())
    }

    fn keep_read(&mut self, file: u32, chunk: u32, page: N::Buf) {
        self.cache.insert(file, chunk, page);
    }

    fn extend(&mut self, file: u32, bytes: u64) -> Result<(), FsError> {
        self.write_back(file)?;
        self.ask_collector()?;
        self.objects.get_mut(file).size = bytes;
        self.put_header(file, 0, false)
    }

    /// Writes the new length to flash before it gives up pages. As YAFFS does, it first writes back what is cached of
    /// the file, also of the pages that go.
    fn shrink(&mut self, file: u32, bytes: u64) -> Result<(), FsError> {
        let gone = self.chunk_of(bytes + self.page_bytes() - 1);
        let tail = self.chunk_of(bytes);
        self.write_back(file)?;
        self.cache.drop_object(file);
        self.ask_collector()?;
        let ends_inside = bytes > self.base_of(tail);
        let object = self.objects.get_mut(file);
        object.size = bytes;
        object.stale_tail = ends_inside && object.page(tail).is_some();
        self.put_header(file, 0, true)?;
        let (kept, page) = (self.bytes_in(file, tail)?, self.page(file, tail)?);
        if page.is_some() {
            let owner = &mut self.owners[page.index()];
            owner.bytes = owner.bytes.min(kept);
        }
        self.give_up_from(file, gone)?;
        if !self.is_old() && self.objects.get(file).stale_tail {
            let page = self.old_page(file, tail)?;
            self.store(file, tail, &page)?;
            self.objects.get_mut(file).stale_tail = false;
        }
        Ok(())
    }

    /// Writes back the data, and the header if it has changed.
    fn flush(&mut self, file: u32) -> Result<(), FsError> {
        self.write_back(file)?;
        if self.objects.get(file).dirty {
            self.write_header(file)?;
        }
        Ok(())
    }

    /// Writes back the data alone, as `yaffs_flush_file` does with `data_sync`: a mount learns the length from the tags of
    /// the last page.
    fn flush_data(&mut self, file: u32) -> Result<(), FsError> {
        self.write_back(file)
    }

    /// A changed file leaves the cache, as `yaffs_flush_file` does with `discard_cache`.
    fn flush_closed(&mut self, file: u32) -> Result<(), FsError> {
        let is_changed = self.objects.get(file).dirty;
        self.flush(file)?;
        if is_changed {
            self.cache.drop_object(file);
        }
        Ok(())
    }
}

impl<N: Nand> Yaffs<N> {
    /// Extends the file to the end of the piece, if needed.
    fn grow(&mut self, piece: Piece<'_>) {
        let end = self.base_of(piece.chunk) + (piece.offset + piece.bytes.len()) as u64;
        let tail = self.chunk_of(self.objects.get(piece.file).size);
        let file = self.objects.get_mut(piece.file);
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
        let bytes = self.bytes_in(object, chunk)?;
        let tags = Tags { serial, ..Tags::new(object, chunk, bytes) };
        let to = self.program(&Page { tags, kind: Kind::Data, contents: page, tail: &[] })?;
        self.objects.get_mut(object).map(chunk, to);
        if before.is_some() {
            self.give_up(before, true)?;
        }
        Ok(())
    }

    /// Gives up a file's pages from a chunk on.
    pub(super) fn give_up_from(&mut self, file: u32, first: u32) -> Result<(), FsError> {
        let pages: Vec<(u32, Ppa)> =
            self.objects.get(file).mapped_chunks().filter(|&(chunk, _)| chunk >= first).collect();
        for (chunk, at) in pages {
            self.objects.get_mut(file).map(chunk, Ppa::NONE);
            self.give_up(at, true)?;
        }
        self.objects.get_mut(file).chunks.truncate(first as usize - 1);
        Ok(())
    }

    /// Makes room for one page in the cache.
    fn make_room(&mut self) -> Result<(), FsError> {
        if !self.cache.is_full() {
            return Ok(());
        }
        let Some((object, chunk, dirty)) = self.cache.oldest() else { return Ok(()) };
        if dirty && self.is_old() {
            return self.write_back(object);
        } else if dirty {
            self.write_cached(object, chunk)?;
        }
        self.cache.drop_chunk(object, chunk);
        Ok(())
    }

    /// Writes a cached chunk to flash; in the code of 2007 it leaves the cache.
    fn write_cached(&mut self, object: u32, chunk: u32) -> Result<(), FsError> {
        let Some(page) = self.cache.get(object, chunk).map(|page| page.clone()) else { return Ok(()) };
        self.ask_collector()?;
        self.store(object, chunk, &page)?;
        if self.is_old() {
            self.cache.drop_chunk(object, chunk);
        } else {
            self.cache.set_clean(object, chunk);
        }
        Ok(())
    }

    /// Writes a file's cached chunks to flash.
    pub(super) fn write_back(&mut self, file: u32) -> Result<(), FsError> {
        while let Some(chunk) = if self.is_old() { self.cache.lowest_dirty(file) } else { self.cache.first_dirty(file) }
        {
            self.write_cached(file, chunk)?;
        }
        Ok(())
    }
}
