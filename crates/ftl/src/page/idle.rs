//! What the page map does while the host asks nothing: garbage collection, and emptying of blocks of one bit a cell.

use super::PageMap;
use crate::FtlError;
use nandlab_nand::{scoped, Cause, Nand, Time};

/// What is done in gaps between requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Idle {
    /// Free blocks of a die at which collection rests; 0: it does not work in gaps.
    pub(super) enough: u32,
    /// How long the device rests before it takes that for a gap, ns.
    pub(super) after: Time,
}

impl PageMap {
    /// Empties blocks in a gap that ends at `until`, if the options ask for it.
    ///
    /// A step is what firmware does between two looks at its queue: a copy, an erase, or where a victim's valid pages are
    /// looked for in its spare areas the reads of these. One that has begun goes on to its end.
    #[cold]
    pub(super) fn work_in_gap<N: Nand>(&mut self, nand: &mut N, until: Time) -> Result<(), FtlError> {
        let Some(Idle { enough, after }) = self.config.idle() else { return Ok(()) };
        let from = nand.ctx().arrival() + after;
        let before = nand.ctx().after(from);
        // By die: when its last step ended, while it has something to do.
        let mut free_at: Vec<Option<Time>> = vec![Some(from); self.dies.len()];
        loop {
            let next = (0..).zip(&free_at).filter_map(|(die, at)| at.map(|at| (at, die))).min();
            let Some((at, die)) = next.filter(|&(at, _)| at < until) else { break };
            nand.ctx().set_ready(at);
            let works = scoped(nand, Cause::Gc, |nand| self.begin_in_gap(nand, die, enough))?;
            if works {
                self.relocate_one(nand, die)?;
                self.settle(nand)?;
                self.events.idle_steps += 1;
            }
            free_at[die] = works.then(|| nand.ctx().last().max(at));
        }
        nand.ctx().set_ready(before);
        Ok(())
    }

    /// Begins to empty a block, unless one is at hand; false where the die has nothing to do.
    fn begin_in_gap<N: Nand>(&mut self, nand: &mut N, die: usize, enough: u32) -> Result<bool, FtlError> {
        if self.dies[die].relocation.is_some() || self.empty_cache_in_gap(nand, die)? {
            return Ok(true);
        }
        if self.free_in(die) >= enough || !self.start_relocation(nand, die)? {
            return Ok(false);
        }
        if let Some(relocation) = &mut self.dies[die].relocation {
            relocation.set_in_gap();
        }
        Ok(true)
    }
}
