//! File contents on bare flash: a file is cut into page-sized chunks, counted from 1, and each
//! chunk is written whole.

use super::driver::Driver;
use super::tags::{Tags, MAX_CHUNKS};
use crate::FsError;
use nandlab_nand::{Cause, Kind, Nand, NandError, Origin, PageBuf, Ppa};

/// Bytes to write into one chunk.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub(crate) file: u32,
    pub(crate) chunk: u32,
    /// First byte within the chunk.
    pub(crate) offset: usize,
    pub(crate) bytes: &'a [u8],
}

/// Zeroes a page from byte `from` on, if the device holds bytes.
pub(crate) fn clear_from(page: &mut impl PageBuf, from: u32) {
    if let Some(page) = page.bytes_mut() {
        let from = (from as usize).min(page.len());
        page[from..].fill(0);
    }
}

/// Copies bytes into a page at byte `at`, if the device holds bytes.
pub(crate) fn patch(page: &mut impl PageBuf, at: usize, bytes: &[u8]) {
    if let Some(page) = page.bytes_mut() {
        page[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

/// Copies bytes from a page, starting at byte `at`; zeros if the device holds no bytes.
fn take(page: &impl PageBuf, at: usize, into: &mut [u8]) {
    match page.bytes() {
        Some(page) => into.copy_from_slice(&page[at..at + into.len()]),
        None => into.fill(0),
    }
}

/// Reads and writes files by chunks; the file system decides about their location.
pub(crate) trait Chunked: Driver {
    /// Whether tags use the YAFFS1 form.
    fn has_small_tags(&self) -> bool;
    fn size(&mut self, file: u32) -> Result<u64, FsError>;
    /// Whether the last page may hold stale bytes behind the file's end.
    fn has_stale_tail(&mut self, file: u32) -> Result<bool, FsError>;
    /// A chunk's page; `Ppa::NONE` for a hole.
    fn page(&mut self, file: u32, chunk: u32) -> Result<Ppa, FsError>;
    /// A cached chunk, possibly newer than its page.
    fn cached(&mut self, _file: u32, _chunk: u32) -> Option<&<Self::Flash as Nand>::Buf> {
        None
    }
    /// Makes room to keep a page of which a part is about to be read; false if none is kept.
    fn prepare_read(&mut self) -> Result<bool, FsError> {
        Ok(false)
    }
    /// Keeps the page after [`Self::prepare_read`].
    fn keep_read(&mut self, _file: u32, _chunk: u32, _page: <Self::Flash as Nand>::Buf) {}
    /// Writes part of a chunk, and extends the file to that part's end if needed.
    fn write_piece(&mut self, piece: Piece<'_>) -> Result<(), FsError>;
    /// Pages not used by any file.
    fn free_pages(&self) -> u64;
    /// Free pages to keep when file data is written.
    fn reserve(&self) -> u64;
    /// Pages already promised before a write of chunks `first` to `last`.
    ///
    /// # Errors
    /// [`FsError::Full`] if the metadata of these chunks has no room.
    fn promised(&mut self, file: u32, first: u32, last: u32) -> Result<u64, FsError>;

    /// Extends a file; its last page already holds zeros behind the end.
    fn extend(&mut self, file: u32, bytes: u64) -> Result<(), FsError>;
    /// Cuts a file.
    fn shrink(&mut self, file: u32, bytes: u64) -> Result<(), FsError>;
    /// Makes a file durable.
    fn flush(&mut self, file: u32) -> Result<(), FsError>;
    /// Makes a file's contents and length durable.
    fn flush_data(&mut self, file: u32) -> Result<(), FsError> {
        self.flush(file)
    }
    /// Makes a file durable that is closed.
    fn flush_closed(&mut self, file: u32) -> Result<(), FsError> {
        self.flush(file)
    }

    /// The chunk at a file position.
    fn chunk_of(&self, at: u64) -> u32 {
        (at / self.page_bytes()) as u32 + 1
    }

    /// A chunk's first file position.
    fn base_of(&self, chunk: u32) -> u64 {
        u64::from(chunk - 1) * self.page_bytes()
    }

    /// Bytes in a chunk, for a file with `size` bytes.
    fn bytes_of(&self, size: u64, chunk: u32) -> u32 {
        size.saturating_sub(self.base_of(chunk)).min(self.page_bytes()) as u32
    }

    /// The file's bytes in a chunk.
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
        let keeps = (into.len() as u64) < self.page_bytes() && self.prepare_read()?;
        let at = self.page(file, chunk)?;
        if !at.is_some() && !keeps {
            into.fill(0);
            return Ok(());
        }
        let mut page = self.blank();
        if at.is_some() {
            self.flash().ctx().set_origin(Origin::FILE_DATA);
            let held = self.load(at, &mut page)?;
            clear_from(&mut page, held);
        }
        take(&page, offset, into);
        if keeps {
            self.keep_read(file, chunk, page);
        }
        Ok(())
    }

    /// Reads a page of file data and returns its file byte count. A page marked as lost
    /// data is uncorrectable.
    fn load(&mut self, at: Ppa, page: &mut <Self::Flash as Nand>::Buf) -> Result<u32, FsError> {
        let oob = self.flash().read(at, page).map_err(|error| self.failed(error))?;
        if oob.kind == Kind::Lost {
            return Err(self.failed(NandError::Uncorrectable(at)));
        }
        Ok(Tags::from_oob(self.has_small_tags(), &oob).bytes)
    }

    /// A chunk's old contents before a partial write, with zeros behind the file's end.
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

    /// End position for `bytes` bytes from `at`; an error if the file would be too long.
    fn end_of(&self, at: u64, bytes: u64) -> Result<u64, FsError> {
        let most = u64::from(MAX_CHUNKS) * self.page_bytes();
        match at.checked_add(bytes) {
            Some(end) if end <= most => Ok(end),
            _ => Err(FsError::TooLong { most }),
        }
    }

    /// Refuses a write of chunks `first` to `last` if there are too few free pages for it.
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

    /// Prepares a file to grow to `end`. Its last page must hold zeros behind the old end, so this
    /// rewrites the page unless a write starting at chunk `first` covers it.
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
