//! A controller's write buffer with early answers, over FTLs, under power cuts in the NAND below.
//!
//! After a cut, all flushed data must be there. With protection, all answered data must be there.

use crate::device::Device;
use crate::disk::Disk;
use crate::model::Model;
use crate::rig::{flash, Flash};
use crate::script::{self, Mix, Step};
use nandlab_block::{BlockDevice, EarlyBuffer, Error, Op, Payload, Request};
use nandlab_ftl::{FtlConfig, FtlError};
use nandlab_nand::power_cut::CutPlan;
use nandlab_nand::{Nand, NandError, Time, SECTOR_BYTES};

/// Steps before the first cut and after each.
const STEPS: [usize; 2] = [120, 12];

/// An FTL with a write buffer in front, and a script.
#[derive(Clone, Debug)]
pub struct Bench<'a> {
    /// The FTL.
    pub ftl: &'a FtlConfig,
    /// The device.
    pub device: Device,
    /// Buffer size, in pages.
    pub pages: u32,
    /// Whether capacitors protect it.
    pub is_protected: bool,
    /// Script seed.
    pub seed: u64,
}

/// Results from a case's cuts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Fallen {
    /// Cuts that fell before their script ended.
    pub cuts: usize,
    /// Answered writes lost with the power.
    pub lost: usize,
    /// Answered writes restored by the buffer after a cut.
    pub kept: usize,
}

impl Bench<'_> {
    /// Plays a script with `cuts`, each followed by a mount and a full comparison; `None` if the FTL refuses the
    /// device. A later cut may fall into the mount or into the buffer's recovery.
    ///
    /// # Panics
    /// If required data is lost or stale.
    pub fn cut(&self, cuts: &[CutPlan]) -> Option<Fallen> {
        let geometry = &self.device.geometry;
        let pages = crate::exportable(self.ftl, &self.device)?;
        let page = geometry.sectors_per_page();
        let sectors = u64::from(pages) * u64::from(page);
        let disk = Disk::mount(flash(&self.device, Default::default()), pages, self.ftl);
        let mut stack = Stack {
            disk: disk.expect("an erased device mounts"),
            buffer: EarlyBuffer::new((self.pages * geometry.page_bytes()) as usize, self.is_protected),
            is_protected: self.is_protected,
            model: Model::new(sectors, page, self.ftl.facts().trims),
            now: 0,
        };
        let mut fallen = Fallen::default();
        for (depth, cut) in cuts.iter().enumerate() {
            stack.disk.nand_mut().arm(*cut);
            let steps = STEPS[usize::from(depth > 0)];
            let script = script::random(self.seed ^ (depth as u64) << 32, sectors, page, steps, Mix::CHANGES);
            let played = script.iter().try_for_each(|step| match step {
                Step::Do(request) => stack.step(request),
                Step::Remount => Ok(()),
            });
            match played {
                Ok(()) => return Some(fallen),
                Err(Error::PowerLost) => fallen.cuts += 1,
                Err(error) => panic!("{error}"),
            }
            fallen.kept += if self.is_protected { stack.buffer.waiting() } else { 0 };
            fallen.lost += stack.buffer.power_cut();
            stack.model.power_cut();
            // The next cut falls into the mount and the steps after it, or only into the mount.
            let next = cuts.get(depth + 1).filter(|_| depth % 2 == 0);
            stack = match stack.recovered(pages, self.ftl, next) {
                Ok(stack) => stack,
                Err(again) => again.recovered(pages, self.ftl, None).unwrap_or_else(|_| panic!("no second cut")),
            };
        }
        Some(fallen)
    }
}

/// A write buffer over a disk, and the model for both.
struct Stack {
    disk: Disk<Flash>,
    buffer: EarlyBuffer,
    is_protected: bool,
    model: Model,
    now: Time,
}

impl Stack {
    /// Mounts after a cut, lets the buffer restore its data, and compares everything.
    fn recovered(self, pages: u32, config: &FtlConfig, cut: Option<&CutPlan>) -> Result<Self, Box<Self>> {
        let Self { disk, buffer, is_protected, model, .. } = self;
        let mut nand = disk.into_nand();
        nand.restore();
        cut.into_iter().for_each(|cut| nand.arm(*cut));
        let now = nand.ctx().arrival();
        let disk = match Disk::mount_or_back(nand, pages, config) {
            Ok(disk) => disk,
            Err((FtlError::Nand(NandError::PowerLost), mut nand)) => {
                nand.restore();
                Disk::mount(nand, pages, config).expect("there is power")
            }
            Err((error, _)) => panic!("mount after a power cut: {error}"),
        };
        let mut stack = Self { disk, buffer, is_protected, model, now };
        let recovered = stack.buffer.on(&mut *stack.disk).recover(now).and_then(|()| stack.compare_all());
        match recovered {
            Ok(()) => {
                stack.disk.check();
                stack.model.settled();
                Ok(stack)
            }
            Err(Error::PowerLost) => {
                stack.buffer.power_cut();
                Err(Box::new(stack))
            }
            Err(error) => panic!("recovery after a power cut: {error}"),
        }
    }

    fn compare_all(&mut self) -> Result<(), Error> {
        let page = self.disk.nand().geometry().sectors_per_page();
        let sectors = self.model.sectors();
        (0..sectors).step_by(page as usize).try_for_each(|at| self.step(&Request::new(Op::Read, at, page)))
    }

    fn step(&mut self, request: &Request) -> Result<(), Error> {
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
        let done = self.buffer.on(&mut *self.disk).submit(&Request { time: self.now, ..*request }, payload)?.done;
        if matches!(request.op, Op::Read | Op::Flush | Op::UnitUpdate | Op::Zone(_)) {
            self.now = done;
        }
        if request.op == Op::Read {
            self.model.compare(request, &bytes);
            return Ok(());
        }
        self.model.done(request, &bytes);
        if self.is_protected {
            (request.sector..request.end()).for_each(|sector| self.model.persisted(sector));
        }
        Ok(())
    }
}
