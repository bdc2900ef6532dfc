//! Placement identifiers as they are on the wire: the group is in the upper bits.

use crate::Placing;
use nandlab_nand::PlacementId;

/// Bits of an identifier for the group.
pub(super) fn group_bits(placing: &Placing) -> u32 {
    placing.ids.groups.next_power_of_two().trailing_zeros()
}

/// An identifier on the wire.
pub(super) fn number(placing: &Placing, placement: PlacementId) -> u16 {
    let handle = u32::from(placement.handle);
    (u32::from(placement.group) << (16 - group_bits(placing)) | handle) as u16
}

/// The identifier with this number on the wire, if the device has it.
pub(super) fn known(placing: &Placing, number: u16) -> Option<PlacementId> {
    let (number, low) = (u32::from(number), 16 - group_bits(placing));
    let (group, handle) = (number >> low, number & ((1 << low) - 1));
    let is_there = group < placing.ids.groups && handle < placing.ids.handles;
    is_there.then_some(PlacementId { group: group as u8, handle: handle as u8 })
}
