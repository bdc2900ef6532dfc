//! Constructors and queries for chip times.

use super::{PageCopy, PlaneOverlap, Timing};

impl Timing {
    /// Array times alone, in us: no bus, copies inside, nothing in parallel within a die.
    pub const fn array(read_us: f64, program_us: f64, erase_us: f64) -> Self {
        Self {
            read_us,
            program_us,
            erase_us,
            transfer_ns_per_byte: 0.0,
            spare_read_us: None,
            spare_program_us: None,
            copy: PageCopy::Copyback,
            plane_overlap: PlaneOverlap::None,
            suspend: None,
            slc: None,
        }
    }

    /// Whether it needs rare features: suspended erases, planes that program together.
    pub fn has_extras(&self) -> bool {
        self.suspend.is_some() || self.plane_overlap == PlaneOverlap::MultiPlane
    }
}
