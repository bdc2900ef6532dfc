//! File contents.

use super::layout::{PENDING, SIZE};
use super::memory::{Change, Head};
use super::pages::Owner;
use super::Minv;
use crate::parts::chunks::{patch, Chunked, Piece};
use crate::parts::collector;
use crate::parts::driver::Driver;
use crate::FsError;
use nandlab_nand::nvm::Nvm;
use nandlab_nand::{Kind, Nand, Origin, Ppa};

impl<N: Nand, V: Nvm> Chunked for Minv<N, V> {
    fn has_small_tags(&self) -> bool {
        false
    }

    fn size(&mut self, file: u32) -> Result<u64, FsError> {
        let at = self.field(file, SIZE);
        self.now(at)
    }

    fn has_stale_tail(&mut self, file: u32) -> Result<bool, FsError> {
        Ok(self.known(file)?.stale_tail)
    }

    fn page(&mut self, file: u32, chunk: u32) -> Result<Ppa, FsError> {
        match self.entry(file, chunk)? {
            Some(entry) => Ok(Ppa(self.half(&Change::default(), entry)?.wrapping_sub(1))),
            None => Ok(Ppa::NONE),
        }
    }

    fn free_pages(&self) -> u64 {
        let pages = u64::from(self.registers.usable) * u64::from(self.geometry.pages_per_block());
        pages.saturating_sub(self.registers.in_use.into())
    }

    fn reserve(&self) -> u64 {
        u64::from(self.config.gc.reserved_blocks) * u64::from(self.geometry.pages_per_block())
    }

    fn promised(&mut self, file: u32, first: u32, last: u32) -> Result<u64, FsError> {
        let nodes = self.most_new_nodes(file, first, last)?;
        if nodes > 0 && !self.has_nodes(nodes)? {
            return Err(FsError::NvramFull { what: "the NVRAM has no room for the map of the file".into() });
        }
        Ok(0)
    }

    fn write_piece(&mut self, piece: Piece<'_>) -> Result<(), FsError> {
        let Piece { file, chunk, offset, bytes } = piece;
        self.nand.ctx().set_origin(Origin::FILE_DATA);
        collector::check(self, self.geometry.pages_per_block())?;
        let is_whole = bytes.len() as u64 == self.page_bytes();
        let mut page = if is_whole { self.blank() } else { self.old_page(file, chunk)? };
        patch(&mut page, offset, bytes);
        let size = self.size(file)?;
        let end = self.base_of(chunk) + (offset + bytes.len()) as u64;
        let grown = if bytes.is_empty() { size } else { size.max(end) };
        let head = self.known(file)?;
        let renews = head.stale_tail && chunk == self.chunk_of(size);
        self.put_chunk(file, chunk, &page, (size, grown), Head { stale_tail: head.stale_tail && !renews, ..head })
    }

    fn extend(&mut self, file: u32, bytes: u64) -> Result<(), FsError> {
        let at = self.field(file, SIZE);
        self.store(at, bytes)
    }

    fn shrink(&mut self, file: u32, bytes: u64) -> Result<(), FsError> {
        collector::check(self, self.geometry.pages_per_block())?;
        let (gone, tail) = (self.chunk_of(bytes + self.page_bytes() - 1), self.chunk_of(bytes));
        let stale_tail = bytes > self.base_of(tail) && self.page(file, tail)?.is_some();
        let head = Head { stale_tail, ..self.known(file)? };
        let mut change = Change::default();
        self.put_head(&mut change, file, head);
        change.put(self.field(file, SIZE), bytes);
        if head.height > 0 {
            change.put(PENDING, u64::from(file) | u64::from(gone) << 32);
        }
        self.commit(&change)?;
        self.finish_pending()
    }

    /// Does nothing: every change is already durable when its call returns.
    fn flush(&mut self, _: u32) -> Result<(), FsError> {
        Ok(())
    }
}

impl<N: Nand, V: Nvm> Minv<N, V> {
    /// Programs a chunk, maps it and sets the file's new length.
    fn put_chunk(
        &mut self,
        object: u32,
        chunk: u32,
        page: &N::Buf,
        (size, grown): (u64, u64),
        mut head: Head,
    ) -> Result<(), FsError> {
        let before = self.page(object, chunk)?;
        let bytes = self.bytes_of(grown, chunk);
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
}
