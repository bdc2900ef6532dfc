//! Sectors that wait for the rest of their page, on flash: a flush must not lose them, and a page is programmed once.
//!
//! A staged page holds the sectors of one zone's next page, and in its tail how many they are. It counts until that page is
//! programmed. A reset of a zone without a page stages 0 sectors: nothing else would tell that the zone is empty.
//!
//! Staged pages fill a few blocks in turn. When there are too many, those that count are staged again from memory, and the
//! oldest block is erased.

use super::{Config, Waiting, Zns, STAGED};
use crate::parts::blocks::keeper::Keeper;
use crate::parts::blocks::scan::{scan, BlockScan, Page, COMPLETE};
use crate::zones::{Layout, State, ZoneUse, Zones};
use crate::FtlError;
use nandlab_block::ZoneState;
use nandlab_nand::{BlockId, Geometry, Lpn, Nand, NandError, Oob, Origin, PageBuf, Ppa};
use std::collections::{BTreeMap, VecDeque};

/// The blocks with staged pages.
#[derive(Debug, Default)]
pub(super) struct Stage {
    /// The oldest in front; the last one is being filled.
    blocks: VecDeque<BlockId>,
    /// Pages of the last block.
    used: u32,
    /// By zone: where its newest staged page lies, while it counts.
    live: BTreeMap<u32, Ppa>,
    /// By zone: the block with its newest staged page that stood for the zone's first page.
    first: BTreeMap<u32, BlockId>,
}

/// A staged page found by a mount.
struct Staged {
    zone: u32,
    at: u32,
    page: Ppa,
    seq: u64,
}

impl Stage {
    pub(super) fn blocks(&self) -> Vec<BlockId> {
        self.blocks.iter().copied().collect()
    }

    /// The zone's staged page counts no more.
    pub(super) fn forget(&mut self, zone: u32) {
        self.live.remove(&zone);
    }

    /// Programs a staged page.
    fn write<N: Nand>(
        &mut self,
        nand: &mut N,
        keeper: &mut Keeper,
        (page, oob): (&N::Buf, Oob),
        sectors: u32,
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
            match nand.program(to, page, &sectors.to_le_bytes(), oob) {
                Ok(_) => return Ok(to),
                // The block goes with the others, and is retired when an erase of it fails.
                Err(NandError::ProgramFailed(_)) => self.used = geometry.pages_per_block(),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Zns {
    /// Writes the sectors that wait for a zone's next page to the stage.
    pub(super) fn stage_zone<N: Nand>(&mut self, nand: &mut N, zone: u32) -> Result<(), FtlError> {
        let page_bytes = nand.geometry().page_bytes() as usize;
        let Some(waiting) = &self.waiting[zone as usize] else { return Ok(()) };
        let (page, sectors) = (waiting.page::<N::Buf>(page_bytes), waiting.sectors);
        self.stage_page(nand, (zone, self.zones.written(zone)), &page, sectors)?;
        if let Some(waiting) = &mut self.waiting[zone as usize] {
            waiting.is_staged = true;
        }
        self.release_oldest(nand)
    }

    /// Tells a mount that nothing waits for a zone that is about to be empty, if something on flash says otherwise: a staged
    /// page that stood for the zone's first page.
    pub(super) fn unstage<N: Nand>(&mut self, nand: &mut N, zone: u32) -> Result<(), FtlError> {
        if !self.stage.first.get(&zone).is_some_and(|block| self.stage.blocks.contains(block)) {
            return Ok(());
        }
        let blank = N::Buf::zeroed(nand.geometry().page_bytes());
        self.stage_page(nand, (zone, 0), &blank, 0)?;
        nand.ctx().fence();
        self.stage.forget(zone);
        self.release_oldest(nand)
    }

    /// Stages the first `sectors` sectors of a zone's page.
    fn stage_page<N: Nand>(
        &mut self,
        nand: &mut N,
        (zone, place): (u32, u32),
        page: &N::Buf,
        sectors: u32,
    ) -> Result<(), FtlError> {
        let at = Lpn(zone * self.pitch() + place);
        let oob =
            Oob { aux: COMPLETE, handle: self.zones.layout.handle(), ..Oob::data(at, Default::default(), Origin::FTL) };
        let to = self.stage.write(nand, &mut self.zones.keeper, (page, oob), sectors)?;
        self.stage.live.insert(zone, to);
        if place == 0 {
            self.stage.first.insert(zone, nand.geometry().block_of(to));
        }
        Ok(())
    }

    /// Erases the oldest blocks of the stage, if there are too many; what counts in them is staged again.
    fn release_oldest<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        while self.stage.blocks.len() >= STAGED as usize {
            let Some(oldest) = self.stage.blocks.pop_front() else { return Ok(()) };
            self.restage(nand, oldest)?;
            let end = nand.ctx().last().max(self.zones.ended());
            self.zones.keeper.supersede_in(oldest, end);
            self.zones.keeper.release(nand, oldest)?;
        }
        Ok(())
    }

    /// Stages again what counts in a block.
    fn restage<N: Nand>(&mut self, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        let geometry = *nand.geometry();
        let live: Vec<u32> = self
            .stage
            .live
            .iter()
            .filter(|(_, &page)| geometry.block_of(page) == block)
            .map(|(&zone, _)| zone)
            .collect();
        for zone in live {
            let Some(waiting) = &self.waiting[zone as usize] else { continue };
            let (page, sectors) = (waiting.page::<N::Buf>(geometry.page_bytes() as usize), waiting.sectors);
            self.stage_page(nand, (zone, self.zones.written(zone)), &page, sectors)?;
        }
        Ok(())
    }
}

/// Finds zones, and the sectors that wait for the rest of their pages.
pub(super) fn mount<N: Nand>(
    nand: &mut N,
    logical_pages: u32,
    layout: Layout,
    config: &Config,
) -> Result<Zns, FtlError> {
    let geometry = *nand.geometry();
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
        options: config.zones,
        reset: config.reset,
        waiting: vec![None; layout.zones as usize],
        stage: Stage::default(),
        sectors_per_page: geometry.sectors_per_page(),
        logical_pages,
        used: ZoneUse::default(),
        zones,
    };
    zns.find_waiting(nand, staged)?;
    zns.active = zns.states.iter().filter(|state| state.is_active()).count() as u32;
    // They are staged again before their old blocks are erased, the oldest first: what a block says may be taken back by a
    // later one alone.
    for zone in 0..layout.zones {
        zns.stage_zone(nand, zone)?;
    }
    let end = nand.ctx().last();
    for block in blocks {
        zns.zones.keeper.supersede_in(block, end);
        zns.zones.keeper.release(nand, block)?;
    }
    Ok(zns)
}

impl Zns {
    /// Finds the sectors that wait: of each zone the newest staged page, if it stands for the page at the write pointer and is
    /// newer than the page before.
    fn find_waiting<N: Nand>(&mut self, nand: &mut N, staged: Vec<Staged>) -> Result<(), FtlError> {
        let page_bytes = nand.geometry().page_bytes();
        let mut newest: BTreeMap<u32, Staged> = BTreeMap::new();
        for one in staged {
            if newest.get(&one.zone).is_none_or(|other| other.seq < one.seq) {
                newest.insert(one.zone, one);
            }
        }
        for (zone, one) in newest {
            let written = self.zones.written(zone);
            let before = match written.checked_sub(1).map(|at| self.zones.page(zone, at)) {
                Some(page) => match nand.read_spare(page) {
                    Ok(oob) => oob.map_or(0, |oob| oob.seq.0),
                    Err(NandError::Uncorrectable(_)) => 0,
                    Err(error) => return Err(error.into()),
                },
                None => 0,
            };
            if one.at != written || one.seq < before || !self.zones.has_room(zone) {
                continue;
            }
            let (mut page, mut tail) = (N::Buf::zeroed(page_bytes), [0; 4]);
            match nand.read_with_tail(one.page, &mut page, &mut tail) {
                Err(NandError::Uncorrectable(_)) => continue,
                read => read?,
            };
            let sectors = u32::from_le_bytes(tail);
            if sectors > 0 {
                let bytes = page.bytes().map_or_else(Vec::new, <[u8]>::to_vec);
                self.waiting[zone as usize] = Some(Box::new(Waiting { sectors, bytes, is_staged: false }));
                self.states[zone as usize] = ZoneState::Closed;
            }
        }
        Ok(())
    }
}

/// Takes the staged pages from the scans, and their blocks.
fn take_staged(geometry: &Geometry, layout: &Layout, scans: &mut [Option<BlockScan>]) -> (Vec<Staged>, Vec<BlockId>) {
    let is_staged = |page: &Page| page.oob.aux == COMPLETE && page.oob.handle == layout.handle();
    let (mut staged, mut blocks) = (Vec::new(), Vec::new());
    for (block, scan) in (0..).map(BlockId).zip(scans) {
        let Some(scan) = scan.as_mut().filter(|scan| scan.pages.first().is_some_and(is_staged)) else { continue };
        for page in scan.pages.drain(..).filter(is_staged) {
            let (zone, at) = (page.oob.lpn.0 / layout.pitch, page.oob.lpn.0 % layout.pitch);
            if zone < layout.zones {
                staged.push(Staged { zone, at, page: geometry.page(block, page.place), seq: page.oob.seq.0 });
            }
        }
        blocks.push((scan.highest, block));
    }
    blocks.sort_unstable();
    (staged, blocks.into_iter().map(|(_, block)| block).collect())
}
