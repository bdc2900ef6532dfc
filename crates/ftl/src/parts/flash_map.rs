//! A map on flash, with pages read into memory on demand.
//!
//! ## Idea
//! The map is cut into map pages (translation pages), each the size of a flash page. A directory in memory
//! holds the location of each map page; the contents are read from flash and written back there, in blocks of
//! their own. The FTL defines the entries and decides which ones stay in memory; here a map page is only bytes.
//! An FTL that pages in units of several pages numbers them consecutively. Pages that are written one after the other
//! go to the frontiers in turn, so a unit is read from several dies at once if the map fills a block on each.
//!
//! ## Blocks
//! The map takes blocks from the keeper shared by all areas, up to its quota: the whole blocks of the map, one for
//! the rest, one for each frontier, and spare blocks. The dies that take pages share the quota equally
//! ([`FlashMap::share_dies`]). The owner of the data leaves [`FlashMap::claim_in`] blocks of each die untouched, so a map
//! page can be written at any time, even in the middle of data garbage collection and at mount. When the quota is used
//! up, the map empties its block with the fewest valid pages.
//!
//! ## Recovery
//! The spare area of a map page has its number and the sequence number of its write: the page describes the map
//! at that time. A moved map page keeps this sequence number, because its contents are not newer. So if a host
//! page has a higher number than the map page with its entry, the host page is newer than the map on flash, and
//! a mount that reads all spare areas finds the updates lost from memory. For this the FTL must follow two
//! rules. First, a written map page contains every change of its entries so far, including entries still marked
//! as changed. Second, a host page without an earlier entry is on flash before the map page with its entry
//! (`after` in [`FlashMap::write`]).
//!
//! If bit errors lost a map page and it has to move, a replacement page records the loss.

mod recover;
#[cfg(test)]
mod tests;

pub(crate) use recover::FoundMap;

use super::blocks::area::{Area, Victim};
use super::blocks::keeper::Keeper;
use super::blocks::scan::MapForm;
use super::shares::shares;
use super::victim::{self, VictimPolicy};
use crate::{BlockState, Events, FtlError};
use nandlab_nand::{
    scoped, BlockId, Cause, Geometry, Kind, Lpn, Nand, NandError, Oob, Origin, PageBuf, Ppa, Seq, Time,
};

/// A map's size and quota.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    /// Identifies the map's FTL, from 1 to 4095: a mount distinguishes different FTLs' maps by it.
    pub(crate) form: u16,
    /// Map pages.
    pub(crate) pages: u32,
    /// Spare blocks, in percent relative to the whole blocks of the map; at least one block.
    pub(crate) spare_percent: u32,
}

/// Set in `aux` on every page in a paged map; the form is below it, from bit 2 on.
const PAGED: u16 = 1 << 15;

impl Shape {
    /// Whole blocks that the map would fill if it were written once; less than a block is left over.
    fn whole_blocks(&self, geometry: &Geometry) -> u32 {
        self.pages / geometry.pages_per_block()
    }

    /// Blocks being filled at the same time: one on every die, as long as the map has enough blocks.
    pub(crate) fn frontiers(&self, geometry: &Geometry) -> u32 {
        self.whole_blocks(geometry).clamp(1, geometry.dies())
    }

    /// Blocks kept for the map. Between two writes it usually has fewer; the last is opened before a victim is released.
    pub(crate) fn quota(&self, geometry: &Geometry) -> u32 {
        let whole = self.whole_blocks(geometry);
        let spare = u64::from(whole) * u64::from(self.spare_percent) / 100;
        let spare = spare.clamp(1, u64::from(geometry.blocks())) as u32;
        (whole + 1).saturating_add(self.frontiers(geometry)).saturating_add(spare)
    }

    /// Each die's quota, if each die collects separately: equal shares for the dies in `works`.
    pub(crate) fn shares(&self, geometry: &Geometry, works: &[bool]) -> Vec<u32> {
        shares(self.quota(geometry), works)
    }

    /// The pages' form, for a mount.
    pub(crate) fn form(&self) -> MapForm {
        assert!((1..1 << 12).contains(&self.form), "{} is no form of a map", self.form);
        MapForm { tag: PAGED | self.form << 2, pages: self.pages }
    }
}

/// A map page's state on flash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Held {
    /// It was never written.
    Nothing,
    /// Its bytes can be read.
    Page,
    /// It was written, and bit errors have destroyed its bytes.
    Lost,
}

/// A map's activity since its mount.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct MapCounts {
    /// Map blocks collected.
    pub(crate) gc_runs: u64,
    /// Blocks without valid pages, among them.
    pub(crate) empty_gc_runs: u64,
    /// Map pages moved by these collections, and out of blocks with a failed program.
    pub(crate) moved: u64,
}

/// RAM state for a map on flash.
#[derive(Debug)]
pub(crate) struct FlashMap {
    shape: Shape,
    tag: u16,
    quota: u32,
    /// By die, its part in the quota, if each die collects separately; otherwise empty.
    shares: Vec<u32>,
    /// By die: whether it takes pages; the map empties its blocks on other dies last.
    works: Vec<bool>,
    area: Area,
    /// The frontier that last took a page.
    turn: usize,
    /// Each map page's address.
    directory: Vec<Ppa>,
    policy: Box<dyn VictimPolicy>,
    counts: MapCounts,
}

impl FlashMap {
    /// An empty map: nothing was written.
    pub(crate) fn new(geometry: &Geometry, shape: Shape) -> Self {
        let frontiers = shape.frontiers(geometry);
        Self {
            shape,
            tag: shape.form().tag,
            quota: shape.quota(geometry),
            shares: Vec::new(),
            works: Vec::new(),
            area: Area::new(geometry, frontiers),
            turn: frontiers as usize - 1,
            directory: vec![Ppa::NONE; shape.pages as usize],
            policy: victim::Victim::Greedy.policy(geometry, 0),
            counts: MapCounts::default(),
        }
    }

    /// From now on the dies in `works` share the quota equally.
    pub(crate) fn share_dies(&mut self, geometry: &Geometry, works: &[bool]) {
        self.shares = self.shape.shares(geometry, works);
        self.works = works.to_vec();
    }

    /// Map pages.
    pub(crate) fn pages(&self) -> u32 {
        self.shape.pages
    }

    /// A map page's address; [`Ppa::NONE`] if it was never written.
    #[inline]
    pub(crate) fn at(&self, page: u32) -> Ppa {
        self.directory[page as usize]
    }

    /// The map's blocks.
    pub(crate) fn area(&self) -> &Area {
        &self.area
    }

    #[cfg(test)]
    fn counts(&self) -> MapCounts {
        self.counts
    }

    /// An FTL's events, including its map's events.
    pub(crate) fn events(&self, of_data: Events) -> Events {
        Events {
            gc_runs: of_data.gc_runs + self.counts.gc_runs,
            empty_gc_runs: of_data.empty_gc_runs + self.counts.empty_gc_runs,
            map_gc_runs: self.counts.gc_runs,
            map_gc_copies: self.counts.moved,
            ..of_data
        }
    }

    /// Every block with its valid-page count; `of_data` gives the data pages.
    pub(crate) fn blocks(&self, keeper: &Keeper, of_data: impl Fn(BlockId) -> u32) -> Vec<BlockState> {
        keeper.states(|block| of_data(block) + self.area.valid_pages(block))
    }

    /// A die's keeper blocks reserved for the map, and left alone by others.
    #[inline]
    pub(crate) fn claim_in(&self, die: u32) -> u32 {
        self.shares[die as usize].saturating_sub(self.area.blocks_in(die))
    }

    /// Directory size, bytes.
    pub(crate) fn directory_bytes(&self) -> u64 {
        4 * self.directory.len() as u64
    }

    /// Reads the last bytes of a map page into `bytes`; they are the written bytes if the answer is
    /// [`Held::Page`]. Counts under the current cause, or under [`Cause::Map`] if the host waits for it.
    ///
    /// # Errors
    /// [`FtlError::Nand`].
    pub(crate) fn read<N: Nand>(&self, nand: &mut N, page: u32, bytes: &mut [u8]) -> Result<Held, FtlError> {
        let from = self.directory[page as usize];
        if !from.is_some() {
            return Ok(Held::Nothing);
        }
        match as_map(nand, |nand| nand.read_tail(from, bytes)) {
            Ok(oob) if oob.aux & MapForm::LOST != 0 => Ok(Held::Lost),
            Ok(_) => Ok(Held::Page),
            Err(NandError::Uncorrectable(_)) => Ok(Held::Lost),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes a map page of one flash page, after all operations that end by `after` are on flash; the previous
    /// copy becomes invalid. The cause is as in [`Self::read`]; the device's context has the end.
    ///
    /// # Errors
    /// [`FtlError::WornOut`], [`FtlError::Nand`].
    pub(crate) fn write<N: Nand>(
        &mut self,
        nand: &mut N,
        keeper: &mut Keeper,
        page: u32,
        bytes: &[u8],
        after: Time,
    ) -> Result<(), FtlError> {
        as_map(nand, |nand| {
            let before = nand.ctx().fence_at(after);
            let written = self.program(nand, keeper, page, bytes, None);
            nand.ctx().set_ready(before);
            let to = written?;
            let old = std::mem::replace(&mut self.directory[page as usize], to);
            if old.is_some() {
                self.area.set_invalid(old);
                keeper.supersede(old, nand.ctx().last());
            }
            self.area.set_valid(to);
            Ok(())
        })
    }

    /// Programs a map page at the next frontier. For a moved page, `moved` has its sequence number, its marks and
    /// the frontier, and the program starts no collection.
    fn program<N: Nand>(
        &mut self,
        nand: &mut N,
        keeper: &mut Keeper,
        page: u32,
        bytes: &[u8],
        moved: Option<(Seq, u16, usize)>,
    ) -> Result<Ppa, FtlError> {
        let blank = N::Buf::zeroed(keeper.geometry().page_bytes());
        loop {
            let frontier = match moved {
                Some((_, _, frontier)) => frontier,
                None => self.next_frontier(),
            };
            if self.area.is_full(frontier) {
                match moved {
                    Some(_) => self.open(nand, keeper, frontier)?,
                    None => self.renew(nand, keeper, frontier)?,
                }
            }
            let (seq, marks) = moved.map_or_else(|| (keeper.next_seq(), 0), |(seq, marks, _)| (seq, marks));
            let oob = Oob { aux: self.tag | marks, kind: Kind::Map, ..Oob::data(Lpn(page), seq, Origin::FTL) };
            if let Some(to) = self.area.program(nand, frontier, &blank, bytes, oob)? {
                return Ok(to);
            }
        }
    }

    fn next_frontier(&mut self) -> usize {
        self.turn = if self.turn + 1 == self.area.frontiers().len() { 0 } else { self.turn + 1 };
        self.turn
    }

    /// Replaces a full frontier; if the quota is used up, pages of victims come first.
    #[cold]
    fn renew<N: Nand>(&mut self, nand: &mut N, keeper: &mut Keeper, frontier: usize) -> Result<(), FtlError> {
        while self.area.is_full(frontier) {
            self.open(nand, keeper, frontier)?;
            self.shrink(nand, keeper, frontier)?;
        }
        Ok(())
    }

    /// Empties victims into a frontier until the map is below its quota, or no victim would gain anything. If a
    /// die is weak and the others have not yet made room for its part, the map works with its current blocks.
    pub(crate) fn shrink<N: Nand>(
        &mut self,
        nand: &mut N,
        keeper: &mut Keeper,
        frontier: usize,
    ) -> Result<(), FtlError> {
        let has_weak = self.works.contains(&false);
        while (self.area.blocks() >= self.quota || has_weak && keeper.count() == 0)
            && self.collect(nand, keeper, frontier)?
        {}
        Ok(())
    }

    /// Opens a block at a full frontier.
    fn open<N: Nand>(&mut self, nand: &mut N, keeper: &mut Keeper, frontier: usize) -> Result<(), FtlError> {
        self.area.close(frontier, keeper.seq());
        let die = self.die_for(keeper, self.home(keeper, frontier));
        let block = scoped(nand, Cause::Gc, |nand| keeper.take(nand, Some(die)))?;
        self.area.open(frontier, block.ok_or_else(|| keeper.worn_out(1))?);
        Ok(())
    }

    /// A frontier's die: with shares, a die with a share for the map.
    fn home(&self, keeper: &Keeper, frontier: usize) -> u32 {
        let dies = self.shares.iter().filter(|&&share| share > 0).count();
        let giving = (0..).zip(&self.shares).filter(|(_, &share)| share > 0).map(|(die, _)| die);
        giving.clone().nth(frontier % dies.max(1)).unwrap_or(frontier as u32 % keeper.geometry().dies())
    }

    /// The die of the next block: `near`, or the next die with a remaining share. If the quota is used up, a
    /// die gives one more block if it has a victim to return one at once: so frontiers stay on separate dies.
    fn die_for(&self, keeper: &Keeper, near: u32) -> u32 {
        let dies = self.shares.len() as u32;
        if dies > 0 && self.area.blocks() + 1 >= self.quota {
            let share = self.shares[near as usize];
            if share > 1 && self.area.blocks_in(near) == share && keeper.count_in(near) > 0 && self.area.gains_in(near)
            {
                return near;
            }
        }
        let has_more = |&die: &u32| self.claim_in(die) > 0 && keeper.count_in(die) > 0;
        (0..dies).map(|step| (near + step) % dies).find(has_more).unwrap_or(near)
    }

    /// Empties a map block into `frontier`; false if that would gain nothing.
    pub(crate) fn collect<N: Nand>(
        &mut self,
        nand: &mut N,
        keeper: &mut Keeper,
        frontier: usize,
    ) -> Result<bool, FtlError> {
        let victim = if self.shares.is_empty() {
            self.area.next_victim(&mut *self.policy, keeper.seq())
        } else {
            let near = self.home(keeper, frontier);
            self.area.next_victim_near(near, self.area.blocks_in(near) > self.shares[near as usize], &self.works)
        };
        let Some(victim) = victim else { return Ok(false) };
        let cause = if victim.is_failing { Cause::BadBlock } else { Cause::Gc };
        scoped(nand, cause, |nand| self.empty(nand, keeper, victim, frontier))?;
        Ok(true)
    }

    fn empty<N: Nand>(
        &mut self,
        nand: &mut N,
        keeper: &mut Keeper,
        victim: Victim,
        frontier: usize,
    ) -> Result<(), FtlError> {
        let valid: Vec<Ppa> = self.area.valid_in(victim.block).collect();
        let mut bytes = vec![0; keeper.geometry().page_bytes() as usize];
        for &from in &valid {
            self.relocate(nand, keeper, from, frontier, &mut bytes)?;
        }
        self.counts.moved += valid.len() as u64;
        if !victim.is_failing {
            self.counts.gc_runs += 1;
            self.counts.empty_gc_runs += u64::from(valid.is_empty());
        }
        self.area.release(nand, keeper, victim)
    }

    /// Moves a map page: a read through the controller and a program. A page that can be read keeps its sequence number.
    fn relocate<N: Nand>(
        &mut self,
        nand: &mut N,
        keeper: &mut Keeper,
        from: Ppa,
        frontier: usize,
        bytes: &mut [u8],
    ) -> Result<(), FtlError> {
        let (page, seq, marks) = match nand.read_tail(from, bytes) {
            Ok(oob) => (oob.lpn.0, oob.seq, oob.aux & MapForm::LOST),
            Err(NandError::Uncorrectable(_)) => {
                bytes.fill(0);
                (self.page_at(from), keeper.next_seq(), MapForm::LOST)
            }
            Err(error) => return Err(error.into()),
        };
        let end = nand.ctx().last();
        let before = nand.ctx().after(end);
        let to = self.program(nand, keeper, page, bytes, Some((seq, marks, frontier)));
        nand.ctx().set_ready(before);
        let to = to?;
        assert_eq!(self.directory[page as usize], from, "map page {page} is valid at {from} and its place is another");
        self.directory[page as usize] = to;
        self.area.set_invalid(from);
        self.area.set_valid(to);
        keeper.supersede(from, nand.ctx().last());
        Ok(())
    }

    /// The map page at a valid flash page.
    fn page_at(&self, from: Ppa) -> u32 {
        self.directory.iter().position(|&at| at == from).expect("a valid page of the map is in the directory") as u32
    }

    /// Empties and retires blocks with a failed program.
    pub(crate) fn retire_failing<N: Nand>(&mut self, nand: &mut N, keeper: &mut Keeper) -> Result<(), FtlError> {
        while self.area.is_failing() {
            let frontier = self.next_frontier();
            self.collect(nand, keeper, frontier)?;
        }
        Ok(())
    }

    /// Checks from flash that each map page is at its directory address, and that nothing else is valid.
    ///
    /// # Panics
    /// With the offending map page or block.
    pub(crate) fn check<N: Nand>(&self, nand: &mut N) {
        self.area.check("map");
        let mut valid = 0;
        for (page, &at) in (0..).zip(&self.directory).filter(|(_, at)| at.is_some()) {
            assert!(self.area.is_valid(at), "map page {page} is at {at}, which is not valid");
            let oob = nand.read_spare(at).expect("a map page can be read").expect("a map page is programmed");
            let found = (oob.kind, oob.lpn, oob.aux & !MapForm::MARKS);
            assert_eq!(found, (Kind::Map, Lpn(page), self.tag), "page {at} has map page {page}");
            valid += 1;
        }
        let blocks = (0..nand.geometry().blocks()).map(BlockId);
        let counted: u32 = blocks.map(|block| self.area.valid_pages(block)).sum();
        assert_eq!(counted, valid, "valid pages of the map");
    }
}

/// Runs `work` under [`Cause::Map`] if the host waits for it: for a request, or the read of a write of a part.
fn as_map<N: Nand, R>(nand: &mut N, work: impl FnOnce(&mut N) -> R) -> R {
    let cause = match nand.ctx().cause() {
        Cause::Host | Cause::ReadModifyWrite => Cause::Map,
        other => other,
    };
    scoped(nand, cause, work)
}
