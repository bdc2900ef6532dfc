//! What is below an index in the proofs: an FTL on flash that loses power.

use nandlab_ftl::{FtlConfig, ZoneOptions};
use nandlab_index::lsm::ACTIVE_ZONES_MIN;
use nandlab_nand::backed::Backed;
use nandlab_nand::power_cut::{CutPlan, Form, PowerCut};
use nandlab_nand::random::Random;
use nandlab_nand::{Geometry, ProgramOrder, Rules};
use nandlab_proof::Disk;
use std::collections::BTreeMap;

pub type Map = BTreeMap<Vec<u8>, Vec<u8>>;
pub type Nand = PowerCut<Backed>;

pub fn rules() -> Rules {
    Rules { program_order: ProgramOrder::Ascending, ..Rules::default() }
}

/// Every FTL, and the zoned drive with and without a limit of active zones: its host is an LSM tree itself.
pub fn ftls_and_zns() -> Vec<FtlConfig> {
    let drive = |max_active| {
        let mut zns = FtlConfig::Zns(nandlab_ftl::zns::Config::default());
        assert!(zns.set_zones(ZoneOptions { max_active, ..ZoneOptions::default() }));
        zns
    };
    FtlConfig::all().into_iter().chain([drive(0), drive(ACTIVE_ZONES_MIN)]).collect()
}

/// Erased flash.
pub fn erased(geometry: Geometry) -> Nand {
    PowerCut::new(Backed::ram(geometry, rules()))
}

/// Flash whose power goes at this operation, in the first form; [`in_every_form`] has the others.
pub fn cut_at(nand: &mut Nand, operation: u64) {
    nand.arm_and_keep(CutPlan { operation, form: Form::USUAL[0] });
}

/// The flash after the cut of [`cut_at`], and after the same cut in each form that differs for this operation.
pub fn in_every_form(mut lost: Nand) -> Vec<Nand> {
    let hit = lost.cut_operation().expect("its power is gone");
    let uncut = lost.take_uncut().expect("it was armed to be kept");
    let others = Form::USUAL[1..].iter().filter(|form| form.applies_to(hit));
    let others: Vec<Nand> = others.map(|&form| uncut.cut(form, &mut lost)).collect();
    [lost].into_iter().chain(others).collect()
}

/// The FTL on this flash, if it takes the device.
pub fn mount(nand: Nand, geometry: &Geometry, ftl: &FtlConfig) -> Option<Disk<Nand>> {
    let pages = ftl.max_logical_pages(geometry, &rules()).ok().filter(|&pages| pages > 0)?;
    let mounted = Disk::mount(nand, pages, ftl);
    Some(mounted.unwrap_or_else(|error| panic!("mount after a cut: {error}")))
}

/// Two or three cuts, each among the next `most` operations.
pub fn some_cuts(random: &mut Random, most: u64) -> Vec<CutPlan> {
    let cut = |random: &mut Random| CutPlan {
        operation: 1 + random.below(most),
        form: Form::USUAL[random.below(Form::USUAL.len() as u64) as usize],
    };
    (0..2 + random.below(2)).map(|_| cut(random)).collect()
}
