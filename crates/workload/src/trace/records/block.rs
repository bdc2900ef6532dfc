//! Records in blocks: the native format.

use super::super::behind::Recorded;
use super::super::clock::Kept;
use super::super::line::{Found, Line};
use super::super::lines::sentence;
use super::super::native::{self, BlockHeader};
use super::{refused, Next, Records};
use crate::WorkloadError;
use nandlab_block::Request;

/// Requests read together: few enough to stay in the nearest cache.
const TOGETHER: usize = 64;

/// The native trace block being read.
#[derive(Default)]
pub(super) struct Block {
    body: Vec<u8>,
    at: usize,
    left: u32,
    is_last: bool,
    /// Requests read together, those from `next` on still to come, and the device of the record before.
    run: Vec<Request>,
    next: usize,
    device: u32,
}

impl Block {
    /// The next request that was read together with the one before.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Recorded> {
        let request = *self.run.get(self.next)?;
        self.next += 1;
        Some((request, self.device))
    }
}

impl Records {
    /// The next record of a block.
    pub(super) fn block(&mut self) -> Result<Next, WorkloadError> {
        if self.block.left == 0 {
            self.next_block().map_err(|message| refused(&self.file, message))?;
            if self.block.is_last {
                return Ok(Next::End);
            }
        }
        if let Some((request, device)) = self.run() {
            return Ok(Next::Request(request, device));
        }
        let found = match self.format.record(&self.block.body[self.block.at..]) {
            Ok(Line::Request(found)) => found,
            Ok(Line::Other | Line::End) => return Ok(Next::Nothing),
            Err(bad) => {
                // Nothing after it in the block can be told from nonsense.
                let message = format!("record {}, byte {} of it: {}", self.number, bad.column + 1, bad.message);
                return Err(refused(&self.file, message));
            }
        };
        let device = self.devices.number(found.device);
        self.block.device = device.unwrap_or_default();
        let found = Found { device: b"", ..found };
        self.block.at += self.format.taken();
        self.block.left -= 1;
        self.placed(&found, device)
    }

    fn next_block(&mut self) -> Result<(), String> {
        const TOO_EARLY: &str = "the trace ends too early: the file was not written or copied to its end";
        let bytes = self.lines.piece(native::BLOCK_HEADER_BYTES).map_err(|error| sentence(&error))?;
        let header = bytes.try_into().map_err(|_| TOO_EARLY.to_owned())?;
        let header = BlockHeader::read(header)?;
        let body = self.lines.piece(header.bytes).map_err(|error| sentence(&error))?;
        if body.len() < header.bytes {
            return Err(TOO_EARLY.to_owned());
        }
        header.check(body)?;
        self.block.body.clear();
        self.block.body.extend_from_slice(body);
        (self.block.at, self.block.left, self.block.is_last) = (0, header.records, header.is_last());
        self.format.start_block();
        if header.is_last() && !self.lines.peek(1).map_err(|error| sentence(&error))?.is_empty() {
            return Err("there is something else behind the end of the trace".to_owned());
        }
        Ok(())
    }

    /// Reads the next requests together, and takes the first of them; none if they are to be read one by one.
    fn run(&mut self) -> Option<Recorded> {
        // The first time of a block may go back, the others do not.
        if self.block.at == 0 || self.chosen.is_some() || !self.clock.is_strict() {
            return None;
        }
        let block = &mut self.block;
        block.run.clear();
        block.next = 0;
        let most = TOGETHER.min(block.left as usize).min(usize::try_from(self.left).unwrap_or(usize::MAX));
        block.at += self.format.run(&block.body[block.at..], most, &mut block.run);
        block.left -= block.run.len() as u32;
        let last = block.run.last()?.time;
        let kept = self.clock.take(last);
        debug_assert_eq!(kept, Kept::Time(last), "times ascend in a block");
        block.run.iter_mut().for_each(|request| request.time = self.pace.time(request.time));
        block.next()
    }
}
