//! Programs and copies of many pages at once.

use super::{Counting, SpareStore};
use crate::address::{BlockId, Lpn, Ppa, Seq};
use crate::context::Origin;
use crate::nand::Nand;
use crate::oob::{Kind, Oob};
use crate::rules::assert_in_range;

impl<S: SpareStore> Counting<S> {
    /// Programs data pages at `to` and the following pages of its block.
    ///
    /// # Panics
    /// If one of them is no page to be programmed now.
    #[inline]
    pub(super) fn store_run(&mut self, pages: &[Lpn], to: Ppa, oob: Oob) {
        let count = pages.len() as u32;
        if count == 0 {
            return;
        }
        assert_in_range(&self.geometry, Ppa(to.0 + count - 1));
        let (block, place) = (self.geometry.block_of(to), self.geometry.page_in_block(to));
        if self.states.high_water(block) == place && place + count <= self.geometry.pages_per_block() {
            self.spare.set_run(pages, (to, block), place == 0, oob);
            self.states.program_run(block, place, count);
            *self.programmed.of(block, oob.origin) += count as u16;
        } else {
            for (n, &lpn) in (0..).zip(pages) {
                self.store(Ppa(to.0 + n), Oob { lpn, seq: Seq(oob.seq.0 + u64::from(n)), ..oob });
            }
        }
        self.ctx.count(oob.origin).page_programs += u64::from(count);
    }

    /// Moves the pages `from` to `to` and the following pages in one block. `held` is empty, or gets each page's logical
    /// page and kind.
    #[inline]
    pub(super) fn move_run(&mut self, from: &[Ppa], to: Ppa, (aux, seq): (u16, Seq), held: &mut [(Lpn, Kind)]) {
        if from.is_empty() {
            return;
        }
        assert_in_range(&self.geometry, Ppa(to.0 + from.len() as u32 - 1));
        let (block, place) = (self.geometry.block_of(to), self.geometry.page_in_block(to));
        let is_next = self.states.high_water(block) == place;
        let moved = if is_next { self.copy_next(from, (to, block), (aux, seq), held) } else { 0 };
        for (n, &from) in (moved..).zip(&from[moved..]) {
            let (to, seq) = (Ppa(to.0 + n as u32), Seq(seq.0 + n as u64));
            let Ok(oob) = self.copy(from, to, Oob::renewed(aux, seq)) else { unreachable!("no copy fails here") };
            if let Some(held) = held.get_mut(n) {
                *held = (oob.lpn, oob.kind);
            }
        }
    }

    /// Copies data pages by one author, without tails, from one block to the next pages of another. It does nothing and tells so
    /// if the pages are not such.
    #[inline]
    pub(super) fn copy_alike(&mut self, from: &[Ppa], to: Ppa, held: &mut [(Lpn, Kind)]) -> bool {
        let (Some(&first), Some(&last)) = (from.first(), from.last()) else { return true };
        let (source, block) = (self.geometry.block_of(first), self.geometry.block_of(to));
        let (place, count) = (self.geometry.page_in_block(to), from.len() as u32);
        let start = self.geometry.page(source, 0).0;
        let programmed = start..start + self.states.high_water(source);
        debug_assert!(from.is_sorted(), "pages of one block, ascending");
        let is_plain = programmed.contains(&first.0)
            && programmed.contains(&last.0)
            && last < self.tails.first_in(source)
            && self.states.high_water(block) == place
            && place + count <= self.geometry.pages_per_block();
        let author = if is_plain { self.spare.renew_alike(from, to, held) } else { None };
        if let Some(author) = author {
            self.states.program_run(block, place, count);
            self.have_moved((source, block), author, count as u16);
        }
        author.is_some()
    }

    /// Copies pages to the next pages of a block, up to the first possible tail; returns their number.
    ///
    /// # Panics
    /// If a source page is erased (named in the message), or if the block is bad.
    #[inline]
    fn copy_next(
        &mut self,
        from: &[Ppa],
        (to, block): (Ppa, BlockId),
        (aux, seq): (u16, Seq),
        held: &mut [(Lpn, Kind)],
    ) -> usize {
        let place = self.geometry.page_in_block(to);
        let (mut source, mut source_pages, mut first_tail) = (BlockId::NONE, 0..0, Ppa::NONE);
        // Consecutive pages with the same author and block count together.
        let (mut author, mut alike) = (Origin::FTL, 0);
        let mut copied = 0;
        for (n, &from) in (0..).zip(from) {
            if !source_pages.contains(&from.0) {
                self.have_moved((source, block), author, std::mem::take(&mut alike));
                assert_in_range(&self.geometry, from);
                source = self.geometry.block_of(from);
                let first = self.geometry.page(source, 0).0;
                source_pages = first..first + self.states.high_water(source);
                assert!(source_pages.contains(&from.0), "copy of page {from}: the page is erased");
                first_tail = self.tails.first_in(source);
            }
            if from >= first_tail {
                break;
            }
            let target = (Ppa(to.0 + n), block);
            let renewed = self.spare.renew((from, source), target, place + n == 0, aux, Seq(seq.0 + u64::from(n)));
            let Some((origin, holds)) = renewed else { panic!("copy of page {from}: the page is erased") };
            if let Some(held) = held.get_mut(n as usize) {
                *held = holds;
            }
            if origin != author {
                self.have_moved((source, block), author, std::mem::take(&mut alike));
                author = origin;
            }
            alike += 1;
            copied += 1;
        }
        self.have_moved((source, block), author, alike);
        self.states.program_run(block, place, copied);
        copied as usize
    }

    /// Counts copies for this many pages by one author.
    #[inline]
    fn have_moved(&mut self, (source, target): (BlockId, BlockId), author: Origin, pages: u16) {
        if pages == 0 {
            return;
        }
        *self.programmed.of(target, author) += pages;
        let left = self.programmed.of(source, author);
        *left = left.saturating_sub(pages);
        self.ctx.count(author).copies += u64::from(pages);
    }
}
