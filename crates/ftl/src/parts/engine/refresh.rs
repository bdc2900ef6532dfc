//! Rewriting blocks before their bit errors grow past the ECC.
//!
//! The read that finds a block strained marks it. From then on every host read on that die moves a page, as a write
//! does to make room, so no read waits for a whole block. An open block is closed first, as it is. While the die
//! empties another block, a strained one has to wait; a later read finds it again.

use super::{Pages, Scheme};
use crate::parts::blocks::table::BlockUse;
use crate::parts::partial::read_mapped;
use crate::FtlError;
use nandlab_nand::{BlockId, Geometry, Nand, Ppa, SectorMask, Strain};

/// The blocks to rewrite.
#[derive(Debug)]
pub(super) struct Refreshing {
    /// The threshold: bit errors in per cent of the ECC's limit.
    percent: u32,
    /// By die: the marked block.
    marked: Vec<Option<BlockId>>,
}

impl Refreshing {
    /// `None` with 0 per cent: refresh is off.
    pub(super) fn new(percent: u32, geometry: &Geometry) -> Option<Box<Self>> {
        (percent > 0).then(|| Box::new(Self { percent, marked: vec![None; geometry.dies() as usize] }))
    }
}

impl Pages {
    /// Whether blocks are rewritten for their bit errors.
    #[inline]
    pub(crate) fn refreshes(&self) -> bool {
        self.refreshing.is_some()
    }

    /// Reads the page at `from` for the host, checks the read's bit errors, and continues the die's rewriting.
    #[cold]
    #[inline(never)]
    pub(crate) fn read_and_refresh<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        from: Ppa,
        sectors: SectorMask,
        page: &mut N::Buf,
    ) -> Result<(), FtlError> {
        let read = read_mapped(nand, from, sectors, page);
        match self.refresh(scheme, nand) {
            // A read needs no room: the block stays as it is.
            Ok(()) | Err(FtlError::WornOut { .. }) => read,
            Err(error) => Err(error),
        }
    }

    fn refresh<N: Nand, S: Scheme>(&mut self, scheme: &mut S, nand: &mut N) -> Result<(), FtlError> {
        let Some(Strain { block, percent, of_wear }) = nand.ctx().take_strain() else { return Ok(()) };
        let die = self.geometry.die_of(block) as usize;
        // A block at the threshold by wear alone would be as bad right after a rewrite, and more worn.
        let helps = |refreshing: &Refreshing| of_wear < refreshing.percent && refreshing.percent <= percent;
        if self.refreshing.as_deref().is_some_and(helps) {
            self.mark(die, block);
        }
        let is_marked = self.refreshing.as_ref().is_some_and(|refreshing| refreshing.marked[die].is_some());
        let goes_on = match &self.dies[die].relocation {
            None => is_marked && self.start_relocation(scheme, nand, die)?,
            // A relocation already begun comes first.
            Some(relocation) => is_marked || relocation.refreshes(),
        };
        if goes_on {
            self.go_on(scheme, nand, die, 1)?;
            // The next read shall go to the new block.
            self.map_moves(scheme, die);
            self.settle(scheme, nand)?;
        }
        Ok(())
    }

    /// Marks `block` to be rewritten next, if possible.
    pub(super) fn mark(&mut self, die: usize, block: BlockId) {
        if self.dies[die].relocation.is_none() {
            let frontier = self.dies[die].frontiers.iter().position(|frontier| frontier.block == block);
            if let Some(frontier) = frontier {
                self.close_frontier(die, frontier);
            }
        }
        if let Some(refreshing) = self.refreshing.as_mut().filter(|_| self.table.usage(block) == BlockUse::Closed) {
            refreshing.marked[die] = Some(block);
        }
    }

    /// The next block to rewrite on `die`. It gains no room, so it comes before victims that do.
    pub(super) fn strained<S: Scheme>(&mut self, scheme: &mut S, die: usize) -> Option<BlockId> {
        // A weak die's pages move to another die.
        let to = if self.dies[die].is_weak { self.lenders_for(scheme, die).next()? } else { die };
        let refreshing =
            self.refreshing.as_mut().filter(|_| self.keeper.count_in(to as u32) > self.config.reserve_blocks)?;
        // The block may have been emptied for another reason.
        refreshing.marked[die].take().filter(|&block| self.table.usage(block) == BlockUse::Closed)
    }

    /// Clears an erased block's mark: its bit errors are gone.
    pub(super) fn relieve(&mut self, block: BlockId) {
        if let Some(refreshing) = &mut self.refreshing {
            refreshing.marked.iter_mut().filter(|marked| **marked == Some(block)).for_each(|marked| *marked = None);
        }
    }
}
