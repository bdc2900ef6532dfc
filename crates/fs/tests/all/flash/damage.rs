//! Damage on bare flash: after a `sync_all` and an end, each programmed page in turn cannot be read.
//!
//! The mount succeeds. A file with a damaged page of data fails to be read, and all other files are as written. A YAFFS
//! that scans the flash loses a file's name with the page of its header; a checkpoint or MiNV's NVRAM has it elsewhere.

use super::model::{script, Op, Seen};
use super::rig::{device, mounted_on, systems, walk_around, Flash, Rig, Subject, Tested};
use nandlab_nand::damaged::Damaged;
use nandlab_nand::{Counting, Nand, Ppa};

impl Tested for Damaged<Flash> {
    fn counting(&self) -> &Counting {
        self.inner().counting()
    }
}

/// Where damage led.
#[derive(Debug, Default)]
struct Outcome {
    pages: u32,
    failed: u32,
    /// Pages behind which a name is gone, or another one has come.
    names: u32,
}

fn every_page(subject: &Subject, seed: u64) -> Outcome {
    let mut rig = Rig::new(subject, device(subject));
    let mut ops = script(seed, 120, seed % 2 == 1);
    ops.push(Op::SyncAll);
    rig.session(&ops).expect("there is power");
    let mut outcome = Outcome::default();
    for at in (0..subject.geometry.pages()).map(Ppa) {
        let mut harmed = rig.device.clone();
        if !matches!(harmed.flash.read_spare(at), Ok(Some(_))) {
            continue;
        }
        outcome.pages += 1;
        let mut flash = Damaged::new(harmed.flash, at);
        let mut seen = Seen::new();
        let mut failing = Vec::new();
        let done =
            mounted_on(subject, (&mut flash, &mut harmed.nvram), |fs| walk_around(fs, "", &mut seen, &mut failing));
        match done {
            Err(error) => panic!("{subject} seed {seed} page {at}: {error}"),
            Ok(Err(error)) => panic!("{subject} seed {seed} page {at}: {error}"),
            Ok(Ok(())) => {
                outcome.failed += failing.len() as u32;
                outcome.names += u32::from(!rig.model.differs(&seen, &failing).is_empty());
            }
        }
    }
    outcome
}

#[test]
fn a_damaged_page_costs_that_page() {
    for subject in systems() {
        for seed in [1, 2] {
            let outcome = every_page(&subject, seed);
            println!("{subject} seed {seed}: {outcome:?}");
            assert!(outcome.pages > 0);
            // A YAFFS that scans finds a name in its header's page alone.
            let scans = subject.name.starts_with("yaffs1") || subject.name.contains(":scan");
            assert!(scans || outcome.names == 0, "{subject} seed {seed}: {outcome:?}");
        }
    }
}
