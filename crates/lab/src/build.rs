//! From an experiment to an FTL on a device.

use crate::config::{key_and_message, Device, Experiment, Memory, Model, Sizing};
use crate::engine::{self, Bare, Engine, Mounted, Stack};
use crate::error::{ConfigError, LabError};
use crate::on_directory::OnDirectory;
use crate::on_flash::OnFlash;
use crate::oplog::OpLog;
use crate::verify::Oracle;
use nandlab_block::Error;
use nandlab_buffer::{BufferConfig, MountError};
use nandlab_fs::{FsConfig, FsError, Over};
use nandlab_ftl::{Disk, Ftl, FtlError, Visitor};
use nandlab_nand::aging::Aging;
use nandlab_nand::backed::Backed;
use nandlab_nand::counting::{Full, Lean, SpareStore};
use nandlab_nand::faulty::{self, Faulty};
use nandlab_nand::nvm::{CountedNvram, Nvm, NvmCost, Nvram};
use nandlab_nand::plain::WithContent;
use nandlab_nand::slc::Metered;
use nandlab_nand::timed::Timed;
use nandlab_nand::traced::Traced;
use nandlab_nand::{scoped, Cause, Counting, Nand, NandError};

/// What a device begins as.
pub(crate) enum Start {
    /// Erased.
    Erased,
    /// Erased, and one that keeps whole spare areas: what it holds in the end is to be taken out.
    Kept,
    /// As one that was taken out.
    At(Box<Counting>),
}

impl Start {
    fn device(self) -> Option<Counting> {
        match self {
            Self::Erased | Self::Kept => None,
            Self::At(device) => Some(*device),
        }
    }
}

/// Assembles what `experiment` asks for and hands it to `work`.
///
/// A real directory, or one of three stacks: lean counting, timed counting, and a boxed one for bytes, faults, operation logs,
/// cells that age, erases that are suspended and planes that program together. A buffer is called once a request, so it
/// multiplies none of them.
pub(crate) fn with_engine<R>(
    experiment: &Experiment,
    sizing: &Sizing,
    log: Option<&OpLog>,
    start: Start,
    work: impl FnOnce(&mut dyn Engine) -> Result<R, LabError>,
) -> Result<R, LabError> {
    let Experiment { device, buffer, memory, seed, .. } = experiment;
    let Some(ftl) = &experiment.ftl else {
        let fs = experiment.fs.as_ref().expect("an experiment without an FTL was checked to have a file system");
        if fs.over() == Over::Directory {
            let taken = fs.take(&experiment.base).map_err(|error| unmountable(fs, error))?;
            return work(&mut OnDirectory::new(taken));
        }
        return on_flash(fs, device, *seed, sizing, log, work);
    };
    let buffer =
        buffer.as_ref().map(|buffer| mount_buffer(buffer, memory.as_ref(), device.model, sizing)).transpose()?;
    let mounts_again = experiment.fs.is_some();
    ftl.dispatch(Assembly { device, buffer, mounts_again, start, seed: *seed, sizing, log, work })
}

/// A file system on the bare device. The one that counts keeps whole spare areas, from which it is mounted at the end.
fn on_flash<R>(
    fs: &FsConfig,
    device: &Device,
    seed: u64,
    sizing: &Sizing,
    log: Option<&OpLog>,
    work: impl FnOnce(&mut dyn Engine) -> Result<R, LabError>,
) -> Result<R, LabError> {
    let refuse = |error| unmountable(fs, error);
    if is_boxed(device, log, false) {
        let nand = boxed_device::<Full>(device, seed, sizing, (log, false), None)?;
        return work(&mut OnFlash::mount(fs, nand).map_err(refuse)?);
    }
    let counting = Counting::<Full>::new(sizing.geometry, device.profile.rules);
    if device.model == Model::Counting {
        return work(&mut OnFlash::mount(fs, counting).map_err(refuse)?);
    }
    work(&mut OnFlash::mount(fs, Timed::new(counting, &device.profile.timing)).map_err(refuse)?)
}

/// Why a file system cannot be made.
pub(crate) fn unmountable(fs: &FsConfig, error: FsError) -> LabError {
    match error {
        FsError::Option { .. } => {
            let (key, message) = key_and_message(fs.name(), &error);
            ConfigError::of_key((key, message)).into()
        }
        FsError::Device(Error::PowerLost) => LabError::PowerLost,
        other => LabError::DeviceFull(format!("the device cannot be used: {other}")),
    }
}

/// Whether the experiment needs the stack that can do everything; `slc`: it has blocks of one bit a cell.
fn is_boxed(device: &Device, log: Option<&OpLog>, slc: bool) -> bool {
    let has_extras = device.model == Model::Timed && device.profile.timing.has_extras();
    let fails = device.faults.is_some() || device.reliability.is_some();
    log.is_some() || fails || device.model == Model::Bytes || has_extras || slc
}

/// A buffer over NVRAM of its own, which has contents where the device has.
fn mount_buffer(
    config: &BufferConfig,
    memory: Option<&Memory>,
    model: Model,
    sizing: &Sizing,
) -> Result<Mounted, LabError> {
    let bytes = config.nvram_bytes(&sizing.geometry);
    let cost = memory.map_or(NvmCost::default(), |memory| memory.nvram.costs.by_words());
    let mut nvram: Box<dyn Nvm> = match model {
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

struct Assembly<'a, W> {
    device: &'a Device,
    buffer: Option<Mounted>,
    /// A file system asks what a mount costs, so whole spare areas are kept.
    mounts_again: bool,
    start: Start,
    seed: u64,
    sizing: &'a Sizing,
    log: Option<&'a OpLog>,
    work: W,
}

impl<R, W: FnOnce(&mut dyn Engine) -> Result<R, LabError>> Visitor for Assembly<'_, W> {
    type Out = Result<R, LabError>;

    fn visit<F: Ftl>(self, config: &F::Config) -> Self::Out {
        let Self { device, buffer, mounts_again, start, seed, sizing, log, work } = self;
        let mut config = config.clone();
        F::set_seed(&mut config, seed);
        let config = &config;
        let slc = F::uses_slc(config);
        let (geometry, rules) = (sizing.geometry, device.profile.rules);
        let pages = sizing.logical_pages;
        if mounts_again || is_boxed(device, log, slc) || matches!(start, Start::Kept) {
            let nand = match start {
                Start::Erased if !mounts_again => boxed_device::<Lean>(device, seed, sizing, (log, slc), None)?,
                start => boxed_device::<Full>(device, seed, sizing, (log, slc), start.device())?,
            };
            let disk = Disk::<F, _>::mount(nand, pages, config).map_err(mount_error)?;
            let again = mounts_again.then(|| config.clone());
            if device.model == Model::Bytes {
                let has_bit_errors = device.faults.as_ref().is_some_and(|faults| faults.bit_errors.is_some());
                let oracle = Oracle::new(sizing.sectors(), has_bit_errors || device.reliability.is_some());
                return work(&mut Stack::new(disk, buffer, oracle).mounting(again));
            }
            return work(&mut Stack::new(disk, buffer, Bare).mounting(again));
        }
        if let Some(mut kept) = start.device() {
            // The lean form cannot be mounted, but goes on where the full one was.
            if device.model == Model::Counting {
                let ftl = mounted::<F, _>(&mut kept, pages, config)?;
                return work(&mut Stack::new(Disk::assemble(ftl, kept.into_lean()), buffer, Bare));
            }
            let mut timed = Timed::new(kept, &device.profile.timing);
            let ftl = mounted::<F, _>(&mut timed, pages, config)?;
            return work(&mut Stack::new(Disk::assemble(ftl, timed.map(Counting::into_lean)), buffer, Bare));
        }
        let counting = Counting::<Lean>::new(geometry, rules);
        if device.model == Model::Counting {
            let disk = Disk::<F, _>::mount(counting, pages, config).map_err(mount_error)?;
            return work(&mut Stack::new(disk, buffer, Bare));
        }
        let timed = Timed::new(counting, &device.profile.timing);
        let disk = Disk::<F, _>::mount(timed, pages, config).map_err(mount_error)?;
        work(&mut Stack::new(disk, buffer, Bare))
    }
}

/// The FTL, mounted on a device that may be given another form.
fn mounted<F: Ftl, N: Nand>(nand: &mut N, pages: u32, config: &F::Config) -> Result<F, LabError> {
    scoped(nand, Cause::Mount, |nand| F::mount(nand, pages, config)).map_err(mount_error)
}

/// The device of the boxed stack, from the inside out: counts or bytes, time, faults, counts of blocks of one bit a cell,
/// operation log, aging cells, whose retries the log shows; `S` is what one
/// without bytes keeps of spare areas.
fn boxed_device<S: SpareStore + 'static>(
    device: &Device,
    seed: u64,
    sizing: &Sizing,
    (log, slc): (Option<&OpLog>, bool),
    start: Option<Counting<S>>,
) -> Result<Box<dyn engine::Device>, LabError> {
    let (geometry, rules) = (sizing.geometry, device.profile.rules);
    let timing = &device.profile.timing;
    let has_extras = slc || timing.has_extras();
    let counting = || start.unwrap_or_else(|| Counting::new(geometry, rules));
    let mut nand: Box<dyn engine::Device> = match device.model {
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
    if let Some(log) = log {
        nand = Box::new(Traced::new(nand, log.sink()));
    }
    if let Some(reliability) = &device.reliability {
        nand = Box::new(Aging::new(nand, reliability.clone()).map_err(|error| of_device("reliability", &error))?);
    }
    Ok(nand)
}

/// What is wrong in a table of the device.
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
