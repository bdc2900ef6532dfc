//! What a device of zones tells about them, and refuses.

/// A zone's state (NVMe Zoned Namespace Command Set, zone state machine).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ZoneState {
    /// No sector is written.
    Empty,
    /// A write has opened it; the device closes it when it needs the place.
    ImplicitlyOpened,
    /// The host has opened it.
    ExplicitlyOpened,
    /// It is written in part, and not open.
    Closed,
    /// No sector can be written.
    Full,
    /// It can be read alone: the device has no good block left for it.
    ReadOnly,
    /// It is conventional: it takes writes in any order, and has no write pointer (ZBC).
    NotWritePointer,
}

impl ZoneState {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::ImplicitlyOpened => "implicitly_opened",
            Self::ExplicitlyOpened => "explicitly_opened",
            Self::Closed => "closed",
            Self::Full => "full",
            Self::ReadOnly => "read_only",
            Self::NotWritePointer => "not_write_pointer",
        }
    }

    /// Whether it counts among the open zones.
    pub fn is_open(self) -> bool {
        matches!(self, Self::ImplicitlyOpened | Self::ExplicitlyOpened)
    }

    /// Whether it counts among the active zones.
    pub fn is_active(self) -> bool {
        self.is_open() || self == Self::Closed
    }
}

/// A zone in a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ZoneReport {
    /// The zone's first sector.
    pub start: u64,
    /// Sectors that can be written.
    pub capacity: u64,
    /// The next sector to be written; `None` for a zone that takes none.
    pub write_pointer: Option<u64>,
    /// Its state.
    pub state: ZoneState,
    /// Whether it has a random write area.
    pub has_random_area: bool,
}

/// What a device of zones tells about itself (NVMe's Identify Namespace for zones).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ZoneShape {
    /// Sectors from one zone's start to the next one's.
    pub size: u64,
    /// Sectors that can be written to a zone.
    pub capacity: u64,
    /// Most zones open at a time; 0 is no limit.
    pub max_open: u32,
    /// Most zones open or closed at a time; 0 is no limit.
    pub max_active: u32,
    /// Conventional zones, which are the first ones.
    pub conventional: u32,
}

/// Why a zone does not take a request; the names and numbers are those of NVMe's status codes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, thiserror::Error)]
pub enum ZoneFault {
    /// B6h.
    #[error("invalid zone operation request (B6h): a zone with a random write area takes no append, and one without takes no commit")]
    InvalidOperation,
    /// B7h.
    #[error("zone random write area resources unavailable (B7h)")]
    NoRandomWriteArea,
    /// B8h.
    #[error("zone boundary error (B8h): the request goes beyond the zone, or beyond what can be written to it")]
    Boundary,
    /// B9h.
    #[error("zone is full (B9h)")]
    Full,
    /// BAh.
    #[error("zone is read only (BAh): the device has no good block left for it")]
    ReadOnly,
    /// BCh.
    #[error("zone invalid write (BCh): the write does not begin at the write pointer")]
    InvalidWrite,
    /// BDh.
    #[error("too many active zones (BDh)")]
    TooManyActive,
    /// BEh.
    #[error("too many open zones (BEh)")]
    TooManyOpen,
    /// BFh.
    #[error("invalid zone state transition (BFh)")]
    InvalidTransition,
    /// 01h.
    #[error("invalid command opcode (01h): the device has no zones")]
    NoZones,
    /// 02h.
    #[error("invalid field in command (02h): it names the first sector of a sequential zone, and an append is no longer than the drive takes")]
    InvalidField,
}

impl ZoneFault {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::InvalidOperation,
        Self::NoRandomWriteArea,
        Self::Boundary,
        Self::Full,
        Self::ReadOnly,
        Self::InvalidWrite,
        Self::TooManyActive,
        Self::TooManyOpen,
        Self::InvalidTransition,
        Self::NoZones,
        Self::InvalidField,
    ];

    /// The name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidOperation => "invalid_operation",
            Self::NoRandomWriteArea => "no_random_write_area",
            Self::Boundary => "boundary",
            Self::Full => "full",
            Self::ReadOnly => "read_only",
            Self::InvalidWrite => "invalid_write",
            Self::TooManyActive => "too_many_active",
            Self::TooManyOpen => "too_many_open",
            Self::InvalidTransition => "invalid_transition",
            Self::NoZones => "no_zones",
            Self::InvalidField => "invalid_field",
        }
    }
}
