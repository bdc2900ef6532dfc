//! Work on a trace without playing it: its contents, its first requests, conversion to another format,
//! extraction of a part.

pub(crate) mod heat;
mod info;
mod profile;

pub use info::{info, InfoOptions};
pub use profile::{profile, ProfileOptions};

use crate::config::{Experiment, Format};
use crate::error::{ConfigError, LabError};
use crate::json;
use flate2::write::GzEncoder;
use flate2::Compression;
use nandlab_block::Request;
pub use nandlab_workload::trace::Sharing;
use nandlab_workload::trace::{Config, Output, OutputFormat, Records, Summary};
use nandlab_workload::{Placement, WorkloadConfig, WorkloadError};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Progress callback: receives the number of records so far; false stops the work.
pub type Watch<'a> = &'a (dyn Fn(u64) -> bool + Sync);

/// Options of the trace at `path`, from overrides such as `format=spc` or `columns.time=1`.
///
/// # Errors
/// [`LabError::Config`], as in an experiment.
pub fn options(path: &str, sets: &[String]) -> Result<Config, LabError> {
    let text = serde_json::json!({ "workload": { "trace": { "path": path } }, "ftl": { "page": {} } }).to_string();
    let sets: Vec<String> = sets.iter().map(|set| format!("workload.trace.{set}")).collect();
    let experiment = Experiment::parse(&text, Format::Json, "", Path::new(""), &sets)?;
    match experiment.workload {
        WorkloadConfig::Trace(config) => Ok(config),
        _ => unreachable!("the text above has a trace"),
    }
}

fn explained(error: WorkloadError) -> LabError {
    match LabError::from_workload(error, "trace") {
        // The trace stands alone, so there is no experiment key to show.
        LabError::Trace(mut wrong) => {
            wrong.key = None;
            LabError::Trace(wrong)
        }
        other => other,
    }
}

/// Part of a trace; times are seconds after the first request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Part {
    /// Requests skipped at the start.
    pub skip: u64,
    /// Most requests to take.
    pub count: Option<u64>,
    /// Start time, inclusive.
    pub from_s: Option<f64>,
    /// End time, exclusive.
    pub to_s: Option<f64>,
}

impl Part {
    /// Parses a part from a JSON object with these keys.
    ///
    /// # Errors
    /// [`LabError::Config`].
    pub fn from_json(text: &str) -> Result<Self, LabError> {
        serde_json::from_str(text).map_err(|error| wrong(format!("no part of a trace: {error}")))
    }
}

fn wrong(message: String) -> LabError {
    ConfigError { message, ..Default::default() }.into()
}

/// The output format with this name.
///
/// # Errors
/// [`LabError::Config`].
pub fn output_format(name: &str) -> Result<OutputFormat, LabError> {
    let known = serde_json::from_value(name.into());
    known.map_err(|_| wrong(format!("traces are written as native, csv or fio, not as {name:?}")))
}

/// Iterator over a part's requests.
struct Selected<'a> {
    records: Records,
    part: &'a Part,
    first_ns: Option<u64>,
    seen: u64,
    given: u64,
}

impl<'a> Selected<'a> {
    fn new(config: &Config, base: &Path, part: &'a Part) -> Result<Self, LabError> {
        let records = config.records(base).map_err(explained)?;
        Ok(Self { records, part, first_ns: None, seen: 0, given: 0 })
    }

    fn next(&mut self) -> Result<Option<(Request, u32)>, LabError> {
        if self.part.count.is_some_and(|count| self.given >= count) {
            return Ok(None);
        }
        while let Some((request, device)) = self.records.next_request().map_err(explained)? {
            let first = *self.first_ns.get_or_insert(request.time);
            let since_s = (request.time - first) as f64 / 1e9;
            if self.part.to_s.is_some_and(|to| since_s >= to) {
                return Ok(None);
            }
            self.seen += 1;
            if self.seen > self.part.skip && self.part.from_s.is_none_or(|from| since_s >= from) {
                self.given += 1;
                return Ok(Some((request, device)));
            }
        }
        Ok(None)
    }
}

#[derive(Serialize)]
struct Shown {
    time_us: f64,
    op: &'static str,
    sector: u64,
    sectors: u32,
    origin: String,
    /// Only if the request has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    placement: Option<String>,
    device: String,
}

/// The first `count` requests of a part, as JSON: `format`, `requests` and `notices`.
///
/// # Errors
/// [`LabError`]: the options, the file, a record.
pub fn head(config: &Config, base: &Path, part: &Part) -> Result<String, LabError> {
    let mut selected = Selected::new(config, base, part)?;
    let mut rows = Vec::new();
    while let Some((request, device)) = selected.next()? {
        rows.push(Shown {
            time_us: request.time as f64 / 1e3,
            op: request.op.name(),
            sector: request.sector,
            sectors: request.sectors,
            origin: request.origin.name(),
            placement: Placement::try_from(request.placement).ok().map(|placement| placement.to_string()),
            device: String::from_utf8_lossy(selected.records.device_name(device)).into_owned(),
        });
    }
    if selected.seen == 0 {
        let summary = config.summary(base, &|_| true).map_err(explained)?;
        config.check_requests(base, &summary).map_err(explained)?;
    }
    let (format, notices) = (selected.records.format(), selected.records.notices());
    Ok(serde_json::json!({ "format": format, "requests": rows, "notices": notices }).to_string())
}

#[derive(Serialize)]
struct Converted {
    from: &'static str,
    to: OutputFormat,
    requests: u64,
    /// Sentences about data without a place in the new format.
    dropped: Vec<String>,
    notices: Vec<String>,
}

/// Writes a trace's part into the file `to`, compressed with gzip if `is_gzip`. Returns a JSON summary.
///
/// # Errors
/// [`LabError`]: the options, the file, a record, or a part without a request; also a write error, which may leave
/// a partial file.
pub fn convert(
    config: &Config,
    base: &Path,
    part: &Part,
    to: (&Path, OutputFormat, bool),
    watch: Watch<'_>,
) -> Result<String, LabError> {
    let (path, format, is_gzip) = to;
    // The caller knows the user's name for the file.
    let io = |error: std::io::Error| LabError::Io(format!("the new trace cannot be written: {error}"));
    let stopped = || explained(WorkloadError::Stopped);
    // Some formats list the devices in their header.
    let mut records = config.records(base).map_err(explained)?;
    let summary = Summary::of(&mut records, watch, |_, _, _| {}).map_err(explained)?;
    let names: Vec<Vec<u8>> =
        (0..summary.devices.len() as u32).map(|number| records.device_name(number).to_vec()).collect();
    config.check_requests(base, &summary).map_err(explained)?;
    let mut selected = Selected::new(config, base, part)?;
    let mut next = selected.next()?;
    if next.is_none() {
        let span_s = (summary.last_ns - summary.first_ns) as f64 / 1e9;
        let noun = if summary.requests == 1 { "request" } else { "requests" };
        let what = format!("the trace has {} {noun} in {span_s} s", summary.requests);
        return Err(wrong(format!("no request is in this part, and nothing was written: {what}")));
    }
    let file = BufWriter::with_capacity(1 << 18, File::create(path).map_err(io)?);
    let sink: Box<dyn Write> =
        if is_gzip { Box::new(GzEncoder::new(file, Compression::default())) } else { Box::new(file) };
    let mut output = Output::new(format, sink, &names, !summary.placements.is_empty()).map_err(io)?;
    while let Some((request, device)) = next {
        if selected.given % (1 << 16) == 1 && !watch(selected.given) {
            return Err(stopped());
        }
        output.write(&request, selected.records.device_name(device)).map_err(io)?;
        next = selected.next()?;
    }
    let (mut sink, dropped) = output.finish().map_err(io)?;
    sink.flush().map_err(io)?;
    drop(sink);
    let mut notices = selected.records.notices();
    if format == OutputFormat::Fio {
        notices.push("the times of the log are microseconds, as fio writes and replays them".to_owned());
    }
    let done =
        Converted { from: selected.records.format().name(), to: format, requests: selected.given, dropped, notices };
    Ok(json::text(&done))
}
