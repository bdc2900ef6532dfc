//! A run's windows between jumps, and the counts in each.

use crate::latency::LatencyMeter;
use crate::record::WindowFigures;
use nandlab_nand::Time;

/// Counters at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moment {
    pub(crate) programs: u64,
    pub(crate) erases: f64,
    pub(crate) written_sectors: u64,
    /// When the last answer so far came.
    pub(crate) answered: Time,
}

/// The windows so far.
#[derive(Clone, Debug)]
pub(crate) struct Windows {
    /// Requests in a warm-up.
    pub(crate) warm_up: u64,
    /// Requests in a warm-up and its window.
    pub(crate) played: u64,
    /// Requests in the whole workload.
    pub(crate) requests: u64,
    pub(crate) ended: Vec<WindowFigures>,
    /// Time jumped over by the requests' own times.
    pub(crate) left_out: Time,
    /// The last window's begin, or the end of the one before.
    since: Moment,
    /// Requests at that moment: a batch without a request ends nothing again.
    seen: u64,
    /// Latencies before this moment.
    before: LatencyMeter,
}

impl Windows {
    pub(crate) fn new((warm_up, played): (u64, u64), requests: u64, since: Moment) -> Self {
        let (ended, left_out, before) = (Vec::new(), 0, LatencyMeter::default());
        Self { warm_up, played, requests, ended, left_out, since, seen: 0, before }
    }

    /// Whether a warm-up or a window ends with this many requests.
    pub(crate) fn is_due(&self, requests: u64) -> bool {
        let at = requests % self.played;
        requests > self.seen && (at == 0 || at == self.warm_up)
    }

    /// A warm-up or a window ends; takes its latencies.
    pub(crate) fn see(&mut self, requests: u64, now: Moment, latency: Option<&mut LatencyMeter>) {
        let latency = latency.map(std::mem::take);
        if requests % self.played == 0 {
            let since = self.since;
            let whole = latency.as_ref().and_then(LatencyMeter::whole);
            self.ended.push(WindowFigures {
                programs: now.programs - since.programs,
                erases: now.erases - since.erases,
                written_sectors: now.written_sectors - since.written_sectors,
                answered: whole.map(|whole| (whole.count, now.answered - since.answered)),
                latency: whole.map(|whole| (whole.mean, whole.p99)),
            });
        }
        if let Some(latency) = latency {
            self.before.merge(&latency);
        }
        (self.since, self.seen) = (now, requests);
    }

    /// Gives all requests' latencies back.
    pub(crate) fn end(&mut self, latency: Option<&mut LatencyMeter>) {
        if let Some(latency) = latency {
            self.before.merge(latency);
            *latency = std::mem::take(&mut self.before);
        }
    }

    /// Requests left out after the window with this number, from 0.
    pub(crate) fn jumped_after(&self, window: usize, every: u64) -> u64 {
        let next = if window + 1 == self.ended.len() { self.requests } else { (window as u64 + 1) * every };
        next - window as u64 * every - self.played
    }
}
