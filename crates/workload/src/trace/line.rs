//! What a record of a trace says.

use nandlab_block::Request;
use nandlab_nand::Time;

/// A record that is not what the format says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed {
    /// Byte of the record, from 0.
    pub column: usize,
    /// What was expected and what was found.
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
    /// The request; its address is that of its own device.
    pub request: Request,
    /// The device, as the file names it; empty where it names none.
    pub device: &'a [u8],
    /// Whether it began or ended inside a sector.
    pub is_rounded: bool,
    /// Sectors of the record behind those of the request, which has no more than [`Found::MOST_SECTORS`].
    pub rest: u64,
    /// Whether the record asks for a flush before the request.
    pub has_flush_before: bool,
    /// Whether the record asks that the request be durable when it ends.
    pub has_flush_behind: bool,
}

impl<'a> Found<'a> {
    /// Sectors of a request at most: what counts them has 32 bits. It is 1 MiB less than 2 TiB, so that what follows
    /// begins at a whole page as well.
    pub const MOST_SECTORS: u32 = u32::MAX - 2047;

    /// A request and nothing else.
    pub fn new(request: Request, device: &'a [u8]) -> Self {
        Self { request, device, is_rounded: false, rest: 0, has_flush_before: false, has_flush_behind: false }
    }
}

/// How long a request took when it was recorded, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Took {
    /// From the time of the request to its end.
    pub latency: Time,
    /// In the device alone, where the trace says that, too.
    pub service: Option<Time>,
}

/// What a record says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line<'a> {
    /// A request.
    Request(Found<'a>),
    /// Something else that the format has, and that is no request.
    Other,
    /// What follows is no trace any more.
    End,
}

/// How a file is cut into records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame {
    /// Lines of text.
    Line,
    /// So many bytes each.
    Bytes(usize),
    /// Blocks of the native format.
    Block,
}
