//! Keys about reading back: `verify` and its kin.

use super::text::{number, switch, Entry};
use super::Malformed;

/// The keys, as a job has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Checks {
    /// Whether it has a kind of `verify`.
    pub(super) is_on: bool,
    /// Whether the requests come once more, as reads.
    pub(super) repeats_pattern: bool,
    pub(super) backlog: u64,
    pub(super) batch: u64,
    /// Whether only the reads come.
    pub(super) is_dry: bool,
}

impl Checks {
    /// Takes a key.
    pub(super) fn set(&mut self, entry: &Entry<'_>) -> Result<(), Malformed> {
        match entry.key {
            "verify" => self.is_on = !matches!(entry.value, Some("0" | "none")),
            "experimental_verify" => self.repeats_pattern = switch(entry)?,
            "verify_only" => self.is_dry = switch(entry)?,
            "verify_backlog" => self.backlog = number(entry, 0, 1 << 32)?,
            _ => self.batch = number(entry, 0, 1 << 32)?,
        }
        Ok(())
    }
}
