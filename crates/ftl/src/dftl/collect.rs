//! Garbage collection of data: opening blocks, emptying victims, changing the moved pages' entries.

use super::Scheme;
use crate::parts::page_mapped::{Pages, Target};
use crate::FtlError;
use nandlab_nand::{Kind, Lpn, Nand, Oob, Origin, PageBuf, Ppa};

impl Scheme {
    /// Handles a valid page with lost contents: a page of kind Lost takes its place.
    #[cold]
    pub(super) fn replace_lost<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        from: Ppa,
        die: u32,
    ) -> Result<(Lpn, Ppa), FtlError> {
        let at = self.owner(pages, nand, from)?;
        Ok((at, self.store_lost(pages, nand, at, Target::Moved(die))?))
    }

    /// Stores an unreadable page as Lost, or a later mount would bring back an older copy.
    #[cold]
    pub(super) fn store_lost<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        at: Lpn,
        target: Target,
    ) -> Result<Ppa, FtlError> {
        let blank = N::Buf::zeroed(self.geometry.page_bytes());
        pages.events.lost_pages += 1;
        let oob = Oob { kind: Kind::Lost, ..Oob::data(at, Default::default(), Origin::FTL) };
        pages.program(self, nand, target, &blank, &[], oob)
    }

    /// Changes the moved pages' entries: lazily in memory, and the others together in their map pages.
    pub(super) fn map_moved<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N) -> Result<(), FtlError> {
        let mut moved = std::mem::take(&mut self.moved);
        let lazy = self.config.lazy_update;
        moved.retain(|&(at, to)| !self.cmt.moved(at, to) || !lazy);
        moved.sort_unstable();
        let per_map_page = self.per_map_page();
        for of_map_page in moved.chunk_by(|(a, _), (b, _)| a.0 / per_map_page == b.0 / per_map_page) {
            let map_page = of_map_page[0].0 .0 / per_map_page;
            let at_once = if self.config.batch_update { of_map_page.len() } else { 1 };
            for some in of_map_page.chunks(at_once) {
                self.update(pages, nand, map_page, some)?;
                some.iter().for_each(|&(at, _)| self.cmt.clean(at));
            }
        }
        Ok(())
    }
}
