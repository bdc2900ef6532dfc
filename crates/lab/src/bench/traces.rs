//! Reading traces.

use super::{million_per_s, repetitions, Measured};
use crate::config::{Experiment, Format};
use crate::control::Control;
use crate::error::LabError;
use crate::run::run;
use flate2::write::GzEncoder;
use flate2::Compression;
use nandlab_nand::random::Random;
use nandlab_workload::trace::Config;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A trace in a folder of its own, removed at the end.
struct Recorded {
    folder: PathBuf,
    records: u64,
    bytes: u64,
}

const FILE: &str = "trace.csv";
const SECTORS: u64 = 1 << 17;

impl Recorded {
    /// Reads and writes of 4 KiB, and one trim in a hundred requests, random below 64 MiB, in the project's own format.
    fn new(quick: bool, is_gzip: bool) -> Result<Self, LabError> {
        let records: u64 = if quick { 50_000 } else { 2_000_000 };
        let mut random = Random::new(1);
        let mut text = "time_us,op,sector,sectors,origin\n".to_owned();
        let mut time = 0;
        for _ in 0..records {
            time += random.below(2_000);
            let op = if random.below(100) == 0 { "T" } else { ["R", "W"][random.below(2) as usize] };
            let origin = ["database", "journal", "wal"][random.below(3) as usize];
            let _ = writeln!(text, "{time},{op},{},8,{origin}", random.below(SECTORS / 8) * 8);
        }
        let folder = std::env::temp_dir().join(format!("nandlab-bench-{}-{is_gzip}", std::process::id()));
        let recorded = Self { folder, records, bytes: text.len() as u64 };
        recorded.write(text.as_bytes(), is_gzip).map_err(|error| {
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
        BTreeMap::from([("records", self.records.to_string()), ("text_bytes", self.bytes.to_string())])
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Records read and parsed a second.
pub(super) fn parse(quick: bool, is_gzip: bool) -> Result<Measured, LabError> {
    let recorded = Recorded::new(quick, is_gzip)?;
    let config = Config::new(FILE);
    let once = || {
        let summary = config.summary(&recorded.folder, &|_| true);
        summary.map(|summary| summary.requests).map_err(|error| LabError::from_workload(error, "trace"))
    };
    let values = (0..repetitions(quick)).map(|_| million_per_s(once)).collect::<Result<_, _>>()?;
    Ok(Measured { unit: "million records/s", values, state_bytes: 256 << 10, params: recorded.params() })
}

/// Requests a second of a whole run: the trace is read through, read again, and played on a page map.
pub(super) fn replay(quick: bool) -> Result<Measured, LabError> {
    let recorded = Recorded::new(quick, false)?;
    let text = format!(
        "[workload.trace]\npath = \"{FILE}\"\n[ftl.page]\n[device]\ncapacity = \"64 MiB\"\n\
         over_provisioning = 0.28\nmodel = \"counting\""
    );
    let experiment = Experiment::parse(&text, Format::Toml, "bench", Path::new("."), &[])?;
    let once = || run(&experiment, &recorded.folder, &Control::default(), None).map(|record| record.host.requests);
    let values = (0..repetitions(quick)).map(|_| million_per_s(once)).collect::<Result<_, _>>()?;
    let mut params = recorded.params();
    params.extend([("capacity", "64 MiB".to_owned()), ("over_provisioning", "0.28".to_owned())]);
    let pages = u64::from(experiment.sizing()?.geometry.pages());
    Ok(Measured { unit: "million host requests/s", values, state_bytes: 8 * pages, params })
}
