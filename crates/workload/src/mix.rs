//! Common generator options: request count, kinds, lengths and addresses.

use crate::error::WorkloadError;
use crate::placement::Placement;
use crate::size::{share, Size, Sizes};
use crate::{Setting, Workload};
use nandlab_block::{ByteCount, Op, Request};
use nandlab_nand::random::{Random, Stream};
use nandlab_nand::{PlacementId, Time, SECTOR_BYTES};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::Serialize;
use std::fmt;

/// Seconds the requests may span on average: half the run clock's range.
const MAX_SPAN_S: f64 = 2.3e9;

/// The options every generator has.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    /// Requests in all, flushes included.
    pub requests: u64,
    /// Share of reads.
    pub read_share: f64,
    /// Share of trims; the rest are writes.
    pub trim_share: f64,
    /// A flush after this many other requests; 0: none.
    pub flush_every: u64,
    /// The last request is a flush.
    pub flush_at_end: bool,
    /// Request size.
    pub size: Size,
    /// The used part on the device, from its start.
    pub footprint: Footprint,
    /// Requests start at multiples of this.
    pub alignment: ByteCount,
    /// Requests a second with exponentially distributed gaps, for `host.arrival = "recorded"`.
    pub requests_per_s: Option<f64>,
    /// Where the host asks writes to go.
    pub placement: Option<Placement>,
}

/// Makes a generator's `Config`: its own options, and the common ones from [`Mix`].
macro_rules! generator_options {
    ($(#[$doc:meta])* { $($(#[$field_doc:meta])* $field:ident: $type:ty = $default:expr,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct Config {
            $($(#[$field_doc])* pub $field: $type,)*
            /// Requests in all, flushes included.
            pub requests: u64,
            /// Share of reads among the requests, 0 to 1.
            pub read_share: f64,
            /// Share of trims among the requests, 0 to 1; the rest are writes.
            pub trim_share: f64,
            /// A flush after this many other requests; 0: no flushes.
            pub flush_every: u64,
            /// The last request is a flush, so that the time of a run has the programs of what buffers answered before.
            pub flush_at_end: bool,
            /// Size of a request: `"4 KiB"`, a choice `[{ size = "4 KiB", weight = 3 }, ...]`, or a range
            /// `{ min = "4 KiB", max = "64 KiB", step = "4 KiB" }` of equally likely sizes.
            pub size: $crate::Size,
            /// Part of the device that is used, from its start: a share up to 1, or bytes such as `"64 MiB"`.
            pub footprint: $crate::Footprint,
            /// Requests start at multiples of this many bytes.
            pub alignment: $crate::ByteCount,
            /// Mean arrivals a second, with exponentially distributed gaps; for `host.arrival = "recorded"`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub requests_per_s: Option<f64>,
            /// Where the host asks writes to go: a reclaim unit handle such as 5, or a reclaim group and a handle such as
            /// `"1:5"`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub placement: Option<$crate::Placement>,
        }

        impl Default for Config {
            fn default() -> Self {
                let $crate::Mix {
                    requests, read_share, trim_share, flush_every, flush_at_end, size, footprint, alignment, requests_per_s,
                    placement,
                } = $crate::Mix::default();
                Self {
                    $($field: $default,)*
                    requests, read_share, trim_share, flush_every, flush_at_end, size, footprint, alignment, requests_per_s,
                    placement,
                }
            }
        }

        impl Config {
            /// The common options.
            pub fn mix(&self) -> $crate::Mix {
                $crate::Mix {
                    requests: self.requests,
                    read_share: self.read_share,
                    trim_share: self.trim_share,
                    flush_every: self.flush_every,
                    flush_at_end: self.flush_at_end,
                    size: self.size.clone(),
                    footprint: self.footprint,
                    alignment: self.alignment,
                    requests_per_s: self.requests_per_s,
                    placement: self.placement,
                }
            }
        }
    };
}

impl Default for Mix {
    fn default() -> Self {
        Self {
            requests: 100_000,
            read_share: 0.0,
            trim_share: 0.0,
            flush_every: 0,
            flush_at_end: false,
            size: Size::default(),
            footprint: Footprint::Share(1.0),
            alignment: ByteCount(4096),
            requests_per_s: None,
            placement: None,
        }
    }
}

/// Part of the device that a generator uses, from its start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Footprint {
    /// A share of the device, above 0 and up to 1.
    Share(f64),
    /// A number of bytes.
    Bytes(ByteCount),
}

impl Footprint {
    /// Footprint in whole sectors, on a device with `sectors`.
    pub(crate) fn sectors(self, sectors: u64) -> u64 {
        match self {
            Self::Share(share) => (share * sectors as f64).round() as u64,
            Self::Bytes(bytes) => bytes.0 / u64::from(SECTOR_BYTES),
        }
    }
}

impl fmt::Display for Footprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => write!(f, "{share}"),
            Self::Bytes(bytes) => write!(f, "{bytes}"),
        }
    }
}

impl<'de> Deserialize<'de> for Footprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Part;
        impl Visitor<'_> for Part {
            type Value = Footprint;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a share of the device such as 0.5, or bytes such as \"64 MiB\"")
            }
            fn visit_f64<E: de::Error>(self, share: f64) -> Result<Footprint, E> {
                Ok(Footprint::Share(share))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Footprint, E> {
                Ok(if number <= 1 { Footprint::Share(number as f64) } else { Footprint::Bytes(ByteCount(number)) })
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Footprint, E> {
                text.parse().map(Footprint::Bytes).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Part)
    }
}

impl schemars::JsonSchema for Footprint {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Footprint".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["number", "string"], "format": "share or bytes" })
    }
}

impl Mix {
    /// Checks the options without a device.
    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        for (key, value) in [("read_share", self.read_share), ("trim_share", self.trim_share)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(WorkloadError::option(key, &value, "a share is a number from 0 to 1"));
            }
        }
        if self.read_share + self.trim_share > 1.0 {
            let why = format!("with read_share = {} it makes more than all requests", self.read_share);
            return Err(WorkloadError::option("trim_share", &self.trim_share, why));
        }
        if self.alignment.0 == 0 || self.alignment.0 % u64::from(SECTOR_BYTES) != 0 {
            return Err(WorkloadError::option(
                "alignment",
                &self.alignment,
                "it is a number of whole sectors of 512 B, at least one",
            ));
        }
        if let Some(rate) = self.requests_per_s {
            if !(rate.is_finite() && rate > 0.0) {
                return Err(WorkloadError::option("requests_per_s", &rate, "a rate is a number above 0"));
            }
            // Gaps are random, so the clock must hold more than their sum on average.
            if self.requests as f64 / rate > MAX_SPAN_S {
                let why =
                    format!("{} requests would take more than 73 years, which no clock of a run holds", self.requests);
                return Err(WorkloadError::option("requests_per_s", &rate, why));
            }
        }
        let fits = match self.footprint {
            Footprint::Share(share) => share > 0.0 && share <= 1.0,
            Footprint::Bytes(bytes) => bytes.0 > 0,
        };
        if !fits {
            return Err(WorkloadError::option(
                "footprint",
                &self.footprint,
                "it is a share above 0 and up to 1, or a number of bytes",
            ));
        }
        Sizes::new("size", &self.size).map(|_| ())
    }

    /// Whether requests carry their own times.
    pub(crate) fn has_times(&self) -> bool {
        self.requests_per_s.is_some()
    }

    /// Slots with `alignment` bytes in the footprint.
    pub(crate) fn slots(&self, setting: &Setting<'_>) -> Result<u64, WorkloadError> {
        self.check()?;
        let sectors = self.footprint.sectors(setting.sectors);
        let device = ByteCount(setting.sectors * u64::from(SECTOR_BYTES));
        if sectors > setting.sectors {
            let why =
                format!("the device exports {device}: give it a larger device, or a footprint as a share, 1.0 at most");
            return Err(WorkloadError::option("footprint", &self.footprint, why));
        }
        let largest = Sizes::new("size", &self.size)?.largest();
        let slot = self.alignment.0 / u64::from(SECTOR_BYTES);
        let slots = sectors / slot;
        if slots == 0 || u64::from(largest) > sectors {
            let longest = ByteCount(u64::from(largest) * u64::from(SECTOR_BYTES));
            let why = format!(
                "on a device of {device} it has no room for a request of {longest} at a multiple of {}",
                self.alignment
            );
            return Err(WorkloadError::option("footprint", &self.footprint, why));
        }
        Ok(slots)
    }

    /// A generator for this mix over `pattern`'s addresses.
    pub(crate) fn generator<P: Pattern + 'static>(
        &self,
        setting: &Setting<'_>,
        pattern: P,
    ) -> Result<Box<dyn Workload>, WorkloadError> {
        let slots = self.slots(setting)?;
        let read_below = share(self.read_share);
        Ok(Box::new(Generator {
            pattern,
            random: Random::of(setting.seed, Stream::Requests),
            slot_sectors: self.alignment.0 / u64::from(SECTOR_BYTES),
            end: self.footprint.sectors(setting.sectors),
            slots,
            sizes: Sizes::new("size", &self.size)?,
            only_writes: self.read_share + self.trim_share == 0.0,
            read_below,
            trim_below: read_below.saturating_add(share(self.trim_share)),
            flush_every: self.flush_every,
            flush_at_end: self.flush_at_end,
            since_flush: 0,
            left: self.requests,
            requests: self.requests,
            gaps: Gaps::new(self.requests_per_s),
            placement: self.placement.map_or(PlacementId::NONE, Placement::id),
        }))
    }
}

/// A generator's address choice.
pub(crate) trait Pattern: Send {
    /// The slot for a request's start; `fitting` slots leave room for it, and it covers `length` slots.
    fn start(&mut self, random: &mut Random, fitting: u64, length: u64) -> u64;

    /// The placement of a write at the last start, unless it is the mix's.
    fn placement(&self) -> Option<PlacementId> {
        None
    }
}

struct Generator<P> {
    pattern: P,
    random: Random,
    slot_sectors: u64,
    /// First sector after the footprint.
    end: u64,
    slots: u64,
    sizes: Sizes,
    only_writes: bool,
    /// A 64-bit draw below this is a read ...
    read_below: u64,
    /// ... and one below this a trim.
    trim_below: u64,
    flush_every: u64,
    flush_at_end: bool,
    since_flush: u64,
    left: u64,
    requests: u64,
    gaps: Gaps,
    placement: PlacementId,
}

/// When requests come: after exponentially distributed gaps.
pub(crate) struct Gaps {
    /// Mean gap between requests; 0: all come at time 0.
    mean_ns: f64,
    time: Time,
    /// Nanosecond fraction missing in `time`: without it the rate would be too high.
    carried_ns: f64,
}

impl Gaps {
    pub(crate) fn new(requests_per_s: Option<f64>) -> Self {
        Self { mean_ns: requests_per_s.map_or(0.0, |rate| 1e9 / rate), time: 0, carried_ns: 0.0 }
    }

    /// Leaves out requests, with the mean of their gaps; returns the time that passed.
    pub(crate) fn leave_out(&mut self, requests: u64) -> Time {
        let gaps_ns = self.mean_ns * requests as f64;
        self.time += gaps_ns as Time;
        gaps_ns as Time
    }

    /// The next request's time.
    #[inline]
    pub(crate) fn next(&mut self, random: &mut Random) -> Time {
        if self.mean_ns > 0.0 {
            // 1 - unit is above 0, so the logarithm is finite.
            let gap_ns = -libm::log(1.0 - random.unit()) * self.mean_ns + self.carried_ns;
            self.carried_ns = gap_ns.fract();
            self.time += gap_ns as Time;
        }
        self.time
    }
}

impl<P: Pattern> Generator<P> {
    #[inline]
    fn next(&mut self) -> Request {
        let time = self.gaps.next(&mut self.random);
        if self.flush_every > 0 && self.since_flush == self.flush_every {
            self.since_flush = 0;
            return Request { time, ..Request::new(Op::Flush, 0, 0) };
        }
        self.since_flush += 1;
        let op = if self.only_writes { Op::Write } else { self.op() };
        let sectors = self.sizes.draw(&mut self.random);
        let length = u64::from(sectors);
        let (fitting, covered) = if length <= self.slot_sectors && self.slots * self.slot_sectors == self.end {
            (self.slots, 1)
        } else {
            let fitting = (self.end - length) / self.slot_sectors + 1;
            (fitting.min(self.slots), length.div_ceil(self.slot_sectors))
        };
        let slot = self.pattern.start(&mut self.random, fitting, covered);
        let placement = match op {
            Op::Write => self.pattern.placement().unwrap_or(self.placement),
            _ => PlacementId::NONE,
        };
        Request { time, placement, ..Request::new(op, slot * self.slot_sectors, sectors) }
    }

    #[inline]
    fn op(&mut self) -> Op {
        let draw = self.random.next_u64();
        match draw {
            _ if draw < self.read_below => Op::Read,
            _ if draw < self.trim_below => Op::Trim,
            _ => Op::Write,
        }
    }
}

impl<P: Pattern> Workload for Generator<P> {
    fn fill(&mut self, batch: &mut Vec<Request>, room: usize) -> Result<usize, WorkloadError> {
        let count = self.left.min(room as u64) as usize;
        batch.reserve(count);
        for _ in 0..count {
            let request = self.next();
            batch.push(request);
        }
        self.left -= count as u64;
        if let Some(last) = batch.last_mut().filter(|_| self.flush_at_end && self.left == 0 && count > 0) {
            *last = Request { time: last.time, ..Request::new(Op::Flush, 0, 0) };
        }
        Ok(count)
    }

    fn len_hint(&self) -> Option<u64> {
        Some(self.requests)
    }

    fn leave_out(&mut self, requests: u64) -> Option<Time> {
        let requests = requests.min(self.left);
        self.left -= requests;
        Some(self.gaps.leave_out(requests))
    }

    fn sectors_hint(&self) -> Option<u64> {
        Some((self.requests as f64 * self.sizes.mean()) as u64)
    }
}
