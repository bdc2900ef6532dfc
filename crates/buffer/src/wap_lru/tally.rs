//! Request statistics for an interval.

use nandlab_block::Request;

/// Interval statistics.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// Total write size divided by the write run count; `None` without writes.
    pub w_eval: Option<f64>,
    /// Longest read; `None` without reads.
    pub longest_read: Option<u64>,
    /// Longest write; `None` without writes.
    pub longest_write: Option<u64>,
    /// Total write size.
    pub written: u64,
}

/// Write frequency in an interval: the divisor for the pages written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Frequency {
    /// Write runs without a read in between.
    Runs,
    /// One, plus one for each switch between reads and writes.
    Switches,
}

/// Request size unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SizeUnit {
    /// Pages touched by the request.
    Page,
    /// Sectors.
    Sector,
    /// Pages touched by the request and by earlier requests of the same kind, if it continues their
    /// sequential run.
    Run,
}

/// Successive request sizes.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    unit: SizeUnit,
    sectors_per_page: u64,
    /// The sequential run up to the previous request: its kind, end sector, and pages.
    run: (bool, u64, u64),
}

impl Sizes {
    pub(super) fn new(unit: SizeUnit, sectors_per_page: u64) -> Self {
        Self { unit, sectors_per_page, run: (false, u64::MAX, 0) }
    }

    /// The request's size for placement, and its contribution to the interval's written size.
    #[inline]
    pub(super) fn of(&mut self, request: &Request, is_write: bool) -> (u64, u64) {
        let pages = request.end().div_ceil(self.sectors_per_page) - request.sector / self.sectors_per_page;
        match self.unit {
            SizeUnit::Page => (pages, pages),
            SizeUnit::Sector => (request.sectors.into(), request.sectors.into()),
            SizeUnit::Run => (self.length_of_run(request, is_write, pages), pages),
        }
    }

    fn length_of_run(&mut self, request: &Request, is_write: bool, pages: u64) -> u64 {
        let (kind, end, before) = self.run;
        let continues = kind == is_write && end == request.sector;
        self.run = (is_write, request.end(), if continues { before + pages } else { pages });
        self.run.2
    }
}

/// The current interval's requests.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    interval: u32,
    frequency: Frequency,
    requests: u32,
    /// Total write size.
    written: u64,
    runs: u32,
    switches: u32,
    /// Whether the previous request was a write; `None` at the interval's start.
    last: Option<bool>,
    longest: [u64; 2],
}

impl Tally {
    pub(super) fn new(interval: u32, frequency: Frequency) -> Self {
        Self { interval, frequency, requests: 0, written: 0, runs: 0, switches: 0, last: None, longest: [0; 2] }
    }

    /// Adds a request; `pages` counts towards the written size. Returns the interval if this was its last
    /// request.
    #[inline]
    pub(super) fn note(&mut self, is_write: bool, size: u64, pages: u64) -> Option<Interval> {
        if is_write {
            self.written += pages;
            self.runs += u32::from(self.last != Some(true));
        }
        let longest = &mut self.longest[usize::from(is_write)];
        *longest = size.max(*longest);
        self.switches += u32::from(self.last.is_some_and(|last| last != is_write));
        self.last = Some(is_write);
        self.requests += 1;
        if self.requests < self.interval {
            return None;
        }
        self.end()
    }

    /// Ends the interval; `None` if it has no request.
    pub(super) fn end(&mut self) -> Option<Interval> {
        let whole = std::mem::replace(self, Self::new(self.interval, self.frequency));
        if whole.requests == 0 {
            return None;
        }
        let frequency = match self.frequency {
            Frequency::Runs => whole.runs.max(1),
            Frequency::Switches => 1 + whole.switches,
        };
        let [read, write] = whole.longest;
        Some(Interval {
            // An interval without writes is balanced, whatever the threshold.
            w_eval: (whole.written > 0).then(|| whole.written as f64 / f64::from(frequency)),
            longest_read: (read > 0).then_some(read),
            longest_write: (write > 0).then_some(write),
            written: whole.written,
        })
    }
}
