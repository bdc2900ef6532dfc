//! File systems in an image.

use super::Served;
use crate::config::Experiment;
use crate::error::LabError;
use crate::stack::{unmountable, Engine};
use nandlab_block::{BlockDevice, Completion, Error, Op, Payload, Request};
use nandlab_fs::{FileSystem, FsConfig, Over};
use nandlab_nand::{Origin, PlacementId, Time, SECTOR_BYTES};

/// What a program asked of a file, for the counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked {
    /// Read, write or flush.
    pub op: Op,
    /// The first byte in the file.
    pub at: u64,
    /// How many bytes.
    pub bytes: u64,
}

/// An engine with sectors as a device, without counts.
struct Sectors<'a>(&'a mut dyn Engine);

impl BlockDevice for Sectors<'_> {
    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        self.0.requests().submit_one(request, data)
    }

    fn sectors(&self) -> u64 {
        self.0.sectors()
    }
}

/// Makes the file system that the experiment asks for. One on bare flash needs none: its first mount made it.
pub(super) fn format(experiment: &Experiment, engine: &mut dyn Engine) -> Result<(), LabError> {
    let Some(fs) = experiment.fs.as_ref().filter(|fs| fs.over() == Over::Device) else { return Ok(()) };
    let mut device = Sectors(engine);
    fs.format(&mut device).map_err(|error| unmountable(fs, error))?;
    let flush = Request {
        time: 0,
        sector: 0,
        sectors: 0,
        op: Op::Flush,
        origin: Origin::default(),
        placement: PlacementId::NONE,
    };
    let flushed = device.submit(&flush, Payload::None);
    flushed.map(drop).map_err(|error| LabError::DeviceFull(error.to_string()))
}

impl Served {
    /// Whether it is a file system on bare flash, which has no sectors to ask for.
    pub fn is_bare(&self) -> bool {
        self.experiment.is_bare()
    }

    /// The name of what is on flash: the FTL, or the file system.
    pub(super) fn lowest(&self) -> &'static str {
        let ftl = self.experiment.ftl.as_ref().map(nandlab_ftl::FtlConfig::name);
        ftl.or_else(|| self.experiment.fs.as_ref().map(FsConfig::name)).unwrap_or_default()
    }

    /// Carries out `work` on the file system on bare flash; it says what a program asked, for the counts.
    ///
    /// Returns how long it took in simulated time.
    pub fn on_files(&mut self, work: impl FnOnce(&mut dyn FileSystem) -> Option<Asked>) -> Time {
        let arrival = self.engine.now();
        let asked = work(self.engine.on_files().files());
        let done = self.engine.now();
        if let Some(Asked { op, at, bytes }) = asked {
            let sector = at / u64::from(SECTOR_BYTES);
            let sectors = ((at + bytes).div_ceil(u64::from(SECTOR_BYTES)) - sector) as u32;
            let request =
                Request { time: arrival, sector, sectors, op, origin: Origin::FILE_DATA, placement: PlacementId::NONE };
            self.meter.add(&[request], &[Completion { arrival, done }], &[]);
        }
        done - arrival
    }
}
