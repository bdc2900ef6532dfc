//! Failing programs and erases, and pages that cannot be read, under an LSM tree on every listed FTL, and on the
//! zoned drive without one.
//!
//! The promise under test: a program or an erase that fails loses nothing. A page that cannot be read is an error for
//! whoever needs it, and never other data. Every programmed page is damaged in turn; the long form
//! also lets every operation fail.

use crate::below::{ftls_and_zns, rules, Map};
use nandlab_block::{ByteCount, Error};
use nandlab_ftl::FtlConfig;
use nandlab_index::lsm::{Compaction, Options, TieredOptions, Tree};
use nandlab_index::IndexError;
use nandlab_nand::backed::Backed;
use nandlab_nand::damaged::Damaged;
use nandlab_nand::faulty::{Config as Faults, Faulty};
use nandlab_nand::random::Random;
use nandlab_nand::{Geometry, Nand, Ppa};
use nandlab_proof::{on_all_cores, Disk};

type Flash = Faulty<Backed>;

/// Operations of a run; the last one is a flush.
const STEPS: u64 = 2_100;

fn geometry() -> Geometry {
    Geometry::single_die(48, 8, 512).unwrap()
}

fn benches() -> [Options; 2] {
    let leveled = Options {
        write_buffer_bytes: ByteCount(1000),
        target_file_bytes: ByteCount(1000),
        level_base_bytes: Some(ByteCount(2048)),
        level_multiplier: Some(3),
        level0_trigger: 3,
        block_bytes: 256,
        write_unit_bytes: 512,
        extent_bytes: ByteCount(512),
        ..Options::default()
    };
    let tiered = Options {
        compaction: Compaction::Tiered(TieredOptions::default()),
        level_base_bytes: None,
        level_multiplier: None,
        ..leveled.clone()
    };
    [leveled, tiered]
}

/// Logical pages, with room for two blocks to go bad.
fn pages(ftl: &FtlConfig) -> Option<u32> {
    let most = ftl.max_logical_pages(&geometry(), &rules()).ok()?;
    most.checked_sub(2 * geometry().pages_per_block()).filter(|&pages| pages > 0)
}

/// Plays on a device with these faults; the device and the map, or `None` if the FTL or the tree does not take it.
fn play(ftl: &FtlConfig, options: &Options, faults: Faults) -> Option<(Disk<Flash>, Map)> {
    let flash = Faulty::new(Backed::ram(geometry(), rules()), faults).unwrap();
    let mut disk = Disk::mount(flash, pages(ftl)?, ftl).unwrap();
    let mut tree = match Tree::create(&mut *disk, &options.config()) {
        Ok(tree) => tree,
        Err(IndexError::Option { .. } | IndexError::NoSpace { .. }) => return None,
        Err(error) => panic!("{}: {error}", ftl.name()),
    };
    let (mut map, mut random) = (Map::new(), Random::new(6));
    for step in 1..=STEPS {
        let key = (random.below(150) as u32).wrapping_mul(0x9E37_79B9).to_be_bytes();
        if step % 35 == 0 {
            tree.flush().unwrap();
        } else if random.chance(0.25) {
            tree.delete(&key).unwrap();
            map.remove(&key[..]);
        } else {
            tree.put(&key, &step.to_le_bytes()[..4]).unwrap();
            map.insert(key.to_vec(), step.to_le_bytes()[..4].to_vec());
        }
    }
    tree.check().unwrap();
    assert_eq!(contents(&mut tree).unwrap(), map, "{}", ftl.name());
    drop(tree);
    Some((disk, map))
}

fn contents(tree: &mut Tree<'_>) -> Result<Map, IndexError> {
    let mut found = Map::new();
    let mut cursor = tree.range(None, None)?;
    while let Some((key, value)) = cursor.next()? {
        found.insert(key.to_vec(), value.to_vec());
    }
    Ok(found)
}

/// Step between failing operations: 1 in the long form, else a prime, so that all phases of the FTLs are met.
fn stride(quick: usize) -> usize {
    if std::env::var_os("NANDLAB_LONG").is_some() {
        1
    } else {
        quick
    }
}

/// Lets one operation after the other fail; returns how many did.
fn in_turn(ftl: &FtlConfig, options: &Options, stride: usize, fault: impl Fn(u64) -> Faults) -> u64 {
    let mut failed = 0;
    for number in (1..).step_by(stride) {
        let Some((disk, map)) = play(ftl, options, fault(number)) else { break };
        let counts = disk.nand().counts();
        if counts.failed_programs + counts.failed_erases == 0 {
            break;
        }
        failed += 1;
        let mut disk = Disk::mount(disk.into_nand(), pages(ftl).unwrap(), ftl).unwrap();
        let mut tree = Tree::open(&mut *disk, &options.config()).unwrap();
        assert_eq!(contents(&mut tree).unwrap(), map, "{}: operation {number}", ftl.name());
        tree.check().unwrap();
    }
    failed
}

#[test]
fn an_lsm_tree_loses_nothing_by_a_failed_program_or_erase() {
    on_all_cores(&ftls_and_zns(), |ftl| {
        let mut failed = [0; 2];
        for options in benches() {
            failed[0] +=
                in_turn(ftl, &options, stride(13), |n| Faults { failing_programs: vec![n], ..Faults::default() });
            failed[1] += in_turn(ftl, &options, stride(2), |n| Faults { failing_erases: vec![n], ..Faults::default() });
        }
        let [programs, erases] = failed;
        println!("{}: {programs} programs and {erases} erases failed", ftl.name());
        assert!(!matches!(ftl.name(), "page" | "zns") || programs > 40 && erases > 4, "{programs} {erases}");
    });
}

/// What a device with a page that cannot be read gives: the contents, or the error.
fn look(disk: &mut Disk<Damaged<Flash>>, options: &Options) -> Result<Map, IndexError> {
    let mut tree = Tree::open(&mut **disk, &options.config())?;
    contents(&mut tree)
}

#[test]
fn a_page_that_cannot_be_read_is_an_error_and_never_other_data() {
    on_all_cores(&ftls_and_zns(), |ftl| {
        let (mut whole, mut told) = (0, 0);
        for options in benches() {
            let Some((disk, map)) = play(ftl, &options, Faults::default()) else { continue };
            let mut nand = disk.into_nand();
            let programmed = (0..geometry().pages()).map(Ppa);
            let programmed: Vec<Ppa> =
                programmed.filter(|&at| nand.read_spare(at).is_ok_and(|oob| oob.is_some())).collect();
            for &at in &programmed {
                let damaged = Damaged::new(nand.clone(), at);
                let mut disk = Disk::mount(damaged, pages(ftl).unwrap(), ftl).unwrap();
                match look(&mut disk, &options) {
                    Ok(found) => {
                        assert!(found == map, "{} page {at}: other data in silence", ftl.name());
                        whole += 1;
                    }
                    Err(IndexError::DamagedFile { .. } | IndexError::NoIndex { .. }) => told += 1,
                    Err(IndexError::Device(Error::Unreadable { .. })) => told += 1,
                    Err(error) => panic!("{} page {at}: {error}", ftl.name()),
                }
            }
        }
        println!("{}: {whole} pages were not needed, {told} were told", ftl.name());
        // A page map keeps stale pages; a zone with nothing live is erased.
        let needless = if ftl.name() == "page" { 20 } else { 10 };
        assert!(!matches!(ftl.name(), "page" | "zns") || whole > needless && told > 10, "{whole} {told}");
    });
}
