//! Measures running requests.

use crate::latency::LatencyMeter;
use crate::record::{HostCounts, Longest, Worn};
use crate::run::queued::TenantsMeter;
use crate::run::series::Series;
use crate::run::windows::Windows;
use crate::stack::Timeline;
use nandlab_block::{Completion, Ended, HeldUp, Op, PathUse, PathWaits, Request};
use nandlab_ftl::BlockState;
use nandlab_nand::{Geometry, Time};
use std::collections::BTreeSet;

/// Counts, latencies and time series of a run.
#[derive(Clone)]
pub(crate) struct Meter {
    pub(crate) host: HostCounts,
    /// Requests refused by zones: they count in no rate and no latency.
    pub(crate) refused: u64,
    /// Writes with a placement identifier.
    pub(crate) placed_writes: u64,
    /// Numbers from 1 for refused requests not ended yet.
    refusals: BTreeSet<u64>,
    pub(crate) latency: Option<LatencyMeter>,
    pub(crate) series: Series,
    /// What the lifetime is told from.
    pub(crate) worn: Worn,
    /// Pages read by the host; a request that touches three pages counts three.
    pub(crate) page_reads: u64,
    /// log2(sectors per page).
    page_shift: u32,
    /// First and last request time in a recording, ns, whenever the requests came here.
    pub(crate) own_times: Option<(Time, Time)>,
    /// Arrival pace, for requests with their own times.
    pub(crate) pace: Option<Pace>,
    /// Whether latencies come later, from [`Self::add_ended`].
    pub(crate) by_events: bool,
    /// The host's clock: when the last of the requests so far was answered, on a device with time.
    pub(crate) answered: Time,
    /// Arrivals and answers as events, each the sum of their times, ns: the area below the number of requests under way is
    /// the difference, whichever answer belongs to which arrival.
    pub(crate) events: (u128, u128),
    /// The longest request, if any took time.
    pub(crate) longest: Option<Longest>,
    /// How long the parts between host and FTL worked, if they take time.
    pub(crate) path: Option<PathUse>,
    /// How long requests waited for them.
    pub(crate) path_waits: PathWaits,
    /// The longest request's wait for space in the controller's write buffer.
    pub(crate) held_up: HeldUp,
    /// The tenants' part in it, if the workload has tenants.
    pub(crate) tenants: Option<TenantsMeter>,
    /// Windows of a run with jumps.
    pub(crate) windows: Option<Box<Windows>>,
    /// Hears of each request.
    pub(crate) timeline: Option<Timeline>,
}

/// First and last arrival, and the last request's end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// Arrival of the first request, ns.
    pub first: Time,
    /// Arrival of the last request, ns.
    pub last: Time,
    /// Completion of the last request to end, ns.
    pub done: Time,
}

impl Meter {
    /// For about `total` requests.
    pub(crate) fn new(total: u64, keeps_time: bool, geometry: &Geometry) -> Self {
        let sectors_per_page = geometry.sectors_per_page();
        Self {
            host: HostCounts::default(),
            refused: 0,
            placed_writes: 0,
            refusals: BTreeSet::new(),
            latency: keeps_time.then(LatencyMeter::default),
            series: Series::new(total, keeps_time, sectors_per_page),
            worn: Worn::default(),
            page_reads: 0,
            page_shift: sectors_per_page.trailing_zeros(),
            own_times: None,
            pace: None,
            by_events: false,
            answered: 0,
            events: (0, 0),
            longest: None,
            path: None,
            path_waits: PathWaits::default(),
            held_up: HeldUp::default(),
            tenants: None,
            windows: None,
            timeline: None,
        }
    }

    pub(crate) fn sectors_per_page(&self) -> u32 {
        1 << self.page_shift
    }

    /// Forgets all measurements.
    pub(crate) fn restart(&mut self) {
        self.host = HostCounts::default();
        (self.refused, self.placed_writes, self.refusals) = (0, 0, BTreeSet::new());
        self.latency = self.latency.take().map(|_| LatencyMeter::default());
        self.series.restart();
        self.worn = Worn::default();
        self.page_reads = 0;
        self.own_times = None;
        self.longest = None;
        (self.answered, self.events) = (0, (0, 0));
        self.tenants = self.tenants.take().map(|_| TenantsMeter::default());
    }

    /// Notes the wear at this moment: pages worn since the start, valid pages, and the P/E cycles of each block.
    pub(crate) fn see_wear(&mut self, pages: u64, blocks: &[BlockState], pe_cycles: &[u32]) {
        let valid = blocks.iter().map(|block| u64::from(block.valid)).sum();
        self.worn.see(self.host.written_sectors, pages, valid, pe_cycles);
    }

    /// Updates the pace from requests that do not wait for each other.
    pub(crate) fn add_pace(&mut self, done: &[Completion]) {
        let (Some(first), Some(last)) = (done.first(), done.last()) else { return };
        let end = if self.by_events { last.arrival } else { last.done };
        let pace = self.pace.get_or_insert(Pace { first: first.arrival, last: last.arrival, done: end });
        pace.last = last.arrival;
        if !self.by_events {
            pace.done = done.iter().fold(pace.done, |latest, one| latest.max(one.done));
        }
    }

    /// The next request stood so long in a submission queue.
    pub(crate) fn note_wait(&mut self, wait: Time) {
        if let Some(tenants) = &mut self.tenants {
            tenants.note_wait(self.host.requests + 1, wait);
        }
    }

    /// Notes requests refused by zones, before [`Self::add`] gets them.
    #[inline]
    pub(crate) fn note_refused(&mut self, requests: &[Request], refused: &[usize]) {
        for &at in refused {
            self.refused += 1;
            self.refusals.insert(self.host.requests + 1 + at as u64);
            if let Some(tenants) = &mut self.tenants {
                tenants.note_refused(&requests[at]);
            }
        }
    }

    /// Adds finished requests; `failed` has the indexes for requests not carried out.
    #[inline]
    pub(crate) fn add(&mut self, requests: &[Request], done: &[Completion], failed: &[usize]) {
        let before = self.host.requests;
        if let (Some(first), Some(last)) = (requests.first(), requests.last()) {
            self.own_times = Some((self.own_times.map_or(first.time, |(begin, _)| begin), last.time));
        }
        let host = &mut self.host;
        host.requests += requests.len() as u64;
        for request in requests {
            let sectors = u64::from(request.sectors);
            match request.op {
                Op::Write | Op::Append => {
                    self.placed_writes += u64::from(request.placement.is_some());
                    (host.writes, host.written_sectors) = (host.writes + 1, host.written_sectors + sectors);
                    let inside = (1 << self.page_shift) - 1;
                    host.partial_writes += u64::from((request.sector | request.end()) & inside != 0);
                    host.unaligned_writes += u64::from(request.sector & inside != 0);
                }
                Op::Read => {
                    (host.reads, host.read_sectors) = (host.reads + 1, host.read_sectors + sectors);
                    self.page_reads +=
                        request.end().div_ceil(1 << self.page_shift) - (request.sector >> self.page_shift);
                }
                Op::Trim => (host.trims, host.trimmed_sectors) = (host.trims + 1, host.trimmed_sectors + sectors),
                Op::Flush => host.flushes += 1,
                Op::UnitUpdate | Op::Zone(_) => {}
            }
        }
        for request in failed.iter().map(|&at| &requests[at]) {
            let sectors = u64::from(request.sectors);
            match request.op {
                Op::Write | Op::Append => host.written_sectors -= sectors,
                Op::Read => host.read_sectors -= sectors,
                Op::Trim => host.trimmed_sectors -= sectors,
                Op::Flush | Op::UnitUpdate | Op::Zone(_) => {}
            }
        }
        if let Some(tenants) = &mut self.tenants {
            tenants.add(requests, failed);
        }
        if self.latency.is_none() {
            return;
        }
        self.events.0 += done.iter().map(|one| u128::from(one.arrival)).sum::<u128>();
        if !self.by_events {
            for (at, (request, completion)) in requests.iter().zip(done).enumerate() {
                self.add_latency(before + at as u64 + 1, request, completion);
            }
        }
    }

    /// Adds the latencies of requests that ended, on a device that follows events.
    pub(crate) fn add_ended(&mut self, ended: &[Ended]) {
        for one in ended {
            self.add_latency(one.number + 1, &one.request, &one.completion);
            if let Some(pace) = &mut self.pace {
                pace.done = pace.done.max(one.completion.done);
            }
        }
    }

    /// The mean number of requests under way in `time`; `None` where that is nothing.
    pub(crate) fn in_flight(&self, time: Time) -> Option<f64> {
        let (arrivals, answers) = self.events;
        (time > 0).then(|| (answers - arrivals) as f64 / time as f64)
    }

    /// Adds a latency, with the wait in a submission queue if there are tenants.
    #[inline]
    fn add_latency(&mut self, number: u64, request: &Request, completion: &Completion) {
        if self.tenants.is_some() {
            return self.add_latency_of_tenant(number, request, completion);
        }
        self.add_latency_alone(number, request, completion);
    }

    #[cold]
    fn add_latency_of_tenant(&mut self, number: u64, request: &Request, completion: &Completion) {
        let Some(tenants) = self.tenants.as_mut().filter(|_| self.latency.is_some()) else { return };
        let wait = tenants.end(number, request, completion, self.refusals.contains(&number));
        self.events.0 -= u128::from(wait);
        let completion = Completion { arrival: completion.arrival - wait, ..*completion };
        self.add_latency_alone(number, request, &completion);
    }

    #[inline]
    fn add_latency_alone(&mut self, number: u64, request: &Request, completion: &Completion) {
        let Some(latency) = &mut self.latency else { return };
        self.answered = self.answered.max(completion.done);
        self.events.1 += u128::from(completion.done);
        if let Some(timeline) = &self.timeline {
            timeline.request(number, request, completion);
        }
        if !self.refusals.is_empty() && self.refusals.remove(&number) {
            return;
        }
        if latency.add(request, completion) {
            let one = Longest { number, request: *request, completion: *completion };
            let is_longest = self.longest.is_none_or(|longest| one.latency() > longest.latency());
            self.longest = if is_longest { Some(one) } else { self.longest };
        }
    }
}
