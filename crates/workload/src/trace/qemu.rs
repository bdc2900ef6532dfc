//! qemu: the log of the block back ends of a virtual machine.
//!
//! `pid@seconds:blk_co_preadv blk POINTER bs POINTER offset BYTES bytes BYTES flags 0x0`, and likewise
//! `blk_co_pwritev`: as printed by `qemu-system-x86_64 -trace 'blk_co_p*'`. Without `-msg timestamp=on` lines have no
//! pid and no time, and all times are 0. The pointer after `blk` is the device. Other events in lines with a time are
//! skipped.
//!
//! Source: QEMU, docs/devel/tracing.rst and block/trace-events.

use super::fields::{in_bytes, Columns, Fields, TimeUnit};
use super::format::{Format, ReaderOptions};
use super::line::{Line, Malformed};
use nandlab_block::Op;

/// Reads one line.
#[derive(Debug)]
pub struct Qemu(TimeUnit);

impl Qemu {
    pub(crate) fn new(options: &ReaderOptions) -> Self {
        Self(options.time_unit(TimeUnit::S))
    }
}

/// The word `name` and then a blank, before its value.
fn named(fields: &mut Fields<'_>, name: &str) -> Result<(), Malformed> {
    fields.blank(name)?;
    let at = fields.at;
    if fields.word(name)? != name.as_bytes() {
        fields.at = at;
        return Err(fields.unexpected(&format!("the word `{name}`")));
    }
    fields.blank(name)
}

impl Format for Qemu {
    #[inline]
    fn record<'a>(&'a mut self, line: &'a [u8]) -> Result<Line<'a>, Malformed> {
        const WHAT: &str = "`pid@seconds:` and the name of an event, or blk_co_preadv or blk_co_pwritev";
        let mut fields = Fields::new(line);
        let mut time = None;
        if fields.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            fields.number("pid, a whole number", u64::MAX)?;
            fields.byte(b'@', "seconds")?;
            time = Some(fields.time("seconds", self.0)?);
            fields.byte(b':', "the name of an event")?;
        }
        let at = fields.at;
        let op = match fields.word(WHAT)? {
            b"blk_co_preadv" => Op::Read,
            b"blk_co_pwritev" => Op::Write,
            _ if time.is_some() => return Ok(Line::Other),
            _ => {
                fields.at = at;
                return Err(fields.unexpected(WHAT));
            }
        };
        named(&mut fields, "blk")?;
        let device = fields.word("blk")?;
        named(&mut fields, "bs")?;
        fields.word("bs")?;
        named(&mut fields, "offset")?;
        let address = fields.at;
        let offset = fields.number("offset, a whole number of bytes", u64::MAX)?;
        named(&mut fields, "bytes")?;
        let size = fields.at;
        let bytes = fields.number("bytes, a whole number", u64::MAX)?;
        in_bytes((time.unwrap_or(0), op), (offset, bytes), device, Columns { address, size })
    }

    fn others(&self) -> &'static str {
        "hold other events than blk_co_preadv and blk_co_pwritev"
    }
}
