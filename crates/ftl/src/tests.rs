//! The unit tests' device. Unit tests look into one FTL; tests that only use an FTL and its device are in `tests/all`,
//! over FTLs compiled in `nandlab-drive`.

use nandlab_nand::counting::{Lean, SpareStore};
use nandlab_nand::profile::Timing;
use nandlab_nand::timed::Timed;
use nandlab_nand::{Counting, Geometry, Nand, Rules};
use std::any::Any;

/// A device behind one type with calls that are never inlined, so an FTL compiles once and fast.
pub(crate) type Flash = Box<dyn Tested>;

/// A device that unit tests look into.
pub(crate) trait Tested: Nand<Buf = ()> {
    /// The layer that stores the pages, if it keeps whole spare areas.
    fn counting(&self) -> &Counting;
    /// Each block's P/E cycles.
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

/// An erased device with two parallel dies: 10 blocks each, with 4 one-sector pages.
pub(crate) fn two_dies() -> Flash {
    timed_flash(Geometry::two_dies(10, 4, 512).unwrap(), &Timing::array(1.0, 10.0, 100.0))
}
