//! Block-map pages, one after the other in a separate block.
//!
//! Firmware that reads its map at power-on would write them. A mount here reads all spare areas and needs no
//! map page, so the store releases the previous block right after writing the next one's first page.

use super::Store;
use crate::parts::blocks::frontier::Frontier;
use crate::FtlError;
use nandlab_nand::{scoped, BlockId, Cause, Kind, Lpn, Nand, NandError, Oob, Origin, PageBuf};

/// Destination for the next map page.
#[derive(Debug)]
pub(super) struct MapPages {
    frontier: Frontier,
}

impl MapPages {
    /// No block yet.
    pub(super) fn none() -> Self {
        Self { frontier: Frontier::none() }
    }

    /// The block in use.
    pub(super) fn block(&self) -> Option<BlockId> {
        Some(self.frontier.block).filter(|block| block.is_some())
    }
}

impl Store {
    /// Blocks still reserved for map pages.
    pub(super) fn unclaimed_by_map(&self) -> u32 {
        self.map_pages.as_ref().map_or(0, |pages| u32::from(pages.block().is_none()))
    }

    /// Whether map pages are written.
    pub(crate) fn writes_map(&self) -> bool {
        self.map_pages.is_some()
    }

    /// Writes map page `segment`, with the contents `table`.
    ///
    /// # Panics
    /// If the options exclude map pages.
    pub(crate) fn write_map<N: Nand>(&mut self, nand: &mut N, segment: u32, table: &[u8]) -> Result<(), FtlError> {
        scoped(nand, Cause::Map, |nand| {
            let old = self.frontier().block;
            let mut written = !self.frontier().is_full() && self.program_map(nand, segment, table)?;
            while !written {
                let block = self.take(nand, BlockId::NONE)?;
                *self.frontier() = Frontier::at_start(&self.geometry, block);
                written = self.program_map(nand, segment, table)?;
            }
            if old.is_some() && old != self.frontier().block && !self.keeper.is_bad(old) {
                self.release(nand, old)?;
            }
            Ok(())
        })
    }

    fn frontier(&mut self) -> &mut Frontier {
        &mut self.map_pages.as_mut().expect("the options say that map pages are written").frontier
    }

    /// Programs a map page; false if its block failed and was retired.
    fn program_map<N: Nand>(&mut self, nand: &mut N, segment: u32, table: &[u8]) -> Result<bool, FtlError> {
        let (to, aux) = self.frontier().take();
        let oob = Oob { aux, kind: Kind::Map, ..Oob::data(Lpn(segment), self.next_seq(), Origin::FTL) };
        match nand.program(to, &N::Buf::zeroed(self.geometry.page_bytes()), table, oob) {
            Ok(_) => Ok(true),
            Err(NandError::ProgramFailed(_)) => {
                // Nothing in it is needed.
                let block = std::mem::replace(self.frontier(), Frontier::none()).block;
                self.keeper.retire(nand, block)?;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
}
