use nandlab_nand::{Origin, PlacementId, Time};

/// A request's kind.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// Return sectors.
    Read,
    /// Store sectors.
    Write,
    /// The contents of these sectors are no longer needed; a trimmed page reads as zeros.
    Trim,
    /// Make everything acknowledged so far survive a power cut.
    Flush,
    /// The placement's handle begins another reclaim unit with its next page (NVMe's Reclaim Unit Handle Update); nothing
    /// on a device without data placement. It has no sectors.
    UnitUpdate,
}

/// Who wrote some sectors, and where the host asked them to go: a write-back keeps both.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Author {
    /// The host part.
    pub origin: Origin,
    /// Where the host asked the sectors to go.
    pub placement: PlacementId,
}

/// One host request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// When it comes, in nanoseconds from the start; a closed loop ignores it.
    pub time: Time,
    /// First 512-byte sector.
    pub sector: u64,
    /// Sector count; 0 for a flush and for an update of a unit.
    pub sectors: u32,
    /// The request's kind.
    pub op: Op,
    /// The host part that asks.
    pub origin: Origin,
    /// Where the host asks a write to go.
    pub placement: PlacementId,
}

impl Request {
    /// A request at time 0, from the host as a whole, without a placement.
    pub fn new(op: Op, sector: u64, sectors: u32) -> Self {
        Self { time: 0, sector, sectors, op, origin: Origin::HOST, placement: PlacementId::NONE }
    }

    /// The author of what the request writes.
    #[inline]
    pub fn author(&self) -> Author {
        Author { origin: self.origin, placement: self.placement }
    }

    /// The same request by this author.
    #[must_use]
    #[inline]
    pub fn by(self, Author { origin, placement }: Author) -> Self {
        Self { origin, placement, ..self }
    }

    /// The first sector after the request.
    #[inline]
    pub fn end(&self) -> u64 {
        self.sector + u64::from(self.sectors)
    }
}
