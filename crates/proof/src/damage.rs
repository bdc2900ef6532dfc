//! Damage: after a flush and an end, each programmed page in turn cannot be read.
//!
//! A mount must succeed. Every sector with another page reads as flushed. A sector with the damaged page reads as flushed,
//! fails, or is an older version where the FTL's rules allow one; zeros count only if the host could have seen them.

use crate::device::Device;
use crate::disk::Disk;
use crate::exportable;
use crate::model::{Model, Version};
use crate::rig::{flash, Flash, Lost, Rig};
use crate::script::{random, Mix, Step};
use crate::subject::Subject;
use nandlab_block::{Error, Op, Payload, Request};
use nandlab_nand::damaged::Damaged;
use nandlab_nand::faulty::Config as Faults;
use nandlab_nand::{Kind, Nand, Oob, Ppa, SECTOR_BYTES};

/// Script length.
const STEPS: usize = 160;

/// What became of the sectors of a disk with a damaged page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// Pages damaged in turn.
    pub pages: u64,
    /// Sectors whose read failed.
    pub failed: u64,
    /// Sectors with an older version.
    pub older: u64,
}

/// Damages each flushed page in turn; `None` if the FTL refuses the device. `behind` steps follow the flush before the end.
///
/// # Panics
/// If a mount fails, another sector than those of the page is harmed, or a sector reads as it never was.
pub fn every_page(subject: &Subject, device: &Device, seed: u64, behind: usize) -> Option<Outcome> {
    let pages = exportable(&subject.config, device)?;
    let what = format!("{subject} {} seed {seed} and {behind} steps", device.name);
    let mut rig = Rig::new(flash(device, Faults::default()), pages, &subject.config).expect("an erased device mounts");
    let sectors = rig.disk().sectors();
    let mut host = Host { versions: vec![Vec::new(); sectors as usize], writes: 0 };
    for step in random(seed, sectors, device.geometry.sectors_per_page(), STEPS, Mix::CHANGES) {
        rig.step(step).unwrap_or_else(|error| panic!("{what}: {error}"));
        host.saw(step);
    }
    rig.step(Step::Do(Request::new(Op::Flush, 0, 0))).expect("there is power");
    let flushed = pages_of(rig.disk_mut().nand_mut());
    // Work behind the flush, which a cut ends.
    for step in random(seed + 100, sectors, device.geometry.sectors_per_page(), behind, Mix::CHANGES) {
        rig.step(step).unwrap_or_else(|error| panic!("{what}: {error}"));
        host.saw(step);
    }
    let Lost { mut nand, mut model } = rig.power_lost();
    model.power_cut();
    let mut outcome = Outcome::default();
    let now = pages_of(&mut nand);
    for (at, oob) in now.into_iter().filter(|page| flushed.contains(page)) {
        let nand = Damaged::new(nand.clone(), at);
        let case = format!("{what} page {at} {:?}", oob.kind);
        let mut disk = Disk::mount(nand, pages, &subject.config).unwrap_or_else(|error| panic!("{case}: {error}"));
        let found = look(&mut disk, &model, &host, &case);
        let most = match oob.kind {
            // A page of a map has the entries of many pages.
            Kind::Map => sectors,
            _ => device.geometry.sectors_per_page().into(),
        };
        assert!(found.failed <= most, "{case}: {} sectors fail", found.failed);
        // Without the note of a trim, the page that was trimmed is there again; a map page tells of trims, too.
        let has_trims = matches!(oob.kind, Kind::TrimNote | Kind::Map);
        assert!(found.older == 0 || has_trims, "{case}: {} sectors are older", found.older);
        outcome.pages += 1;
        outcome.failed += found.failed;
        outcome.older += found.older;
    }
    Some(outcome)
}

/// The programmed pages that can be read.
fn pages_of(nand: &mut Flash) -> Vec<(Ppa, Oob)> {
    let pages = (0..nand.geometry().pages()).map(Ppa);
    pages.filter_map(|at| nand.read_spare(at).ok().flatten().map(|oob| (at, oob))).collect()
}

/// By sector: each version that the host was told to be there. Zeros count from a trim on.
struct Host {
    versions: Vec<Vec<Version>>,
    writes: Version,
}

impl Host {
    fn saw(&mut self, step: Step) {
        let Step::Do(Request { op, sector, sectors, .. }) = step else { return };
        let version = match op {
            Op::Write => {
                self.writes += 1;
                self.writes
            }
            Op::Trim => 0,
            Op::Read | Op::Flush | Op::UnitUpdate | Op::Append | Op::Zone(_) => return,
        };
        (sector..sector + u64::from(sectors)).for_each(|sector| self.versions[sector as usize].push(version));
    }
}

fn look(disk: &mut Disk<Damaged<Flash>>, model: &Model, host: &Host, case: &str) -> Outcome {
    let mut found = Outcome::default();
    let mut bytes = vec![0; SECTOR_BYTES as usize];
    for sector in 0..disk.sectors() {
        let read = disk.submit(&Request::new(Op::Read, sector, 1), Payload::Read(&mut bytes));
        match read {
            Ok(_) => match model.allows(sector, &bytes) {
                (_, true) => {}
                (version, false) if host.versions[sector as usize].contains(&version) => found.older += 1,
                (version, false) => panic!("{case}: sector {sector} reads as write {version}, which it never was"),
            },
            Err(Error::Unreadable { .. }) => found.failed += 1,
            Err(error) => panic!("{case}: sector {sector}: {error}"),
        }
    }
    found
}
