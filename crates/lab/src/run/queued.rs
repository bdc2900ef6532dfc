//! Counts of tenants, and the waits of their commands.

use nandlab_block::{Completion, Op, Request};
use nandlab_nand::{Origin, Time};
use std::collections::BTreeMap;

/// The tenants' counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct TenantsMeter {
    pub(super) counts: BTreeMap<Origin, Counts>,
    /// The waits of requests under way, by number from 1.
    waits: BTreeMap<u64, Time>,
}

/// A tenant's counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) requests: u64,
    /// The refused ones among them: zones did not take them.
    pub(super) refused: u64,
    pub(super) sectors: u64,
    /// Sum over the requests that ended, and their number.
    pub(super) waited: u128,
    pub(super) ended: u64,
    pub(super) last_end: Time,
}

/// Sectors read or written.
fn moved(request: &Request) -> u64 {
    match request.op {
        Op::Read | Op::Write | Op::Append => request.sectors.into(),
        Op::Trim | Op::Flush | Op::UnitUpdate | Op::Zone(_) => 0,
    }
}

impl TenantsMeter {
    pub(super) fn note_wait(&mut self, number: u64, wait: Time) {
        self.waits.insert(number, wait);
    }

    pub(super) fn note_refused(&mut self, request: &Request) {
        self.counts.entry(request.origin).or_default().refused += 1;
    }

    /// Adds requests; `failed` has the indexes for requests not carried out.
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

    /// A request ended; returns its wait. A refused one's wait counts in no mean.
    pub(super) fn end(&mut self, number: u64, request: &Request, completion: &Completion, is_refused: bool) -> Time {
        let wait = self.waits.remove(&number).unwrap_or(0);
        let counts = self.counts.entry(request.origin).or_default();
        if !is_refused {
            counts.waited += u128::from(wait);
            counts.ended += 1;
        }
        counts.last_end = counts.last_end.max(completion.done);
        wait
    }
}
