//! fio: several jobs at once, each in a closed loop of its own, as a job file of fio describes them.
//!
//! ## Idea
//! Each section in the file is a job: a pattern, sizes, a part on the device, and a number for the requests it keeps
//! outstanding. All jobs run at the same time. Each is a separate origin, so the record separates their latencies,
//! flash operations and writes. Earlier ends decide the next request: it is the job with the earliest next request, at
//! equal times the job first in the file. docs/fio.md lists the supported keys and how they act. A notice lists keys
//! about the machine alone. An unsupported key with an effect on the requests is refused, with its line. Writes of a job
//! with `fdp` carry a placement identifier: index i of fio's list is handle i of the first reclaim group.
//!
//! ## Differences
//! From fio itself: random numbers differ, each kind of draw has a source of its own as there. A rate delays a request and
//! never changes its direction. A thinking job first waits for its outstanding requests. There is no page cache. A single
//! file is the whole device, several lie one behind the other. Where no time passes, jobs alternate by their depths.
//!
//! ## References
//! J. Axboe, "fio - Flexible I/O tester", HOWTO (Job file format, Parameter types, Job parameters); io_u.c and backend.c
//! where it leaves a choice open.

mod ask;
mod batch;
mod checks;
mod company;
mod course;
mod draws;
mod drive;
mod errors;
mod flow;
mod history;
mod job;
mod jobs;
pub mod keys;
mod layout;
mod map;
mod notices;
mod order;
mod part;
mod placing;
mod sections;
mod skew;
mod slots;
mod source;
mod stream;
mod subjob;
mod target;
mod text;
mod turns;
mod values;
mod zoned;
mod zoning;

use crate::{Options, Setting, Workload, WorkloadError};
use jobs::Jobs;
use nandlab_nand::SECTOR_BYTES;
use notices::notices;
use sections::read_jobs;
use serde::{Deserialize, Serialize};
use source::Source;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Options of `[workload.fio]`: either of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The job file; a relative path starts at the folder of the experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The lines of a job file, in place of a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Values of the variables `${NAME}` of the job file; what is missing comes from the environment.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, Variable>,
}

/// What stands for a variable of a job file; a number needs no quotes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Variable {
    /// A whole number.
    Number(i64),
    /// Any text.
    Text(String),
}

impl Variable {
    fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

/// Most clones in all jobs.
const MAX_CLONES: usize = 1024;

/// An error in a job file, at a byte of a line, both from 1.
#[derive(Debug)]
struct Malformed {
    line: u64,
    column: usize,
    message: String,
}

impl Config {
    /// Fills variables missing from `variables` from the environment, so the options hold everything a run depends on.
    /// An unreadable file is left to [`Options::open`].
    pub fn take_environment(&mut self, base: &Path, environment: &dyn Fn(&str) -> Option<String>) {
        let mut found = BTreeMap::new();
        let mut look = |name: &str| {
            let known = self.variables.get(name).map(Variable::text);
            known.or_else(|| {
                let value = environment(name)?;
                found.insert(name.to_owned(), Variable::Text(value.clone()));
                Some(value)
            })
        };
        // Opening the file reports the error.
        let _ = Source::read(self, base, &mut look);
        self.variables.extend(found);
    }

    /// The job file's folder; that of the experiment for `text`.
    fn folder(&self, base: &Path) -> PathBuf {
        let file = self.path.as_ref().map(|path| base.join(path));
        file.as_deref().and_then(Path::parent).unwrap_or(base).to_owned()
    }
}

impl Options for Config {
    fn check(&self) -> Result<(), WorkloadError> {
        match (&self.path, &self.text) {
            (Some(_), Some(_)) => Err(WorkloadError::option("text", &"...", "with path there is a job file already")),
            (None, None) => Err(WorkloadError::option("path", &"\"\"", "it names a job file, or text has its lines")),
            _ => Ok(()),
        }
    }

    fn open(&self, setting: &Setting<'_>) -> Result<Box<dyn Workload>, WorkloadError> {
        self.check()?;
        let mut variables = |name: &str| self.variables.get(name).map(Variable::text);
        let source = Source::read(self, setting.base, &mut variables)?;
        let file = source.name();
        let in_file = |bad| source.error(bad);
        let sections = text::sections(&source.text).map_err(in_file)?;
        let (mut jobs, unfollowed) = read_jobs(&sections).map_err(in_file)?;
        if jobs.is_empty() {
            return Err(WorkloadError::File { file, message: "it has no job: a section such as `[job1]`".to_owned() });
        }
        let folder = self.folder(setting.base);
        for job in &mut jobs {
            let wrong = |message: &str| job.wrong(message);
            job.choice = job.placing.choice((job.writes(), setting.placements), (&folder, &source), wrong)?;
        }
        let sector = u64::from(SECTOR_BYTES);
        let drive = zoned::drive(&jobs, setting.zones, setting.sectors * sector).map_err(in_file)?;
        let zone = drive.as_ref().map(|drive| drive.limits.size);
        let (mut regions, needed) = layout::lay_out(&jobs, setting.sectors * sector, zone).map_err(in_file)?;
        if needed > setting.sectors * sector {
            let needed = needed.div_ceil(sector);
            let ways_out = ", or the jobs smaller sizes and offsets";
            return Err(WorkloadError::TooSmall { file, needed, device: setting.sectors, ways_out });
        }
        if let Some(drive) = &drive {
            zoned::align(&mut regions, &jobs, &drive.limits).map_err(in_file)?;
        }
        if regions.len() > MAX_CLONES {
            let message = format!("it has {} clones of jobs, and {MAX_CLONES} are possible", regions.len());
            return Err(WorkloadError::File { file, message });
        }
        let orders = order::orders(&jobs).map_err(in_file)?;
        let notices = notices(&jobs, &unfollowed);
        Ok(Box::new(Jobs::new(file, &jobs, (&regions, drive), (setting.seed, orders, notices))))
    }

    fn has_times(&self) -> bool {
        false
    }

    fn paces_itself(&self) -> bool {
        true
    }
}
