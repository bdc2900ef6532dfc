//! The device of the unit tests. They look into one FTL; what only asks an FTL and its device is in `tests/all`, over FTLs
//! that `nandlab-drive` has compiled.

use nandlab_nand::counting::{Lean, SpareStore};
use nandlab_nand::profile::Timing;
use nandlab_nand::timed::Timed;
use nandlab_nand::{Counting, Geometry, Nand, Rules};
use std::any::Any;

/// A device of any type. One type for all, and calls that nothing is inlined into, so that an FTL compiles once and fast.
pub(crate) type Flash = Box<dyn Tested>;

/// A device that a unit test looks into.
pub(crate) trait Tested: Nand<Buf = ()> {
    /// What holds the pages, where that keeps whole spare areas.
    fn counting(&self) -> &Counting;
    /// P/E cycles of each block.
    fn pe_cycles(&self) -> &[u32];
}

impl<S: SpareStore + 'static> Tested for Timed<Counting<S>> {
    fn counting(&self) -> &Counting {
        (self.inner() as &dyn Any).downcast_ref().expect("the test made a device with spare areas")
    }

    fn pe_cycles(&self) -> &[u32] {
        self.inner().pe_cycles()
    }
}

/// An erased device that counts and keeps time.
pub(crate) fn timed_flash(geometry: Geometry, timing: &Timing) -> Flash {
    Box::new(Timed::new(Counting::new(geometry, Rules::default()) as Counting, timing))
}

/// The same without spare areas, which moves pages in runs.
pub(crate) fn lean_flash(geometry: Geometry, timing: &Timing) -> Flash {
    Box::new(Timed::new(Counting::<Lean>::new(geometry, Rules::default()), timing))
}

/// An erased device of two dies that work at the same time: 10 blocks each, of 4 pages of one sector.
pub(crate) fn two_dies() -> Flash {
    timed_flash(Geometry::two_dies(10, 4, 512).unwrap(), &Timing::array(1.0, 10.0, 100.0))
}
