//! Reclaim units of the host's placement: their needs, which die fills one next, and which one is emptied next.

use super::open::LEFT_FOR_MOVED;
use super::stripe::Stripe;
use super::{Config, Noted, Pages, Scheme};
use crate::parts::blocks::scan::Scans;
use crate::parts::placement::{Fdp, Layout, PlacementUse};
use crate::{error, FtlError};
use nandlab_nand::{BlockId, Geometry, Lpn, Nand, PlacementId, Rules, SectorMask};

impl Config {
    /// Checks the placement by the host on a device.
    pub(super) fn check_units(&self, geometry: &Geometry, rules: &Rules) -> Result<(), FtlError> {
        let Some(options) = self.placement.fdp() else { return Ok(()) };
        let Layout { slots, .. } = Layout::new(options, geometry.dies(), self.stripe.unit())?;
        let key = "ftl.page.placement.fdp";
        if rules.unstable_pages {
            return Err(FtlError::Config(format!(
                "device.rules.unstable_pages = true: a mount writes the youngest pages again, and {key} would not know through \
                 which handle; take another placement, or a device without unstable pages"
            )));
        }
        if matches!(self.stripe, Stripe::Address(_)) {
            return Err(FtlError::Config(format!(
                "{key} fills a reclaim unit's dies in turn, and ftl.page.stripe.address gives each address its plane: take one of \
                 the two"
            )));
        }
        if let Some(kind) = self.slc_cache.name() {
            return Err(FtlError::Config(format!(
                "{key} fills reclaim units, and ftl.page.slc_cache.{kind} would take the host's pages first, those of all \
                 handles together: take one of the two"
            )));
        }
        if let Some(wear) = self.wear.mover().filter(|_| self.wear.has_frontier()) {
            return Err(FtlError::Config(format!(
                "{key} keeps the pages of handles apart, and ftl.page.wear = \"{wear}\" would move cold data of several to \
                 one block: take \"none\", \"dynamic\" or \"bet\""
            )));
        }
        let (unit, blocks) = (self.stripe.unit(), geometry.blocks_per_die());
        let (filled, moved) = (options.handles, options.frontiers() - options.handles);
        let (filled, moved) = (filled.saturating_mul(slots), moved.saturating_mul(slots));
        let needed = [moved, self.reserve_blocks, 2].into_iter().fold(filled, u32::saturating_add);
        if blocks < needed {
            return Err(FtlError::Config(format!(
                "{key} needs {} on each {unit}: {filled} for the units of the handles, {} for the units of moved pages, \
                 {} in reserve, one of data and one to collect; a {unit} of this device has {blocks}",
                error::blocks(needed),
                moved,
                self.reserve_blocks,
            )));
        }
        Ok(())
    }

    /// Blocks on a die that the host and moved pages fill, or that wait for the rest of their unit.
    pub(super) fn kept_open(&self, geometry: &Geometry) -> Result<u32, FtlError> {
        let slots = match self.placement.fdp() {
            Some(options) => Layout::new(options, geometry.dies(), self.stripe.unit())?.slots,
            None => 1,
        };
        Ok(self.filled_blocks().saturating_mul(slots))
    }

    /// The device as a victim policy sees it: reclaim units are its blocks.
    pub(super) fn victims(&self, geometry: &Geometry) -> Geometry {
        self.placement.fdp().map_or(*geometry, |options| Fdp::as_blocks(options, geometry))
    }
}

impl Pages {
    /// Writes a host page to a handle's unit and maps it.
    pub(super) fn store_in_unit<N: Nand, S: Noted>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        handle: usize,
        at: Lpn,
        page: &N::Buf,
    ) -> Result<(), FtlError> {
        let die = self.die_of_unit(handle);
        let die = self.store_on(scheme, nand, (die, handle), at, page)?;
        self.collect(scheme, nand, die)
    }

    /// The host wrote only these sectors of the page that it wrote last.
    pub(crate) fn wrote_part(&mut self, at: Lpn, sectors: SectorMask) {
        if self.placing.is_by_host() {
            let rest = self.geometry.sectors_per_page() - sectors.count();
            self.placing.fdp_mut().into_iter().for_each(|fdp| fdp.merged(at, rest));
        }
    }

    /// The die for the next page through a handle: those of its unit in turn, except dies that hold more than their share.
    fn die_of_unit(&mut self, handle: usize) -> usize {
        let Some(fdp) = self.placing.fdp_mut() else { return 0 };
        let (layout, group, turn) = (fdp.units.layout, fdp.group(), *fdp.turn_mut(handle));
        let row = layout.row_of(turn.die);
        let dies = layout.dies_of_row(row);
        let first = if turn.left > 0 { turn.die } else { turn.die + 1 };
        let in_unit = (0..layout.span).map(|step| dies.start + (first - dies.start + step) % layout.span);
        let next = in_unit.into_iter().find(|&die| self.has_place(die, handle) && self.takes(die as usize, handle));
        if let Some(die) = next {
            return self.take_turn(handle, die);
        }
        // The unit is full: the next one lies in the next row.
        let rows = layout.rows(group);
        let turns = (1..=rows.len() as u32).map(|step| rows.start + (row - rows.start + step) % rows.len() as u32);
        let next = turns.flat_map(|row| layout.dies_of_row(row)).find(|&die| self.takes(die as usize, handle));
        if let Some(die) = next {
            return self.take_turn(handle, die);
        }
        let die = self.roomiest_die();
        if let Some(fdp) = self.placing.fdp_mut().filter(|_| die as u32 / layout.dies != group) {
            fdp.changed_implicitly();
        }
        die
    }

    /// Whether a die has room for a handle's page in the unit being filled.
    fn has_place(&self, die: u32, handle: usize) -> bool {
        let frontier = &self.dies[die as usize].frontiers[handle];
        !frontier.is_full() || self.placing.fdp().is_some_and(|fdp| fdp.units.takes(die, handle))
    }

    fn take_turn(&mut self, handle: usize, die: u32) -> usize {
        let pages = self.config.stripe.pages();
        if let Some(fdp) = self.placing.fdp_mut() {
            let turn = fdp.turn_mut(handle);
            let same = turn.left > 0 && turn.die == die;
            turn.left = if same { turn.left } else { pages } - 1;
            turn.die = die;
        }
        die as usize
    }

    /// Whether units span several blocks, so that a victim was weighed as a unit.
    pub(super) fn has_wide_units(&self) -> bool {
        self.placing.fdp().is_some_and(|fdp| fdp.units.layout.blocks() > 1)
    }

    /// The block to empty next if there are units; a unit of one block is that block. Else it is in the unit that the
    /// victim policy picks; each die of the unit empties its part of it before another unit is picked.
    #[cold]
    pub(super) fn victim_of_units<S: Scheme>(&mut self, scheme: &mut S, die: usize) -> Option<BlockId> {
        if !self.has_wide_units() {
            return self.victim_of_all(die);
        }
        let full = self.geometry.pages_per_block();
        // A die without an invalid page in a closed block gains nothing.
        let best = self.table.die(die as u32).fewest_valid().filter(|&block| self.table.valid_pages(block) < full)?;
        let free = self.free_in(scheme, die);
        let is_urgent = free <= LEFT_FOR_MOVED || !self.has_reserve(scheme, die);
        let best_alone = Some(best).filter(|&best| self.config.takes_victim(full - self.table.valid_pages(best), free));
        loop {
            let fdp = self.placing.fdp_mut()?;
            if let Some(block) = fdp.units.next_condemned(die) {
                let gains = self.table.valid_pages(block) < full;
                return Some(if is_urgent && !gains { best } else { block });
            }
            let row = fdp.units.layout.row_of(die as u32);
            let blocks = fdp.units.weighed(row, &self.table).die(row);
            let Some(unit) = self.policy.pick(blocks, self.keeper.seq()) else { return best_alone };
            let is_full = |unit| blocks.valid_pages(unit) == blocks.pages_per_block();
            if is_full(unit) && blocks.fewest_valid().is_none_or(is_full) {
                return best_alone;
            }
            // FEMU passes over a line of which less than an eighth is invalid until lines are scarce (bbssd/ftl.c,
            // `select_victim_line`; H. Li et al.: The CASE of FEMU. FAST 2018): the line counts, not its blocks.
            let invalid = blocks.pages_per_block() - blocks.valid_pages(unit);
            if !self.config.takes_victim(invalid / fdp.units.layout.blocks(), free) {
                return None;
            }
            fdp.units.condemn(unit, &self.table);
        }
    }

    /// Ends the unit of a handle: its next page begins another one. An empty unit stays, though it counts as not filled.
    /// An identifier with an unknown group or handle changes nothing, and counts as such.
    pub(super) fn retire_unit(&mut self, placement: PlacementId) {
        let Some(fdp) = self.placing.fdp_mut() else { return };
        if fdp.checked(placement) != placement || !placement.is_some() {
            return;
        }
        let handle = usize::from(placement.handle);
        let row = fdp.row(placement.group.into(), handle);
        let Some(left) = fdp.units.blocks_left(row, handle) else { return fdp.updated_empty(placement) };
        let mut is_unfilled = left > 0;
        for die in fdp.units.layout.dies_of_row(row) {
            let frontier = &self.dies[die as usize].frontiers[handle];
            is_unfilled |= !frontier.is_full();
            self.close_frontier(die as usize, handle);
        }
        let programs = self.keeper.seq();
        if let Some(fdp) = self.placing.fdp_mut() {
            fdp.retire(row, placement, (is_unfilled, programs));
        }
    }

    /// The use of reclaim units since the mount; `None` if the host does not place.
    pub(super) fn use_of_units(&self) -> Option<PlacementUse> {
        let fdp = self.placing.fdp()?;
        let layout = fdp.units.layout;
        let left = |group, handle| {
            let row = fdp.row(group, handle);
            let b = self.geometry.pages_per_block();
            // A handle without a unit points to an empty one.
            let Some(blocks) = fdp.units.blocks_left(row, handle) else { return layout.blocks() * b };
            let dies = layout.dies_of_row(row);
            blocks * b + dies.map(|die| self.dies[die as usize].frontiers[handle].left()).sum::<u32>()
        };
        let groups = self.dies.len() as u32 / layout.dies;
        let mut used = fdp.used();
        let handles = 0..used.handles.len();
        used.pages_left =
            (0..groups).map(|group| handles.clone().map(|handle| left(group, handle)).collect()).collect();
        let sectors = |&pages: &u32| u64::from(pages) * u64::from(self.geometry.sectors_per_page());
        used.sectors_left = used.pages_left.iter().map(|group| group.iter().map(sectors).collect()).collect();
        Some(used)
    }

    /// Tells a placement by the host about pages found by a mount. Returns each block's handle: `None` if it holds pages of
    /// several.
    pub(super) fn adopt_handles(&mut self, scans: &Scans) -> Vec<Option<u8>> {
        let Some(fdp) = self.placing.fdp_mut() else { return Vec::new() };
        let mut handles = vec![None; scans.len()];
        for (block, scan) in (0..).map(BlockId).zip(scans) {
            let Some(scan) = scan else { continue };
            for page in scan.copies() {
                if self.table.is_valid(self.geometry.page(block, page.place)) {
                    fdp.found(page.oob.lpn, page.oob.handle);
                }
            }
            let first = scan.copies().next().map(|page| page.oob.handle);
            handles[block.index()] = first.filter(|&first| scan.copies().all(|page| page.oob.handle == first));
        }
        handles
    }

    /// Forms units of blocks found full by a mount, in the order in which they were filled.
    pub(super) fn adopt_units(&mut self, closed: &[(u64, BlockId)], handles: &[Option<u8>]) {
        if let Some(fdp) = self.placing.fdp_mut() {
            let found: Vec<_> =
                closed.iter().map(|&(highest, block)| (highest, block, handles[block.index()])).collect();
            fdp.adopt(&found);
        }
    }
}
