//! A trace summary.

use super::devices::shown;
use super::records::Records;
use super::tally::{plural, Tally};
use super::{Config, FormatName, Took};
use crate::WorkloadError;
use nandlab_block::{Op, Request};
use nandlab_nand::Time;
use std::collections::BTreeMap;
use std::path::Path;

/// Records between two calls to the watch.
const WATCH_EVERY: u64 = 1 << 16;

/// Alignment in sectors for devices laid side by side: 1 MiB, as for partitions.
const DEVICE_ALIGNMENT: u64 = 2048;

/// Most devices in a message.
const LISTED: usize = 24;

/// A device in a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct DeviceSummary {
    /// Its name in the file; empty if the format names none.
    pub name: String,
    /// Requests to it.
    pub requests: u64,
    /// First sector after its highest address.
    pub end_sector: u64,
}

/// What a trace's writes ask for by one placement identifier.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct PlacementSummary {
    /// The handle, such as `5`, or group and handle, such as `1:5`.
    pub placement: String,
    /// Writes with it.
    pub writes: u64,
    /// Their sectors.
    pub written_sectors: u64,
}

/// A trace's contents.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Summary {
    /// How the file is written.
    pub format: FormatName,
    /// Records.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Trims.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
    /// Sectors read.
    pub read_sectors: u64,
    /// Sectors written.
    pub written_sectors: u64,
    /// Sectors trimmed.
    pub trimmed_sectors: u64,
    /// First sector after the highest address on any device.
    pub end_sector: u64,
    /// Whether a request names a zone by its first sector.
    #[serde(skip)]
    pub has_zones: bool,
    /// Sectors in the longest read or write.
    pub longest: u32,
    /// The first record's time, in nanoseconds.
    pub first_ns: Time,
    /// The last record's time, in nanoseconds.
    pub last_ns: Time,
    /// The devices by first occurrence.
    pub devices: Vec<DeviceSummary>,
    /// The placement identifiers of writes, by group and handle; empty if no write has one.
    pub placements: Vec<PlacementSummary>,
    /// Things ignored or changed during reading.
    pub tally: Tally,
    /// The same in sentences, with the reason for the format.
    pub notices: Vec<String>,
    /// Further parts of records too long for one request.
    #[serde(skip)]
    pub(crate) parts: u64,
    /// Why there is no request, if so.
    #[serde(skip)]
    pub(crate) no_request: Option<String>,
}

impl Summary {
    /// Reads `records` to their end; `also` sees each with its device number and duration.
    ///
    /// # Errors
    /// As the records; [`WorkloadError::Stopped`] if `watch` returns `false`.
    pub fn of(
        records: &mut Records,
        watch: &(dyn Fn(u64) -> bool + Sync),
        mut also: impl FnMut(&Request, u32, Option<Took>),
    ) -> Result<Self, WorkloadError> {
        let mut sum = Self { format: records.format(), ..Self::default() };
        let mut placed = BTreeMap::new();
        while let Some((request, device)) = records.next_request()? {
            if sum.requests % WATCH_EVERY == 0 && !watch(sum.requests) {
                return Err(WorkloadError::Stopped);
            }
            if request.placement.is_some() {
                let (writes, sectors) = placed.entry(request.placement).or_insert((0, 0));
                *writes += u64::from(request.op == Op::Write && !records.is_rest());
                *sectors += u64::from(request.sectors);
            }
            if records.is_rest() {
                sum.parts += 1;
                sum.add_part(&request, device);
            } else {
                sum.add(&request, device);
            }
            also(&request, device, records.took());
        }
        // Devices without a played request are known by name, too.
        sum.devices.resize_with(records.devices().len(), DeviceSummary::default);
        for (number, device) in sum.devices.iter_mut().enumerate() {
            device.name = shown(records.devices().name(number as u32));
        }
        sum.placements = placed
            .into_iter()
            .map(|(placement, (writes, written_sectors))| PlacementSummary {
                placement: crate::placement::text(placement),
                writes,
                written_sectors,
            })
            .collect();
        sum.tally = records.tally();
        sum.notices = records.notices();
        sum.no_request = (sum.requests == 0).then(|| records.no_request());
        Ok(sum)
    }

    #[inline]
    fn add(&mut self, request: &Request, device: u32) {
        match request.op {
            Op::Read => self.reads += 1,
            Op::Write | Op::Append => self.writes += 1,
            Op::Trim => self.trims += 1,
            Op::Flush => self.flushes += 1,
            Op::UnitUpdate | Op::Zone(_) => {}
        }
        self.has_zones |= matches!(request.op, Op::Append | Op::Zone(_));
        if self.requests == 0 {
            self.first_ns = request.time;
        }
        self.requests += 1;
        self.add_part(request, device);
        self.devices[device as usize].requests += 1;
    }

    /// Adds a request's sectors, or a further part's.
    #[inline]
    fn add_part(&mut self, request: &Request, device: u32) {
        let sectors = u64::from(request.sectors);
        match request.op {
            Op::Read => self.read_sectors += sectors,
            Op::Write | Op::Append => self.written_sectors += sectors,
            Op::Trim => self.trimmed_sectors += sectors,
            Op::Flush | Op::UnitUpdate | Op::Zone(_) => {}
        }
        // A change of a zone names a sector, and has none.
        let end = request.end() + u64::from(matches!(request.op, Op::Zone(_)));
        self.end_sector = self.end_sector.max(end);
        if request.op != Op::Trim {
            self.longest = self.longest.max(request.sectors);
        }
        self.last_ns = request.time;
        let number = device as usize;
        if self.devices.len() <= number {
            self.devices.resize_with(number + 1, DeviceSummary::default);
        }
        self.devices[number].end_sector = self.devices[number].end_sector.max(end);
    }

    /// A repetition's delay: the trace's span and one mean gap.
    pub(crate) fn period(&self) -> Time {
        let span = self.last_ns - self.first_ns;
        span + span / self.requests.saturating_sub(1).max(1)
    }

    /// Each device's first sector side by side, and the first one behind them all.
    pub fn side_by_side(&self) -> (Vec<u64>, u64) {
        let mut next = 0;
        let starts = self.devices.iter().map(|device| {
            let start = next;
            next += device.end_sector.next_multiple_of(DEVICE_ALIGNMENT);
            start
        });
        let starts: Vec<u64> = starts.collect();
        let last = self.devices.last().map_or(0, |device| device.end_sector);
        (starts.clone(), starts.last().map_or(0, |start| start + last))
    }

    pub(crate) fn check_requests(&self, config: &Config, base: &Path) -> Result<(), WorkloadError> {
        let Some(message) = &self.no_request else { return Ok(()) };
        self.check_devices(config, base)?;
        Err(WorkloadError::File { file: config.source(base), message: message.clone() })
    }

    pub(crate) fn check_devices(&self, config: &Config, base: &Path) -> Result<(), WorkloadError> {
        let file = config.source(base);
        let list = |devices: &mut dyn Iterator<Item = &DeviceSummary>| {
            let names: Vec<String> = devices
                .map(|one| format!("{} ({})", in_quotes(&one.name), plural(one.requests, "request", "requests")))
                .collect();
            let more = names.len().saturating_sub(LISTED);
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{}{rest}", names[..names.len() - more].join(", "))
        };
        if let (Some(wanted), 0) = (&config.device, self.requests) {
            // Other devices' requests were not counted.
            let names: Vec<&str> = self.devices.iter().map(|device| device.name.as_str()).collect();
            let known = if names.is_empty() { String::new() } else { format!(" (it has {})", quoted(&names)) };
            let message = format!("the trace has no request of a device {}{known}", in_quotes(wanted));
            return Err(WorkloadError::File { file, message });
        }
        let devices = self.devices.iter().filter(|device| device.requests > 0);
        if devices.clone().count() < 2 || config.side_by_side || config.device.is_some() {
            return Ok(());
        }
        let count = devices.clone().count();
        let example = devices.clone().next().map_or("", |device| device.name.as_str());
        let message = format!(
            "the trace has {count} devices: {}. Set workload.trace.device to one of them, such as {}, or \
             workload.trace.side_by_side = true to lay one behind the other",
            list(&mut devices.into_iter()),
            in_quotes(example),
        );
        Err(WorkloadError::File { file, message })
    }
}

/// A name as a message has it: any byte may stand in a trace, and a terminal would obey some.
fn in_quotes(name: &str) -> String {
    format!("\"{}\"", name.escape_debug())
}

fn quoted(names: &[&str]) -> String {
    let listed: Vec<String> = names.iter().take(LISTED).map(|name| in_quotes(name)).collect();
    let more = if names.len() > LISTED { format!(" and {} more", names.len() - LISTED) } else { String::new() };
    format!("{}{more}", listed.join(", "))
}
