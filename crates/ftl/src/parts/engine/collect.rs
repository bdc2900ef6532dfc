//! Garbage collection: opening blocks, choosing victims, relocating pages, erasing.
//!
//! Below, b pages in a block are for data, R is `reserve_blocks`, and F is the die's count of free blocks. A host page takes
//! these steps:
//! ```text
//! 1  the die        the next in turn, if its share allows (room.rs); the first page goes to die 1, or 0 if alone
//! 2  the frontier   a full one is closed and may be a victim from now on. While F <= 1, the victim, or a new one, is
//!                   emptied to its end. Relocated pages that share the frontier may open a block meanwhile: once the
//!                   reserve is whole or F > 1, the host fills its rest. Else it opens the block free longest
//! 3  the program    the page is mapped, the older copy is invalid
//! 4  the pay        nothing if F > R and no victim is being emptied. Else, if there is no victim, one is chosen now,
//!                   with the page already mapped. Then credit += rate * (1 + max(0, R - F)), and its whole part is
//!                   relocated
//! 5  the reserve    while it is not whole (room.rs), the victim, or a new one, is emptied to its end
//! ```
//! So a host page waits for a whole victim in two cases only: victims gain next to nothing, or the placement gives the
//! host several frontiers and two of them fill up right after each other.
//!
//! The credit is what others call tokens: a host page brings some, and copies use them up. With `collection = "at_once"`
//! step 4 empties the whole victim instead; with `collection.background` also while F > R (background.rs). Tokens are
//! one of the additions of MQSim-E (D. Hong, D. Lee, J. Kim: MQSim-E: Design and Implementation of an NVMe SSD Simulator
//! for Enterprise SSDs. Journal of KIISE 49(4), 2022).
//!
//! A victim's rate is fixed when it is chosen, with v valid pages then: `floor(65536 * v / g) + 1` parts of 65,536,
//! where the victim gains g = max(b - v, floor(b / 16), 1) pages. Each victim starts with credit 0. When it is empty,
//! the rest of the whole part is lost; the fraction stays for the next page while the victim lasts. A victim begun in a
//! gap between requests costs the host nothing while F > R.
//!
//! Pages move in ascending order if they are still valid when their turn comes. The step that moves the last valid page
//! also erases the victim and puts it behind all other free blocks. A victim without valid pages is erased in the step
//! that chose it.
//!
//! Only closed blocks can be chosen. Greedy takes the block with the fewest valid pages, and the lowest number among
//! equals; if every block is full of valid pages, there is no victim. The frontier for relocated pages takes the block
//! free longest, down to the last one; it is closed when the next page finds it full. With dynamic wear leveling, erase
//! counts choose among the free blocks. A new device has no frontiers, and its blocks are free in ascending order.

use super::relocation::{Move, Moves, Reason, Relocation, Run, Source, MOVES, ONE};
use super::{Collection, Pages, Scheme, ValidPages};
use crate::parts::placement::Moved;
use crate::parts::wear;
use crate::FtlError;
use nandlab_nand::{scoped, BlockId, Cause, Kind, Lpn, Nand, NandError, Oob, Origin, Ppa};

/// While the reserve is whole, one host page pays for about this many relocations at most: even a victim that gains
/// next to nothing is emptied over several host pages.
const MOST_COPIES: u32 = 16;

impl Pages {
    /// Makes the last host page on `die` pay its share of garbage collection.
    #[inline]
    pub(super) fn collect<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        die: usize,
    ) -> Result<(), FtlError> {
        let state = &self.dies[die];
        // While a block is being emptied, as it is most of the time, nothing else is checked.
        if state.relocation.is_none() && self.free_in(scheme, die) > self.config.begins_at() && state.failing.is_empty()
        {
            return Ok(());
        }
        self.pay(scheme, nand, die)
    }

    fn pay<N: Nand, S: Scheme>(&mut self, scheme: &mut S, nand: &mut N, die: usize) -> Result<(), FtlError> {
        if self.config.collection == Collection::Late {
            return Ok(());
        }
        if self.dies[die].relocation.is_none() && !self.start_relocation(scheme, nand, die)? {
            return Ok(());
        }
        let free = self.free_in(scheme, die);
        let state = &mut self.dies[die];
        let Some(relocation) = &mut state.relocation else { return Ok(()) };
        // A victim begun in a gap can wait for the next gap until room is needed.
        if relocation.in_gap && free > self.config.reserve_blocks && state.failing.is_empty() {
            return Ok(());
        }
        // Each block missing in the reserve adds one rate.
        let missing = u64::from(self.config.reserve_blocks.saturating_sub(free));
        relocation.credit += relocation.rate * (1 + missing);
        let pages = u32::try_from(relocation.credit / ONE).unwrap_or(u32::MAX);
        relocation.credit %= ONE;
        let cause = relocation.cause();
        scoped(nand, cause, |nand| self.relocate(scheme, nand, die, pages))?;
        self.restore_reserve(scheme, nand, die)
    }

    /// Empties blocks while the reserve is not whole. It shrinks by a page at a time, for host pages and trim notes,
    /// while victims gain nothing.
    pub(super) fn restore_reserve<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        die: usize,
    ) -> Result<(), FtlError> {
        while !self.has_reserve(scheme, die) {
            if self.dies[die].relocation.is_none() && !self.start_relocation(scheme, nand, die)? {
                break;
            }
            self.empty_victim(scheme, nand, die)?;
        }
        Ok(())
    }

    /// Relocations that a host page pays for while a victim with `valid` pages is emptied. The host page takes one page
    /// from the victim's gain and pays the same part of its copies, so the die's room stays constant.
    fn rate(&self, valid: u32) -> u64 {
        if self.config.collection != Collection::Tokens {
            return u64::from(u32::MAX) * ONE;
        }
        let pages = self.data_pages;
        // Blank pages are no gain.
        let valid = (valid + self.padding).min(pages);
        let gained = (pages - valid).max(pages / MOST_COPIES).max(1);
        u64::from(valid) * ONE / u64::from(gained) + 1
    }

    /// Chooses a block to empty; false if nothing would be gained.
    pub(super) fn start_relocation<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        die: usize,
    ) -> Result<bool, FtlError> {
        let Some((block, reason)) = self.next_victim(scheme, die) else { return Ok(false) };
        scoped(nand, reason.cause(), |nand| scheme.chosen(self, nand, block))?;
        self.begin_relocation(nand, die, block, reason).map(|()| true)
    }

    /// Begins to empty a block.
    pub(super) fn begin_relocation<N: Nand>(
        &mut self,
        nand: &mut N,
        die: usize,
        block: BlockId,
        reason: Reason,
    ) -> Result<(), FtlError> {
        let pages = self.geometry.pages_per_block();
        let valid = self.table.valid_pages(block);
        if self.config.valid_pages == ValidPages::Spare {
            let cause = if reason == Reason::Fold { Cause::Fold } else { Cause::Gc };
            scoped(nand, cause, |nand| self.read_spares(nand, block))?;
        }
        if !matches!(reason, Reason::Failure | Reason::Fold) {
            self.table.reopen(block);
        }
        self.dies[die].levelled = matches!(reason, Reason::Wear { .. });
        let next = self.geometry.page(block, 0).0;
        let rate = self.rate(valid);
        self.dies[die].relocation = Some(Relocation {
            block,
            is_empty: valid == 0,
            next,
            end: next + pages,
            moves: Moves::none(),
            run: Run::none(),
            rate,
            credit: 0,
            copied: 0,
            reason,
            to: 0,
            in_gap: false,
        });
        let to = self.frontier_of_moved(die, Lpn::NONE);
        if let Some(relocation) = &mut self.dies[die].relocation {
            relocation.to = to;
        }
        Ok(())
    }

    /// The block to empty next and why; `None` if nothing would be gained.
    fn next_victim<S: Scheme>(&mut self, scheme: &mut S, die: usize) -> Option<(BlockId, Reason)> {
        if let Some(block) = self.dies[die].failing.pop_front() {
            return Some((block, Reason::Failure));
        }
        if let Some(block) = self.strained(scheme, die) {
            return Some((block, Reason::Refresh));
        }
        if self.dies[die].is_weak {
            // It takes no pages, so it needs no room.
            return None;
        }
        if let Some(block) = self.fold_for_free_block(die) {
            return Some((block, Reason::Fold));
        }
        let blocks = self.table.die(die as u32);
        // Moves for wear leveling gain no room, so they need some, and collection makes more between them.
        let has_room = self.fits_any(scheme, die);
        if let Some(wear) = self.wear_policy.as_mut().filter(|_| has_room && !self.dies[die].levelled) {
            let free: Vec<BlockId> = self.keeper.free_in(die as u32).collect();
            if let Some(wear::Move { block, to_most_worn }) = wear.next_move(blocks, &free) {
                return Some((block, Reason::Wear { to_most_worn }));
            }
        }
        let block = match &self.placing {
            placing if placing.pools().is_some() => self.victim_of_pools(scheme, die),
            placing if placing.is_by_host() => self.victim_of_units(scheme, die),
            _ => self.victim_of_all(die),
        }?;
        // The policy's pick may have more valid pages than there is room for.
        let block = Some(block).filter(|&block| self.fits(scheme, die, block) && self.gains(block));
        let block = block.or_else(|| self.table.die(die as u32).fewest_valid()).filter(|&block| self.gains(block))?;
        let invalid = self.data_pages - self.table.valid_pages(block);
        let is_chosen = self.has_wide_units() || self.config.takes_victim(invalid, self.free_in(scheme, die));
        is_chosen.then_some((block, Reason::Room))
    }

    /// Whether more pages of a block are invalid than may be blank afterwards; on a chip without pairs any block will do.
    fn gains(&self, block: BlockId) -> bool {
        self.padding == 0 || self.table.valid_pages(block) + self.padding < self.data_pages
    }

    #[inline(always)]
    pub(super) fn victim_of_all(&mut self, die: usize) -> Option<BlockId> {
        let blocks = self.table.die(die as u32);
        let block = if self.placing.picks_victims() {
            self.placing.pick(blocks)?
        } else {
            self.policy.pick(blocks, self.keeper.seq())?
        };
        // A policy that weighs more than valid pages may take a full block, if another block is not full.
        let full = self.data_pages;
        let gains = self.table.valid_pages(block) < full
            || blocks.fewest_valid().is_some_and(|best| self.table.valid_pages(best) < full);
        gains.then_some(block)
    }

    /// Reads all of a block's spare areas, as firmware without a bitmap must to find the valid pages.
    pub(crate) fn read_spares<N: Nand>(&self, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        let pages =
            if nand.is_slc(block) { nand.rules().slc_pages(&self.geometry) } else { self.geometry.pages_per_block() };
        for page in 0..pages {
            match nand.read_spare(self.geometry.page(block, page)) {
                Ok(_) | Err(NandError::Uncorrectable(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Moves up to `pages` pages from the block that `die` empties, if any, under that block's cause.
    pub(super) fn go_on<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        die: usize,
        pages: u32,
    ) -> Result<(), FtlError> {
        let cause = self.dies[die].relocation.as_ref().map_or(Cause::Gc, Relocation::cause);
        scoped(nand, cause, |nand| self.relocate(scheme, nand, die, pages))
    }

    /// Moves up to `pages` pages from the victim, and erases or retires it when none is left.
    pub(super) fn relocate<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        die: usize,
        pages: u32,
    ) -> Result<(), FtlError> {
        if S::WAITS && self.placing.lets_copies_wait() && nand.defers_copies() {
            return self.issue(scheme, nand, die, pages);
        }
        let mut left = pages;
        while let Some(relocation) = &mut self.dies[die].relocation {
            let Some(from) = self.table.next_valid(relocation.next..relocation.end) else {
                return self.finish(scheme, nand, die);
            };
            if left == 0 {
                return Ok(());
            }
            left -= 1;
            relocation.next = from.0 + 1;
            let to = relocation.to;
            self.copy_page(scheme, nand, (die, to), from)?;
        }
        Ok(())
    }

    /// Moves one page from the victim, or erases or retires it if none is left.
    pub(super) fn relocate_one<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        die: usize,
    ) -> Result<(), FtlError> {
        self.carry_out(scheme, nand, die);
        let Some(relocation) = &mut self.dies[die].relocation else { return Ok(()) };
        let (cause, to) = (relocation.cause(), relocation.to);
        let from = self.table.next_valid(relocation.next..relocation.end);
        if let Some(from) = from {
            relocation.next = from.0 + 1;
        }
        scoped(nand, cause, |nand| match from {
            Some(from) => self.copy_page(scheme, nand, (die, to), from),
            None => self.finish(scheme, nand, die),
        })
    }

    /// Copies a valid page to the GC frontier. The map follows a few copies later, when its entry has arrived
    /// in the cache.
    #[inline(always)]
    pub(super) fn copy_page<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        (die, to): (usize, usize),
        from: Ppa,
    ) -> Result<(), FtlError> {
        if !S::FOLLOWS {
            let moved = scheme.relocate(self, nand, from, die as u32);
            return moved.or_else(|error| self.not_copied(scheme, nand, (die, from), error));
        }
        let owner = self.placing.owner(from);
        let frontier = match owner {
            None => to,
            Some(at) => self.frontier_of_moved(die, at),
        };
        let oob = Oob::data(Lpn::NONE, Default::default(), Origin::FTL);
        let (on, to, (at, kind)) = match self.program_gc(scheme, nand, (die, frontier), &Source::Page(from), oob) {
            Ok(copied) => copied,
            Err(error) => return self.not_copied(scheme, nand, (die, from), error),
        };
        if self.placing.hears_of_copies() {
            let at = owner.unwrap_or(if kind == Kind::TrimNote { Lpn::NONE } else { at });
            self.placing.copied(Moved { at, from: self.geometry.block_of(from) });
        }
        scheme.prefetch(at);
        let end = nand.ctx().last();
        let Some(relocation) = &mut self.dies[die].relocation else { return Ok(()) };
        relocation.copied = relocation.copied.max(end);
        let copy = Move { from, to, at, kind };
        if !S::WAITS {
            self.map_move(scheme, copy);
        } else if let Some(oldest) = relocation.moves.pass(Some(copy)) {
            self.map_move(scheme, oldest);
        }
        if on != die {
            // That die may empty the block of the copy before this one is done.
            self.map_moves(scheme, die);
        }
        Ok(())
    }

    /// Handles a page that could not be copied: it is replaced if its contents are gone, else it stays to be moved.
    #[cold]
    fn not_copied<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        (die, from): (usize, Ppa),
        error: FtlError,
    ) -> Result<(), FtlError> {
        let replaced = match error {
            FtlError::Nand(NandError::Uncorrectable(page)) if S::FOLLOWS && page == from => {
                self.replace_lost(scheme, nand, die, from)
            }
            error => Err(error),
        };
        if let (Err(_), Some(relocation)) = (&replaced, &mut self.dies[die].relocation) {
            relocation.next = from.0;
        }
        replaced
    }

    /// Maps a copy.
    #[inline]
    fn map_move<S: Scheme>(&mut self, scheme: &mut S, Move { from, to, at, kind }: Move) {
        if scheme.follow(&self.table, (kind, at), (from, to)) {
            self.table.set_invalid(from);
            self.table.set_valid(to);
            self.placing.own(to, if kind == Kind::TrimNote { Lpn::NONE } else { at });
        }
    }

    /// The frontier for a page from the block that `die` empties.
    #[inline(never)]
    pub(crate) fn frontier_of_moved(&mut self, die: usize, at: Lpn) -> usize {
        let die = &self.dies[die];
        match die.relocation.as_ref().map(|relocation| (relocation.reason, relocation.block)) {
            Some((Reason::Wear { to_most_worn: true }, _)) => die.frontiers.count() - 1,
            Some((_, from)) => self.placing.moved(Moved { at, from }),
            None => self.placing.moved(Moved { at, from: BlockId(0) }),
        }
    }

    /// Maps all waiting copies from the block that `die` empties.
    pub(super) fn map_moves<S: Scheme>(&mut self, scheme: &mut S, die: usize) {
        for _ in 0..MOVES {
            let relocation = self.dies[die].relocation.as_mut();
            if let Some(copy) = relocation.and_then(|relocation| relocation.moves.pass(None)) {
                self.map_move(scheme, copy);
            }
        }
    }

    /// Programs a frontier's next page for a moved page. It leaves a block with a failed program, and moves to another
    /// die if this one has no room.
    #[inline(always)]
    pub(super) fn program_gc<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        (die, frontier): (usize, usize),
        source: &Source<N::Buf>,
        oob: Oob,
    ) -> Result<(usize, Ppa, (Lpn, Kind)), FtlError> {
        let mut on = die;
        loop {
            if self.dies[on].frontiers[frontier].is_full() {
                on = self.open_gc_block(scheme, nand, die, frontier)?;
            }
            let (to, mark) = self.dies[on].frontiers[frontier].take();
            // Only notes and Lost pages are new; a copy keeps its author.
            let handle = if oob.kind == Kind::Lost { self.placing.handle_of(oob.lpn) } else { 0 };
            match source.program(nand, to, Oob { aux: mark, handle, seq: self.keeper.next_seq(), ..oob }) {
                Ok(stored) => return Ok((on, to, stored)),
                Err(NandError::ProgramFailed(_)) => self.abandon(on, frontier),
                Err(error) => {
                    if matches!(error, NandError::Uncorrectable(_)) {
                        self.dies[on].frontiers[frontier].give_back(mark);
                    }
                    return Err(error.into());
                }
            }
        }
    }
}
