//! Buffers over FTLs: against the model, and under power cuts in the NAND below and between NVRAM word stores.
//!
//! A case is written as `<buffer>:<options>:<pages>/<ftl>/<device>/<seed>/<cut>...`; a cut is a NAND cut
//! (`cut:12:clean`), or `words:40`: after 40 words stored in NVRAM. A failing case prints its text, and the text
//! replays it.

use crate::device::Device;
use crate::disk::Disk;
use crate::model::Model;
use crate::rig::{flash, Flash};
use crate::script::{self, Mix, Step};
use nandlab_block::{BlockDevice, Error, Op, Payload, Request};
use nandlab_buffer::{Buffer, BufferConfig, Buffered, MountError};
use nandlab_ftl::{FtlConfig, FtlError};
use nandlab_nand::nvm::{NvmCost, Nvram};
use nandlab_nand::power_cut::CutPlan;
use nandlab_nand::{Nand, NandError, Time, SECTOR_BYTES};
use std::fmt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::str::FromStr;

/// A buffer with an option set and a size.
#[derive(Clone, PartialEq, Debug)]
pub struct Subject {
    /// The buffer, as large as its options make it.
    pub config: BufferConfig,
    /// The option set's name.
    pub variant: &'static str,
    /// Pages in all.
    pub pages: u32,
}

const DEFAULT: &str = "default";

/// Every buffer on the list with every option set, `pages` pages large.
pub fn subjects(pages: u32) -> Vec<Subject> {
    let variants = |config: &BufferConfig| [vec![(DEFAULT, config.clone())], config.variants()].concat();
    let all = BufferConfig::all();
    all.iter().flat_map(variants).map(|(variant, config)| Subject { config, variant, pages }).collect()
}

impl Subject {
    /// Whether the options are the default ones.
    pub fn is_default(&self) -> bool {
        self.variant == DEFAULT
    }

    /// The buffer at its size on `device`.
    fn sized(&self, device: &Device) -> BufferConfig {
        let bytes = u64::from(self.pages) * u64::from(device.geometry.page_bytes());
        self.config.sized(bytes, &device.geometry)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.config.name(), self.variant, self.pages)
    }
}

impl FromStr for Subject {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let pages = text.rsplit_once(':').and_then(|(_, pages)| pages.parse().ok());
        let found = subjects(pages.unwrap_or(0)).into_iter().find(|subject| subject.to_string() == text);
        found.ok_or_else(|| format!("there is no buffer {text}"))
    }
}

/// A power cut's place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// In the NAND.
    Nand(CutPlan),
    /// After so many words stored in NVRAM.
    Words(u64),
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nand(plan) => plan.fmt(f),
            Self::Words(words) => write!(f, "words:{words}"),
        }
    }
}

impl FromStr for Cut {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("words:") {
            Some(words) => words.parse().map(Self::Words).map_err(|_| format!("{text} names no words")),
            None => text.parse().map(Self::Nand).map_err(|error| format!("{error}")),
        }
    }
}

/// A buffer over an FTL on a conformance device, with a script.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The buffer.
    pub subject: Subject,
    /// The FTL below.
    pub ftl: FtlConfig,
    /// The device.
    pub device: Device,
    /// Script seed.
    pub seed: u64,
}

/// Steps before the first cut and after each.
const STEPS: [usize; 2] = [120, 12];

impl Bench {
    /// Plays `steps` steps without a cut; returns the buffer's counts, or `None` if the FTL refuses the device.
    ///
    /// # Panics
    /// At the first difference.
    pub fn conform(&self, steps: usize) -> Option<nandlab_buffer::Counts> {
        self.named(&[], || Some(Run::new(self)?.conform(steps)))
    }

    /// Plays a script with `cuts`, each followed by a mount and a full comparison; returns how many fell, or `None` if
    /// the FTL refuses the device.
    ///
    /// # Panics
    /// With the case's text, if anything is lost or stale.
    pub fn cut(&self, cuts: &[Cut]) -> Option<usize> {
        self.named(cuts, || Some(Run::new(self)?.cut(cuts)))
    }

    fn named<T>(&self, cuts: &[Cut], run: impl FnOnce() -> T) -> T {
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let why = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned())).unwrap_or_default();
            let cuts: String = cuts.iter().map(|cut| format!("/{cut}")).collect();
            let Self { subject, ftl, device, seed } = self;
            panic!("{subject}/{}/{}/{seed}{cuts} (replay with NANDLAB_REPLAY): {why}", ftl.name(), device.name)
        })
    }
}

/// A buffer over a disk, and the model for both.
struct Stack {
    disk: Disk<Flash>,
    nvram: Nvram,
    buffer: Box<dyn Buffer>,
    model: Model,
    now: Time,
}

/// The state after a power cut.
struct Left {
    nand: Flash,
    nvram: Nvram,
    model: Model,
}

impl Stack {
    fn cut(self) -> Left {
        Left { nand: self.disk.into_nand(), nvram: self.nvram, model: self.model }
    }

    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<(), Error> {
        let request = Request { time: self.now, ..*request };
        let mut device = Buffered::new(&mut *self.buffer, &mut self.nvram, &mut *self.disk);
        let done = device.submit(&request, data)?.done;
        if matches!(request.op, Op::Read | Op::Flush | Op::UnitUpdate | Op::Zone(_)) {
            self.now = done;
        }
        Ok(())
    }
}

struct Run<'a> {
    bench: &'a Bench,
    buffer: BufferConfig,
    pages: u32,
}

impl<'a> Run<'a> {
    fn new(bench: &'a Bench) -> Option<Self> {
        let pages = crate::exportable(&bench.ftl, &bench.device)?;
        Some(Self { bench, buffer: bench.subject.sized(&bench.device), pages })
    }

    /// Plays steps without a cut; returns the buffer's counts.
    fn conform(&self, steps: usize) -> nandlab_buffer::Counts {
        let mut stack = self.fresh();
        for step in self.script(0, steps, Mix::USUAL) {
            match step {
                Step::Do(request) => {
                    self.step(&mut stack, &request).unwrap_or_else(|error| panic!("{step:?}: {error}"));
                }
                Step::Remount => {
                    self.step(&mut stack, &Request::new(Op::Flush, 0, 0)).expect("there is power");
                    stack = self.recovered(stack.cut()).unwrap_or_else(|_| panic!("there is power"));
                }
            }
        }
        self.compare_all(&mut stack).expect("there is power");
        stack.buffer.counts()
    }

    /// Plays with cuts; returns how many fell.
    fn cut(&self, cuts: &[Cut]) -> usize {
        let mut stack = self.fresh();
        let mut fallen = 0;
        for (depth, cut) in cuts.iter().enumerate() {
            match cut {
                Cut::Nand(plan) => stack.disk.nand_mut().arm(*plan),
                Cut::Words(words) => stack.nvram.cut_after(*words),
            }
            let script = self.script(depth as u64, STEPS[usize::from(depth > 0)], Mix::CHANGES);
            let played = script.iter().try_for_each(|step| match step {
                Step::Do(request) => self.step(&mut stack, request),
                Step::Remount => Ok(()),
            });
            match played {
                Ok(()) => return fallen,
                Err(Error::PowerLost) => fallen += 1,
                Err(error) => panic!("{error}"),
            }
            let mut lost = stack.cut();
            lost.nand.restore();
            lost.nvram.restore();
            // The next cut falls into the mount and the steps after it, or only into the mount.
            if let Some(next) = cuts.get(depth + 1).filter(|_| depth % 2 == 0) {
                match next {
                    Cut::Nand(plan) => lost.nand.arm(*plan),
                    Cut::Words(words) => lost.nvram.cut_after(words % 12),
                }
            }
            stack = match self.recovered(lost) {
                Ok(stack) => stack,
                Err(mut again) => {
                    again.nand.restore();
                    again.nvram.restore();
                    self.recovered(*again).unwrap_or_else(|_| panic!("power is lost without a cut"))
                }
            };
        }
        fallen
    }

    fn page(&self) -> u32 {
        self.bench.device.geometry.sectors_per_page()
    }

    fn script(&self, stream: u64, steps: usize, mix: Mix) -> Vec<Step> {
        let sectors = u64::from(self.pages) * u64::from(self.page());
        script::random(self.bench.seed ^ stream << 32, sectors, self.page(), steps, mix)
    }

    fn fresh(&self) -> Stack {
        let geometry = &self.bench.device.geometry;
        let disk = Disk::mount(flash(&self.bench.device, Default::default()), self.pages, &self.bench.ftl);
        let mut nvram = Nvram::new(self.buffer.nvram_bytes(geometry), NvmCost::default());
        let buffer = self.buffer.mount(geometry, &mut nvram).unwrap_or_else(|error| panic!("{error}"));
        let model =
            Model::new(u64::from(self.pages) * u64::from(self.page()), self.page(), self.bench.ftl.facts().trims);
        Stack { disk: disk.expect("an erased device mounts"), nvram, buffer, model, now: 0 }
    }

    /// Mounts and compares everything; returns the state if power goes again.
    fn recovered(&self, left: Left) -> Result<Stack, Box<Left>> {
        let Left { mut nand, mut nvram, model } = left;
        let before = model.clone();
        let mut model = model;
        model.power_cut();
        let now = nand.ctx().arrival();
        let disk = match Disk::mount_or_back(nand, self.pages, &self.bench.ftl) {
            Ok(disk) => disk,
            Err((FtlError::Nand(NandError::PowerLost), nand)) => {
                return Err(Box::new(Left { nand, nvram, model: before }));
            }
            Err((error, _)) => panic!("mount after a power cut: {error}"),
        };
        let buffer = match self.buffer.mount(&self.bench.device.geometry, &mut nvram) {
            Ok(buffer) => buffer,
            Err(MountError::PowerLost) => {
                return Err(Box::new(Left { nand: disk.into_nand(), nvram, model: before }));
            }
            Err(error) => panic!("mount of the buffer after a power cut: {error}"),
        };
        let mut stack = Stack { disk, nvram, buffer, model, now };
        match self.compare_all(&mut stack) {
            Ok(()) => {
                stack.disk.check();
                stack.model.settled();
                Ok(stack)
            }
            Err(Error::PowerLost) => Err(Box::new(stack.cut())),
            Err(error) => panic!("reading everything after a power cut: {error}"),
        }
    }

    fn compare_all(&self, stack: &mut Stack) -> Result<(), Error> {
        let page = self.page();
        let sectors = stack.model.sectors();
        (0..sectors).step_by(page as usize).try_for_each(|at| self.step(stack, &Request::new(Op::Read, at, page)))
    }

    fn step(&self, stack: &mut Stack, request: &Request) -> Result<(), Error> {
        let mut bytes = match request.op {
            Op::Write => stack.model.payload(request),
            Op::Read => vec![0xA5; (request.sectors * SECTOR_BYTES) as usize],
            Op::Trim | Op::Flush | Op::UnitUpdate | Op::Append | Op::Zone(_) => Vec::new(),
        };
        stack.model.started(request, &bytes);
        let payload = match request.op {
            Op::Write => Payload::Write(&bytes),
            Op::Read => Payload::Read(&mut bytes),
            Op::Trim | Op::Flush | Op::UnitUpdate | Op::Append | Op::Zone(_) => Payload::None,
        };
        stack.submit(request, payload)?;
        if request.op == Op::Read {
            stack.model.compare(request, &bytes);
        } else {
            stack.model.done(request, &bytes);
        }
        self.pin(stack);
        Ok(())
    }

    /// The newest NVRAM data survives without a flush: pages written there, and pages moved there since.
    fn pin(&self, stack: &mut Stack) {
        if self.buffer.nvram_bytes(&self.bench.device.geometry) == 0 {
            return;
        }
        for page in 0..self.pages {
            let survivors = stack.buffer.surviving(page);
            let first = u64::from(page) * u64::from(self.page());
            let sectors = (0..u64::from(self.page())).filter(|at| survivors >> at & 1 == 1);
            sectors.for_each(|at| stack.model.persisted(first + at));
        }
    }
}

/// A case by its text.
#[derive(Clone, Debug)]
pub struct Case {
    bench: Bench,
    cuts: Vec<Cut>,
}

impl FromStr for Case {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split('/');
        let (Some(subject), Some(ftl), Some(device), Some(seed)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err("write BUFFER:OPTIONS:PAGES/FTL/DEVICE/SEED/CUT/..., as a failing run prints it".into());
        };
        let ftl = FtlConfig::all().into_iter().find(|known| known.name() == ftl);
        let devices = [crate::device::devices(), crate::device::timed_devices()].concat();
        let device = devices.into_iter().find(|known| known.name == device);
        Ok(Self {
            bench: Bench {
                subject: subject.parse()?,
                ftl: ftl.ok_or("there is no such FTL")?,
                device: device.ok_or("there is no such device")?,
                seed: seed.parse().map_err(|_| format!("{seed} is no seed"))?,
            },
            cuts: parts.map(str::parse).collect::<Result<_, _>>()?,
        })
    }
}

impl Case {
    /// Runs the case again; as [`Bench::cut`].
    ///
    /// # Panics
    /// As [`Bench::cut`].
    pub fn replay(&self) -> Option<usize> {
        self.bench.cut(&self.cuts)
    }
}
