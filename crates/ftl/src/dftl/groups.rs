//! Groups of logical pages with blocks of their own, collected as a whole: LearnedFTL's allocation.
//!
//! A group's pages go to the group's blocks, except from single victims and after a mount. Its collection goes through its
//! logical pages in order, and copies them to blocks begun for it. Then each map page is written. So consecutive logical
//! pages lie side by side on the dies, in whatever order they were written.
//!
//! The group with most superseded and trimmed pages since its last collection is next, also if single victims have freed
//! them since. It needs as many free blocks as its pages fill, so it is collected while they are left. Without them, as
//! after a power cut during a collection, and for blocks with failed programs, victims are emptied one by one as without
//! groups.

use super::Scheme;
use crate::options::options;
use crate::parts::engine::{Pages, Target};
use crate::parts::map_entries::{entries, set_entry};
use crate::FtlError;
use nandlab_nand::{scoped, Cause, Geometry, Lpn, Nand, Ppa};
use std::ops::Range;

options! {
    GroupOptions
    /// Groups of logical pages with blocks of their own.
    #[derive(Eq)]
    {
        /// Logical pages in a group. A group keeps up to a block on each die half filled, and a group's pages in free blocks
        /// are kept for collection: small groups cost the one, large ones the other. Default 0, the size with the least of
        /// both: the root of logical pages, dies and pages a block, multiplied.
        pages: u32 = 0,
    }
}

impl GroupOptions {
    /// Logical pages in a group.
    pub(super) fn size(self, geometry: &Geometry, logical_pages: u32) -> u32 {
        if self.pages > 0 {
            return self.pages;
        }
        let of_stripe = u64::from(geometry.dies()) * u64::from(geometry.pages_per_block());
        u32::try_from((of_stripe * u64::from(logical_pages)).isqrt()).unwrap_or(u32::MAX).max(1)
    }

    /// Groups for so many logical pages.
    fn count(self, geometry: &Geometry, logical_pages: u32) -> u32 {
        logical_pages.div_ceil(self.size(geometry, logical_pages))
    }

    /// Blocks on each die for a group's collection: one more than whole ones.
    pub(super) fn blocks(self, geometry: &Geometry, logical_pages: u32) -> u32 {
        let pages = self.size(geometry, logical_pages).min(logical_pages);
        pages.div_ceil(geometry.dies()).div_ceil(geometry.pages_per_block()).saturating_add(1)
    }

    /// Blocks being filled on each die, beside one group's.
    pub(super) fn filled(self, geometry: &Geometry, logical_pages: u32) -> u32 {
        self.count(geometry, logical_pages).max(1) - 1
    }
}

/// The groups.
#[derive(Debug)]
pub(super) struct Groups {
    /// Logical pages in a group.
    size: u32,
    /// Blocks on each die for a group's collection.
    blocks: u32,
    /// By group: pages superseded or trimmed since its last collection, at the mount at the earliest.
    stale: Vec<u32>,
}

impl Groups {
    pub(super) fn new(options: GroupOptions, geometry: &Geometry, logical_pages: u32) -> Self {
        Self {
            size: options.size(geometry, logical_pages),
            blocks: options.blocks(geometry, logical_pages),
            stale: vec![0; options.count(geometry, logical_pages) as usize],
        }
    }

    pub(super) fn count(&self) -> u32 {
        self.stale.len() as u32
    }

    pub(super) fn of(&self, at: Lpn) -> u32 {
        at.0 / self.size
    }

    /// A logical page's copy no longer counts.
    pub(super) fn superseded(&mut self, at: Lpn) {
        let group = self.of(at);
        self.stale[group as usize] += 1;
    }

    /// The group to collect next, if at least `least` pages there no longer count.
    fn next(&self, least: u32) -> Option<u32> {
        let most = self.stale.iter().copied().max().filter(|&most| most >= least)?;
        self.stale.iter().position(|&stale| stale == most).map(|group| group as u32)
    }
}

impl Scheme {
    /// Collects a group while there is room for its pages, and makes room for one by emptying some victims.
    pub(super) fn make_room_by_group<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N) -> Result<(), FtlError> {
        let Some(groups) = &self.groups else { return Ok(()) };
        let (dies, of_block) = (self.geometry.dies(), self.geometry.pages_per_block());
        let kept = groups.blocks + self.config.reserve_blocks;
        let spare =
            |ftl: &Self, pages: &Pages, die| pages.keeper.count_in(die).checked_sub(kept + ftl.map.claim_in(die));
        let working: Vec<u32> = (0..dies).filter(|&die| pages.works(die)).collect();
        if working.iter().all(|&die| spare(self, pages, die).is_some_and(|spare| spare > 1)) {
            return Ok(());
        }
        let Some(group) = groups.next(dies * of_block) else { return Ok(()) };
        for &die in &working {
            if spare(self, pages, die).is_none() {
                pages.collect_in(self, nand, die)?;
            }
        }
        if working.iter().any(|&die| spare(self, pages, die).is_none()) {
            return Ok(());
        }
        scoped(nand, Cause::Gc, |nand| self.collect_group(pages, nand, group))
    }

    fn collect_group<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, group: u32) -> Result<(), FtlError> {
        pages.restart_group(group);
        let groups = self.groups.as_mut().expect("a group is collected");
        groups.stale[group as usize] = 0;
        let of_group = groups.size;
        let end = self.logical_pages.min((group + 1).saturating_mul(of_group));
        let mut next = group * of_group;
        while next < end {
            let of_map_page = next..end.min((next / self.per_map_page() + 1) * self.per_map_page());
            next = of_map_page.end;
            self.collect_in_order(pages, nand, of_map_page, Target::MovedInGroup(group))?;
        }
        // A trimmed page's newest copy may lie in these blocks.
        self.write_trims(pages, nand)?;
        pages.events.gc_runs += 1;
        pages.release_empty(nand)
    }

    /// Copies a map page's pages, or a part, in order, and writes it.
    fn collect_in_order<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        logical: Range<u32>,
        target: Target,
    ) -> Result<(), FtlError> {
        let (map_page, first) = (logical.start / self.per_map_page(), logical.start % self.per_map_page());
        let mut bytes = std::mem::take(&mut self.page);
        let collected = self.fill_in(pages, nand, map_page, &mut bytes).and_then(|read| {
            let mut ended = Ok(());
            let old: Vec<Ppa> = entries(&bytes).skip(first as usize).take(logical.len()).collect();
            if old.iter().all(|from| !from.is_some()) {
                return Ok(());
            }
            for (at, from) in logical.map(Lpn).zip(old).filter(|(_, from)| from.is_some()) {
                let copied = match pages.copy(self, nand, from, target) {
                    Ok(Some((to, ..))) => Ok(to),
                    Ok(None) => pages.store_lost(self, nand, at, target),
                    Err(error) => Err(error),
                };
                let to = match copied {
                    Ok(to) => to,
                    // The map page still has to tell where the others are.
                    Err(error) => {
                        ended = Err(error);
                        break;
                    }
                };
                pages.supersede(from, nand.ctx().last());
                pages.table.set_valid(to);
                let die = self.geometry.die_of(self.geometry.block_of(from));
                self.moved.push(die, (at, to), &mut self.cmt, true);
                set_entry(&mut bytes, at.0 % self.per_map_page(), to);
            }
            self.store_map_page(pages, nand, map_page, &bytes, read).and(ended)
        });
        self.page = bytes;
        collected
    }
}
