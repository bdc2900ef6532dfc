use nandlab_nand::{Origin, Time};

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
}

/// One host request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// When it comes, in nanoseconds from the start; a closed loop ignores it.
    pub time: Time,
    /// First 512-byte sector.
    pub sector: u64,
    /// Sector count; 0 for a flush.
    pub sectors: u32,
    /// The request's kind.
    pub op: Op,
    /// The host part that asks.
    pub origin: Origin,
}

impl Request {
    /// A request at time 0, from the host as a whole.
    pub fn new(op: Op, sector: u64, sectors: u32) -> Self {
        Self { time: 0, sector, sectors, op, origin: Origin::HOST }
    }

    /// The first sector after the request.
    #[inline]
    pub fn end(&self) -> u64 {
        self.sector + u64::from(self.sectors)
    }
}
