//! A tenant's limits: a token bucket for its requests, and one for its bytes.
//!
//! A bucket fills at its rate and holds what comes in `burst_us`; a request leaves when no bucket owes anything, and takes its
//! tokens then. The state is the time at which a bucket is full again (the generic cell rate algorithm, ITU-T I.371).

use crate::WorkloadError;
use nandlab_block::Request;
use nandlab_nand::{Time, SECTOR_BYTES};
use serde::{Deserialize, Serialize};

/// The most that a tenant gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limit {
    /// Requests a second, above 0; no limit unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_s: Option<f64>,
    /// 10^6 bytes a second that are read or written, above 0; no limit unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mb_per_s: Option<f64>,
    /// What a tenant did not use for so long it may use at once, us. Default 0.
    pub burst_us: f64,
}

impl Limit {
    /// # Errors
    /// [`WorkloadError::Option`] with a key below `key`.
    pub(super) fn check(&self, key: &str) -> Result<(), WorkloadError> {
        check_rates(key, self.requests_per_s, self.mb_per_s)?;
        if !(0.0..=1e12).contains(&self.burst_us) {
            let why = "it is a time from 0 to 1e12 us";
            return Err(WorkloadError::option(&format!("{key}.burst_us"), &self.burst_us, why));
        }
        Ok(())
    }
}

/// Checks the rates of a limit or a reservation.
///
/// # Errors
/// [`WorkloadError::Option`] with a key below `key`: no rate, or one outside 0.000001 to 1e12.
pub(super) fn check_rates(key: &str, requests_per_s: Option<f64>, mb_per_s: Option<f64>) -> Result<(), WorkloadError> {
    if requests_per_s.is_none() && mb_per_s.is_none() {
        return Err(WorkloadError::option(key, &"{}", "it needs requests_per_s or mb_per_s"));
    }
    for (name, rate) in [("requests_per_s", requests_per_s), ("mb_per_s", mb_per_s)] {
        if let Some(rate) = rate.filter(|rate| !(1e-6..=1e12).contains(rate)) {
            let why = "a rate is a number from 0.000001 to 1e12";
            return Err(WorkloadError::option(&format!("{key}.{name}"), &rate, why));
        }
    }
    Ok(())
}

/// The buckets of a tenant, in ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buckets {
    request_ns: f64,
    byte_ns: f64,
    burst_ns: f64,
    /// When the buckets of requests and bytes are full again.
    full: [f64; 2],
}

impl Buckets {
    pub(super) fn new(limit: &Limit) -> Self {
        Self {
            request_ns: limit.requests_per_s.map_or(0.0, |rate| 1e9 / rate),
            byte_ns: limit.mb_per_s.map_or(0.0, |rate| 1e3 / rate),
            burst_ns: limit.burst_us * 1e3,
            full: [0.0; 2],
        }
    }

    /// The next request leaves no earlier.
    pub(super) fn opens(&self) -> Time {
        // Far beyond every run, and a sum with the time of the begin still fits.
        const LATEST: f64 = (1_u64 << 62) as f64;
        (self.full[0].max(self.full[1]) - self.burst_ns).ceil().clamp(0.0, LATEST) as Time
    }

    /// A request leaves at `now`.
    pub(super) fn take(&mut self, request: &Request, now: Time) {
        let bytes = u64::from(request.sectors) * u64::from(SECTOR_BYTES);
        let moves = request.op.writes() || request.op == nandlab_block::Op::Read;
        let costs = [self.request_ns, if moves { self.byte_ns * bytes as f64 } else { 0.0 }];
        for (full, cost) in self.full.iter_mut().zip(costs) {
            *full = full.max(now as f64) + cost;
        }
    }
}
