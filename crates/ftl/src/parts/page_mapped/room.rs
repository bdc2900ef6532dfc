//! How much room the dies have, and which ones take pages.
//!
//! ## The share
//! A die with N good blocks fills f of them at a time, keeps R = `reserve_blocks` free, and leaves s to the scheme. So it
//! holds at most m = (N - R - f - s) b - 1 - b valid pages while a victim still gains something, with b pages a block; the
//! last b are left out on a single die. A die opens a block for the host while it holds no more than its share,
//! min(m, max(p, floor(p / 2) + floor(m / 2))), where p is the logical pages divided by the dies. If all dies hold more,
//! the one with the most room takes the page. So an address pattern cannot fill a die until it gains nothing. It is the
//! rule of the page map (`page/room.rs`).
//!
//! ## Weak dies
//! A die with so few good blocks that m is 0 takes no page, and leaves its part of the scheme's blocks to the others. What
//! it holds can be read, and moves when it is written again.

use super::{Pages, Scheme};
use crate::parts::shares::{shares, Quota, FILLED};
use crate::FtlError;
use nandlab_nand::Geometry;

/// The result of the last count of good blocks.
#[derive(Debug)]
pub(super) struct Stock {
    /// Bad blocks on the device then; `None` before the first count.
    bad: Option<u32>,
    /// By die: whether it takes pages.
    works: Vec<bool>,
    /// By die: its share of the scheme's blocks.
    shares: Vec<u32>,
    /// Pages that must find room.
    needed: u32,
}

impl Stock {
    pub(super) fn none(geometry: &Geometry) -> Self {
        let dies = geometry.dies() as usize;
        Self { bad: None, works: vec![true; dies], shares: vec![0; dies], needed: 0 }
    }

    fn working(&self) -> u32 {
        self.works.iter().filter(|&&works| works).count() as u32
    }
}

/// Most valid pages on a die with `good` good blocks, `kept` of them free or being filled or the scheme's.
fn most_valid(geometry: &Geometry, good: u32, kept: u32) -> u32 {
    // The dies may fill unevenly by one block.
    let balance = if geometry.dies() > 1 { geometry.pages_per_block() } else { 0 };
    (good.saturating_sub(kept) * geometry.pages_per_block()).saturating_sub(1).saturating_sub(balance)
}

impl Pages {
    /// Pages that a device without bad blocks holds while a victim on each die still gains something; 0 if a die would be
    /// weak.
    pub(crate) fn usable(geometry: &Geometry, reserve_blocks: u32, quota: Quota) -> u32 {
        let shares = shares(quota.shared, &vec![true; geometry.dies() as usize]);
        let kept = reserve_blocks.saturating_add(FILLED).saturating_add(quota.each);
        let of_die = |share: &u32| most_valid(geometry, geometry.blocks_per_die(), kept.saturating_add(*share));
        if shares.iter().any(|share| of_die(share) == 0) {
            return 0;
        }
        shares.iter().map(of_die).sum()
    }

    /// Most valid pages with which a die still takes a block for the host.
    fn most_valid(&self, die: u32, each: u32, share: u32) -> u32 {
        let kept = self.reserve_blocks.saturating_add(FILLED + each).saturating_add(share);
        most_valid(&self.geometry, self.keeper.good_in(die), kept)
    }

    /// The same with the shares of the last count.
    fn room_of(&self, scheme: &impl Scheme, die: u32) -> u32 {
        match self.stock.works[die as usize] {
            true => self.most_valid(die, scheme.quota().each, self.stock.shares[die as usize]),
            false => 0,
        }
    }

    /// The same for all dies together.
    pub(crate) fn room(&self, scheme: &impl Scheme) -> u32 {
        (0..self.geometry.dies()).map(|die| self.room_of(scheme, die)).sum()
    }

    /// Whether a die takes pages.
    pub(crate) fn works(&self, die: u32) -> bool {
        self.stock.works[die as usize]
    }

    /// Finds the dies that take pages, if blocks have gone bad since the last call.
    ///
    /// # Errors
    /// [`FtlError::WornOut`] if these dies have too little room for the exported pages; nothing has changed then.
    pub(crate) fn take_stock<S: Scheme>(&mut self, scheme: &mut S) -> Result<(), FtlError> {
        let bad = Some(self.keeper.bad());
        if self.stock.bad != bad {
            self.count(scheme)?;
            self.stock.bad = bad;
        }
        Ok(())
    }

    #[cold]
    fn count<S: Scheme>(&mut self, scheme: &mut S) -> Result<(), FtlError> {
        let quota = scheme.quota();
        let works = self.find_working(quota);
        let shares = shares(quota.shared, &works);
        let working = || (0..self.geometry.dies()).zip(&works).filter(|(_, &works)| works).map(|(die, _)| die);
        let room: u32 = working().map(|die| self.most_valid(die, quota.each, shares[die as usize])).sum();
        let needed = scheme.needed();
        if room < needed {
            let good = working().map(|die| self.keeper.good_in(die)).sum();
            let missing = (needed - room).div_ceil(self.geometry.pages_per_block());
            let weak_dies = works.iter().filter(|&&works| !works).count() as u32;
            return Err(FtlError::WornOut { good, needed: good + missing, weak_dies });
        }
        for frontier in (0..self.area.frontiers().len()).filter(|at| !works[at % works.len()]) {
            self.area.close(frontier, self.keeper.seq());
        }
        scheme.share_dies(&works);
        self.stock = Stock { works, shares, needed, ..self.stock };
        Ok(())
    }

    /// The dies with room for pages: each weak die leaves its part of the scheme's blocks to the others. All, if none has
    /// any.
    fn find_working(&self, quota: Quota) -> Vec<bool> {
        let mut works = vec![true; self.geometry.dies() as usize];
        loop {
            let shares = shares(quota.shared, &works);
            let is_weak = |&die: &usize| works[die] && self.most_valid(die as u32, quota.each, shares[die]) == 0;
            let weak: Vec<usize> = (0..works.len()).filter(is_weak).collect();
            if weak.is_empty() || weak.len() == works.iter().filter(|&&works| works).count() {
                return works;
            }
            weak.into_iter().for_each(|die| works[die] = false);
        }
    }

    /// Whether a die holds no more than its share.
    pub(super) fn is_below_share(&self, scheme: &impl Scheme, die: u32) -> bool {
        if self.geometry.dies() == 1 {
            return true;
        }
        let most = self.room_of(scheme, die);
        let part = self.stock.needed / self.stock.working().max(1);
        self.works(die) && self.area.valid_pages_in(die) <= part.max(part / 2 + most / 2).min(most)
    }

    /// The dies that take pages, the one with the most room first.
    pub(super) fn roomiest(&self, scheme: &impl Scheme) -> Vec<u32> {
        let room = |&die: &u32| i64::from(self.area.valid_pages_in(die)) - i64::from(self.room_of(scheme, die));
        let mut dies: Vec<u32> = (0..self.geometry.dies()).filter(|&die| self.works(die)).collect();
        dies.sort_by_key(room);
        dies
    }
}
