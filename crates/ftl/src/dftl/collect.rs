//! Garbage collection of data: the moved pages' entries.

use super::Scheme;
use crate::parts::engine::Pages;
use crate::FtlError;
use nandlab_nand::Nand;

impl Scheme {
    /// Writes the map pages of the pages moved out of the victim on `die`, except those that memory has with a lazy update.
    pub(super) fn map_moved<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, die: u32) -> Result<(), FtlError> {
        let moved = self.moved.of(die);
        let per_map_page = self.per_map_page();
        for of_map_page in moved.chunk_by(|(a, _), (b, _)| a.0 / per_map_page == b.0 / per_map_page) {
            let map_page = of_map_page[0].0 .0 / per_map_page;
            let at_once = if self.config.batch_update { of_map_page.len() } else { 1 };
            for some in of_map_page.chunks(at_once) {
                self.update(pages, nand, map_page, some)?;
            }
        }
        self.moved.emptied(die);
        Ok(())
    }
}
