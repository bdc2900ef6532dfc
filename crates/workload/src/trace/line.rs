//! A trace record's contents.

use nandlab_block::Request;
use nandlab_nand::Time;

/// A record not in the expected form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed {
    /// Byte in the record, from 0.
    pub column: usize,
    /// The expected and the found text.
    pub message: String,
}

impl Malformed {
    pub(crate) fn new(column: usize, message: String) -> Self {
        Self { column, message }
    }
}

/// A request as it was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found<'a> {
    /// The request; its address is on its own device.
    pub request: Request,
    /// The device, as named in the file; empty if the file names none.
    pub device: &'a [u8],
    /// Whether it began or ended inside a sector.
    pub is_rounded: bool,
    /// Sectors in the record behind the request, limited to [`Found::MOST_SECTORS`].
    pub rest: u64,
    /// Whether the record asks for a flush before the request.
    pub has_flush_before: bool,
    /// Whether the record asks for the request to be durable at its end.
    pub has_flush_behind: bool,
}

impl<'a> Found<'a> {
    /// Most sectors in a request: the count has 32 bits. It is 1 MiB less than 2 TiB, so the next part begins at a
    /// whole page as well.
    pub const MOST_SECTORS: u32 = u32::MAX - 2047;

    /// A request and nothing else.
    pub fn new(request: Request, device: &'a [u8]) -> Self {
        Self { request, device, is_rounded: false, rest: 0, has_flush_before: false, has_flush_behind: false }
    }
}

/// How long a request took when it was recorded, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Took {
    /// From the request's time to its end.
    pub latency: Time,
    /// In the device alone, if the trace has this, too.
    pub service: Option<Time>,
}

/// A record's meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line<'a> {
    /// A request.
    Request(Found<'a>),
    /// A valid line without a request.
    Other,
    /// The trace ends here; other text follows.
    End,
}

/// How a file is cut into records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame {
    /// Text lines.
    Line,
    /// So many bytes each.
    Bytes(usize),
    /// Native format blocks.
    Block,
}
