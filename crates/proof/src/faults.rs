//! Faults: every program and every erase in a script fails once, in turn.

use crate::device::Device;
use crate::rig::{flash, Flash, Rig};
use crate::script::{self, Mix, Step};
use crate::subject::Subject;
use nandlab_block::{Error, Op, Request};
use nandlab_ftl::FtlError;
use nandlab_nand::faulty::Config as Faults;
use nandlab_nand::{BlockId, Nand, NandError};
use std::fmt;

/// A failing operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The program with this number, counted from 1 over the whole run.
    Program(u64),
    /// The erase with this number.
    Erase(u64),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(number) => write!(f, "program:{number}"),
            Self::Erase(number) => write!(f, "erase:{number}"),
        }
    }
}

impl std::str::FromStr for Fault {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (kind, number) = text.split_once(':').ok_or(())?;
        let number = number.parse().ok().filter(|&number| number > 0).ok_or(())?;
        match kind {
            "program" => Ok(Self::Program(number)),
            "erase" => Ok(Self::Erase(number)),
            _ => Err(()),
        }
    }
}

/// A faulty run's outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The fault happened, nothing was lost, the block was retired.
    Retired,
    /// The fault left a device with few free blocks no room; nothing was lost.
    WornOut,
    /// The script has fewer such operations.
    NotReached,
}

/// An FTL on a device, with room for one more block to go bad on each die.
#[derive(Clone, Copy, Debug)]
pub struct Bench<'a> {
    /// The FTL and its options.
    pub subject: &'a Subject,
    /// The device.
    pub device: &'a Device,
    /// Script seed.
    pub seed: u64,
}

impl Bench<'_> {
    /// Plays a script with `fault`, with mounts in between, and with `check()` after the steps following the fault;
    /// `None` if the FTL refuses the device.
    ///
    /// # Panics
    /// If an acknowledged byte is lost, an invariant is broken, or the block stays in use.
    pub fn one(&self, fault: Fault) -> Option<Outcome> {
        let pages = self.pages(2)?;
        Some(One { bench: *self, fault }.play(pages))
    }

    /// Whether a device with these factory bad blocks mounts, or refuses with numbers; `None` if the FTL refuses the
    /// sound device. With `full` it exports as much as possible.
    ///
    /// # Panics
    /// If a bad block is used or data is lost.
    pub fn factory_bad(&self, bad: &[u32], full: bool) -> Option<bool> {
        let pages = self.pages(if full { 0 } else { 2 })?;
        Some(FactoryBad { bench: *self, bad }.play(pages))
    }

    fn pages(&self, spare_blocks: u32) -> Option<u32> {
        let geometry = &self.device.geometry;
        let pages = crate::exportable(&self.subject.config, self.device)?;
        pages.checked_sub(spare_blocks * geometry.pages_per_block() * geometry.dies()).filter(|&pages| pages > 0)
    }

    fn script(&self, logical_pages: u32, steps: usize, mix: Mix) -> Vec<Step> {
        let page = self.device.geometry.sectors_per_page();
        script::random(self.seed, u64::from(logical_pages) * u64::from(page), page, steps, mix)
    }
}

const STEPS: usize = 150;
/// Steps from the fault on with a `check()`; after them, the next mount finds broken state.
const CHECKED: usize = 12;

struct One<'a> {
    bench: Bench<'a>,
    fault: Fault,
}

impl One<'_> {
    fn context(&self, at: usize) -> String {
        let Bench { subject, device, seed } = self.bench;
        format!("{subject} on {} seed {seed} {} step {at}", device.name, self.fault)
    }

    fn play(&self, pages: u32) -> Outcome {
        let config = &self.bench.subject.config;
        let mut faults = Faults::default();
        match self.fault {
            Fault::Program(number) => faults.failing_programs.push(number),
            Fault::Erase(number) => faults.failing_erases.push(number),
        }
        let nand = flash(self.bench.device, faults);
        let mut rig = Rig::new(nand, pages, config).expect("an erased device mounts");
        let script = self.bench.script(pages, STEPS, Mix { remounts: 4, ..Mix::USUAL });
        let mut since = 0;
        for (at, step) in script.into_iter().enumerate() {
            match rig.step(step) {
                Err(Error::WornOut(_)) if self.bench.subject.is_tight && failed(&rig) > 0 => {
                    return self.worn_out(rig, step);
                }
                done => done.unwrap_or_else(|error| panic!("{}: {step:?}: {error}", self.context(at))),
            }
            // Up to the fault this run is like every other one.
            if failed(&rig) > 0 && since < CHECKED {
                rig.disk_mut().check();
                since += 1;
            }
            if step == Step::Remount {
                rig = rig.remount(config).unwrap_or_else(|error| panic!("{}: remount: {error}", self.context(at)));
                if failed(&rig) > 0 {
                    rig.disk_mut().check();
                    rig.compare_all()
                        .unwrap_or_else(|error| panic!("{}: after the remount: {error}", self.context(at)));
                }
            }
        }
        self.finish(rig)
    }

    fn worn_out(&self, mut rig: Rig<Flash>, refused: Step) -> Outcome {
        rig.compare_untouched(refused);
        let config = &self.bench.subject.config;
        let mut rig = rig.remount(config).unwrap_or_else(|error| panic!("{}: worn out: {error}", self.context(STEPS)));
        rig.compare_all().unwrap_or_else(|error| panic!("{}: worn out: {error}", self.context(STEPS)));
        Outcome::WornOut
    }

    /// Everything is there, and a flush retires the failed blocks, so no mount forgets them.
    fn finish(&self, mut rig: Rig<Flash>) -> Outcome {
        rig.compare_all().unwrap_or_else(|error| panic!("{}: at the end: {error}", self.context(STEPS)));
        rig.step(Step::Do(Request::new(Op::Flush, 0, 0))).expect("a flush goes well");
        rig.disk_mut().check();
        let failed = failed(&rig);
        if failed == 0 {
            return Outcome::NotReached;
        }
        assert_eq!(failed, 1, "{}: a block is used again after it failed", self.context(STEPS));
        let geometry = self.bench.device.geometry;
        let nand = rig.disk_mut().nand_mut();
        let mut is_bad =
            |block: u32| matches!(nand.read_spare(geometry.page(BlockId(block), 0)), Err(NandError::BadBlock(_)));
        let bad = (0..geometry.blocks()).filter(|&block| is_bad(block)).count();
        assert_eq!(bad, 1, "{}: blocks retired", self.context(STEPS));
        Outcome::Retired
    }
}

/// Failed programs and erases.
fn failed(rig: &Rig<Flash>) -> u64 {
    let counts = rig.disk().nand().inner().counts();
    counts.failed_programs + counts.failed_erases
}

struct FactoryBad<'a> {
    bench: Bench<'a>,
    bad: &'a [u32],
}

impl FactoryBad<'_> {
    fn play(&self, pages: u32) -> bool {
        let config = &self.bench.subject.config;
        let context = format!("{} on {} with bad blocks {:?}", self.bench.subject, self.bench.device.name, self.bad);
        let faults = Faults { factory_bad_blocks: self.bad.to_vec(), ..Faults::default() };
        let mut rig = match Rig::new(flash(self.bench.device, faults), pages, config) {
            Ok(rig) => rig,
            Err(FtlError::WornOut { good, needed, .. }) => {
                assert!(good < needed, "{context}: {good} are good and {needed} are enough");
                return false;
            }
            Err(error) => panic!("{context}: {error}"),
        };
        for step in self.bench.script(pages, 2 * STEPS, Mix::USUAL) {
            rig.step(step).unwrap_or_else(|error| panic!("{context}: {step:?}: {error}"));
        }
        rig.step(Step::Do(Request::new(Op::Flush, 0, 0))).expect("a flush goes well");
        let mut rig = rig.remount(config).expect("it mounted before");
        rig.disk_mut().check();
        rig.compare_all().expect("a mounted disk reads");
        true
    }
}
