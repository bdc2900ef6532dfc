//! A file's records in order: cut, parsed by format, sorted out.

mod block;

use super::behind::{Behind, Recorded};
use super::clock::{Clock, Kept};
use super::detect::{detect, names, Untold};
use super::devices::{shown, Devices, MAX_DEVICES};
use super::foreign;
use super::format::{Format, FormatName, ReaderOptions};
use super::line::{Found, Frame, Line, Malformed, Took};
use super::lines::{sentence, Lines, LongLine};
use super::native;
use super::tally::{plural, Tally};
use super::times::Pace;
use super::{ClockJumps, Config, OnError, Unsorted, TEXT};
use crate::WorkloadError;
use block::Block;
use nandlab_block::Request;
use nandlab_nand::Time;
use std::io;
use std::path::{Path, PathBuf};

/// A file's records.
pub struct Records {
    file: PathBuf,
    lines: Lines,
    format: Box<dyn Format>,
    frame: Frame,
    name: FormatName,
    notice: Option<String>,
    /// The skipped line with names.
    header: Option<String>,
    /// The record read last, from 1: the line number in a text.
    number: u64,
    block: Block,
    clock: Clock,
    skips: bool,
    pace: Pace,
    left: u64,
    chosen: Option<Vec<u8>>,
    devices: Devices,
    tally: Tally,
    /// The last record's further requests.
    behind: Behind,
    /// Whether the request read last is a further part of a record.
    is_rest: bool,
}

/// One record, or why there is none.
enum Next {
    Request(Request, u32),
    /// No request to play: another device, no request, a blank line.
    Nothing,
    End,
}

impl Records {
    pub(crate) fn open(config: &Config, base: &Path) -> Result<Self, WorkloadError> {
        let file = PathBuf::from(config.source(base));
        let mut lines = match &config.text {
            None => {
                Lines::open(&config.file(base), config.member.as_deref()).map_err(|error| unreadable(&file, &error))?
            }
            Some(text) => Lines::of_text(text),
        };
        let options =
            ReaderOptions { action: config.action, time_unit: config.time_unit, columns: config.columns.clone() };
        let (format, name, notice) = match config.format.reader(&options) {
            Some(reader) => {
                let head = lines.peek(16).map_err(|error| unreadable(&file, &error))?;
                if let Some(other) = foreign::named(head).filter(|_| reader.frame() == Frame::Line) {
                    return Err(refused(&file, other.to_owned()));
                }
                (reader, config.format, None)
            }
            None => {
                let detected = detect(&mut lines, &options).map_err(|error| unreadable(&file, &error))?;
                let detected = detected.map_err(|untold| unknown(&file, untold))?;
                let reader = detected.format.reader(&options).expect("a format that was told is one of the list");
                (reader, detected.format, detected.notice)
            }
        };
        let raises = match config.unsorted {
            Some(unsorted) => unsorted == Unsorted::Raise,
            None => !format.keeps_order(),
        };
        let mends = match config.clock_jumps {
            Some(jumps) => jumps == ClockJumps::Mend,
            // An explicit rule for times going back applies.
            None => !format.keeps_order() && config.unsorted.is_none(),
        };
        let mut records = Self {
            file,
            lines,
            frame: format.frame(),
            format,
            name,
            notice,
            header: None,
            number: 0,
            block: Block::default(),
            clock: Clock::new(raises, mends),
            skips: config.on_error == OnError::Skip,
            pace: Pace::new(config),
            left: config.requests.unwrap_or(u64::MAX),
            chosen: config.device.clone().map(String::into_bytes),
            devices: Devices::default(),
            tally: Tally::default(),
            behind: Behind::default(),
            is_rest: false,
        };
        records.header()?;
        Ok(records)
    }

    /// How the file is written.
    pub fn format(&self) -> FormatName {
        self.name
    }

    pub(crate) fn devices(&self) -> &Devices {
        &self.devices
    }

    /// A device's name in the file; empty if it has none.
    pub fn device_name(&self, number: u32) -> &[u8] {
        self.devices.name(number)
    }

    /// Whether the last request is a further part of a record too long for one.
    pub(crate) fn is_rest(&self) -> bool {
        self.is_rest
    }

    /// The last request's recorded duration, if the format has it.
    pub fn took(&self) -> Option<Took> {
        self.format.took()
    }

    /// Things ignored so far, in sentences, with the reason for the format.
    pub fn notices(&self) -> Vec<String> {
        let device = self.chosen.as_deref().map(shown).unwrap_or_default();
        let header = self.header.as_ref().map(|line| format!("the first line has names and was passed over: `{line}`"));
        let cut = "the archive that the trace is ends in the middle of a file: what is there was read";
        let mut said: Vec<String> = self.notice.iter().cloned().collect();
        said.extend(self.format.taken_as().map(str::to_owned).into_iter().chain(header));
        said.extend(self.tally().sentences(self.format.others(), &device));
        said.extend(self.is_cut().then(|| cut.to_owned()));
        said
    }

    /// Things ignored so far.
    pub fn tally(&self) -> Tally {
        Tally { cut_gaps: self.pace.cuts(), ..self.tally.clone() }
    }

    /// Why the file ended without a request, with advice.
    pub(crate) fn no_request(&self) -> String {
        let Tally { skipped, first_skipped, others, .. } = &self.tally;
        let why = match (self.format.no_request(), first_skipped) {
            (Some(advice), _) => advice,
            (None, Some(first)) => {
                let what = plural(*skipped, "record is", "records are");
                format!("{what} malformed, the first: {first}. workload.trace.format reads it as another format")
            }
            (None, None) if *others > 0 => {
                format!("{} of it {}", plural(*others, "record", "records"), self.format.others())
            }
            (None, None) => format!("as \"{}\" it has not a single record", self.name.name()),
        };
        format!("there is no request in it: {why}")
    }

    /// Whether the file is an archive that was cut short.
    pub(crate) fn is_cut(&self) -> bool {
        self.lines.is_cut()
    }

    fn header(&mut self) -> Result<(), WorkloadError> {
        match self.frame {
            Frame::Bytes(_) => Ok(()),
            Frame::Block => {
                let header = self.lines.piece(native::HEADER_BYTES).map_err(|error| unreadable(&self.file, &error))?;
                self.format.header(header).map(|_| ()).map_err(|bad| refused(&self.file, bad.message))
            }
            Frame::Line => self.header_line(),
        }
    }

    /// Asks the format about the first line; a record is read again.
    fn header_line(&mut self) -> Result<(), WorkloadError> {
        self.lines.skip_byte_order_mark().map_err(|error| unreadable(&self.file, &error))?;
        loop {
            let number = self.number + 1;
            let start = self.lines.peek(usize::MAX).map_err(|error| unreadable_line(&self.file, number, &error))?;
            let first = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
            if first.len() >= Lines::LONGEST {
                return Err(unreadable_line(&self.file, number, &io::Error::other(LongLine)));
            }
            let is_comment = self.format.is_comment(first);
            let is_header = match self.format.header(first.strip_suffix(b"\r").unwrap_or(first)) {
                _ if is_comment => false,
                Ok(is_header) => is_header,
                Err(bad) => return Err(malformed(&self.file, number, bad)),
            };
            if !is_header && !is_comment {
                let line = first.strip_suffix(b"\r").unwrap_or(first).to_vec();
                return self.pass_over_names(&line);
            }
            self.number = number;
            self.lines.next().map_err(|error| unreadable_line(&self.file, number, &error))?;
            if is_header {
                return Ok(());
            }
        }
    }

    /// Skips a line with column names; people add it to formats without one.
    fn pass_over_names(&mut self, line: &[u8]) -> Result<(), WorkloadError> {
        if names(line).is_none() || self.format.record(line).is_ok() {
            return Ok(());
        }
        self.number += 1;
        self.lines.next().map_err(|error| unreadable_line(&self.file, self.number, &error))?;
        self.header = Some(super::devices::shown(line));
        Ok(())
    }

    /// The next request and its device.
    ///
    /// # Errors
    /// [`WorkloadError::Record`], [`WorkloadError::File`].
    #[inline]
    pub fn next_request(&mut self) -> Result<Option<Recorded>, WorkloadError> {
        if let Some(recorded) = self.block.next() {
            self.number += 1;
            self.left -= 1;
            return Ok(Some(recorded));
        }
        if let Some((recorded, is_rest)) = self.behind.next() {
            if is_rest || self.left > 0 {
                self.left -= u64::from(!is_rest);
                self.is_rest = is_rest;
                return Ok(Some(recorded));
            }
        }
        self.is_rest = false;
        while self.left > 0 {
            self.number += 1;
            let next = match self.frame {
                Frame::Line => self.line(),
                Frame::Bytes(bytes) => self.piece(bytes),
                Frame::Block => self.block(),
            };
            match next {
                Ok(Next::Request(request, device)) => {
                    self.left -= 1;
                    return Ok(Some((request, device)));
                }
                Ok(Next::Nothing) => {}
                // The following text, such as blkparse's summary, is not read again.
                Ok(Next::End) => self.left = 0,
                Err(error) => self.pass_over(error)?,
            }
        }
        Ok(None)
    }

    /// Skips a malformed record, if requested.
    #[cold]
    fn pass_over(&mut self, error: WorkloadError) -> Result<(), WorkloadError> {
        if !self.skips || !matches!(error, WorkloadError::Record { .. }) {
            return Err(error);
        }
        self.tally.skipped += 1;
        if self.tally.first_skipped.is_none() {
            self.tally.first_skipped = Some(error.to_string());
        }
        Ok(())
    }

    #[inline]
    fn line(&mut self) -> Result<Next, WorkloadError> {
        let line = match self.lines.next() {
            Ok(Some(line)) => line,
            Ok(None) => return Ok(Next::End),
            Err(error) => {
                // It tells nothing about the rest.
                self.skips = false;
                return Err(unreadable_line(&self.file, self.number, &error));
            }
        };
        match self.format.record(line) {
            Ok(Line::Request(found)) => {
                let device = self.devices.number(found.device);
                self.tally.rounded += u64::from(found.is_rounded);
                let found = Found { device: b"", ..found };
                self.placed(&found, device)
            }
            Ok(Line::Other) => {
                self.tally.others += 1;
                Ok(Next::Nothing)
            }
            Ok(Line::End) => Ok(Next::End),
            Err(bad) => {
                let is_blank = line.trim_ascii().is_empty();
                // Tools pad truncated archives.
                let is_padding = line.iter().all(|&byte| byte == 0);
                if is_blank || is_padding && self.lines.is_cut() {
                    return Ok(Next::Nothing);
                }
                Err(malformed(&self.file, self.number, bad))
            }
        }
    }

    fn piece(&mut self, bytes: usize) -> Result<Next, WorkloadError> {
        let piece = self.lines.piece(bytes).map_err(|error| unreadable(&self.file, &error))?;
        if piece.is_empty() {
            return Ok(Next::End);
        }
        match self.format.record(piece) {
            Ok(Line::Request(found)) => {
                let device = self.devices.number(found.device);
                self.tally.rounded += u64::from(found.is_rounded);
                let found = Found { device: b"", ..found };
                self.placed(&found, device)
            }
            Ok(Line::Other) => {
                self.tally.others += 1;
                Ok(Next::Nothing)
            }
            Ok(Line::End) => Ok(Next::End),
            Err(bad) => Err(malformed_bytes(&self.file, self.number, bad)),
        }
    }

    /// A request to play: on the chosen device, and not before its predecessor.
    #[inline]
    fn placed(&mut self, found: &Found<'_>, device: Option<u32>) -> Result<Next, WorkloadError> {
        let Some(device) = device else { return Err(too_many_devices(&self.file, self.number)) };
        let mut request = found.request;
        if let Some(chosen) = &self.chosen {
            if self.devices.name(device) != &chosen[..] {
                self.tally.left_out += 1;
                return Ok(Next::Nothing);
            }
        }
        request.time = match self.clock.take(request.time) {
            Kept::Time(time) => time,
            other => self.unusual(other)?,
        };
        request.time = self.pace.time(request.time);
        if found.rest > 0 || found.has_flush_before || found.has_flush_behind {
            let first;
            (first, self.behind) = Behind::of(found, (request, device));
            return Ok(Next::Request(first, device));
        }
        Ok(Next::Request(request, device))
    }

    /// Handles a time out of order.
    #[cold]
    fn unusual(&mut self, kept: Kept) -> Result<Time, WorkloadError> {
        let what = if self.frame == Frame::Line { "line" } else { "record" };
        let clocked = self.tally.clocked(kept, (what, self.number));
        clocked.map_err(|(from, to)| backwards(&self.file, self.number, to, from))
    }
}

#[cold]
pub(crate) fn unreadable(file: &Path, error: &io::Error) -> WorkloadError {
    refused(file, sentence(error))
}

#[cold]
fn refused(file: &Path, message: String) -> WorkloadError {
    WorkloadError::File { file: file.display().to_string(), message }
}

/// A trace in an unknown format, with lines that may read it.
#[cold]
fn unknown(file: &Path, untold: Untold) -> WorkloadError {
    let Untold { message, guess: Some(guess) } = untold else { return refused(file, untold.message) };
    let file = file.display().to_string();
    let shell = |word: &str| format!("'{}'", word.replace('\'', "'\\''"));
    let sets: String = guess.sets().iter().map(|set| format!(" --set {}", shell(set))).collect();
    let look = if file == TEXT { String::new() } else { format!("\n\nnandlab trace info {}{sets}", shell(&file)) };
    let proposal = format!("{}{look}", guess.block());
    WorkloadError::Untold { file, message, proposal }
}

#[cold]
fn unreadable_line(file: &Path, line: u64, error: &io::Error) -> WorkloadError {
    match error.get_ref() {
        Some(inner) if inner.is::<LongLine>() => malformed(file, line, Malformed::new(0, inner.to_string())),
        _ => unreadable(file, error),
    }
}

#[cold]
fn malformed(file: &Path, line: u64, bad: Malformed) -> WorkloadError {
    let Malformed { column, message } = bad;
    WorkloadError::Record { file: file.display().to_string(), line, column: column + 1, message }
}

/// Records without lines have a number, and bytes.
#[cold]
fn malformed_bytes(file: &Path, number: u64, bad: Malformed) -> WorkloadError {
    let Malformed { column, message } = bad;
    let message = format!("(counted in records, and in bytes of one) {message}");
    WorkloadError::Record { file: file.display().to_string(), line: number, column: column + 1, message }
}

#[cold]
fn too_many_devices(file: &Path, line: u64) -> WorkloadError {
    malformed(file, line, Malformed::new(0, format!("a trace may have {MAX_DEVICES} devices, and this is one more")))
}

#[cold]
fn backwards(file: &Path, line: u64, time: Time, last: Time) -> WorkloadError {
    let us = |time: Time| time as f64 / 1000.0;
    let message = format!(
        "time goes back from {} to {} us; records come in the order of time, or with unsorted = \"raise\" at the time \
         of the record before",
        us(last),
        us(time)
    );
    malformed(file, line, Malformed::new(0, message))
}
