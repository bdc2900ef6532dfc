//! A die of several that has lost blocks, from the factory or meanwhile: the others take what is exported, as long as
//! their good blocks are enough for it, and everything is there.
//!
//! What must be enough is computed here anew, in closed form.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

use nandlab_block::{Error, Op, Request};
use nandlab_ftl::{hybrid_map, sector_map, Ftl, FtlError};
use nandlab_nand::faulty::Config as Faults;
use nandlab_nand::{
    as_inside, BlockId, Content, Done, Geometry, Nand, NandError, Oob, Ppa, ProgramOrder, Rules, Shape,
};
use nandlab_proof::conformance::{Device, UNTIMED};
use nandlab_proof::rig::{flash, Flash};
use nandlab_proof::script::{self, Mix, Step};
use nandlab_proof::{on_all_cores, Rig};

const DIES: u32 = 4;
const BLOCKS: u32 = 12;
const PAGES: u32 = 6;
/// Sectors of a page.
const SECTORS: u32 = 4;

fn device() -> Device {
    let shape = Shape {
        channels: 2,
        dies_per_channel: 2,
        planes_per_die: 1,
        blocks_per_plane: BLOCKS,
        pages_per_block: PAGES,
        page_bytes: 512 * SECTORS,
        spare_bytes: 64,
    };
    let rules = Rules { program_order: ProgramOrder::Ascending, ..Rules::default() };
    Device { name: "4x12x6x2048", geometry: Geometry::new(shape).unwrap(), rules, timing: UNTIMED }
}

/// What fails on a die, over and over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Failing {
    Erases,
    Programs,
}

/// A device of which all erases, or all programs, of some dies fail from some time on; it counts the programs of each
/// die.
struct Weak {
    flash: Flash,
    failing_erases: [bool; DIES as usize],
    failing_programs: [bool; DIES as usize],
    programs: [u64; DIES as usize],
}

impl Weak {
    fn new(factory_bad_blocks: Vec<u32>) -> Self {
        let flash = flash(&device(), Faults { factory_bad_blocks, ..Faults::default() });
        let none = [false; DIES as usize];
        Self { flash, failing_erases: none, failing_programs: none, programs: [0; DIES as usize] }
    }

    /// From now on everything of this kind fails on a die.
    fn fail(&mut self, what: Failing, die: usize) {
        match what {
            Failing::Erases => self.failing_erases[die] = true,
            Failing::Programs => self.failing_programs[die] = true,
        }
    }

    /// Counts a program, and has it fail where it must.
    fn program_comes(&mut self, at: Ppa) {
        let geometry = *self.flash.geometry();
        let die = geometry.die_of(geometry.block_of(at)) as usize;
        self.programs[die] += 1;
        if self.failing_programs[die] {
            self.flash.inner_mut().fail_program(1);
        }
    }

    /// Good blocks by die.
    fn good(&mut self) -> [u32; DIES as usize] {
        std::array::from_fn(|die| {
            let geometry = *self.flash.geometry();
            let blocks = geometry.blocks_of_die(die as u32);
            let is_bad = |block: &u32| {
                let spare = self.flash.read_spare(geometry.page(BlockId(*block), 0));
                matches!(spare, Err(NandError::BadBlock(_)))
            };
            BLOCKS - blocks.filter(is_bad).count() as u32
        })
    }
}

impl Nand for Weak {
    type Buf = Content;

    as_inside!(flash: geometry, rules, read, read_spare, read_tail, read_with_tail, program_spare, retire, set_slc, is_slc, ctx);

    fn program(&mut self, at: Ppa, page: &Content, tail: &[u8], oob: Oob) -> Result<Done, NandError> {
        self.program_comes(at);
        self.flash.program(at, page, tail, oob)
    }

    fn copy(&mut self, from: Ppa, to: Ppa, oob: Oob) -> Result<Oob, NandError> {
        self.program_comes(to);
        self.flash.copy(from, to, oob)
    }

    fn erase(&mut self, block: BlockId) -> Result<Done, NandError> {
        if self.failing_erases[self.flash.geometry().die_of(block) as usize] {
            self.flash.inner_mut().fail_erase(1);
        }
        self.flash.erase(block)
    }
}

/// Blocks that must be good on the dies that take pages.
struct Needs {
    /// For data, on all together.
    data: u32,
    /// In reserve and being filled, on each.
    each: u32,
    /// For the map, on all together and shared equally.
    map: u32,
}

impl Needs {
    /// Those of a map of `entries` of 4 bytes: up to a block of map pages is given three blocks. A block that is emptied
    /// leaves a page, and the last sector of each page is a list.
    fn new(pages: u32, entries: u32, reserve: u32) -> Self {
        assert!(entries.div_ceil(128 * SECTORS) < PAGES, "a map of less than a block");
        Self { data: (pages * SECTORS).div_ceil((PAGES - 1) * (SECTORS - 1)), each: reserve + 1, map: 3 }
    }

    /// The most dies that have enough, one bit each; `None` where no choice of dies does.
    fn working(&self, good: [u32; DIES as usize]) -> Option<u32> {
        let is_enough = |dies: &u32| {
            let mine: Vec<u32> = (0..DIES).filter(|die| dies >> die & 1 == 1).map(|die| good[die as usize]).collect();
            let shares =
                (0..mine.len() as u32).map(|rank| (self.map + mine.len() as u32 - 1 - rank) / mine.len() as u32);
            let fits = mine.iter().zip(shares).all(|(&good, share)| good >= self.each + share);
            fits && mine.iter().sum::<u32>() >= self.data + self.each * mine.len() as u32 + self.map
        };
        (1..1 << DIES).filter(is_enough).max_by_key(|dies| dies.count_ones())
    }
}

const SCRIPT: Mix = Mix { remounts: 4, ..Mix::USUAL };

fn steps(seed: u64, pages: u32, steps: usize) -> Vec<Step> {
    script::random(seed, u64::from(pages * SECTORS), SECTORS, steps, SCRIPT)
}

/// Some of the options of an FTL, and what they need.
struct Case<F: Ftl> {
    name: String,
    config: F::Config,
    pages: u32,
    needs: Needs,
}

impl<F: Ftl> Case<F> {
    /// Mounts with these blocks bad from the factory, and works; or is refused, with a sentence that is right.
    fn factory_bad(&self, bad: Vec<u32>) -> bool {
        let context = format!("{} with {} pages, bad blocks {bad:?}", self.name, self.pages);
        let mut nand = Weak::new(bad);
        let good = nand.good();
        let working = self.needs.working(good);
        let mut rig = match Rig::<F, Weak>::new(nand, self.pages, &self.config) {
            Ok(rig) => rig,
            Err(FtlError::WornOut { good, needed, .. }) => {
                assert!(working.is_none() && good < needed, "{context}: {good} are good, {needed} are enough");
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

    /// Works while one die after the other fails, until the good blocks are too few; returns how many failed then.
    fn failing(&self, what: Failing, dies: &[usize]) -> Option<usize> {
        let mut rig = Rig::<F, Weak>::new(Weak::new(Vec::new()), self.pages, &self.config).unwrap();
        let mut beyond = 0;
        for (number, &die) in (1..).zip(dies) {
            let context = format!("{} with {} pages, {what:?} fail on {:?}", self.name, self.pages, &dies[..number]);
            rig.disk_mut().nand_mut().fail(what, die);
            let mut programs = 0;
            for (at, step) in steps(number as u64, self.pages, STEPS).into_iter().enumerate() {
                if at == STEPS - STEPS / 8 {
                    programs = rig.disk().nand().programs[die];
                }
                match rig.step(step) {
                    Err(Error::WornOut(_)) => {
                        self.end(rig, step, &context);
                        return Some(number);
                    }
                    done => done.unwrap_or_else(|error| panic!("{context}: step {at}, {step:?}: {error}")),
                }
                if at % 16 == 0 {
                    rig.disk_mut().check();
                }
                let good = rig.disk_mut().nand_mut().good();
                let is_enough = self.needs.working(good).is_some();
                if !is_enough {
                    beyond += written(step);
                    assert!(beyond <= BEYOND, "{context}: {beyond} sectors were taken with {good:?} good blocks");
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
            let (good, after) = (nand.good(), nand.programs[die]);
            assert!(self.needs.working(good).is_some(), "{context}: {good:?} are good, and that is too few");
            assert_eq!(after, programs, "{context}: programs of a die that is passed over");
        }
        None
    }

    /// The end does not come too soon; all that was not being written is there.
    fn end(&self, mut rig: Rig<F, Weak>, refused: Step, context: &str) {
        rig.compare_untouched(refused);
        let nand = rig.disk_mut().nand_mut();
        let (good, failing) = (nand.good(), nand.failing_programs);
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

/// Sectors that a step writes.
fn written(step: Step) -> u32 {
    match step {
        Step::Do(Request { op: Op::Write, sectors, .. }) => sectors,
        _ => 0,
    }
}

/// Sectors that a device takes at most once its good blocks are too few, for it opens no block for the host any more: what
/// is left of a block of each die, and what waits for a page.
const BEYOND: u32 = DIES * PAGES * SECTORS + SECTORS;

/// Steps for each die that fails.
const STEPS: usize = 3000;

fn sector_map(name: &str, pages: u32, config: sector_map::Config) -> Case<sector_map::SectorMap> {
    let needs = Needs::new(pages, pages * SECTORS, config.reserve_blocks);
    Case { name: format!("sector_map:{name}"), config, pages, needs }
}

fn hybrid_map(name: &str, pages: u32, config: hybrid_map::Config) -> Case<hybrid_map::HybridMap> {
    // The entries of sectors begin with a map page of their own.
    let entries = pages.next_multiple_of(128 * SECTORS) + pages * SECTORS;
    let needs = Needs::new(pages, entries, config.reserve_blocks);
    Case { name: format!("hybrid_map:{name}"), config, pages, needs }
}

/// The last blocks of some dies.
fn last_of(dies: &[u32], count: u32) -> Vec<u32> {
    dies.iter().flat_map(|die| (die + 1) * BLOCKS - count..(die + 1) * BLOCKS).collect()
}

/// Logical pages: on all dies there is room for 33 blocks of data, on three for 24, on two for 15, on one for 6; 22 pages
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

/// Dies that may fail before the end, at least.
fn spared(pages: u32) -> usize {
    match pages {
        56 => 2,
        90 => 1,
        _ => 0,
    }
}

fn fail_in_turn<F: Ftl>(case: &Case<F>, what: Failing, dies: [usize; DIES as usize]) {
    // Where all programs fail, not even the map of what is to be read can be paged.
    let last = if what == Failing::Programs { 3 } else { 4 };
    let failed = case.failing(what, &dies[..last]);
    assert!(failed.is_none_or(|failed| failed > spared(case.pages)), "{}: {failed:?} failed", case.name);
    assert!(failed.is_some() || last < 4, "{}: a device without a good die works", case.name);
}

#[test]
fn a_device_ends_when_the_dies_that_are_left_have_too_few_blocks() {
    // With the first number one die would be left, and the device may end before: it must give the map at once what two
    // gave.
    let cases: Vec<(u32, Failing)> =
        LOGICAL.into_iter().skip(1).flat_map(|pages| [(pages, Failing::Erases), (pages, Failing::Programs)]).collect();
    on_all_cores(&cases, |&(pages, what)| {
        for dies in [[0, 1, 2, 3], [3, 1, 0, 2]] {
            fail_in_turn(&sector_map("default", pages, Default::default()), what, dies);
            let paged = sector_map::Config { cmt_units: 2, cmt_unit_bytes: 16, ..Default::default() };
            fail_in_turn(&sector_map("paged", pages, paged), what, dies);
            fail_in_turn(&hybrid_map("default", pages, Default::default()), what, dies);
            let paged = hybrid_map::Config { cmt_units: 1, cmt_unit_bytes: 8, ..Default::default() };
            fail_in_turn(&hybrid_map("paged", pages, paged), what, dies);
        }
    });
}
