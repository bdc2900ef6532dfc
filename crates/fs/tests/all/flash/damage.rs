//! Damage on bare flash: after a `sync_all` and an end, each programmed page in turn cannot be read.
//!
//! The mount succeeds. A file with a damaged page of data fails to be read, and all other files are as written. A YAFFS
//! that scans the flash finds a name in its header's page alone. Without it, the file is in `lost+found`, and the mount
//! tells. A checkpoint or MiNV's NVRAM has the names elsewhere.

use super::model::{script, Entry, Model, Op, Seen, SeenEntry};
use super::rig::{device, mounted_on, systems, walk_around, Checked, Flash, Rig, Subject, Tested};
use nandlab_fs::FsError;
use nandlab_nand::damaged::Damaged;
use nandlab_nand::{Counting, Nand, Ppa};
use std::fmt;

/// Where a YAFFS puts what has no name.
const LOST: &str = "lost+found/";

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
    /// Pages behind which something is in `lost+found`, or holds what was cut off.
    told: u32,
}

/// Everything that a mount shows.
#[derive(PartialEq)]
struct Shown {
    seen: Seen,
    failing: Vec<String>,
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths = self.seen.iter().map(|(name, entry)| match entry {
            SeenEntry::File(bytes) => format!("{name} of {} bytes", bytes.len()),
            other => format!("{name}, {other:?}"),
        });
        write!(f, "{:?}, failing {:?}", lengths.collect::<Vec<_>>(), self.failing)
    }
}

impl Shown {
    fn of(fs: &mut dyn Checked) -> Result<Self, FsError> {
        let mut shown = Self { seen: Seen::new(), failing: Vec::new() };
        walk_around(fs, "", &mut shown.seen, &mut shown.failing)?;
        Ok(shown)
    }

    /// Whether something in `lost+found` fits.
    fn has_lost(&self, fits: impl Fn(&SeenEntry) -> bool) -> bool {
        let mut lost = self.seen.iter().filter(|(name, _)| name.starts_with(LOST));
        lost.any(|(_, entry)| fits(entry)) || self.failing.iter().any(|name| name.starts_with(LOST))
    }

    /// Whether `name` of the model, which is not as it was, is found all the same.
    fn explains(&self, model: &Model, name: &str) -> bool {
        let is_empty = |entry: &SeenEntry| matches!(entry, SeenEntry::File(bytes) if bytes.is_empty());
        let Some(entry) = model.names.get(name) else { return name == "lost+found" || name.starts_with(LOST) };
        match entry {
            Entry::File(file) => {
                let expected = model.files[file].now();
                let holds = |entry: &SeenEntry| matches!(entry, SeenEntry::File(bytes) if is_at_least(bytes, expected));
                let has_other_name = model.names.iter().any(|(other, entry)| {
                    let is_other = other != name && *entry == Entry::File(*file);
                    is_other && self.seen.get(other).is_some_and(holds)
                });
                self.has_lost(holds)
                    || self.seen.get(name).is_some_and(holds)
                    || has_other_name && self.has_lost(is_empty)
            }
            Entry::Directory => self.has_lost(|entry| *entry == SeenEntry::Directory || is_empty(entry)),
            // With its own header, its target is gone; with its directory's, it is in another place.
            Entry::Symlink(target) => {
                self.has_lost(|entry| *entry == SeenEntry::Symlink(target.clone()) || is_empty(entry))
            }
        }
    }
}

/// Whether all written bytes are there. Without a header, the file may be longer by what was cut off, or shorter by a hole.
fn is_at_least(found: &[u8], expected: &[u8]) -> bool {
    expected.iter().enumerate().all(|(at, &byte)| byte == 0 || found.get(at) == Some(&byte))
}

/// Whether a mount scans the flash.
fn scans(subject: &Subject) -> bool {
    subject.name.starts_with("yaffs1") || subject.name.contains(":scan")
}

/// A file system with a random tree, after its end.
fn ended(subject: &Subject, seed: u64) -> Rig {
    let mut rig = Rig::new(subject, device(subject));
    let mut ops = script(seed, 120, seed % 2 == 1);
    ops.push(Op::SyncAll);
    rig.session(&ops).expect("there is power");
    rig
}

fn every_page(subject: &Subject, seed: u64) -> Outcome {
    let rig = ended(subject, seed);
    let mut outcome = Outcome::default();
    for at in (0..subject.geometry.pages()).map(Ppa) {
        let mut harmed = rig.device.clone();
        if !matches!(harmed.flash.read_spare(at), Ok(Some(_))) {
            continue;
        }
        outcome.pages += 1;
        let what = format!("{subject} seed {seed} page {at}");
        let mut flash = Damaged::new(harmed.flash, at);
        let mut look = || {
            let mounted = mounted_on(subject, (&mut flash, &mut harmed.nvram), |fs| {
                // A checkpoint has what the page of a header had.
                if scans(subject) {
                    fs.check();
                }
                Ok::<_, FsError>((fs.notices(), Shown::of(fs)?))
            });
            mounted.and_then(|shown| shown).unwrap_or_else(|error| panic!("{what}: {error}"))
        };
        let (notices, shown) = look();
        let differs = rig.model.differs(&shown.seen, &shown.failing);
        outcome.failed += shown.failing.len() as u32;
        outcome.told += u32::from(!notices.is_empty());
        assert!(differs.is_empty() || !notices.is_empty(), "{what}: in silence, {differs:?}");
        for name in rig.model.names.keys().chain(shown.seen.keys()) {
            let is_as_it_was = !differs.iter().any(|differing| differing.trim_end_matches(" is missing") == name);
            assert!(is_as_it_was || shown.explains(&rig.model, name), "{what}: '{name}', {notices:?}, {shown:?}");
        }
        assert_eq!(look().1, shown, "{what}: a second mount");
    }
    outcome
}

#[test]
fn a_damaged_page_costs_that_page() {
    for subject in systems() {
        for seed in 1..=if scans(&subject) { 6 } else { 2 } {
            let outcome = every_page(&subject, seed);
            println!("{subject} seed {seed}: {outcome:?}");
            assert!(outcome.pages > 0);
            assert_eq!(outcome.told > 0, scans(&subject), "{subject} seed {seed}: {outcome:?}");
        }
    }
}

/// Nothing is known about a page without a spare area, so an older copy may count. Names of two times fit together.
#[test]
fn a_page_without_its_spare_area_leaves_a_sound_file_system() {
    let mut told = 0;
    for subject in systems().into_iter().filter(scans) {
        for seed in 1..=6 {
            let rig = ended(&subject, seed);
            for at in (0..subject.geometry.pages()).map(Ppa) {
                let mut harmed = rig.device.clone();
                if !matches!(harmed.flash.read_spare(at), Ok(Some(_))) {
                    continue;
                }
                let mut flash = Damaged::without_spare(harmed.flash, at);
                let what = format!("{subject} seed {seed} page {at}");
                let mut look = || {
                    let mounted = mounted_on(&subject, (&mut flash, &mut harmed.nvram), |fs| {
                        fs.check();
                        told += fs.notices().len();
                        Shown::of(fs)
                    });
                    mounted.and_then(|shown| shown).unwrap_or_else(|error| panic!("{what}: {error}"))
                };
                let shown = look();
                assert_eq!(look(), shown, "{what}: a second mount");
            }
        }
    }
    assert!(told > 0);
}
