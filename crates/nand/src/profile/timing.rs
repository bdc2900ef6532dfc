//! Constructors and queries for chip times.

use super::{PageCopy, PlaneOverlap, Timing};
use serde::{Deserialize, Serialize};

/// What the channel moves if the host reads a part of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadTransfer {
    /// The whole page.
    #[default]
    Page,
    /// The sectors that the host reads, each with its share of the spare area (the ECC). Other reads move whole
    /// pages: collection, read-modify-write, mapping pages.
    Sectors,
}

pub(super) fn is_nothing(time: &f64) -> bool {
    *time == 0.0
}

pub(super) fn is_page(transfer: &ReadTransfer) -> bool {
    *transfer == ReadTransfer::Page
}

impl Timing {
    /// Array times alone, in us: no bus, copies inside, nothing in parallel within a die.
    pub const fn array(read_us: f64, program_us: f64, erase_us: f64) -> Self {
        Self {
            read_us,
            program_us,
            erase_us,
            transfer_ns_per_byte: 0.0,
            transfer_command_us: 0.0,
            read_transfer: ReadTransfer::Page,
            spare_read_us: None,
            spare_program_us: None,
            copy: PageCopy::Copyback,
            plane_overlap: PlaneOverlap::None,
            suspend: None,
            slc: None,
        }
    }

    /// Whether it needs rare features: suspended erases, planes that program together, reads of a part of a page.
    pub fn has_extras(&self) -> bool {
        self.suspend.is_some()
            || self.plane_overlap == PlaneOverlap::MultiPlane
            || self.read_transfer == ReadTransfer::Sectors
    }
}
