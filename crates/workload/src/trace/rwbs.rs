//! The field `rwbs` in the Linux kernel's formats, and the addresses beside it.
//!
//! `F` before the operation letter asks for a flush before it (`REQ_PREFLUSH`), `F` behind a write's letter for a flush
//! after this write (`REQ_FUA`); without data there is a flush alone. The block layer does the same in this order if a
//! device has no FUA.
//!
//! Source: Linux, `blk_fill_rwbs` in kernel/trace/blktrace.c, Documentation/block/writeback_cache_control.rst.

use super::fields::{flush, in_sectors, shown, Columns, Fields};
use super::line::{Line, Malformed};
use nandlab_block::Op;
use nandlab_nand::Time;

/// The letters' meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rwbs {
    /// `None` if it is no device request: a message, a zone operation.
    op: Option<Op>,
    has_flush_before: bool,
    has_flush_behind: bool,
}

impl Rwbs {
    pub(super) fn of(letters: &[u8]) -> Self {
        let before = letters.iter().take_while(|&&letter| letter == b'F').count();
        let rest = &letters[before..];
        let at = rest.iter().position(|letter| matches!(letter, b'R' | b'W' | b'D'));
        let op = at.filter(|_| !rest.starts_with(b"Z")).map(|at| match rest[at] {
            b'R' => Op::Read,
            b'W' => Op::Write,
            _ => Op::Trim,
        });
        let is_zone = rest.starts_with(b"Z");
        let has_behind = at.is_some_and(|at| rest[at..].contains(&b'F'));
        Self {
            op: op.or((before > 0 && !is_zone).then_some(Op::Flush)),
            has_flush_before: before > 0 && op.is_some(),
            has_flush_behind: has_behind && op == Some(Op::Write),
        }
    }

    /// Whether it is no device request.
    pub(super) fn is_none(self) -> bool {
        self.op.is_none()
    }

    /// Whether a request without data is a flush.
    pub(super) fn flushes(self) -> bool {
        self.op == Some(Op::Flush) || self.has_flush_before || self.has_flush_behind
    }

    /// The line at `time` for this `(sector, sectors)`; without them nothing moves. A flush has no sector, whatever it says.
    pub(super) fn line<'a>(
        self,
        (time, device): (Time, &'a [u8]),
        place: Option<(Result<u64, Malformed>, u64)>,
        at: Columns,
    ) -> Result<Line<'a>, Malformed> {
        let Some(op) = self.op else { return Ok(Line::Other) };
        let (sector, sectors) = match place {
            Some((_, 0)) if self.flushes() => return Ok(flush(time, device)),
            _ if op == Op::Flush => return Ok(flush(time, device)),
            Some(place) => place,
            None => return Ok(if self.flushes() { flush(time, device) } else { Line::Other }),
        };
        let mut line = in_sectors((time, op), (sector?, sectors), device, at)?;
        self.add_flushes(&mut line);
        Ok(line)
    }

    /// The flushes around a request with data.
    pub(super) fn add_flushes(self, line: &mut Line<'_>) {
        if let Line::Request(found) = line {
            found.has_flush_before = self.has_flush_before;
            found.has_flush_behind = self.has_flush_behind;
        }
    }
}

/// A sector. The field is passed over even where this is an error: a flush may have any.
///
/// The kernel prints a flush's sector as -1, with a sign or as the largest 64-bit number, less some sectors on a partition.
pub(super) fn sector(fields: &mut Fields<'_>) -> Result<u64, Malformed> {
    let start = fields.at;
    let is_negative = fields.peek() == Some(b'-');
    fields.at += usize::from(is_negative);
    let found = fields.number("sector, a whole number", u64::MAX >> 9);
    if !is_negative && !fields.line[start..].starts_with(b"1844674407") {
        return found;
    }
    let text = shown(&fields.line[start..fields.at]);
    Err(Malformed::new(start, format!("expected sector, a whole number, found {text}, which only a flush has")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's text for each flag, by `blk_fill_rwbs`.
    #[test]
    fn flushes_stand_before_and_behind_the_operation() {
        for (letters, op, before, behind) in [
            ("R", Some(Op::Read), false, false),
            ("RAM", Some(Op::Read), false, false),
            ("WS", Some(Op::Write), false, false),
            ("DS", Some(Op::Trim), false, false),
            ("DE", Some(Op::Trim), false, false),
            ("FF", Some(Op::Flush), false, false),
            ("F", Some(Op::Flush), false, false),
            ("FFS", Some(Op::Flush), false, false),
            ("FN", Some(Op::Flush), false, false),
            ("FW", Some(Op::Write), true, false),
            ("FWS", Some(Op::Write), true, false),
            ("FWFS", Some(Op::Write), true, true),
            ("FWFSM", Some(Op::Write), true, true),
            ("WF", Some(Op::Write), false, true),
            ("WFS", Some(Op::Write), false, true),
            ("WFSM", Some(Op::Write), false, true),
            ("N", None, false, false),
            ("ZR", None, false, false),
            ("ZF", None, false, false),
        ] {
            let expected = Rwbs { op, has_flush_before: before, has_flush_behind: behind };
            assert_eq!(Rwbs::of(letters.as_bytes()), expected, "{letters}");
        }
    }
}
