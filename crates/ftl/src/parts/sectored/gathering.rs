//! The host's sectors in the merge buffers, until they fill a page.

use super::{Rewrite, Scheme, SectorMapped, Target};
use crate::parts::merge_buffer::{Gathered, DEAD};
use crate::FtlError;
use nandlab_nand::Nand;

impl<S: Scheme> SectorMapped<S> {
    /// Adds a host sector to the merge buffer of a handle, and writes the buffer when it is full.
    #[inline]
    pub(super) fn add<N: Nand>(
        &mut self,
        nand: &mut N,
        handle: usize,
        sector: u32,
        page: &N::Buf,
        place: u32,
    ) -> Result<(), FtlError> {
        let is_full = |buffer: &Gathered, gathered: u32| buffer.len() == gathered as usize;
        if is_full(&self.buffers[handle], self.gathered) {
            self.write_buffer(nand, handle, false)?;
        }
        let origin = nand.ctx().origin();
        if self.buffers.len() > 1 {
            // A sector waits in the buffer of the handle that wrote it last, and in no other.
            self.drop_from_others(handle, sector);
        }
        let buffer = &mut self.buffers[handle];
        if let Some(at) = buffer.find(sector) {
            if self.options.rewrite == Rewrite::Overwrite {
                buffer.overwrite(at, origin, page, place);
                return Ok(());
            }
            buffer.sectors[at] = DEAD;
        }
        buffer.push(sector, origin, page, place);
        if is_full(buffer, self.gathered) {
            self.write_buffer(nand, handle, false)?;
        }
        Ok(())
    }

    /// A sector written anew through `handle` waits in no other buffer. Its place there is free again, unless `rewrite` says
    /// that it holds nothing.
    fn drop_from_others(&mut self, handle: usize, sector: u32) {
        let others = self.buffers.iter_mut().enumerate().filter(|&(other, _)| other != handle);
        for (_, buffer) in others {
            let Some(at) = buffer.find(sector) else { continue };
            match self.options.rewrite {
                Rewrite::Overwrite => buffer.remove(at),
                Rewrite::Append => buffer.sectors[at] = DEAD,
            }
        }
    }

    /// Programs and maps the sectors in the merge buffer of a handle. The host does not wait for the page, only for the next
    /// buffer.
    pub(super) fn write_buffer<N: Nand>(
        &mut self,
        nand: &mut N,
        handle: usize,
        is_flush: bool,
    ) -> Result<(), FtlError> {
        if !self.buffers[handle].is_needed() {
            self.buffers[handle].clear();
            return Ok(());
        }
        let mut buffer = std::mem::take(&mut self.buffers[handle]);
        let is_buffered = nand.ctx().set_buffered(true);
        let done = self.program_sectors(nand, Target::Host(handle), &buffer, 0, 0);
        nand.ctx().set_buffered(is_buffered);
        if done.is_ok() {
            let missing = self.per_page - buffer.needed();
            self.placing.programmed(handle, missing, is_flush && buffer.len() < self.gathered as usize);
            buffer.clear();
        }
        // A worn-out device keeps acknowledged data as long as it has power.
        self.buffers[handle] = buffer;
        let end = done?;
        let free = self.written.pass(end);
        nand.ctx().wait_until(free);
        self.after_write(nand)
    }
}
