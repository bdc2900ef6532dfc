//! blkparse: the text that blkparse prints of a Linux block trace.
//!
//! `major,minor cpu sequence seconds pid action rwbs sector + sectors [process]`. A request passes several actions (`Q`
//! queued, `I` inserted, `D` given to the device, `C` completed), each on a line. Only lines with the chosen `action`
//! are requests, `C` by default. In `rwbs`, `R` is a read, `W` a write, `D` a discard, `F` without data a flush; `N` is
//! neither. `F` before the data (`FWS`) is a flush and then the write, `F` behind a write (`WFS`) the write and then a
//! flush. Each processor has its own buffer, so times may go back. The summary ends the trace.
//!
//! Source: Axboe & Brunelle, "blktrace User Guide", 2007; blkparse(1).

use super::action::Action;
use super::fields::{Columns, Fields, TimeUnit};
use super::format::{Format, ReaderOptions};
use super::line::{Line, Malformed};
use super::rwbs::{sector, Rwbs};

/// Reads one line.
#[derive(Debug)]
pub struct Blkparse {
    action: u8,
    unit: TimeUnit,
    seen: SeenActions,
}

/// Occurrences by action letter.
#[derive(Debug, Default)]
pub(crate) struct SeenActions([u64; 26]);

impl SeenActions {
    #[inline]
    pub(crate) fn add(&mut self, action: u8) {
        if let Some(count) = self.0.get_mut(usize::from(action.wrapping_sub(b'A'))) {
            *count += 1;
        }
    }

    /// Advice if no record had the action `chosen`.
    pub(crate) fn advice(&self, chosen: u8) -> Option<String> {
        let count = |letter: u8| self.0[usize::from(letter - b'A')];
        let chosen_letter = char::from(chosen);
        if count(chosen) > 0 {
            return Some(format!("its records of the action {chosen_letter} hold no read, write, discard or flush"));
        }
        let known = [Action::Q, Action::G, Action::I, Action::D, Action::C].map(Action::letter);
        let there: Vec<u8> = known.into_iter().filter(|&letter| count(letter) > 0).collect();
        let listed: Vec<String> =
            there.iter().map(|&letter| format!("{} ({})", char::from(letter), count(letter))).collect();
        let first = char::from(*there.first()?);
        let listed = listed.join(", ");
        Some(format!(
            "it has no record of the action {chosen_letter}, but of {listed}: with workload.trace.action = \"{first}\" \
             (`--action {first}` of `nandlab trace`) those are the requests"
        ))
    }
}

impl Blkparse {
    pub(crate) fn new(options: &ReaderOptions) -> Self {
        let action = options.action.unwrap_or(Action::C).letter();
        Self { action, unit: options.time_unit(TimeUnit::S), seen: SeenActions::default() }
    }
}

impl Format for Blkparse {
    #[inline]
    fn record<'a>(&'a mut self, line: &'a [u8]) -> Result<Line<'a>, Malformed> {
        let mut fields = Fields::new(line);
        fields.blanks();
        if is_summary(&line[fields.at..]) {
            return Ok(Line::End);
        }
        let device = fields.at;
        fields.number("major, a whole number", u64::MAX)?;
        fields.byte(b',', "minor")?;
        fields.number("minor, a whole number", u64::MAX)?;
        let device = &line[device..fields.at];
        fields.blank("cpu")?;
        fields.number("cpu, a whole number", u64::MAX)?;
        fields.blank("sequence")?;
        fields.number("sequence, a whole number", u64::MAX)?;
        fields.blank("seconds")?;
        let time = fields.time("seconds", self.unit)?;
        fields.blank("pid")?;
        fields.number("pid, a whole number", u64::MAX)?;
        fields.blank("action")?;
        let at = fields.at;
        let action = fields.word("action, a letter such as Q, D or C")?;
        if action.len() > 2 || !action.iter().all(u8::is_ascii_alphabetic) {
            fields.at = at;
            return Err(fields.unexpected("action, a letter such as Q, D or C"));
        }
        if let [letter] = action {
            self.seen.add(*letter);
        }
        if action != [self.action] {
            return Ok(Line::Other);
        }
        fields.blank("rwbs")?;
        self.transfer(fields, time, device)
    }

    fn no_request(&self) -> Option<String> {
        self.seen.advice(self.action)
    }

    fn others(&self) -> &'static str {
        "hold other actions than the one that workload.trace.action chooses, or no read, write, discard or flush"
    }
}

impl Blkparse {
    /// From `rwbs` on.
    #[inline]
    fn transfer<'a>(&self, mut fields: Fields<'a>, time: u64, device: &'a [u8]) -> Result<Line<'a>, Malformed> {
        let at = fields.at;
        let flags = fields.word("rwbs")?;
        if !flags.iter().all(u8::is_ascii_alphabetic) {
            fields.at = at;
            return Err(fields.unexpected("rwbs, letters such as R, W, WS or FN"));
        }
        let rwbs = Rwbs::of(flags);
        fields.blanks();
        let address = fields.at;
        let has_sector = fields.peek().is_some_and(|byte| byte.is_ascii_digit() || byte == b'-');
        let sector = if has_sector { sector(&mut fields) } else { Ok(0) };
        fields.blanks();
        if fields.peek() != Some(b'+') {
            if !rwbs.flushes() && !rwbs.is_none() {
                sector?;
            }
            // Without a length nothing moves: a flush, or its mark.
            return rwbs.line((time, device), None, Columns { address, size: address });
        }
        fields.at += 1;
        fields.blank("sectors")?;
        let size = fields.at;
        let sectors = fields.number("sectors, a whole number of 512-byte sectors", u64::MAX)?;
        if !matches!(fields.peek(), None | Some(b' ' | b'\t')) {
            return Err(fields.unexpected("a space and then the process"));
        }
        rwbs.line((time, device), Some((sector, sectors)), Columns { address, size })
    }
}

/// Whether the totals begin here.
fn is_summary(text: &[u8]) -> bool {
    let cpu = text.strip_prefix(b"CPU").is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit));
    cpu || text.starts_with(b"Total (")
}
