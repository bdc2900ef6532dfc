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
use nandlab_nand::backed::Backed;
use nandlab_nand::counting::{Full, Lean, SpareStore};
use nandlab_nand::faulty::{self, Faulty};
use nandlab_nand::nvm::{CountedNvram, Nvm, NvmCost, Nvram};
use nandlab_nand::plain::WithContent;
use nandlab_nand::timed::Timed;
use nandlab_nand::traced::Traced;
use nandlab_nand::{Counting, NandError};

/// Assembles what `experiment` asks for and hands it to `work`.
///
/// A real directory, or one of three stacks: lean counting, timed counting, and a boxed one for bytes, faults and operation logs. A buffer is
/// called once a request, so it multiplies none of them.
pub(crate) fn with_engine<R>(
    experiment: &Experiment,
    sizing: &Sizing,
    log: Option<&OpLog>,
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
    ftl.dispatch(Assembly { device, buffer, mounts_again, seed: *seed, sizing, log, work })
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
    if is_boxed(device, log) {
        return work(&mut OnFlash::mount(fs, boxed_device::<Full>(device, seed, sizing, log)?).map_err(refuse)?);
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
            ConfigError { message, key: Some(key), ..Default::default() }.into()
        }
        FsError::Device(Error::PowerLost) => LabError::PowerLost,
        other => LabError::DeviceFull(format!("the device cannot be used: {other}")),
    }
}

/// Whether the experiment needs the stack that can do everything.
fn is_boxed(device: &Device, log: Option<&OpLog>) -> bool {
    log.is_some() || device.faults.is_some() || device.model == Model::Bytes
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
    seed: u64,
    sizing: &'a Sizing,
    log: Option<&'a OpLog>,
    work: W,
}

impl<R, W: FnOnce(&mut dyn Engine) -> Result<R, LabError>> Visitor for Assembly<'_, W> {
    type Out = Result<R, LabError>;

    fn visit<F: Ftl>(self, config: &F::Config) -> Self::Out {
        let Self { device, buffer, mounts_again, seed, sizing, log, work } = self;
        let mut config = config.clone();
        F::set_seed(&mut config, seed);
        let config = &config;
        let (geometry, rules) = (sizing.geometry, device.profile.rules);
        let pages = sizing.logical_pages;
        if mounts_again || is_boxed(device, log) {
            let nand = if mounts_again {
                boxed_device::<Full>(device, seed, sizing, log)?
            } else {
                boxed_device::<Lean>(device, seed, sizing, log)?
            };
            let disk = Disk::<F, _>::mount(nand, pages, config).map_err(mount_error)?;
            let again = mounts_again.then(|| config.clone());
            if device.model == Model::Bytes {
                return work(&mut Stack::new(disk, buffer, Oracle::new(sizing.sectors())).mounting(again));
            }
            return work(&mut Stack::new(disk, buffer, Bare).mounting(again));
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

/// The device of the boxed stack, from the inside out: counts or bytes, time, faults, operation log; `S` is what one
/// without bytes keeps of spare areas.
fn boxed_device<S: SpareStore + 'static>(
    device: &Device,
    seed: u64,
    sizing: &Sizing,
    log: Option<&OpLog>,
) -> Result<Box<dyn engine::Device>, LabError> {
    let (geometry, rules) = (sizing.geometry, device.profile.rules);
    let timing = &device.profile.timing;
    let mut nand: Box<dyn engine::Device> = match device.model {
        Model::Bytes => Box::new(Timed::new(Backed::ram(geometry, rules), timing)),
        Model::Timed => Box::new(Timed::new(WithContent::new(Counting::<S>::new(geometry, rules)), timing)),
        Model::Counting => Box::new(WithContent::new(Counting::<S>::new(geometry, rules))),
    };
    if let Some(faults) = &device.faults {
        let mut faults = faults.clone();
        if faults.seed == 0 {
            faults.seed = seed;
        }
        nand = Box::new(Faulty::new(nand, faults).map_err(|error| fault_error(&error))?);
    }
    if let Some(log) = log {
        nand = Box::new(Traced::new(nand, log.sink()));
    }
    Ok(nand)
}

fn fault_error(error: &faulty::ConfigError) -> LabError {
    let key = Some(format!("device.faults.{}", error.key));
    ConfigError { message: format!("device.faults.{error}"), key, ..Default::default() }.into()
}

fn mount_error(error: FtlError) -> LabError {
    match error {
        FtlError::Config(message) => ConfigError { message, ..Default::default() }.into(),
        FtlError::Nand(NandError::PowerLost) => LabError::PowerLost,
        worn => LabError::DeviceFull(format!("the device cannot be used: {worn}")),
    }
}
