//! Conformance: random requests on an FTL with bytes and on the model, everything compared.

use crate::device::Device;
use crate::rig::{flash, Rig};
use crate::script::{self, Mix, Step};
use crate::subject::Subject;
use nandlab_block::{Op, Request};
use nandlab_ftl::Events;
use nandlab_nand::Nand;

/// Pages of a device whose invariants are derived anew after each step. Deriving takes a time that grows with the device.
const CHECKED_EACH_STEP: u32 = 512;

/// Runs `steps` random steps from `seed` with `check()` after each and a full comparison at each remount. On a device with more
/// than [`CHECKED_EACH_STEP`] pages `check()` comes after some steps, others with each seed; with `NANDLAB_LONG=1` after each.
///
/// Returns the run's counts, or `None` if the FTL refuses the device.
///
/// # Panics
/// At the first difference.
pub fn run(subject: &Subject, device: &Device, seed: u64, steps: usize) -> Option<Ran> {
    let pages = crate::exportable(&subject.config, device)?;
    let page = device.geometry.sectors_per_page();
    let script = script::random(seed, u64::from(pages) * u64::from(page), page, steps, Mix::USUAL);
    let is_long = std::env::var_os("NANDLAB_LONG").is_some();
    let check_every = if is_long { 1 } else { 1 + (device.geometry.pages() / CHECKED_EACH_STEP) as usize };
    Some(Run { subject, device, seed, check_every }.play(pages, &script))
}

/// A run's counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ran {
    /// Device erases.
    pub erases: u64,
    /// The FTL's events, over all mounts.
    pub events: Events,
}

impl Ran {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { erases: self.erases + other.erases, events: self.events.and(&other.events) }
    }
}

struct Run<'a> {
    subject: &'a Subject,
    device: &'a Device,
    seed: u64,
    /// Steps from one `check()` to the next.
    check_every: usize,
}

impl Run<'_> {
    fn play(&self, logical_pages: u32, script: &[Step]) -> Ran {
        let config = &self.subject.config;
        let context = |at: usize| format!("{} on {} seed {} step {at}", self.subject, self.device.name, self.seed);
        let nand = flash(self.device, Default::default());
        let mut rig = Rig::new(nand, logical_pages, config).expect("an erased device mounts");
        let mut events = Events::default();
        for (at, &step) in script.iter().enumerate() {
            rig.step(step).unwrap_or_else(|error| panic!("{}: {step:?}: {error}", context(at)));
            if (at as u64 + self.seed) % self.check_every as u64 == 0 {
                rig.disk_mut().check();
            }
            if step == Step::Remount {
                let ram = rig.disk().ram();
                events = events.and(&rig.disk().events());
                rig = rig.remount(config).unwrap_or_else(|error| panic!("{}: remount: {error}", context(at)));
                rig.disk_mut().check();
                assert_eq!(rig.disk().ram(), ram, "{}: memory after the remount", context(at));
                rig.compare_all().expect("a mounted disk reads");
            }
        }
        rig.step(Step::Do(Request::new(Op::Flush, 0, 0))).expect("a flush goes well");
        events = events.and(&rig.disk().events());
        let mut rig = rig.remount(config).expect("a flushed disk mounts");
        rig.compare_all().expect("a mounted disk reads");
        Ran { erases: rig.disk_mut().nand_mut().ctx().matrix().total().erases() as u64, events }
    }
}
