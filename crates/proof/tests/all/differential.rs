//! Differential: the same script leaves the same counts on every kind of device, and a mount needs the flash alone.

use nandlab_block::{BlockDevice, Op, Payload, Request};
use nandlab_drive::{Chip, Drive, DriveOn};
use nandlab_ftl::{Events, FtlConfig, FtlError, RamUse, Trims};
use nandlab_nand::backed::Backed;
use nandlab_nand::counting::{Full, Lean};
use nandlab_nand::plain::WithContent;
use nandlab_nand::profile::{PlaneOverlap, Timing};
use nandlab_nand::timed::Timed;
use nandlab_nand::{
    as_inside, BlockId, Cause, Cell, Counting, Done, Geometry, Matrix, Nand, NandError, Oob, Origin, Ppa, Rules,
    SECTOR_BYTES,
};
use nandlab_proof::device::{devices, Device};
use nandlab_proof::script::{self, Mix, Step};
use nandlab_proof::{exportable, on_all_cores, subjects, Disk, Subject};

/// Steps of a script with the default options, and with others in the quick form.
const STEPS: [usize; 2] = [1_500, 500];
/// A lean device cannot be mounted again.
const NO_REMOUNTS: Mix = Mix { remounts: 0, ..Mix::USUAL };

const TIMING: Timing = Timing {
    transfer_ns_per_byte: 25.0,
    plane_overlap: PlaneOverlap::Independent,
    ..Timing::array(25.0, 300.0, 2000.0)
};

/// Steps of a script with the options in `subject`.
fn steps(subject: &Subject) -> usize {
    let is_short = !subject.is_default() && std::env::var_os("NANDLAB_LONG").is_none();
    STEPS[usize::from(is_short)]
}

fn script_for(device: &Device, pages: u32, seed: u64, steps: usize, mix: Mix) -> Vec<Step> {
    let page = device.geometry.sectors_per_page();
    script::random(seed, u64::from(pages) * u64::from(page), page, steps, mix)
}

/// Carries out one request, with bytes if the device takes them.
fn submit(disk: &mut (impl BlockDevice + ?Sized), request: &Request) -> Vec<u8> {
    let mut bytes = vec![request.sector as u8 ^ 0x5A; (request.sectors * SECTOR_BYTES) as usize];
    let payload = match request.op {
        Op::Write => Payload::Write(&bytes),
        Op::Read => Payload::Read(&mut bytes),
        Op::Trim | Op::Flush | Op::UnitUpdate | Op::Append | Op::Zone(_) => Payload::None,
    };
    disk.submit(request, payload).unwrap_or_else(|error| panic!("{request:?}: {error}"));
    bytes
}

/// Plays a script without mounts.
fn play(disk: &mut dyn Drive, script: &[Step]) {
    for step in script {
        match step {
            Step::Do(request) => drop(submit(disk, request)),
            Step::Remount => panic!("a device that only counts cannot be mounted again"),
        }
    }
}

/// Plays a script; every remount is one.
fn play_with_mounts(disk: &mut dyn DriveOn, script: &[Step]) {
    for step in script {
        match step {
            Step::Do(request) => drop(submit(disk, request)),
            Step::Remount => {
                submit(disk, &Request::new(Op::Flush, 0, 0));
                disk.remount().expect("a flushed disk mounts");
            }
        }
    }
}

/// The results that must be equal.
type Left = (Matrix, Events, RamUse);

fn left(disk: &mut dyn Drive) -> Left {
    (disk.ctx().matrix().clone(), disk.events(), disk.ram())
}

/// Mounts on an erased device and plays.
fn run(nand: impl nandlab_drive::Device, pages: u32, config: &FtlConfig, script: &[Step]) -> Left {
    let mounted = nandlab_drive::on(config, Box::new(nand), pages);
    let mut disk = mounted.map_err(|refused| refused.error).expect("an erased device mounts");
    play_with_mounts(&mut *disk, script);
    left(&mut *disk)
}

/// The same on a counting device.
fn run_lean(mounted: Result<Box<dyn Drive>, FtlError>, script: &[Step]) -> Left {
    let mut disk = mounted.expect("an erased device mounts");
    play(&mut *disk, script);
    left(&mut *disk)
}

/// Compares with a full counting device's results.
fn compare(expected: &Left, found: &Left, what: &str) {
    for (origin, cause, cell) in expected.0.nonzero() {
        assert_eq!(cell, found.0.cell(origin, cause), "{what}: origin {}, cause {}", origin.name(), cause.name());
    }
    assert_eq!(expected, found, "{what}");
}

/// Erases, and spare reads at mounts, from scripts with equal results on every kind of device.
fn equal_counts(subject: &Subject) -> (u64, u64) {
    let (config, steps) = (&subject.config, steps(subject));
    let (mut erases, mut mount_reads) = (0, 0);
    for device in devices() {
        let (geometry, rules) = (device.geometry, device.rules);
        let Some(pages) = exportable(config, &device) else { continue };
        let what = |kind: &str| format!("{} on {kind}", device.name);
        let full = || WithContent::new(Counting::<Full>::new(geometry, rules));
        let lean = || Counting::<Lean>::new(geometry, rules);

        let script = script_for(&device, pages, 3, steps, NO_REMOUNTS);
        let expected = run(full(), pages, config, &script);
        compare(&expected, &run_lean(nandlab_drive::counting(config, lean(), pages), &script), &what("lean"));
        let timed = nandlab_drive::timed(config, Timed::new(lean(), &TIMING), pages);
        compare(&expected, &run_lean(timed, &script), &what("timed lean"));
        let boxed = WithContent::new(Timed::new(lean(), &TIMING));
        compare(&expected, &run(boxed, pages, config, &script), &what("boxed timed lean"));
        compare(&expected, &run(Backed::ram(geometry, rules), pages, config, &script), &what("bytes"));
        erases += expected.0.total().erases() as u64;

        let script = script_for(&device, pages, 4, steps, Mix { remounts: 3, ..Mix::USUAL });
        let expected = run(full(), pages, config, &script);
        let bytes = Backed::ram(geometry, rules);
        compare(&expected, &run(bytes, pages, config, &script), &what("bytes, mounts"));
        let timed = Timed::new(Backed::ram(geometry, rules), &TIMING);
        compare(&expected, &run(timed, pages, config, &script), &what("timed bytes, mounts"));
        mount_reads += expected.0.sum(|_, cause| cause == Cause::Mount).spare_reads;
    }
    (erases, mount_reads)
}

#[test]
fn every_kind_of_device_counts_alike() {
    on_all_cores(&subjects().concat(), |subject| {
        let (erases, mount_reads) = equal_counts(subject);
        println!("{subject}: {erases} erases, {mount_reads} spare reads at mounts");
        let least = 2 * steps(subject) as u64 / 3;
        assert!(erases > least && mount_reads > least, "{subject}: {erases} erases, {mount_reads} spare reads");
    });
}

fn assert_notes_are_of_the_layer(config: &FtlConfig) {
    let geometry = Geometry::single_die(60, 16, 512).expect("a small device");
    let nand: Counting = Counting::new(geometry, Rules { bits_per_cell: 3, ..Rules::default() });
    let mut disk = Disk::mount(WithContent::new(nand), 100, config).expect("it fits");
    let journal = |op, sector, sectors| Request { origin: Origin::JOURNAL, ..Request::new(op, sector, sectors) };
    let requests = [journal(Op::Write, 0, 50), journal(Op::Trim, 10, 5), journal(Op::Flush, 0, 0)];
    requests.iter().for_each(|request| disk.submit(request, Payload::None).map(drop).expect("there is room"));
    let matrix = disk.ctx().matrix().clone();
    let notes = u64::from(config.facts().trims == Trims::Durable);
    assert_eq!(matrix.cell(Origin::FTL, Cause::Trim).page_programs, notes);
    assert_eq!(matrix.cell(Origin::JOURNAL, Cause::Host).page_programs, 50);
    let maps = matrix.cell(Origin::FTL, Cause::Map).page_programs;
    assert_eq!(matrix.total().page_programs, 50 + notes + maps);
    assert_eq!(matrix.total().meta_programs, notes + maps);
}

#[test]
fn notes_are_the_layers_own_pages() {
    subjects().iter().flatten().for_each(|subject| assert_notes_are_of_the_layer(&subject.config));
}

/// Counts every command at the device.
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
    as_inside!(inner: geometry, rules, is_known_erased, is_settled, set_slc, is_slc, ctx);
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

impl<N: Chip> Chip for Watched<N> {
    fn inside(&self) -> Option<&dyn Chip> {
        Some(&self.inner)
    }
    fn inside_mut(&mut self) -> Option<&mut dyn Chip> {
        Some(&mut self.inner)
    }
}

/// Every sector's contents.
fn contents(disk: &mut dyn Drive) -> Vec<u8> {
    let sectors = disk.sectors();
    (0..sectors).flat_map(|sector| submit(disk, &Request::new(Op::Read, sector, 1))).collect()
}

/// Reads in mounts that find everything on flash.
fn mount_from_flash(subject: &Subject) -> u64 {
    let (config, steps) = (&subject.config, steps(subject));
    let mut reads = 0;
    // A mount that may undo trims can change the contents.
    let mix = Mix { trims: if config.facts().trims == Trims::Durable { NO_REMOUNTS.trims } else { 0 }, ..NO_REMOUNTS };
    for device in devices() {
        let Some(pages) = exportable(config, &device) else { continue };
        let nand = Watched::new(Backed::ram(device.geometry, device.rules));
        let script = script_for(&device, pages, 5, steps, mix);
        let mut before = Disk::mount(nand, pages, config).expect("it mounts");
        play(&mut *before, &script);
        submit(&mut *before, &Request::new(Op::Flush, 0, 0));
        let (ram, bytes) = (before.ram(), contents(&mut *before));
        let mut nand = before.into_nand();

        let matrix = nand.ctx().matrix().clone();
        nand.seen = Cell::default();
        let mut twin = Disk::mount(nand.clone(), pages, config).expect("it mounts");
        let mut disk = Disk::mount(nand, pages, config).expect("it mounts");
        let seen = disk.nand_mut().seen;
        let counted = disk.ctx().matrix().since(&matrix);
        // A block that looks erased is erased again before its first page, under that cause.
        let of_mount = counted.sum(|_, cause| matches!(cause, Cause::Mount | Cause::Reerase));
        assert_eq!(of_mount, seen, "{}: counted and done at mount", device.name);
        assert_eq!(counted.total(), seen, "{}: counted under another cause at mount", device.name);
        assert!(seen.spare_reads + seen.page_reads > 0, "{}: a mount without reads", device.name);

        assert_eq!(disk.ram(), ram, "{}: memory after the mount", device.name);
        assert_eq!(contents(&mut *disk), bytes, "{}: contents after the mount", device.name);
        // Nothing but the flash decides how it goes on: a twin mounted from the same flash does the same.
        contents(&mut *twin);
        let tail = script_for(&device, pages, 6, steps, NO_REMOUNTS);
        play(&mut *disk, &tail);
        play(&mut *twin, &tail);
        compare(&left(&mut *twin), &left(&mut *disk), &format!("{}: twin", device.name));
        reads += seen.spare_reads + seen.page_reads;
    }
    reads
}

#[test]
fn a_mount_reads_the_flash_and_nothing_else() {
    on_all_cores(&subjects().concat(), |subject| {
        let reads = mount_from_flash(subject);
        assert!(reads > 100, "{subject}: only {reads} reads at mounts");
    });
}
