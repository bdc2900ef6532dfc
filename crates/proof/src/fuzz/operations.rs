//! A case for the target `ftl_operations`: its bytes, and the run.
//!
//! ```text
//! byte   0       FTL, by its place on the list
//!        1       device, by its place among those of the conformance runs
//!        2..10   options of the FTL, one a byte
//!        10      bits 0 to 3 the exported pages left out, in quarters of a block on each die
//!        11      a block that is bad from the factory, from 1; 0: none
//!        12..18  three faults: bit 0 erase or program, the rest its ordinal; 0: none
//!        18..24  three power cuts: bits 0 to 2 the form, the rest the operation; 0: none
//!        24..    the script, four bytes a step
//! ```
//!
//! A committed input has a JSON line in place of the FTL and option bytes. It means the same however the list and the
//! options change, or fails.

use super::options::{line, named, vary, Varied};
use crate::device::{devices, Device};
use crate::disk::Disk;
use crate::rig::{flash, Flash, Lost, Rig};
use crate::script::{self, Step};
use nandlab_block::{Error, Request};
use nandlab_ftl::{FtlConfig, FtlError};
use nandlab_nand::faulty::Config as Faults;
use nandlab_nand::power_cut::{CutPlan, Form};
use std::fmt;
use std::ops::Range;

/// Bytes before the script.
const HEAD: usize = 24;
/// The option bytes.
const OPTIONS: Range<usize> = 2..10;
/// Longer scripts only take longer.
const MAX_STEPS: usize = 400;
/// Faults fall among so many operations.
const MAX_ORDINAL: u64 = 500;
/// The first cut falls among so many operations, the next ones among so many after a mount.
const MAX_OPERATION: [u64; 2] = [120, 24];
/// Set in a cut's number for the forms that three bits cannot tell.
const LATER: u16 = 1 << 15;

/// A fuzzer's decoded bytes.
#[derive(Clone, Debug)]
pub struct Case {
    /// The FTL and its options.
    pub ftl: FtlConfig,
    /// Whether the options buy capacity with safety.
    pub weakened: bool,
    /// The device.
    pub device: Device,
    /// Logical pages exported.
    pub logical_pages: u32,
    /// The faults.
    pub faults: Faults,
    /// The power cuts; each is counted from the mount after the previous one.
    pub cuts: Vec<CutPlan>,
    /// The host's steps.
    pub script: Vec<Step>,
}

/// The FTL, by its name or by a number, and the remaining bytes: the device, and everything after the options.
fn ftl_and_rest(data: &[u8]) -> Option<(Varied, Vec<u8>)> {
    if data.starts_with(b"{") {
        let end = data.iter().position(|&byte| byte == b'\n')?;
        return Some((named(&data[..end])?, data[end + 1..].to_vec()));
    }
    let options = data.get(OPTIONS)?;
    Some((vary(data[0], options)?, [&data[1..2], &data[OPTIONS.end..]].concat()))
}

/// The pages an FTL exports on a device.
fn max_pages(ftl: &FtlConfig, device: &Device) -> Option<u32> {
    match ftl.max_logical_pages(&device.geometry, &device.rules) {
        Ok(pages) => Some(pages).filter(|&pages| pages > 0),
        Err(FtlError::Config(why)) => {
            let names_key = why.contains("ftl.") || why.contains("device.zones");
            assert!(why.contains(' ') && names_key, "no sentence that names the key: {why}");
            None
        }
        Err(error) => panic!("options are refused with a sentence, not with: {error}"),
    }
}

impl Case {
    /// Decodes `data`; `None` if it is too short, or if the FTL refuses the device or the options.
    ///
    /// # Panics
    /// If the refusal is no sentence.
    pub fn from_bytes(data: &[u8]) -> Option<Self> {
        let (Varied { config: ftl, weakened }, rest) = ftl_and_rest(data)?;
        let (head, steps) = rest.split_at_checked(1 + HEAD - OPTIONS.end)?;
        let devices = devices();
        let device = devices[usize::from(head[0]) % devices.len()];
        let geometry = &device.geometry;
        let most = max_pages(&ftl, &device)?;
        let less = u32::from(head[1] % 16) * geometry.pages_per_block() * geometry.dies() / 4;
        let logical_pages = most.saturating_sub(less).max(1);
        let sectors = u64::from(logical_pages) * u64::from(geometry.sectors_per_page());
        let mut script = script::from_bytes(&steps[..steps.len().min(4 * MAX_STEPS)], sectors);
        script.push(Step::Remount);
        let mut cuts = cuts(&head[9..15]);
        for (earlier, cut) in cuts.iter_mut().enumerate() {
            cut.form = crate::cuts::survived(&ftl, &device, earlier, cut.form);
        }
        let mut faults = Faults::default();
        faults.factory_bad_blocks.extend(u32::from(head[2]).checked_sub(1).map(|block| block % geometry.blocks()));
        for pair in pairs(&head[3..9]) {
            let ordinal = 1 + u64::from(pair >> 1) % MAX_ORDINAL;
            if pair & 1 == 1 { &mut faults.failing_erases } else { &mut faults.failing_programs }.push(ordinal);
        }
        Some(Self { ftl, weakened, device, logical_pages, faults, cuts, script })
    }

    /// `data` as it is committed, with the FTL by its name; `None` as for [`Case::from_bytes`].
    pub fn named(data: &[u8]) -> Option<Vec<u8>> {
        let (ftl, rest) = ftl_and_rest(data)?;
        Some([line(&ftl.config).as_bytes(), &rest].concat())
    }

    /// Runs the case; returns how it ended.
    ///
    /// # Panics
    /// At the first defect.
    pub fn run(&self) -> End {
        let mut run = Run { case: self, config: &self.ftl, cuts: self.cuts.iter(), fallen: 0 };
        let mut nand = flash(&self.device, self.faults.clone());
        run.arm(&mut nand);
        let page = self.device.geometry.sectors_per_page();
        let model = crate::Model::new(u64::from(self.logical_pages) * u64::from(page), page, self.ftl.facts().trims);
        let mounted = run.mount(Lost { nand, model });
        let played = mounted.is_some_and(|rig| run.play(rig));
        End { worn_out: !played, cuts: run.fallen }
    }

    /// Whether the device may refuse a write as worn out.
    ///
    /// Bad blocks may use up the spare ones. A cut wastes pages but no block, so it is no excuse, unless the options
    /// make the FTL keep less free than is safe.
    fn may_wear_out(&self, nand: &Flash) -> bool {
        let counts = nand.inner().counts();
        let bad = self.faults.factory_bad_blocks.len() as u64 + counts.failed_programs + counts.failed_erases;
        bad > 0 || self.weakened && !self.cuts.is_empty()
    }
}

/// The nonzero two-byte numbers.
fn pairs(bytes: &[u8]) -> impl Iterator<Item = u16> + '_ {
    bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).filter(|&pair| pair != 0)
}

fn cuts(bytes: &[u8]) -> Vec<CutPlan> {
    // The top bit, which no operation needs, chooses the forms from the ninth on. None of the devices has unstable pages.
    let later = |bits: usize| Form::ALL[8 + bits % (Form::UnstablePage as usize - 8)];
    let plan = |(at, pair): (usize, u16)| CutPlan {
        operation: 1 + u64::from((pair & !LATER) >> 3) % MAX_OPERATION[at.min(1)],
        form: if pair & LATER == 0 { Form::ALL[usize::from(pair & 7)] } else { later(usize::from(pair & 7)) },
    };
    pairs(bytes).enumerate().map(plan).collect()
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}", self.ftl)?;
        writeln!(f, "device {}, {} logical pages", self.device.name, self.logical_pages)?;
        writeln!(
            f,
            "bad blocks {:?}, failing programs {:?}, failing erases {:?}",
            self.faults.factory_bad_blocks, self.faults.failing_programs, self.faults.failing_erases
        )?;
        for cut in &self.cuts {
            writeln!(f, "{cut}")?;
        }
        for (at, step) in self.script.iter().enumerate() {
            match step {
                Step::Do(Request { op, sector, sectors, .. }) => writeln!(f, "{at}: {op:?} {sector}+{sectors}")?,
                Step::Remount => writeln!(f, "{at}: Remount")?,
            }
        }
        Ok(())
    }
}

/// How a case ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    /// Whether bad blocks left too little for another write or for a mount; else the whole script was played.
    pub worn_out: bool,
    /// Power cuts that fell.
    pub cuts: usize,
}

struct Run<'a> {
    case: &'a Case,
    config: &'a FtlConfig,
    /// Cuts not armed yet.
    cuts: std::slice::Iter<'a, CutPlan>,
    /// Cuts that fell.
    fallen: usize,
}

impl Run<'_> {
    fn arm(&mut self, nand: &mut Flash) {
        if let Some(&plan) = self.cuts.next() {
            nand.arm(plan);
        }
    }

    /// Plays the script; false: the device is worn out.
    fn play(&mut self, mut rig: Rig<Flash>) -> bool {
        for &step in &self.case.script {
            let mounted = match rig.step(step) {
                Ok(()) if step == Step::Remount => {
                    let (ram, unharmed) = (rig.disk().ram(), !self.case.may_wear_out(rig.disk().nand()));
                    let mounted = self.mount(rig.power_lost());
                    if let (Some(rig), true, 0) = (&mounted, unharmed, self.case.cuts.len()) {
                        assert_eq!(rig.disk().ram(), ram, "memory after the remount");
                    }
                    mounted
                }
                Ok(()) => Some(rig),
                Err(Error::PowerLost) => self.power_back(rig.power_lost()),
                Err(Error::WornOut(why)) => {
                    let may_end = self.case.may_wear_out(rig.disk().nand()) || !self.config.facts().collects;
                    assert!(may_end, "{step:?} on a sound device: {why}");
                    rig.compare_untouched(step);
                    return false;
                }
                Err(error) => panic!("{step:?}: {error}"),
            };
            match mounted {
                Some(next) => rig = next,
                None => return false,
            }
            rig.disk_mut().check();
        }
        // Reads may have blocks rewritten, and a cut may fall there as well.
        loop {
            match rig.compare_all() {
                Ok(()) => return true,
                Err(Error::PowerLost) => match self.power_back(rig.power_lost()) {
                    Some(next) => rig = next,
                    None => return false,
                },
                Err(error) => panic!("a mounted disk reads: {error}"),
            }
        }
    }

    /// Power is back after a cut.
    fn power_back(&mut self, mut lost: Lost<Flash>) -> Option<Rig<Flash>> {
        self.fallen += 1;
        lost.nand.restore();
        self.arm(&mut lost.nand);
        self.mount(lost)
    }

    /// Mounts and compares everything, through all cuts falling meanwhile; `None`: worn out.
    fn mount(&mut self, lost: Lost<Flash>) -> Option<Rig<Flash>> {
        if self.case.may_wear_out(&lost.nand) {
            let mounted = Disk::mount(lost.nand.clone(), self.case.logical_pages, self.config);
            if let Err(FtlError::WornOut { good, needed, .. }) = mounted {
                assert!(good < needed, "{good} blocks are good and {needed} are enough");
                return None;
            }
        }
        match Rig::recovered(lost.nand, &lost.model, self.case.logical_pages, self.config) {
            Ok(rig) => Some(rig),
            Err(lost) => self.power_back(lost),
        }
    }
}
