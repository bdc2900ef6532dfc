//! Power cuts: at every operation in a script or at random ones, in every form, one after another.
//!
//! A case is written as `<ftl>:<options>/<device>/<seed>/<fault>/.../<cut>/<cut>...`; the options (`:spare`, a name in
//! `Ftl::variants`) and the faults (`program:12`, `erase:3`: the operation with this number fails) are optional. A
//! failing case prints its text, and the text replays it.

use crate::device::{devices, paired_devices, timed_devices, unstable_devices, Device};
use crate::faults::Fault;
use crate::model::Model;
use crate::rig::{flash, Flash, Lost, Powered, Rig};
use crate::script::{self, Mix, Step};
use crate::subject::{in_turn, Subject};
use nandlab_block::Error;
use nandlab_ftl::{FtlConfig, Trims};
use nandlab_nand::operation::Operation;
use nandlab_nand::power_cut::{CutPlan, Form, Uncut};
use nandlab_nand::random::Random;
use nandlab_nand::ProgramOrder;
use std::fmt;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Steps before the first cut in an exhaustive search.
const SCRIPT_STEPS: usize = 60;
/// Steps before the first cut in a single case; they begin with the search's steps.
const CASE_STEPS: usize = 200;
/// Steps after each mount, for the next cut, and after the last one.
const TAIL_STEPS: usize = 8;

/// FTLs that take old pages for new ones if a zone's cut reset shows them at a later mount. The random case
/// `zoned/2x2x1x7x4x512-ascending-timed/8124857/cut:68:unstable_erase/cut:2:lost_tail/cut:10:lost_tail` fails.
const TRUSTS_OLD_ZONES: [&str; 1] = ["zoned"];

/// The form for a cut of an FTL: [`Form::Clean`] in place of a form that the FTL does not survive. Without notes of trims a page
/// map's trimmed page can come back with a block whose erase was cut, after a mount has shown an older copy. On a chip without
/// gaps a page map without a free block fills a closed block further, where an `earlier` cut may have left a weak page.
pub(crate) fn survived(config: &FtlConfig, device: &Device, earlier: usize, form: Form) -> Form {
    let is_page = config.name() == "page";
    let forgets = is_page && config.facts().trims == Trims::Forgotten;
    let has_rests = is_page && device.rules.program_order == ProgramOrder::AscendingDense;
    let shows_old = form == Form::UnstableErase && (forgets || TRUSTS_OLD_ZONES.contains(&config.name()));
    if shows_old || form == Form::WeakPage && earlier > 0 && has_rests {
        return Form::Clean;
    }
    form
}

/// An FTL on a conformance device with its own script.
#[derive(Clone, Debug)]
pub struct Bench<'a> {
    /// The FTL and its options.
    pub subject: &'a Subject,
    /// The device.
    pub device: Device,
    /// Script seed.
    pub seed: u64,
    /// Failing programs and erases.
    pub faults: &'a [Fault],
}

/// A case's outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Every cut fell, and everything flushed was there after each.
    Survived,
    /// The script ended, or the device had no more room, before the cut with this index fell.
    NotReached(usize),
}

/// The script operations to cut: `first`, and each `every`-th after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stride {
    /// The first operation, from 1.
    pub first: u64,
    /// From one operation to the next.
    pub every: usize,
    /// Of these operations one in so many is cut in a form behind [`Form::WeakPage`], each form at other operations.
    pub rare: u64,
}

impl Stride {
    /// Every operation.
    pub const ALL: Self = Self { first: 1, every: 1, rare: 1 };

    /// Whether `operation` is cut in the form with this place in [`Form::ALL`].
    fn takes(&self, operation: u64, place: usize) -> bool {
        let number = (operation - self.first) / self.every as u64;
        Form::ALL[place] <= Form::WeakPage || (number + place as u64) % self.rare == 0
    }
}

impl Bench<'_> {
    /// Runs one case; `None` if the FTL refuses the device.
    ///
    /// # Panics
    /// With the case's id, if any flushed data is lost or an invariant is broken.
    pub fn run(&self, cuts: &[CutPlan]) -> Option<Outcome> {
        Some(Run::new(self, CASE_STEPS)?.run(cuts))
    }

    /// Cuts the script at the operations in `stride` in every form, and after each again at every operation, `depth`
    /// times in total.
    ///
    /// Returns the case count; `None` if the FTL refuses the device.
    ///
    /// # Panics
    /// As [`Self::run`].
    pub fn exhaust(&self, depth: usize, stride: Stride) -> Option<u64> {
        Some(Run::new(self, SCRIPT_STEPS)?.exhaust(depth, stride))
    }

    /// Compares the cuts derived by [`Self::exhaust`], every form from the first one at the same operation, with a
    /// replay up to each cut; then the same for second cuts, after an early one whose operation took place.
    ///
    /// Returns the comparison count; `None` if the FTL refuses the device.
    ///
    /// # Panics
    /// With the case's id, if the device or the model differ.
    pub fn compare_with_replays(&self, stride: Stride) -> Option<u64> {
        Some(Run::new(self, SCRIPT_STEPS)?.compare_with_replays(stride))
    }

    fn id(&self, cuts: &[CutPlan]) -> String {
        let faults = self.faults.iter().map(ToString::to_string);
        let events: Vec<String> = faults.chain(cuts.iter().map(ToString::to_string)).collect();
        format!("{}/{}/{}/{}", self.subject, self.device.name, self.seed, events.join("/"))
    }

    /// Adds the case's id to a panic.
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
}

/// A device without power, and the operation cut.
#[derive(Debug)]
struct Cut {
    lost: Lost<Flash>,
    operation: Operation,
}

impl Cut {
    /// The same cut in another form: the run up to the cut is the same, and afterwards every answer is "power lost", so
    /// only the device differs.
    fn in_form(&mut self, uncut: &Uncut<Powered>, form: Form) -> Self {
        let Lost { nand, model } = &mut self.lost;
        Self { lost: Lost { nand: uncut.cut(form, nand), model: model.clone() }, operation: self.operation }
    }
}

struct Run<'a> {
    bench: &'a Bench<'a>,
    config: &'a FtlConfig,
    /// Logical pages exported.
    pages: u32,
    /// Steps before the first cut.
    steps: usize,
}

impl<'a> Run<'a> {
    /// As many logical pages as possible, with room for blocks lost to faults; `None` if the FTL refuses the device.
    fn new(bench: &'a Bench<'a>, steps: usize) -> Option<Self> {
        let (config, geometry) = (&bench.subject.config, &bench.device.geometry);
        let most = crate::exportable(config, &bench.device)?;
        let spare = bench.faults.len() as u32 * 2 * geometry.pages_per_block() * geometry.dies();
        let pages = most.checked_sub(spare).filter(|&pages| pages > 0)?;
        Some(Self { bench, config, pages, steps })
    }

    /// The seed's script; one seed in four trims much.
    fn script(&self, stream: u64, steps: usize) -> Vec<Step> {
        let seed = self.bench.seed;
        let page = self.bench.device.geometry.sectors_per_page();
        let mix = match seed % 4 {
            3 => Mix::TRIMS,
            _ if self.bench.device.is_timed() => Mix::MOUNTS,
            _ => Mix::CHANGES,
        };
        script::random(seed ^ stream << 32, u64::from(self.pages) * u64::from(page), page, steps, mix)
    }

    /// Plays the script from an erased device until the power goes.
    fn first_cut(&self, plan: CutPlan) -> Option<Cut> {
        let mut nand = flash(&self.bench.device, Default::default());
        for fault in self.bench.faults {
            match *fault {
                Fault::Program(number) => nand.inner_mut().fail_program(number),
                Fault::Erase(number) => nand.inner_mut().fail_erase(number),
            }
        }
        let mut rig = Rig::new(nand, self.pages, self.config).expect("an erased device mounts");
        rig.disk_mut().nand_mut().arm_and_keep(plan);
        self.play_until_cut(rig, &self.script(0, self.steps), !self.bench.faults.is_empty())
    }

    /// Plays `script`; its mounts drop the RAM state without a flush. `None`: it ended, or a device with few spare
    /// blocks ran out of room, explained by `harmed` (after a cut, or with faults).
    fn play_until_cut(&self, mut rig: Rig<Flash>, script: &[Step], harmed: bool) -> Option<Cut> {
        for (at, &step) in script.iter().enumerate() {
            if step == Step::Remount {
                let Lost { nand, model } = rig.power_lost();
                rig = match self.recover(nand, &model) {
                    Ok(rig) => rig,
                    Err(lost) => return Some(Self::cut(lost)),
                };
                continue;
            }
            match rig.step(step) {
                Ok(()) => {}
                Err(Error::PowerLost) => return Some(Self::cut(rig.power_lost())),
                Err(Error::WornOut(_)) if harmed && self.bench.subject.is_tight => {
                    self.worn_out(rig, step);
                    return None;
                }
                Err(error) => panic!("step {at} {step:?}: {error}"),
            }
        }
        None
    }

    /// A device without room still has everything, also after a mount.
    fn worn_out(&self, mut rig: Rig<Flash>, refused: Step) {
        rig.compare_untouched(refused);
        let Lost { mut nand, model } = rig.power_lost();
        nand.restore();
        assert!(self.recover(nand, &model).is_ok(), "power is lost without a cut");
    }

    fn cut(lost: Lost<Flash>) -> Cut {
        let operation = lost.nand.cut_operation().expect("power is gone because an operation was cut");
        Cut { lost, operation }
    }

    /// Restores power and plays on until the next cut, possibly inside the mount.
    fn next_cut(&self, lost: Lost<Flash>, plan: CutPlan, depth: u64) -> Option<Cut> {
        let Lost { mut nand, model } = lost;
        nand.restore();
        nand.arm_and_keep(plan);
        match self.recover(nand, &model) {
            Ok(rig) => self.play_until_cut(rig, &self.script(depth, TAIL_STEPS), true),
            Err(lost) => Some(Self::cut(lost)),
        }
    }

    /// Brings the power back for good: everything must be there, and the device must work on.
    fn last_mount(&self, lost: Lost<Flash>) {
        let Lost { mut nand, model } = lost;
        nand.restore();
        let Ok(mut rig) = self.recover(nand, &model) else { panic!("power is lost without a cut") };
        rig.disk_mut().check();
        for step in self.script(99, TAIL_STEPS) {
            match rig.step(step) {
                Ok(()) => rig.disk_mut().check(),
                Err(Error::WornOut(_)) if self.bench.subject.is_tight => return self.worn_out(rig, step),
                Err(error) => panic!("{step:?} after the last mount: {error}"),
            }
        }
        rig.compare_all().expect("a mounted disk reads");
        // A block with a cut erase may show old pages from now on.
        let Lost { mut nand, model } = rig.power_lost();
        nand.restore();
        assert!(self.recover(nand, &model).is_ok(), "power is lost without a cut");
    }

    fn recover(&self, nand: Flash, model: &Model) -> Result<Rig<Flash>, Lost<Flash>> {
        Rig::recovered(nand, model, self.pages, self.config)
    }

    fn run(&self, cuts: &[CutPlan]) -> Outcome {
        self.bench.named(cuts, || {
            let Some(mut cut) = self.first_cut(cuts[0]) else { return Outcome::NotReached(0) };
            for (depth, &plan) in cuts.iter().enumerate().skip(1) {
                let Some(next) = self.next_cut(cut.lost, plan, depth as u64) else {
                    return Outcome::NotReached(depth);
                };
                cut = next;
            }
            self.last_mount(cut.lost);
            Outcome::Survived
        })
    }

    fn exhaust(&self, depth: usize, stride: Stride) -> u64 {
        let first = |plan| self.first_cut(plan);
        self.every_form(&[], stride, first, &mut |cuts, cut| self.exhaust_after(cuts, cut, depth - 1))
    }

    fn exhaust_after(&self, cuts: &[CutPlan], cut: Cut, depth: usize) -> u64 {
        if depth == 0 {
            self.bench.named(cuts, || self.last_mount(cut.lost));
            return 1;
        }
        self.bench.named(cuts, || self.last_mount(cut.lost.clone()));
        let next = |plan| self.next_cut(cut.lost.clone(), plan, cuts.len() as u64);
        1 + self.every_form(cuts, Stride::ALL, next, &mut |cuts, cut| self.exhaust_after(cuts, cut, depth - 1))
    }

    /// Makes `cut` happen at the operations in `stride` until one is not reached, in every form applicable there.
    fn every_form(
        &self,
        before: &[CutPlan],
        stride: Stride,
        cut: impl Fn(CutPlan) -> Option<Cut>,
        then: &mut dyn FnMut(&[CutPlan], Cut) -> u64,
    ) -> u64 {
        let mut cases = 0;
        for operation in (stride.first..).step_by(stride.every) {
            let plan = CutPlan { operation, form: Form::ALL[0] };
            let cuts = [before, &[plan]].concat();
            let Some(mut first) = self.bench.named(&cuts, || cut(plan)) else { return cases };
            let mut uncut = first.lost.nand.take_uncut().expect("it was armed to be kept");
            let hit = first.operation;
            let others = (1..Form::ALL.len()).filter(|&place| stride.takes(operation, place));
            let others = others.map(|place| Form::ALL[place]).filter(|&form| {
                form.applies_to(hit)
                    && survived(self.config, &self.bench.device, before.len(), form) == form
                    && uncut.is_different_in(form)
            });
            let others: Vec<_> = others.collect();
            let others: Vec<_> = others.into_iter().map(|form| (form, first.in_form(&uncut, form))).collect();
            for (form, cut) in [(plan.form, first)].into_iter().chain(others) {
                cases += then(&[before, &[CutPlan { operation, form }]].concat(), cut);
            }
        }
        cases
    }

    fn compare_with_replays(&self, stride: Stride) -> u64 {
        /// No second cuts from here on: they would take most of the time.
        const SECOND_BELOW: u64 = 50;
        let compare = |cuts: &[CutPlan], derived: &Cut, replayed: Option<Cut>| {
            let mut replayed = replayed.expect("the derived cut fell");
            drop(replayed.lost.nand.take_uncut());
            let (derived, replayed) = (format!("{derived:?}"), format!("{replayed:?}"));
            let same = derived.bytes().zip(replayed.bytes()).take_while(|(one, other)| one == other).count();
            let near = same.saturating_sub(200);
            let differ = || (derived.get(near..same + 80), replayed.get(near..same + 80));
            assert!(derived == replayed, "{}: a derived cut and a replay: {:?}", self.bench.id(cuts), differ());
        };
        let first = |plan| self.first_cut(plan);
        self.every_form(&[], stride, first, &mut |cuts, cut| {
            compare(cuts, &cut, first(cuts[0]));
            if cuts[0].operation >= SECOND_BELOW || cuts[0].form != Form::Done {
                return 1;
            }
            let next = |plan| self.next_cut(cut.lost.clone(), plan, 1);
            1 + self.every_form(cuts, stride, next, &mut |cuts, again| {
                compare(cuts, &again, next(cuts[1]));
                1
            })
        })
    }
}

/// One random case: options, a device, a script, a failing operation in one case out of three, one to `most` cuts.
///
/// # Panics
/// As [`Bench::run`].
pub fn random_case(ftl: &[Subject], number: u64, most: u64) -> Outcome {
    random_case_on(&all_devices(), ftl, number, most)
}

/// The same on one of these devices.
///
/// # Panics
/// As [`Bench::run`].
pub fn random_case_on(devices: &[Device], ftl: &[Subject], number: u64, most: u64) -> Outcome {
    let subject = in_turn(ftl, number);
    let mut random = Random::stream(number, 0xC07);
    let device = devices[random.below(devices.len() as u64) as usize];
    let faults = match random.below(6) {
        0 => vec![Fault::Program(1 + random.below(100))],
        1 => vec![Fault::Erase(1 + random.below(15))],
        _ => Vec::new(),
    };
    let bench = Bench { subject, device, seed: random.next_u64() >> 40, faults: &faults };
    // On a timed device, pages past a fence matter: half the cuts lose them, after more script steps.
    let first = if device.is_timed() { 240 } else { 120 };
    let is_known = |&form: &Form| match form {
        Form::PairedPage => device.rules.pair_distance > 0,
        Form::UnstablePage => device.rules.unstable_pages,
        _ => true,
    };
    let forms: Vec<Form> = Form::ALL.into_iter().filter(is_known).collect();
    let cuts: Vec<CutPlan> = (0..1 + random.below(most))
        .map(|depth| CutPlan {
            operation: 1 + random.below(if depth == 0 { first } else { 12 }),
            form: match random.below(forms.len() as u64) {
                _ if device.is_timed() && random.below(2) == 0 => Form::LostTail,
                _ if device.rules.unstable_pages && random.below(2) == 0 => Form::UnstablePage,
                form => survived(&subject.config, &device, depth as usize, forms[form as usize]),
            },
        })
        .collect();
    bench.run(&cuts).unwrap_or(Outcome::NotReached(0))
}

/// The power cut devices, timed ones last; those with pairs or unstable pages are apart.
fn all_devices() -> Vec<Device> {
    [devices(), timed_devices()].concat()
}

/// A text without a valid case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaseError(String);

impl fmt::Display for CaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A case by its text.
#[derive(Clone, Debug)]
pub struct Case {
    /// The FTL and its options.
    pub subject: Subject,
    device: Device,
    seed: u64,
    faults: Vec<Fault>,
    cuts: Vec<CutPlan>,
}

impl std::str::FromStr for Case {
    type Err = CaseError;

    fn from_str(text: &str) -> Result<Self, CaseError> {
        let refuse = |why: String| CaseError(format!("\"{text}\" is no power-cut case: {why}"));
        let mut parts = text.split('/');
        let (Some(subject), Some(name), Some(seed)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(refuse("write FTL/DEVICE/SEED/CUT/..., as a failing run prints it".into()));
        };
        let subject = subject.parse().map_err(refuse)?;
        let known = [all_devices(), paired_devices(), unstable_devices()].concat();
        let device = known.into_iter().find(|known| known.name == name);
        let device = device.ok_or_else(|| refuse("there is no such device".into()))?;
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
        Ok(Self { subject, device, seed, faults, cuts })
    }
}

impl Case {
    /// Runs the case on its FTL; `None` if the FTL refuses the device.
    ///
    /// # Panics
    /// As [`Bench::run`].
    pub fn replay(&self) -> Option<Outcome> {
        Bench { subject: &self.subject, device: self.device, seed: self.seed, faults: &self.faults }.run(&self.cuts)
    }
}
