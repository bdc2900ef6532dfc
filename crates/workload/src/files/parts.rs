//! Parts for file workloads: steps, and transfers cut into pieces on demand.

use super::{FileOp, Slot};
use crate::WorkloadError;
use std::collections::VecDeque;

/// Bytes in C's standard I/O buffer for a file: one block on common file systems.
const STDIO_BUFFER: u32 = 4096;

/// Part of a step.
pub(super) enum Part {
    /// One operation.
    Op(FileOp),
    /// A read or write in pieces.
    Transfer(Transfer),
}

/// A workload as steps with a few parts each.
pub(super) trait Steps {
    /// Appends the parts of the next step to `parts`; nothing at the end.
    fn step(&mut self, parts: &mut VecDeque<Part>) -> Result<(), WorkloadError>;
}

/// The operations in `steps`, one by one.
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

/// Slot for workloads with one open file at a time.
pub(super) const FILE: Slot = 0;

/// Creates a file, writes `bytes` to it in pieces up to `piece`, and closes it.
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

/// Fails unless `given` is within the bounds; `what` begins the sentence and the bounds end it.
pub(super) fn within(key: &str, given: u64, least: u64, most: u64, what: &str) -> Result<(), WorkloadError> {
    if (least..=most).contains(&given) {
        return Ok(());
    }
    Err(WorkloadError::option(key, &given, format!("{what} {least} to {most}")))
}

/// A transfer's direction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
}

/// A range in a file, read or written sequentially.
pub(super) struct Transfer {
    direction: Direction,
    file: Slot,
    at: u64,
    end: u64,
    /// Bytes per call in the program.
    block: u32,
    stdio: Option<Stdio>,
}

impl Transfer {
    /// One operation for each `block` bytes.
    pub(super) fn new(direction: Direction, file: Slot, range: std::ops::Range<u64>, block: u32) -> Self {
        Self { direction, file, at: range.start, end: range.end, block, stdio: None }
    }

    /// Calls with `block` bytes each through C's standard I/O; the operations are its system calls.
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

/// A file in C's standard I/O as in glibc: whole buffers in a long call bypass the buffer.
struct Stdio {
    /// Bytes the program has not asked for yet.
    left: u64,
    /// Bytes in the buffer: read and not yet asked for, or asked for and not yet written.
    held: u32,
    /// The first call allocates the buffer; only then does it have room.
    is_used: bool,
    /// Bytes for system calls from the program's last call; 0 for none.
    ready: [u32; 2],
}

impl Stdio {
    /// Bytes for the next system call; 0 at the end.
    fn next(&mut self, direction: Direction, block: u32, in_file: u64) -> u32 {
        loop {
            for ready in &mut self.ready {
                if *ready > 0 {
                    return std::mem::take(ready);
                }
            }
            if self.left == 0 {
                // Closing writes the held bytes; bytes read ahead are dropped.
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
        // glibc's rules; recorded PostMark runs have such blocks.
        assert_eq!(pieces(Direction::Write, 9_000, 512), [4096, 4096, 808]);
        assert_eq!(pieces(Direction::Write, 20_000, 8192), [8192, 4096, 4096, 3616]);
        assert_eq!(pieces(Direction::Write, 20_000, 5000), [4096, 4096, 4096, 4096, 3616]);
        assert_eq!(pieces(Direction::Read, 9_000, 512), [4096, 4096, 808]);
        assert_eq!(pieces(Direction::Read, 20_000, 8192), [8192, 8192, 3616]);
        assert_eq!(pieces(Direction::Read, 20_000, 5000), [4096, 4096, 4096, 4096, 3616]);
    }
}
