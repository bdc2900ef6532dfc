//! A device in an image that programs use: made, opened, asked, measured, checked.

mod askers;
mod files;
pub(crate) mod lifetime;
mod live;
mod rescued;
mod units;

use crate::json;
pub use askers::{AskedBy, AskedCounts, AskedMeter, AskedRecord, AskedRow, BriefLatency, HandleId, QueueId, MOST_ROWS};
pub use files::Asked;
use lifetime::Saved;
pub use lifetime::{Lifetime, Unsaved, SAVE_EVERY_BYTES, SAVE_EVERY_S};
pub use live::{Live, LiveBlock, LiveKind};
pub use rescued::Rescued;
pub use units::{LoggedEvent, PlacementEvent, PlacementEvents, Units};

use crate::config::{Experiment, Format, Sizing};
use crate::control::Control;
use crate::error::{ConfigError, LabError};
use crate::record::{MountRecord, Record};
use crate::run::{Mark, Meter, Run};
use crate::stack::{self, Engine, Logs, Start};
use nandlab_block::{Completion, Error, Payload, Request, ZoneReport, ZoneShape};
use nandlab_ftl::{FtlConfig, Trims};
use nandlab_nand::backed::{Backed, BackedError, Failure, ImageFile};
use nandlab_nand::Time;
use serde::{Deserialize, Serialize};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;

/// What the header of an image says.
#[derive(Serialize, Deserialize)]
struct Text {
    /// The version of the program that made the image.
    version: String,
    /// 32 hexadecimal digits, different for each image.
    identity: String,
    experiment: serde_json::Value,
}

/// A device in an image that programs use.
pub struct Served {
    experiment: Experiment,
    sizing: Sizing,
    engine: Box<dyn Engine>,
    image: ImageFile,
    identity: u128,
    control: Control,
    meter: Meter,
    asked: AskedMeter,
    /// When the FTL was mounted.
    start: Mark,
    mount: MountRecord,
    /// What was counted before this was opened.
    before: Lifetime,
    notices: Vec<String>,
}

/// How an image is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Access {
    /// The file stays as it is, whatever is done to the device.
    Read,
    /// The same, also for an image whose records are not current: its contents may be old.
    Rescue,
    /// What is flushed survives an end of the process.
    #[default]
    Write,
    /// It survives an end of this machine, too, for which erases wait for its disk.
    WriteDurably,
}

/// What a check of an image found.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// Programmed pages whose bytes were compared with their checksum.
    pub pages: u64,
    /// Those of them that cannot be read.
    pub spoilt_pages: Vec<u32>,
    /// The invariant of the FTL that is broken; null where all of them hold.
    pub broken: Option<String>,
    /// Records that were found to be spoilt, in sentences.
    pub notices: Vec<String>,
}

impl Checked {
    /// Whether everything is as it should be.
    pub fn is_sound(&self) -> bool {
        self.spoilt_pages.is_empty() && self.broken.is_none() && self.notices.is_empty()
    }
}

fn of_image(error: &BackedError) -> LabError {
    match error {
        BackedError::Stale { .. } => {
            let what = "with --rescue, `nandlab disk serve` and `nandlab mount` show what is there, which may be wrong";
            LabError::Io(format!("{error}: {what}"))
        }
        _ => LabError::Io(error.to_string()),
    }
}

impl Served {
    /// Makes the image `path` with the device that `experiment` describes, formatted.
    ///
    /// # Errors
    /// [`LabError::Io`] where the file exists or cannot be written; options that do not fit. No file is left then.
    pub fn create(path: &Path, experiment: &Experiment) -> Result<(), LabError> {
        let sizing = experiment.sizing()?;
        let mut value: serde_json::Value = serde_json::from_str(&experiment.to_json()).expect("an experiment is JSON");
        if let Some(tables) = value.as_object_mut() {
            // Programs say what is asked, and when.
            ["host", "precondition"].iter().for_each(|table| drop(tables.shift_remove(*table)));
        }
        let identity = format!("{:032x}", drawn());
        let text = Text { version: env!("CARGO_PKG_VERSION").to_owned(), identity, experiment: value };
        let text = json::text(&text);
        let buffer = experiment.buffer.as_ref().map_or(0, |buffer| buffer.nvram_bytes(&sizing.geometry));
        let nvram = experiment.fs.as_ref().map_or(buffer, |fs| buffer.max(fs.nvram_bytes(&sizing.geometry)));
        let rules = experiment.device.profile.rules;
        let nvram = nvram.next_multiple_of(8);
        let device =
            Backed::create_with(path, sizing.geometry, rules, nvram, text).map_err(|error| of_image(&error))?;
        let mounted = stack::open(experiment, &sizing, Logs::default(), Start::Image(Box::new(device)));
        mounted.and_then(|mut engine| files::format(experiment, &mut *engine)).map_err(|error| {
            // The error to report is the one of the mount.
            let _ = std::fs::remove_file(path);
            experiment.located(error)
        })
    }

    /// What the image `path` is, as JSON; it may be in use.
    ///
    /// # Errors
    /// [`LabError::Io`] where it is no image, or damaged.
    pub fn info(path: &Path) -> Result<serde_json::Value, LabError> {
        let of_image = |error: BackedError| of_image(&error);
        let image = ImageFile::look(path).map_err(of_image)?;
        let experiment = described(&image)?;
        let sizing = experiment.sizing()?;
        let (bytes, allocated) = image.room().map_err(of_image)?;
        let geometry = image.geometry();
        let in_use = image.is_in_use().map_err(of_image)?;
        let header = image.damaged_header().map_err(of_image)?;
        let notice = |which| {
            format!("the {which} of two headers is damaged: the next `nandlab disk serve` or `check` repairs it")
        };
        // Who serves it saves the counts, and changes the records at this moment.
        let in_all = match in_use {
            true => saved(&image)?.all(),
            false => saved(&image)?.up_to(image.recorded_work().map_err(of_image)?),
        };
        Ok(serde_json::json!({
            "made_by": text_of(&image)?.version,
            "in_use": in_use,
            "ftl": experiment.ftl.as_ref().map(nandlab_ftl::FtlConfig::name),
            "buffer": experiment.buffer.as_ref().map(nandlab_buffer::BufferConfig::name),
            "fs": experiment.fs.as_ref().map(nandlab_fs::FsConfig::name),
            "bytes": sizing.logical_bytes(),
            "physical_bytes": u64::from(geometry.pages()) * u64::from(geometry.page_bytes()),
            "page_bytes": geometry.page_bytes(),
            "pages_per_block": geometry.pages_per_block(),
            "blocks": geometry.blocks(),
            "nvram_bytes": image.nvram_bytes(),
            "file_bytes": bytes,
            "allocated_bytes": allocated,
            "in_all": in_all.told(),
            "notices": header.map(notice).into_iter().collect::<Vec<_>>(),
            "experiment": experiment,
        }))
    }

    /// Opens the image `path` and mounts what is in it.
    ///
    /// # Errors
    /// [`LabError::Io`] where the file is no image, is in use or damaged; [`LabError::DeviceFull`] where the device is worn
    /// out.
    pub fn open(path: &Path, access: Access) -> Result<Self, LabError> {
        let opened = match access {
            Access::Read => Backed::open_read_only(path),
            Access::Rescue => Backed::open_to_rescue(path),
            Access::Write | Access::WriteDurably => Backed::open(path),
        };
        let mut device = opened.map_err(|error| of_image(&error))?;
        if access == Access::WriteDurably {
            device.survive_machine();
        }
        let (image, mut notices) = (device.file(), device.notices().to_vec());
        if image.has_lost_state() {
            notices.push("the saved counts are damaged in both copies: those of the host begin again".to_owned());
        }
        let experiment = described(&image)?;
        let sizing = experiment.sizing()?;
        if sizing.geometry != *nandlab_nand::Nand::geometry(&device) {
            return Err(not_ours(&image, "the device of its description has another shape"));
        }
        let identity = identity_of(&image)?;
        let before = saved(&image)?.up_to(image.work());
        let mounted = panic::catch_unwind(AssertUnwindSafe(|| {
            stack::open(&experiment, &sizing, Logs::default(), Start::Image(Box::new(device)))
        }));
        let mut engine = match mounted {
            Ok(engine) => engine.map_err(|error| failed(&image.failure(), error))?,
            // A damaged image may hold what no FTL writes.
            Err(panic) => return Err(not_ours(&image, &format!("the FTL cannot be mounted: {}", said(&*panic)))),
        };
        if experiment.is_bare() {
            notices.extend(engine.on_files().notices());
        }
        nandlab_nand::tables::give_back_free_memory();
        let control = Control::default();
        let mut run = Run::new(&experiment, &sizing, &control, &mut *engine);
        let (mount, meter) = (run.mount_record(), run.meter(0));
        engine.follow_events();
        let start = Mark::of(&mut *engine);
        // What the mount did is not counted as unsaved where this process is killed. A host disk without room stops no reader.
        let _ = keep(&image, &before, false);
        let ids = units::of(&experiment, &sizing).map(|units| units.ids);
        let asked = AskedMeter::new(ids, meter.latency.is_some());
        Ok(Self { experiment, sizing, engine, image, identity, control, meter, asked, start, mount, before, notices })
    }

    /// A number for this image and its copies.
    pub fn identity(&self) -> u128 {
        self.identity
    }

    /// What it was made of.
    pub fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// The counts of blocks and pages.
    pub fn sizing(&self) -> &Sizing {
        &self.sizing
    }

    /// The file.
    pub fn image(&self) -> &ImageFile {
        &self.image
    }

    /// What was found to be spoilt when it was opened, in sentences.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// What opening it cost.
    pub fn mount(&self) -> &MountRecord {
        &self.mount
    }

    /// Sectors that it exports.
    pub fn sectors(&self) -> u64 {
        self.engine.sectors()
    }

    /// The zones of a zoned drive; `None` of any other.
    pub fn zone_shape(&self) -> Option<ZoneShape> {
        self.engine.zone_shape()
    }

    /// The zone that holds `sector`; `None` behind the last one.
    pub fn zone_at(&self, sector: u64) -> Option<ZoneReport> {
        self.engine.zone_at(sector)
    }

    /// Whether a page that was trimmed and flushed reads as zeros from then on, also after a mount.
    pub fn trims_last(&self) -> bool {
        self.experiment.ftl.as_ref().is_some_and(|ftl| ftl.facts().trims == Trims::Durable)
    }

    /// Whether every answered write survives a power cut without a flush: capacitors protect the controller's memory, and
    /// neither the FTL nor a buffer keeps data in memory of its own.
    pub fn writes_last(&self) -> bool {
        let Experiment { device, ftl, buffer, .. } = &self.experiment;
        let is_protected = device.profile.controller.is_some_and(|controller| controller.write_buffer_protected);
        let stores_at_once = |ftl: &FtlConfig| !(ftl.facts().gathers || ftl.has_zones() || ftl.is_elsewhere());
        is_protected && buffer.is_none() && ftl.as_ref().is_some_and(stores_at_once)
    }

    /// Simulated time since it was opened, to the end of the last operation; the mount came before.
    pub fn now(&mut self) -> Time {
        self.engine.now().saturating_sub(self.start.time)
    }

    /// Carries out one request with its bytes; its time counts from the opening, and no request is earlier than one before.
    ///
    /// # Errors
    /// [`Error`], as of any device.
    pub fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        self.submit_from(None, request, data)
    }

    /// The same, for an I/O queue.
    ///
    /// # Errors
    /// As [`Self::submit`].
    pub fn submit_from(
        &mut self,
        queue: Option<QueueId>,
        request: &Request,
        data: Payload<'_>,
    ) -> Result<Completion, Error> {
        let since = self.start.time;
        let request = Request { time: request.time + since, ..*request };
        let submitted = self.engine.requests().submit_one(&request, data);
        let (completion, failed): (_, &[usize]) = match &submitted {
            Ok(completion) => (*completion, &[]),
            Err(error @ (Error::Unreadable { .. } | Error::Zone { .. })) => {
                if matches!(error, Error::Zone { .. }) {
                    self.meter.note_refused(&[request], &[0]);
                }
                let done = self.engine.now().max(request.time);
                (Completion { arrival: request.time, done }, &[0])
            }
            Err(error) => return Err(error.clone()),
        };
        self.meter.add(&[request], &[completion], failed);
        self.asked.add(queue, &request, &completion, submitted.as_ref().err());
        if self.meter.series.is_due(self.meter.host.requests) {
            crate::run::sample(&mut *self.engine, &mut self.meter, &self.start);
        }
        submitted.map(|done| Completion { arrival: done.arrival - since, done: done.done - since })
    }

    /// What was measured since the opening, as a run measures it.
    pub fn record(&mut self) -> Record {
        let mut run = Run::new(&self.experiment, &self.sizing, &self.control, &mut *self.engine);
        let record = run.record(self.meter.clone(), &self.start, (self.mount, None));
        Record { notices: [&self.experiment.notices[..], &self.notices].concat(), ..record }
    }

    /// Who asked for what since the opening.
    pub fn asked(&self) -> AskedBy {
        self.asked.told()
    }

    /// Everything since the image was made.
    pub fn lifetime(&mut self) -> Lifetime {
        let matrix = self.engine.matrix().since(&self.start.matrix);
        let mut all = self.before.clone();
        all.sessions += 1;
        let now = self.now();
        all.add(&self.meter.host, &matrix, now);
        all
    }

    /// Sectors that the host wrote since the opening.
    pub fn written_sectors(&self) -> u64 {
        self.meter.host.written_sectors
    }

    /// Keeps the counts in the image, which goes on from them when it is opened again; more requests may come.
    ///
    /// # Errors
    /// [`LabError::Io`].
    pub fn save(&mut self) -> Result<(), LabError> {
        let all = self.lifetime();
        keep(&self.image, &all, true)
    }

    /// Keeps the counts in the image, and that they are all.
    ///
    /// # Errors
    /// [`LabError::Io`].
    pub fn save_last(&mut self) -> Result<(), LabError> {
        let all = self.lifetime();
        keep(&self.image, &all, false)
    }

    /// Derives every invariant of the FTL anew from flash, and compares the bytes of every page with their checksum.
    ///
    /// # Errors
    /// [`LabError::Io`] where the image cannot be read.
    pub fn check(&mut self) -> Result<Checked, LabError> {
        let verified = self.engine.verify().expect("an image keeps checksums");
        let verified = verified.map_err(|_| failed(&self.image.failure(), LabError::PowerLost))?;
        let checked = panic::catch_unwind(AssertUnwindSafe(|| self.engine.check()));
        Ok(Checked {
            pages: verified.pages,
            spoilt_pages: verified.spoilt.iter().map(|page| page.0).collect(),
            broken: checked.err().map(|panic| said(&*panic)),
            notices: self.notices.clone(),
        })
    }
}

/// The counts that the image has; none if nothing was saved, or both copies are damaged.
fn saved(image: &ImageFile) -> Result<Saved, LabError> {
    let Some(state) = image.state() else { return Ok(Saved::default()) };
    serde_json::from_str(&state)
        .map_err(|_| not_ours(image, "its counts are in a form that this program does not read"))
}

/// Keeps `all` in the image, with what the flash did until now.
fn keep(image: &ImageFile, all: &Lifetime, in_use: bool) -> Result<(), LabError> {
    let saved = Saved::new(all.clone(), image.work(), in_use);
    let state = json::text(&saved);
    image.save_state(&state).map_err(|error| of_image(&error))
}

/// Why an image that failed did so, where it has.
fn failed(failure: &Failure, error: LabError) -> LabError {
    failure.get().map_or(error, of_image)
}

fn not_ours(image: &ImageFile, why: &str) -> LabError {
    LabError::Io(format!("the image {} cannot be used: {why}", image.path().display()))
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
    text.unwrap_or("no reason given").to_owned()
}

fn text_of(image: &ImageFile) -> Result<Text, LabError> {
    serde_json::from_str(image.text()).map_err(|_| not_ours(image, "its header describes no disk"))
}

fn identity_of(image: &ImageFile) -> Result<u128, LabError> {
    let digits = text_of(image)?.identity;
    u128::from_str_radix(&digits, 16).map_err(|_| not_ours(image, "its header describes no disk"))
}

/// A random number: an image's name among others, which no result depends on.
fn drawn() -> u128 {
    use std::hash::BuildHasher;
    let random = std::hash::RandomState::new();
    u128::from(random.hash_one(0)) << 64 | u128::from(random.hash_one(1))
}

/// The experiment that an image was made from.
fn described(image: &ImageFile) -> Result<Experiment, LabError> {
    let text = text_of(image)?;
    let experiment = text.experiment.to_string();
    Experiment::parse_disk(&experiment, Format::Json, "", Path::new(""), &[]).map_err(|error| match error {
        LabError::Config(error) => {
            let ConfigError { message, .. } = *error;
            not_ours(image, &format!("version {} wrote its description: {message}", text.version))
        }
        other => other,
    })
}
