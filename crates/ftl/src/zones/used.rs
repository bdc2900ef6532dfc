//! What a host did with the zones of a drive, in numbers.

use nandlab_block::{ZoneFault, ZoneState};

/// What a host did with zones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct ZoneUse {
    /// Appends that were carried out.
    pub appends: u64,
    /// Zones opened by a command.
    pub opens: u64,
    /// Zones closed by a command.
    pub closes: u64,
    /// Zones finished by a command.
    pub finishes: u64,
    /// Zones emptied by a command.
    pub resets: u64,
    /// Zones opened with a random write area.
    pub random_opens: u64,
    /// Commands that made a part of such an area final.
    pub commits: u64,
    /// Pages that became final because a write went beyond the area.
    pub implicit_commit_pages: u64,
    /// Open zones that the device closed because another one needed the place.
    pub implicit_closes: u64,
    /// Pages written to fill finished zones.
    pub filled_pages: u64,
    /// Most zones open at a time since the mount.
    pub most_open: u32,
    /// Most zones active at a time since the mount.
    pub most_active: u32,
    /// Requests that were refused, in the order of [`ZoneFault::ALL`].
    #[serde(skip)]
    pub refused: [u64; ZoneFault::ALL.len()],
}

/// A zone, and what the host did with it since the mount.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ZoneCount {
    /// Its state.
    pub state: ZoneState,
    /// The next sector to be written, counted from the zone's start; `None` for a zone that takes none.
    pub write_pointer: Option<u64>,
    /// Sectors that the host wrote to it; in a random write area a sector counts each time.
    pub written_sectors: u64,
    /// Times that a command emptied it.
    pub resets: u64,
}

impl ZoneUse {
    /// What came after `then`; the most zones at a time are those since the mount.
    #[must_use]
    pub fn since(&self, then: &Self) -> Self {
        Self {
            appends: self.appends - then.appends,
            opens: self.opens - then.opens,
            closes: self.closes - then.closes,
            finishes: self.finishes - then.finishes,
            resets: self.resets - then.resets,
            random_opens: self.random_opens - then.random_opens,
            commits: self.commits - then.commits,
            implicit_commit_pages: self.implicit_commit_pages - then.implicit_commit_pages,
            implicit_closes: self.implicit_closes - then.implicit_closes,
            filled_pages: self.filled_pages - then.filled_pages,
            most_open: self.most_open,
            most_active: self.most_active,
            refused: std::array::from_fn(|at| self.refused[at] - then.refused[at]),
        }
    }
}
