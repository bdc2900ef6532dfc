//! A preconditioned device in a file, as a start for later runs.
//!
//! A state is the flash after a flush and a power cut; each run that begins with it mounts it. The run that
//! saves it mounts it, too, so both measure the same. File format: a line with the format's name; format
//! version, length and CRC-32 of the following text; a JSON text about how the state was made; then the device,
//! compressed with gzip, which ends in a CRC-32 of its own.

pub(crate) mod difference;
mod saving;

use super::begun::Begun;
use crate::config::{Experiment, Model, Precondition, Sizing, SteadyWrites};
use crate::control::Control;
use crate::error::{ConfigError, LabError};
use crate::json;
use crate::record::{PreconditionRecord, StopReason};
use crate::run::session::Run;
use crate::stack::{self, Logs, Start};
use difference::difference;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use flate2::{Compression, Crc};
use nandlab_block::{HostClock, Op, Request};
use nandlab_ftl::FtlConfig;
use nandlab_nand::backed::open_regular;
use nandlab_nand::{Counting, Nand as _, Rules, Shape};
use saving::Saving;
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read, Write};
use std::path::Path;

const MAGIC: &[u8] = b"nandlab state\n";
/// Version for the file format, and for the FTLs' format on flash.
const VERSION: u32 = 2;
/// Longest accepted text about how a state was made.
const MOST_TEXT: u32 = 1 << 20;

const KEY: &str = "precondition.from_state";

/// How a state was made.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Made {
    /// nandlab's version.
    version: String,
    seed: u64,
    precondition: Precondition,
    /// The FTL's table.
    ftl: Value,
    shape: Shape,
    rules: Rules,
    logical_pages: u32,
    cost: PreconditionRecord,
    /// Sectors written by the preconditioning; if omitted, whole pages only.
    #[serde(skip_serializing_if = "Option::is_none")]
    written_sectors: Option<u64>,
    /// Blocks emptied by static wear levelling.
    wear_moves: u64,
    /// The workload behind the steady device, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    played: Option<Played>,
}

/// A workload behind a steady device.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Played {
    workload: Value,
    buffer: Value,
    /// If the workload paces itself, its dependencies: on a faster device it writes something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pace: Option<Value>,
}

impl Played {
    /// The workload in `experiment`; files are represented by their contents.
    fn of(experiment: &Experiment) -> Result<Option<Self>, LabError> {
        if experiment.precondition.steady_writes == SteadyWrites::Uniform {
            return Ok(None);
        }
        let mut workload = json::value(&experiment.workload);
        for file in ["/trace/path", "/fio/path"] {
            let Some(Value::String(name)) = workload.pointer_mut(file) else { continue };
            let path = experiment.base.join(&*name);
            let cannot = |error| LabError::Io(format!("cannot read {}: {error}", path.display()));
            *name = contents(&path).map_err(cannot)?;
        }
        let pace = experiment.paces_itself().then(|| {
            let (host, device) = (&experiment.host, &experiment.device);
            json!({ "host": json::value(host), "device": { "model": json::value(&device.model), "timing": json::value(&device.profile.timing) } })
        });
        Ok(Some(Self { workload, buffer: json::value(&experiment.buffer), pace }))
    }
}

/// A fingerprint for a file's contents.
fn contents(path: &Path) -> io::Result<String> {
    let (mut file, mut crc, mut part) = (open_regular(path)?, Crc::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut part)? {
            0 => return Ok(format!("{} bytes, CRC-32 of all {:08x}", file.metadata()?.len(), crc.sum())),
            read => crc.update(&part[..read]),
        }
    }
}

/// A preconditioned device.
pub(crate) struct State {
    made: Made,
    device: Counting,
}

fn refused(message: String) -> LabError {
    ConfigError { message, key: Some(KEY.into()), ..Default::default() }.into()
}

/// The preconditioning options covered by a state.
fn writes(options: &Precondition) -> Precondition {
    Precondition { warm_up: 0, load: false, shelf_days: 0.0, from_state: None, ..options.clone() }
}

impl State {
    /// Preconditions a device for `experiment` and saves it in `file`; `asked` is the same experiment before options were
    /// derived from the workload. `None` if cancelled, without a file. `sectors` are the sectors of the whole run.
    ///
    /// # Errors
    /// If nothing would be written, the device wore out, or the file cannot be written; also the engine's errors.
    pub(crate) fn make(
        (experiment, asked): (&Experiment, &Experiment),
        sizing: &Sizing,
        control: &Control,
        (sectors, file): (u64, &Path),
    ) -> Result<Option<Self>, LabError> {
        check_device(experiment, "a state cannot be saved", "--save-state")?;
        if experiment.precondition.from_state.is_some() {
            let message = "the experiment begins with a state of its own: there is nothing to save (--save-state)";
            return Err(refused(message.to_owned()));
        }
        let played = Played::of(asked)?;
        let mut only = experiment.clone();
        only.precondition = writes(&experiment.precondition);
        let mut engine = stack::open(&only, sizing, Logs::default(), Start::Kept)?;
        control.plan(sectors);
        let mut run = Run::new(&only, sizing, control, &mut *engine);
        let done = run.precondition(None)?;
        match done.stopped {
            Some(stopped) if stopped.why == StopReason::Cancelled => return Ok(None),
            Some(stopped) => return Err(LabError::DeviceFull(format!("no state was saved: {}", stopped.message))),
            None => {}
        }
        let Some(cost) = done.record else {
            let message = "there is nothing to save (--save-state): [precondition] writes nothing; set its fill, \
                               overwrites or steady";
            return Err(ConfigError { message: message.into(), ..Default::default() }.into());
        };
        let flush = Request::new(Op::Flush, 0, 0);
        let flushed = engine.requests().submit(&[flush], &mut HostClock::closed_loop(1), &mut Vec::new());
        flushed.map_err(|error| LabError::DeviceFull(format!("no state was saved: {error}")))?;
        let wear_moves = engine.events().wear_moves;
        let kept = engine.chip().full().expect("the engine was asked for one that can be kept");
        let mut saving = Saving::begin(control, kept.saved_bytes());
        let Some(device) = reloaded(kept, sizing, &mut saving) else { return Ok(None) };
        let made = Made {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seed: only.seed,
            precondition: only.precondition.clone(),
            ftl: ftl_of(&only),
            shape: *sizing.geometry.shape(),
            rules: only.device.profile.rules,
            logical_pages: sizing.logical_pages,
            cost,
            written_sectors: Some(done.written_sectors).filter(|_| played.is_some()),
            wear_moves,
            played,
        };
        let state = Self { made, device };
        let written = state.write(file, &mut saving);
        if saving.is_cancelled() {
            return Ok(None);
        }
        written.map(|()| Some(state))
    }

    /// The device's history, for a run with this state.
    pub(crate) fn begun(&self) -> Begun {
        let erases = self.device.pe_cycles().iter().map(|&cycles| u64::from(cycles)).sum();
        let cost = self.made.cost;
        let of_pages = cost.requests * u64::from(self.device.geometry().sectors_per_page());
        let written_sectors = self.made.written_sectors.unwrap_or(of_pages);
        let programmed_pages = self.device.programmed_pages();
        let is_levelled = self.made.wear_moves > 0;
        Begun { cost: Some(cost), erases, programmed_pages, written_sectors, is_levelled }
    }

    /// A run's start with this state.
    pub(crate) fn start(self) -> Start {
        Start::At(Box::new(self.device))
    }

    /// Writes the whole file, or nothing.
    fn write(&self, path: &Path, saving: &mut Saving<'_>) -> Result<(), LabError> {
        let cannot = |error: io::Error| LabError::Io(format!("cannot write {}: {error}", path.display()));
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let part = path.with_file_name(name);
        let mut write = || {
            let mut out = BufWriter::new(File::create_new(&part)?);
            let text = json::text(&self.made).into_bytes();
            out.write_all(MAGIC)?;
            for number in [VERSION, text.len() as u32, sum(&text)] {
                out.write_all(&number.to_le_bytes())?;
            }
            out.write_all(&text)?;
            // The encoder is slow with a few bytes at a time.
            let mut packed =
                BufWriter::with_capacity(1 << 16, saving.packing(GzEncoder::new(out, Compression::fast())));
            self.device.save(&mut packed)?;
            packed.into_inner()?.into_inner().finish()?.into_inner()?.sync_all()?;
            std::fs::rename(&part, path)
        };
        write().map_err(|error| {
            // If the file was never made, there is nothing to remove.
            let _ = std::fs::remove_file(&part);
            cannot(error)
        })
    }

    /// Reads the state named by `experiment`.
    ///
    /// # Errors
    /// [`ConfigError`] if the file is no state, is damaged, or does not fit the experiment.
    pub(crate) fn read(path: &Path, experiment: &Experiment, sizing: &Sizing) -> Result<Self, LabError> {
        let wrong = |what: String| refused(format!("{KEY} = \"{}\": {what}", path.display()));
        let (made, input) = open(path, experiment, sizing)?;
        let damaged = |error: io::Error| wrong(format!("the file is damaged or cut short: {error}"));
        let mut packed = BufReader::new(GzDecoder::new(input));
        let device = Counting::load(sizing.geometry, made.rules, &mut packed).map_err(damaged)?;
        // Reading to the end checks the checksum.
        let rest = packed.read(&mut [0]).map_err(damaged)?;
        if rest > 0 {
            return Err(wrong("the file holds more than the device".into()));
        }
        let mut behind = packed.into_inner().into_inner();
        let is_end = behind.fill_buf().map_err(damaged)?.is_empty();
        if !is_end {
            return Err(wrong("the file goes on behind the state, and what stands there is none of it".into()));
        }
        Ok(Self { made, device })
    }
}

/// A device from the bytes of the file: this run starts exactly like later runs, without the old counters. `None` if
/// cancelled.
fn reloaded(kept: &Counting, sizing: &Sizing, saving: &mut Saving<'_>) -> Option<Counting> {
    let mut bytes = Vec::new();
    let copied = kept.save(&mut saving.copying(&mut bytes));
    let copied = copied.and_then(|()| Counting::load(sizing.geometry, *kept.rules(), &mut saving.copying(&bytes[..])));
    match copied {
        Err(_) if saving.is_cancelled() => None,
        copied => Some(copied.expect("memory takes every byte and gives it back")),
    }
}

/// How the state named by `experiment` was made, and the file positioned at its device.
///
/// # Errors
/// As [`State::read`], except errors in the device.
pub(crate) fn open(path: &Path, experiment: &Experiment, sizing: &Sizing) -> Result<(Made, BufReader<File>), LabError> {
    check_device(experiment, "a state cannot be begun with", KEY)?;
    let wrong = |what: String| refused(format!("{KEY} = \"{}\": {what}", path.display()));
    let file = open_regular(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => wrong("there is no such file".into()),
        _ => wrong(format!("it cannot be read: {error}")),
    })?;
    let mut input = BufReader::new(file);
    let made = read_made(&mut input).map_err(wrong)?;
    made.check(experiment, sizing).map_err(wrong)?;
    Ok((made, input))
}

fn sum(text: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(text);
    crc.sum()
}

fn read_made(input: &mut impl Read) -> Result<Made, String> {
    let cut = |_| "this is no state, or it is cut short: nandlab run --save-state makes one".to_owned();
    let mut magic = [0; MAGIC.len()];
    input.read_exact(&mut magic).map_err(cut)?;
    if magic != MAGIC {
        return Err("this is no state: nandlab run --save-state makes one".into());
    }
    let mut number = || {
        let mut bytes = [0; 4];
        input.read_exact(&mut bytes).map(|()| u32::from_le_bytes(bytes)).map_err(cut)
    };
    let (version, length, expected) = (number()?, number()?, number()?);
    if version != VERSION {
        return Err(format!(
            "it has version {version} of its form, and this program reads version {VERSION}: make it again"
        ));
    }
    let damaged = || "the file is damaged: its first part does not match its checksum".to_owned();
    if length > MOST_TEXT {
        return Err(damaged());
    }
    let mut text = vec![0; length as usize];
    input.read_exact(&mut text).map_err(cut)?;
    let made = if sum(&text) == expected { serde_json::from_slice(&text).ok() } else { None };
    made.ok_or_else(damaged)
}

fn ftl_of(experiment: &Experiment) -> Value {
    json::value(&experiment.ftl)
}

/// The rules with their omitted default values filled in.
fn rules_in_full(rules: &Rules) -> Value {
    let mut value = json::value(rules);
    if let Value::Object(table) = &mut value {
        table.insert("bits_per_cell".to_owned(), rules.bits_per_cell.into());
        table.insert("pair_distance".to_owned(), rules.pair_distance.into());
        table.insert("unstable_pages".to_owned(), rules.unstable_pages.into());
    }
    value
}

/// Refuses devices that a state cannot hold.
fn check_device(experiment: &Experiment, what: &str, option: &str) -> Result<(), LabError> {
    let why = if experiment.ftl.is_none() {
        "a state is of a device with an FTL"
    } else if experiment.ftl.as_ref().is_some_and(FtlConfig::is_elsewhere) {
        "it holds nothing of a firmware's own chip"
    } else if experiment.device.model == Model::Bytes {
        "it holds no bytes; choose device.model = \"timed\" or \"counting\""
    } else if experiment.device.faults.is_some() {
        "it holds nothing of device.faults; leave them out"
    } else if experiment.device.reliability.is_some() {
        "it holds nothing of device.reliability, neither ages of pages nor reads of blocks; leave it out"
    } else {
        return Ok(());
    };
    Err(refused(format!("{what} ({option}): {why}")))
}

impl Made {
    /// Checks that a run of `experiment` can begin with this state: the same device below the same FTL.
    fn check(&self, experiment: &Experiment, sizing: &Sizing) -> Result<(), String> {
        let pairs = [
            ("device.shape", json::value(&self.shape), json::value(&sizing.geometry.shape())),
            ("device.rules", rules_in_full(&self.rules), rules_in_full(&experiment.device.profile.rules)),
            ("ftl", self.ftl.clone(), ftl_of(experiment)),
        ];
        for (key, made, asked) in pairs {
            if let Some(said) = difference(key, &made, &asked) {
                return Err(said);
            }
        }
        if self.logical_pages != sizing.logical_pages {
            return Err(format!(
                "it was made for {} logical pages, and the experiment has {}: give device.capacity and \
                 device.over_provisioning as they were",
                self.logical_pages, sizing.logical_pages
            ));
        }
        let (asked, nothing) = (writes(&experiment.precondition), Precondition::default());
        if asked == nothing {
            return Ok(());
        }
        let options = |options: &Precondition| json::value(options);
        let said = difference("precondition", &options(&writes(&self.precondition)), &options(&asked));
        let said = said.or_else(|| difference("seed", &self.seed.into(), &experiment.seed.into()));
        match said {
            Some(said) => Err(format!("{said}: make it again, or leave the options of [precondition] out")),
            None => self.check_played(experiment),
        }
    }

    /// Checks that the state's steady writes are those in `experiment`.
    fn check_played(&self, experiment: &Experiment) -> Result<(), String> {
        let asked = Played::of(experiment).map_err(|error| error.to_string())?;
        let (Some(made), Some(asked)) = (&self.played, &asked) else { return Ok(()) };
        let mut pairs = vec![("workload", &made.workload, &asked.workload), ("buffer", &made.buffer, &asked.buffer)];
        if let (Some(made), Some(asked)) = (&made.pace, &asked.pace) {
            pairs.extend(["host", "device"].map(|key| (key, &made[key], &asked[key])));
        }
        for (key, made, asked) in pairs {
            if let Some(said) = difference(key, made, asked) {
                return Err(format!("{said}; precondition.steady_writes = \"workload\" asks for its own"));
            }
        }
        Ok(())
    }
}
