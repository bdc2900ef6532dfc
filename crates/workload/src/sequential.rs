//! Sequential: one request after the other.
//!
//! ## Idea
//! Each request starts at the previous end, rounded up to the alignment; at the footprint's end the next request starts
//! at its beginning. Reads and trims in the mix move along with the writes.
//!
//! ## Invariants
//! Written in whole pages, it leaves every block wholly invalid before it is collected: write amplification
//! is 1.000 on a page map.

use crate::mix::Pattern;
use crate::{Options, Setting, Workload, WorkloadError};
use nandlab_nand::random::Random;

generator_options! {
    /// Options of `[workload.sequential]`.
    {}
}

impl Options for Config {
    fn check(&self) -> Result<(), WorkloadError> {
        self.mix().check()
    }

    fn open(&self, setting: &Setting<'_>) -> Result<Box<dyn Workload>, WorkloadError> {
        self.mix().generator(setting, Sequential { next: 0 })
    }

    fn has_times(&self) -> bool {
        self.mix().has_times()
    }
}

struct Sequential {
    next: u64,
}

impl Pattern for Sequential {
    #[inline]
    fn start(&mut self, _: &mut Random, fitting: u64, length: u64) -> u64 {
        let start = if self.next < fitting { self.next } else { 0 };
        self.next = start + length;
        start
    }
}
