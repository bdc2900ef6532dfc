//! Facts settled by options before an FTL runs.

use nandlab_nand::{Origin, PlacementIds};
use std::fmt;

/// The facts settled by an FTL's options before it runs. By default an FTL does nothing special.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Facts {
    /// How flushed trims fare at a mount.
    pub trims: Trims,
    /// Whether stale pages are erased; otherwise the device is full after a while.
    pub collects: bool,
    /// Whether small writes are gathered: several parts of pages share a page of flash.
    pub gathers: bool,
    /// The option for blocks with one bit per cell ([`nandlab_nand::Nand::set_slc`]).
    pub slc: Option<Choice>,
    /// The option to rewrite blocks before they have too many bit errors.
    pub refreshes: Option<Choice>,
    /// The option to collect blocks in gaps between requests.
    pub gaps: Option<Choice>,
    /// The option to move data to even out wear.
    pub levels_wear: Option<Choice>,
    /// The option to keep the first logical pages in blocks apart.
    pub pools: Option<Choice>,
    /// The setting that sends consecutive pages to a die's planes, if there is one.
    pub over_planes: Option<&'static str>,
    /// The identifiers by which the host can say where pages go.
    pub placements: Option<PlacementIds>,
    /// The origins that an option sends to another handle than the first one.
    pub placed_origins: Vec<Origin>,
}

impl Default for Facts {
    fn default() -> Self {
        Self {
            trims: Trims::Durable,
            collects: true,
            gathers: false,
            slc: None,
            refreshes: None,
            gaps: None,
            levels_wear: None,
            pools: None,
            over_planes: None,
            placements: None,
            placed_origins: Vec::new(),
        }
    }
}

/// An option with its value; it prints as `ftl.page.idle.collect.blocks = 2`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The key.
    pub key: &'static str,
    /// The value, as an experiment has it.
    pub value: String,
    /// The key for the point from which on the choice acts.
    pub begins_with: Option<String>,
}

impl Choice {
    /// A choice that acts at once.
    pub(crate) fn number(key: &'static str, value: u32) -> Self {
        Self { key, value: value.to_string(), begins_with: None }
    }

    /// A name as the choice.
    pub(crate) fn name(key: &'static str, value: &str) -> Self {
        Self { key, value: format!("\"{value}\""), begins_with: None }
    }

    /// The same, acting from the point set by `key` on.
    pub(crate) fn beginning_with(self, key: impl Into<String>) -> Self {
        Self { begins_with: Some(key.into()), ..self }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.key, self.value)
    }
}

/// The possible contents of a trimmed sector after a flush and a mount, until its next write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Trims {
    /// Zeros.
    Durable,
    /// Zeros, or anything it has held; the mount after may find something else among these.
    Forgotten,
}

impl Trims {
    /// The value for an FTL with its trims noted on flash, or not.
    pub(crate) fn noted(durable: bool) -> Self {
        if durable {
            Self::Durable
        } else {
            Self::Forgotten
        }
    }
}
