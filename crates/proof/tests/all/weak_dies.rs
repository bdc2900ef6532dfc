//! One die among several has lost blocks, from the factory or later: the other dies take the exported pages, as long as
//! their good blocks suffice, and all data is there. A closed form computes the requirement independently.

mod page_maps;

use nandlab_block::{Error, Op, Request};
use nandlab_drive::Chip;
use nandlab_ftl::page::{self, PageMap, Stripe};
use nandlab_ftl::{hybrid_map, sector_map, Ftl as _, FtlConfig, FtlError, Variant};
use nandlab_nand::faulty::Config as Faults;
use nandlab_nand::{as_inside, BlockId, Content, Done, Geometry, Nand, NandError};
use nandlab_nand::{Oob, Ppa, ProgramOrder, Rules, Shape};
use nandlab_proof::device::{Device, UNTIMED};
use nandlab_proof::rig::{flash, Flash};
use nandlab_proof::script::{self, Mix, Step};
use nandlab_proof::{on_all_cores, Rig};

const DIES: u32 = 4;
const BLOCKS: u32 = 12;
const PAGES: u32 = 6;
/// Sectors per page.
const SECTORS: u32 = 4;

/// Dies with `planes_per_die` planes; the total plane count is always the same.
fn device(planes_per_die: u32, blocks_per_plane: u32) -> Device {
    let shape = Shape {
        channels: 2,
        dies_per_channel: 2 / planes_per_die,
        planes_per_die,
        blocks_per_plane,
        pages_per_block: PAGES,
        page_bytes: 512 * SECTORS,
        spare_bytes: 64,
    };
    let rules = Rules { program_order: ProgramOrder::Ascending, bits_per_cell: 3, ..Rules::default() };
    Device { name: "4 dies x6x2048", geometry: Geometry::new(shape).unwrap(), rules, timing: UNTIMED }
}

/// A die's permanent failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Failing {
    Erases,
    Programs,
}

/// A device where all erases, or all programs, on some dies (or planes) fail later; it counts each die's programs.
struct Weak {
    flash: Flash,
    geometry: Geometry,
    failing_erases: [bool; DIES as usize],
    failing_programs: [bool; DIES as usize],
    programs: [u64; DIES as usize],
}

impl Weak {
    fn new(device: &Device, faults: Faults) -> Self {
        let flash = flash(device, faults);
        let (none, programs) = ([false; DIES as usize], [0; DIES as usize]);
        let geometry = device.geometry.planes_as_dies();
        Self { flash, geometry, failing_erases: none, failing_programs: none, programs }
    }

    /// From now on all such operations fail on a die.
    fn fail(&mut self, what: Failing, die: usize) {
        match what {
            Failing::Erases => self.failing_erases[die] = true,
            Failing::Programs => self.failing_programs[die] = true,
        }
    }

    /// Counts a program, and makes it fail on a failing die.
    fn program_comes(&mut self, at: Ppa) {
        let die = self.geometry.die_of(self.geometry.block_of(at)) as usize;
        self.programs[die] += 1;
        if self.failing_programs[die] {
            self.flash.inner_mut().fail_program(1);
        }
    }

    /// Good blocks by die, but for so many at its start.
    fn good(&mut self, first: u32) -> [u32; DIES as usize] {
        let geometry = self.geometry;
        std::array::from_fn(|die| {
            let is_good = |block: &u32| {
                let spare = self.flash.read_spare(geometry.page(BlockId(*block), 0));
                !matches!(spare, Err(NandError::BadBlock(_)))
            };
            geometry.blocks_of_die(die as u32).skip(first as usize).filter(is_good).count() as u32
        })
    }
}

impl Nand for Weak {
    type Buf = Content;

    as_inside!(flash: geometry, rules, is_known_erased, is_settled, read, read_spare, read_tail, read_with_tail, program_spare, retire, set_slc, is_slc, ctx);

    fn program(&mut self, at: Ppa, page: &Content, tail: &[u8], oob: Oob) -> Result<Done, NandError> {
        self.program_comes(at);
        self.flash.program(at, page, tail, oob)
    }

    fn copy(&mut self, from: Ppa, to: Ppa, oob: Oob) -> Result<Oob, NandError> {
        self.program_comes(to);
        self.flash.copy(from, to, oob)
    }

    fn erase(&mut self, block: BlockId) -> Result<Done, NandError> {
        if self.failing_erases[self.geometry.die_of(block) as usize] {
            self.flash.inner_mut().fail_erase(1);
        }
        self.flash.erase(block)
    }
}

impl Chip for Weak {
    fn inside(&self) -> Option<&dyn Chip> {
        Some(&self.flash)
    }
    fn inside_mut(&mut self) -> Option<&mut dyn Chip> {
        Some(&mut self.flash)
    }
}

/// Required good blocks on the dies that take pages.
enum Needs {
    Sectors {
        /// Blocks for data, on all together.
        data: u32,
        /// Blocks in reserve and being filled, on each.
        each: u32,
        /// Blocks for the map, on all together and shared equally.
        map: u32,
    },
    Pages {
        /// Pages on all dies together, with trim notes.
        pages: u32,
        /// Blocks in reserve and being filled, on each, and one by which dies may differ.
        each: u32,
        /// Each die's blocks with one bit a cell: they do not count.
        slc: u32,
    },
}

impl Needs {
    /// For a map with `entries` entries, 4 bytes each: a map up to one block gets three blocks. An emptied block leaves
    /// a page, and each page's last sector is a list.
    fn sectors(pages: u32, entries: u32, reserve: u32) -> Self {
        assert!(entries.div_ceil(128 * SECTORS) < PAGES, "a map of less than a block");
        Self::Sectors { data: (pages * SECTORS).div_ceil((PAGES - 1) * (SECTORS - 1)), each: reserve + 1, map: 3 }
    }

    /// Whether dies with these good blocks suffice, each one contributing.
    fn is_enough(&self, good: &[u32]) -> bool {
        let dies = good.len() as u32;
        match *self {
            Self::Sectors { data, each, map } => {
                let shares = (0..dies).map(|rank| (map + dies - 1 - rank) / dies);
                let fits = good.iter().zip(shares).all(|(&good, share)| good >= each + share);
                fits && good.iter().sum::<u32>() >= data + each * dies + map
            }
            // An emptied block leaves a page.
            Self::Pages { pages, each, .. } => {
                good.iter().all(|&good| good > each)
                    && good.iter().map(|good| (good - each) * PAGES - 1).sum::<u32>() >= pages
            }
        }
    }

    /// Countable good blocks by die.
    fn good(&self, nand: &mut Weak) -> [u32; DIES as usize] {
        match *self {
            Self::Sectors { .. } => nand.good(0),
            Self::Pages { slc, .. } => nand.good(slc),
        }
    }

    /// Unusable dies, for page maps only.
    fn weak(&self, good: [u32; DIES as usize]) -> Vec<usize> {
        let is_weak = |die: &usize| matches!(*self, Self::Pages { each, .. } if good[*die] <= each);
        (0..DIES as usize).filter(is_weak).collect()
    }

    /// The most dies that suffice, one bit each; `None` if no choice does.
    fn working(&self, good: [u32; DIES as usize]) -> Option<u32> {
        let is_enough = |dies: &u32| {
            let mine: Vec<u32> = (0..DIES).filter(|die| dies >> die & 1 == 1).map(|die| good[die as usize]).collect();
            self.is_enough(&mine)
        };
        (1..1 << DIES).filter(is_enough).max_by_key(|dies| dies.count_ones())
    }
}

const SCRIPT: Mix = Mix { remounts: 4, ..Mix::USUAL };

fn steps(seed: u64, pages: u32, steps: usize) -> Vec<Step> {
    script::random(seed, u64::from(pages * SECTORS), SECTORS, steps, SCRIPT)
}

/// An FTL's options, and their needs.
struct Case {
    name: String,
    config: FtlConfig,
    pages: u32,
    needs: Needs,
    device: Device,
    /// Blocks per die the host fills at the same time.
    filled: u32,
}

impl Case {
    /// Mounts with these factory bad blocks, and works; or is refused, with a correct sentence.
    fn factory_bad(&self, bad: Vec<u32>) -> bool {
        let context = format!("{} with {} pages, bad blocks {bad:?}", self.name, self.pages);
        let mut nand = Weak::new(&self.device, Faults { factory_bad_blocks: bad, ..Faults::default() });
        let good = self.needs.good(&mut nand);
        let working = self.needs.working(good);
        let mut rig = match Rig::new(nand, self.pages, &self.config) {
            Ok(rig) => rig,
            Err(FtlError::WornOut { good: left, needed, weak_dies }) => {
                if let Needs::Pages { .. } = self.needs {
                    // Some die is the last.
                    let weak = self.needs.weak(good).len().min(DIES as usize - 1);
                    assert_eq!(weak_dies as usize, weak, "{context}: weak dies of {good:?} good blocks");
                }
                assert!(working.is_none() && left < needed, "{context}: {left} are good, {needed} are enough");
                return false;
            }
            Err(error) => panic!("{context}: {error}"),
        };
        let working = working.unwrap_or_else(|| panic!("{context}: it mounts"));
        for (at, step) in steps(3, self.pages, 300).into_iter().enumerate() {
            rig.step(step).unwrap_or_else(|error| panic!("{context}: step {at}, {step:?}: {error}"));
            if at % 16 == 0 {
                rig.disk_mut().check();
            }
            if step == Step::Remount {
                rig = rig.remount(&self.config).unwrap_or_else(|error| panic!("{context}: step {at}: {error}"));
                rig.compare_all().unwrap();
            }
        }
        rig.compare_all().unwrap();
        for die in 0..DIES as usize {
            let programs = rig.disk().nand().programs[die];
            assert_eq!(programs > 0, working >> die & 1 == 1, "{context}: {programs} programs of die {die}");
        }
        true
    }

    /// Most sectors the device takes once its good blocks are too few, since it opens no further host block: the rest
    /// in each die's open blocks, and sectors waiting for a page.
    fn beyond(&self) -> u32 {
        DIES * self.filled * PAGES * SECTORS + SECTORS
    }

    /// Works while one die after the other fails, until the good blocks are too few; returns how many failed then.
    fn failing(&self, what: Failing, dies: &[usize]) -> Option<usize> {
        let mut rig = Rig::new(Weak::new(&self.device, Faults::default()), self.pages, &self.config).unwrap();
        let (mut beyond, mut weak) = (0, Vec::new());
        for (number, &die) in (1..).zip(dies) {
            let context = format!("{} with {} pages, {what:?} fail on {:?}", self.name, self.pages, &dies[..number]);
            rig.disk_mut().nand_mut().fail(what, die);
            let mut programs = 0;
            for (at, step) in steps(number as u64, self.pages, STEPS).into_iter().enumerate() {
                if at == STEPS - STEPS / 8 {
                    programs = rig.disk().nand().programs[die];
                }
                let before = rig.disk().nand().programs;
                let done = rig.step(step);
                let after = rig.disk().nand().programs;
                assert!(
                    weak.iter().all(|&die: &usize| before[die] == after[die]),
                    "{context}: a weak die is programmed"
                );
                match done {
                    Err(Error::WornOut(_)) => {
                        self.end(rig, step, &context);
                        return Some(number);
                    }
                    done => done.unwrap_or_else(|error| panic!("{context}: step {at}, {step:?}: {error}")),
                }
                if at % 16 == 0 {
                    rig.disk_mut().check();
                }
                let good = self.needs.good(rig.disk_mut().nand_mut());
                let is_enough = self.needs.working(good).is_some();
                weak = if is_enough { self.needs.weak(good) } else { Vec::new() };
                if !is_enough {
                    beyond += written(step);
                    assert!(
                        beyond <= self.beyond(),
                        "{context}: {beyond} sectors were taken with {good:?} good blocks"
                    );
                }
                if step == Step::Remount {
                    rig = match rig.remount(&self.config) {
                        Ok(rig) => rig,
                        Err(FtlError::WornOut { good, needed, .. }) if !is_enough => {
                            assert!(good < needed, "{context}: {good} are good, {needed} are enough");
                            return Some(number);
                        }
                        Err(error) => panic!("{context}: step {at}, with {good:?} good blocks: {error}"),
                    };
                    rig.disk_mut().check();
                    rig.compare_all().unwrap();
                }
            }
            let nand = rig.disk_mut().nand_mut();
            let (good, after) = (self.needs.good(nand), nand.programs[die]);
            assert!(self.needs.working(good).is_some(), "{context}: {good:?} are good, and that is too few");
            assert_eq!(after, programs, "{context}: programs of a die that is passed over");
        }
        None
    }

    /// The end does not come too soon; all data except the refused step's is there.
    fn end(&self, mut rig: Rig<Weak>, refused: Step, context: &str) {
        rig.compare_untouched(refused);
        let nand = rig.disk_mut().nand_mut();
        let (good, failing) = (self.needs.good(nand), nand.failing_programs);
        if self.needs.working(good).is_some() {
            // A block with a failed program looks good until it is emptied and retired.
            let sound = std::array::from_fn(|die| good[die] - u32::from(failing[die]).min(good[die]));
            assert!(self.needs.working(sound).is_none(), "{context}: {good:?} are good, and that is enough");
            return;
        }
        match rig.remount(&self.config) {
            Err(FtlError::WornOut { good, needed, .. }) => assert!(good < needed, "{context}: {good} and {needed}"),
            Err(error) => panic!("{context}: {error}"),
            Ok(_) => panic!("{context}: a device that was worn out mounts"),
        }
    }
}

/// Sectors a step writes.
fn written(step: Step) -> u32 {
    match step {
        Step::Do(Request { op: Op::Write, sectors, .. }) => sectors,
        _ => 0,
    }
}

/// Steps for each failing die.
const STEPS: usize = 3000;

fn sector_map(name: &str, pages: u32, config: sector_map::Config) -> Case {
    // Each handle fills a block.
    let more = config.fdp.map_or(0, |fdp| fdp.handles - 1);
    let needs = Needs::sectors(pages, pages * SECTORS, config.reserve_blocks + more);
    let config = FtlConfig::SectorMap(config);
    Case { name: format!("sector_map:{name}"), config, pages, needs, device: device(1, BLOCKS), filled: 1 }
}

fn two_handles() -> sector_map::Config {
    let handles = sector_map::SectorHandles { handles: 2, origins: sector_map::Origins::Each };
    sector_map::Config { fdp: Some(handles), ..Default::default() }
}

fn hybrid_map(name: &str, pages: u32, config: hybrid_map::Config) -> Case {
    // Sector entries begin with their own map page.
    let entries = pages.next_multiple_of(128 * SECTORS) + pages * SECTORS;
    let needs = Needs::sectors(pages, entries, config.reserve_blocks);
    let config = FtlConfig::HybridMap(config);
    Case { name: format!("hybrid_map:{name}"), config, pages, needs, device: device(1, BLOCKS), filled: 1 }
}

/// A page map that exports the capacity of `dies` dies.
fn page_map(variant: &Variant<page::Config>, blocks: u32, dies: u32) -> Case {
    let Variant { name, config, .. } = variant.clone();
    let (slc, filled) = (config.fixed_slc_blocks(), config.filled_blocks());
    let each = config.reserve_blocks + filled + 1;
    // One trim note, and its predecessor.
    let notes = if config.durable_trim { 2 } else { 0 };
    let all = dies * ((blocks - slc - each) * PAGES - 1);
    let needs = Needs::Pages { pages: all, each, slc };
    let device = device(if config.stripe == Stripe::Planes { 2 } else { 1 }, blocks);
    let config = FtlConfig::Page(config);
    Case { name: format!("page:{name}"), config, pages: all - notes, needs, device, filled }
}

/// The last blocks of some dies.
fn last_of(dies: &[u32], count: u32) -> Vec<u32> {
    dies.iter().flat_map(|die| (die + 1) * BLOCKS - count..(die + 1) * BLOCKS).collect()
}

/// Logical pages: on all dies there is room for 33 data blocks, on three for 24, on two for 15, on one for 6; 22 pages
/// take 6 blocks, 56 take 15, 90 take 24, 91 one more, 123 all.
const LOGICAL: [u32; 5] = [22, 56, 90, 91, 123];

#[test]
fn dies_with_bad_blocks_from_the_factory_are_passed_over() {
    let dies: [&[u32]; 4] = [&[0], &[3], &[1, 2], &[0, 1, 3]];
    let cases: Vec<(u32, &[u32])> = (0..=BLOCKS).flat_map(|count| dies.map(|dies| (count, dies))).collect();
    let mounted = on_all_cores(&cases, |&(count, dies)| {
        LOGICAL.map(|pages| {
            let sector = sector_map("default", pages, Default::default()).factory_bad(last_of(dies, count));
            let hybrid = hybrid_map("default", pages, Default::default()).factory_bad(last_of(dies, count));
            assert_eq!(sector, hybrid, "{pages} pages, {count} bad blocks on dies {dies:?}");
            sector
        })
    });
    let mounted = mounted.concat().into_iter().filter(|&mounted| mounted).count();
    println!("{mounted} mounted");
}

/// Least number for dies that may fail before the end.
fn spared(pages: u32) -> usize {
    match pages {
        56 => 2,
        90 => 1,
        _ => 0,
    }
}

fn fail_in_turn(case: &Case, what: Failing, dies: &[usize], spared: usize) {
    let failed = case.failing(what, dies);
    assert!(failed.is_none_or(|failed| failed > spared), "{}, {what:?} fail: {failed:?} failed", case.name);
    assert!(failed.is_some() || dies.len() < DIES as usize, "{}: a device without a good die works", case.name);
}

#[test]
fn a_device_ends_when_the_dies_that_are_left_have_too_few_blocks() {
    // With the first number one die would remain, and the device may end earlier: this die must take two dies' map at
    // once.
    let cases: Vec<(u32, Failing)> =
        LOGICAL.into_iter().skip(1).flat_map(|pages| [(pages, Failing::Erases), (pages, Failing::Programs)]).collect();
    on_all_cores(&cases, |&(pages, what)| {
        // With all programs failing, even the map for reads cannot be paged.
        let last = if what == Failing::Programs { 3 } else { 4 };
        for dies in [[0, 1, 2, 3], [3, 1, 0, 2]] {
            let (dies, spared) = (&dies[..last], spared(pages));
            fail_in_turn(&sector_map("default", pages, Default::default()), what, dies, spared);
            let paged = sector_map::Config { cmt_units: 2, cmt_unit_bytes: 16, ..Default::default() };
            fail_in_turn(&sector_map("paged", pages, paged), what, dies, spared);
            // With handles 15 blocks of data need three dies, 24 and 25 all four, and 33 have no room.
            if pages <= 91 {
                fail_in_turn(&sector_map("fdp", pages, two_handles()), what, dies, usize::from(pages == 56));
            }
            fail_in_turn(&hybrid_map("default", pages, Default::default()), what, dies, spared);
            let paged = hybrid_map::Config { cmt_units: 1, cmt_unit_bytes: 8, ..Default::default() };
            fail_in_turn(&hybrid_map("paged", pages, paged), what, dies, spared);
        }
    });
}
