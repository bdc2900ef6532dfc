//! Faults: every program and every erase of a script fails once, in turn.

use crate::conformance::Device;
use crate::rig::Rig;
use crate::script::{self, Mix, Step};
use nandlab_block::{Op, Request};
use nandlab_ftl::{Ftl, FtlError};
use nandlab_nand::backed::Backed;
use nandlab_nand::faulty::{Config as Faults, Faulty};
use nandlab_nand::{BlockId, Nand, NandError};
use std::fmt;

/// What fails.
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

/// What a run with a fault showed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The fault happened, nothing was lost, the block was retired.
    Retired,
    /// The script has fewer operations of that kind.
    NotReached,
}

/// Plays a script in which `fault` happens, with `check()` after each step and mounts in between.
///
/// # Panics
/// Where an acknowledged byte is lost, an invariant is broken, or the block stays in use.
pub fn run<F: Ftl>(device: &Device, config: &F::Config, logical_pages: u32, seed: u64, fault: Fault) -> Outcome {
    let mut faults = Faults::default();
    match fault {
        Fault::Program(number) => faults.failing_programs.push(number),
        Fault::Erase(number) => faults.failing_erases.push(number),
    }
    let nand = Faulty::new(Backed::ram(device.geometry, device.rules), faults).expect("the fault is in range");
    let mut rig = Rig::<F, _>::new(nand, logical_pages, config).expect("an erased device mounts");
    let sectors = u64::from(logical_pages) * u64::from(device.geometry.sectors_per_page());
    let mix = Mix { remounts: 4, ..Mix::USUAL };
    let context = |at: usize| format!("{} seed {seed} {fault:?} step {at}", device.name);
    for (at, step) in
        script::random(seed, sectors, device.geometry.sectors_per_page(), 150, mix).into_iter().enumerate()
    {
        rig.step(step).unwrap_or_else(|error| panic!("{}: {step:?}: {error}", context(at)));
        rig.disk_mut().check();
        if step == Step::Remount {
            rig = rig.remount(config).unwrap_or_else(|error| panic!("{}: remount: {error}", context(at)));
            rig.disk_mut().check();
            rig.compare_all().unwrap_or_else(|error| panic!("{}: after the remount: {error}", context(at)));
        }
    }
    rig.compare_all().unwrap_or_else(|error| panic!("{}: at the end: {error}", context(150)));
    // A flush retires what has failed, so that no mount forgets it.
    rig.step(Step::Do(Request::new(Op::Flush, 0, 0))).expect("a flush goes well");
    rig.disk_mut().check();
    let counts = rig.disk().nand().counts();
    if counts.failed_programs + counts.failed_erases == 0 {
        return Outcome::NotReached;
    }
    let failed = counts.failed_programs + counts.failed_erases;
    assert_eq!(failed, 1, "{}: a block is used again after it failed", context(150));
    let nand = rig.disk_mut().nand_mut();
    let mut is_bad = |block: u32| {
        let first = device.geometry.page(BlockId(block), 0);
        matches!(nand.read_spare(first), Err(NandError::BadBlock(_)))
    };
    let bad = (0..device.geometry.blocks()).filter(|&block| is_bad(block)).count();
    assert_eq!(bad, 1, "{}: blocks retired", context(150));
    Outcome::Retired
}

/// A device with bad blocks from the factory mounts, or refuses with numbers; it is never harmed.
///
/// # Panics
/// Where a bad block is used or data is lost.
pub fn factory_bad<F: Ftl>(device: &Device, config: &F::Config, logical_pages: u32, bad: &[u32]) -> bool {
    let faults = Faults { factory_bad_blocks: bad.to_vec(), ..Faults::default() };
    let nand = Faulty::new(Backed::ram(device.geometry, device.rules), faults).expect("the blocks exist");
    let mut rig = match Rig::<F, _>::new(nand, logical_pages, config) {
        Ok(rig) => rig,
        Err(FtlError::WornOut { good, needed }) => {
            assert!(good < needed);
            return false;
        }
        Err(error) => panic!("{}: {error}", device.name),
    };
    let sectors = u64::from(logical_pages) * u64::from(device.geometry.sectors_per_page());
    for step in script::random(5, sectors, device.geometry.sectors_per_page(), 300, Mix::USUAL) {
        rig.step(step).unwrap_or_else(|error| panic!("{}: {step:?}: {error}", device.name));
    }
    rig.step(Step::Do(Request::new(Op::Flush, 0, 0))).expect("a flush goes well");
    let mut rig = rig.remount(config).expect("it mounted before");
    rig.disk_mut().check();
    rig.compare_all().expect("a mounted disk reads");
    true
}
