//! Placement identifiers: the host's word on which pages belong together.

/// Where the host asks a write to go: a reclaim unit handle in a reclaim group, as in NVMe's flexible data placement.
///
/// A reclaim group is a set of dies. A handle points to the reclaim unit that takes the next page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PlacementId {
    /// The reclaim group, 0 to 254.
    pub group: u8,
    /// The reclaim unit handle, below [`Self::HANDLES`] if it is valid.
    pub handle: u8,
}

impl PlacementId {
    /// Handles that a device may have; the flash stores seven bits.
    pub const HANDLES: u32 = 128;
    /// No identifier: the request does not say where it goes.
    pub const NONE: Self = Self { group: u8::MAX, handle: u8::MAX };

    /// A handle in the first group.
    pub fn of(handle: u8) -> Self {
        Self { group: 0, handle }
    }

    /// Whether the request says where it goes.
    #[inline]
    pub fn is_some(self) -> bool {
        self.group != u8::MAX
    }

    /// As a number: the handle in the lower byte, the group above it.
    pub fn number(self) -> u16 {
        u16::from_le_bytes([self.handle, self.group])
    }

    /// The identifier with this number; [`Self::NONE`] is 65535.
    pub fn from_number(number: u16) -> Self {
        let [handle, group] = number.to_le_bytes();
        Self { group, handle }
    }
}

/// The placement identifiers of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlacementIds {
    /// Its reclaim groups.
    pub groups: u32,
    /// Its reclaim unit handles.
    pub handles: u32,
}

impl PlacementIds {
    /// How many there are.
    pub fn count(self) -> u32 {
        self.groups * self.handles
    }

    /// The identifier at `index` of the list that a host gets from the device: all groups of handle 0, then those of
    /// handle 1 and so on; `None` behind the list's end.
    pub fn nth(self, index: u32) -> Option<PlacementId> {
        let (group, handle) = (index % self.groups, index / self.groups);
        (handle < self.handles).then_some(PlacementId { group: group as u8, handle: handle as u8 })
    }
}

impl Default for PlacementId {
    fn default() -> Self {
        Self::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_holds_group_and_handle() {
        assert_eq!(PlacementId::of(7).number(), 7);
        assert_eq!(PlacementId::from_number(0x0203), PlacementId { group: 2, handle: 3 });
        assert_eq!(PlacementId::from_number(PlacementId::NONE.number()), PlacementId::NONE);
        assert!(PlacementId::of(0).is_some() && !PlacementId::default().is_some());
    }

    #[test]
    fn a_device_lists_all_groups_of_a_handle_before_the_next_handle() {
        let ids = PlacementIds { groups: 2, handles: 3 };
        let listed = (0..).map_while(|index| ids.nth(index)).map(|id| (id.handle, id.group)).collect::<Vec<_>>();
        assert_eq!(listed, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]);
        assert_eq!(listed.len() as u32, ids.count());
    }
}
