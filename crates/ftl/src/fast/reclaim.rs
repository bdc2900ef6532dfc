//! Reclaiming the oldest random log block.

use super::{Log, Scheme};
use crate::parts::store::Store;
use crate::FtlError;
use nandlab_nand::{scoped, Cause, Nand};

impl Scheme {
    /// Reclaims the oldest random log block.
    pub(super) fn reclaim<N: Nand>(&mut self, store: &mut Store, nand: &mut N) -> Result<(), FtlError> {
        store.events.gc_runs += 1;
        let victim = self.logs.front().expect("the caller saw a log block");
        let half = store.geometry().pages_per_block() / 2;
        let worthwhile = store.valid_in(victim.block) < half && self.migrations < half;
        if self.config.migrate && worthwhile && store.is_full(victim.block) && self.migrate(store, nand)? {
            return Ok(());
        }
        self.merge_front(store, nand)
    }

    /// Merges the logical blocks of the oldest random log block, and releases it.
    pub(super) fn merge_front<N: Nand>(&mut self, store: &mut Store, nand: &mut N) -> Result<(), FtlError> {
        self.migrations = 0;
        let victim = self.logs.front().expect("the caller saw a log block");
        let (block, entries) = (victim.block, victim.entries.clone());
        let mut is_empty = true;
        for (place, at) in entries {
            let is_newest = store.lookup(at) == store.geometry().page(block, place);
            let (group, _) = store.split(at);
            let merges = is_newest || (!self.config.skip_stale && self.is_in_log(store, group));
            if !merges {
                continue;
            }
            is_empty = false;
            if self.sequential.is_some_and(|sequential| sequential.group == group) {
                self.end_sequential(store, nand)?;
            } else {
                store.events.full_merges += 1;
                self.renew(store, nand, Cause::FullMerge, group, None)?;
            }
        }
        store.events.empty_gc_runs += u64::from(is_empty);
        // Ending a sequential log block may have brought another victim to the front.
        self.logs.retain(|log| log.block != block);
        scoped(nand, Cause::FullMerge, |nand| store.release(nand, block))
    }

    /// Copies the valid pages of the oldest random log block to a new one, which is then filled further; false
    /// if the new one failed.
    fn migrate<N: Nand>(&mut self, store: &mut Store, nand: &mut N) -> Result<bool, FtlError> {
        let victim = self.logs.pop_front().expect("the caller saw a log block");
        if store.pinned_in(victim.block) > 0 {
            // Notes may need a block, and the migration takes the last free one.
            store.write_notes(nand)?;
        }
        let to = scoped(nand, Cause::Migration, |nand| store.take(nand, victim.block))?;
        let mut renewed = Log { block: to, entries: Vec::new() };
        let mut moved = true;
        for &(place, at) in &victim.entries {
            if moved && store.lookup(at) == store.geometry().page(victim.block, place) {
                let place = renewed.entries.len() as u32;
                renewed.entries.push((place, at));
                moved = scoped(nand, Cause::Migration, |nand| store.relocate(nand, at, (to, place)))?;
            }
        }
        self.logs.push_back(renewed);
        if !moved {
            self.logs.push_front(victim);
            return Ok(false);
        }
        store.events.migrations += 1;
        self.migrations += 1;
        scoped(nand, Cause::Migration, |nand| store.release(nand, victim.block))?;
        Ok(true)
    }
}
