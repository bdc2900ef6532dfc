//! A run's time series: at most 200 samples, whatever its length.

use crate::record::{waf, HostCounts, Sample};
use nandlab_nand::Time;

/// Samples of a run.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    samples: Vec<Sample>,
    /// Requests between two samples.
    every: u64,
    next: u64,
    keeps_time: bool,
    sectors_per_page: u32,
}

/// Device counters at a sample.
#[derive(Clone, Copy)]
pub(crate) struct Below {
    pub(crate) programs: u64,
    pub(crate) erases: u64,
    pub(crate) free_blocks: u64,
    pub(crate) time: Time,
}

const MAX_SAMPLES: usize = 200;

impl Series {
    /// For a run with about `total` requests; 0 if unknown.
    pub(crate) fn new(total: u64, keeps_time: bool, sectors_per_page: u32) -> Self {
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

    #[inline]
    pub(crate) fn is_due(&self, requests: u64) -> bool {
        requests >= self.next
    }

    /// Whether the last sample is still current: no request came since.
    pub(crate) fn has(&self, requests: u64) -> bool {
        requests == self.samples.last().map_or(0, |sample| sample.requests)
    }

    pub(crate) fn add(&mut self, host: &HostCounts, below: Below) {
        if self.has(host.requests) {
            return;
        }
        if self.samples.len() == MAX_SAMPLES {
            self.thin();
        }
        self.next = host.requests + self.every;
        self.samples.push(Sample {
            requests: host.requests,
            time_us: self.keeps_time.then(|| below.time as f64 / 1000.0),
            waf: None,
            read_sectors: host.read_sectors,
            written_sectors: host.written_sectors,
            programs: below.programs,
            erases: below.erases,
            free_blocks: below.free_blocks,
        });
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

    pub(crate) fn into_samples(mut self) -> Vec<Sample> {
        let (mut written, mut programs) = (0, 0);
        for sample in &mut self.samples {
            // Write amplification since the previous sample.
            sample.waf = waf(sample.programs - programs, self.sectors_per_page, sample.written_sectors - written);
            (written, programs) = (sample.written_sectors, sample.programs);
        }
        self.samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn below(programs: u64, erases: u64) -> Below {
        Below { programs, erases, free_blocks: 0, time: 0 }
    }

    fn series(total: u64, requests: u64) -> Vec<Sample> {
        let mut series = Series::new(total, false, 8);
        let mut host = HostCounts::default();
        for n in 1..=requests {
            host = HostCounts { requests: n, written_sectors: n * 8, ..host };
            if series.is_due(n) {
                // Twice as many programs in the second half.
                series.add(&host, below(n + n.saturating_sub(requests / 2), n / 64));
            }
        }
        series.add(&host, below(requests + requests / 2, requests / 64));
        series.into_samples()
    }

    #[test]
    fn length_does_not_matter() {
        for (total, requests) in [(10, 10), (200, 200), (1_000_000, 1_000_000), (0, 100_000), (5_000, 100_000)] {
            let samples = series(total, requests);
            assert!(samples.len() <= MAX_SAMPLES && samples.len() as u64 >= requests.min(90), "{}", samples.len());
            assert_eq!(samples.last().unwrap().requests, requests);
            assert!(samples.windows(2).all(|pair| pair[0].requests < pair[1].requests));
        }
    }

    #[test]
    fn write_amplification_is_that_since_the_sample_before() {
        let samples = series(1000, 1000);
        assert_eq!((samples[0].waf, samples[199].waf), (Some(1.0), Some(2.0)));
        assert_eq!(samples[199].erases, 15);
    }
}
