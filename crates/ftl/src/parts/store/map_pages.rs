//! Pages of the block map, one after the other in a block of their own.
//!
//! They are what firmware that reads its map at power-on would write. A mount here reads the spare areas of all pages
//! and needs none of them, so the block before is given back as soon as the first page of the next one is written.

use super::Store;
use crate::parts::frontier::Frontier;
use crate::FtlError;
use nandlab_nand::{scoped, BlockId, Cause, Kind, Lpn, Nand, NandError, Oob, Origin, PageBuf};

/// Where the next page of the map goes.
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
    /// Blocks that pages of the map may still take.
    pub(super) fn unclaimed_by_map(&self) -> u32 {
        self.map_pages.as_ref().map_or(0, |pages| u32::from(pages.block().is_none()))
    }

    /// Whether pages of the map are written.
    pub(crate) fn writes_map(&self) -> bool {
        self.map_pages.is_some()
    }

    /// Writes page `segment` of the map, which holds `table`.
    ///
    /// # Panics
    /// Where the options say that no such page is written.
    pub(crate) fn write_map<N: Nand>(&mut self, nand: &mut N, segment: u32, table: &[u8]) -> Result<(), FtlError> {
        scoped(nand, Cause::Map, |nand| {
            let old = self.frontier().block;
            let mut written = !self.frontier().is_full() && self.program_map(nand, segment, table)?;
            while !written {
                let block = self.take(nand, BlockId::NONE)?;
                *self.frontier() = Frontier::at_start(&self.geometry, block);
                written = self.program_map(nand, segment, table)?;
            }
            if old.is_some() && old != self.frontier().block && !self.free.is_bad(old) {
                self.release(nand, old)?;
            }
            Ok(())
        })
    }

    fn frontier(&mut self) -> &mut Frontier {
        &mut self.map_pages.as_mut().expect("the options say that map pages are written").frontier
    }

    /// Programs a page of the map; false where its block failed and was retired.
    fn program_map<N: Nand>(&mut self, nand: &mut N, segment: u32, table: &[u8]) -> Result<bool, FtlError> {
        let (to, aux) = self.frontier().take();
        let oob = Oob { aux, kind: Kind::Map, ..Oob::data(Lpn(segment), self.next_seq(), Origin::FTL) };
        match nand.program(to, &N::Buf::zeroed(self.geometry.page_bytes()), table, oob) {
            Ok(_) => Ok(true),
            Err(NandError::ProgramFailed(_)) => {
                // Nothing in it is needed.
                let block = std::mem::replace(self.frontier(), Frontier::none()).block;
                self.retire(nand, block)?;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
}
