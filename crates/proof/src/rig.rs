//! An FTL with bytes beside the model: each step is carried out on both and compared.

use crate::device::Device;
use crate::disk::Disk;
use crate::model::Model;
use crate::script::Step;
use nandlab_block::{Error, Op, Payload, Request};
use nandlab_ftl::{FtlConfig, FtlError};
use nandlab_nand::aging::{Aging, Config as Errors};
use nandlab_nand::backed::Backed;
use nandlab_nand::faulty::{Config as Faults, Faulty};
use nandlab_nand::power_cut::PowerCut;
use nandlab_nand::timed::Timed;
use nandlab_nand::{NandError, Time, SECTOR_BYTES};

/// The device in every run with bytes; untimed if all operations take no time.
pub type Flash = PowerCut<Powered>;

/// The same device below the power cuts.
pub type Powered = Faulty<Aging<Timed<Backed>>>;

/// A page is read again after this many reads in its block, copies included.
const READS_WITHOUT_RETRY: u32 = 4;

/// Reads disturb so much that most need one retry: the next step corrects everything.
fn errors() -> Errors {
    let bits = 8 * SECTOR_BYTES;
    Errors {
        read_disturb: 1.0 / f64::from(READS_WITHOUT_RETRY * bits),
        read_disturb_wear_exponent: 0.0,
        codeword_bytes: SECTOR_BYTES,
        retry_factor: 0.0,
        ..Errors::new(1)
    }
}

/// How long the host pauses after a flush, in ns: several copies and an erase.
const PAUSE: Time = 4_000_000;

/// An erased device with power.
///
/// # Panics
/// If the faults do not fit the device.
pub fn flash(device: &Device, faults: Faults) -> Flash {
    let backed = Backed::ram(device.geometry, device.rules);
    let timed = Timed::new(backed, &device.timing);
    let aging = Aging::new(timed, errors()).expect("every page is a whole number of sectors");
    PowerCut::new(Faulty::new(aging, faults).expect("the faults are in range"))
}

/// A disk and its model.
pub struct Rig<N> {
    disk: Disk<N>,
    model: Model,
    /// When the next request comes: the host waits for reads and flushes, and for nothing else.
    now: Time,
}

impl<N: nandlab_drive::Device> Rig<N> {
    /// Mounts an FTL on an erased device.
    ///
    /// # Errors
    /// As [`Ftl::mount`].
    pub fn new(nand: N, logical_pages: u32, config: &FtlConfig) -> Result<Self, FtlError> {
        let disk = Disk::mount(nand, logical_pages, config)?;
        let page = disk.nand().geometry().sectors_per_page();
        let model = Model::new(disk.sectors(), page, config.facts().trims);
        Ok(Self { disk, model, now: 0 })
    }

    /// Mounts an FTL on a device after a power cut, and compares everything with `model`.
    ///
    /// # Errors
    /// As [`Ftl::mount`], and device errors. The model then still stands as before the mount.
    ///
    /// # Panics
    /// If flushed data is lost, or a sector is no possible version.
    pub fn recovered(mut nand: N, model: &Model, logical_pages: u32, config: &FtlConfig) -> Result<Self, Lost<N>> {
        let mut model = model.clone();
        model.power_cut();
        let now = nand.ctx().arrival();
        let disk = match Disk::mount_or_back(nand, logical_pages, config) {
            Ok(disk) => disk,
            Err((FtlError::Nand(NandError::PowerLost), nand)) => return Err(Lost { nand, model }),
            Err((error, _)) => panic!("mount after a power cut: {error}"),
        };
        let mut rig = Self { disk, model, now };
        if let Err(error) = rig.compare_all() {
            assert!(error == Error::PowerLost, "reading everything after a power cut: {error}");
            return Err(Lost { nand: rig.disk.into_nand(), model: rig.model });
        }
        rig.model.settled();
        Ok(rig)
    }

    /// Carries out one step; afterwards the FTL's invariants are derived anew.
    ///
    /// # Errors
    /// Device errors; the request may then have been carried out in part.
    pub fn step(&mut self, step: Step) -> Result<(), Error> {
        match step {
            Step::Do(request) => self.request(&request),
            Step::Remount => self.request(&Request::new(Op::Flush, 0, 0)),
        }
    }

    fn request(&mut self, request: &Request) -> Result<(), Error> {
        let mut bytes = match request.op {
            Op::Write => self.model.payload(request),
            Op::Read => vec![0xA5; (request.sectors * SECTOR_BYTES) as usize],
            Op::Trim | Op::Flush | Op::UnitUpdate | Op::Append | Op::Zone(_) => Vec::new(),
        };
        self.model.started(request, &bytes);
        let payload = match request.op {
            Op::Write => Payload::Write(&bytes),
            Op::Read => Payload::Read(&mut bytes),
            Op::Trim | Op::Flush | Op::UnitUpdate | Op::Append | Op::Zone(_) => Payload::None,
        };
        let done = self.disk.submit(&Request { time: self.now, ..*request }, payload)?.done;
        if matches!(request.op, Op::Read | Op::Flush | Op::UnitUpdate | Op::Zone(_)) {
            self.now = done;
        }
        if request.op == Op::Read {
            self.model.compare(request, &bytes);
        } else {
            self.model.done(request, &bytes);
        }
        if request.op == Op::Flush {
            return self.pause();
        }
        Ok(())
    }

    /// The host pauses; on an untimed device, the FTL does all its gap work.
    fn pause(&mut self) -> Result<(), Error> {
        if self.now > 0 {
            self.now += PAUSE;
            return Ok(());
        }
        match self.disk.idle(1) {
            Ok(()) => Ok(()),
            Err(FtlError::Nand(NandError::PowerLost)) => Err(Error::PowerLost),
            Err(error) => Err(Error::WornOut(error.to_string())),
        }
    }

    /// Reads every sector and compares.
    ///
    /// # Errors
    /// Device errors.
    pub fn compare_all(&mut self) -> Result<(), Error> {
        let page = self.disk.nand().geometry().sectors_per_page();
        for sector in (0..self.disk.sectors()).step_by(page as usize) {
            self.request(&Request::new(Op::Read, sector, page))?;
        }
        Ok(())
    }

    /// Reads and compares everything untouched by `refused`, a step a worn-out device had no room for.
    ///
    /// # Panics
    /// If a read fails or returns wrong data.
    pub fn compare_untouched(&mut self, refused: Step) {
        let page = self.disk.nand().geometry().sectors_per_page();
        let touched = match refused {
            Step::Do(Request { op: Op::Write | Op::Trim, sector, sectors, .. }) => sector..sector + u64::from(sectors),
            _ => 0..0,
        };
        for sector in (0..self.disk.sectors()).step_by(page as usize) {
            if sector + u64::from(page) <= touched.start || sector >= touched.end {
                let read = Request::new(Op::Read, sector, page);
                self.request(&read).unwrap_or_else(|error| panic!("{read:?} on a worn-out device: {error}"));
            }
        }
    }

    /// Drops the RAM state without a flush and mounts again.
    ///
    /// # Errors
    /// As [`Ftl::mount`].
    pub fn remount(self, config: &FtlConfig) -> Result<Self, FtlError> {
        let pages = self.disk.logical_pages();
        let Self { disk, mut model, now } = self;
        model.power_cut();
        Ok(Self { disk: Disk::mount(disk.into_nand(), pages, config)?, model, now })
    }

    /// The disk.
    pub fn disk(&self) -> &Disk<N> {
        &self.disk
    }

    /// The disk, to be changed.
    pub fn disk_mut(&mut self) -> &mut Disk<N> {
        &mut self.disk
    }

    /// Power is gone: the device and its required contents.
    pub fn power_lost(self) -> Lost<N> {
        Lost { nand: self.disk.into_nand(), model: self.model }
    }
}

/// A device without power and its required contents.
#[derive(Clone, Debug)]
pub struct Lost<N> {
    /// The device.
    pub nand: N,
    /// Its required contents.
    pub model: Model,
}
