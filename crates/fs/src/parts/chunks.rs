//! Contents of files on bare flash: a file is cut into chunks of a page, counted from 1, and a chunk is written whole.

use super::driver::Driver;
use super::tags::{Tags, MAX_CHUNKS};
use crate::FsError;
use nandlab_nand::{Cause, Kind, Nand, NandError, Origin, PageBuf, Ppa};

/// Bytes that go into one chunk.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub(crate) file: u32,
    pub(crate) chunk: u32,
    /// First byte in the chunk.
    pub(crate) offset: usize,
    pub(crate) bytes: &'a [u8],
}

/// Sets what stands in a page from byte `from` on to zero, where the device holds bytes.
pub(crate) fn clear_from(page: &mut impl PageBuf, from: u32) {
    if let Some(page) = page.bytes_mut() {
        let from = (from as usize).min(page.len());
        page[from..].fill(0);
    }
}

/// Puts bytes into a page from byte `at` on, where the device holds bytes.
pub(crate) fn patch(page: &mut impl PageBuf, at: usize, bytes: &[u8]) {
    if let Some(page) = page.bytes_mut() {
        page[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

/// Takes bytes out of a page from byte `at` on; zeros where the device holds none.
fn take(page: &impl PageBuf, at: usize, into: &mut [u8]) {
    match page.bytes() {
        Some(page) => into.copy_from_slice(&page[at..at + into.len()]),
        None => into.fill(0),
    }
}

/// Reads and writes files by their chunks; where these are is up to the file system.
pub(crate) trait Chunked: Driver {
    /// Whether tags have the form of YAFFS1.
    fn has_small_tags(&self) -> bool;
    fn size(&mut self, file: u32) -> Result<u64, FsError>;
    /// Whether the page with the end of the file may hold other bytes behind it.
    fn has_stale_tail(&mut self, file: u32) -> Result<bool, FsError>;
    /// The page of a chunk; none of a hole.
    fn page(&mut self, file: u32, chunk: u32) -> Result<Ppa, FsError>;
    /// A chunk in memory that may be newer than its page.
    fn cached(&mut self, _file: u32, _chunk: u32) -> Option<&<Self::Flash as Nand>::Buf> {
        None
    }
    /// Writes a part of a chunk, and makes the file reach to the end of the part.
    fn write_piece(&mut self, piece: Piece<'_>) -> Result<(), FsError>;
    /// Pages that no file uses.
    fn free_pages(&self) -> u64;
    /// Pages of these that file data must leave free.
    fn reserve(&self) -> u64;
    /// Pages that are promised already, before the chunks `first` to `last` of a file are written.
    ///
    /// # Errors
    /// [`FsError::Full`] where there is no room for what is kept of these chunks beside their pages.
    fn promised(&mut self, file: u32, first: u32, last: u32) -> Result<u64, FsError>;

    /// Extends a file, whose last page holds zeros behind the end.
    fn extend(&mut self, file: u32, bytes: u64) -> Result<(), FsError>;
    /// Cuts a file.
    fn shrink(&mut self, file: u32, bytes: u64) -> Result<(), FsError>;
    /// Makes a file durable.
    fn flush(&mut self, file: u32) -> Result<(), FsError>;

    /// The chunk that a position is in.
    fn chunk_of(&self, at: u64) -> u32 {
        (at / self.page_bytes()) as u32 + 1
    }

    /// Where a chunk begins.
    fn base_of(&self, chunk: u32) -> u64 {
        u64::from(chunk - 1) * self.page_bytes()
    }

    /// Bytes in a chunk of a file of `size` bytes.
    fn bytes_of(&self, size: u64, chunk: u32) -> u32 {
        size.saturating_sub(self.base_of(chunk)).min(self.page_bytes()) as u32
    }

    /// Bytes of the file in a chunk.
    fn bytes_in(&mut self, file: u32, chunk: u32) -> Result<u32, FsError> {
        let size = self.size(file)?;
        Ok(self.bytes_of(size, chunk))
    }

    fn read_file(&mut self, file: u32, at: u64, bytes: &mut [u8]) -> Result<usize, FsError> {
        self.flash().ctx().set_origin(Origin::FILE_DATA);
        let wanted = self.size(file)?.saturating_sub(at).min(bytes.len() as u64) as usize;
        let mut done = 0;
        while done < wanted {
            let from = at + done as u64;
            let chunk = self.chunk_of(from);
            let offset = (from - self.base_of(chunk)) as usize;
            let count = (self.page_bytes() as usize - offset).min(wanted - done);
            self.read_piece(file, chunk, offset, &mut bytes[done..done + count])?;
            done += count;
        }
        Ok(wanted)
    }

    fn read_piece(&mut self, file: u32, chunk: u32, offset: usize, into: &mut [u8]) -> Result<(), FsError> {
        if let Some(page) = self.cached(file, chunk) {
            take(page, offset, into);
            return Ok(());
        }
        let at = self.page(file, chunk)?;
        if !at.is_some() {
            into.fill(0);
            return Ok(());
        }
        let mut page = self.blank();
        let held = self.load(at, &mut page)?;
        clear_from(&mut page, held);
        take(&page, offset, into);
        Ok(())
    }

    /// Reads a page of file data; returns how many of its bytes belong to the file. A page of lost data cannot be read.
    fn load(&mut self, at: Ppa, page: &mut <Self::Flash as Nand>::Buf) -> Result<u32, FsError> {
        let oob = self.flash().read(at, page).map_err(|error| self.failed(error))?;
        if oob.kind == Kind::Lost {
            return Err(self.failed(NandError::Uncorrectable(at)));
        }
        Ok(Tags::from_oob(self.has_small_tags(), &oob).bytes)
    }

    /// What a chunk holds that is to be written in part, zeros behind the end of the file.
    fn old_page(&mut self, file: u32, chunk: u32) -> Result<<Self::Flash as Nand>::Buf, FsError> {
        let mut page = self.blank();
        let at = self.page(file, chunk)?;
        if at.is_some() {
            self.flash().ctx().set_origin(Origin::FILE_DATA);
            let held = self.within(Cause::ReadModifyWrite, |fs| fs.load(at, &mut page))?;
            let kept = self.bytes_in(file, chunk)?;
            clear_from(&mut page, held.min(kept));
        }
        Ok(page)
    }

    fn write_file(&mut self, file: u32, at: u64, bytes: &[u8]) -> Result<(), FsError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let end = self.end_of(at, bytes.len() as u64)?;
        let (first, last) = (self.chunk_of(at), self.chunk_of(end - 1));
        self.refuse_full(file, first, last)?;
        self.renew_tail(file, end, first)?;
        let mut done = 0;
        for chunk in first..=last {
            let offset = (at + done as u64 - self.base_of(chunk)) as usize;
            let count = (self.page_bytes() as usize - offset).min(bytes.len() - done);
            self.write_piece(Piece { file, chunk, offset, bytes: &bytes[done..done + count] })?;
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
    fn refuse_full(&mut self, file: u32, first: u32, last: u32) -> Result<(), FsError> {
        let promised = self.promised(file, first, last)?;
        let mut fresh = 0;
        for chunk in first..=last {
            fresh += u64::from(!self.page(file, chunk)?.is_some());
        }
        let overwrites = u64::from(u64::from(last - first + 1) > fresh || self.has_stale_tail(file)?);
        if self.free_pages() < self.reserve() + fresh + overwrites + promised {
            let free = self.free_pages().saturating_sub(self.reserve()) * self.page_bytes();
            let what = if fresh > 0 {
                format!("{} bytes do not fit into the {free} that are free", fresh * self.page_bytes())
            } else {
                "a page that is overwritten is written anew, and garbage collection needs all that are free".to_owned()
            };
            return Err(FsError::Full { what });
        }
        Ok(())
    }

    /// Before a file grows to `end`: its last page must hold zeros behind the old end, unless the write that begins in
    /// chunk `first` sees to that.
    fn renew_tail(&mut self, file: u32, end: u64, first: u32) -> Result<(), FsError> {
        let size = self.size(file)?;
        if !self.has_stale_tail(file)? || end <= size {
            return Ok(());
        }
        let tail = self.chunk_of(size);
        if first > tail {
            self.write_piece(Piece { file, chunk: tail, offset: 0, bytes: &[] })?;
        }
        Ok(())
    }

    /// Cuts or extends a file.
    fn resize(&mut self, file: u32, bytes: u64) -> Result<(), FsError> {
        let size = self.size(file)?;
        self.end_of(bytes, 0)?;
        if bytes < size {
            return self.shrink(file, bytes);
        }
        if bytes == size {
            return Ok(());
        }
        if self.has_stale_tail(file)? {
            let tail = self.chunk_of(size);
            self.refuse_full(file, tail, tail)?;
            self.renew_tail(file, bytes, tail + 1)?;
        }
        self.extend(file, bytes)
    }
}
