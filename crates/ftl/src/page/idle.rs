//! Garbage collection of the page map while the host asks nothing.

use super::PageMap;
use crate::FtlError;
use nandlab_nand::{scoped, Cause, Nand, Time};

impl PageMap {
    /// Empties victims of every die with fewer than `enough` free blocks, from the first time until before the second; the
    /// device rests at the first.
    ///
    /// A step is what firmware does between two looks at its queue: a copy, an erase, or where a victim's valid pages are
    /// looked for in its spare areas the reads of these. One that has begun goes on to its end.
    #[cold]
    pub(super) fn collect_in_gap<N: Nand>(
        &mut self,
        nand: &mut N,
        enough: usize,
        (from, until): (Time, Time),
    ) -> Result<(), FtlError> {
        let before = nand.ctx().after(from);
        // By die: when its last step ended, while it has something to do.
        let mut free_at: Vec<Option<Time>> = vec![Some(from); self.dies.len()];
        loop {
            let next = (0..).zip(&free_at).filter_map(|(die, at)| at.map(|at| (at, die))).min();
            let Some((at, die)) = next.filter(|&(at, _)| at < until) else { break };
            nand.ctx().set_ready(at);
            let step = scoped(nand, Cause::Gc, |nand| self.step_in_gap(nand, die, enough))?;
            free_at[die] = step.then(|| nand.ctx().last().max(at));
        }
        nand.ctx().set_ready(before);
        Ok(())
    }

    /// Makes a step; false where the die has nothing to do.
    fn step_in_gap<N: Nand>(&mut self, nand: &mut N, die: usize, enough: usize) -> Result<bool, FtlError> {
        if self.dies[die].relocation.is_none() {
            if self.dies[die].free.len() >= enough || !self.start_relocation(nand, die)? {
                return Ok(false);
            }
            if let Some(relocation) = &mut self.dies[die].relocation {
                relocation.set_in_gap();
            }
        }
        self.relocate_one(nand, die).map(|()| true)
    }
}
