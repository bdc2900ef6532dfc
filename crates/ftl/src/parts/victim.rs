//! Victim policies: the choice of the block to empty next.
//!
//! A policy sees a read-only view of a die's blocks and returns a decision; the FTL applies it.

mod cat;
mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod random;
mod score;
mod windowed_greedy;

use super::blocks::table::Blocks;
use nandlab_nand::BlockId;

/// Chooses victims.
pub trait VictimPolicy: std::fmt::Debug + Send {
    /// The closed block to empty, or `None` if no block is closed; `now` counts programs.
    fn pick(&mut self, blocks: Blocks<'_>, now: u64) -> Option<BlockId>;
}

/// Most blocks that `d_choices` may draw: with more it is greedy, and each pick needs as many draws.
pub const MOST_CHOICES: u32 = 4096;

/// What the policies may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Blocks that `d_choices` draws.
    pub choices: u32,
    /// Blocks that `windowed_greedy` looks at.
    pub window: u32,
    /// Seed of random choices.
    pub seed: u64,
}

impl Options {
    /// Options that `victim` does not read, as key, given value and reading policy. `usual` are the defaults.
    pub fn unread(&self, victim: Victim, usual: &Self) -> Vec<Unread> {
        let amounts = [
            ("choices", self.choices, usual.choices, Victim::DChoices, "victim = \"d_choices\""),
            ("window", self.window, usual.window, Victim::WindowedGreedy, "victim = \"windowed_greedy\""),
        ];
        let unread = amounts.into_iter().filter(|&(_, given, usual, reader, _)| given != usual && victim != reader);
        unread.map(|(key, given, _, _, reader)| Unread { key, given, reader }).collect()
    }
}

/// An option that is set without effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unread {
    /// Its name.
    pub key: &'static str,
    /// The given value.
    pub given: u32,
    /// The setting that would read it.
    pub reader: &'static str,
}

impl Unread {
    /// The sentence about it, for an FTL called `ftl`.
    pub fn told(&self, ftl: &str) -> String {
        let Self { key, given, reader } = self;
        format!("ftl.{ftl}.{key} = {given} has no effect: it counts only with {reader}")
    }
}

/// Declares the policies: name, one line, constructor.
macro_rules! victims {
    ($($(#[$attribute:meta])* $variant:ident = $name:literal, $doc:literal, $policy:expr;)+) => {
        /// The victim policy of a page map. Age is counted in programs since the block was filled.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Victim {
            $($(#[$attribute])* #[doc = $doc] $variant,)+
        }

        impl Victim {
            /// The names of all policies with what they do.
            pub const LIST: &'static [(&'static str, &'static str)] = &[$(($name, $doc)),+];

            /// Every policy.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// A policy in its first state.
            pub fn policy(self, options: &Options) -> Box<dyn VictimPolicy> {
                let make: fn(&Options) -> Box<dyn VictimPolicy> = match self {
                    $(Self::$variant => |options| Box::new($policy(options))),+
                };
                make(options)
            }
        }
    };
}

victims! {
    #[default]
    Greedy = "greedy", "The block with the fewest valid pages, the lowest block number among equals.",
        greedy::Greedy::new;
    Fifo = "fifo", "The block that was filled first, whatever is valid in it.", fifo::Fifo::new;
    Random = "random", "Any block.", random::AnyBlock::new;
    DChoices = "d_choices", "Of `choices` random blocks the one with the fewest valid pages.",
        d_choices::DChoices::new;
    WindowedGreedy = "windowed_greedy", "Of the `window` blocks that were filled first the one with the fewest valid pages.",
        windowed_greedy::WindowedGreedy::new;
    CostBenefit = "cost_benefit", "Most of `(1 - u) age / (1 + u)`, where a share `u` of the block is valid: LFS.",
        cost_benefit::Lfs::new;
    CostBenefitFlash = "cost_benefit_flash", "Most of `(1 - u) age / 2u`, where a share `u` of the block is valid: Kawaguchi.",
        cost_benefit::Flash::new;
    Cat = "cat", "Most of `(1 - u) age / (u erases)`, where a share `u` of the block is valid: cost, age, times.",
        cat::Cat::new;
}

#[cfg(test)]
mod tests;
