//! ftrace: the events of the block layer as the Linux kernel, trace-cmd and perf print them.
//!
//! `task-pid [cpu] flags seconds: event: major,minor rwbs ... sector + sectors ...`, one event a line; perf writes
//! `block:` before the event name. Each request passes several events: `block_bio_queue` (action `Q`), `block_getrq`
//! (`G`), `block_rq_insert` (`I`), `block_rq_issue` (`D`), `block_rq_complete` (`C`). Events with the chosen `action`
//! are the requests, by default `D`, given to the device. In `rwbs`, `R` is a read, `W` a write, `D` a discard, `F`
//! without data a flush; `F` before the data (`FWS`) is a flush and then the write, `F` behind a write (`WFS`) the
//! write and then a flush. Other events, such as NVMe, UFS and MMC driver events, are skipped: they count addresses in
//! blocks without giving the block size. Each processor has its own buffer, so times may go back.
//!
//! Source: Linux, Documentation/trace/events.rst and include/trace/events/block.h; trace-cmd-report(1); perf-script(1).

use super::action::Action;
use super::blkparse::SeenActions;
use super::fields::{Columns, Fields, TimeUnit};
use super::format::{Format, ReaderOptions};
use super::line::{Line, Malformed};
use super::rwbs::{sector, Rwbs};

/// Reads one line.
#[derive(Debug)]
pub struct Ftrace {
    action: u8,
    unit: TimeUnit,
    seen: SeenActions,
    /// Whether a driver event was met.
    has_driver: bool,
}

impl Ftrace {
    pub(crate) fn new(options: &ReaderOptions) -> Self {
        let action = options.action.unwrap_or(Action::D).letter();
        Self { action, unit: options.time_unit(TimeUnit::S), seen: SeenActions::default(), has_driver: false }
    }
}

/// An event's action.
fn letter(event: &[u8]) -> Option<u8> {
    Some(match event {
        b"block_bio_queue" => b'Q',
        b"block_getrq" => b'G',
        b"block_rq_insert" => b'I',
        b"block_rq_issue" => b'D',
        b"block_rq_complete" => b'C',
        _ => return None,
    })
}

const EVENT: &str = "seconds and the name of an event, as in `12.5: block_rq_issue:`";

impl Format for Ftrace {
    fn is_comment(&self, line: &[u8]) -> bool {
        line.starts_with(b"#") || line.starts_with(b"cpus=")
    }

    #[inline]
    fn record<'a>(&'a mut self, line: &'a [u8]) -> Result<Line<'a>, Malformed> {
        // Concatenated files have more comments.
        if self.is_comment(line) {
            return Ok(Line::Other);
        }
        let mut fields = Fields::new(line);
        // A task name may have blanks and digits: the time is the first number before a colon.
        let time = loop {
            fields.blanks();
            let at = fields.at;
            let word = fields.word(EVENT)?;
            if word[0].is_ascii_digit() && word.ends_with(b":") && word.contains(&b'.') {
                fields.at = at;
                let time = fields.time("seconds", self.unit)?;
                if fields.peek() == Some(b':') {
                    fields.at += 1;
                    break time;
                }
                fields.at = at + word.len();
            }
        };
        fields.blank("the name of an event")?;
        let at = fields.at;
        let Some(event) = fields.word("the name of an event")?.strip_suffix(b":") else {
            fields.at = at;
            return Err(fields.unexpected("the name of an event with a colon behind it"));
        };
        let event = event.strip_prefix(b"block:").unwrap_or(event);
        self.has_driver |= [&b"nvme"[..], b"ufshcd", b"mmc"].iter().any(|driver| event.starts_with(driver));
        let Some(letter) = letter(event) else { return Ok(Line::Other) };
        self.seen.add(letter);
        if letter != self.action {
            return Ok(Line::Other);
        }
        transfer(fields, time)
    }

    fn no_request(&self) -> Option<String> {
        let drivers = || {
            let why =
                "it has the events of a driver (nvme, ufshcd, mmc), which count in blocks of a size that they do \
                       not tell: record `trace-cmd record -e block:block_rq_issue`, whose sectors have 512 bytes, or \
                       `blktrace -d DEVICE -o - | blkparse -i -`";
            self.has_driver.then(|| why.to_owned())
        };
        self.seen.advice(self.action).or_else(drivers)
    }

    fn others(&self) -> &'static str {
        "hold other events than the one that workload.trace.action chooses, or no read, write, discard or flush"
    }
}

/// From the device on.
fn transfer(mut fields: Fields<'_>, time: u64) -> Result<Line<'_>, Malformed> {
    const PLUS: &[u8] = b" + ";
    fields.blank("the device")?;
    let device = fields.word("the device, as in 8,0")?;
    fields.blank("rwbs")?;
    let at = fields.at;
    let flags = fields.word("rwbs")?;
    if !flags.iter().all(u8::is_ascii_alphabetic) {
        fields.at = at;
        return Err(fields.unexpected("rwbs, letters such as R, W, WS or FF"));
    }
    let rwbs = Rwbs::of(flags);
    // Between them may be the bytes and the command, with its own blanks.
    let rest = &fields.line[fields.at..];
    let Some(plus) = rest.windows(PLUS.len()).rposition(|window| window == PLUS) else {
        if rwbs.is_none() {
            return Ok(Line::Other);
        }
        return Err(fields.unexpected("sector + sectors"));
    };
    let digits = rest[..plus].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let sign = usize::from(rest[..plus - digits].ends_with(b" -"));
    fields.at += plus - digits - sign;
    let address = fields.at;
    let sector = sector(&mut fields);
    fields.at += PLUS.len();
    let size = fields.at;
    let sectors = fields.number("sectors, a whole number of 512-byte sectors", u64::MAX)?;
    rwbs.line((time, device), Some((sector, sectors)), Columns { address, size })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandlab_block::Op;

    fn read(line: &str, action: Action) -> Option<(Op, u64, u32, u64)> {
        let mut reader = Ftrace::new(&ReaderOptions { action: Some(action), ..ReaderOptions::default() });
        match reader.record(line.as_bytes()) {
            Ok(Line::Request(found)) => {
                let request = found.request;
                Some((request.op, request.sector, request.sectors, request.time))
            }
            _ => None,
        }
    }

    #[test]
    fn events_of_every_program_and_kernel_are_read() {
        for (line, action, found) in [
            (
                "          fio-1875  [001] d..1. 12.500000: block_rq_issue: 259,0 WS 4096 () 1000 + 8 [fio]",
                Action::D,
                (Op::Write, 1000, 8),
            ),
            (
                "kworker/0:1H 12 [000] 12.500000: block:block_rq_issue: 8,0 RA 4096 () 64 + 16 none,0,0 [kworker/0:1H]",
                Action::D,
                (Op::Read, 64, 16),
            ),
            ("a b 3.x-7 [000] ..... 12.5: block_rq_complete: 8,0 D () 8 + 2048 [0]", Action::C, (Op::Trim, 8, 2048)),
            ("x-7 [000] 12.5: block_rq_complete: 8,0 WS (2a 00 + 0) 96 + 8 [0]", Action::C, (Op::Write, 96, 8)),
            ("x-7 [000] 12.5: block_bio_queue: 8,0 FWS 8 + 8 [x]", Action::Q, (Op::Write, 8, 8)),
            ("x-7 [000] 12.5: block_rq_issue: 8,0 FF 0 () 0 + 0 [x]", Action::D, (Op::Flush, 0, 0)),
            ("x-7 [000] 12.5: block_rq_issue: 8,0 FF 0 () -1 + 0 [x]", Action::D, (Op::Flush, 0, 0)),
            ("x-7 [000] 12.5: block_rq_issue: 8,0 FF 0 () 18446744073709551615 + 0 [x]", Action::D, (Op::Flush, 0, 0)),
            ("x-7 [000] 12.5: block_rq_issue: 8,0 FF 0 () 18446744073709551614 + 0 [x]", Action::D, (Op::Flush, 0, 0)),
            ("x-7 [000] 12.5: block_rq_issue: 8,0 FWS 0 () 99999999999999999999 + 0 [x]", Action::D, (Op::Flush, 0, 0)),
            (
                "x 7 [000] 12.5: block:block_rq_issue: 8,0 FWS 0 () 18446744073709551615 + 0 [x]",
                Action::D,
                (Op::Flush, 0, 0),
            ),
        ] {
            let (op, sector, sectors) = found;
            assert_eq!(read(line, action), Some((op, sector, sectors, 12_500_000_000)), "{line}");
        }
    }

    #[test]
    fn events_of_drivers_get_advice() {
        let mut reader = Ftrace::new(&ReaderOptions::default());
        for line in [
            "raft-1 [003] ..... 9904.831153: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=4, cmdid=2, nsid=1, flags=0x0, \
             meta=0x0, cmd=(nvme_cmd_write slba=498455480, len=7, ctrl=0x0, dsmgmt=0, reftag=0)",
            "fio-2 [000] .... 12.5: ufshcd_command: send_req: 1d84000.ufshc: tag: 5, DB: 0x20, size: 4096, IS: 0, \
             LBA: 1234, opcode: 0x2a (WRITE_10), group_id: 0x0",
        ] {
            assert_eq!(reader.record(line.as_bytes()), Ok(Line::Other), "{line}");
        }
        let advice = reader.no_request().unwrap();
        assert!(advice.contains("block_rq_issue") && advice.contains("blkparse"), "{advice}");
    }
}
