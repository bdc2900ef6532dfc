//! The placement, and each page's owner, if the placement asks.

use super::needs::Needs;
use super::Config;
use crate::parts::placement::{Fdp, MovedTo, PlacementPolicy, PoolPolicy, Written};
use nandlab_nand::tables::filled;
use nandlab_nand::{BlockId, Ctx, Geometry, Lpn, Ppa};
use std::ops::{Deref, DerefMut};

/// A placement at work.
#[derive(Debug)]
pub(super) struct Placing {
    policy: Box<dyn PlacementPolicy>,
    /// Whether the policy sends every host page to frontier 0.
    has_one_for_host: bool,
    /// By physical page: the logical page; empty unless the placement asks before a move.
    owners: Vec<Lpn>,
    /// Whether no host page goes elsewhere: to one-bit blocks neither.
    has_one_way: bool,
    /// Whether the host says where pages go.
    is_by_host: bool,
    /// Whether there are pools of blocks.
    has_pools: bool,
    /// Whether the placement chooses the victims.
    picks: bool,
    /// Whether the policy hears of copies.
    hears_of_copies: bool,
    /// Most blocks of a reclaim unit on a die; 1 without units.
    blocks_of_unit: u32,
    /// Whether moved pages fill the host's blocks.
    shares: bool,
    /// Whether copies may be carried out later: their places are known before, and only copies go to their block.
    lets_copies_wait: bool,
}

impl Placing {
    /// `is_cached`: one-bit blocks take host pages first.
    pub(super) fn new(config: &Config, geometry: &Geometry, needs: Needs, is_cached: bool) -> Self {
        let asks = config.placement.asks_who_moves();
        let hears_of_copies = config.placement.hears_of_copies();
        let policy: Box<dyn PlacementPolicy> = match needs.groups {
            0 => config.placement.policy(geometry, needs.logical_pages, (config.seed, &config.future)),
            groups => Box::new(MovedTo(groups as usize)),
        };
        Self {
            has_one_for_host: config.placement.has_one_for_host(),
            has_one_way: config.placement.has_one_for_host() && !is_cached,
            shares: config.placement.shares(),
            is_by_host: policy.fdp().is_some(),
            has_pools: policy.pools().is_some(),
            picks: policy.picks(),
            hears_of_copies,
            blocks_of_unit: policy.fdp().map_or(1, |fdp| fdp.units.layout.slots),
            lets_copies_wait: !asks && !hears_of_copies && !config.placement.shares() && !is_cached,
            owners: if asks { filled(Lpn::NONE, geometry.pages() as usize) } else { Vec::new() },
            policy,
        }
    }

    /// The same on a chip with pairs: blank pages may follow copies in their block, so copies do not wait.
    pub(super) fn with_pairs(self, has_pairs: bool) -> Self {
        Self { lets_copies_wait: self.lets_copies_wait && !has_pairs, ..self }
    }

    #[inline]
    pub(super) fn has_one_way(&self) -> bool {
        self.has_one_way
    }

    /// The frontier for a host page of the present request; `from` is the block with its present copy.
    #[inline]
    pub(super) fn frontier_of(&mut self, at: Lpn, from: BlockId, ctx: &mut Ctx) -> usize {
        if self.has_one_for_host {
            return 0;
        }
        if self.is_by_host {
            if let Some(fdp) = self.policy.fdp_mut() {
                fdp.placement_of_request(ctx);
            }
        }
        self.policy.written(Written { at, origin: ctx.origin(), placement: ctx.placement(), from })
    }

    /// Whether the host says where pages go.
    #[inline]
    pub(super) fn is_by_host(&self) -> bool {
        self.is_by_host
    }

    /// The placement by the host, if there is one. Without one this asks no policy.
    #[inline]
    pub(super) fn fdp(&self) -> Option<&Fdp> {
        if !self.is_by_host {
            return None;
        }
        self.policy.fdp()
    }

    /// Whether the placement chooses the victims, without asking it.
    #[inline]
    pub(super) fn picks_victims(&self) -> bool {
        self.picks
    }

    /// The pools of blocks, if there are any. Without them this asks no policy.
    #[inline]
    pub(super) fn pools(&self) -> Option<&dyn PoolPolicy> {
        if !self.has_pools {
            return None;
        }
        self.policy.pools()
    }

    /// Records a block that takes no more pages, after so many programs in all.
    #[inline]
    pub(super) fn closed(&mut self, block: BlockId, programs: u64) {
        if self.is_by_host {
            self.policy.closed(block, programs);
        }
    }

    /// The handle that goes with a page of the host at `frontier`.
    #[inline]
    pub(super) fn handle_at(&self, frontier: usize) -> u8 {
        self.fdp().map_or(0, |fdp| fdp.handle_at(frontier))
    }

    /// The frontier for the FTL's own pages.
    pub(super) fn own_frontier(&self) -> usize {
        self.fdp().map_or(0, Fdp::own_frontier)
    }

    /// The frontier for the pages that a frontier holds, when they are moved; the same for all unless the host places.
    pub(super) fn moved_with(&self, frontier: usize) -> usize {
        self.policy.fdp().map_or(0, |fdp| fdp.moved_with(frontier))
    }

    /// The handle through which the host wrote a page last.
    pub(super) fn handle_of(&self, at: Lpn) -> u8 {
        self.fdp().map_or(0, |fdp| fdp.handle_of(at))
    }

    /// Most blocks of a reclaim unit on a die; 1 without units.
    pub(super) fn blocks_of_unit(&self) -> u32 {
        self.blocks_of_unit
    }

    /// Whether the policy hears of copies.
    #[inline]
    pub(super) fn hears_of_copies(&self) -> bool {
        self.hears_of_copies
    }

    pub(super) fn shares(&self) -> bool {
        self.shares
    }

    #[inline]
    pub(super) fn lets_copies_wait(&self) -> bool {
        self.lets_copies_wait
    }

    /// The page's owner; `None` if nobody asks.
    #[inline]
    pub(super) fn owner(&self, page: Ppa) -> Option<Lpn> {
        if self.owners.is_empty() {
            return None;
        }
        Some(self.owners[page.index()])
    }

    /// Notes the page's owner, if somebody asks.
    #[inline]
    pub(super) fn own(&mut self, page: Ppa, at: Lpn) {
        if !self.owners.is_empty() {
            self.set_owner(page, at);
        }
    }

    #[inline(never)]
    fn set_owner(&mut self, page: Ppa, at: Lpn) {
        self.owners[page.index()] = at;
        self.policy.put(at, page);
    }

    /// The reverse map's bytes.
    pub(super) fn owner_bytes(&self) -> u64 {
        4 * self.owners.len() as u64
    }
}

impl Deref for Placing {
    type Target = dyn PlacementPolicy;

    #[inline]
    fn deref(&self) -> &(dyn PlacementPolicy + 'static) {
        &*self.policy
    }
}

impl DerefMut for Placing {
    #[inline]
    fn deref_mut(&mut self) -> &mut (dyn PlacementPolicy + 'static) {
        &mut *self.policy
    }
}
