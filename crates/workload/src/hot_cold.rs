//! Hot and cold: a few addresses take most of the accesses.
//!
//! ## Idea
//! The footprint has hot and cold addresses. A request goes to the hot ones with probability `hot_accesses`, and is
//! uniform within its group. `hot_share = 0.2` with `hot_accesses = 0.8` is the usual "80/20". A host that knows what is
//! hot can say so: writes to hot addresses carry the placement identifier `hot_placement`, all others `placement`.
//!
//! ## Differences
//! With `scatter` off, the hot addresses come first in the footprint. With it on, a fixed permutation spreads them, so
//! no address block is hot as a whole.
//!
//! ## References
//! Rosenblum and Ousterhout, "The design and implementation of a log-structured file system", ACM
//! Transactions on Computer Systems 10(1), 1992.

use crate::mix::Pattern;
use crate::permutation::Permutation;
use crate::placement::Placement;
use crate::{Options, Setting, Workload, WorkloadError};
use nandlab_nand::random::Random;
use nandlab_nand::PlacementId;

generator_options! {
    /// Options of `[workload.hot_cold]`.
    {
        /// Share of the addresses that is hot, above 0 and below 1.
        hot_share: f64 = 0.2,
        /// Share of the accesses that goes to the hot addresses, 0 to 1.
        hot_accesses: f64 = 0.8,
        /// Spread the hot addresses over the footprint by a fixed permutation, instead of its first part.
        scatter: bool = true,
        /// Where the host asks writes to hot addresses to go, if not to `placement`: a handle such as 5, or group and
        /// handle such as `"1:5"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        hot_placement: Option<Placement> = None,
    }
}

/// Permutation key; the same in every experiment, so seeds change the order and not the place.
const SCATTER_KEY: u64 = 0x686F_745F_636F_6C64;

impl Options for Config {
    fn check(&self) -> Result<(), WorkloadError> {
        if !(self.hot_share > 0.0 && self.hot_share < 1.0) {
            return Err(WorkloadError::option("hot_share", &self.hot_share, "it is a share above 0 and below 1"));
        }
        if !(0.0..=1.0).contains(&self.hot_accesses) {
            return Err(WorkloadError::option("hot_accesses", &self.hot_accesses, "a share is a number from 0 to 1"));
        }
        self.mix().check()
    }

    fn open(&self, setting: &Setting<'_>) -> Result<Box<dyn Workload>, WorkloadError> {
        self.check()?;
        let slots = self.mix().slots(setting)?;
        let hot = (self.hot_share * slots as f64).round() as u64;
        if hot == 0 || hot == slots {
            let why = format!("of {slots} addresses at least one is hot and one cold");
            return Err(WorkloadError::option("hot_share", &self.hot_share, why));
        }
        let scatter = self.scatter.then(|| Permutation::new(slots, SCATTER_KEY));
        self.mix().generator(
            setting,
            HotCold {
                hot,
                slots,
                hot_accesses: self.hot_accesses,
                scatter,
                hot_placement: self.hot_placement.map(Placement::id),
                is_hot: false,
            },
        )
    }

    fn has_times(&self) -> bool {
        self.mix().has_times()
    }
}

struct HotCold {
    hot: u64,
    slots: u64,
    hot_accesses: f64,
    scatter: Option<Permutation>,
    hot_placement: Option<PlacementId>,
    /// Whether the last request went to the hot addresses.
    is_hot: bool,
}

impl Pattern for HotCold {
    #[inline]
    fn start(&mut self, random: &mut Random, fitting: u64, _: u64) -> u64 {
        self.is_hot = random.chance(self.hot_accesses);
        let slot = if self.is_hot { random.below(self.hot) } else { self.hot + random.below(self.slots - self.hot) };
        // A long request near the footprint's end moves back until it fits.
        self.scatter.map_or(slot, |scatter| scatter.apply(slot)).min(fitting - 1)
    }

    #[inline]
    fn placement(&self) -> Option<PlacementId> {
        self.hot_placement.filter(|_| self.is_hot)
    }
}
