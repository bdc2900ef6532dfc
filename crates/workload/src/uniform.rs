//! Uniform: every address equally often.
//!
//! ## Idea
//! Each request starts at an address drawn uniformly from all aligned ones with room for it in the footprint. The
//! closed forms for write amplification are stated for this workload, with one-page requests.
//!
//! ## References
//! Desnoyers, "Analytic models of SSD write performance", ACM Transactions on Storage 10(2), 2014.

use crate::mix::Pattern;
use crate::{Options, Setting, Workload, WorkloadError};
use nandlab_nand::random::Random;

generator_options! {
    /// Options of `[workload.uniform]`.
    {}
}

impl Options for Config {
    fn check(&self) -> Result<(), WorkloadError> {
        self.mix().check()
    }

    fn open(&self, setting: &Setting<'_>) -> Result<Box<dyn Workload>, WorkloadError> {
        self.mix().generator(setting, Uniform)
    }

    fn has_times(&self) -> bool {
        self.mix().has_times()
    }
}

struct Uniform;

impl Pattern for Uniform {
    #[inline]
    fn start(&mut self, random: &mut Random, fitting: u64, _: u64) -> u64 {
        random.below(fitting)
    }
}
