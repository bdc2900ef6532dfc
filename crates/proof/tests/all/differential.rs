//! Differential: the same script on every kind of device leaves the same counts, and a mount needs the flash alone.

use nandlab_block::{BlockDevice, Op, Payload, Request};
use nandlab_ftl::{Disk, Events, Ftl, RamUse, Trims, Visitor};
use nandlab_nand::backed::Backed;
use nandlab_nand::counting::Lean;
use nandlab_nand::plain::WithContent;
use nandlab_nand::profile::{PlaneOverlap, Timing};
use nandlab_nand::timed::Timed;
use nandlab_nand::{
    as_inside, BlockId, Cause, Cell, Content, Counting, Done, Geometry, Matrix, Nand, NandError, Oob, Origin, Ppa,
    Rules, SECTOR_BYTES,
};
use nandlab_proof::device::{devices, Device};
use nandlab_proof::script::{self, Mix, Step};
use nandlab_proof::{exportable, on_all_cores, subjects};

const STEPS: usize = 1_500;
/// A lean device cannot be mounted again.
const NO_REMOUNTS: Mix = Mix { remounts: 0, ..Mix::USUAL };

const TIMING: Timing = Timing {
    transfer_ns_per_byte: 25.0,
    plane_overlap: PlaneOverlap::Independent,
    ..Timing::array(25.0, 300.0, 2000.0)
};

fn script_for(device: &Device, pages: u32, seed: u64, mix: Mix) -> Vec<Step> {
    let page = device.geometry.sectors_per_page();
    script::random(seed, u64::from(pages) * u64::from(page), page, STEPS, mix)
}

/// Carries out one request, with bytes where the device takes them.
fn submit<F: Ftl, N: Nand>(disk: &mut Disk<F, N>, request: &Request) -> Vec<u8> {
    let mut bytes = vec![request.sector as u8 ^ 0x5A; (request.sectors * SECTOR_BYTES) as usize];
    let payload = match request.op {
        Op::Write => Payload::Write(&bytes),
        Op::Read => Payload::Read(&mut bytes),
        Op::Trim | Op::Flush => Payload::None,
    };
    disk.submit(request, payload).unwrap_or_else(|error| panic!("{request:?}: {error}"));
    bytes
}

/// Plays a script; every remount is one.
fn play<F: Ftl, N: Nand>(mut disk: Disk<F, N>, config: &F::Config, script: &[Step]) -> Disk<F, N> {
    let pages = disk.ftl().logical_pages();
    for step in script {
        match step {
            Step::Do(request) => drop(submit(&mut disk, request)),
            Step::Remount => {
                submit(&mut disk, &Request::new(Op::Flush, 0, 0));
                disk = Disk::mount(disk.into_nand(), pages, config).expect("a flushed disk mounts");
            }
        }
    }
    disk
}

/// What must be equal.
type Left = (Matrix, Events, RamUse);

fn left<F: Ftl, N: Nand>(disk: &mut Disk<F, N>) -> Left {
    (disk.nand_mut().ctx().matrix().clone(), disk.ftl().events(), disk.ftl().ram())
}

fn run<F: Ftl, N: Nand>(nand: N, pages: u32, config: &F::Config, script: &[Step]) -> Left {
    let disk = Disk::<F, N>::mount(nand, pages, config).expect("an erased device mounts");
    left(&mut play(disk, config, script))
}

/// Compares with what a full counting device left.
fn compare(expected: &Left, found: &Left, what: &str) {
    for (origin, cause, cell) in expected.0.nonzero() {
        assert_eq!(cell, found.0.cell(origin, cause), "{what}: origin {}, cause {}", origin.name(), cause.name());
    }
    assert_eq!(expected, found, "{what}");
}

struct EqualCounts;

impl Visitor for EqualCounts {
    type Out = (u64, u64);

    fn visit<F: Ftl>(self, config: &F::Config) -> (u64, u64) {
        let (mut erases, mut mount_reads) = (0, 0);
        for device in devices() {
            let (geometry, rules) = (device.geometry, device.rules);
            let Some(pages) = exportable::<F>(&geometry, &rules, config) else { continue };
            let what = |kind: &str| format!("{} on {kind}", device.name);

            let script = script_for(&device, pages, 3, NO_REMOUNTS);
            let expected = run::<F, _>(Counting::<_>::new(geometry, rules) as Counting, pages, config, &script);
            let lean = || Counting::<Lean>::new(geometry, rules);
            compare(&expected, &run::<F, _>(lean(), pages, config, &script), &what("lean"));
            compare(&expected, &run::<F, _>(Timed::new(lean(), &TIMING), pages, config, &script), &what("timed lean"));
            let boxed: Box<dyn Nand<Buf = Content>> = Box::new(WithContent::new(Timed::new(lean(), &TIMING)));
            compare(&expected, &run::<F, _>(boxed, pages, config, &script), &what("boxed timed lean"));
            compare(&expected, &run::<F, _>(Backed::ram(geometry, rules), pages, config, &script), &what("bytes"));
            erases += expected.0.total().erases() as u64;

            let script = script_for(&device, pages, 4, Mix { remounts: 3, ..Mix::USUAL });
            let expected = run::<F, _>(Counting::<_>::new(geometry, rules) as Counting, pages, config, &script);
            compare(
                &expected,
                &run::<F, _>(Backed::ram(geometry, rules), pages, config, &script),
                &what("bytes, mounts"),
            );
            let boxed: Box<dyn Nand<Buf = Content>> = Box::new(Timed::new(Backed::ram(geometry, rules), &TIMING));
            compare(&expected, &run::<F, _>(boxed, pages, config, &script), &what("boxed timed bytes, mounts"));
            mount_reads += expected.0.sum(|_, cause| cause == Cause::Mount).spare_reads;
        }
        (erases, mount_reads)
    }
}

#[test]
fn every_kind_of_device_counts_alike() {
    on_all_cores(&subjects().concat(), |subject| {
        let (erases, mount_reads) = subject.config.dispatch(EqualCounts);
        println!("{subject}: {erases} erases, {mount_reads} spare reads at mounts");
        assert!(erases > 1_000 && mount_reads > 1_000, "{subject}: {erases} erases, {mount_reads} spare reads");
    });
}

struct NotesOfTheLayer;

impl Visitor for NotesOfTheLayer {
    type Out = ();

    fn visit<F: Ftl>(self, config: &F::Config) {
        let geometry = Geometry::single_die(60, 16, 512).expect("a small device");
        let nand: Counting = Counting::new(geometry, Rules { bits_per_cell: 3, ..Rules::default() });
        let mut disk = Disk::<F, _>::mount(nand, 100, config).expect("it fits");
        let journal = |op, sector, sectors| Request { origin: Origin::JOURNAL, ..Request::new(op, sector, sectors) };
        let requests = [journal(Op::Write, 0, 50), journal(Op::Trim, 10, 5), journal(Op::Flush, 0, 0)];
        requests.iter().for_each(|request| disk.submit(request, Payload::None).map(drop).expect("there is room"));
        let matrix = disk.nand_mut().ctx().matrix().clone();
        let notes = u64::from(F::trims(config) == Trims::Durable);
        assert_eq!(matrix.cell(Origin::FTL, Cause::Trim).page_programs, notes);
        assert_eq!(matrix.cell(Origin::JOURNAL, Cause::Host).page_programs, 50);
        let maps = matrix.cell(Origin::FTL, Cause::Map).page_programs;
        assert_eq!(matrix.total().page_programs, 50 + notes + maps);
        assert_eq!(matrix.total().meta_programs, notes + maps);
    }
}

#[test]
fn notes_are_the_layers_own_pages() {
    subjects().iter().flatten().for_each(|subject| subject.config.dispatch(NotesOfTheLayer));
}

/// Counts every command that reaches the device.
#[derive(Clone, Debug)]
struct Watched<N> {
    inner: N,
    seen: Cell,
}

impl<N> Watched<N> {
    fn new(inner: N) -> Self {
        Self { inner, seen: Cell::default() }
    }
}

impl<N: Nand> Nand for Watched<N> {
    type Buf = N::Buf;
    as_inside!(inner: geometry, rules, set_slc, is_slc, ctx);
    fn read(&mut self, at: Ppa, page: &mut N::Buf) -> Result<Oob, NandError> {
        self.seen.page_reads += 1;
        self.inner.read(at, page)
    }
    fn read_spare(&mut self, at: Ppa) -> Result<Option<Oob>, NandError> {
        self.seen.spare_reads += 1;
        self.inner.read_spare(at)
    }
    fn program(&mut self, at: Ppa, page: &N::Buf, tail: &[u8], oob: Oob) -> Result<Done, NandError> {
        self.seen.page_programs += 1;
        self.seen.meta_programs += u64::from(!tail.is_empty());
        self.inner.program(at, page, tail, oob)
    }
    fn read_tail(&mut self, at: Ppa, tail: &mut [u8]) -> Result<Oob, NandError> {
        self.seen.page_reads += 1;
        self.seen.meta_reads += 1;
        self.inner.read_tail(at, tail)
    }
    fn read_with_tail(&mut self, at: Ppa, page: &mut N::Buf, tail: &mut [u8]) -> Result<Oob, NandError> {
        self.seen.page_reads += 1;
        self.seen.meta_reads += 1;
        self.inner.read_with_tail(at, page, tail)
    }
    fn copy(&mut self, from: Ppa, to: Ppa, oob: Oob) -> Result<Oob, NandError> {
        self.seen.copies += 1;
        self.inner.copy(from, to, oob)
    }
    fn program_spare(&mut self, at: Ppa, oob: Oob) -> Result<Done, NandError> {
        self.seen.spare_programs += 1;
        self.inner.program_spare(at, oob)
    }
    fn erase(&mut self, block: BlockId) -> Result<Done, NandError> {
        self.seen.erase_shares += nandlab_nand::ERASE_SHARE;
        self.inner.erase(block)
    }
    fn retire(&mut self, block: BlockId) -> Result<Done, NandError> {
        self.seen.spare_programs += 1;
        self.inner.retire(block)
    }
}

/// What every sector reads as.
fn contents<F: Ftl, N: Nand>(disk: &mut Disk<F, N>) -> Vec<u8> {
    let sectors = disk.sectors();
    (0..sectors).flat_map(|sector| submit(disk, &Request::new(Op::Read, sector, 1))).collect()
}

struct MountFromFlash;

impl Visitor for MountFromFlash {
    type Out = u64;

    fn visit<F: Ftl>(self, config: &F::Config) -> u64 {
        let mut reads = 0;
        // A mount that may undo trims does not leave the contents as they were.
        let mix = Mix { trims: if F::trims(config) == Trims::Durable { NO_REMOUNTS.trims } else { 0 }, ..NO_REMOUNTS };
        for device in devices() {
            let Some(pages) = exportable::<F>(&device.geometry, &device.rules, config) else { continue };
            let nand = Watched::new(Backed::ram(device.geometry, device.rules));
            let script = script_for(&device, pages, 5, mix);
            let mut before = play(Disk::<F, _>::mount(nand, pages, config).expect("it mounts"), config, &script);
            submit(&mut before, &Request::new(Op::Flush, 0, 0));
            let (ram, bytes) = (before.ftl().ram(), contents(&mut before));
            let mut nand = before.into_nand();

            let matrix = nand.ctx().matrix().clone();
            nand.seen = Cell::default();
            let mut twin = Disk::<F, _>::mount(nand.clone(), pages, config).expect("it mounts");
            let mut disk = Disk::<F, _>::mount(nand, pages, config).expect("it mounts");
            let seen = disk.nand_mut().seen;
            let counted = disk.nand_mut().ctx().matrix().since(&matrix);
            assert_eq!(
                counted.sum(|_, cause| cause == Cause::Mount),
                seen,
                "{}: counted and done at mount",
                device.name
            );
            assert_eq!(counted.total(), seen, "{}: counted under another cause at mount", device.name);
            assert!(seen.spare_reads + seen.page_reads > 0, "{}: a mount without reads", device.name);

            assert_eq!(disk.ftl().ram(), ram, "{}: memory after the mount", device.name);
            assert_eq!(contents(&mut disk), bytes, "{}: contents after the mount", device.name);
            // Nothing but the flash decides how it goes on: a twin mounted from the same flash does the same.
            contents(&mut twin);
            let tail = script_for(&device, pages, 6, NO_REMOUNTS);
            let (disk, twin) = (play(disk, config, &tail), play(twin, config, &tail));
            compare(&left(&mut { twin }), &left(&mut { disk }), &format!("{}: twin", device.name));
            reads += seen.spare_reads + seen.page_reads;
        }
        reads
    }
}

#[test]
fn a_mount_reads_the_flash_and_nothing_else() {
    on_all_cores(&subjects().concat(), |subject| {
        let reads = subject.config.dispatch(MountFromFlash);
        assert!(reads > 100, "{subject}: only {reads} reads at mounts");
    });
}
