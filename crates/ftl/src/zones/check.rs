//! Checks of zones against flash.

use super::{State, Zones};
use nandlab_nand::{BlockId, Nand};

impl Zones {
    /// Asserts that every block is free, bad, in one zone or among `others`, and that zones hold what their write pointers say.
    ///
    /// # Panics
    /// With the block or the zone.
    pub(crate) fn check<N: Nand>(&self, nand: &mut N, others: &[BlockId]) {
        let mut uses = vec![0; self.geometry.blocks() as usize];
        self.keeper.free().for_each(|free| uses[free.block.index()] += 1);
        self.failed.iter().chain(others).for_each(|block| uses[block.index()] += 1);
        for (zone, state) in (0..).zip(&self.zones) {
            let fits = match state.state {
                State::Empty => state.written == 0,
                State::Open => state.written < self.layout.capacity,
                State::Closed => (1..self.layout.capacity).contains(&state.written),
                State::Full => state.written == self.layout.capacity,
            };
            assert!(fits, "zone {zone} is {:?} with {} pages", state.state, state.written);
            for (block, &at) in state.blocks.iter().enumerate() {
                uses[at.index()] += 1;
                assert_eq!(self.of[at.index()], zone, "zone of block {at}");
                let written = self.layout.written_in(block, state.written);
                let spent = written + u32::from(state.worn == Some(block));
                for page in 0..self.geometry.pages_per_block() {
                    let at = self.geometry.page(at, page);
                    match nand.read_spare(at) {
                        Ok(None) => assert!(page >= written, "page {at} of zone {zone} is erased"),
                        Ok(Some(oob)) => {
                            assert!(page < written, "page {at} is beyond the write pointer of zone {zone}");
                            assert_eq!(self.layout.tagged(at, oob), Some((zone, block)), "page {at}");
                        }
                        Err(_) => assert!(page < spent, "page {at} is beyond the write pointer of zone {zone}"),
                    }
                }
            }
        }
        for (block, uses) in (0..).map(BlockId).zip(uses) {
            assert_eq!(uses + u32::from(self.keeper.is_bad(block)), 1, "uses of block {block}");
        }
        assert_eq!(
            self.zones.iter().filter(|state| state.state.is_active()).count() as u32,
            self.active,
            "active zones"
        );
    }
}
