//! Proves a firmware: scripts, a cut at every operation in every form, and a comparison with a plain model.

mod block;
mod explorations;
mod explore;
mod file;
mod file_step;
mod finding;
pub(crate) mod library;
mod script;
mod shrink;
mod subject;

pub use file_step::{FileStep, Path};
pub use finding::Kind;
pub use script::{Fault, Script, Step};

use crate::config::Config;
use explorations::explored;
use explore::Plan;
use finding::Noted;
use library::{Library, Table};
use nandlab_nand::power_cut::Form;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A proof's task.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Request {
    /// The firmware's shared object.
    pub firmware: PathBuf,
    /// `libnandlab`, for a firmware with open calls.
    pub library: Option<PathBuf>,
    /// The chip.
    pub device: Config,
    /// The user's script; a script with cuts is replayed.
    pub script: Option<String>,
    /// Otherwise this many scripts are drawn.
    pub scripts: u64,
    /// Steps in the shortest drawn script; others have up to 16 times as many.
    pub steps: usize,
    /// Draws scripts.
    pub seed: u64,
    /// Adds bad blocks, failing programs and failing erases to drawn scripts.
    pub faults: bool,
    /// Form names; all by default.
    pub forms: Vec<String>,
    /// Cuts in a row, 1 or 2.
    pub depth: u32,
    /// Processes at work at the same time.
    pub jobs: u32,
    /// A case's CPU time before it counts as hanging.
    pub limit_s: f64,
    /// Time for shrinking one finding; 0: not shrunk.
    pub shrink_s: f64,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            firmware: PathBuf::new(),
            library: None,
            device: Config::default(),
            script: None,
            scripts: 15,
            steps: 12,
            seed: 1,
            faults: false,
            forms: Vec::new(),
            depth: 1,
            jobs: 1,
            limit_s: 1.0,
            shrink_s: 20.0,
        }
    }
}

/// One finding per kind, with its shortest script.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    /// The kind.
    pub kind: Kind,
    /// The event in words.
    pub sentence: String,
    /// The text for `--replay`.
    pub replay: String,
    /// The script's steps.
    pub steps: usize,
    /// Scripts with this kind.
    pub scripts: u64,
}

/// A proof's result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The firmware's own name.
    pub name: String,
    /// Whether it has files, not sectors.
    pub files: bool,
    /// Scripts played.
    pub scripts: u64,
    /// Cuts tried.
    pub cases: u64,
    /// Wall time without shrinking.
    pub seconds: f64,
    /// One per kind.
    pub findings: Vec<Found>,
}

const FOR_FILES: &str = "the firmware has sectors: put, append, truncate, move, remove and mkdir are for files";

/// Proves a firmware.
///
/// # Errors
/// A sentence about the request: an unloadable firmware, a wrong number, script or form.
pub fn run(request: &Request) -> Result<Report, String> {
    request.device.flash(&[])?;
    if !(1..=2).contains(&request.depth) || request.jobs == 0 || !(0.01..=3600.0).contains(&request.limit_s) {
        return Err("depth is 1 or 2, jobs 1 or more, limit_s 0.01 to 3600".into());
    }
    let forms = forms(&request.forms)?;
    if request.faults && request.device.word_bytes > 0 {
        return Err("faults are for NAND: a NOR chip has none".into());
    }
    let own = request.script.as_deref().map(Script::parse).transpose()?;
    let library = Library::load(request.library.as_deref(), &request.firmware)?;
    let library: &'static Library = Box::leak(Box::new(library));
    let files = matches!(library.table, Table::File(_));
    if own.as_ref().is_some_and(|own| !own.fits(files)) {
        return Err(if files { "the firmware has files: w and t are for sectors" } else { FOR_FILES }.into());
    }
    let count = if own.is_some() { 1 } else { request.scripts };
    let mut report =
        Report { name: library.name.clone(), files, scripts: count, cases: 0, seconds: 0.0, findings: Vec::new() };
    for number in 0..count {
        let script = own.clone().unwrap_or_else(|| {
            Script::drawn(
                request.seed + number,
                request.steps << (number % 5),
                request.faults && number % 2 == 1,
                files,
            )
        });
        let replay = !script.cuts.is_empty();
        for fault in &script.faults {
            match *fault {
                Fault::Bad(block) => {
                    request.device.flash(&[block])?;
                }
                Fault::Program(_) | Fault::Erase(_) if request.device.word_bytes > 0 => {
                    return Err("fail_program and fail_erase are for NAND".into());
                }
                Fault::Program(_) | Fault::Erase(_) => {}
            }
        }
        let plan = Plan {
            library,
            config: &request.device,
            script: &script,
            forms: &forms,
            depth: request.depth,
            limit_s: request.limit_s,
            jobs: request.jobs,
            until: None,
            replay,
        };
        let start = Instant::now();
        let (notes, cases) = explored(&plan);
        report.cases += cases + u64::from(replay);
        report.seconds += start.elapsed().as_secs_f64();
        add(&mut report, &plan, &notes, request.shrink_s);
        eprintln!("script {} of {count}, {} cases, {} findings", number + 1, report.cases, report.findings.len());
    }
    Ok(report)
}

/// Adds the first finding in each new kind, shrunk.
fn add(report: &mut Report, plan: &Plan<'_>, notes: &[Noted], shrink_s: f64) {
    let mut seen = Vec::new();
    for noted in notes {
        let kind = noted.finding.kind;
        if seen.contains(&kind) {
            continue;
        }
        seen.push(kind);
        if let Some(known) = report.findings.iter_mut().find(|known| known.kind == kind) {
            known.scripts += 1;
            continue;
        }
        let (script, noted) = if shrink_s > 0.0 && !plan.replay {
            shrink::shrunk(plan, noted, Duration::from_secs_f64(shrink_s))
        } else {
            (Script { cuts: noted.cuts.clone(), ..plan.script.clone() }, noted.clone())
        };
        report.findings.push(Found {
            kind,
            sentence: noted.finding.sentence,
            replay: script.to_string(),
            steps: script.steps.len(),
            scripts: 1,
        });
    }
}

fn forms(names: &[String]) -> Result<Vec<Form>, String> {
    if names.is_empty() {
        return Ok(Form::ALL.to_vec());
    }
    let named = |name: &String| {
        Form::ALL
            .into_iter()
            .find(|form| form.name() == name)
            .ok_or_else(|| format!("form {name} is none of {}", Form::ALL.map(Form::name).join(", ")))
    };
    names.iter().map(named).collect()
}
