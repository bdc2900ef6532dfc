//! A run's time series: at most 200 samples, whatever its length.

use crate::record::{waf, HostCounts, Sample};
use nandlab_nand::Time;

/// Samples of a run.
#[derive(Clone, Debug)]
pub struct Series {
    samples: Vec<Sample>,
    /// Requests between two samples.
    every: u64,
    next: u64,
    keeps_time: bool,
    sectors_per_page: u32,
}

/// Device counters at a sample.
#[derive(Clone, Copy)]
pub struct Below {
    /// Requests refused by zones so far.
    pub refused: u64,
    /// Page programs so far.
    pub programs: u64,
    /// Erases so far.
    pub erases: u64,
    /// Empty blocks at this moment.
    pub free_blocks: u64,
    /// Simulated time, ns.
    pub time: Time,
}

/// Most samples of a run.
pub const MAX_SAMPLES: usize = 200;

impl Series {
    /// For a run with about `total` requests; 0 if unknown.
    pub fn new(total: u64, keeps_time: bool, sectors_per_page: u32) -> Self {
        let every = total.div_ceil(MAX_SAMPLES as u64).max(1);
        Self { samples: Vec::new(), every, next: every, keeps_time, sectors_per_page }
    }

    /// Forgets all samples, in a run with unknown length.
    pub(crate) fn restart(&mut self) {
        *self = Self::new(0, self.keeps_time, self.sectors_per_page);
    }

    pub(crate) fn every(&self) -> u64 {
        self.every
    }

    /// Whether a sample is due after this many requests.
    #[inline]
    pub fn is_due(&self, requests: u64) -> bool {
        requests >= self.next
    }

    /// Whether the last sample is still current: no request came since.
    pub(crate) fn has(&self, requests: u64) -> bool {
        requests == self.samples.last().map_or(0, |sample| sample.requests)
    }

    /// Adds a sample; if there are too many, every second one is dropped first.
    pub fn add(&mut self, host: &HostCounts, below: Below) {
        if self.has(host.requests) {
            return;
        }
        if self.samples.len() == MAX_SAMPLES {
            self.thin();
        }
        self.next = host.requests + self.every;
        self.samples.push(Sample {
            requests: host.requests,
            refused: below.refused,
            time_us: self.keeps_time.then(|| below.time as f64 / 1000.0),
            waf: None,
            read_sectors: host.read_sectors,
            written_sectors: host.written_sectors,
            programs: below.programs,
            erases: below.erases,
            free_blocks: below.free_blocks,
        });
    }

    /// The last request was answered at `time`, if the last sample has all requests: they were under way then.
    pub(crate) fn end(&mut self, requests: u64, time: Time) {
        let (is_current, keeps_time) = (self.has(requests), self.keeps_time);
        if let Some(last) = self.samples.last_mut().filter(|_| is_current && keeps_time) {
            last.time_us = Some(time as f64 / 1000.0);
        }
    }

    /// Keeps every second sample.
    fn thin(&mut self) {
        let mut at = 0;
        self.samples.retain(|_| {
            at += 1;
            at % 2 == 0
        });
        self.every *= 2;
    }

    /// The samples, each with its write amplification.
    pub fn into_samples(mut self) -> Vec<Sample> {
        let (mut written, mut programs) = (0, 0);
        for sample in &mut self.samples {
            // Write amplification since the previous sample.
            sample.waf = waf(sample.programs - programs, self.sectors_per_page, sample.written_sectors - written);
            (written, programs) = (sample.written_sectors, sample.programs);
        }
        self.samples
    }
}
