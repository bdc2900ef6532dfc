//! A victim, from its choice to its erase.
//!
//! By tokens a victim is emptied in steps, as in the page map (`parts/engine/collect.rs`). Once a die has no more free
//! blocks than are set aside, each host page there moves a part of the die's victim. Let g be the pages that the victim
//! gains, and n its pages with data: a host page reads n / g of them. The victim is then empty when the open block is full; with several
//! handles, when the host has written as many pages to the die as it gains.
//!
//! Survivors wait in memory until they fill a page, or until the victim was read to its end. The map still points into the
//! victim. If the host replaces such a sector meanwhile, the sector is dropped ([`Emptying::forget`]).

use super::{Holds, Scheme, SectorMapped};
use crate::parts::collection::Collection;
use crate::parts::merge_buffer::{Gathered, DEAD};
use crate::FtlError;
use nandlab_nand::{scoped, BlockId, Cause, Geometry, Nand, Origin, PageBuf, Ppa};

/// A valid logical sector from a victim, and its place among the survivors.
pub(super) type Survivor = (u32, usize);

/// A logical sector, and its address in the victim.
type Placed = (u32, u32);

/// A victim's valid sectors.
#[derive(Debug, Default)]
pub(super) struct Survivors {
    pub(super) sectors: Gathered,
    /// By place: the sector's address in the victim.
    from: Vec<u32>,
    /// Sectors that the host has replaced since.
    dead: usize,
    /// Mapped sectors with lost contents.
    pub(super) lost: Vec<Placed>,
    /// Pages programmed whole, and sectors still to be gathered.
    pub(super) whole: u32,
    pub(super) left: u32,
}

impl Survivors {
    /// Adds a sector with its contents from `place` in `page`.
    pub(super) fn push<B: PageBuf>(&mut self, (sector, from): Placed, origin: Origin, page: &B, place: u32) {
        self.sectors.push(sector, origin, page, place);
        self.from.push(from);
    }

    /// Sectors that are still mapped to the victim.
    fn count(&self) -> usize {
        self.sectors.len() - self.dead + self.lost.len()
    }

    /// Removes the replaced sectors.
    fn compact(&mut self) {
        if self.dead > 0 {
            let is_left = self.sectors.sectors.iter().map(|&sector| sector != DEAD);
            self.from = self.from.iter().zip(is_left).filter(|&(_, left)| left).map(|(&from, _)| from).collect();
            self.sectors = self.sectors.left();
            self.dead = 0;
        }
    }
}

/// One page in the fixed-point numbers of [`Emptying::rate`].
const ONE: u64 = 1 << 16;

/// A victim that gains next to nothing is emptied over this part of a block of host pages.
const LEAST_GAIN: u32 = 16;

/// A block being emptied.
#[derive(Debug)]
pub(super) struct Emptying {
    block: BlockId,
    /// The first page not read yet.
    next: u32,
    end: u32,
    found: Survivors,
    /// Pages read for each host page, and the credit not used yet, both in parts of [`ONE`].
    rate: u64,
    credit: u64,
    /// Whether it had no valid sector at the start.
    was_empty: bool,
    /// Lost map pages searched for until it was begun; a later search may find sectors in pages read before.
    rebuilt: u64,
}

impl Emptying {
    pub(super) fn block(&self) -> BlockId {
        self.block
    }

    /// Drops the survivors from these addresses: the host has replaced them.
    #[cold]
    pub(super) fn forget(&mut self, address: u32, count: u32) {
        let is_gone = |at: u32| (address..address + count).contains(&at);
        let Survivors { sectors, from, dead, lost, .. } = &mut self.found;
        for (sector, _) in sectors.sectors.iter_mut().zip(from).filter(|(_, from)| is_gone(**from)) {
            *dead += usize::from(*sector != DEAD);
            *sector = DEAD;
        }
        lost.retain(|&(_, from)| !is_gone(from));
    }

    /// Starts again at the first page: the map still points to the sectors that did not move.
    fn restart(&mut self, geometry: &Geometry) {
        self.next = geometry.page(self.block, 0).0;
        self.found = Survivors::default();
    }
}

impl<S: Scheme> SectorMapped<S> {
    /// Makes the last host page pay for its die's collection. If blocks have gone bad, the next opening looks first at
    /// the room left.
    #[inline]
    pub(super) fn pay<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        let Some(die) = self.owing.take() else { return Ok(()) };
        let is_due = self.emptying[die].is_some() || self.keeper.count_in(die as u32) <= self.set_aside(die);
        if self.options.collection == Collection::AtOnce || !is_due || !self.stock.is_of(self.keeper.good()) {
            return Ok(());
        }
        let before = nand.ctx().ready();
        let buffered = nand.ctx().set_buffered(false);
        let paid = self.pay_in(nand, die);
        nand.ctx().set_buffered(buffered);
        nand.ctx().set_ready(before);
        paid
    }

    fn pay_in<N: Nand>(&mut self, nand: &mut N, die: usize) -> Result<(), FtlError> {
        if self.is_estimated {
            self.recount(nand)?;
        }
        if !self.stock.works(die) || self.emptying[die].is_none() && !self.begin(die, false) {
            return Ok(());
        }
        let missing = self.set_aside(die).saturating_sub(self.keeper.count_in(die as u32));
        let Some(emptying) = &mut self.emptying[die] else { return Ok(()) };
        // Each block missing in the reserve adds one rate.
        emptying.credit += emptying.rate * (1 + u64::from(missing));
        let pages = u32::try_from(emptying.credit / ONE).unwrap_or(u32::MAX);
        emptying.credit %= ONE;
        self.go_on(nand, die, pages)
    }

    /// Free blocks that a die keeps: its reserve, and the blocks that the map has a claim to.
    pub(super) fn set_aside(&self, die: usize) -> u32 {
        self.options.reserve_blocks + self.map.claim_in(die as u32)
    }

    /// Empties a die's victim, or a new one, to its end; false if nothing would be gained.
    pub(super) fn collect<N: Nand>(&mut self, nand: &mut N, die: usize, may_borrow: bool) -> Result<bool, FtlError> {
        let may_go_on = match &self.emptying[die] {
            Some(emptying) => may_borrow || !self.must_borrow(emptying.block),
            None => self.begin(die, may_borrow),
        };
        if may_go_on {
            self.go_on(nand, die, u32::MAX)?;
        }
        Ok(may_go_on)
    }

    /// Chooses a die's data block with the fewest valid sectors; false if nothing would be gained.
    fn begin(&mut self, die: usize, may_borrow: bool) -> bool {
        let most = self.options.most_gained(&self.geometry);
        let victim = self.counts.fewest_valid(self.geometry.blocks_of_die(die as u32));
        let Some(block) = victim.filter(|&block| self.counts.valid(block) <= most) else { return false };
        let valid = self.counts.valid(block);
        if !may_borrow && self.must_borrow(block) {
            return false;
        }
        self.counts.reopen(block);
        let (next, of_block) = (self.geometry.page(block, 0).0, self.geometry.pages_per_block());
        let pages = (next..next + of_block).filter(|&page| self.holds.at(Ppa(page)) != Holds::Nothing).count() as u64;
        let gained = (of_block - valid.div_ceil(self.gathered).min(of_block)).max(of_block / LEAST_GAIN).max(1);
        self.emptying[die] = Some(Emptying {
            block,
            next,
            end: next + of_block,
            found: Survivors::default(),
            rate: pages * ONE / u64::from(gained) + 1,
            credit: 0,
            was_empty: valid == 0,
            rebuilt: self.rebuilt,
        });
        true
    }

    /// Reads up to `pages` pages with data from a die's victim and moves what fills pages; erases the victim once it is
    /// empty.
    fn go_on<N: Nand>(&mut self, nand: &mut N, die: usize, pages: u32) -> Result<(), FtlError> {
        let Some(mut emptying) = self.emptying[die].take() else { return Ok(()) };
        scoped(nand, Cause::Gc, |nand| match self.move_pages(nand, &mut emptying, pages) {
            Ok(true) => {
                self.forget_block(emptying.block);
                self.events.gc_runs += 1;
                self.events.empty_gc_runs += u64::from(emptying.was_empty);
                if self.keeper.erase(nand, emptying.block)? {
                    self.keeper.add(emptying.block, None);
                }
                self.counts.set_free(emptying.block);
                Ok(())
            }
            moved => {
                if moved.is_err() {
                    emptying.restart(&self.geometry);
                }
                self.emptying[die] = Some(emptying);
                moved.map(drop)
            }
        })
    }

    /// Reads up to `pages` pages from a victim; true if it is empty.
    fn move_pages<N: Nand>(&mut self, nand: &mut N, emptying: &mut Emptying, pages: u32) -> Result<bool, FtlError> {
        let mut left = pages;
        while emptying.next < emptying.end && !self.has_all(emptying.block, &emptying.found) {
            let page = Ppa(emptying.next);
            if self.holds.at(page) != Holds::Nothing {
                if left == 0 {
                    return Ok(false);
                }
                left -= 1;
                self.survive(nand, page, &mut emptying.found)?;
                self.program_full(nand, emptying.block, &mut emptying.found)?;
            }
            emptying.next += 1;
        }
        let found = std::mem::take(&mut emptying.found);
        let mut found = (self.rebuilt == emptying.rebuilt).then_some(found);
        self.until_nothing_is_lost(nand, |ftl, nand| {
            let found = match found.take() {
                Some(found) => found,
                None => ftl.search(nand, emptying.block)?,
            };
            ftl.move_rest(nand, emptying.block, found)
        })?;
        Ok(true)
    }

    /// Whether all valid sectors of a block are found.
    fn has_all(&self, block: BlockId, found: &Survivors) -> bool {
        !self.is_estimated && self.counts.valid(block) as usize == found.count()
    }

    fn survive<N: Nand>(&mut self, nand: &mut N, page: Ppa, found: &mut Survivors) -> Result<(), FtlError> {
        match self.holds.at(page) {
            Holds::Nothing => Ok(()),
            Holds::Whole => self.survive_whole(nand, page, found),
            Holds::Sectors => self.survive_listed(nand, page, found),
        }
    }

    /// Programs the survivors that fill a page, by tokens. In the hybrid map they wait for the end: a page may be made whole
    /// then.
    fn program_full<N: Nand>(&mut self, nand: &mut N, from: BlockId, found: &mut Survivors) -> Result<(), FtlError> {
        let gathered = self.gathered as usize;
        if self.options.collection == Collection::AtOnce || self.options.hybrid.is_some() {
            return Ok(());
        }
        while found.sectors.len() - found.dead >= gathered {
            found.compact();
            self.program_sectors(nand, self.moved(from), &found.sectors, 0, 0)?;
            found.sectors.remove_first(gathered);
            found.from.drain(..gathered);
        }
        Ok(())
    }

    /// Reads a block from its first page on.
    fn search<N: Nand>(&mut self, nand: &mut N, block: BlockId) -> Result<Survivors, FtlError> {
        let mut found = Survivors::default();
        let first = self.geometry.page(block, 0).0;
        for page in (first..first + self.geometry.pages_per_block()).map(Ppa) {
            if self.has_all(block, &found) {
                break;
            }
            self.survive(nand, page, &mut found)?;
        }
        Ok(found)
    }

    /// Moves the survivors found last, and writes trims that hide older copies.
    fn move_rest<N: Nand>(&mut self, nand: &mut N, block: BlockId, mut found: Survivors) -> Result<(), FtlError> {
        found.compact();
        let (valid, count) = (self.counts.valid(block), found.count());
        assert!(
            self.is_estimated || valid as usize == count,
            "block {block} has {valid} valid sectors, and {count} were found"
        );
        found.left = found.sectors.len() as u32;
        self.fold(nand, block, &mut found)?;
        self.sectors_again(nand, block, &found)?;
        // A trimmed sector's newest copy may lie here and older ones elsewhere. Flash records the trim before the
        // newest copy goes, or a mount would bring back an older one.
        self.write_trims(nand)
    }

    /// Moves all valid sectors out of a block at once.
    pub(super) fn empty<N: Nand>(&mut self, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        self.until_nothing_is_lost(nand, |ftl, nand| {
            let found = ftl.search(nand, block)?;
            ftl.move_rest(nand, block, found)
        })?;
        self.forget_block(block);
        Ok(())
    }

    /// An emptied block holds nothing any more.
    fn forget_block(&mut self, block: BlockId) {
        if self.is_estimated {
            self.counts.set(block, 0);
        }
        assert_eq!(self.counts.valid(block), 0, "block {block} was emptied");
        self.holds.clear(self.geometry.page(block, 0), &self.geometry);
        self.placing.emptied(block);
    }
}
