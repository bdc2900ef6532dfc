//! Programs and erases since an image was made, as its records tell them.
//!
//! Each erase is a P/E cycle of a block. Each program is a page that is programmed now, or one of those that the record of
//! its block counts at the erase. So the counts are those of the flash after a kill, too.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};

/// Programs and erases since an image was made, those of mounts included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Programs of pages, copies included.
    pub programs: u64,
    /// Erases of blocks.
    pub erases: u64,
}

impl Work {
    /// What was done since `before`; nothing where a damaged record hides it.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            programs: self.programs.saturating_sub(before.programs),
            erases: self.erases.saturating_sub(before.erases),
        }
    }
}

/// The same, counted on.
#[derive(Debug, Default)]
pub(super) struct Counter {
    programs: AtomicU64,
    erases: AtomicU64,
}

impl Counter {
    pub fn add(&self, programs: u64, erases: u64) {
        self.programs.fetch_add(programs, Ordering::Relaxed);
        self.erases.fetch_add(erases, Ordering::Relaxed);
    }

    pub fn get(&self) -> Work {
        Work { programs: self.programs.load(Ordering::Relaxed), erases: self.erases.load(Ordering::Relaxed) }
    }
}
