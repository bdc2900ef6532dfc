//! A tenant's reservation: the requests and bytes a second that it gets before arbitration gives the rest.
//!
//! ## Idea
//! Each command has a time at which it is due: a period after the one before it, or when it came if none waited then. When the
//! controller takes a command and one is due, the one that was due first goes, whatever the queues' turns are. So
//! reservations that the device cannot meet are met in proportion.
//!
//! ## Differences
//! What a tenant gets in its turns counts for its reservation, and a command that goes first takes no turn. So a tenant that
//! always asks gets the larger one of its reservation and its share. In mClock it is the other way round: a reserved
//! command counts against the share, and one in its turn does not count for the reservation. The sums are the same. A
//! tenant is never ahead by more than a round of the arbiter, so what it got in a quiet time costs it at most a round later.
//!
//! ## References
//! A. Gulati, A. Merchant, P. J. Varman: mClock: Handling throughput variability for hypervisor IO scheduling. OSDI 2010.

use super::limit::check_rates;
use super::{Limit, Pace};
use crate::WorkloadError;
use nandlab_block::{Op, Request};
use nandlab_nand::{Time, SECTOR_BYTES};
use serde::{Deserialize, Serialize};

/// The least that a tenant gets, as long as it asks and the device can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Reserve {
    /// Requests a second, above 0; none are reserved unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_s: Option<f64>,
    /// 10^6 bytes a second that are read or written, above 0; none are reserved unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mb_per_s: Option<f64>,
}

impl Reserve {
    /// # Errors
    /// [`WorkloadError::Option`] with a key below `key`: no rate, a rate outside 0.000001 to 1e12, or one above the limit.
    pub(super) fn check(&self, key: &str, limit: Option<&Limit>) -> Result<(), WorkloadError> {
        check_rates(key, self.requests_per_s, self.mb_per_s)?;
        let most = limit.map_or((None, None), |limit| (limit.requests_per_s, limit.mb_per_s));
        for (name, rate, most) in [("requests_per_s", self.requests_per_s, most.0), ("mb_per_s", self.mb_per_s, most.1)]
        {
            let Some(rate) = rate else { continue };
            if let Some(most) = most.filter(|most| *most < rate) {
                let why = format!("the tenant's limit is {most}, and it cannot get more");
                return Err(WorkloadError::option(&format!("{key}.{name}"), &rate, why));
            }
        }
        Ok(())
    }

    /// What a tenant got of its reservation, up to 1: the smaller one of its two shares.
    pub fn met(&self, requests_per_s: f64, mb_per_s: f64) -> f64 {
        let shares = [(requests_per_s, self.requests_per_s), (mb_per_s, self.mb_per_s)];
        shares.into_iter().filter_map(|(got, least)| Some(got / least?)).fold(1.0, f64::min)
    }
}

impl super::Tenant {
    /// Whether it always has as many commands outstanding as its queues take.
    pub fn always_asks(&self) -> bool {
        self.pace() == Pace::Closed && self.limit.is_none()
    }
}

/// What is due to a tenant, in ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    request_ns: Option<f64>,
    byte_ns: Option<f64>,
    /// Most commands that it is ahead.
    ahead: f64,
    /// When the next command is due by requests and by bytes.
    next: [f64; 2],
}

impl Due {
    /// For an arbiter with at most `turn` commands of a tenant in a round.
    pub(super) fn new(reserve: &Reserve, turn: u32) -> Self {
        Self {
            request_ns: reserve.requests_per_s.map(|rate| 1e9 / rate),
            byte_ns: reserve.mb_per_s.map(|rate| 1e3 / rate),
            ahead: f64::from(turn) + 1.0,
            next: [0.0; 2],
        }
    }

    /// When the next command that waits is due: by the rate that is further behind.
    pub(super) fn at(&self) -> Time {
        let rates = [self.request_ns, self.byte_ns].into_iter().zip(self.next);
        // The conversion saturates: such a time is later than every run.
        rates.filter_map(|(rate, next)| rate.map(|_| next)).fold(f64::INFINITY, f64::min).ceil() as Time
    }

    /// A command came at `now`, and none waited: what was not asked for before is not owed.
    pub(super) fn wake(&mut self, now: Time) {
        self.next = self.next.map(|next| next.max(now as f64));
    }

    /// Whether a command counts for a reserved rate. One that moves no bytes would never be paid for where only bytes are
    /// reserved, and so always go first.
    pub(super) fn counts(&self, request: &Request) -> bool {
        self.request_ns.is_some() || bytes_of(request) > 0
    }

    /// The controller takes a command at `now`.
    pub(super) fn take(&mut self, request: &Request, now: Time) {
        let costs = [self.request_ns, self.byte_ns.map(|ns| ns * bytes_of(request) as f64)];
        for (next, cost) in self.next.iter_mut().zip(costs) {
            let Some(cost) = cost else { continue };
            let most = next.max(now as f64 + self.ahead * cost);
            *next = (*next + cost).min(most);
        }
    }
}

/// Bytes that a command reads or writes.
fn bytes_of(request: &Request) -> u64 {
    let moves = request.op.writes() || request.op == Op::Read;
    if moves {
        u64::from(request.sectors) * u64::from(SECTOR_BYTES)
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sectors: u32) -> Request {
        Request::new(Op::Read, 0, sectors)
    }

    /// 1,000 requests a second: a command is due a millisecond after the one before, however late that one was.
    #[test]
    fn commands_are_due_a_period_apart() {
        let mut due = Due::new(&Reserve { requests_per_s: Some(1000.0), mb_per_s: None }, 1);
        due.take(&read(8), 7_000_000);
        due.take(&read(8), 7_000_000);
        assert_eq!(due.at(), 2_000_000);
        due.wake(3_000_000);
        assert_eq!(due.at(), 3_000_000);
    }

    /// 4.096 MB a second are a command of 8 sectors each millisecond; the rate further behind counts.
    #[test]
    fn bytes_are_due_on_their_own() {
        let mut due = Due::new(&Reserve { requests_per_s: Some(500.0), mb_per_s: Some(4.096) }, 1);
        due.take(&read(8), 0);
        assert_eq!(due.at(), 1_000_000);
        due.take(&read(80), 0);
        assert_eq!(due.at(), 4_000_000);
    }

    #[test]
    fn a_command_without_bytes_has_no_part_in_reserved_bytes() {
        let (bytes, requests) = (Some(4.096), Some(1000.0));
        let of_bytes = Due::new(&Reserve { requests_per_s: None, mb_per_s: bytes }, 1);
        let of_both = Due::new(&Reserve { requests_per_s: requests, mb_per_s: bytes }, 1);
        let flush = Request::new(Op::Flush, 0, 0);
        assert!(of_bytes.counts(&read(8)) && of_both.counts(&flush));
        assert!(!of_bytes.counts(&flush) && !of_bytes.counts(&Request::new(Op::Trim, 0, 8)));
    }

    /// Ten commands at one time leave it two ahead, so the next one is due two periods later.
    #[test]
    fn a_quiet_time_costs_at_most_a_round() {
        let mut due = Due::new(&Reserve { requests_per_s: Some(1000.0), mb_per_s: None }, 1);
        (0..10).for_each(|_| due.take(&read(8), 50_000));
        assert_eq!(due.at(), 2_050_000);
    }
}
