//! Programs and erases since an image was made, from its records.
//!
//! Each erase is a P/E cycle for a block. Each program is a page programmed now, or one counted in its block's record
//! at the erase. So the counts match the flash after a kill, too.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};

/// Programs and erases since an image was made, including mounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Page programs, copies included.
    pub programs: u64,
    /// Block erases.
    pub erases: u64,
}

/// How much was done to an image since it was made. No damage makes an image younger, unless it is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Age {
    /// The last program's number.
    pub programs: u64,
    /// Words stored in the NVRAM.
    pub stores: u64,
}

impl Work {
    /// The work since `before`; nothing if a damaged record hides it.
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
