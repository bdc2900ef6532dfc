//! Power cuts: at every operation of a script or at random ones, in every form, one after another.
//!
//! A case is written as `<ftl>/<device>/<seed>/<fault>/.../<cut>/<cut>...`, the faults (`program:12`, `erase:3`:
//! the operation with that number fails) being optional; a failing case prints that text, and the text replays it.

use crate::conformance::{devices, Device};
use crate::faults::Fault;
use crate::model::Model;
use crate::rig::{Lost, Rig};
use crate::script::{self, Mix, Step};
use nandlab_block::Error;
use nandlab_ftl::Ftl;
use nandlab_nand::backed::Backed;
use nandlab_nand::faulty::Faulty;
use nandlab_nand::operation::Operation;
use nandlab_nand::power_cut::{CutPlan, Form, PowerCut};
use nandlab_nand::random::Random;
use std::fmt;
use std::panic::{catch_unwind, AssertUnwindSafe};

type Nand = PowerCut<Faulty<Backed>>;

/// Steps before the first cut.
const SCRIPT_STEPS: usize = 60;
/// Steps after each mount, in which the next cut falls, and after the last one.
const TAIL_STEPS: usize = 8;

/// An FTL on a device of the conformance runs with a script of its own.
#[derive(Clone, Debug)]
pub struct Bench<'a, C> {
    /// Name of the FTL.
    pub ftl: &'a str,
    /// Its options.
    pub config: &'a C,
    /// The device.
    pub device: Device,
    /// Seed of the script.
    pub seed: u64,
    /// Programs and erases that fail.
    pub faults: &'a [Fault],
}

/// What became of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Every cut fell, and everything flushed was there after each.
    Survived,
    /// The script ended before the cut with this index fell.
    NotReached(usize),
}

/// A device that has lost power, and the operation that was cut.
struct Cut {
    lost: Lost<Nand>,
    operation: Operation,
}

impl<C> Bench<'_, C> {
    /// Logical pages exported: as many as possible, with room for the blocks that the faults take away.
    fn pages<F: Ftl<Config = C>>(&self) -> Option<u32> {
        let most = crate::exportable::<F>(&self.device.geometry, &self.device.rules, self.config)?;
        let spare = self.faults.len() as u32 * 2 * self.device.geometry.pages_per_block() * self.device.geometry.dies();
        most.checked_sub(spare).filter(|&pages| pages > 0)
    }

    /// Whether the FTL accepts the device.
    pub fn fits<F: Ftl<Config = C>>(&self) -> bool {
        self.pages::<F>().is_some()
    }

    fn exported<F: Ftl<Config = C>>(&self) -> u32 {
        self.pages::<F>().expect("the caller asked whether the device fits")
    }

    fn sectors_per_page(&self) -> u32 {
        self.device.geometry.sectors_per_page()
    }

    fn script<F: Ftl<Config = C>>(&self, stream: u64, steps: usize) -> Vec<Step> {
        let sectors = u64::from(self.exported::<F>()) * u64::from(self.sectors_per_page());
        script::random(self.seed ^ stream << 32, sectors, self.sectors_per_page(), steps, Mix::CHANGES)
    }

    fn id(&self, cuts: &[CutPlan]) -> String {
        let faults = self.faults.iter().map(ToString::to_string);
        let events: Vec<String> = faults.chain(cuts.iter().map(ToString::to_string)).collect();
        format!("{}/{}/{}/{}", self.ftl, self.device.name, self.seed, events.join("/"))
    }

    /// Plays the script from an erased device until the power goes.
    fn first_cut<F: Ftl<Config = C>>(&self, plan: CutPlan) -> Option<Cut> {
        let mut faulty = Faulty::new(Backed::ram(self.device.geometry, self.device.rules), Default::default())
            .expect("no faults are always in range");
        for fault in self.faults {
            match *fault {
                Fault::Program(number) => faulty.fail_program(number),
                Fault::Erase(number) => faulty.fail_erase(number),
            }
        }
        let nand = PowerCut::new(faulty);
        let mut rig = Rig::<F, _>::new(nand, self.exported::<F>(), self.config).expect("an erased device mounts");
        rig.disk_mut().nand_mut().arm(plan);
        self.play_until_cut(rig, &self.script::<F>(0, SCRIPT_STEPS))
    }

    fn play_until_cut<F: Ftl<Config = C>>(&self, mut rig: Rig<F, Nand>, script: &[Step]) -> Option<Cut> {
        for (at, &step) in script.iter().enumerate() {
            match rig.step(step) {
                Ok(()) => {}
                Err(Error::PowerLost) => return Some(Self::cut(rig.power_lost())),
                Err(error) => panic!("step {at} {step:?}: {error}"),
            }
        }
        None
    }

    fn cut(lost: Lost<Nand>) -> Cut {
        let operation = lost.nand.cut_operation().expect("power is gone because an operation was cut");
        Cut { lost, operation }
    }

    /// Brings the power back and plays on until the next cut, which may fall into the mount.
    fn next_cut<F: Ftl<Config = C>>(&self, lost: Lost<Nand>, plan: CutPlan, depth: u64) -> Option<Cut> {
        let Lost { mut nand, model } = lost;
        nand.restore();
        nand.arm(plan);
        match self.recover::<F>(nand, &model) {
            Ok(rig) => self.play_until_cut(rig, &self.script::<F>(depth, TAIL_STEPS)),
            Err(lost) => Some(Self::cut(lost)),
        }
    }

    /// Brings the power back for good: everything must be there, and the device must work on.
    fn last_mount<F: Ftl<Config = C>>(&self, lost: Lost<Nand>) {
        let Lost { mut nand, model } = lost;
        nand.restore();
        let Ok(mut rig) = self.recover::<F>(nand, &model) else { panic!("power is lost without a cut") };
        rig.disk_mut().check();
        for step in self.script::<F>(99, TAIL_STEPS) {
            rig.step(step).unwrap_or_else(|error| panic!("{step:?} after the last mount: {error}"));
            rig.disk_mut().check();
        }
        rig.compare_all().expect("a mounted disk reads");
        let mut rig = rig.remount(self.config).expect("a device with power mounts");
        rig.compare_all().expect("a mounted disk reads");
    }

    fn recover<F: Ftl<Config = C>>(&self, nand: Nand, model: &Model) -> Result<Rig<F, Nand>, Lost<Nand>> {
        Rig::recovered(nand, model, self.exported::<F>(), self.config)
    }

    /// Runs one case.
    ///
    /// # Panics
    /// With the id of the case, where anything flushed is lost or an invariant is broken.
    pub fn run<F: Ftl<Config = C>>(&self, cuts: &[CutPlan]) -> Outcome {
        self.named(cuts, || {
            let Some(mut cut) = self.first_cut::<F>(cuts[0]) else { return Outcome::NotReached(0) };
            for (depth, &plan) in cuts.iter().enumerate().skip(1) {
                let Some(next) = self.next_cut::<F>(cut.lost, plan, depth as u64) else {
                    return Outcome::NotReached(depth);
                };
                cut = next;
            }
            self.last_mount::<F>(cut.lost);
            Outcome::Survived
        })
    }

    /// Adds the id of the case to a panic.
    fn named<T>(&self, cuts: &[CutPlan], run: impl FnOnce() -> T) -> T {
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
            let why = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()))
                .unwrap_or_default();
            panic!("power cut {} (replay with NANDLAB_REPLAY): {why}", self.id(cuts))
        })
    }

    /// Cuts the script at every operation in every form, and after each again, `depth` times in all.
    ///
    /// Returns the number of cases.
    ///
    /// # Panics
    /// As [`Self::run`].
    pub fn exhaust<F: Ftl<Config = C>>(&self, depth: usize) -> u64 {
        self.every_form(&[], |cuts| self.first_cut::<F>(cuts[0]), &mut |cuts, cut| {
            self.exhaust_after::<F>(cuts, &cut, depth - 1)
        })
    }

    fn exhaust_after<F: Ftl<Config = C>>(&self, cuts: &[CutPlan], cut: &Cut, depth: usize) -> u64 {
        self.named(cuts, || self.last_mount::<F>(cut.lost.clone()));
        if depth == 0 {
            return 1;
        }
        let next = |cuts: &[CutPlan]| {
            let plan = cuts[cuts.len() - 1];
            self.next_cut::<F>(cut.lost.clone(), plan, cuts.len() as u64 - 1)
        };
        1 + self.every_form(cuts, next, &mut |cuts, cut| self.exhaust_after::<F>(cuts, &cut, depth - 1))
    }

    /// Makes `cut` happen at operation 1, 2, 3 ... until it is not reached, in every form that applies there.
    fn every_form(
        &self,
        before: &[CutPlan],
        cut: impl Fn(&[CutPlan]) -> Option<Cut>,
        then: &mut dyn FnMut(&[CutPlan], Cut) -> u64,
    ) -> u64 {
        let mut cases = 0;
        for operation in 1.. {
            let mut hit = None;
            for form in Form::ALL {
                if hit.is_some_and(|hit| !form.applies_to(hit)) {
                    continue;
                }
                let cuts = [before, &[CutPlan { operation, form }]].concat();
                let Some(cut) = self.named(&cuts, || cut(&cuts)) else { return cases };
                hit = Some(cut.operation);
                cases += then(&cuts, cut);
            }
        }
        cases
    }
}

/// One random case: a device, a script, a failing operation in one case of three, one to three cuts.
///
/// # Panics
/// As [`Bench::run`].
pub fn random_case<F: Ftl>(ftl: &str, config: &F::Config, number: u64) -> Outcome {
    let mut random = Random::stream(number, 0xC07);
    let devices = devices();
    let device = devices[random.below(devices.len() as u64) as usize];
    let faults = match random.below(6) {
        0 => vec![Fault::Program(1 + random.below(100))],
        1 => vec![Fault::Erase(1 + random.below(15))],
        _ => Vec::new(),
    };
    let bench = Bench { ftl, config, device, seed: random.next_u64() >> 40, faults: &faults };
    if !bench.fits::<F>() {
        return Outcome::NotReached(0);
    }
    let cuts: Vec<CutPlan> = (0..1 + random.below(3))
        .map(|depth| CutPlan {
            operation: 1 + random.below(if depth == 0 { 120 } else { 12 }),
            form: Form::ALL[random.below(Form::ALL.len() as u64) as usize],
        })
        .collect();
    bench.run::<F>(&cuts)
}

/// A text that names no case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaseError(String);

impl fmt::Display for CaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A case by its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// Name of the FTL.
    pub ftl: String,
    device: String,
    seed: u64,
    faults: Vec<Fault>,
    cuts: Vec<CutPlan>,
}

impl std::str::FromStr for Case {
    type Err = CaseError;

    fn from_str(text: &str) -> Result<Self, CaseError> {
        let refuse = |why: String| CaseError(format!("\"{text}\" is no power-cut case: {why}"));
        let mut parts = text.split('/');
        let (Some(ftl), Some(device), Some(seed)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(refuse("write FTL/DEVICE/SEED/CUT/..., as a failing run prints it".into()));
        };
        let seed = seed.parse().map_err(|_| refuse(format!("{seed} is no seed")))?;
        let (mut faults, mut cuts) = (Vec::new(), Vec::new());
        for part in parts {
            match part.parse::<Fault>() {
                Ok(fault) => faults.push(fault),
                Err(()) => cuts.push(part.parse::<CutPlan>().map_err(|error| refuse(error.to_string()))?),
            }
        }
        if cuts.is_empty() {
            return Err(refuse("it has no cut".into()));
        }
        Ok(Self { ftl: ftl.into(), device: device.into(), seed, faults, cuts })
    }
}

impl Case {
    /// Runs the case on the FTL that it names.
    ///
    /// # Errors
    /// Where the device is unknown or refused.
    ///
    /// # Panics
    /// As [`Bench::run`].
    pub fn replay<F: Ftl>(&self, config: &F::Config) -> Result<Outcome, CaseError> {
        let device = devices().into_iter().find(|device| device.name == self.device);
        let device = device.ok_or_else(|| CaseError(format!("there is no device {}", self.device)))?;
        let bench = Bench { ftl: &self.ftl, config, device, seed: self.seed, faults: &self.faults };
        if !bench.fits::<F>() {
            return Err(CaseError(format!("{} refuses the device {}", self.ftl, self.device)));
        }
        Ok(bench.run::<F>(&self.cuts))
    }
}
