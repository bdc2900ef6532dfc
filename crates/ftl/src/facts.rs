//! What options settle before an FTL runs.

use std::fmt;

/// What the options of an FTL settle before it runs. By default an FTL does nothing special.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Facts {
    /// What a mount may make of a trim that was flushed.
    pub trims: Trims,
    /// Whether stale pages are erased; without that the device is full after a while.
    pub collects: bool,
    /// Whether small writes are gathered: several parts of pages share a page of flash.
    pub gathers: bool,
    /// The option for which blocks hold one bit a cell ([`nandlab_nand::Nand::set_slc`]).
    pub slc: Option<Choice>,
    /// The option for which blocks are rewritten before their bit errors are too many.
    pub refreshes: Option<Choice>,
    /// The option for which blocks are collected in gaps between requests.
    pub gaps: Option<Choice>,
    /// The option for which data moves to even out wear.
    pub levels_wear: Option<Choice>,
    /// The option that keeps the first logical pages in blocks apart.
    pub pools: Option<Choice>,
    /// The setting with which consecutive pages go to the planes of a die, if there is one.
    pub over_planes: Option<&'static str>,
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
    /// The key that says from when on the choice acts.
    pub begins_with: Option<&'static str>,
}

impl Choice {
    /// A choice that acts at once.
    pub(crate) fn number(key: &'static str, value: u32) -> Self {
        Self { key, value: value.to_string(), begins_with: None }
    }

    /// One of several names.
    pub(crate) fn name(key: &'static str, value: &str) -> Self {
        Self { key, value: format!("\"{value}\""), begins_with: None }
    }

    /// The same, where `key` says from when on it acts.
    pub(crate) fn beginning_with(self, key: &'static str) -> Self {
        Self { begins_with: Some(key), ..self }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.key, self.value)
    }
}

/// What a sector that was trimmed may hold after a flush and a mount, until it is written again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Trims {
    /// Zeros.
    Durable,
    /// Zeros, or anything that it has held; the mount after may find something else of these.
    Forgotten,
}

impl Trims {
    /// Those of an FTL that notes them on flash, or not.
    pub(crate) fn noted(durable: bool) -> Self {
        if durable {
            Self::Durable
        } else {
            Self::Forgotten
        }
    }
}
