//! Writes traces: native, csv, and the I/O logs of fio.

use super::native;
use nandlab_block::{Op, Request};
use nandlab_nand::Origin;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// A format that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputFormat {
    /// The project's own binary format.
    Native,
    /// The project's own text format.
    Csv,
    /// The I/O log of fio, version 3.
    Fio,
}

/// A trace that is being written.
#[derive(Debug)]
pub struct Output<W: Write>(Kind<W>);

#[derive(Debug)]
enum Kind<W: Write> {
    Native(native::Writer<W>),
    Csv { out: W, has_device: bool },
    Fio(Fio<W>),
}

#[derive(Debug)]
struct Fio<W: Write> {
    out: W,
    names: Vec<Vec<u8>>,
    first: Option<u64>,
    /// Requests whose origin, or whose time below a microsecond, has no place in the format.
    origins: u64,
    times: u64,
    renamed: u64,
}

/// The file in an I/O log where the trace names no device.
const NO_NAME: &[u8] = b"device";

impl<W: Write> Output<W> {
    /// Starts a trace; `devices` are those that it will have, in the order of their first requests.
    ///
    /// # Errors
    /// What `out` says.
    pub fn new(format: OutputFormat, mut out: W, devices: &[Vec<u8>]) -> io::Result<Self> {
        Ok(Self(match format {
            OutputFormat::Native => Kind::Native(native::Writer::new(out)?),
            OutputFormat::Csv => {
                let has_device = devices.iter().any(|name| !name.is_empty());
                super::csv::write_header(&mut out, has_device)?;
                Kind::Csv { out, has_device }
            }
            OutputFormat::Fio => Kind::Fio(Fio::new(out, devices)?),
        }))
    }

    /// Appends a request of `device`.
    ///
    /// # Errors
    /// What the output says.
    pub fn write(&mut self, request: &Request, device: &[u8]) -> io::Result<()> {
        match &mut self.0 {
            Kind::Native(writer) => writer.write(request, device),
            Kind::Csv { out, has_device } => super::csv::write_record(out, request, has_device.then_some(device)),
            Kind::Fio(fio) => fio.write(request, device),
        }
    }

    /// Ends the trace; what it could not hold, in sentences.
    ///
    /// # Errors
    /// What the output says.
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

impl<W: Write> Fio<W> {
    fn new(mut out: W, devices: &[Vec<u8>]) -> io::Result<Self> {
        out.write_all(b"fio version 3 iolog\n")?;
        let mut fio = Self { out, names: Vec::new(), first: None, origins: 0, times: 0, renamed: 0 };
        for device in devices {
            let name = fio.name(device);
            if !fio.names.contains(&name) {
                for action in [&b"add"[..], b"open"] {
                    fio.line(0, &name, action)?;
                    fio.out.write_all(b"\n")?;
                }
                fio.names.push(name);
            }
        }
        Ok(fio)
    }

    /// A name of a file: without blanks, which would end it.
    fn name(&self, device: &[u8]) -> Vec<u8> {
        let name = if device.is_empty() { NO_NAME } else { device };
        name.iter().map(|&byte| if byte.is_ascii_whitespace() { b'_' } else { byte }).collect()
    }

    fn line(&mut self, time_us: u64, name: &[u8], action: &[u8]) -> io::Result<()> {
        write!(self.out, "{time_us} ")?;
        self.out.write_all(name)?;
        self.out.write_all(b" ")?;
        self.out.write_all(action)
    }

    fn write(&mut self, request: &Request, device: &[u8]) -> io::Result<()> {
        let name = self.name(device);
        let action: &[u8] = match request.op {
            Op::Read => b"read",
            Op::Write => b"write",
            Op::Trim => b"trim",
            Op::Flush => b"sync",
        };
        let first = *self.first.get_or_insert(request.time);
        let time = request.time.saturating_sub(first);
        self.line(time / 1000, &name, action)?;
        writeln!(self.out, " {} {}", request.sector * 512, u64::from(request.sectors) * 512)?;
        self.origins += u64::from(request.origin != Origin::HOST);
        self.times += u64::from(time % 1000 != 0);
        self.renamed += u64::from(name != device);
        Ok(())
    }

    fn finish(mut self) -> io::Result<(W, Vec<String>)> {
        for name in std::mem::take(&mut self.names) {
            self.line(0, &name, b"close")?;
            self.out.write_all(b"\n")?;
        }
        self.out.flush()?;
        let mut dropped = Vec::new();
        if self.first.is_some_and(|first| first > 0) {
            dropped.push("times start at 0, as those of fio do; the time of the first request is dropped".to_owned());
        }
        let counted = [
            (self.origins, "have an origin, for which fio has no place"),
            (self.times, "have a time that is no whole number of microseconds, of which the rest is dropped"),
            (self.renamed, "have a device without a name, or with blanks in it; the name is changed"),
        ];
        dropped.extend(
            counted.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} requests {what}")),
        );
        Ok((self.out, dropped))
    }
}
