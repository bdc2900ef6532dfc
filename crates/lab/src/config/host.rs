//! How the host's requests arrive, and additional outputs.

use super::sample::{check as check_sample, Sampling};
use super::tree::{KeyError, Refuse};
use super::{Experiment, Model};
use nandlab_block::{ByteCount, Queues};
use nandlab_fs::{FsConfig, Over};
use nandlab_nand::Time;
use nandlab_workload::Kind;
use serde::{Deserialize, Serialize};

/// Most outstanding requests: more than any interface allows.
const MAX_QUEUE_DEPTH: u32 = 65_536;
/// One second: more than any firmware needs for a request.
const MAX_FIRMWARE_US: f64 = 1e6;
/// Longest think time: an hour.
const MAX_THINK_TIME_US: f64 = 3.6e9;

/// Request arrival.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Host {
    /// `closed`: the next request comes when an outstanding one is done; `recorded`: at its own time.
    pub arrival: Arrival,
    /// Outstanding requests in a closed loop.
    pub queue_depth: u32,
    /// Firmware time per request before its flash operations start, in microseconds: one processor, one request
    /// at a time. The flash times exclude it.
    #[serde(skip_serializing_if = "is_nothing")]
    #[schemars(extend("default" = 0.0))]
    pub firmware_us: f64,
    /// Additional firmware time per map entry needed by the request, in microseconds; the FTL gives their
    /// number.
    #[serde(skip_serializing_if = "is_nothing")]
    #[schemars(extend("default" = 0.0))]
    pub lookup_us: f64,
    /// Time from a request's end until the next one in its slot in a closed loop, us.
    #[serde(skip_serializing_if = "is_nothing")]
    #[schemars(extend("default" = 0.0))]
    pub think_time_us: f64,
    /// Whether to break down the latency of the longest request (`longest_request.parts`); it slows a run by
    /// some per cent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("default" = false))]
    pub explain_longest: bool,
    /// Bytes per day written by the host over the device's life, for years in `lifetime`; it changes no
    /// request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daily: Option<ByteCount>,
    /// Transactions between samples in `fs.samples`, for a file workload; 0: enough for at most 100 samples.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(extend("default" = 0))]
    pub sample_transactions: u64,
    /// Whether these samples include each single block's live pages.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("default" = false))]
    pub sample_blocks: bool,
    /// How the controller takes commands from the submission queues of tenants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<Queues>,
    /// A long run by windows, with jumps between them, in place of the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sampling>,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            arrival: Arrival::Closed,
            queue_depth: 1,
            think_time_us: 0.0,
            firmware_us: 0.0,
            lookup_us: 0.0,
            explain_longest: false,
            daily: None,
            sample_transactions: 0,
            sample_blocks: false,
            queues: None,
            sample: None,
        }
    }
}

impl Host {
    /// A slot's think time, in whole nanoseconds.
    pub(crate) fn think_ns(&self) -> Time {
        (self.think_time_us * 1000.0).round() as Time
    }

    /// Firmware time per request, in whole nanoseconds.
    pub(crate) fn firmware_ns(&self) -> Time {
        (self.firmware_us * 1000.0).round() as Time
    }

    /// Firmware time per map entry, in whole nanoseconds.
    pub(crate) fn lookup_ns(&self) -> Time {
        (self.lookup_us * 1000.0).round() as Time
    }
}

fn is_nothing(amount: &f64) -> bool {
    *amount == 0.0
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Request arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrival {
    /// When an earlier one is done.
    #[default]
    Closed,
    /// At the workload's times.
    Recorded,
}

impl Experiment {
    /// Checks the arrival options; `refuse` takes a key, the given value, and why it cannot work.
    pub(super) fn check_host(&self, refuse: &Refuse<'_>) -> Result<(), KeyError> {
        let Host { arrival, queue_depth, think_time_us, sample_transactions, sample_blocks, .. } = self.host;
        self.check_host_aids(refuse)?;
        if sample_transactions > 0 && self.fs.is_none() {
            let why = "it counts the transactions of a workload of files, and this one has none";
            return refuse("host.sample_transactions", &sample_transactions, why);
        }
        if sample_blocks && !self.is_bare() {
            let why = "only a file system on bare flash knows the blocks, and this experiment has none";
            return refuse("host.sample_blocks", &sample_blocks, why);
        }
        if !(1..=MAX_QUEUE_DEPTH).contains(&queue_depth) {
            return refuse("host.queue_depth", &queue_depth, "1 to 65536 requests can be outstanding");
        }
        self.check_queues(refuse)?;
        check_sample(self, refuse)?;
        if self.paces_itself() {
            self.check_paced(refuse)?;
        }
        if arrival == Arrival::Recorded && queue_depth != 1 {
            let why = "it counts only with host.arrival = \"closed\"; recorded requests come at their own times";
            return refuse("host.queue_depth", &queue_depth, why);
        }
        if !(0.0..=MAX_THINK_TIME_US).contains(&think_time_us) {
            return refuse("host.think_time_us", &think_time_us, "it is a time from 0 to 3600000000 us, an hour");
        }
        if arrival == Arrival::Recorded && think_time_us > 0.0 {
            let why = "it counts only with host.arrival = \"closed\"; recorded requests come at their own times";
            return refuse("host.think_time_us", &think_time_us, why);
        }
        if think_time_us > 0.0 && !matches!(self.workload.kind(), Kind::Requests(_)) {
            let why = "the requests of an index or a file system follow one another; leave it out";
            return refuse("host.think_time_us", &think_time_us, why);
        }
        Ok(())
    }

    /// Whether the workload sets its requests' times itself.
    pub(crate) fn paces_itself(&self) -> bool {
        matches!(self.workload.kind(), Kind::Requests(options) if options.paces_itself())
    }

    /// Refuses host options set by a self-paced workload's own jobs.
    fn check_paced(&self, refuse: &Refuse<'_>) -> Result<(), KeyError> {
        let Host { arrival, queue_depth, think_time_us, .. } = self.host;
        if arrival == Arrival::Recorded {
            let why =
                "each job asks again when its earlier requests are done; leave it out, and set rate_iops in the job";
            return refuse("host.arrival", &"\"recorded\"", why);
        }
        if queue_depth != 1 {
            return refuse("host.queue_depth", &queue_depth, "each job has its own: set iodepth there");
        }
        if think_time_us > 0.0 {
            return refuse("host.think_time_us", &think_time_us, "each job has its own: set thinktime there");
        }
        Ok(())
    }

    /// Refuses impossible firmware times, and firmware times without requests.
    fn check_firmware(&self, refuse: &Refuse<'_>) -> Result<(), KeyError> {
        let Host { firmware_us, lookup_us, .. } = self.host;
        for (key, us) in [("host.firmware_us", firmware_us), ("host.lookup_us", lookup_us)] {
            if !(0.0..=MAX_FIRMWARE_US).contains(&us) {
                return refuse(key, &us, "it is a time from 0 to 1000000 microseconds");
            }
            if us > 0.0 && !matches!(self.workload.kind(), Kind::Requests(_)) {
                let why = "it is added to requests that come by themselves, and a file system or an index makes these";
                return refuse(key, &us, why);
            }
        }
        if lookup_us > 0.0 && self.buffer.is_some() {
            let why = "a buffer sends the FTL other requests than those of the host; leave it or [buffer] out";
            return refuse("host.lookup_us", &lookup_us, why);
        }
        Ok(())
    }

    /// Checks the run's additional outputs.
    fn check_host_aids(&self, refuse: &Refuse<'_>) -> Result<(), KeyError> {
        let Host { daily, explain_longest, .. } = self.host;
        let over = self.fs.as_ref().map_or(Over::Device, FsConfig::over);
        self.check_firmware(refuse)?;
        if explain_longest && (self.device.model == Model::Counting || over != Over::Device) {
            let why = "it takes a device that keeps time, below an FTL; leave it out";
            return refuse("host.explain_longest", &explain_longest, why);
        }
        if let Some(none) = daily.filter(|daily| daily.0 == 0) {
            return refuse("host.daily", &none, "a device that is never written lasts for ever; leave it out");
        }
        Ok(())
    }
}
