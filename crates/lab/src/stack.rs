//! From a checked description to a running stack: device, wrappers, FTL and buffer, or a file system on bare flash.
//!
//! [`open`] gives an [`Engine`] that owns everything below it and can go to another thread.

mod disk;
mod engine;
pub(crate) mod new_file;
mod on_directory;
mod on_flash;
pub(crate) mod oplog;
pub(crate) mod timeline;
pub(crate) mod verify;

pub use engine::{BufferCounts, Door, Engine, Files, NvramState, Requests};
pub use nandlab_drive::{BlockKind, Chip};
pub use oplog::OpLog;
pub use timeline::{Parts, Timeline};

use crate::config::{key_error, Device, Experiment, Memory, Model, Sizing};
use crate::error::{ConfigError, LabError};
use disk::{Bare, Below, Stack};
use engine::Mounted;
use nandlab_block::{EarlyBuffer, Error};
use nandlab_buffer::{BufferConfig, MountError};
use nandlab_fs::{FsConfig, FsError, Over};
use nandlab_ftl::{FtlConfig, FtlError};
use nandlab_nand::aging::Aging;
use nandlab_nand::backed::{Backed, Image, ImageFile};
use nandlab_nand::counting::{Full, Lean, SpareStore};
use nandlab_nand::faulty::{self, Faulty};
use nandlab_nand::nvm::{CountedNvram, Nvm, NvmCost, Nvram};
use nandlab_nand::plain::WithContent;
use nandlab_nand::slc::Metered;
use nandlab_nand::timed::Timed;
use nandlab_nand::traced::{OpRecord, OpSink, Traced};
use nandlab_nand::work::Work;
use nandlab_nand::{tables, Counting, NandError};

use on_directory::OnDirectory;
use on_flash::OnFlash;
use verify::Oracle;

/// Who hears of a device's operations.
#[derive(Clone, Copy, Default)]
pub struct Logs<'a> {
    /// The operation log.
    pub log: Option<&'a OpLog>,
    /// The timeline.
    pub timeline: Option<&'a Timeline>,
}

impl Logs<'_> {
    fn sink(&self) -> Option<Box<dyn OpSink>> {
        match (self.log, self.timeline) {
            (None, None) => None,
            (Some(log), None) => Some(log.sink()),
            (None, Some(timeline)) => Some(Box::new(timeline.clone())),
            (Some(log), Some(timeline)) => Some(Box::new(Both(log.sink(), timeline.clone()))),
        }
    }
}

/// Both hear of each operation.
struct Both(Box<dyn OpSink>, Timeline);

impl OpSink for Both {
    fn record(&mut self, record: &OpRecord) {
        self.0.record(record);
    }

    fn record_work(&mut self, record: &OpRecord, work: &[Work]) {
        self.0.record_work(record, work);
        self.1.record_work(record, work);
    }
}

/// A device's initial state.
pub enum Start {
    /// Erased.
    Erased,
    /// Erased, with whole spare areas stored, so its final state can be saved.
    Kept,
    /// An earlier device's saved state.
    At(Box<Counting>),
    /// In an image, with its NVRAM beside it.
    Image(Box<Backed<Image>>),
}

impl Start {
    fn device(self) -> Option<Counting> {
        match self {
            Self::Erased | Self::Kept | Self::Image(_) => None,
            Self::At(device) => Some(*device),
        }
    }

    /// The file that the device is in.
    fn image(&self) -> Option<ImageFile> {
        match self {
            Self::Image(device) => Some(device.file()),
            Self::Erased | Self::Kept | Self::At(_) => None,
        }
    }
}

/// Assembles the stack for `experiment`.
///
/// It is a real directory, or one of three stacks: lean counting, timed counting, and a boxed one for bytes,
/// faults, operation logs, aging cells, suspended erases and multi-plane programs. A buffer needs only one call
/// per request, so it does not multiply the number of stacks.
///
/// # Errors
/// Options refused by the device; a worn-out or damaged device.
pub fn open(
    experiment: &Experiment,
    sizing: &Sizing,
    logs: Logs<'_>,
    start: Start,
) -> Result<Box<dyn Engine>, LabError> {
    let Experiment { device, buffer, memory, seed, .. } = experiment;
    let Some(ftl) = &experiment.ftl else {
        let fs = experiment.fs.as_ref().expect("an experiment without an FTL was checked to have a file system");
        if fs.over() == Over::Directory {
            let taken = fs.take(&experiment.base).map_err(|error| unmountable(fs, error))?;
            return Ok(Box::new(OnDirectory::new(taken)));
        }
        return match start {
            Start::Image(image) => open_on_image(fs, device, *image),
            _ => open_on_flash(fs, device, *seed, sizing, logs),
        };
    };
    let image = start.image();
    let mount = |buffer| mount_buffer(buffer, memory.as_ref(), (device.model, image.as_ref()), sizing);
    let buffer = buffer.as_ref().map(mount).transpose()?;
    // A firmware's chip is lost with the firmware.
    let mounts_again = experiment.fs.is_some() && !ftl.is_elsewhere();
    let pages = u64::from(sizing.logical_pages);
    let is_filled = !matches!(start, Start::Erased) || experiment.precondition.fill.filled(pages) > pages / 2;
    let assembly = Assembly { device, buffer, mounts_again, start, seed: *seed, sizing, logs };
    tables::to_be_filled(is_filled, || assembly.open(ftl))
}

/// A file system on the bare device. A counting device stores whole spare areas, for the mount at the end.
fn open_on_flash(
    fs: &FsConfig,
    device: &Device,
    seed: u64,
    sizing: &Sizing,
    logs: Logs<'_>,
) -> Result<Box<dyn Engine>, LabError> {
    let refuse = |error| unmountable(fs, error);
    if is_boxed(device, logs, false) {
        let nand = boxed_device::<Full>(device, seed, sizing, (logs, false), None)?;
        return Ok(Box::new(OnFlash::mount(fs, nand).map_err(refuse)?));
    }
    let counting = Counting::<Full>::new(sizing.geometry, device.profile.rules);
    if device.model == Model::Counting {
        return Ok(Box::new(OnFlash::mount(fs, counting).map_err(refuse)?));
    }
    Ok(Box::new(OnFlash::mount(fs, Timed::new(counting, &device.profile.timing)).map_err(refuse)?))
}

/// A file system on the bare device in an image, which also has its NVRAM.
fn open_on_image(fs: &FsConfig, device: &Device, image: Backed<Image>) -> Result<Box<dyn Engine>, LabError> {
    let refuse = |error| unmountable(fs, error);
    let empty = fs.nvram(nandlab_nand::Nand::geometry(&image));
    let nvram = match Nvm::bytes(&empty) {
        0 => empty,
        _ => image.file().nvram_in_memory(empty.cost()).map_err(|error| LabError::Io(error.to_string()))?,
    };
    let nand = image_device(device, image, false);
    Ok(Box::new(OnFlash::mount_with(fs, nand, nvram).map_err(refuse)?))
}

/// The error if a file system cannot be made.
pub(crate) fn unmountable(fs: &FsConfig, error: FsError) -> LabError {
    match error {
        FsError::Option { .. } => key_error(fs.name(), &error).into(),
        FsError::Device(Error::PowerLost) => LabError::PowerLost,
        other => LabError::DeviceFull(format!("the device cannot be used: {other}")),
    }
}

/// Whether the experiment needs the stack with all features; `slc`: it has blocks with one bit per cell.
fn is_boxed(device: &Device, logs: Logs<'_>, slc: bool) -> bool {
    let has_extras = device.model == Model::Timed && device.profile.timing.has_extras();
    let fails = device.faults.is_some() || device.reliability.is_some();
    logs.sink().is_some() || fails || device.model == Model::Bytes || has_extras || slc
}

/// A buffer over its own NVRAM; the NVRAM has contents if the device has.
fn mount_buffer(
    config: &BufferConfig,
    memory: Option<&Memory>,
    (model, image): (Model, Option<&ImageFile>),
    sizing: &Sizing,
) -> Result<Mounted, LabError> {
    let bytes = config.nvram_bytes(&sizing.geometry);
    let cost = memory.map_or(NvmCost::default(), |memory| memory.nvram.costs.by_words());
    let mut nvram: Box<dyn Nvm> = match model {
        Model::Bytes if image.is_some_and(|image| image.nvram_bytes() >= bytes) => {
            Box::new(image.expect("it has enough bytes").nvram(cost))
        }
        Model::Bytes => Box::new(Nvram::new(bytes, cost)),
        Model::Timed | Model::Counting => Box::new(CountedNvram::new(bytes, cost)),
    };
    let mut buffer = config.mount(&sizing.geometry, &mut *nvram).map_err(|error| match error {
        MountError::Config(message) => {
            let key = Some(format!("buffer.{}", config.name()));
            ConfigError { message, key, ..Default::default() }.into()
        }
        MountError::PowerLost => LabError::PowerLost,
    })?;
    if let Some(memory) = memory {
        let (read_ns, write_ns) = memory.dram.costs.times_ns(sizing.geometry.page_bytes().into());
        buffer.set_dram_times(read_ns, write_ns);
    }
    Ok(Mounted { buffer, nvram })
}

struct Assembly<'a> {
    device: &'a Device,
    buffer: Option<Mounted>,
    /// A file system reports its mount cost, so the device stores whole spare areas.
    mounts_again: bool,
    start: Start,
    seed: u64,
    sizing: &'a Sizing,
    logs: Logs<'a>,
}

impl Assembly<'_> {
    fn open(self, ftl: &FtlConfig) -> Result<Box<dyn Engine>, LabError> {
        let Self { device, buffer, mounts_again, start, seed, sizing, logs } = self;
        let mut ftl = ftl.clone();
        ftl.set_seed(seed);
        let slc = ftl.facts().slc.is_some();
        let (geometry, rules) = (sizing.geometry, device.profile.rules);
        let pages = sizing.logical_pages;
        let is_image = matches!(start, Start::Image(_));
        if mounts_again || is_boxed(device, logs, slc) || matches!(start, Start::Kept) {
            let nand = match start {
                Start::Image(image) => image_device(device, *image, slc),
                Start::Erased if !mounts_again => boxed_device::<Lean>(device, seed, sizing, (logs, slc), None)?,
                start => boxed_device::<Full>(device, seed, sizing, (logs, slc), start.device())?,
            };
            let mounted = nandlab_drive::on(&ftl, nand, pages).map_err(|refused| mount_error(refused.error))?;
            let drive = Below::Boxed(mounted);
            if is_image {
                let stack = Stack::new(drive, buffer, Box::new(Bare));
                return Ok(Box::new(stack.answering_early(volatile_buffer(device))));
            }
            if device.model == Model::Bytes {
                let has_bit_errors = device.faults.as_ref().is_some_and(|faults| faults.bit_errors.is_some());
                let oracle = Oracle::new(sizing.sectors(), has_bit_errors || device.reliability.is_some());
                return Ok(Box::new(Stack::new(drive, buffer, Box::new(oracle)).mounting(mounts_again)));
            }
            return Ok(Box::new(Stack::new(drive, buffer, Box::new(Bare)).mounting(mounts_again)));
        }
        let timed = device.model == Model::Timed;
        let timing = &device.profile.timing;
        let drive = match start.device() {
            Some(kept) if timed => nandlab_drive::timed_from(&ftl, Timed::new(kept, timing), pages),
            Some(kept) => nandlab_drive::counting_from(&ftl, kept, pages),
            None if timed => nandlab_drive::timed(&ftl, Timed::new(Counting::new(geometry, rules), timing), pages),
            None => nandlab_drive::counting(&ftl, Counting::new(geometry, rules), pages),
        };
        Ok(Box::new(Stack::new(Below::Lean(drive.map_err(mount_error)?), buffer, Box::new(Bare))))
    }
}

/// The controller's write buffer, if a power cut takes what is in it.
fn volatile_buffer(device: &Device) -> Option<EarlyBuffer> {
    let controller = device.profile.controller.filter(|one| one.write_buffer_bytes > 0 && !one.write_buffer_protected);
    controller.map(|one| EarlyBuffer::new(usize::try_from(one.write_buffer_bytes).unwrap_or(usize::MAX), false))
}

/// The device of the boxed stack that is in an image.
fn image_device(device: &Device, image: Backed<Image>, slc: bool) -> Box<dyn nandlab_drive::Device> {
    let timing = &device.profile.timing;
    let timed: Box<dyn nandlab_drive::Device> = match slc || timing.has_extras() {
        true => Box::new(Timed::with_extras(image, timing)),
        false => Box::new(Timed::new(image, timing)),
    };
    if slc {
        Box::new(Metered::new(timed))
    } else {
        timed
    }
}

/// The device of the boxed stack, from the inside out: counts or bytes, time, faults, counts of blocks of one
/// bit a cell, operation log, aging cells, whose retries appear in the log. `S` stores the spare areas on a
/// device without bytes.
fn boxed_device<S: SpareStore + 'static>(
    device: &Device,
    seed: u64,
    sizing: &Sizing,
    (logs, slc): (Logs<'_>, bool),
    start: Option<Counting<S>>,
) -> Result<Box<dyn nandlab_drive::Device>, LabError> {
    let (geometry, rules) = (sizing.geometry, device.profile.rules);
    let timing = &device.profile.timing;
    let has_extras = slc || timing.has_extras();
    let counting = || start.unwrap_or_else(|| Counting::new(geometry, rules));
    let mut nand: Box<dyn nandlab_drive::Device> = match device.model {
        Model::Bytes if has_extras => Box::new(Timed::with_extras(Backed::ram(geometry, rules), timing)),
        Model::Bytes => Box::new(Timed::new(Backed::ram(geometry, rules), timing)),
        Model::Timed if has_extras => Box::new(Timed::with_extras(WithContent::new(counting()), timing)),
        Model::Timed => Box::new(Timed::new(WithContent::new(counting()), timing)),
        Model::Counting => Box::new(WithContent::new(counting())),
    };
    if let Some(faults) = &device.faults {
        let mut faults = faults.clone();
        if faults.seed == 0 {
            faults.seed = seed;
        }
        nand = Box::new(Faulty::new(nand, faults).map_err(|error| of_device("faults", &error))?);
    }
    if slc {
        nand = Box::new(Metered::new(nand));
    }
    if let Some(sink) = logs.sink() {
        nand = Box::new(Traced::new(nand, sink));
    }
    if let Some(reliability) = &device.reliability {
        nand = Box::new(Aging::new(nand, reliability.clone()).map_err(|error| of_device("reliability", &error))?);
    }
    Ok(nand)
}

/// An error in a device table.
fn of_device(table: &str, error: &faulty::ConfigError) -> LabError {
    let key = Some(format!("device.{table}.{}", error.key));
    ConfigError { message: format!("device.{table}.{error}"), key, ..Default::default() }.into()
}

fn mount_error(error: FtlError) -> LabError {
    match error {
        FtlError::Config(message) => ConfigError { message, ..Default::default() }.into(),
        FtlError::Nand(NandError::PowerLost) => LabError::PowerLost,
        worn => LabError::DeviceFull(format!("the device cannot be used: {worn}")),
    }
}
