//! Power cuts under an LSM tree on every listed FTL, and on the zoned drive without one.
//!
//! The promise under test: after any cut the tree opens, and holds everything of the last acknowledged flush and, of the
//! operations since, the first ones in their order.

use crate::below::{cut_at, erased, ftls_and_zns, in_every_form, mount, some_cuts, Map, Nand};
use nandlab_block::{ByteCount, Error};
use nandlab_ftl::FtlConfig;
use nandlab_index::lsm::{Allocation, Compaction, Discard, Fstrim, Options, TieredOptions, Tree, Trim};
use nandlab_index::IndexError;
use nandlab_nand::power_cut::CutPlan;
use nandlab_nand::random::Random;
use nandlab_nand::Geometry;
use nandlab_proof::Disk;

struct Bench {
    geometry: Geometry,
    options: Options,
    seed: u64,
}

fn benches() -> Vec<Bench> {
    let small = Options {
        write_buffer_bytes: ByteCount(1000),
        target_file_bytes: ByteCount(1000),
        level0_trigger: 3,
        block_bytes: 256,
        write_unit_bytes: 512,
        extent_bytes: ByteCount(512),
        ..Options::default()
    };
    let leveled = Options { level_base_bytes: Some(ByteCount(2048)), level_multiplier: Some(3), ..small.clone() };
    // Each bench has its way of trimming: a deleted file's contents are still there after a cut, or half of them.
    let trim = Trim::Fstrim(Fstrim { every_bytes: ByteCount(6000) });
    let tiered = Options { compaction: Compaction::Tiered(TieredOptions::default()), trim, ..small };
    let discard = Trim::Discard(Discard { bytes: ByteCount(5000) });
    let allocation = Allocation::NextFit;
    let bench = |[blocks, pages, page_bytes]: [u32; 3], options: &Options| Bench {
        geometry: Geometry::single_die(blocks, pages, page_bytes).unwrap(),
        options: options.clone(),
        seed: blocks.into(),
    };
    vec![
        bench([60, 8, 512], &leveled),
        bench(
            [61, 8, 1024],
            &Options {
                write_unit_bytes: 1024,
                extent_bytes: ByteCount(2048),
                trim: discard,
                allocation,
                ..leveled.clone()
            },
        ),
        bench([62, 16, 512], &tiered),
        // Each request for a table is a single unit.
        bench(
            [64, 8, 512],
            &Options {
                compaction_readahead_bytes: ByteCount(512),
                table_write_bytes: ByteCount(512),
                ..leveled.clone()
            },
        ),
        bench([63, 8, 1024], &Options { wal: false, trim: Trim::Never, allocation, ..leveled }),
    ]
}

impl Bench {
    fn mount(&self, nand: Nand, ftl: &FtlConfig) -> Option<Disk<Nand>> {
        mount(nand, &self.geometry, ftl)
    }

    /// An empty tree, if the FTL takes the device and leaves room.
    fn create(&self, ftl: &FtlConfig) -> Option<Disk<Nand>> {
        let mut disk = self.mount(erased(self.geometry), ftl)?;
        match Tree::create(&mut *disk, &self.options.config()).map(drop) {
            Ok(()) => Some(disk),
            Err(IndexError::Option { .. } | IndexError::NoSpace { .. }) => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// Changes and flushes until the power goes; `true` if it does. `states` are those since the last flush.
    fn play(&self, disk: &mut Disk<Nand>, states: &mut Vec<Map>, stream: u64, steps: u64) -> bool {
        let mut run = || -> Result<(), IndexError> {
            let mut tree = Tree::open(&mut **disk, &self.options.config())?;
            let mut random = Random::stream(self.seed, stream);
            for step in 1..=steps {
                if step % 25 == 0 {
                    tree.flush()?;
                    states.drain(..states.len() - 1);
                    continue;
                }
                let key = (random.below(150) as u32).wrapping_mul(0x9E37_79B9).to_be_bytes();
                let mut now = states.last().unwrap().clone();
                let value = (random.next_u64() as u32).to_le_bytes();
                let deletes = random.chance(0.25);
                if deletes {
                    now.remove(&key[..]);
                } else {
                    now.insert(key.to_vec(), value.to_vec());
                }
                states.push(now);
                if deletes {
                    tree.delete(&key)?;
                } else {
                    tree.put(&key, &value)?;
                }
            }
            Ok(())
        };
        match run() {
            Ok(()) => false,
            Err(error) => {
                assert_eq!(error, IndexError::Device(Error::PowerLost));
                true
            }
        }
    }

    /// Opens the tree and compares; returns how many operations since the last flush are there.
    fn look(&self, disk: &mut Disk<Nand>, states: &mut Vec<Map>) -> usize {
        let mut tree = Tree::open(&mut **disk, &self.options.config()).unwrap_or_else(|error| panic!("open: {error}"));
        tree.check().unwrap_or_else(|error| panic!("after a cut: {error}"));
        let mut found = Map::new();
        let mut cursor = tree.range(None, None).unwrap();
        while let Some((key, value)) = cursor.next().unwrap() {
            found.insert(key.to_vec(), value.to_vec());
        }
        let at = states.iter().position(|state| *state == found);
        let at = at.unwrap_or_else(|| panic!("{} records, no state since the last flush", found.len()));
        *states = vec![found];
        at
    }

    /// Plays with the cuts one after another; returns the last comparison, or `None` if a cut was not reached.
    fn run(&self, ftl: &FtlConfig, cuts: &[CutPlan], steps: u64) -> Option<usize> {
        let mut disk = self.create(ftl)?;
        let mut states = vec![Map::new()];
        let mut found = None;
        for (&plan, stream) in cuts.iter().zip(0..) {
            disk.nand_mut().arm(plan);
            if !self.play(&mut disk, &mut states, stream, steps) {
                return None;
            }
            disk = self.with_power(disk.into_nand(), ftl);
            found = Some(self.look(&mut disk, &mut states));
        }
        self.go_on(disk, states, ftl);
        found
    }

    /// Plays until the cut at `operation`, and compares after the cut in each form; `None` if the cut was not reached.
    fn every_form(&self, ftl: &FtlConfig, operation: u64, steps: u64) -> Option<Vec<usize>> {
        let mut disk = self.create(ftl)?;
        let mut states = vec![Map::new()];
        cut_at(disk.nand_mut(), operation);
        if !self.play(&mut disk, &mut states, 0, steps) {
            return None;
        }
        let after = |nand| {
            let (mut disk, mut states) = (self.with_power(nand, ftl), states.clone());
            let found = self.look(&mut disk, &mut states);
            self.go_on(disk, states, ftl);
            found
        };
        Some(in_every_form(disk.into_nand()).into_iter().map(after).collect())
    }

    fn with_power(&self, mut nand: Nand, ftl: &FtlConfig) -> Disk<Nand> {
        nand.restore();
        self.mount(nand, ftl).expect("the FTL took the device before")
    }

    fn go_on(&self, mut disk: Disk<Nand>, mut states: Vec<Map>, ftl: &FtlConfig) {
        assert!(!self.play(&mut disk, &mut states, 99, 75), "power goes without a cut");
        // The last step was a flush.
        let mut disk = self.with_power(disk.into_nand(), ftl);
        assert_eq!(self.look(&mut disk, &mut states), 0);
    }
}

/// With the long form a cut at every operation; else at every seventh, and for the page map and the zoned drive at every second.
fn stride(ftl: &FtlConfig) -> u64 {
    match std::env::var_os("NANDLAB_LONG") {
        Some(_) => 1,
        None if matches!(ftl.name(), "page" | "zns") => 2,
        None => 7,
    }
}

#[test]
fn an_lsm_tree_holds_the_last_flush_after_a_cut_at_any_operation() {
    for ftl in ftls_and_zns() {
        let (mut cases, mut later) = (0, 0);
        for bench in benches() {
            if bench.create(&ftl).is_none() {
                continue;
            }
            let operations = (1..).step_by(stride(&ftl) as usize);
            for found in operations.map_while(|operation| bench.every_form(&ftl, operation, 400)).flatten() {
                (cases, later) = (cases + 1, later + u64::from(found > 0));
            }
        }
        println!("{}: {cases} cuts, {later} left operations after the last flush", ftl.name());
        assert!(!matches!(ftl.name(), "page" | "zns") || cases > 400 && later > 50, "{cases} {later}");
    }
}

#[test]
fn an_lsm_tree_survives_cuts_one_after_another() {
    for ftl in ftls_and_zns() {
        let mut random = Random::new(5);
        let mut reached = 0;
        for case in 0..80_u64 {
            let mut bench = benches().swap_remove((case % 5) as usize);
            bench.seed = case;
            let cuts = some_cuts(&mut random, 80);
            reached += u64::from(bench.run(&ftl, &cuts, 400).is_some());
        }
        println!("{}: {reached} of 80 cases reached their last cut", ftl.name());
        assert!(reached > 25 || !matches!(ftl.name(), "page" | "zns"));
    }
}
