//! Data placement by the host: each reclaim unit handle gathers its sectors by itself, in blocks of its own.
//!
//! A page map pays for a small write with a whole page: on pages of 16 KiB a handle programs 16 KiB for each 4 KiB. Here the
//! sectors of a handle wait for each other in the handle's merge buffer. The page map's counters and events ([`Fdp`]) are
//! used: a reclaim unit is a block on each die, and collection empties it block by block.
//!
//! Moved sectors fill the open blocks of their handle, together with those that the host writes. So all handles are
//! *persistently isolated*, and a unit counts as begun for the host or for moved pages by its first page. A block gets pages
//! of several handles only if failures or cuts leave no other room; it stays with the first of them.
//!
//! A host that ends a unit does not end the wait of its sectors: those that wait then go to the next unit.

use crate::options::options;
use crate::parts::blocks::scan::{BlockScan, Page, Scans};
use crate::parts::placement::{Fdp, FdpOptions, Handles, Origins, PlacementPolicy, PlacementUse};
use nandlab_nand::{BlockId, Ctx, Geometry, Origin, PlacementId};
use std::collections::BTreeMap;

options! {
    SectorHandles
    /// The options of data placement in a sector map.
    #[derive(Eq)]
    {
        /// Reclaim unit handles, 1 to 128. Default 8.
        handles: u32 = 8,
        /// Handles for writes without an identifier, by origin, as in `ftl.page.placement.fdp`; `"each"` gives each origin its
        /// own. Default `{}`.
        origins: Origins = Origins::Table([0; Origin::COUNT]),
    }
}

impl SectorHandles {
    /// The same placement as the page map has it.
    pub(crate) fn options(self) -> FdpOptions {
        FdpOptions { handles: self.handles, origins: self.origins, persistent: Handles::ALL, ..FdpOptions::default() }
    }
}

/// The handles at work; one without counters if the host does not place.
#[derive(Debug)]
pub(super) struct Placing {
    fdp: Option<Fdp>,
    count: usize,
    /// By block: its handle; empty if the host does not place.
    of_block: Vec<u8>,
}

impl Placing {
    pub(super) fn new(options: Option<SectorHandles>, geometry: &Geometry) -> Self {
        let Some(options) = options else { return Self { fdp: None, count: 1, of_block: Vec::new() } };
        Self {
            fdp: Some(Fdp::of_gathered(options.options(), geometry)),
            count: options.handles as usize,
            of_block: vec![0; geometry.blocks() as usize],
        }
    }

    /// How many there are.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The handle for the sectors of the present request.
    #[inline]
    pub(super) fn of_request(&mut self, ctx: &mut Ctx) -> usize {
        let Some(fdp) = &mut self.fdp else { return 0 };
        let placement = fdp.placement_of_request(ctx);
        fdp.handle_for(placement, ctx.origin())
    }

    /// The handle of a block with data.
    #[inline]
    pub(super) fn of_block(&self, block: BlockId) -> usize {
        self.of_block.get(block.index()).map_or(0, |&handle| handle.into())
    }

    /// A handle begins to fill a block, for the host or for moved sectors.
    pub(super) fn opened(&mut self, block: BlockId, handle: usize, is_for_host: bool) {
        let Some(fdp) = &mut self.fdp else { return };
        self.of_block[block.index()] = handle as u8;
        if is_for_host {
            fdp.opened(block, handle);
        } else {
            fdp.opened_for_moved(block, handle);
        }
    }

    /// A block takes no more pages, after so many programs in all.
    pub(super) fn closed(&mut self, block: BlockId, programs: u64) {
        if let Some(fdp) = &mut self.fdp {
            fdp.closed(block, programs);
        }
    }

    /// A block holds nothing any more.
    pub(super) fn emptied(&mut self, block: BlockId) {
        if let Some(fdp) = &mut self.fdp {
            fdp.emptied(block);
        }
    }

    /// A page of the host was programmed, with so many sectors that the host did not write; `is_flushed`: before it was full.
    pub(super) fn programmed(&mut self, handle: usize, missing: u32, is_flushed: bool) {
        if let Some(fdp) = &mut self.fdp {
            fdp.gathered(handle, missing, is_flushed);
        }
    }

    /// A page was programmed with so many sectors that leave a block.
    pub(super) fn moved(&mut self, handle: usize, from: BlockId, sectors: u32) {
        if let Some(fdp) = &mut self.fdp {
            fdp.left(handle, from, sectors);
        }
    }

    /// A sector was read from the handle's merge buffer.
    #[inline]
    pub(super) fn read_buffered(&mut self, handle: usize) {
        if let Some(fdp) = &mut self.fdp {
            fdp.read_buffered(handle);
        }
    }

    /// The handle of an identifier whose unit the host ends; `None` if there is none, which may count as an event.
    pub(super) fn handle_to_end(&mut self, placement: PlacementId) -> Option<usize> {
        let fdp = self.fdp.as_mut()?;
        let is_known = placement.is_some() && fdp.checked(placement) == placement;
        is_known.then_some(placement.handle.into())
    }

    /// Blocks that the handle's unit still takes; `None` if it has none.
    pub(super) fn blocks_left(&self, handle: usize) -> Option<u32> {
        self.fdp.as_ref().and_then(|fdp| fdp.units.blocks_left(0, handle))
    }

    /// Ends the unit of a handle, which had room if `is_unfilled`, after so many programs in all; `None` is an empty one, which
    /// stays.
    pub(super) fn update(&mut self, handle: usize, is_unfilled: Option<bool>, programs: u64) {
        let Some(fdp) = &mut self.fdp else { return };
        let placement = PlacementId::of(handle as u8);
        match is_unfilled {
            Some(is_unfilled) => fdp.retire(0, placement, (is_unfilled, programs)),
            None => fdp.updated_empty(placement),
        }
    }

    /// Takes the handles of the blocks that a mount found, from the pages in them. Blocks in use form units, in the order in
    /// which they were filled.
    pub(super) fn adopt(&mut self, scans: &Scans, listed: &[(BlockId, Page)], is_used: impl Fn(BlockId) -> bool) {
        let Some(fdp) = &mut self.fdp else { return };
        // By block: when it was filled, and the handle of its first page.
        let mut found: BTreeMap<u32, (u64, u8)> = BTreeMap::new();
        let whole = (0..)
            .map(BlockId)
            .zip(scans)
            .flat_map(|(block, scan)| scan.iter().flat_map(BlockScan::copies).map(move |&page| (block, page)));
        for (block, Page { oob, .. }) in whole.chain(listed.iter().copied()) {
            let (highest, _) = found.entry(block.0).or_insert((0, oob.handle));
            *highest = (*highest).max(oob.seq.0);
        }
        let mut filled: Vec<(u64, BlockId)> = Vec::new();
        for (&block, &(highest, handle)) in &found {
            self.of_block[block as usize] = if usize::from(handle) < self.count { handle } else { 0 };
            filled.push((highest, BlockId(block)));
        }
        filled.retain(|&(_, block)| is_used(block));
        filled.sort_unstable();
        let of_block = |block: BlockId| Some(self.of_block[block.index()]);
        fdp.adopt(&filled.into_iter().map(|(highest, block)| (highest, block, of_block(block))).collect::<Vec<_>>());
    }

    /// The use since the mount. By handle, `open` has the pages left in its open blocks and the sectors in its merge buffer; a
    /// page takes `gathered` sectors. Dies fill at different speeds, so a handle may fill several units: room is told for one.
    pub(super) fn used(&self, geometry: &Geometry, gathered: u32, open: &[(u32, u32)]) -> Option<PlacementUse> {
        let fdp = self.fdp.as_ref()?;
        let mut used = fdp.used();
        let of_unit = geometry.dies() * geometry.pages_per_block();
        let pages = |handle: usize, left: u32| {
            let Some(blocks) = fdp.units.blocks_left(0, handle) else { return of_unit };
            (blocks * geometry.pages_per_block() + left).min(of_unit)
        };
        let left = || open.iter().enumerate().map(|(handle, &(left, waiting))| (pages(handle, left), waiting));
        used.pages_left = vec![left().map(|(pages, _)| pages).collect()];
        let sectors = |(pages, waiting): (u32, u32)| {
            // What waits while the unit is full takes room in the next one.
            let pages = if pages == 0 && waiting > 0 { of_unit } else { pages };
            u64::from(pages) * u64::from(gathered) - u64::from(waiting)
        };
        used.sectors_left = vec![left().map(sectors).collect()];
        Some(used)
    }

    /// Asserts that the blocks with data are in units, and no others.
    pub(super) fn check(&self, has_data: impl Fn(BlockId) -> bool) {
        for block in (0..self.of_block.len() as u32).map(BlockId) {
            let is_in_unit = self.fdp.as_ref().is_some_and(|fdp| fdp.units.has(block));
            assert_eq!(is_in_unit, has_data(block), "whether block {block} is in a reclaim unit");
            assert!(self.of_block(block) < self.count, "the handle of block {block}");
        }
    }

    /// Bytes of memory: one by block for its handle, and those of the units.
    pub(super) fn bytes(&self) -> Option<u64> {
        self.fdp.as_ref().map(|fdp| self.of_block.len() as u64 + fdp.bytes())
    }
}
