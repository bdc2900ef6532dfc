//! A device that reports every operation.
//!
//! The records go to an [`OpSink`], for example a file. Wrap the device with time, not the reverse, or the
//! times are zero.

use crate::address::{BlockId, Lpn, Ppa};
use crate::as_inside;
use crate::context::{Cause, Origin, Time};
use crate::nand::{Done, Nand, NandError, Raw};
use crate::oob::Oob;
use crate::operation::Operation;
use crate::work::Work;
use crate::wrapper::ways_inside;
use std::fmt;

/// One operation, after its end. Shown as a line of CSV without the end time, fields as in
/// [`OpRecord::CSV_HEADER`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpRecord {
    /// Earliest allowed start, in ns: the request's arrival, or a needed operation's end. While the device follows events,
    /// it is an estimate; [`Work::Ended`] has the time.
    pub ready_ns: Time,
    /// Operation end, in ns; after a power loss, the previous operation's end. While the device follows events, it is an
    /// estimate, too.
    pub end_ns: Time,
    /// Operation kind.
    pub operation: Operation,
    /// The block's die.
    pub die: u32,
    /// Block read or changed.
    pub block: BlockId,
    /// Page read or changed; none for erase and retire.
    pub page: Option<Ppa>,
    /// Copy source.
    pub from: Option<Ppa>,
    /// Logical page in the metadata read or programmed; none without metadata.
    pub lpn: Option<Lpn>,
    /// The origin of its count. For an erase, whose count is shared, and for a failed copy, the requesting
    /// origin.
    pub origin: Origin,
    /// Operation cause.
    pub cause: Cause,
    /// Its result.
    pub result: Result<(), NandError>,
}

impl OpRecord {
    /// The field names in a line.
    pub const CSV_HEADER: &'static str = "ready_ns,end_ns,operation,die,block,page,from_page,lpn,origin,cause,result";
}

/// A number, or nothing.
fn field<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

impl fmt::Display for OpRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let result = match self.result {
            Ok(()) => "ok",
            Err(NandError::ProgramFailed(_)) => "program_failed",
            Err(NandError::EraseFailed(_)) => "erase_failed",
            Err(NandError::Uncorrectable(_)) => "uncorrectable",
            Err(NandError::BadBlock(_)) => "bad_block",
            Err(NandError::PowerLost) => "power_lost",
        };
        write!(
            f,
            "{},{},{},{},{},{},{},{},{},{},{result}",
            self.ready_ns,
            self.end_ns,
            self.operation,
            self.die,
            self.block,
            field(self.page.map(|at| at.0)),
            field(self.from.map(|at| at.0)),
            field(self.lpn.map(|at| at.0)),
            self.origin.name(),
            self.cause.name(),
        )
    }
}

/// Record receiver.
pub trait OpSink: Send {
    /// Takes the next record, in issue order.
    fn record(&mut self, record: &OpRecord);

    /// Takes the next record and how operations used the device since the last one, if it [keeps](crate::Ctx::keep_work) that.
    fn record_work(&mut self, record: &OpRecord, _work: &[Work]) {
        self.record(record);
    }
}

impl<F: FnMut(&OpRecord) + Send> OpSink for F {
    fn record(&mut self, record: &OpRecord) {
        self(record);
    }
}

/// A wrapper around `N` that reports every operation.
pub struct Traced<N> {
    inner: N,
    sink: Box<dyn OpSink>,
    work: Vec<Work>,
}

impl<N: Nand> Traced<N> {
    /// Reports the operations on `inner` to `sink`.
    pub fn new(inner: N, sink: Box<dyn OpSink>) -> Self {
        Self { inner, sink, work: Vec::new() }
    }

    /// The record for an operation about to be issued.
    fn issue(&mut self, operation: Operation, block: BlockId, page: Option<Ppa>) -> OpRecord {
        let ctx = self.inner.ctx();
        let (ready_ns, origin, cause) = (ctx.ready(), ctx.origin(), ctx.cause());
        let die = self.inner.geometry().die_of(block);
        OpRecord {
            ready_ns,
            end_ns: 0,
            operation,
            die,
            block,
            page,
            from: None,
            lpn: None,
            origin,
            cause,
            result: Ok(()),
        }
    }

    fn issue_at(&mut self, operation: Operation, at: Ppa) -> OpRecord {
        let block = self.inner.geometry().block_of(at);
        self.issue(operation, block, Some(at))
    }

    /// Reports the result for the operation in `record`.
    fn end<T>(&mut self, record: OpRecord, result: Result<T, NandError>) -> Result<T, NandError> {
        let ctx = self.inner.ctx();
        let end_ns = ctx.last();
        ctx.take_work(&mut self.work);
        let ended = result.as_ref().map(drop).map_err(|&error| error);
        self.sink.record_work(&OpRecord { end_ns, result: ended, ..record }, &self.work);
        self.work.clear();
        result
    }
}

ways_inside!([N: Nand] Traced<N>, inner);

impl<N: Nand> Nand for Traced<N> {
    type Buf = N::Buf;

    as_inside!(inner: geometry, rules, is_known_erased, is_settled, set_slc, is_slc, ctx);

    fn read(&mut self, at: Ppa, page: &mut N::Buf) -> Result<Oob, NandError> {
        let mut record = self.issue_at(Operation::Read, at);
        let result = self.inner.read(at, page);
        record.lpn = result.as_ref().ok().map(|oob| oob.lpn);
        self.end(record, result)
    }

    fn read_spare(&mut self, at: Ppa) -> Result<Option<Oob>, NandError> {
        let mut record = self.issue_at(Operation::SpareRead, at);
        let result = self.inner.read_spare(at);
        record.lpn = result.as_ref().ok().and_then(|oob| oob.map(|oob| oob.lpn));
        self.end(record, result)
    }

    fn program(&mut self, at: Ppa, page: &N::Buf, tail: &[u8], oob: Oob) -> Result<Done, NandError> {
        let mut record = self.issue_at(Operation::Program, at);
        (record.lpn, record.origin) = (Some(oob.lpn), oob.origin);
        let result = self.inner.program(at, page, tail, oob);
        self.end(record, result)
    }

    fn read_tail(&mut self, at: Ppa, tail: &mut [u8]) -> Result<Oob, NandError> {
        let mut record = self.issue_at(Operation::TailRead, at);
        let result = self.inner.read_tail(at, tail);
        record.lpn = result.as_ref().ok().map(|oob| oob.lpn);
        self.end(record, result)
    }

    fn read_with_tail(&mut self, at: Ppa, page: &mut N::Buf, tail: &mut [u8]) -> Result<Oob, NandError> {
        let mut record = self.issue_at(Operation::TailRead, at);
        let result = self.inner.read_with_tail(at, page, tail);
        record.lpn = result.as_ref().ok().map(|oob| oob.lpn);
        self.end(record, result)
    }

    fn copy(&mut self, from: Ppa, to: Ppa, oob: Oob) -> Result<Oob, NandError> {
        let mut record = self.issue_at(Operation::Copy, to);
        let result = self.inner.copy(from, to, oob);
        record.from = Some(from);
        if let Ok(stored) = &result {
            (record.lpn, record.origin) = (Some(stored.lpn), stored.origin);
        }
        self.end(record, result)
    }

    fn program_spare(&mut self, at: Ppa, oob: Oob) -> Result<Done, NandError> {
        let mut record = self.issue_at(Operation::SpareProgram, at);
        (record.lpn, record.origin) = (Some(oob.lpn), oob.origin);
        let result = self.inner.program_spare(at, oob);
        self.end(record, result)
    }

    fn raw(&mut self, at: Ppa, command: Raw) {
        let record = self.issue_at(
            match command {
                Raw::Read(_) => Operation::Read,
                Raw::SpareRead(_) => Operation::SpareRead,
                Raw::Reprogram(_) | Raw::SpareProgram(_) => Operation::SpareProgram,
            },
            at,
        );
        self.inner.raw(at, command);
        // It has no answer, so it cannot fail.
        let _ = self.end(record, Ok(()));
    }

    fn erase(&mut self, block: BlockId) -> Result<Done, NandError> {
        let record = self.issue(Operation::Erase, block, None);
        let result = self.inner.erase(block);
        self.end(record, result)
    }

    fn retire(&mut self, block: BlockId) -> Result<Done, NandError> {
        let record = self.issue(Operation::Retire, block, None);
        let result = self.inner.retire(block);
        self.end(record, result)
    }
}
