//! fio: the I/O logs that fio writes and replays, version 2 and 3.
//!
//! The first line is `fio version 2 iolog` or `fio version 3 iolog`. A line is `file action` (`add`, `open`, `close`) or
//! `file action offset bytes` with `read`, `write`, `trim`, `sync`, `datasync` or `wait`; each file is a device. Version
//! 3 puts a time before: fio writes microseconds, and `time_unit` takes another unit. Version 2 has no times but `wait`,
//! whose offset is a pause in microseconds. Syncs are flushes.
//!
//! Source: fio's HOWTO, "Trace file format"; `log_io_u` in its iolog.c.

use super::fields::{flush, in_bytes, Columns, Fields, TimeUnit, MAX_TIME};
use super::format::{Format, ReaderOptions};
use super::line::{Line, Malformed};
use nandlab_block::Op;
use nandlab_nand::Time;

/// Reads one line.
#[derive(Debug)]
pub struct Fio {
    has_times: bool,
    unit: TimeUnit,
    is_told: bool,
    /// The pauses so far, in version 2.
    now: Time,
}

impl Fio {
    pub(crate) fn new(options: &ReaderOptions) -> Self {
        let is_told = options.time_unit.is_some();
        Self { has_times: false, unit: options.time_unit(TimeUnit::Us), is_told, now: 0 }
    }
}

impl Format for Fio {
    fn header(&mut self, line: &[u8]) -> Result<bool, Malformed> {
        self.has_times = match line.trim_ascii_end() {
            b"fio version 2 iolog" => false,
            b"fio version 3 iolog" => true,
            _ => {
                let message = "expected the header `fio version 2 iolog` or `fio version 3 iolog`, found";
                return Err(Malformed::new(0, format!("{message} {}", super::fields::shown(line))));
            }
        };
        Ok(true)
    }

    #[inline]
    fn record<'a>(&'a mut self, line: &'a [u8]) -> Result<Line<'a>, Malformed> {
        let mut fields = Fields::new(line);
        if self.has_times {
            self.now = fields.time("time", self.unit)?;
            fields.blank("file")?;
        }
        let device = fields.word("file")?;
        fields.blank("action")?;
        let at = fields.at;
        let action = fields.word("action")?;
        let op = match action {
            b"add" | b"open" | b"close" => {
                fields.end()?;
                return Ok(Line::Other);
            }
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" | b"wait" => Op::Flush,
            _ => {
                fields.at = at;
                let known = "action, one of add, open, close, read, write, trim, sync, datasync, wait";
                return Err(fields.unexpected(known));
            }
        };
        fields.blank("offset")?;
        let address = fields.at;
        let offset = fields.number("offset, a whole number of bytes", u64::MAX)?;
        fields.blank("bytes")?;
        let size = fields.at;
        let bytes = fields.number("bytes, a whole number", u64::MAX)?;
        fields.end()?;
        if action == b"wait" {
            self.wait(address, offset)?;
            return Ok(Line::Other);
        }
        if op == Op::Flush {
            return Ok(flush(self.now, device));
        }
        in_bytes((self.now, op), (offset, bytes), device, Columns { address, size })
    }

    fn taken_as(&self) -> Option<&'static str> {
        (self.has_times && !self.is_told).then_some(
            "the times of the fio log were read as microseconds, as fio writes them; workload.trace.time_unit = \"ms\" \
             reads logs that other programs write in milliseconds",
        )
    }

    fn others(&self) -> &'static str {
        "add, open or close a file, or wait"
    }
}

impl Fio {
    fn wait(&mut self, column: usize, pause_us: u64) -> Result<(), Malformed> {
        if self.has_times {
            return Err(Malformed::new(column, "version 3 has times and so no action `wait`".to_owned()));
        }
        let now = pause_us.checked_mul(1000).and_then(|pause| self.now.checked_add(pause));
        self.now = now.filter(|&now| now <= MAX_TIME).ok_or_else(|| {
            Malformed::new(column, "the pauses are beyond the 292 years that a trace can span".to_owned())
        })?;
        Ok(())
    }
}
