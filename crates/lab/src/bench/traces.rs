//! Reading traces.

use super::{million_per_s, repetitions, Measured};
use crate::config::{Experiment, Format};
use crate::control::Control;
use crate::error::LabError;
use crate::run::{run, Outputs};
use flate2::write::GzEncoder;
use flate2::Compression;
use nandlab_block::{Op, Request};
use nandlab_nand::random::Random;
use nandlab_workload::trace::{Config, Output, OutputFormat};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// File format of the bench's trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    Csv,
    Gzip,
    Spc,
    Msr,
    Native,
}

/// A trace in a folder of its own, removed at the end.
struct Recorded {
    folder: PathBuf,
    records: u64,
    bytes: u64,
}

const FILE: &str = "trace";
const SECTORS: u64 = 1 << 17;

/// Reads and writes of 4 KiB, half each, random below 64 MiB; one trim in a hundred if the format has trims.
fn contents(records: u64, form: Form) -> Vec<u8> {
    let mut random = Random::new(1);
    let mut text = String::new();
    if matches!(form, Form::Csv | Form::Gzip) {
        text += "time_us,op,sector,sectors,origin\n";
    }
    let mut native = Output::new(OutputFormat::Native, Vec::new(), &[], false).expect("memory takes every byte");
    let mut time = 0;
    for _ in 0..records {
        time += random.below(2_000);
        let is_trim = random.below(100) == 0;
        let is_write = random.below(2) == 1;
        let origin = random.below(3) as usize;
        let sector = random.below(SECTORS / 8) * 8;
        let letter = if is_write { 'W' } else { 'R' };
        let _ = match form {
            Form::Csv | Form::Gzip => {
                let op = if is_trim { 'T' } else { letter };
                let origin = ["database", "journal", "wal"][origin];
                writeln!(text, "{time},{op},{sector},8,{origin}")
            }
            Form::Spc => {
                writeln!(text, "{origin},{sector},4096,{letter},{}.{:06}", time / 1_000_000, time % 1_000_000)
            }
            Form::Msr => {
                let (ticks, offset) = (128_166_372_003_061_629 + time * 10, sector * 512);
                let kind = if is_write { "Write" } else { "Read" };
                writeln!(text, "{ticks},hm,{origin},{kind},{offset},4096,{}", 1_000 + time % 9_000)
            }
            Form::Native => {
                let op = if is_write { Op::Write } else { Op::Read };
                let request = Request { time: time * 1_000, ..Request::new(op, sector, 8) };
                native.write(&request, b"").expect("memory takes every byte");
                Ok(())
            }
        };
    }
    match form {
        Form::Native => native.finish().expect("memory takes every byte").0,
        _ => text.into_bytes(),
    }
}

impl Recorded {
    fn new(quick: bool, form: Form) -> Result<Self, LabError> {
        let records: u64 = if quick { 50_000 } else { 2_000_000 };
        let contents = contents(records, form);
        let folder = std::env::temp_dir().join(format!("nandlab-bench-{}-{form:?}", std::process::id()));
        let recorded = Self { folder, records, bytes: contents.len() as u64 };
        recorded.write(&contents, form == Form::Gzip).map_err(|error| {
            LabError::Io(format!("{} cannot be written for the bench: {error}", recorded.folder.display()))
        })?;
        Ok(recorded)
    }

    fn write(&self, text: &[u8], is_gzip: bool) -> std::io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        let mut file = std::fs::File::create(self.folder.join(FILE))?;
        if is_gzip {
            let mut encoder = GzEncoder::new(file, Compression::default());
            encoder.write_all(text)?;
            encoder.finish().map(drop)
        } else {
            file.write_all(text)
        }
    }

    fn params(&self) -> BTreeMap<&'static str, String> {
        BTreeMap::from([("records", self.records.to_string()), ("bytes", self.bytes.to_string())])
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Records read and parsed per second.
pub(super) fn parse(quick: bool, form: Form) -> Result<Measured, LabError> {
    let recorded = Recorded::new(quick, form)?;
    let config = Config::new(FILE);
    let once = || {
        let summary = config.summary(&recorded.folder, &|_| true);
        summary.map(|summary| summary.requests).map_err(|error| LabError::from_workload(error, "trace"))
    };
    let values = (0..repetitions(quick)).map(|_| million_per_s(once)).collect::<Result<_, _>>()?;
    Ok(Measured { unit: "million records/s", values, state_bytes: 256 << 10, params: recorded.params() })
}

/// Requests per second of a whole run: the simulator reads the trace through, reads it again, and plays it on a
/// page map.
pub(super) fn replay(quick: bool) -> Result<Measured, LabError> {
    let recorded = Recorded::new(quick, Form::Csv)?;
    let text = format!(
        "[workload.trace]\npath = \"{FILE}\"\n[ftl.page]\n[device]\ncapacity = \"64 MiB\"\n\
         over_provisioning = 0.28\nmodel = \"counting\""
    );
    let experiment = Experiment::parse(&text, Format::Toml, "bench", Path::new("."), &[])?;
    let once = || {
        run(&experiment, &recorded.folder, &Control::default(), Outputs::default()).map(|record| record.host.requests)
    };
    let values = (0..repetitions(quick)).map(|_| million_per_s(once)).collect::<Result<_, _>>()?;
    let mut params = recorded.params();
    params.extend([("capacity", "64 MiB".to_owned()), ("over_provisioning", "0.28".to_owned())]);
    let pages = u64::from(experiment.sizing()?.geometry.pages());
    Ok(Measured { unit: "million host requests/s", values, state_bytes: 8 * pages, params })
}
