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
    /// Write some sectors at the write pointer of the zone that begins at the request's sector (NVMe's Zone Append).
    Append,
    /// Change the state of the zone that begins at the request's sector. It has no sectors.
    Zone(ZoneCommand),
}

/// A change of a zone's state (NVMe's Zone Management Send).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ZoneCommand {
    /// It is open until the host closes or fills it.
    Open,
    /// It gives its place among the open zones to another one, and stays active.
    Close,
    /// It is full; what was not written cannot be read.
    Finish,
    /// It is empty.
    Reset,
    /// As open, and the zone, which is empty, gets a random write area.
    OpenRandom,
    /// What lies in a zone's random write area up to the sector that the request names is final.
    Commit,
}

impl Op {
    /// A number from 0 on, below [`Self::KINDS`].
    #[inline]
    pub fn number(self) -> usize {
        match self {
            Self::Read => 0,
            Self::Write => 1,
            Self::Trim => 2,
            Self::Flush => 3,
            Self::UnitUpdate => 4,
            Self::Append => 5,
            Self::Zone(ZoneCommand::Open) => 6,
            Self::Zone(ZoneCommand::Close) => 7,
            Self::Zone(ZoneCommand::Finish) => 8,
            Self::Zone(ZoneCommand::Reset) => 9,
            Self::Zone(ZoneCommand::OpenRandom) => 10,
            Self::Zone(ZoneCommand::Commit) => 11,
        }
    }

    /// Kinds of requests.
    pub const KINDS: usize = 12;

    /// The name in records and traces, by [`Self::number`].
    pub const NAMES: [&'static str; Self::KINDS] = [
        "read",
        "write",
        "trim",
        "flush",
        "unit_update",
        "append",
        "zone_open",
        "zone_close",
        "zone_finish",
        "zone_reset",
        "zone_open_random",
        "zone_commit",
    ];

    /// The name in records and traces.
    pub fn name(self) -> &'static str {
        Self::NAMES[self.number()]
    }

    /// Whether a request of this kind brings data.
    #[inline]
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Append)
    }

    /// Whether a request of this kind has sectors.
    #[inline]
    pub fn has_sectors(self) -> bool {
        matches!(self, Self::Read | Self::Write | Self::Trim | Self::Append)
    }
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
