//! Power cuts on a device with weaker guarantees than this project's block devices.

use super::{contents, small, tiered, Map};
use crate::volatile::Disk;
use nandlab_block::{BlockDevice, ByteCount, Error};
use nandlab_index::lsm::{Allocation, Discard, Fstrim, Options, Tree, Trim};
use nandlab_index::IndexError;
use nandlab_nand::random::Random;

/// What the tree may hold after a cut: what was flushed, with the first of the changes after it, as many as there are.
#[derive(Default)]
struct States {
    flushed: Map,
    /// A key with its new value, or with none.
    changes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl States {
    fn flushed(flushed: Map) -> Self {
        Self { flushed, changes: Vec::new() }
    }

    fn flush(&mut self) {
        for change in self.changes.drain(..) {
            apply(&mut self.flushed, change);
        }
    }

    /// The least number of changes with which `found` comes out.
    fn changes_in(&self, found: &Map) -> Option<usize> {
        let mut state = self.flushed.clone();
        for (at, change) in self.changes.iter().enumerate() {
            if state == *found {
                return Some(at);
            }
            apply(&mut state, change.clone());
        }
        (state == *found).then_some(self.changes.len())
    }
}

fn apply(map: &mut Map, (key, value): (Vec<u8>, Option<Vec<u8>>)) {
    match value {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    };
}

/// A device whose power can be cut.
pub trait Cuttable: BlockDevice + Clone {
    /// Requests until the power goes.
    fn left(&mut self) -> &mut u64;

    /// Power goes and comes back.
    fn cut(&mut self, random: &mut Random);

    /// Nothing but what was flushed is left.
    fn forget(&mut self);
}

impl Cuttable for Disk {
    fn left(&mut self) -> &mut u64 {
        &mut self.left
    }

    fn cut(&mut self, random: &mut Random) {
        Self::cut(self, random);
    }

    fn forget(&mut self) {
        self.written.clear();
    }
}

/// Changes and flushes until the power goes; returns the states.
fn play<D: Cuttable>(disk: &mut D, options: &Options, steps: u64, flushed: Map, stream: u64) -> States {
    let mut states = States::flushed(flushed);
    let mut run = || -> Result<(), IndexError> {
        let mut tree = Tree::open(disk, &options.config())?;
        let mut random = Random::stream(3, stream);
        for step in 1..=steps {
            if step % 40 == 0 {
                tree.flush()?;
                states.flush();
                continue;
            }
            let key = (random.below(300) as u32).wrapping_mul(0x9E37_79B9).to_be_bytes();
            if random.chance(0.3) {
                states.changes.push((key.to_vec(), None));
                tree.delete(&key)?;
            } else {
                states.changes.push((key.to_vec(), Some(step.to_le_bytes().to_vec())));
                tree.put(&key, &step.to_le_bytes())?;
            }
        }
        Ok(())
    };
    if let Err(error) = run() {
        assert_eq!(error, IndexError::Device(Error::PowerLost));
    }
    states
}

fn after_cut<D: Cuttable>(disk: &mut D, options: &Options) -> Map {
    let mut tree = Tree::open(disk, &options.config()).unwrap();
    tree.check().unwrap();
    contents(&mut tree)
}

/// Cuts at every request of a run; returns the cases, and in how many an operation after the last flush was there.
fn cut_everywhere(options: &Options, steps: u64, each: u64) -> [u64; 2] {
    cut_everywhere_on(&Disk::new(800), options, steps, each)
}

/// The same on another device.
pub fn cut_everywhere_on<D: Cuttable>(blank: &D, options: &Options, steps: u64, each: u64) -> [u64; 2] {
    let mut cases = [0; 2];
    let mut empty = blank.clone();
    Tree::create(&mut empty, &options.config()).unwrap();
    for at in 1.. {
        let mut without_power = empty.clone();
        *without_power.left() = at;
        let states = play(&mut without_power, options, steps, Map::new(), 0);
        if *without_power.left() > 0 {
            return cases;
        }
        for form in 0..each {
            let mut disk = without_power.clone();
            let mut random = Random::stream(at, form);
            disk.cut(&mut random);
            // A second cut while the tree is opened again.
            if form % 2 == 1 {
                *disk.left() = 1 + random.below(40);
                let opened = Tree::open(&mut disk, &options.config()).map(drop);
                assert!(matches!(opened, Ok(()) | Err(IndexError::Device(Error::PowerLost))), "{opened:?}");
                disk.cut(&mut random);
            }
            let found = after_cut(&mut disk, options);
            let which = states.changes_in(&found);
            let which = which.unwrap_or_else(|| panic!("request {at}, form {form}: {} records", found.len()));
            cases[0] += 1;
            cases[1] += u64::from(which > 0);
            // It goes on, and its last flush counts.
            let states = play(&mut disk, options, 80, found, 1);
            assert!(states.changes.is_empty());
            disk.forget();
            assert_eq!(after_cut(&mut disk, options), states.flushed, "request {at}, form {form}");
        }
    }
    cases
}

/// Small memtables and a manifest that is full soon.
pub fn options() -> Options {
    Options {
        value_bytes: 12,
        write_buffer_bytes: ByteCount(900),
        target_file_bytes: ByteCount(900),
        level_base_bytes: Some(ByteCount(2 << 10)),
        level0_trigger: 3,
        ..small()
    }
}

/// Each request for a table is a single unit.
#[allow(clippy::needless_pass_by_value)] // as an option set is written where it is used
pub fn single_units(options: Options) -> Options {
    let unit = ByteCount(options.write_unit_bytes.into());
    Options { compaction_readahead_bytes: unit, table_write_bytes: unit, ..options }
}

#[test]
fn a_tree_that_asks_for_single_units_survives_a_cut_at_every_request() {
    let cases = cut_everywhere(&single_units(options()), 600, 2);
    println!("{cases:?}");
    assert!(cases[0] > 400 && cases[1] > 200, "{cases:?}");
}

#[test]
fn a_leveled_tree_survives_a_cut_at_every_request() {
    let cases = cut_everywhere(&options(), 1_200, 4);
    println!("{cases:?}");
    assert!(cases[0] > 1_000 && cases[1] > 500, "{cases:?}");
}

#[test]
fn a_tiered_tree_survives_a_cut_at_every_request() {
    let cases = cut_everywhere(&tiered(options()), 1_200, 4);
    println!("{cases:?}");
    assert!(cases[0] > 1_000 && cases[1] > 500, "{cases:?}");
}

#[test]
fn a_tree_without_a_log_survives_a_cut_at_every_request() {
    let cases = cut_everywhere(&Options { wal: false, ..options() }, 800, 4);
    println!("{cases:?}");
    assert!(cases[0] > 1_000, "{cases:?}");
}

#[test]
fn a_tree_being_made_is_there_or_not() {
    let options = options();
    let config = options.config();
    let mut old = Disk::new(800);
    Tree::create(&mut old, &config).unwrap();
    let states = play(&mut old, &options, 200, Map::new(), 0);
    assert!(states.changes.is_empty());
    for at in 1..40 {
        for form in 0..8 {
            let mut disk = Disk { left: at, ..old.clone() };
            let made = Tree::create(&mut disk, &config).map(drop);
            disk.cut(&mut Random::stream(at, form));
            let opened = Tree::open(&mut disk, &config);
            if made.is_ok() {
                assert!(contents(&mut opened.unwrap()).is_empty());
                continue;
            }
            match opened {
                // What was given up may come back in part, and tells so when it is read.
                Ok(mut tree) => match tree.check() {
                    Ok(_) => {
                        let found = contents(&mut tree);
                        assert!(found.is_empty() || found == states.flushed, "the old tree or the new one");
                    }
                    Err(IndexError::DamagedFile { .. }) => {}
                    Err(error) => panic!("request {at}: {error}"),
                },
                Err(IndexError::NoIndex { .. } | IndexError::DamagedFile { .. }) => {}
                Err(error) => panic!("request {at}: {error}"),
            }
        }
    }
}

#[test]
fn what_is_not_trimmed_is_never_taken_for_a_file_after_a_cut() {
    for (trim, allocation) in [
        (Trim::Discard(Discard { bytes: ByteCount(2 << 10) }), Allocation::NextFit),
        (Trim::Fstrim(Fstrim { every_bytes: ByteCount(4 << 10) }), Allocation::FirstFit),
        (Trim::Never, Allocation::FirstFit),
    ] {
        let cases = cut_everywhere(&Options { trim, allocation, ..options() }, 400, 2);
        println!("{trim:?}: {cases:?}");
        assert!(cases[0] > 200 && cases[1] > 50, "{cases:?}");
    }
}
