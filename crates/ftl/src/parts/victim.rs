//! Victim policies: the choice of the block to empty next.
//!
//! A policy sees a read-only view of a die's blocks and returns a decision; the FTL applies it. It is asked once for each
//! victim: once an erase, so one call may look at every block. Each file has a policy with its options.

mod cat;
mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod random;
mod score;
mod windowed_greedy;

pub use super::policy::VictimPolicy;
use crate::own::{self, About};
use crate::{error, FtlError};
pub use d_choices::Options as DChoices;
use nandlab_block::own::Own;
use nandlab_nand::Geometry;
pub use windowed_greedy::Options as WindowedGreedy;

/// Declares the policies: name, one line, constructor.
macro_rules! victims {
    ($seed:ident, $geometry:ident; $($(#[$attribute:meta])* $variant:ident $(($options:ident: $type:ty))? = $name:literal, $doc:literal, $policy:expr;)+) => {
        /// The victim policy of a page map. Age is counted in programs since the block was filled.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Victim {
            $($(#[$attribute])* #[doc = $doc] $variant $(($type))?,)+
            /// A class of one's own, `module:Class`.
            Python(Own),
        }

        impl Victim {
            /// The names of all policies with what they do.
            pub const LIST: &'static [(&'static str, &'static str)] = &[$(($name, $doc)),+];

            /// Every policy of ours with its default options.
            pub fn all() -> Vec<Self> {
                vec![$(Self::$variant $((<$type>::default()))?),+]
            }

            /// A policy in its first state for a device with `geometry`; `seed` is for random choices.
            pub fn policy(self, $geometry: &Geometry, $seed: u64) -> Box<dyn VictimPolicy> {
                match self {
                    $(Self::$variant $(($options))? => Box::new($policy),)+
                    Self::Python(policy) => {
                        own::host().victim(policy, &About { geometry: *$geometry, logical_pages: 0, seed: $seed })
                    }
                }
            }
        }
    };
}

victims! {
    seed, geometry;
    #[default]
    Greedy = "greedy", "The block with the fewest valid pages, the lowest block number among equals.", greedy::Greedy;
    Fifo = "fifo", "The block that was filled first, whatever is valid in it.", fifo::Fifo;
    Random = "random", "Any block.", random::AnyBlock::new(seed);
    DChoices(options: d_choices::Options) = "d_choices", "Of `choices` random blocks the one with the fewest valid pages.",
        d_choices::DChoices::new(options, seed);
    WindowedGreedy(options: windowed_greedy::Options) = "windowed_greedy",
        "Of the `window` blocks that were filled first the one with the fewest valid pages.",
        windowed_greedy::WindowedGreedy::new(options);
    CostBenefit = "cost_benefit", "Most of `(1 - u) age / (1 + u)`, where a share `u` of the block is valid: LFS.",
        cost_benefit::Lfs;
    CostBenefitFlash = "cost_benefit_flash", "Most of `(1 - u) age / 2u`, where a share `u` of the block is valid: Kawaguchi.",
        cost_benefit::Flash;
    Cat = "cat", "Most of `(1 - u) age / (u erases)`, where a share `u` of the block is valid: cost, age, times.",
        cat::Cat;
}

impl Victim {
    /// Checks the options; `key` is their place in an experiment, such as `ftl.page.victim`.
    ///
    /// # Errors
    /// [`FtlError::Config`] for a number out of its range.
    pub(crate) fn check(self, key: &str) -> Result<(), FtlError> {
        match self {
            Self::DChoices(d_choices::Options { choices }) => {
                error::in_range(&format!("{key}.d_choices.choices"), choices, 1..=d_choices::MOST_CHOICES)
            }
            Self::WindowedGreedy(windowed_greedy::Options { window }) => {
                error::in_range(&format!("{key}.windowed_greedy.window"), window, 1..=u32::MAX)
            }
            Self::Python(policy) => own::check(policy, key),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
