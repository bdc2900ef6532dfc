//! Pages that wait in memory, on flash: a flush must not lose them, and a page is programmed once.
//!
//! A staged page stands for one page of a zone. Its spare area says how many of its sectors are written, whether the zone had
//! a page below the write pointer, and whether the zone has a random write area. All its bytes may be the host's, so it has no
//! tail. It counts while the write pointer is not beyond the page. A page staged behind others of its zone no longer counts
//! once the zone is empty: only a reset does this, and it erases the zone's first block first.
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
use super::{Config, Sequential};
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
    /// By zone: the block with its newest staged page, and whether the zone had a page below the write pointer then.
    newest: BTreeMap<u32, (BlockId, bool)>,
}

/// What a staged page says about itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Note {
    /// Sectors of the page that are written.
    sectors: u32,
    /// Whether the zone has a page below the write pointer.
    is_begun: bool,
    kind: Staging,
}

/// What a staged page stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Staging {
    /// The sectors of a page that is not whole.
    Sectors = 1,
    /// A page of a random write area.
    Area = 2,
    /// Nothing staged before counts for the zone.
    Void = 3,
}

impl Note {
    /// Positions in `aux`, which other FTLs refuse with [`COMPLETE`] and a number above it.
    const KIND: u32 = 2;
    const IS_BEGUN: u32 = 4;
    const SECTORS: u32 = 5;
    const SECTOR_BITS: u32 = 7;

    fn aux(self) -> u16 {
        let aux = (self.kind as u32) << Self::KIND
            | u32::from(self.is_begun) << Self::IS_BEGUN
            | self.sectors << Self::SECTORS;
        COMPLETE | aux as u16
    }

    /// `None` if no staged page carries this.
    fn of(aux: u16) -> Option<Self> {
        let kind = match aux >> Self::KIND & 3 {
            1 => Staging::Sectors,
            2 => Staging::Area,
            3 => Staging::Void,
            _ => return None,
        };
        let sectors = u32::from(aux >> Self::SECTORS) & ((1 << Self::SECTOR_BITS) - 1);
        let note = Self { sectors, is_begun: aux >> Self::IS_BEGUN & 1 == 1, kind };
        (note.aux() == aux).then_some(note)
    }
}

const _: () = assert!(SectorMask::MAX_SECTORS < 1 << Note::SECTOR_BITS, "a count of sectors fits");

/// A staged page found by a mount.
#[derive(Clone, Copy)]
struct Staged {
    zone: u32,
    place: u32,
    page: Ppa,
    seq: u64,
    note: Note,
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
    fn write<N: Nand>(&mut self, nand: &mut N, keeper: &mut Keeper, page: &N::Buf, oob: Oob) -> Result<Ppa, FtlError> {
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
            match nand.program(to, page, &[], oob) {
                Ok(_) => return Ok(to),
                // The block goes with the others, and is retired when an erase of it fails.
                Err(NandError::ProgramFailed(_)) => self.used = geometry.pages_per_block(),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Sequential {
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
        let kind = if self.is_random(zone) { Staging::Area } else { Staging::Sectors };
        let is_begun = self.zones.written(zone) > 0;
        let Some(part) = self.part(zone, place) else { return Ok(()) };
        let (page, note) = (part.page(page_bytes), Note { sectors: part.sectors, is_begun, kind });
        // A staged page lies behind the zone's pages, so it may not be there without them.
        nand.ctx().fence_at(self.zones.ended());
        let to = self.stage_page(nand, (zone, place), &page, note)?;
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
        if self.stage.newest.get(&zone).is_some_and(|&(_, is_begun)| !is_begun) {
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
        self.stage_page(nand, (zone, 0), &blank, Note { sectors: 0, is_begun: false, kind: Staging::Void })?;
        nand.ctx().fence();
        self.release_oldest(nand)
    }

    fn stage_page<N: Nand>(
        &mut self,
        nand: &mut N,
        (zone, place): (u32, u32),
        page: &N::Buf,
        note: Note,
    ) -> Result<Ppa, FtlError> {
        let at = Lpn(zone * self.pitch() + place);
        let handle = self.zones.layout.staged_handle();
        let oob = Oob { aux: note.aux(), handle, ..Oob::data(at, Default::default(), Origin::FTL) };
        let to = self.stage.write(nand, &mut self.zones.keeper, page, oob)?;
        self.stage.newest.insert(zone, (nand.geometry().block_of(to), note.is_begun));
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
) -> Result<Sequential, FtlError> {
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
    let mut zns = Sequential {
        states: (0..layout.zones).map(state).collect(),
        opened: VecDeque::new(),
        open: 0,
        active: 0,
        opened_at: vec![0; layout.zones as usize],
        found_active: 0,
        options: config.zones,
        times: config.times,
        waiting: vec![None; layout.zones as usize],
        area,
        stage: Stage { most: config.staged_blocks(&geometry, &layout)? as usize, ..Stage::default() },
        sectors_per_page: geometry.sectors_per_page(),
        logical_pages,
        lost: 0,
        used: ZoneUse::default(),
        counts: vec![(0, 0); layout.zones as usize],
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

impl Sequential {
    /// Finds what waits: of each page the newest staged one that counts.
    fn find_waiting<N: Nand>(&mut self, nand: &mut N, mut staged: Vec<Staged>) -> Result<(), FtlError> {
        let page_bytes = nand.geometry().page_bytes();
        staged.sort_unstable_by_key(|one| std::cmp::Reverse(one.seq));
        let (mut is_void, mut found) = (vec![false; self.states.len()], BTreeMap::new());
        // By zone: whether a page staged later lies behind pages of the zone.
        let mut was_begun = vec![false; self.states.len()];
        for Staged { zone, place, page: at, note, .. } in staged {
            let written = self.zones.written(zone);
            // The page that voids the earlier ones does so whatever its place, which a later page may have.
            is_void[zone as usize] |= note.kind == Staging::Void;
            if is_void[zone as usize] || found.contains_key(&(zone, place)) {
                continue;
            }
            let was_begun = &mut was_begun[zone as usize];
            *was_begun |= note.is_begun;
            if written > place || (*was_begun && written == 0) || !self.zones.has_room(zone) {
                continue;
            }
            let mut page = N::Buf::zeroed(page_bytes);
            match nand.read(at, &mut page) {
                Err(NandError::Uncorrectable(_)) => {
                    self.lost += 1;
                    // An older page may miss what a flush has written since.
                    found.insert((zone, place), None);
                    continue;
                }
                read => read?,
            };
            let bytes = page.bytes().map_or_else(Vec::new, <[u8]>::to_vec);
            found.insert((zone, place), Some((Part::staged(note.sectors, bytes), note.kind == Staging::Area)));
            self.stage.live.insert((zone, place), at);
        }
        for ((zone, place), found) in found {
            let Some((part, is_random)) = found else { continue };
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
    let note = |page: &Page| Note::of(page.oob.aux).filter(|_| layout.is_staged(page.oob));
    let is_staged = |page: &Page| note(page).is_some();
    let (mut staged, mut blocks) = (Vec::new(), Vec::new());
    for (block, scan) in (0..).map(BlockId).zip(scans.iter_mut()) {
        let Some(scan) = scan.as_mut().filter(|scan| scan.pages.first().is_some_and(is_staged)) else { continue };
        for page in scan.pages.drain(..) {
            let (zone, place) = (page.oob.lpn.0 / layout.pitch, page.oob.lpn.0 % layout.pitch);
            if let Some(note) = note(&page).filter(|_| zone < layout.zones) {
                staged.push(Staged { zone, place, page: geometry.page(block, page.place), seq: page.oob.seq.0, note });
            }
        }
        blocks.push((scan.highest, block));
    }
    blocks.sort_unstable();
    (staged, blocks.into_iter().map(|(_, block)| block).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_back_and_no_other_number_is_one() {
        for kind in [Staging::Sectors, Staging::Area, Staging::Void] {
            for (sectors, is_begun) in
                (0..=SectorMask::MAX_SECTORS).flat_map(|sectors| [(sectors, false), (sectors, true)])
            {
                let note = Note { sectors, is_begun, kind };
                assert_eq!(Note::of(note.aux()), Some(note));
            }
        }
        let notes = (0..=u16::MAX).filter(|&aux| Note::of(aux).is_some()).count();
        assert_eq!(notes, (3 * 2) << Note::SECTOR_BITS);
    }
}
