//! Placement: the choice among the open blocks for each page, so that pages that die together lie together.
//!
//! A policy gets a page and its writer, and returns a frontier's number; the FTL applies it. It is called for every
//! page, so it is an enum rather than a trait object.

mod dac;
mod pools;
mod sepbit;
mod streams;

use super::blocks::frontier::Frontiers;
use dac::Dac;
use nandlab_nand::{BlockId, Geometry, Lpn, Origin};
pub(crate) use pools::{Pools, POOLS};
use sepbit::SepBit;
use streams::Streams;

/// Which pages a page map keeps apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// None: host and garbage collection fill the same block.
    One,
    /// Pages that garbage collection moves from those that the host writes.
    #[default]
    Two,
    /// Each origin from the others, up to `streams` of them, and what garbage collection moves.
    Origin,
    /// By temperature, `regions` of them: up with each write of the host, down with each move (DAC).
    Dac,
    /// By the time to the next write as the last one foretells it, in six classes (SepBIT).
    Sepbit,
    /// The first `pool_pages` logical pages from the others, and each of the two pools has its part of the blocks.
    Pools,
}

/// What the policies may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Frontiers of the host with `origin`.
    pub streams: u32,
    /// Regions of `dac`.
    pub regions: u32,
    /// Logical pages of the first of `pools`.
    pub pool_pages: u32,
    /// Blocks of each die that are its part.
    pub pool_blocks: u32,
}

/// Most frontiers an option may ask for: wear levelling may need one more.
pub const MOST_FRONTIERS: u32 = Frontiers::MOST - 1;

impl Placement {
    /// Blocks filled at the same time.
    pub fn frontiers(self, options: &Options) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Origin => options.streams + 1,
            Self::Dac => options.regions,
            Self::Sepbit => sepbit::CLASSES as u32,
            Self::Pools => POOLS as u32,
        }
    }

    /// Whether a moved page's frontier depends on the page. Garbage collection learns a page's number only from the
    /// copy, so a table must tell it before.
    pub fn asks_who_moves(self) -> bool {
        matches!(self, Self::Dac | Self::Sepbit | Self::Pools)
    }
}

/// A placement policy at work.
#[derive(Debug)]
pub(crate) enum Placer {
    One,
    Two,
    Origin(Streams),
    Dac(Dac),
    Sepbit(SepBit),
    Pools(Pools),
}

impl Placer {
    pub(crate) fn new(placement: Placement, options: &Options, geometry: &Geometry, logical_pages: u32) -> Self {
        match placement {
            Placement::One => Self::One,
            Placement::Two => Self::Two,
            Placement::Origin => Self::Origin(Streams::new(options.streams)),
            Placement::Dac => Self::Dac(Dac::new(options.regions, logical_pages)),
            Placement::Sepbit => Self::Sepbit(SepBit::new(geometry, logical_pages)),
            Placement::Pools => Self::Pools(Pools::new(options, geometry.blocks())),
        }
    }

    /// Whether all host pages go to frontier 0.
    #[inline]
    pub(crate) fn has_one_for_host(&self) -> bool {
        matches!(self, Self::One | Self::Two)
    }

    /// Whether moved pages fill the host's blocks.
    pub(crate) fn shares(&self) -> bool {
        matches!(self, Self::One | Self::Dac(_) | Self::Pools(_))
    }

    /// The two pools, if there are any.
    pub(crate) fn pools(&self) -> Option<&Pools> {
        match self {
            Self::Pools(pools) => Some(pools),
            _ => None,
        }
    }

    /// The frontier for a host page.
    pub(crate) fn host(&mut self, at: Lpn, origin: Origin) -> usize {
        match self {
            Self::One | Self::Two => 0,
            Self::Origin(streams) => streams.of(origin),
            Self::Dac(dac) => dac.written(at),
            Self::Sepbit(sepbit) => sepbit.written(at),
            Self::Pools(pools) => pools.of_page(at),
        }
    }

    /// The frontier for a page moved out of `victim`; [`Lpn::NONE`] stands for the FTL's own pages.
    pub(crate) fn moved(&mut self, at: Lpn, victim: BlockId) -> usize {
        match self {
            Self::One => 0,
            Self::Two => 1,
            Self::Origin(streams) => streams.moved(),
            Self::Dac(dac) => dac.moved(at),
            Self::Sepbit(sepbit) => sepbit.moved(at, victim),
            // Without a page number, the pool of most of the victim's pages.
            Self::Pools(pools) if at == Lpn::NONE => pools.of_block(victim),
            Self::Pools(pools) => pools.of_page(at),
        }
    }

    /// Records a block opened at this frontier.
    pub(crate) fn opened(&mut self, block: BlockId, frontier: usize) {
        match self {
            Self::Sepbit(sepbit) => sepbit.opened(block, frontier),
            Self::Pools(pools) => pools.join(block, frontier),
            _ => {}
        }
    }

    /// Records an emptied block.
    pub(crate) fn emptied(&mut self, block: BlockId) {
        if let Self::Sepbit(sepbit) = self {
            sepbit.emptied(block);
        }
    }

    /// Records a trimmed page.
    pub(crate) fn trimmed(&mut self, at: Lpn) {
        match self {
            Self::Dac(dac) => dac.trimmed(at),
            Self::Sepbit(sepbit) => sepbit.trimmed(at),
            Self::One | Self::Two | Self::Origin(_) | Self::Pools(_) => {}
        }
    }

    /// The tables' size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::One | Self::Two => 0,
            Self::Origin(streams) => streams.bytes(),
            Self::Dac(dac) => dac.bytes(),
            Self::Sepbit(sepbit) => sepbit.bytes(),
            Self::Pools(pools) => pools.bytes(),
        }
    }
}

#[cfg(test)]
mod tests;
