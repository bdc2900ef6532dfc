//! A command's fields, and its completion status.

use super::page::{u16_at, u32_at, u64_at};

/// Submission queue entry bytes.
pub(super) const COMMAND_BYTES: usize = 64;

/// A completion's status: bits 7:0 the code, 10:8 its type, 14 "do not retry".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Status(pub u16);

const DO_NOT_RETRY: u16 = 1 << 14;

macro_rules! statuses {
    ($($name:ident = $number:expr, $what:literal;)*) => {
        impl Status { $(#[doc = $what] pub const $name: Self = Self($number);)* }
    };
}

statuses! {
    SUCCESS = 0x000, "It went well.";
    INVALID_OPCODE = 0x001 | DO_NOT_RETRY, "No such command.";
    INVALID_FIELD = 0x002 | DO_NOT_RETRY, "A field has a value without meaning here.";
    ID_CONFLICT = 0x003 | DO_NOT_RETRY, "The command identifier is in use.";
    ABORT_REQUESTED = 0x007, "The host aborted it.";
    INVALID_NAMESPACE = 0x00B | DO_NOT_RETRY, "No such namespace.";
    SEQUENCE_ERROR = 0x00C | DO_NOT_RETRY, "It does not fit the controller's state.";
    SGL_LENGTH_INVALID = 0x00F | DO_NOT_RETRY, "The data pointer's length does not fit the transfer.";
    SGL_TYPE_INVALID = 0x011 | DO_NOT_RETRY, "The data pointer has another kind.";
    SGL_OFFSET_INVALID = 0x016 | DO_NOT_RETRY, "The data pointer leaves the capsule.";
    TRANSIENT_TRANSPORT = 0x022, "A data digest does not fit.";
    LBA_OUT_OF_RANGE = 0x080 | DO_NOT_RETRY, "Blocks beyond the namespace's end.";
    CONNECT_FORMAT = 0x180 | DO_NOT_RETRY, "Connect has another record format.";
    CONTROLLER_BUSY = 0x181, "All controllers are in use.";
    CONNECT_PARAMETERS = 0x182 | DO_NOT_RETRY, "A Connect parameter is wrong; the result names its place.";
    INVALID_QUEUE_TYPE = 0x185 | DO_NOT_RETRY, "The command belongs to another kind of queue.";
    INVALID_LOG_PAGE = 0x109 | DO_NOT_RETRY, "No such log.";
    TOO_MANY_EVENT_REQUESTS = 0x105 | DO_NOT_RETRY, "Too many event requests are outstanding.";
    NOT_SAVEABLE = 0x10D | DO_NOT_RETRY, "The feature cannot be saved.";
    NOT_CHANGEABLE = 0x10E | DO_NOT_RETRY, "The feature cannot be changed.";
    READ_ONLY_RANGE = 0x182 | DO_NOT_RETRY, "The namespace takes no writes.";
    WRITE_FAULT = 0x280 | DO_NOT_RETRY, "The medium takes no more writes.";
    UNRECOVERED_READ = 0x281 | DO_NOT_RETRY, "The medium lost the data.";
    INVALID_ZONE_OPERATION = 0x1B6 | DO_NOT_RETRY, "A zone with a random write area takes no append, one without no commit.";
    NO_RANDOM_WRITE_AREA = 0x1B7 | DO_NOT_RETRY, "No other zone may have a random write area.";
    ZONE_BOUNDARY = 0x1B8 | DO_NOT_RETRY, "Blocks beyond the zone's capacity.";
    ZONE_FULL = 0x1B9 | DO_NOT_RETRY, "The zone is full.";
    ZONE_READ_ONLY = 0x1BA | DO_NOT_RETRY, "No good block is left for the zone.";
    ZONE_INVALID_WRITE = 0x1BC | DO_NOT_RETRY, "The write does not begin at the write pointer.";
    TOO_MANY_ACTIVE = 0x1BD | DO_NOT_RETRY, "No other zone may be active.";
    TOO_MANY_OPEN = 0x1BE | DO_NOT_RETRY, "No other zone may be open.";
    INVALID_TRANSITION = 0x1BF | DO_NOT_RETRY, "The zone's state does not allow the change.";
    COMPARE_FAILURE = 0x285 | DO_NOT_RETRY, "The data differs.";
}

/// A data pointer's kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pointer {
    /// The data is in the capsule, from an offset on.
    InCapsule(u64),
    /// The transport carries it.
    ByTransport,
    /// Another kind, not offered.
    Other,
}

/// A submission queue entry.
#[derive(Clone, Debug)]
pub(super) struct Command([u8; COMMAND_BYTES]);

impl Command {
    /// The entry in `bytes`, which has at least that many.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut entry = [0; COMMAND_BYTES];
        entry.copy_from_slice(&bytes[..COMMAND_BYTES]);
        Self(entry)
    }

    pub fn opcode(&self) -> u8 {
        self.0[0]
    }

    /// Whether its flags are those of a single command with an SGL.
    pub fn has_known_flags(&self) -> bool {
        matches!(self.0[1], 0x40 | 0x80)
    }

    pub fn id(&self) -> u16 {
        u16_at(&self.0, 2)
    }

    pub fn namespace(&self) -> u32 {
        u32_at(&self.0, 4)
    }

    /// A fabrics command's type.
    pub fn fabrics_type(&self) -> u8 {
        self.0[4]
    }

    /// Dword `number`, from 0 to 15.
    pub fn dword(&self, number: usize) -> u32 {
        u32_at(&self.0, number * 4)
    }

    pub fn u8(&self, offset: usize) -> u8 {
        self.0[offset]
    }

    pub fn u16(&self, offset: usize) -> u16 {
        u16_at(&self.0, offset)
    }

    pub fn u64(&self, offset: usize) -> u64 {
        u64_at(&self.0, offset)
    }

    pub fn pointer(&self) -> Pointer {
        match self.0[39] {
            0x01 => Pointer::InCapsule(self.u64(24)),
            0x5A => Pointer::ByTransport,
            _ => Pointer::Other,
        }
    }

    /// The data pointer's length in bytes.
    pub fn pointer_bytes(&self) -> u64 {
        u32_at(&self.0, 32).into()
    }
}

/// A command's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub status: Status,
    /// The completion's first two dwords.
    pub result: u64,
    /// Data for the host.
    pub data: Vec<u8>,
}

impl Answer {
    pub fn result(result: u64) -> Self {
        Self { status: Status::SUCCESS, result, data: Vec::new() }
    }

    pub fn data(data: Vec<u8>) -> Self {
        Self { status: Status::SUCCESS, result: 0, data }
    }
}

impl From<Status> for Answer {
    fn from(status: Status) -> Self {
        Self { status, result: 0, data: Vec::new() }
    }
}
