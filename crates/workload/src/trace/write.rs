//! Writes traces: native, csv, and fio's I/O logs.

use super::csv::Optional;
use super::devices::shown;
use super::native;
use nandlab_block::{Op, Request};
use nandlab_nand::Origin;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputFormat {
    /// The project's own binary format.
    Native,
    /// The project's own text format.
    Csv,
    /// fio's I/O log, version 3.
    Fio,
}

/// A trace being written.
#[derive(Debug)]
pub struct Output<W: Write>(Kind<W>);

#[derive(Debug)]
enum Kind<W: Write> {
    Native(native::Writer<W>),
    Csv { out: W, has: Optional },
    Fio(Fio<W>),
}

#[derive(Debug)]
struct Fio<W: Write> {
    out: W,
    /// The file name by device name; no two are equal.
    files: BTreeMap<Vec<u8>, Vec<u8>>,
    first: Option<u64>,
    /// Requests whose origin, placement, or time below a microsecond the format cannot hold.
    origins: u64,
    placements: u64,
    times: u64,
}

/// The file in an I/O log if the trace names no device.
const NO_NAME: &[u8] = b"device";

/// The longest name fio reads, in bytes, with room for a number.
const LONGEST_NAME: usize = 240;

/// Renamed devices listed.
const LISTED: usize = 8;

impl<W: Write> Output<W> {
    /// Starts a trace; `devices` are its future devices, by first request. Only if it `is_placed`, its requests may have
    /// placements.
    ///
    /// # Errors
    /// As `out`.
    pub fn new(format: OutputFormat, mut out: W, devices: &[Vec<u8>], is_placed: bool) -> io::Result<Self> {
        Ok(Self(match format {
            OutputFormat::Native => Kind::Native(native::Writer::new(out, is_placed)?),
            OutputFormat::Csv => {
                let device = devices.iter().any(|name| !name.is_empty());
                let has = Optional { origin: true, placement: is_placed, device };
                super::csv::write_header(&mut out, has)?;
                Kind::Csv { out, has }
            }
            OutputFormat::Fio => Kind::Fio(Fio::new(out, devices)?),
        }))
    }

    /// Appends a request to `device`.
    ///
    /// # Errors
    /// As the output.
    pub fn write(&mut self, request: &Request, device: &[u8]) -> io::Result<()> {
        let is_for_zones = matches!(request.op, Op::Append | Op::Zone(_));
        if is_for_zones && !matches!(self.0, Kind::Csv { .. }) {
            return Err(io::Error::other(format!(
                "a request of kind {} is for zones, and no format but csv has it: convert into csv",
                request.op.name()
            )));
        }
        match &mut self.0 {
            Kind::Native(writer) => writer.write(request, device),
            Kind::Csv { out, has } => super::csv::write_record(out, *has, request, device),
            Kind::Fio(fio) => fio.write(request, device),
        }
    }

    /// Ends the trace; returns the losses, in sentences.
    ///
    /// # Errors
    /// As the output.
    pub fn finish(self) -> io::Result<(W, Vec<String>)> {
        match self.0 {
            Kind::Native(writer) => Ok((writer.finish()?, Vec::new())),
            Kind::Csv { mut out, .. } => {
                out.flush()?;
                Ok((out, Vec::new()))
            }
            Kind::Fio(fio) => fio.finish(),
        }
    }
}

/// A file name for each device: without blanks, which would end it, and no two alike.
fn files(devices: &[Vec<u8>]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let as_it_is = |device: &[u8]| {
        let is_short = (1..=LONGEST_NAME).contains(&device.len());
        is_short && !device.iter().any(u8::is_ascii_whitespace)
    };
    let mut files: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let mut taken: BTreeSet<Vec<u8>> = devices.iter().filter(|device| as_it_is(device)).cloned().collect();
    for device in devices {
        if as_it_is(device) {
            files.insert(device.clone(), device.clone());
            continue;
        }
        let name = if device.is_empty() { NO_NAME } else { &device[..device.len().min(LONGEST_NAME)] };
        let name: Vec<u8> = name.iter().map(|&byte| if byte.is_ascii_whitespace() { b'_' } else { byte }).collect();
        let numbered = (2..).map(|number| [&name[..], format!("_{number}").as_bytes()].concat());
        let mut all = std::iter::once(name.clone()).chain(numbered);
        let free = all.find(|name| !taken.contains(name)).expect("there are more numbers than names");
        taken.insert(free.clone());
        files.entry(device.clone()).or_insert(free);
    }
    files
}

impl<W: Write> Fio<W> {
    fn new(mut out: W, devices: &[Vec<u8>]) -> io::Result<Self> {
        out.write_all(b"fio version 3 iolog\n")?;
        let mut fio = Self { out, files: files(devices), first: None, origins: 0, placements: 0, times: 0 };
        for device in devices {
            for action in [&b"add"[..], b"open"] {
                fio.line(0, device, action)?;
                fio.out.write_all(b"\n")?;
            }
        }
        Ok(fio)
    }

    fn line(&mut self, time_us: u64, device: &[u8], action: &[u8]) -> io::Result<()> {
        write!(self.out, "{time_us} ")?;
        self.out.write_all(self.files.get(device).map_or(NO_NAME, Vec::as_slice))?;
        self.out.write_all(b" ")?;
        self.out.write_all(action)
    }

    fn write(&mut self, request: &Request, device: &[u8]) -> io::Result<()> {
        let action: &[u8] = match request.op {
            Op::Read => b"read",
            Op::Write | Op::Append => b"write",
            Op::Trim => b"trim",
            Op::Flush | Op::UnitUpdate | Op::Zone(_) => b"sync",
        };
        let first = *self.first.get_or_insert(request.time);
        let time = request.time.saturating_sub(first);
        self.line(time / 1000, device, action)?;
        writeln!(self.out, " {} {}", request.sector * 512, u64::from(request.sectors) * 512)?;
        self.origins += u64::from(request.origin != Origin::HOST);
        self.placements += u64::from(request.placement.is_some());
        self.times += u64::from(time % 1000 != 0);
        Ok(())
    }

    fn finish(mut self) -> io::Result<(W, Vec<String>)> {
        let devices: Vec<Vec<u8>> = self.files.keys().cloned().collect();
        for device in devices {
            self.line(0, &device, b"close")?;
            self.out.write_all(b"\n")?;
        }
        self.out.flush()?;
        let mut dropped = Vec::new();
        if self.first.is_some_and(|first| first > 0) {
            dropped.push("times start at 0, as those of fio do; the time of the first request is dropped".to_owned());
        }
        for (count, one, many) in [
            (
                self.origins,
                "request has an origin, for which fio has no place",
                "requests have an origin, for which fio has no place",
            ),
            (
                self.placements,
                "request has a placement, for which fio has no place",
                "requests have a placement, for which fio has no place",
            ),
            (
                self.times,
                "request has a time that is no whole number of microseconds, of which the rest is dropped",
                "requests have a time that is no whole number of microseconds, of which the rest is dropped",
            ),
        ] {
            dropped.extend((count > 0).then(|| format!("{count} {}", if count == 1 { one } else { many })));
        }
        dropped.extend(self.renamed());
        Ok((self.out, dropped))
    }

    /// The renamed devices.
    fn renamed(&self) -> Option<String> {
        let changed: Vec<_> = self.files.iter().filter(|(device, file)| device != file).collect();
        let said = changed.iter().take(LISTED).map(|(device, file)| match device.as_slice() {
            b"" => format!("a device without a name is `{}`", shown(file)),
            name => format!("`{}` is `{}`", shown(name), shown(file)),
        });
        let said = said.collect::<Vec<_>>().join(", ");
        let more = if changed.len() > LISTED {
            format!(", and so for {} more", changed.len() - LISTED)
        } else {
            String::new()
        };
        (!changed.is_empty()).then(|| format!("fio takes names of files without blanks: {said}{more}"))
    }
}
