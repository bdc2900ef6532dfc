//! Zones after a power cut: what is written, and what has to be written again.

use super::{State, Zone, Zones, NONE};
use crate::parts::blocks::keeper::Keeper;
use crate::parts::blocks::scan::{Page, Scans};
use crate::zones::layout::{Layout, Place};
use crate::FtlError;
use nandlab_nand::{scoped, BlockId, Cause, Geometry, Kind, Nand};

/// A block that holds pages of a zone.
#[derive(Clone, Copy)]
struct Claim {
    block: BlockId,
    /// Pages up to the last whole one. Damaged ones are among them: pages are programmed in order.
    pages: u32,
    /// Whether something behind them is not erased.
    is_torn: bool,
    /// The lowest sequence number of a page.
    lowest: u64,
}

impl Zones {
    /// The zones on flash; `others` are blocks of the caller. Pages in `scans` that are behind a write pointer are removed: they were never written.
    ///
    /// # Errors
    /// [`FtlError::Config`] if another FTL wrote the flash.
    pub(crate) fn found(
        geometry: &Geometry,
        layout: Layout,
        scans: &mut Scans,
        others: &[BlockId],
    ) -> Result<(Self, Vec<Torn>), FtlError> {
        let highest = scans.highest().max(layout.first_seq());
        let claims = claims(geometry, &layout, scans)?;
        let mut zones = Self {
            geometry: *geometry,
            layout,
            handle: layout.handle(),
            keeper: Keeper::new(geometry, highest),
            zones: Vec::with_capacity(layout.zones as usize),
            of: vec![NONE; geometry.blocks() as usize],
            active: 0,
            failed: Vec::new(),
            ended: 0,
            moved: Vec::new(),
        };
        let mut torn = Vec::new();
        for claims in claims.chunks(layout.blocks()) {
            zones.find(claims, &mut torn);
        }
        for (block, scan) in (0..).map(BlockId).zip(scans.iter_mut()) {
            let Some(scan) = scan else { continue };
            let written = match zones.of[block.index()] {
                NONE => 0,
                zone => zones.written_of(zone, block),
            };
            scan.pages.retain(|page| page.place < written);
        }
        zones.keeper.adopt(scans, Cause::Mount, |block| zones.of[block.index()] != NONE || others.contains(&block));
        Ok((zones, torn))
    }

    /// Adds the next zone, with what its blocks hold.
    fn find(&mut self, claims: &[Option<Claim>], torn: &mut Vec<Torn>) {
        let zone = self.zones.len() as u32;
        let pages = |block: usize| claims[block].map_or(0, |claim| claim.pages);
        let missing = |block: usize| {
            let page = pages(block);
            (page < self.layout.pages_of(block)).then(|| self.layout.at(Place { block, page }))
        };
        let written =
            (0..claims.len()).filter_map(missing).min().unwrap_or(self.layout.capacity).min(self.layout.capacity);
        let state = match written {
            0 => State::Empty,
            _ if written == self.layout.capacity => State::Full,
            _ => State::Closed,
        };
        let mut found = Zone { state, written, ..Zone::default() };
        for (at, claim) in claims.iter().enumerate() {
            let Some(claim) = claim.filter(|_| self.layout.written_in(at, written) > 0) else { continue };
            let pages = self.layout.written_in(at, written);
            self.of[claim.block.index()] = zone;
            found.blocks.push(claim.block);
            // The page at the write pointer may have a cut program and read as erased all the same.
            let is_open = state == State::Closed && pages < self.layout.pages_of(at);
            if claim.pages > pages || claim.is_torn || is_open {
                torn.push(Torn { zone, block: at, pages });
            }
        }
        self.active += u32::from(state == State::Closed);
        self.zones.push(found);
    }

    fn written_of(&self, zone: u32, block: BlockId) -> u32 {
        let state = &self.zones[zone as usize];
        let at = state.blocks.iter().position(|&one| one == block).expect("a zone knows its blocks");
        self.layout.written_in(at, state.written)
    }

    /// Writes the torn blocks again, without what is behind their write pointers, and erases blocks with pages of no zone.
    /// If nothing else is on flash, the erase of one of them waits until it is taken: were it cut, the device would look
    /// blank, and nothing would tell the next mount to erase it again.
    ///
    /// # Errors
    /// [`FtlError::WornOut`] if a die has no block left; [`FtlError::Nand`].
    pub(crate) fn repair<N: Nand>(&mut self, nand: &mut N, torn: &[Torn], scans: &Scans) -> Result<(), FtlError> {
        self.erase_unowned(nand, |block| scans[block.index()].as_ref().is_some_and(|scan| scan.used > 0))?;
        for &Torn { zone, block, pages } in torn {
            let old = self.rewrite(nand, zone, block, pages)?;
            let ended = self.ended;
            self.keeper.supersede_in(old, ended);
            self.keeper.release(nand, old)?;
        }
        Ok(())
    }

    fn erase_unowned<N: Nand>(&mut self, nand: &mut N, holds: impl Fn(BlockId) -> bool) -> Result<(), FtlError> {
        let (holding, erased): (Vec<_>, Vec<_>) =
            self.keeper.remove_unerased().into_iter().partition(|&(block, _)| holds(block));
        let is_all = (0..self.geometry.blocks()).filter(|&block| holds(BlockId(block))).count() == holding.len();
        let spared = holding.last().copied().filter(|_| is_all);
        for &(block, cause) in &holding[..holding.len() - usize::from(spared.is_some())] {
            scoped(nand, cause, |nand| self.keeper.release(nand, block))?;
        }
        // The spared one is taken last.
        erased.into_iter().chain(spared).for_each(|(block, cause)| self.keeper.add(block, Some(cause)));
        Ok(())
    }
}

/// A block to write again: its first `pages` pages count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Torn {
    zone: u32,
    block: usize,
    pages: u32,
}

/// By zone and block: who holds its pages. A cut while a block was written again leaves several; the one with most pages
/// counts. A block with an erased page below others was being erased, and holds nothing. Nor does a block with pages older
/// than the zone's first page: a reset did not get to it.
fn claims(geometry: &Geometry, layout: &Layout, scans: &Scans) -> Result<Vec<Option<Claim>>, FtlError> {
    let mut all: Vec<(usize, Claim)> = Vec::new();
    let mut begun = vec![0; layout.zones as usize];
    for (block, scan) in (0..).map(BlockId).zip(scans) {
        let Some(scan) = scan else { continue };
        let tag = |page: &Page| layout.tagged(geometry.page(block, page.place), page.oob);
        let Some(last) = scan.pages.iter().max_by_key(|page| page.place) else { continue };
        let owner = tag(last).filter(|&owner| scan.pages.iter().all(|page| tag(page) == Some(owner)));
        let Some((zone, at)) = owner else {
            return Err(FtlError::Config(format!(
                "block {block} holds pages of no zone: the device was used by another FTL than zoned, or with other zones"
            )));
        };
        if scan.has_gaps() {
            continue;
        }
        // The number of a page that could not be read is one of its replacement.
        let dated = || scan.pages.iter().filter(|page| page.oob.kind != Kind::Deleted);
        if let Some(first) = dated().find(|page| at == 0 && page.place == 0) {
            begun[zone as usize] = first.oob.seq.0.max(begun[zone as usize]);
        }
        let pages = last.place + 1;
        let lowest = dated().map(|page| page.oob.seq.0).min().unwrap_or(u64::MAX);
        all.push((zone as usize * layout.blocks() + at, Claim { block, pages, is_torn: scan.used > pages, lowest }));
    }
    let mut claims: Vec<Option<Claim>> = vec![None; layout.zones as usize * layout.blocks()];
    for (at, claim) in all {
        let is_newer = claim.lowest >= begun[at / layout.blocks()];
        if is_newer && claims[at].is_none_or(|other| other.pages < claim.pages) {
            claims[at] = Some(claim);
        }
    }
    Ok(claims)
}
