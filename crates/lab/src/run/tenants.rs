//! What each tenant asked for, and how long its commands waited.

use super::meter::Meter;
use super::session::Run;
use crate::record::{rate, us, TenantRecord};
use nandlab_block::{Completion, Op, Request};
use nandlab_nand::{Origin, Time, SECTOR_BYTES};
use std::collections::BTreeMap;

/// The tenants' counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct TenantsMeter {
    counts: BTreeMap<Origin, Counts>,
    /// The waits of requests under way, by number from 1.
    waits: BTreeMap<u64, Time>,
}

/// A tenant's counts.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    requests: u64,
    sectors: u64,
    /// Sum over the requests that ended, and their number.
    waited: u128,
    ended: u64,
    last_end: Time,
}

/// Sectors read or written.
fn moved(request: &Request) -> u64 {
    match request.op {
        Op::Read | Op::Write => request.sectors.into(),
        Op::Trim | Op::Flush => 0,
    }
}

impl TenantsMeter {
    pub(super) fn note_wait(&mut self, number: u64, wait: Time) {
        self.waits.insert(number, wait);
    }

    /// Adds requests; `failed` has the indexes of those with lost data.
    pub(super) fn add(&mut self, requests: &[Request], failed: &[usize]) {
        for request in requests {
            let counts = self.counts.entry(request.origin).or_default();
            counts.requests += 1;
            counts.sectors += moved(request);
        }
        for request in failed.iter().map(|&at| &requests[at]) {
            self.counts.entry(request.origin).or_default().sectors -= moved(request);
        }
    }

    /// A request ended; returns its wait.
    pub(super) fn end(&mut self, number: u64, request: &Request, completion: &Completion) -> Time {
        let wait = self.waits.remove(&number).unwrap_or(0);
        let counts = self.counts.entry(request.origin).or_default();
        counts.waited += u128::from(wait);
        counts.ended += 1;
        counts.last_end = counts.last_end.max(completion.done);
        wait
    }
}

impl Run<'_> {
    /// Each tenant's part since `start`, in the experiment's order.
    pub(super) fn tenants(&self, meter: &Meter, start: Time) -> Option<Vec<TenantRecord>> {
        let (found, tenants) = (meter.tenants.as_ref()?, self.experiment.tenants()?);
        let bytes = |sectors: u64| sectors * u64::from(SECTOR_BYTES);
        let all = bytes(found.counts.values().map(|counts| counts.sectors).sum());
        let row = |(origin, name): (Origin, &String)| {
            let counts = found.counts.get(&origin).copied().unwrap_or_default();
            let time = counts.last_end.saturating_sub(start);
            let seconds = time as f64 / 1e9;
            let (latency_us, mean_us) = meter.latency.as_ref().and_then(|latency| latency.of(origin)).unzip();
            TenantRecord {
                name: name.clone(),
                requests: counts.requests,
                bytes: bytes(counts.sectors),
                share: (all > 0).then(|| bytes(counts.sectors) as f64 / all as f64),
                time_us: us(time),
                requests_per_s: rate(counts.requests as f64, seconds),
                mb_per_s: rate(bytes(counts.sectors) as f64 / 1e6, seconds),
                wait_us: (counts.ended > 0).then(|| counts.waited as f64 / counts.ended as f64 / 1000.0),
                mean_us,
                latency_us,
            }
        };
        Some(tenants.asking().map(|(origin, tenant)| row((origin, &tenant.name))).collect())
    }
}
