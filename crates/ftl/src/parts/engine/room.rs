//! How much room the dies have, and which one takes the next page.
//!
//! ## The reserve
//! It is whole if one of these holds, with R = `reserve_blocks`, b pages for data in a block, F free blocks on the die,
//! `room` pages left in them and in the die's frontiers, and `notes` trim notes that an erase may have to wait for:
//!
//! * R > 1, and F >= R or room >= R b;
//! * no victim is being emptied, and room >= R b;
//! * a victim has v valid pages, room > v + notes, and room + b >= v + R b. The last condition is dropped if the erase
//!   does not give a normal free block, after a failure or a fold.
//!
//! A mount closes open blocks, and their rest is lost then. So some schemes count free blocks: their reserve is whole if
//! F >= R with one die or R = 1, and the free blocks hold the victim's rest; else if F b, the rest of the frontier for moved
//! pages and half a block are at least R b. A scheme that collects late asks for one block more before the host takes one.
//!
//! ## The share
//! The next die in turn, or the one that the address names, takes a host page if its frontier has room, or if it holds no
//! more valid pages than its share. With D dies of N good blocks, f frontiers each and L logical pages, a die holds at
//! most m = (N - R - f) b - 1 - b valid pages. Its share is min(m, max(p, floor(p / 2) + floor(m / 2))) with
//! p = floor(L / D). If no die takes the page, the die with the largest m minus valid pages does, the last among equals.
//!
//! With `placement = "one"` relocated pages may open the block that the host fills. If the die is beyond its share
//! then, it takes no host page until it is within its share again.
//!
//! ## Weak dies
//! A weak die has too few good blocks for the reserve, its frontiers, the balance between dies and any data. It takes
//! no pages, neither the host's nor moved ones, and collects nothing. Its data stays readable until the host writes it
//! anew, elsewhere. Only a block that failed or shows growing bit errors is emptied, to other dies. The other dies
//! share the exported pages; the device ends when they cannot hold them.
//!
//! If erases fail one after the other on a die that is not weak yet, each emptied block is lost. Pages without room
//! there go to other dies, which make room for them as for host pages.

use super::relocation::Relocation;
use super::{slc, Pages, Scheme};
use crate::parts::blocks::frontier::Frontier;
use crate::parts::shares::{shares, Quota, FILLED};
use crate::FtlError;
use nandlab_nand::{BlockId, Geometry, Lpn};
use std::cmp::Reverse;

impl Pages {
    /// The die for a host page: the one that its address names, if that takes it, else the next in turn.
    #[inline(always)]
    pub(super) fn die_for(&mut self, at: Lpn, frontier: usize) -> usize {
        match self.dies.of_address(at) {
            Some(die) if self.takes(die, frontier) => die,
            _ => self.next_die(frontier),
        }
    }

    /// The die for the next host page: the next in turn, except dies that hold more than their share.
    #[inline(always)]
    pub(super) fn next_die(&mut self, frontier: usize) -> usize {
        if self.dies.len() == 1 {
            return 0;
        }
        if let Some(die) = self.dies.same_turn() {
            if self.takes(die, frontier) {
                return die;
            }
        }
        self.dies.begin_turn();
        for _ in 0..self.dies.len() {
            let die = self.dies.next_turn();
            if self.takes(die, frontier) {
                return die;
            }
        }
        self.roomiest_die()
    }

    /// Whether a die's frontier takes a host page: it has room, or the die holds no more than its share.
    #[inline(always)]
    pub(super) fn takes(&mut self, die: usize, frontier: usize) -> bool {
        let state = &self.dies[die];
        (!state.is_over && !state.frontiers[frontier].is_full()) || self.is_below_share(die)
    }

    /// Whether a die takes pages.
    pub(crate) fn works(&self, die: u32) -> bool {
        !self.dies[die as usize].is_weak
    }

    /// Whether a die holds no more than its share.
    pub(super) fn is_below_share(&mut self, die: usize) -> bool {
        let is_within = self.dies.len() == 1 || !self.dies[die].is_weak && self.valid_in(die) <= self.share(die);
        self.dies[die].is_over &= !is_within;
        is_within
    }

    /// Notes that a block was opened for moved pages. If the host fills such blocks too, its frontier never gets full,
    /// and without this check a die beyond its share would take pages until collection gains nothing.
    pub(super) fn note_share(&mut self, die: usize) {
        if self.dies.len() > 1 && self.placing.shares() {
            self.dies[die].is_over = self.valid_in(die) > self.share(die);
        }
    }

    /// Pages that a die can take before it needs another block: room in its frontiers and free blocks.
    pub(super) fn room_in<S: Scheme>(&self, scheme: &S, die: usize) -> u32 {
        let left: u32 = self.dies[die].frontiers.iter().map(Frontier::left).sum();
        left + self.free_in(scheme, die) * self.data_pages
    }

    /// A die's free blocks, except a fixed cache's and those that the scheme may take.
    #[inline]
    pub(super) fn free_in<S: Scheme>(&self, scheme: &S, die: usize) -> u32 {
        self.keeper.count_in(die as u32).saturating_sub(scheme.claim_in(die as u32))
    }

    /// Whether the reserve is whole; see the head of this file.
    #[inline(always)]
    pub(super) fn has_reserve<S: Scheme>(&self, scheme: &S, die: usize) -> bool {
        // As it is most of the time. Two blocks have room for any victim and its notes.
        if S::RESERVES_OPEN_ROOM
            && self.config.reserve_blocks > 1
            && self.free_in(scheme, die) >= self.config.reserve_blocks
        {
            return true;
        }
        self.finds_reserve(scheme, die)
    }

    fn finds_reserve<S: Scheme>(&self, scheme: &S, die: usize) -> bool {
        if !S::RESERVES_OPEN_ROOM {
            return self.has_reserve_without(scheme, die, 0);
        }
        self.free_in(scheme, die) >= self.config.reserve_blocks && self.holds_victim(scheme, die)
            || self.has_reserve_afterwards(scheme, die)
    }

    /// The same without the room in open blocks, and with `fewer` free blocks.
    pub(super) fn has_reserve_without(&self, scheme: &impl Scheme, die: usize, fewer: u32) -> bool {
        let (reserve, pages) = (self.config.reserve_blocks, self.data_pages);
        let free = self.free_in(scheme, die).saturating_sub(fewer);
        if self.dies.len() == 1 || reserve == 1 {
            return free >= reserve && self.holds_victim(scheme, die);
        }
        let frontiers = &self.dies[die].frontiers;
        let left = frontiers[frontiers.count() - 1].left();
        free * pages + left + pages / 2 >= reserve * pages
    }

    /// Whether the free blocks alone have room for the victim's remaining pages, if there is a victim. Two blocks have
    /// room for any victim and its notes.
    #[inline]
    fn holds_victim<S: Scheme>(&self, scheme: &S, die: usize) -> bool {
        let state = &self.dies[die];
        let rest = |relocation: &Relocation| self.table.valid_pages(relocation.block) + self.most_notes(scheme);
        let room = || self.free_in(scheme, die) * self.data_pages;
        self.config.reserve_blocks > 1 || state.relocation.as_ref().is_none_or(|relocation| room() > rest(relocation))
    }

    fn has_reserve_afterwards<S: Scheme>(&self, scheme: &S, die: usize) -> bool {
        let (room, pages) = (self.room_in(scheme, die), self.data_pages);
        let whole = self.config.reserve_blocks * pages;
        // Two blocks have room for any victim and its notes.
        if self.config.reserve_blocks > 1 && room >= whole {
            return true;
        }
        let Some(relocation) = &self.dies[die].relocation else { return room >= whole };
        // Copies that are not mapped yet have taken their room.
        let waiting = relocation.unmapped().filter(|&(from, _)| self.table.is_valid(from)).count() as u32;
        let left = self.table.valid_pages(relocation.block) - waiting;
        room > left + self.most_notes(scheme) && (!relocation.frees_block() || room + pages >= left + whole)
    }

    /// Whether the valid pages in `block` and their notes find room.
    pub(super) fn fits<S: Scheme>(&self, scheme: &S, die: usize, block: BlockId) -> bool {
        self.table.valid_pages(block) + self.most_notes(scheme) <= self.room_in(scheme, die)
    }

    /// Whether any block's pages and notes find room.
    pub(super) fn fits_any<S: Scheme>(&self, scheme: &S, die: usize) -> bool {
        self.data_pages + self.most_notes(scheme) <= self.room_in(scheme, die)
    }

    /// Trim notes that an erase may have to wait for.
    fn most_notes<S: Scheme>(&self, scheme: &S) -> u32 {
        scheme.most_pending(self.config.reserve_blocks, self.data_pages)
    }

    /// The die that can take the most pages before garbage collection gains nothing.
    #[cold]
    pub(super) fn roomiest_die(&self) -> usize {
        let room = |die: usize| i64::from(self.most_valid(die)) - i64::from(self.valid_in(die));
        self.dies.all_working().max_by_key(|&die| room(die)).expect("a device has a die")
    }

    /// Most valid pages with which a die still takes a host block.
    pub(super) fn most_valid(&self, die: usize) -> u32 {
        let kept = self.config.reserve_blocks + self.filled_blocks() * self.placing.blocks_of_unit() + self.shares[die];
        let usable = usable_pages(self.data_pages - self.padding, self.keeper.good_in(die as u32), kept);
        usable.saturating_sub(balance_pages(&self.geometry))
    }

    pub(super) fn valid_in(&self, die: usize) -> u32 {
        self.table.valid_pages_in(self.dies[die].blocks.clone())
    }

    /// Valid pages above which a die takes no new host block: its part of the logical pages plus half its spare pages.
    pub(super) fn share(&self, die: usize) -> u32 {
        let part = self.logical_pages / self.dies.working();
        let most = self.most_valid(die);
        part.max(part / 2 + most / 2).min(most)
    }

    /// Blocks that a die fills at the same time, except a fixed cache's.
    pub(super) fn filled_blocks(&self) -> u32 {
        let cached = self.cache.as_ref().is_some_and(slc::Cache::is_dynamic);
        self.dies[0].frontiers.count() as u32 + u32::from(cached)
    }

    pub(super) fn good_blocks(&self, die: usize) -> u32 {
        self.keeper.good_in(die as u32) + self.keeper.good_apart(die as u32)
    }

    /// Handles bad blocks on `die`: with too few good ones left it takes no more pages, if another die still does.
    pub(super) fn pass_over_weak(&mut self, die: usize) {
        if self.dies.working() == 1 || self.dies[die].is_weak || self.most_valid(die) > 0 {
            return;
        }
        (0..self.dies[die].frontiers.count()).for_each(|frontier| self.close_frontier(die, frontier));
        self.dies[die].rests.clear();
        self.dies.weaken(die);
    }

    /// The other dies that take pages, the one with most room to lend first; those of other reclaim groups last.
    pub(super) fn lenders_for<S: Scheme>(&self, scheme: &S, die: usize) -> std::vec::IntoIter<usize> {
        let others = self.placing.fdp().map_or(self.dies.len() as u32, |fdp| fdp.units.layout.dies) as usize;
        let room = |&at: &usize| {
            let left = self.dies[at].relocation.as_ref().map_or(0, |own| self.table.valid_pages(own.block));
            (at / others != die / others, Reverse(i64::from(self.room_in(scheme, at)) - i64::from(left)), at)
        };
        let mut lenders: Vec<usize> = self.dies.all_working().filter(|&at| at != die).collect();
        lenders.sort_by_key(room);
        lenders.into_iter()
    }

    /// Finds the dies that take pages, if blocks have gone bad since the last call: each weak die leaves its share of the
    /// scheme's blocks to the others.
    ///
    /// # Errors
    /// [`FtlError::WornOut`] if these dies have too few good blocks for the exported pages.
    pub(crate) fn take_stock<S: Scheme>(&mut self, scheme: &mut S) -> Result<(), FtlError> {
        let bad = Some(self.keeper.bad());
        if self.enough_with != bad {
            self.share_dies(scheme);
            self.count_room()?;
            self.enough_with = bad;
        }
        Ok(())
    }

    #[cold]
    fn share_dies(&mut self, scheme: &mut impl Scheme) {
        loop {
            let works: Vec<bool> = self.dies.iter().map(|die| !die.is_weak).collect();
            self.shares = shares(self.shared, &works);
            scheme.share_dies(&works);
            let working = self.dies.working();
            (0..self.dies.len()).for_each(|die| self.pass_over_weak(die));
            if self.dies.working() == working {
                return;
            }
        }
    }

    #[cold]
    fn count_room(&self) -> Result<(), FtlError> {
        let (room, pages) = (self.room(), u64::from(self.needed));
        if room < pages {
            let missing = (pages - room).div_ceil(self.data_pages.into()) as u32;
            return Err(self.worn_out(missing));
        }
        Ok(())
    }

    /// Most valid pages with which the dies still take blocks for the host.
    pub(crate) fn room(&self) -> u64 {
        self.dies.all_working().map(|die| u64::from(self.most_valid(die))).sum()
    }

    /// The error when the dies that take pages lack at least `missing` good blocks.
    pub(crate) fn worn_out(&self, missing: u32) -> FtlError {
        let good = self.dies.all_working().map(|die| self.good_blocks(die)).sum();
        FtlError::WornOut { good, needed: good + missing, weak_dies: self.dies.weak() }
    }
}

/// Pages that a device without bad blocks holds while a victim on each die still gains something, with a frontier for the
/// host, one for moved pages, and a scheme's own blocks; 0 if a die would be weak.
pub(crate) fn usable_with(geometry: &Geometry, reserve_blocks: u32, quota: Quota) -> u32 {
    let shares = shares(quota.shared, &vec![true; geometry.dies() as usize]);
    let kept = reserve_blocks.saturating_add(FILLED).saturating_add(quota.each);
    let of_die = |share: &u32| {
        let usable = usable_pages(geometry.pages_per_block(), geometry.blocks_per_die(), kept.saturating_add(*share));
        usable.saturating_sub(balance_pages(geometry))
    };
    if shares.iter().any(|share| of_die(share) == 0) {
        return 0;
    }
    shares.iter().map(of_die).sum()
}

/// Most pages on a die that may be valid while garbage collection still finds an invalid one; `kept` blocks are free or
/// being filled.
pub(crate) fn usable_pages(data_pages: u32, good_blocks: u32, kept: u32) -> u32 {
    (good_blocks.saturating_sub(kept) * data_pages).saturating_sub(1)
}

/// Pages without valid data on each of several dies, so that the dies may fill unevenly by one block.
pub(crate) fn balance_pages(geometry: &Geometry) -> u32 {
    if geometry.dies() > 1 {
        geometry.pages_per_block()
    } else {
        0
    }
}
