//! Pages that wait in memory, on flash: a flush must not lose them, and a page is programmed once.
//!
//! A staged page stands for one page of a zone. Its tail says how many of its sectors are written, where the zone's write
//! pointer was, and whether the zone has a random write area. It counts while the write pointer is not beyond the page, and no
//! lower than it was when a page of the zone was staged last: only a reset moves it back.
//!
//! A reset may be followed by writes that bring the write pointer there again, so it *voids* what is staged for the zone: a
//! staged page without a sector says that all earlier ones count no more. If some of them count, they are needed until the
//! zone's first block is erased; then the staged page that voids them comes after the erase, and a page staged with the write
//! pointer above 0 before it, so that a cut in between leaves an empty zone.
//!
//! Staged pages fill a few blocks in turn. When there are too many, those that count are staged again from memory, and the
//! oldest block is erased. One block less than the blocks kept holds all that can wait at a time, so this comes to an end.

use super::random_area::AreaShape;
use super::waiting::Part;
use super::{Config, Zns};
use crate::parts::blocks::keeper::Keeper;
use crate::parts::blocks::scan::{scan, Page, Scans, COMPLETE};
use crate::zones::{Layout, State, ZoneUse, Zones};
use crate::FtlError;
use nandlab_block::ZoneState;
use nandlab_nand::{BlockId, Geometry, Lpn, Nand, NandError, Oob, Origin, PageBuf, Ppa, SectorMask};
use std::collections::{BTreeMap, VecDeque};

/// The blocks with staged pages.
#[derive(Debug, Default)]
pub(super) struct Stage {
    /// So many are kept at most.
    most: usize,
    /// The oldest in front; the last one is being filled.
    blocks: VecDeque<BlockId>,
    /// Pages of the last block.
    used: u32,
    /// By zone and page: where its newest staged page lies, while it counts.
    live: BTreeMap<(u32, u32), Ppa>,
    /// By zone: the block with its newest staged page, and the pages that were below the write pointer then.
    newest: BTreeMap<u32, (BlockId, u32)>,
}

/// What the tail of a staged page says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Tail {
    /// Sectors of the page that are written.
    sectors: u32,
    /// Pages below the zone's write pointer.
    written: u32,
    kind: Staging,
}

/// What a staged page stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Staging {
    /// The sectors of a page that is not whole.
    Sectors,
    /// A page of a random write area.
    Area,
    /// Nothing staged before counts for the zone.
    Void,
}

impl Tail {
    const BYTES: usize = 9;

    fn bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.sectors.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.written.to_le_bytes());
        bytes[8] = match self.kind {
            Staging::Sectors => 0,
            Staging::Area => 1,
            Staging::Void => 2,
        };
        bytes
    }

    /// `None` if nobody writes such a tail.
    fn of(bytes: [u8; Self::BYTES]) -> Option<Self> {
        let [a, b, c, d, e, f, g, h, kind] = bytes;
        let kind = match kind {
            0 => Staging::Sectors,
            1 => Staging::Area,
            2 => Staging::Void,
            _ => return None,
        };
        Some(Self { sectors: u32::from_le_bytes([a, b, c, d]), written: u32::from_le_bytes([e, f, g, h]), kind })
    }
}

/// A staged page found by a mount.
#[derive(Clone, Copy)]
struct Staged {
    zone: u32,
    place: u32,
    page: Ppa,
    seq: u64,
}

impl Stage {
    pub(super) fn blocks(&self) -> Vec<BlockId> {
        self.blocks.iter().copied().collect()
    }

    /// The zone's staged page counts no more.
    pub(super) fn forget(&mut self, zone: u32, place: u32) {
        self.live.remove(&(zone, place));
    }

    /// No staged page of the zone counts any more.
    pub(super) fn forget_zone(&mut self, zone: u32) {
        self.live.retain(|&(other, _), _| other != zone);
    }

    /// Asserts that whatever counts waits in memory, too, so that it can be staged again.
    pub(super) fn check(&self, waits: impl Fn(u32, u32) -> Option<bool>) {
        for &(zone, place) in self.live.keys() {
            assert_eq!(waits(zone, place), Some(true), "page {place} of zone {zone} is staged");
        }
    }

    /// Programs a staged page.
    fn write<N: Nand>(
        &mut self,
        nand: &mut N,
        keeper: &mut Keeper,
        (page, oob): (&N::Buf, Oob),
        tail: Tail,
    ) -> Result<Ppa, FtlError> {
        let geometry = *nand.geometry();
        loop {
            if self.blocks.is_empty() || self.used == geometry.pages_per_block() {
                let block = keeper.take(nand, None)?.ok_or_else(|| keeper.worn_out(1))?;
                self.blocks.push_back(block);
                self.used = 0;
            }
            let block = *self.blocks.back().expect("there is a block");
            let to = geometry.page(block, self.used);
            self.used += 1;
            let oob = Oob { seq: keeper.next_seq(), ..oob };
            match nand.program(to, page, &tail.bytes(), oob) {
                Ok(_) => return Ok(to),
                // The block goes with the others, and is retired when an erase of it fails.
                Err(NandError::ProgramFailed(_)) => self.used = geometry.pages_per_block(),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Zns {
    /// Writes what waits for a zone to the stage, as far as it is not there.
    pub(super) fn stage_zone<N: Nand>(&mut self, nand: &mut N, zone: u32) -> Result<(), FtlError> {
        let page_bytes = nand.geometry().page_bytes();
        let Some(waiting) = &mut self.waiting[zone as usize] else { return Ok(()) };
        if waiting.is_random && waiting.parts.is_empty() {
            // An area with nothing in it is to be there after a cut, too.
            waiting.add(0, SectorMask(0), &N::Buf::zeroed(page_bytes), page_bytes);
        }
        let (parts, first) = (waiting.parts.len(), self.zones.written(zone));
        for place in (first..).take(parts) {
            if self.part(zone, place).is_some_and(|part| !part.is_staged) {
                self.stage_part(nand, zone, place)?;
            }
        }
        self.release_oldest(nand)
    }

    /// What waits for a page of a zone.
    fn part(&mut self, zone: u32, place: u32) -> Option<&mut Part> {
        let behind = place.checked_sub(self.zones.written(zone))?;
        self.waiting[zone as usize].as_mut()?.parts.get_mut(behind as usize)
    }

    /// Stages what waits for a page of a zone.
    fn stage_part<N: Nand>(&mut self, nand: &mut N, zone: u32, place: u32) -> Result<(), FtlError> {
        let page_bytes = nand.geometry().page_bytes();
        let (written, is_random) = (self.zones.written(zone), self.is_random(zone));
        let kind = if is_random { Staging::Area } else { Staging::Sectors };
        let Some(part) = self.part(zone, place) else { return Ok(()) };
        let (page, tail) = (part.page(page_bytes), Tail { sectors: part.sectors, written, kind });
        // A staged page tells where the write pointer was, so it may not be there without the pages below.
        nand.ctx().fence_at(self.zones.ended());
        let to = self.stage_page(nand, (zone, place), &page, tail)?;
        self.stage.live.insert((zone, place), to);
        if let Some(part) = self.part(zone, place) {
            part.is_staged = true;
        }
        Ok(())
    }

    /// Prepares the reset of a zone. Returns whether [`Self::void_staged`] is to follow the erase of its blocks.
    pub(super) fn void_before_reset<N: Nand>(&mut self, nand: &mut N, zone: u32) -> Result<bool, FtlError> {
        let live = self.stage.live.keys().find(|(other, _)| *other == zone);
        let Some(&(_, place)) = live.filter(|_| self.zones.written(zone) > 0) else {
            self.void_staged(nand, zone)?;
            return Ok(false);
        };
        if self.stage.newest.get(&zone).is_some_and(|&(_, written)| written == 0) {
            self.stage_part(nand, zone, place)?;
            nand.ctx().fence();
        }
        Ok(true)
    }

    /// Tells a mount that nothing staged so far counts for a zone, if there is anything.
    pub(super) fn void_staged<N: Nand>(&mut self, nand: &mut N, zone: u32) -> Result<(), FtlError> {
        self.stage.forget_zone(zone);
        if !self.stage.newest.get(&zone).is_some_and(|(block, _)| self.stage.blocks.contains(block)) {
            return Ok(());
        }
        let blank = N::Buf::zeroed(nand.geometry().page_bytes());
        self.stage_page(nand, (zone, 0), &blank, Tail { sectors: 0, written: 0, kind: Staging::Void })?;
        nand.ctx().fence();
        self.release_oldest(nand)
    }

    fn stage_page<N: Nand>(
        &mut self,
        nand: &mut N,
        (zone, place): (u32, u32),
        page: &N::Buf,
        tail: Tail,
    ) -> Result<Ppa, FtlError> {
        let at = Lpn(zone * self.pitch() + place);
        let oob =
            Oob { aux: COMPLETE, handle: self.zones.layout.handle(), ..Oob::data(at, Default::default(), Origin::FTL) };
        let to = self.stage.write(nand, &mut self.zones.keeper, (page, oob), tail)?;
        self.stage.newest.insert(zone, (nand.geometry().block_of(to), tail.written));
        Ok(to)
    }

    /// Erases the oldest blocks of the stage, if there are too many; what counts in them is staged again. Zones without a good
    /// block may hold more than is kept for, so no block is erased twice.
    fn release_oldest<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        for _ in self.stage.most..=self.stage.blocks.len() {
            let Some(oldest) = self.stage.blocks.pop_front() else { return Ok(()) };
            self.give_up(nand, oldest)?;
        }
        Ok(())
    }

    /// Erases a block of the stage; what counts in it is staged again.
    fn give_up<N: Nand>(&mut self, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        let geometry = *nand.geometry();
        let live = self.stage.live.iter().filter(|(_, &page)| geometry.block_of(page) == block);
        let live: Vec<(u32, u32)> = live.map(|(&at, _)| at).collect();
        for (zone, place) in live {
            self.stage_part(nand, zone, place)?;
        }
        let end = nand.ctx().last().max(self.zones.ended());
        self.zones.keeper.supersede_in(block, end);
        self.zones.keeper.release(nand, block)
    }
}

/// Finds zones, and what waits for them.
pub(super) fn mount<N: Nand>(
    nand: &mut N,
    logical_pages: u32,
    layout: Layout,
    config: &Config,
) -> Result<Zns, FtlError> {
    let geometry = *nand.geometry();
    let area = AreaShape::new(&config.zones, &geometry, layout.capacity)?;
    let mut scans = scan(nand)?;
    let (staged, blocks) = take_staged(&geometry, &layout, &mut scans);
    let (mut zones, torn) = Zones::found(&geometry, layout, &mut scans, &blocks)?;
    zones.repair(nand, &torn, &scans)?;
    zones.take_moved();
    zones.retire_failed(nand)?;
    let state = |zone| match zones.state(zone) {
        State::Empty => ZoneState::Empty,
        State::Full => ZoneState::Full,
        State::Open | State::Closed => ZoneState::Closed,
    };
    let mut zns = Zns {
        states: (0..layout.zones).map(state).collect(),
        opened: VecDeque::new(),
        open: 0,
        active: 0,
        found_active: 0,
        options: config.zones,
        reset: config.reset,
        waiting: vec![None; layout.zones as usize],
        area,
        stage: Stage { most: config.staged_blocks(&geometry, &layout)? as usize, ..Stage::default() },
        sectors_per_page: geometry.sectors_per_page(),
        logical_pages,
        lost: 0,
        used: ZoneUse::default(),
        zones,
    };
    zns.find_waiting(nand, staged)?;
    zns.active = zns.states.iter().filter(|state| state.is_active()).count() as u32;
    zns.found_active = zns.active;
    // What waits is staged again, and the old blocks are erased, the oldest first: what a block says may be taken back by a
    // later one alone.
    blocks.into_iter().try_for_each(|block| zns.give_up(nand, block))?;
    Ok(zns)
}

impl Zns {
    /// Finds what waits: of each page the newest staged one that counts.
    fn find_waiting<N: Nand>(&mut self, nand: &mut N, mut staged: Vec<Staged>) -> Result<(), FtlError> {
        let page_bytes = nand.geometry().page_bytes();
        staged.sort_unstable_by_key(|one| std::cmp::Reverse(one.seq));
        let (mut is_void, mut found) = (vec![false; self.states.len()], BTreeMap::new());
        // By zone: pages below the write pointer when one was staged last.
        let mut lowest = vec![0; self.states.len()];
        for Staged { zone, place, page: at, .. } in staged {
            let written = self.zones.written(zone);
            if is_void[zone as usize] || found.contains_key(&(zone, place)) {
                continue;
            }
            let (mut page, mut tail) = (N::Buf::zeroed(page_bytes), [0; Tail::BYTES]);
            let tail = match nand.read_with_tail(at, &mut page, &mut tail) {
                Err(NandError::Uncorrectable(_)) => None,
                Err(error) => return Err(error.into()),
                Ok(_) => Tail::of(tail),
            };
            // A page that cannot be read may have voided the earlier ones.
            let Some(tail) = tail.filter(|tail| tail.kind != Staging::Void) else {
                self.lost += u64::from(tail.is_none());
                is_void[zone as usize] = true;
                continue;
            };
            let lowest = &mut lowest[zone as usize];
            *lowest = tail.written.max(*lowest);
            if (*lowest..=place).contains(&written) && self.zones.has_room(zone) {
                let bytes = page.bytes().map_or_else(Vec::new, <[u8]>::to_vec);
                found.insert((zone, place), (Part::staged(tail.sectors, bytes), tail.kind == Staging::Area));
                self.stage.live.insert((zone, place), at);
            }
        }
        for ((zone, place), (part, is_random)) in found {
            let behind = (place - self.zones.written(zone)) as usize;
            let waiting = self.waiting[zone as usize].get_or_insert_default();
            waiting.is_random |= is_random;
            waiting.put(behind, part);
            self.states[zone as usize] = ZoneState::Closed;
        }
        Ok(())
    }
}

/// Takes the staged pages from the scans, and their blocks.
fn take_staged(geometry: &Geometry, layout: &Layout, scans: &mut Scans) -> (Vec<Staged>, Vec<BlockId>) {
    let is_staged = |page: &Page| page.oob.aux == COMPLETE && page.oob.handle == layout.handle();
    let (mut staged, mut blocks) = (Vec::new(), Vec::new());
    for (block, scan) in (0..).map(BlockId).zip(scans.iter_mut()) {
        let Some(scan) = scan.as_mut().filter(|scan| scan.pages.first().is_some_and(is_staged)) else { continue };
        for page in scan.pages.drain(..).filter(is_staged) {
            let (zone, place) = (page.oob.lpn.0 / layout.pitch, page.oob.lpn.0 % layout.pitch);
            if zone < layout.zones {
                staged.push(Staged { zone, place, page: geometry.page(block, page.place), seq: page.oob.seq.0 });
            }
        }
        blocks.push((scan.highest, block));
    }
    blocks.sort_unstable();
    (staged, blocks.into_iter().map(|(_, block)| block).collect())
}
