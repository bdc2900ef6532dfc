//! Placement: the choice among the open blocks for each page, so that pages that die together lie together.
//!
//! A policy sees the known facts about a page and returns a frontier's number; the FTL applies it. Each file has a
//! policy with its options. A policy is asked once for each host page and each moved page, so an answer should take a
//! few ns: a counted program takes about 20. It is asked only if its answer is needed: with `one` and `two` host pages
//! need none.

mod dac;
pub(crate) mod fdp;
mod midas;
mod oracle;
pub(crate) mod pools;
mod sepbit;
mod streams;
mod warcip;

pub use super::policy::{Candidates, GroupUse, Moved, PlacementPolicy, PoolPolicy, Written};
use crate::future::Future;
use crate::own::{self, About, Divided};
use crate::{error, FtlError};
pub use dac::Options as Dac;
pub(crate) use fdp::{Fdp, Layout};
pub use fdp::{
    HandleUse, Handles, LoggedEvent, Options as FdpOptions, Origins, PlacementEvent, PlacementEvents, PlacementUse,
};
pub use midas::Options as Midas;
use nandlab_block::own::Own;
use nandlab_nand::Geometry;
pub use oracle::Options as Oracle;
pub use pools::Options as TwoPools;
use pools::{Pools, POOLS};
pub use streams::Options as Streams;
pub use warcip::Options as Warcip;

/// The pages a page map keeps apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// None: host and garbage collection fill the same block.
    One,
    /// Pages moved by garbage collection from pages written by the host.
    #[default]
    Two,
    /// Each origin from the others, up to a number of them, and from pages moved by garbage collection.
    Origin(Streams),
    /// By temperature, in regions: up with each write by the host, down with each move (DAC).
    Dac(Dac),
    /// By the time to the next write as the last one foretells it, in six classes (SepBIT).
    Sepbit,
    /// By the time at which the host will write the page again, known from a run before.
    Oracle(Oracle),
    /// By the interval between the last two writes, in clusters (WARCIP).
    Warcip(Warcip),
    /// By age, in a chain of groups with sizes from a model of the workload, and a hot group beside it (MiDAS).
    Midas(Midas),
    /// The first logical pages from the others; each pool has its part of the blocks.
    Pools(TwoPools),
    /// As the host says, by reclaim unit handles (flexible data placement).
    Fdp(FdpOptions),
    /// As a class of one's own says, `module:Class`.
    Python(Own),
}

/// Most frontiers a policy may ask for, except the host's own placement.
pub const MOST_FRONTIERS: u32 = 15;

impl Placement {
    /// Blocks filled at the same time.
    pub fn frontiers(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Origin(Streams { streams }) => streams + 1,
            Self::Dac(Dac { regions }) => regions,
            Self::Sepbit => sepbit::CLASSES,
            Self::Oracle(Oracle { classes, .. }) => classes,
            Self::Warcip(Warcip { clusters }) => clusters + 1,
            Self::Midas(Midas { groups, .. }) => groups,
            Self::Pools(_) => POOLS,
            Self::Fdp(options) => options.frontiers(),
            Self::Python(policy) => own::host().divided(policy).frontiers,
        }
    }

    /// Whether a moved page's frontier depends on the page. Garbage collection learns a page's number only from the
    /// copy, so a table must tell it before.
    pub fn asks_who_moves(self) -> bool {
        matches!(self, Self::Dac(_) | Self::Sepbit | Self::Oracle(_) | Self::Pools(_) | Self::Fdp(_) | Self::Python(_))
    }

    /// Whether the policy hears of each page that was moved.
    pub fn hears_of_copies(self) -> bool {
        matches!(self, Self::Warcip(_) | Self::Midas(_) | Self::Fdp(_))
    }

    /// The options of the placement by the host.
    pub(crate) fn fdp(self) -> Option<FdpOptions> {
        match self {
            Self::Fdp(options) => Some(options),
            _ => None,
        }
    }

    /// Whether all host pages go to frontier 0.
    pub(crate) fn has_one_for_host(self) -> bool {
        matches!(self, Self::One | Self::Two)
    }

    /// Whether moved pages fill the host's blocks.
    pub(crate) fn shares(self) -> bool {
        match self {
            Self::One | Self::Dac(_) | Self::Oracle(_) | Self::Midas(_) | Self::Pools(_) => true,
            Self::Two | Self::Origin(_) | Self::Sepbit | Self::Warcip(_) | Self::Fdp(_) => false,
            Self::Python(policy) => own::host().divided(policy).shares,
        }
    }

    /// The policy in its first state.
    pub(crate) fn policy(
        self,
        geometry: &Geometry,
        logical_pages: u32,
        (seed, future): (u64, &Future),
    ) -> Box<dyn PlacementPolicy> {
        match self {
            Self::One => Box::new(MovedTo(0)),
            Self::Two => Box::new(MovedTo(1)),
            Self::Origin(options) => Box::new(streams::Streams::new(options)),
            Self::Dac(options) => Box::new(dac::Dac::new(options, logical_pages)),
            Self::Sepbit => Box::new(sepbit::SepBit::new(geometry, logical_pages)),
            Self::Oracle(options) => Box::new(oracle::Oracle::new(options, geometry, logical_pages, future)),
            Self::Warcip(options) => Box::new(warcip::Warcip::new(options, geometry, logical_pages)),
            Self::Midas(options) => Box::new(midas::Chain::new(options, geometry, logical_pages)),
            Self::Pools(options) => Box::new(Pools::new(options, geometry)),
            Self::Fdp(options) => Box::new(Fdp::new(options, geometry, logical_pages)),
            Self::Python(policy) => own::host().placement(policy, &About { geometry: *geometry, logical_pages, seed }),
        }
    }

    /// Checks the options that need no device; `key` is their place in an experiment, such as `ftl.page.placement`.
    ///
    /// # Errors
    /// [`FtlError::Config`] for a number out of its range.
    pub(crate) fn check(self, key: &str) -> Result<(), FtlError> {
        match self {
            Self::Origin(options) => options.check(key),
            Self::Dac(options) => options.check(key),
            Self::Oracle(options) => options.check(key),
            Self::Warcip(options) => options.check(key),
            Self::Midas(options) => options.check(key),
            Self::Fdp(options) => options.check(key),
            Self::One | Self::Two | Self::Sepbit | Self::Pools(_) => Ok(()),
            Self::Python(policy) => {
                own::check(policy, key)?;
                let Divided { frontiers, .. } = own::host().divided(policy);
                error::in_range(&format!("{key}.python: frontiers"), frontiers, 1..=MOST_FRONTIERS)
            }
        }
    }
}

/// All pages of the host at frontier 0, and moved ones at this one.
#[derive(Debug)]
pub(crate) struct MovedTo(pub(crate) usize);

impl PlacementPolicy for MovedTo {
    fn written(&mut self, _: Written) -> usize {
        0
    }

    fn moved(&mut self, _: Moved) -> usize {
        self.0
    }

    fn bytes(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests;
