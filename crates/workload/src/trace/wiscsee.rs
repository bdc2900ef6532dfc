//! WiscSee: the events of a block trace as the simulator WiscSee takes them.
//!
//! `pid action operation offset bytes seconds wait sync`: action `D` (given to the device) or `C` (completed),
//! operation `read`, `write` or `discard`, offset and size in bytes. Every request appears twice: only lines with the
//! chosen `action` are read, `D` by default.
//!
//! Source: He, Kannan, Arpaci-Dusseau & Arpaci-Dusseau, "The Unwritten Contract of Solid State Drives", EuroSys 2017.

use super::action::Action;
use super::blkparse::SeenActions;
use super::fields::{in_bytes, Columns, Fields, TimeUnit};
use super::format::{Format, ReaderOptions};
use super::line::{Line, Malformed};
use nandlab_block::Op;

/// Reads one line.
#[derive(Debug)]
pub struct Wiscsee {
    action: u8,
    unit: TimeUnit,
    seen: SeenActions,
}

impl Wiscsee {
    pub(crate) fn new(options: &ReaderOptions) -> Self {
        let action = options.action.unwrap_or(Action::D).letter();
        Self { action, unit: options.time_unit(TimeUnit::S), seen: SeenActions::default() }
    }
}

impl Format for Wiscsee {
    #[inline]
    fn record<'a>(&'a mut self, line: &'a [u8]) -> Result<Line<'a>, Malformed> {
        let mut fields = Fields::new(line);
        fields.number("pid, a whole number", u64::MAX)?;
        fields.blank("action")?;
        let action = match fields.peek() {
            Some(action @ (b'C' | b'D')) => action,
            _ => return Err(fields.unexpected("action, C or D")),
        };
        fields.at += 1;
        fields.blank("operation")?;
        let at = fields.at;
        let op = match fields.word("operation")? {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"discard" => Op::Trim,
            _ => {
                fields.at = at;
                return Err(fields.unexpected("operation, one of read, write, discard"));
            }
        };
        fields.blank("offset")?;
        let address = fields.at;
        let offset = fields.number("offset, a whole number of bytes", u64::MAX)?;
        fields.blank("bytes")?;
        let size = fields.at;
        let bytes = fields.number("bytes, a whole number", u64::MAX)?;
        fields.blank("seconds")?;
        let time = fields.time("seconds", self.unit)?;
        fields.blank("wait")?;
        fields.word("wait")?;
        fields.blank("sync")?;
        fields.word("sync")?;
        fields.end()?;
        self.seen.add(action);
        if action != self.action {
            return Ok(Line::Other);
        }
        in_bytes((time, op), (offset, bytes), b"", Columns { address, size })
    }

    fn no_request(&self) -> Option<String> {
        self.seen.advice(self.action)
    }

    fn others(&self) -> &'static str {
        "hold another action than the one that workload.trace.action chooses"
    }
}
