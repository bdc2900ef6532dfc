//! Reads the records of a trace and plays them.

use super::addresses::{fold, Addresses, Ranks, TouchedPages};
use super::format::{Format, FormatName, Malformed};
use super::lines::{sentence, Lines, LongLine};
use crate::{Workload, WorkloadError};
use nandlab_block::{Op, Request};
use nandlab_nand::Time;
use std::io;
use std::path::{Path, PathBuf};

/// Records between two calls of the watch.
const WATCH_EVERY: u64 = 1 << 16;

/// Nanoseconds that repetitions may span: far from where a clock of 64 bits ends.
const MAX_SPAN: Time = 1 << 62;

/// The records of a file, one after the other.
pub(crate) struct Records {
    file: PathBuf,
    lines: Lines,
    format: Box<dyn Format>,
    line: u64,
    last: Time,
    left: u64,
}

impl Records {
    pub(crate) fn open(file: PathBuf, format: FormatName, limit: Option<u64>) -> Result<Self, WorkloadError> {
        let lines = Lines::open(&file).map_err(|error| unreadable(&file, &error))?;
        let left = limit.unwrap_or(u64::MAX);
        let mut records = Self { file, lines, format: format.reader(), line: 0, last: 0, left };
        records.header()?;
        Ok(records)
    }

    fn header(&mut self) -> Result<(), WorkloadError> {
        self.line = 1;
        let line = self.lines.next().map_err(|error| unreadable_line(&self.file, self.line, &error))?;
        let header = self.format.header(line.unwrap_or_default());
        header.map_err(|bad| malformed(&self.file, self.line, bad))
    }

    #[inline]
    fn next(&mut self) -> Result<Option<Request>, WorkloadError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.line += 1;
        let line = match self.lines.next() {
            Ok(Some(line)) => line,
            Ok(None) => return Ok(None),
            Err(error) => return Err(unreadable_line(&self.file, self.line, &error)),
        };
        let request = match self.format.record(line) {
            Ok(request) if request.time >= self.last => request,
            Ok(request) => return Err(backwards(&self.file, self.line, request.time, self.last)),
            Err(bad) => return Err(malformed(&self.file, self.line, bad)),
        };
        self.last = request.time;
        self.left -= 1;
        Ok(Some(request))
    }
}

#[cold]
fn unreadable(file: &Path, error: &io::Error) -> WorkloadError {
    WorkloadError::File { file: file.display().to_string(), message: sentence(error) }
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
    WorkloadError::Record { file: file.display().to_string(), line, column: bad.column + 1, message: bad.message }
}

#[cold]
fn backwards(file: &Path, line: u64, time: Time, last: Time) -> WorkloadError {
    let message =
        format!("time goes back from {} to {} us; records come in the order of time", last / 1000, time / 1000);
    malformed(file, line, Malformed::new(0, message))
}

/// What a trace holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Summary {
    /// Records.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Trims.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
    /// Sectors read.
    pub read_sectors: u64,
    /// Sectors written.
    pub written_sectors: u64,
    /// Sectors trimmed.
    pub trimmed_sectors: u64,
    /// First sector after the highest address.
    pub end_sector: u64,
    /// Sectors of the longest read or write.
    pub longest: u32,
    /// Time of the first record, in nanoseconds.
    pub first_ns: Time,
    /// Time of the last record, in nanoseconds.
    pub last_ns: Time,
}

impl Summary {
    pub(crate) fn of(
        records: &mut Records,
        watch: &(dyn Fn(u64) -> bool + Sync),
        mut also: impl FnMut(&Request),
    ) -> Result<Self, WorkloadError> {
        let mut sum = Self::default();
        while let Some(request) = records.next()? {
            if sum.requests % WATCH_EVERY == 0 && !watch(sum.requests) {
                return Err(WorkloadError::Stopped);
            }
            sum.add(&request);
            also(&request);
        }
        Ok(sum)
    }

    fn add(&mut self, request: &Request) {
        let sectors = u64::from(request.sectors);
        match request.op {
            Op::Read => (self.reads, self.read_sectors) = (self.reads + 1, self.read_sectors + sectors),
            Op::Write => (self.writes, self.written_sectors) = (self.writes + 1, self.written_sectors + sectors),
            Op::Trim => (self.trims, self.trimmed_sectors) = (self.trims + 1, self.trimmed_sectors + sectors),
            Op::Flush => self.flushes += 1,
        }
        if self.requests == 0 {
            self.first_ns = request.time;
        }
        self.requests += 1;
        self.end_sector = self.end_sector.max(request.end());
        if request.op != Op::Trim {
            self.longest = self.longest.max(request.sectors);
        }
        self.last_ns = request.time;
    }

    /// How much later a repetition starts: the span of the trace and one mean gap.
    fn period(&self) -> Time {
        let span = self.last_ns - self.first_ns;
        span + span / self.requests.saturating_sub(1).max(1)
    }
}

/// What is played and how.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) file: PathBuf,
    pub(crate) format: FormatName,
    pub(crate) limit: Option<u64>,
    pub(crate) repeat: u64,
    pub(crate) addresses: Addresses,
    pub(crate) capacity: u64,
}

impl Plan {
    fn records(&self) -> Result<Records, WorkloadError> {
        Records::open(self.file.clone(), self.format, self.limit)
    }

    /// Refuses a trace that does not fit the device.
    fn fit(&self, summary: &Summary, ranks: Option<&Ranks>) -> Result<(), WorkloadError> {
        let (needed, ways_out) = match ranks {
            Some(ranks) => {
                (ranks.sectors(), ", or set workload.trace.addresses to \"fold\" (addresses modulo the device)")
            }
            None if self.addresses == Addresses::Fold => (summary.longest.into(), ""),
            None => (
                summary.end_sector,
                ", or set workload.trace.addresses to \"fold\" (addresses modulo the device) or \"compact\" \
                 (the touched 4 KiB pages without the gaps between them)",
            ),
        };
        if needed > self.capacity {
            let file = self.file.display().to_string();
            return Err(WorkloadError::TooSmall { file, needed, device: self.capacity, ways_out });
        }
        let span = u128::from(self.repeat) * u128::from(summary.period());
        if self.repeat > 1 && span > u128::from(MAX_SPAN) {
            let why = "the repetitions reach past the 146 years that the clock of a run can hold";
            return Err(WorkloadError::option("repeat", &self.repeat, why));
        }
        Ok(())
    }
}

/// Plays a trace.
pub(crate) struct Player {
    plan: Plan,
    summary: Summary,
    ranks: Option<Ranks>,
    records: Records,
    /// Repetitions that are done.
    played: u64,
    /// Trims of which no page was left after the renumbering.
    dropped: u64,
}

impl Player {
    /// Reads the trace through, refuses what cannot be played, and goes back to the start.
    pub(crate) fn open(plan: Plan, watch: &(dyn Fn(u64) -> bool + Sync)) -> Result<Self, WorkloadError> {
        let compact = plan.addresses == Addresses::Compact;
        let mut touched = TouchedPages::default();
        let summary = Summary::of(&mut plan.records()?, watch, |request| {
            if compact {
                touched.add(request);
            }
        })?;
        if summary.requests == 0 {
            let message = "there is no request after the header".to_owned();
            return Err(WorkloadError::File { file: plan.file.display().to_string(), message });
        }
        let ranks = compact.then(|| touched.rank());
        plan.fit(&summary, ranks.as_ref())?;
        Ok(Self { records: plan.records()?, plan, summary, ranks, played: 0, dropped: 0 })
    }

    #[inline]
    fn place(&self, request: &Request) -> Option<Request> {
        let time = request.time - self.summary.first_ns + self.played * self.summary.period();
        let request = Request { time, ..*request };
        match &self.ranks {
            _ if request.op == Op::Flush => Some(request),
            Some(ranks) => ranks.translate(&request),
            None if self.plan.addresses == Addresses::Fold => Some(fold(&request, self.plan.capacity)),
            None => Some(request),
        }
    }

    /// A file that grew since it was read through must not reach past the device.
    fn still_fits(&self, request: &Request) -> Result<(), WorkloadError> {
        if request.end() > self.plan.capacity {
            let message = "the file changed while it was played".to_owned();
            return Err(WorkloadError::File { file: self.plan.file.display().to_string(), message });
        }
        Ok(())
    }
}

impl Workload for Player {
    fn fill(&mut self, batch: &mut Vec<Request>, room: usize) -> Result<usize, WorkloadError> {
        let before = batch.len();
        while batch.len() - before < room {
            let Some(request) = self.records.next()? else {
                if self.played + 1 >= self.plan.repeat {
                    break;
                }
                self.played += 1;
                self.records = self.plan.records()?;
                continue;
            };
            match self.place(&request) {
                Some(request) => {
                    self.still_fits(&request)?;
                    batch.push(request);
                }
                None => self.dropped += 1,
            }
        }
        Ok(batch.len() - before)
    }

    fn len_hint(&self) -> Option<u64> {
        Some(self.summary.requests * self.plan.repeat)
    }

    fn sectors_hint(&self) -> Option<u64> {
        let Summary { read_sectors, written_sectors, .. } = self.summary;
        // A trim costs next to nothing, however long it is.
        Some((read_sectors + written_sectors).saturating_mul(self.plan.repeat))
    }

    fn notices(&self) -> Vec<String> {
        let dropped = match self.dropped {
            0 => return Vec::new(),
            1 => "1 trim was left out: it reaches".to_owned(),
            trims => format!("{trims} trims were left out: they reach"),
        };
        vec![format!(
            "{dropped} only pages that the trace neither reads nor writes, which workload.trace.addresses = \"compact\" \
             takes away; the run has so many requests fewer than the trace"
        )]
    }
}
