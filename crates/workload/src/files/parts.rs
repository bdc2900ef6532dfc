//! What file workloads are made of: steps, and transfers that are cut into pieces when they are asked for.

use super::{FileOp, Slot};
use crate::WorkloadError;
use std::collections::VecDeque;

/// Bytes of the buffer that C's standard I/O gives to a file: those of a block of common file systems.
const STDIO_BUFFER: u32 = 4096;

/// Part of a step.
pub(super) enum Part {
    /// One operation.
    Op(FileOp),
    /// A read or write in pieces.
    Transfer(Transfer),
}

/// A workload as steps, each of a few parts.
pub(super) trait Steps {
    /// Appends the parts of the next step to `parts`; nothing at the end.
    fn step(&mut self, parts: &mut VecDeque<Part>) -> Result<(), WorkloadError>;
}

/// The operations of `steps`, one by one.
pub(super) struct Played<S> {
    steps: S,
    parts: VecDeque<Part>,
    ended: bool,
}

impl<S: Steps> Played<S> {
    pub(super) fn new(steps: S) -> Self {
        Self { steps, parts: VecDeque::new(), ended: false }
    }
}

impl<S: Steps> Iterator for Played<S> {
    type Item = Result<FileOp, WorkloadError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            if let Some(Part::Transfer(transfer)) = self.parts.front_mut() {
                if let Some(op) = transfer.next() {
                    return Some(Ok(op));
                }
            }
            match self.parts.pop_front() {
                Some(Part::Op(op)) => return Some(Ok(op)),
                Some(Part::Transfer(_)) => {}
                None => {
                    let stepped = self.steps.step(&mut self.parts);
                    self.ended = self.parts.is_empty() || stepped.is_err();
                    if let Err(error) = stepped {
                        return Some(Err(error));
                    }
                }
            }
        }
        None
    }
}

/// Slot of the file of a workload that has one open at a time.
pub(super) const FILE: Slot = 0;

/// Creates, writes and closes a file of `bytes` in pieces of at most `piece`.
pub(super) fn put_file(parts: &mut VecDeque<Part>, path: &str, bytes: u64, piece: u32) {
    parts.push_back(Part::Op(FileOp::Create { file: FILE, path: path.into() }));
    parts.push_back(Part::Transfer(Transfer::new(Direction::Write, FILE, 0..bytes, piece)));
    parts.push_back(Part::Op(FileOp::Close(FILE)));
}

/// Opens a file, writes `bytes` at `at` as one piece, and closes it.
pub(super) fn put_record(parts: &mut VecDeque<Part>, path: &str, at: u64, bytes: u32) {
    parts.push_back(Part::Op(FileOp::Open { file: FILE, path: path.into() }));
    parts.push_back(Part::Op(FileOp::Write { file: FILE, at, bytes }));
    parts.push_back(Part::Op(FileOp::Close(FILE)));
}

/// Fails unless `given` is within the bounds; `what` begins the sentence that they end.
pub(super) fn within(key: &str, given: u64, least: u64, most: u64, what: &str) -> Result<(), WorkloadError> {
    if (least..=most).contains(&given) {
        return Ok(());
    }
    Err(WorkloadError::option(key, &given, format!("{what} {least} to {most}")))
}

/// Which way a transfer goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
}

/// Bytes of a file, read or written one after the other.
pub(super) struct Transfer {
    direction: Direction,
    file: Slot,
    at: u64,
    end: u64,
    /// Bytes of a call of the program.
    block: u32,
    stdio: Option<Stdio>,
}

impl Transfer {
    /// One operation for each `block` bytes.
    pub(super) fn new(direction: Direction, file: Slot, range: std::ops::Range<u64>, block: u32) -> Self {
        Self { direction, file, at: range.start, end: range.end, block, stdio: None }
    }

    /// Calls of `block` bytes through C's standard I/O; the operations are what it asks of the system.
    pub(super) fn buffered(self) -> Self {
        let left = self.end - self.at;
        Self { stdio: Some(Stdio { left, held: 0, is_used: false, ready: [0; 2] }), ..self }
    }

    fn next(&mut self) -> Option<FileOp> {
        let in_file = self.end - self.at;
        let bytes = match &mut self.stdio {
            None => u64::from(self.block).min(in_file) as u32,
            Some(stdio) => stdio.next(self.direction, self.block, in_file),
        };
        if bytes == 0 {
            return None;
        }
        let (file, at) = (self.file, self.at);
        self.at += u64::from(bytes);
        Some(match self.direction {
            Direction::Read => FileOp::Read { file, at, bytes },
            Direction::Write => FileOp::Write { file, at, bytes },
        })
    }
}

/// A file of C's standard I/O as glibc has it: whole buffers of a long call go past the buffer.
struct Stdio {
    /// Bytes that the program has not asked for yet.
    left: u64,
    /// Bytes in the buffer: read and not yet asked for, or asked for and not yet written.
    held: u32,
    /// The buffer is made at the first call, and only then has room.
    is_used: bool,
    /// Bytes of system calls that the last call of the program led to; 0 for none.
    ready: [u32; 2],
}

impl Stdio {
    /// Bytes of the next system call; 0 at the end.
    fn next(&mut self, direction: Direction, block: u32, in_file: u64) -> u32 {
        loop {
            for ready in &mut self.ready {
                if *ready > 0 {
                    return std::mem::take(ready);
                }
            }
            if self.left == 0 {
                // Closing writes what is held; what was read and not asked for is dropped.
                return if direction == Direction::Write { std::mem::take(&mut self.held) } else { 0 };
            }
            let call = u64::from(block).min(self.left) as u32;
            self.left -= u64::from(call);
            match direction {
                Direction::Write => self.write(call),
                Direction::Read => self.read(call, in_file),
            }
        }
    }

    fn write(&mut self, mut call: u32) {
        let room = if self.is_used { STDIO_BUFFER - self.held } else { 0 };
        self.is_used = true;
        let kept = call.min(room);
        self.held += kept;
        call -= kept;
        if call > 0 {
            let rest = call % STDIO_BUFFER;
            self.ready = [self.held, call - rest];
            self.held = rest;
        }
    }

    fn read(&mut self, mut call: u32, in_file: u64) {
        let taken = call.min(self.held);
        self.held -= taken;
        call -= taken;
        if call > 0 {
            let rest = call % STDIO_BUFFER;
            let direct = call - rest;
            let filled = if rest > 0 { u64::from(STDIO_BUFFER).min(in_file - u64::from(direct)) as u32 } else { 0 };
            self.ready = [direct, filled];
            self.held = filled.saturating_sub(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(direction: Direction, bytes: u64, block: u32) -> Vec<u32> {
        let mut transfer = Transfer::new(direction, 0, 0..bytes, block).buffered();
        std::iter::from_fn(|| transfer.next())
            .map(|op| match op {
                FileOp::Read { bytes, .. } | FileOp::Write { bytes, .. } => bytes,
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn a_buffer_gathers_short_calls_and_lets_long_ones_past() {
        // glibc's rules; the runs of PostMark that were recorded have such blocks.
        assert_eq!(pieces(Direction::Write, 9_000, 512), [4096, 4096, 808]);
        assert_eq!(pieces(Direction::Write, 20_000, 8192), [8192, 4096, 4096, 3616]);
        assert_eq!(pieces(Direction::Write, 20_000, 5000), [4096, 4096, 4096, 4096, 3616]);
        assert_eq!(pieces(Direction::Read, 9_000, 512), [4096, 4096, 808]);
        assert_eq!(pieces(Direction::Read, 20_000, 8192), [8192, 8192, 3616]);
        assert_eq!(pieces(Direction::Read, 20_000, 5000), [4096, 4096, 4096, 4096, 3616]);
    }
}
