//! An FTL mounted on a device, each chosen at run time.
//!
//! FTLs are generic over the device, so a counting run compiles into one loop. This loop is worth its compile time
//! once: this crate compiles the FTLs; `lab`, the crates above it and the proofs call the functions here.
//!
//! | device | function | for | FTLs |
//! |---|---|---|---|
//! | `Box<dyn Device>` | [`on`] | bytes, faults, cells that age, power cuts, operation logs, suspended erases | all |
//! | `Counting<Lean>` | [`counting`] | counts without time | those whose [`Ftl::OWN_LOOPS`] has it; the others in a box |
//! | `Timed<Counting<Lean>>` | [`timed`] | the default | the same |
//!
//! Every mount runs in a box: recovery happens once a run, so it is compiled once.

mod chip;

pub use chip::{BlockKind, Busy, Chip, Device};

use nandlab_block::{BlockDevice, Completion, Error, HostClock, Payload, RamUse, Request, ZoneReport, ZoneShape};
use nandlab_ftl::{BlockState, Disk, Events, Ftl, FtlConfig, FtlError, Uses, Visitor};
use nandlab_nand::backed::Verified;
use nandlab_nand::counting::Lean;
use nandlab_nand::plain::WithContent;
use nandlab_nand::timed::Timed;
use nandlab_nand::{BlockId, Counting, Ctx, Nand, NandError, Time, Timeline};

/// An FTL on a device.
pub trait Drive: BlockDevice + Send {
    /// Device counts, times and attribution.
    fn ctx(&mut self) -> &mut Ctx;

    /// Device information beside operations.
    fn chip(&self) -> &dyn Chip;

    /// As [`Chip::lie`].
    fn lie(&mut self, ns: Time);

    /// As [`Chip::verify`].
    fn verify(&mut self) -> Option<Result<Verified, NandError>>;

    /// As [`Ftl::logical_pages`].
    fn logical_pages(&self) -> u32;

    /// As [`Ftl::ram`].
    fn ram(&self) -> RamUse;

    /// As [`Ftl::events`].
    fn events(&self) -> Events;

    /// As [`Ftl::uses`].
    fn uses(&self) -> Uses;

    /// As [`Ftl::blocks`].
    fn blocks(&self) -> Vec<BlockState>;

    /// As [`Ftl::free_blocks`].
    fn free_blocks(&self) -> u64;

    /// As [`Ftl::log_blocks`].
    fn log_blocks(&self) -> Vec<BlockId>;

    /// The host asks nothing until `until`: the FTL has the time from the last operation's end on.
    ///
    /// # Errors
    /// As [`Ftl::pause`].
    fn idle(&mut self, until: Time) -> Result<(), FtlError>;
}

/// A drive that can be mounted again, and taken apart.
pub trait DriveOn: Drive {
    /// The device.
    fn nand(&self) -> &dyn Device;

    /// The device, to be read or changed.
    fn nand_mut(&mut self) -> &mut dyn Device;

    /// As [`Ftl::check`].
    ///
    /// # Panics
    /// With the invariant and the address that broke it.
    fn check(&mut self);

    /// Drops the RAM state, as a power cut does, and mounts the FTL again with the same options.
    ///
    /// # Errors
    /// As [`Ftl::mount`]; the drive is unusable then.
    fn remount(&mut self) -> Result<(), FtlError>;

    /// Drops the RAM state, as a power cut does, and keeps the flash.
    fn into_nand(self: Box<Self>) -> Box<dyn Device>;
}

/// A drive that cannot be mounted, and its device.
pub struct NotMounted {
    /// Why not.
    pub error: FtlError,
    /// The device as the mount left it.
    pub nand: Box<dyn Device>,
}

/// Mounts an FTL on a device whose type is known only at run time.
///
/// # Errors
/// As [`Ftl::mount`].
pub fn on(ftl: &FtlConfig, nand: Box<dyn Device>, logical_pages: u32) -> Result<Box<dyn DriveOn>, NotMounted> {
    struct On(Box<dyn Device>, u32);
    impl Visitor for On {
        type Out = Result<Box<dyn DriveOn>, NotMounted>;
        fn visit<F: Ftl>(self, config: &F::Config) -> Self::Out {
            let Self(mut nand, logical_pages) = self;
            match mounted::<F>(&mut nand, logical_pages, config) {
                Ok(ftl) => Ok(Box::new(Mounted::<F, _> { disk: Disk::assemble(ftl, nand), config: config.clone() })),
                Err(error) => Err(NotMounted { error, nand }),
            }
        }
    }
    ftl.dispatch(On(nand, logical_pages))
}

/// Mounts an FTL on an erased counting device.
///
/// # Errors
/// As [`Ftl::mount`].
pub fn counting(ftl: &FtlConfig, nand: Counting<Lean>, logical_pages: u32) -> Result<Box<dyn Drive>, FtlError> {
    let lean = |nand| inside::<WithContent<Counting<Lean>>>(nand).into_inner();
    ftl.dispatch(Lent::<_, false> { nand: Box::new(WithContent::new(nand)), logical_pages, lean })
}

/// Mounts an FTL on a counting device in a kept state, and goes on without spare areas: the lean form cannot be
/// mounted, but continues from a mount on the full one.
///
/// # Errors
/// As [`Ftl::mount`].
pub fn counting_from(ftl: &FtlConfig, kept: Counting, logical_pages: u32) -> Result<Box<dyn Drive>, FtlError> {
    let lean = |nand| inside::<WithContent<Counting>>(nand).into_inner().into_lean();
    ftl.dispatch(Lent::<_, false> { nand: Box::new(WithContent::new(kept)), logical_pages, lean })
}

/// As [`counting`], with time.
///
/// # Errors
/// As [`Ftl::mount`].
pub fn timed(ftl: &FtlConfig, nand: Timed<Counting<Lean>>, logical_pages: u32) -> Result<Box<dyn Drive>, FtlError> {
    let lean = |nand| inside::<WithContent<Timed<Counting<Lean>>>>(nand).into_inner();
    ftl.dispatch(Lent::<_, true> { nand: Box::new(WithContent::new(nand)), logical_pages, lean })
}

/// As [`counting_from`], with time.
///
/// # Errors
/// As [`Ftl::mount`].
pub fn timed_from(ftl: &FtlConfig, kept: Timed<Counting>, logical_pages: u32) -> Result<Box<dyn Drive>, FtlError> {
    let lean = |nand| inside::<WithContent<Timed<Counting>>>(nand).into_inner().map(Counting::into_lean);
    ftl.dispatch(Lent::<_, true> { nand: Box::new(WithContent::new(kept)), logical_pages, lean })
}

/// Takes a device with a known type out of its box.
///
/// # Panics
/// If it has another type.
pub fn inside<N: 'static>(nand: Box<dyn Device>) -> N {
    match nand.into_any().downcast() {
        Ok(nand) => *nand,
        Err(_) => panic!("the device is no {}", std::any::type_name::<N>()),
    }
}

/// Mounts an FTL on a boxed device; `lean` then converts it.
struct Lent<N, const TIMED: bool> {
    nand: Box<dyn Device>,
    logical_pages: u32,
    lean: fn(Box<dyn Device>) -> N,
}

impl<N: Nand<Buf = ()> + Chip + Send + 'static, const TIMED: bool> Visitor for Lent<N, TIMED> {
    type Out = Result<Box<dyn Drive>, FtlError>;

    fn visit<F: Ftl>(self, config: &F::Config) -> Self::Out {
        let Self { mut nand, logical_pages, lean } = self;
        let ftl = mounted::<F>(&mut nand, logical_pages, config)?;
        let config = config.clone();
        // The compiler leaves out the other branch.
        if const { F::OWN_LOOPS.has(TIMED) } {
            Ok(Box::new(Mounted::<F, N> { disk: Disk::assemble(ftl, lean(nand)), config }))
        } else {
            Ok(Box::new(Mounted::<F, Box<dyn Device>> { disk: Disk::assemble(ftl, nand), config }))
        }
    }
}

fn mounted<F: Ftl>(nand: &mut Box<dyn Device>, logical_pages: u32, config: &F::Config) -> Result<F, FtlError> {
    F::check_rules(nand.rules())?;
    nandlab_ftl::mount(nand, logical_pages, config)
}

/// A disk, and the options to mount it again.
struct Mounted<F: Ftl, N: Nand> {
    disk: Disk<F, N>,
    config: F::Config,
}

impl<F: Ftl, N: Nand + Chip + Send> BlockDevice for Mounted<F, N> {
    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        self.disk.submit(request, data)
    }

    fn submit_batch(
        &mut self,
        requests: &[Request],
        clock: &mut HostClock,
        done: &mut Vec<Completion>,
    ) -> Result<(), Error> {
        self.disk.submit_batch(requests, clock, done)
    }

    fn prefetch(&self, ahead: &[Request]) {
        self.disk.prefetch(ahead);
    }

    fn look_ups(&self, request: &Request) -> u64 {
        self.disk.look_ups(request)
    }

    fn request_done(&mut self, completion: &Completion) {
        self.disk.request_done(completion);
    }

    fn timeline(&mut self) -> Option<&mut Timeline> {
        self.disk.timeline()
    }

    fn is_same_in_runs(&self) -> bool {
        self.disk.is_same_in_runs()
    }

    fn zone_shape(&self) -> Option<ZoneShape> {
        self.disk.zone_shape()
    }

    fn zone_at(&self, sector: u64) -> Option<ZoneReport> {
        self.disk.zone_at(sector)
    }

    fn sectors(&self) -> u64 {
        self.disk.sectors()
    }
}

impl<F: Ftl, N: Nand + Chip + Send> Drive for Mounted<F, N> {
    fn ctx(&mut self) -> &mut Ctx {
        self.disk.nand_mut().ctx()
    }

    fn chip(&self) -> &dyn Chip {
        self.disk.nand()
    }

    fn lie(&mut self, ns: Time) {
        self.disk.nand_mut().lie(ns);
    }

    fn verify(&mut self) -> Option<Result<Verified, NandError>> {
        self.disk.nand_mut().verify()
    }

    fn logical_pages(&self) -> u32 {
        self.disk.ftl().logical_pages()
    }

    fn ram(&self) -> RamUse {
        self.disk.ftl().ram()
    }

    fn events(&self) -> Events {
        self.disk.ftl().events()
    }

    fn uses(&self) -> Uses {
        self.disk.ftl().uses()
    }

    fn blocks(&self) -> Vec<BlockState> {
        self.disk.ftl().blocks()
    }

    fn free_blocks(&self) -> u64 {
        self.disk.ftl().free_blocks()
    }

    fn log_blocks(&self) -> Vec<BlockId> {
        self.disk.ftl().log_blocks()
    }

    fn idle(&mut self, until: Time) -> Result<(), FtlError> {
        self.disk.idle(until)
    }
}

impl<F: Ftl> DriveOn for Mounted<F, Box<dyn Device>> {
    fn nand(&self) -> &dyn Device {
        &**self.disk.nand()
    }

    fn nand_mut(&mut self) -> &mut dyn Device {
        &mut **self.disk.nand_mut()
    }

    fn check(&mut self) {
        self.disk.check();
    }

    fn remount(&mut self) -> Result<(), FtlError> {
        self.disk.remount(&self.config)
    }

    fn into_nand(self: Box<Self>) -> Box<dyn Device> {
        self.disk.into_nand()
    }
}
