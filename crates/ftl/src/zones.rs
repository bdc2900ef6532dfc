//! Zones: a device that is written in order and erased zone by zone.
//!
//! ## Idea
//! A zone takes pages at its *write pointer* alone, and a reset empties it. So the device needs no map of pages and
//! collects nothing: the host does. NVMe calls this the Zoned Namespace Command Set.
//!
//! ## States
//! A zone is empty, open, closed, full, read-only or offline. A write opens it; open and closed zones are *active*. Both
//! numbers have limits. An open zone that the host did not open by a command is closed if another one needs its place.
//!
//! ## Flash
//! A zone's pages lie on its dies in turn, block row after block row ([`layout`]). A block is taken from the keeper with its
//! first page, and belongs to the zone until the reset erases it. A page carries its row's number. If a program fails, the
//! block's pages move to another block of the die, and the zone goes on there.
//!
//! ## Recovery
//! A zone is written up to the first page that is missing. Programs on several dies may have left pages behind it. Their
//! blocks are written again without them, before anything else ([`recover`]).
//!
//! A reset erases the zone's first block alone, and the others after it: a power cut in between leaves a zone without its
//! first page, which is an empty zone.
//!
//! ## Invariants
//! Page `n` of a zone is on flash where [`Layout::place`] says, for all `n` below the write pointer, and nothing is
//! behind it. A full zone has no block that could be written.
//!
//! ## References
//! NVM Express: Zoned Namespace Command Set Specification, revision 1.1, 2021.
//! M. Bjørling et al.: ZNS: Avoiding the Block Interface Tax for Flash-based SSDs. USENIX ATC 2021.

mod check;
mod layout;
mod recover;
mod used;

use crate::parts::blocks::keeper::Keeper;
use crate::FtlError;
pub(crate) use layout::Layout;
use layout::Place;
pub use layout::ZoneOptions;
use nandlab_nand::{scoped, BlockId, Cause, Geometry, Kind, Lpn, Nand, NandError, Oob, Origin, PageBuf, Ppa, Time};
pub use used::{ZoneCount, ZoneUse};

/// A zone's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum State {
    #[default]
    Empty,
    Open,
    Closed,
    Full,
}

impl State {
    fn is_active(self) -> bool {
        matches!(self, Self::Open | Self::Closed)
    }
}

/// No zone.
const NONE: u32 = u32::MAX;

/// A zone.
#[derive(Clone, Debug, Default)]
struct Zone {
    state: State,
    /// Pages below the write pointer.
    written: u32,
    /// Its blocks so far, row after row, a die after the other.
    blocks: Vec<BlockId>,
    /// The block with a failed program for which no other block was left; nothing is written to the zone any more.
    worn: Option<usize>,
}

/// A page that the device moved to another block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    pub(crate) from: Ppa,
    pub(crate) to: Ppa,
    /// What is stored with it.
    pub(crate) oob: Oob,
}

/// All zones of a device.
#[derive(Debug)]
pub(crate) struct Zones {
    geometry: Geometry,
    pub(crate) layout: Layout,
    /// [`Layout::handle`].
    handle: u8,
    pub(crate) keeper: Keeper,
    zones: Vec<Zone>,
    /// By block: the zone that it is in; [`NONE`] if it is in none.
    of: Vec<u32>,
    active: u32,
    /// Blocks in which a program failed; nothing in them counts once their pages are on flash elsewhere.
    failed: Vec<BlockId>,
    /// When the last program of all ends.
    ended: Time,
    /// Pages that were moved since the last [`Self::take_moved`].
    moved: Vec<Moved>,
}

impl Zones {
    /// Pages below the write pointer of a zone.
    #[inline]
    pub(crate) fn written(&self, zone: u32) -> u32 {
        self.zones[zone as usize].written
    }

    #[inline]
    pub(crate) fn state(&self, zone: u32) -> State {
        self.zones[zone as usize].state
    }

    pub(crate) fn count(&self) -> u32 {
        self.layout.zones
    }

    /// The place of a zone's page below its write pointer.
    #[inline]
    pub(crate) fn page(&self, zone: u32, at: u32) -> Ppa {
        let Place { block, page } = self.layout.place(at);
        self.geometry.page(self.zones[zone as usize].blocks[block], page)
    }

    /// The zone of a page.
    ///
    /// # Panics
    /// If its block is in none.
    #[inline]
    pub(crate) fn zone_of(&self, page: Ppa) -> u32 {
        let zone = self.of[self.geometry.block_of(page).index()];
        debug_assert!(zone != NONE, "page {page} is in no zone");
        zone
    }

    /// Zones that the good blocks of the dies suffice for.
    pub(crate) fn good(&self) -> u32 {
        self.sets(Keeper::good_in)
    }

    /// Empty zones that the free blocks suffice for, beside what active zones still take.
    pub(crate) fn sets_free(&self) -> u32 {
        let mut claimed = vec![0; self.geometry.dies() as usize];
        for (zone, state) in (0..).zip(&self.zones).filter(|(_, state)| state.state.is_active()) {
            for block in state.blocks.len()..self.layout.blocks() {
                claimed[self.layout.die_of(zone, block) as usize] += 1;
            }
        }
        self.sets(|keeper, die| keeper.count_in(die).saturating_sub(claimed[die as usize]))
    }

    /// Sets of blocks for a whole zone, with so many blocks on each die.
    fn sets(&self, on: impl Fn(&Keeper, u32) -> u32) -> u32 {
        let groups = self.geometry.dies() / self.layout.dies;
        let of_group = |group: u32| {
            let dies = group * self.layout.dies..(group + 1) * self.layout.dies;
            let blocks = dies.map(|die| on(&self.keeper, die)).min().unwrap_or(0);
            (blocks / self.layout.rows).min((self.layout.zones + groups - 1 - group) / groups)
        };
        (0..groups).map(of_group).sum()
    }

    /// When the last program of all ends.
    pub(crate) fn ended(&self) -> Time {
        self.ended
    }

    /// Whether an empty zone finds blocks for all its pages, beside those that active zones still take.
    pub(crate) fn can_fill(&self, zone: u32) -> bool {
        let first = self.layout.first_die(zone);
        let claimed = |die: u32| {
            let active = self.zones.iter().zip(0..).filter(|(state, _)| state.state.is_active());
            let missing = |(state, zone): (&Zone, u32)| {
                (state.blocks.len()..self.layout.blocks())
                    .filter(|&block| self.layout.die_of(zone, block) == die)
                    .count()
            };
            active.map(missing).sum::<usize>() as u32
        };
        (first..first + self.layout.dies).all(|die| self.keeper.count_in(die) >= self.layout.rows + claimed(die))
    }

    /// A zone's blocks.
    pub(crate) fn blocks(&self, zone: u32) -> &[BlockId] {
        &self.zones[zone as usize].blocks
    }

    /// The pages that the device moved since the last call.
    pub(crate) fn take_moved(&mut self) -> Vec<Moved> {
        std::mem::take(&mut self.moved)
    }

    #[inline]
    pub(crate) fn has_moved(&self) -> bool {
        !self.moved.is_empty()
    }

    /// Whether a block with a failed program waits for [`Self::retire_failed`].
    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        !self.failed.is_empty()
    }

    /// Opens an empty zone before its first page.
    pub(crate) fn open(&mut self, zone: u32) {
        let state = &mut self.zones[zone as usize];
        self.active += u32::from(!state.state.is_active());
        state.state = State::Open;
    }

    /// Zones without a page that nobody has opened.
    pub(crate) fn empty(&self) -> u32 {
        self.zones.iter().filter(|state| state.state == State::Empty).count() as u32
    }

    /// Whether a zone takes another page.
    #[inline]
    pub(crate) fn has_room(&self, zone: u32) -> bool {
        self.zones[zone as usize].written < self.layout.capacity
    }

    /// Writes a page at the write pointer of a zone that is not full. The sequence number in `oob` is set here.
    ///
    /// # Errors
    /// [`FtlError::WornOut`] if a die has no block left for the zone; [`FtlError::Nand`].
    #[inline]
    pub(crate) fn write<N: Nand>(
        &mut self,
        nand: &mut N,
        zone: u32,
        page: &N::Buf,
        tail: &[u8],
        oob: Oob,
    ) -> Result<Ppa, FtlError> {
        self.put(nand, zone, oob, |nand, to, oob| nand.program(to, page, tail, oob).map(|_| oob)).map(|(to, _)| to)
    }

    /// Copies a page inside the device to the write pointer of a zone that is not full; returns its place and what is
    /// stored with it. `None`: the page cannot be read, and nothing has changed.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(crate) fn copy<N: Nand>(&mut self, nand: &mut N, from: Ppa, zone: u32) -> Result<Option<(Ppa, Oob)>, FtlError> {
        let oob = Oob::renewed(0, Default::default());
        match self.put(nand, zone, oob, |nand, to, oob| nand.copy(from, to, oob)) {
            Err(FtlError::Nand(NandError::Uncorrectable(page))) if page == from => Ok(None),
            copied => copied.map(Some),
        }
    }

    #[inline]
    fn put<N: Nand>(
        &mut self,
        nand: &mut N,
        zone: u32,
        oob: Oob,
        mut program: impl FnMut(&mut N, Ppa, Oob) -> Result<Oob, NandError>,
    ) -> Result<(Ppa, Oob), FtlError> {
        loop {
            let at = self.zones[zone as usize].written;
            debug_assert!(at < self.layout.capacity, "zone {zone} is full");
            let Place { block, page } = self.layout.place(at);
            if block == self.zones[zone as usize].blocks.len() {
                self.open_block(nand, zone)?;
            }
            let state = &mut self.zones[zone as usize];
            let to = self.geometry.page(state.blocks[block], page);
            let aux = self.layout.tag(zone, block);
            let oob = Oob { aux, handle: self.handle, seq: self.keeper.next_seq(), ..oob };
            match program(nand, to, oob) {
                Ok(stored) => {
                    state.written = at + 1;
                    self.ended = self.ended.max(nand.ctx().last());
                    self.opened(zone);
                    return Ok((to, stored));
                }
                Err(NandError::ProgramFailed(_)) => self.replace(nand, zone, block, page)?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Keeps the zone's state after a write.
    #[inline]
    fn opened(&mut self, zone: u32) {
        let state = &mut self.zones[zone as usize];
        if state.state != State::Open {
            self.active += u32::from(!state.state.is_active());
            state.state = State::Open;
        }
        if state.written == self.layout.capacity {
            state.state = State::Full;
            self.active -= 1;
        }
    }

    /// Takes the zone's next block.
    #[cold]
    fn open_block<N: Nand>(&mut self, nand: &mut N, zone: u32) -> Result<(), FtlError> {
        let block = self.zones[zone as usize].blocks.len();
        let taken = self.take(nand, self.layout.die_of(zone, block))?;
        self.of[taken.index()] = zone;
        let state = &mut self.zones[zone as usize];
        state.blocks.push(taken);
        Ok(())
    }

    fn take<N: Nand>(&mut self, nand: &mut N, die: u32) -> Result<BlockId, FtlError> {
        match scoped(nand, Cause::Gc, |nand| self.keeper.take_in(nand, die))? {
            Some(block) => Ok(block),
            None => Err(self.keeper.worn_out(1)),
        }
    }

    /// Moves the first `pages` pages of a zone's block to another block of its die, since a program failed there.
    #[cold]
    fn replace<N: Nand>(&mut self, nand: &mut N, zone: u32, block: usize, pages: u32) -> Result<(), FtlError> {
        match scoped(nand, Cause::BadBlock, |nand| self.rewrite(nand, zone, block, pages)) {
            Ok(old) => self.failed.push(old),
            Err(error) => {
                self.zones[zone as usize].worn = Some(block);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Retires the blocks in which a program failed. The owner of their pages has called [`Self::take_moved`] before.
    ///
    /// # Errors
    /// [`FtlError::Nand`].
    pub(crate) fn retire_failed<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        let ended = self.ended;
        std::mem::take(&mut self.failed).into_iter().try_for_each(|block| {
            self.keeper.supersede_in(block, ended);
            self.keeper.retire(nand, block)
        })
    }

    /// Writes the first `pages` pages of a zone's block to another block of its die, which takes its place. Returns the old
    /// block.
    fn rewrite<N: Nand>(&mut self, nand: &mut N, zone: u32, block: usize, pages: u32) -> Result<BlockId, FtlError> {
        let old = self.zones[zone as usize].blocks[block];
        loop {
            let new = self.take(nand, self.layout.die_of(zone, block))?;
            let moved = self.copy_block(nand, (zone, block), (old, new), pages)?;
            if moved.len() < pages as usize {
                self.keeper.retire(nand, new)?;
                continue;
            }
            let state = &mut self.zones[zone as usize];
            state.blocks[block] = new;
            (self.of[old.index()], self.of[new.index()]) = (NONE, zone);
            self.moved.extend(moved);
            return Ok(old);
        }
    }

    /// Copies pages from block to block, as far as programs succeed.
    fn copy_block<N: Nand>(
        &mut self,
        nand: &mut N,
        (zone, block): (u32, usize),
        (old, new): (BlockId, BlockId),
        pages: u32,
    ) -> Result<Vec<Moved>, FtlError> {
        let mut moved = Vec::with_capacity(pages as usize);
        for page in 0..pages {
            let (from, to) = (self.geometry.page(old, page), self.geometry.page(new, page));
            // Pages that count no more move, too: they keep their order among the owner's copies.
            let spare = match nand.read_spare(from) {
                Err(NandError::Uncorrectable(_)) => None,
                spare => spare?,
            };
            let seq = spare.map_or(Default::default(), |spare| spare.seq);
            let oob = Oob::renewed(self.layout.tag(zone, block), if seq.0 > 0 { seq } else { self.keeper.next_seq() });
            let copied = match nand.copy(from, to, oob) {
                Err(NandError::Uncorrectable(page)) if page == from => self.fill_lost(nand, to, oob, spare),
                copied => copied,
            };
            match copied {
                Ok(oob) => moved.push(Moved { from, to, oob }),
                Err(NandError::ProgramFailed(_)) => break,
                Err(error) => return Err(error.into()),
            }
            self.ended = self.ended.max(nand.ctx().last());
        }
        Ok(moved)
    }

    /// Fills the place of a page that cannot be read. If its `spare` area can, a Lost page stands there. If not, the page
    /// there is nobody's, and the owner has to find out what it was.
    #[cold]
    fn fill_lost<N: Nand>(&mut self, nand: &mut N, to: Ppa, oob: Oob, spare: Option<Oob>) -> Result<Oob, NandError> {
        let (kind, lpn) = match spare {
            Some(Oob { kind: Kind::Data | Kind::Lost, lpn, .. }) => (Kind::Lost, lpn),
            _ => (Kind::Deleted, Lpn::NONE),
        };
        let blank = N::Buf::zeroed(self.geometry.page_bytes());
        let oob = Oob { kind, lpn, origin: Origin::FTL, handle: self.handle, ..oob };
        nand.program(to, &blank, &[], oob).map(|_| oob)
    }

    /// Empties a zone; nothing in it counts once all programs so far are on flash. The host waits for the first erase alone.
    ///
    /// # Errors
    /// [`FtlError::Nand`].
    pub(crate) fn reset<N: Nand>(&mut self, nand: &mut N, zone: u32) -> Result<(), FtlError> {
        let state = &mut self.zones[zone as usize];
        self.active -= u32::from(state.state.is_active());
        let mut blocks = std::mem::take(state).blocks.into_iter();
        // Without its first page the zone is empty, whatever else is left of it.
        let Some(first) = blocks.next() else { return Ok(()) };
        self.give_back(nand, first, self.ended)?;
        let erased = self.ended.max(nand.ctx().last());
        let is_buffered = nand.ctx().set_buffered(true);
        let rest = blocks.try_for_each(|block| self.give_back(nand, block, erased));
        nand.ctx().set_buffered(is_buffered);
        rest
    }

    /// Gives back a zone's block, which counts no more once everything up to `replaced` has ended.
    fn give_back<N: Nand>(&mut self, nand: &mut N, block: BlockId, replaced: Time) -> Result<(), FtlError> {
        self.of[block.index()] = NONE;
        self.keeper.supersede_in(block, replaced);
        self.keeper.release(nand, block)
    }
}
