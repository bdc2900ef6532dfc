//! The sequential log block: start, continuation and end.

use super::{Scheme, SwRule};
use crate::parts::store::{Source, Store};
use crate::FtlError;
use nandlab_nand::{scoped, BlockId, Cause, Lpn, Nand};

/// Pages that complete an incomplete sequential log block in a partial merge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SequentialMerge {
    /// The pages of the data block, even if a newer page in a random log block supersedes them; the newer page
    /// stays in the log.
    #[default]
    DataBlock,
    /// The newest pages, from the data block or from random log blocks.
    Newest,
}

/// The sequential log block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequential {
    pub(super) group: u32,
    pub(super) block: BlockId,
}

impl Scheme {
    /// Source for the missing pages in a logical block's sequential log block.
    fn source(&self, group: u32) -> Source<'_> {
        match self.config.sequential_merge {
            SequentialMerge::DataBlock if !self.held.is_empty() => {
                Source::DataBlock { data: self.data[group as usize], held: &self.held }
            }
            _ => Source::Newest,
        }
    }

    /// Whether a page starts a sequential log block.
    pub(super) fn starts_sequence(&self, store: &Store, group: u32, place: u32) -> bool {
        place == 0
            && self.config.sequential_block
            && match self.config.sw_rule {
                SwRule::Always => true,
                SwRule::IfNotInLog => !self.is_in_log(store, group),
                SwRule::Never => false,
            }
    }

    /// Starts a sequential log block with the first page of a logical block; false if the new block failed.
    pub(super) fn start_sequence<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        at: Lpn,
        page: &N::Buf,
    ) -> Result<bool, FtlError> {
        self.end_sequence(store, nand, false, self.config.sequential_merge)?;
        self.make_room(store, nand)?;
        let (group, _) = store.split(at);
        let block = store.open(nand, self.data[group as usize])?;
        self.sequential = Some(Sequential { group, block });
        store.put(nand, at, (block, 0), page)
    }

    /// Writes a page to the sequential log block of its owner, and possibly ends it; false if the page was not
    /// written.
    pub(super) fn continue_sequence<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        at: Lpn,
        page: &N::Buf,
        Sequential { group, block }: Sequential,
    ) -> Result<bool, FtlError> {
        let (_, place) = store.split(at);
        let (next, pages) = (store.high_water(block), store.pages_of(group).len() as u32);
        let source = self.source(group);
        let goes_on = place == next || (place > next && store.takes_rest(source, (group, block), Some(at)));
        if !goes_on {
            store.events.full_merges += 1;
            self.renew(store, nand, Cause::FullMerge, group, Some((at, page)))?;
            return Ok(true);
        }
        let copies = place > next && store.lacks(source, (group, block), next..place);
        if copies
            && !scoped(nand, Cause::PartialMerge, |nand| {
                store.complete_from(nand, source, (group, block), next..place)
            })?
        {
            return Ok(false);
        }
        let written = store.put(nand, at, (block, place), page)?;
        if written && (place > next || place + 1 == pages) {
            self.end_sequence(store, nand, copies, self.config.sequential_merge)?;
        }
        Ok(written)
    }

    /// Makes the sequential log block a data block with its logical block's newest pages.
    pub(super) fn end_sequential<N: Nand>(&mut self, store: &mut Store, nand: &mut N) -> Result<(), FtlError> {
        self.end_sequence(store, nand, false, SequentialMerge::Newest)
    }

    /// Makes the sequential log block a data block; it may have taken `copies` before. Unmapped pages are never
    /// in the way, but pages trimmed and then rewritten to the data block may be.
    fn end_sequence<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        copies: bool,
        merge: SequentialMerge,
    ) -> Result<(), FtlError> {
        let Some(Sequential { group, block }) = self.sequential else { return Ok(()) };
        let places = 0..store.pages_of(group).len() as u32;
        let source = if merge == SequentialMerge::Newest { Source::Newest } else { self.source(group) };
        let copies_more = store.lacks(source, (group, block), places.clone());
        if !copies && !copies_more {
            store.events.switch_merges += 1;
            return scoped(nand, Cause::SwitchMerge, |nand| self.promote(store, nand, group, block));
        }
        if !store.takes_rest(source, (group, block), None) {
            store.events.full_merges += 1;
            return self.renew(store, nand, Cause::FullMerge, group, None);
        }
        let complete = |nand: &mut N| Ok(!copies_more || store.complete_from(nand, source, (group, block), places)?);
        let is_complete: Result<bool, FtlError> = scoped(nand, Cause::PartialMerge, complete);
        scoped(nand, Cause::PartialMerge, |nand| {
            if !is_complete? {
                return self.renew(store, nand, Cause::BadBlock, group, None);
            }
            store.events.partial_merges += 1;
            self.promote(store, nand, group, block)
        })
    }

    /// Pages in a logical block that `block` copied from the data block although a newer copy lies elsewhere.
    fn stale(&self, store: &Store, group: u32, block: BlockId) -> Vec<u32> {
        let taken = |&at: &u32| {
            let elsewhere = store.lookup(Lpn(at)).is_some() && !store.is_in(Lpn(at), block);
            let passed = store.split(Lpn(at)).1 < store.high_water(block);
            elsewhere && passed && self.held.get(at as usize) == Some(&true)
        };
        store.pages_of(group).filter(taken).collect()
    }

    fn promote<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        group: u32,
        block: BlockId,
    ) -> Result<(), FtlError> {
        self.sequential = None;
        let stale = self.stale(store, group, block);
        let data = self.settle(store, group, block);
        stale.into_iter().for_each(|at| self.held[at as usize] = true);
        if data.is_some() {
            store.release(nand, data)?;
        }
        Ok(())
    }
}
