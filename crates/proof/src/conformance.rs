//! Conformance: random requests on an FTL with bytes and on the model, everything compared.

use crate::rig::{flash, Flash, Rig};
use crate::script::{self, Mix, Step};
use crate::subject::Subject;
use nandlab_block::{Op, Request};
use nandlab_ftl::{Events, Ftl, Visitor};
use nandlab_nand::profile::{PlaneOverlap, Timing};
use nandlab_nand::{Geometry, Nand, ProgramOrder, Rules, Shape};

/// A device of the conformance runs.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    /// Its name in failures.
    pub name: &'static str,
    /// Its geometry.
    pub geometry: Geometry,
    /// Its rules.
    pub rules: Rules,
    /// Its times; [`UNTIMED`] where it keeps none.
    pub timing: Timing,
}

/// Everything ends at time 0, where every fence holds for everything that was issued.
pub const UNTIMED: Timing = Timing::array(0.0, 0.0, 0.0);

/// An erase takes so long that a die which erases falls behind the others.
const TIMED: Timing = Timing {
    read_us: 25.0,
    program_us: 300.0,
    erase_us: 2000.0,
    transfer_ns_per_byte: 25.0,
    plane_overlap: PlaneOverlap::Independent,
    ..UNTIMED
};

impl Device {
    /// Whether operations take time, so that a bounded fence holds only for what ends by then.
    pub fn is_timed(&self) -> bool {
        self.timing != UNTIMED
    }
}

/// Tiny and odd devices: every order of programs, one die and several, one plane and two, one sector a page and
/// many, one program of a page and partial ones.
///
/// In the names: channels x dies x planes where there is more than one, blocks of a plane, pages, bytes; the order;
/// `pN` for N programs of a page.
pub fn devices() -> Vec<Device> {
    use ProgramOrder::{Any, Ascending, AscendingDense};
    vec![
        device("8x4x512-ascending", [1, 1, 1, 8, 4, 512], Ascending, 1),
        device("8x4x512-any", [1, 1, 1, 8, 4, 512], Any, 1),
        device("9x3x1024-dense", [1, 1, 1, 9, 3, 1024], AscendingDense, 1),
        device("24x16x2048-ascending", [1, 1, 1, 24, 16, 2048], Ascending, 1),
        device("2x2x2x6x5x1024-dense", [2, 2, 2, 6, 5, 1024], AscendingDense, 1),
        device("13x8x4096-any", [1, 1, 1, 13, 8, 4096], Any, 1),
        // Room for many blocks that are being filled.
        device("16x4x512-dense", [1, 1, 1, 16, 4, 512], AscendingDense, 1),
        device("18x3x512-any", [1, 1, 1, 18, 3, 512], Any, 1),
        device("2x1x2x4x4x512-any-p2", [2, 1, 2, 4, 4, 512], Any, 2),
        device("1x2x1x9x3x1024-ascending-p4", [1, 2, 1, 9, 3, 1024], Ascending, 4),
    ]
}

/// A device whose map on flash takes more than two blocks, so that victims of the map still hold pages.
pub fn device_of_a_map() -> Device {
    device("300x16x512-ascending", [1, 1, 1, 300, 16, 512], ProgramOrder::Ascending, 1)
}

/// Devices that keep time, for power cuts: dies, and planes, that work at the same time.
pub fn timed_devices() -> Vec<Device> {
    let timed = |name, shape, program_order| Device { timing: TIMED, ..device(name, shape, program_order, 1) };
    vec![
        timed("2x1x2x4x4x512-any-timed", [2, 1, 2, 4, 4, 512], ProgramOrder::Any),
        timed("2x2x1x7x4x512-ascending-timed", [2, 2, 1, 7, 4, 512], ProgramOrder::Ascending),
    ]
}

/// A device without times of channels x dies x planes, so many blocks, pages and bytes.
fn device(name: &'static str, shape: [u32; 6], program_order: ProgramOrder, partial_programs: u8) -> Device {
    let [channels, dies_per_channel, planes_per_die, blocks_per_plane, pages_per_block, page_bytes] = shape;
    let shape = Shape {
        channels,
        dies_per_channel,
        planes_per_die,
        blocks_per_plane,
        pages_per_block,
        page_bytes,
        spare_bytes: if partial_programs > 1 { 16 } else { 64 },
    };
    let geometry = Geometry::new(shape).expect("the shapes above can be built");
    let rules = Rules { program_order, partial_programs, bits_per_cell: 3, ..Rules::default() };
    Device { name, geometry, rules, timing: UNTIMED }
}

/// Runs `steps` random steps of `seed` with `check()` after each and a full comparison at each remount.
///
/// Returns what it did, or `None` where the FTL refuses the device.
///
/// # Panics
/// At the first difference.
pub fn run(subject: &Subject, device: &Device, seed: u64, steps: usize) -> Option<Ran> {
    subject.config.dispatch(Run { subject, device, seed, steps })
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ran {
    /// Erases of the device.
    pub erases: u64,
    /// What the FTL did, over all mounts.
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
    steps: usize,
}

impl Visitor for Run<'_> {
    type Out = Option<Ran>;

    fn visit<F: Ftl>(self, config: &F::Config) -> Option<Ran> {
        let Device { geometry, rules, .. } = self.device;
        let pages = crate::exportable::<F>(geometry, rules, config)?;
        let sectors = u64::from(pages) * u64::from(geometry.sectors_per_page());
        let script = script::random(self.seed, sectors, geometry.sectors_per_page(), self.steps, Mix::USUAL);
        Some(self.play::<F>(config, pages, &script))
    }
}

impl Run<'_> {
    fn play<F: Ftl>(&self, config: &F::Config, logical_pages: u32, script: &[Step]) -> Ran {
        let context = |at: usize| format!("{} on {} seed {} step {at}", self.subject, self.device.name, self.seed);
        let nand = flash(self.device, Default::default());
        let mut rig = Rig::<F, Flash>::new(nand, logical_pages, config).expect("an erased device mounts");
        let mut events = Events::default();
        for (at, &step) in script.iter().enumerate() {
            rig.step(step).unwrap_or_else(|error| panic!("{}: {step:?}: {error}", context(at)));
            rig.disk_mut().check();
            if step == Step::Remount {
                let ram = rig.disk().ftl().ram();
                events = events.and(&rig.disk().ftl().events());
                rig = rig.remount(config).unwrap_or_else(|error| panic!("{}: remount: {error}", context(at)));
                rig.disk_mut().check();
                assert_eq!(rig.disk().ftl().ram(), ram, "{}: memory after the remount", context(at));
                rig.compare_all().expect("a mounted disk reads");
            }
        }
        rig.step(Step::Do(Request::new(Op::Flush, 0, 0))).expect("a flush goes well");
        events = events.and(&rig.disk().ftl().events());
        let mut rig = rig.remount(config).expect("a flushed disk mounts");
        rig.compare_all().expect("a mounted disk reads");
        Ran { erases: rig.disk_mut().nand_mut().ctx().matrix().total().erases() as u64, events }
    }
}
