//! Power cuts under an index on every listed FTL.
//!
//! The promise under test: with shadowed pages, the index opens after any cut, and holds exactly the last acknowledged
//! flush's state or, if the power went during a flush, possibly the new state, as a whole. Without, it holds one such
//! state too, or is refused as not flushed.

use crate::below::{cut_at, erased, in_every_form, mount, rules, some_cuts, Map, Nand};
use nandlab_block::{Error, Mirror};
use nandlab_ftl::{page, FtlConfig};
use nandlab_index::btree::FixedRecords;
use nandlab_index::pool::{self, Budget, WriteBack};
use nandlab_index::{Config, IndexError, Records, Tree};
use nandlab_nand::backed::Backed;
use nandlab_nand::counting::Lean;
use nandlab_nand::power_cut::CutPlan;
use nandlab_nand::random::Random;
use nandlab_nand::{Counting, Geometry, Origin};
use nandlab_proof::Disk;
use nandlab_workload::keys::inserts::{self, Order};
use nandlab_workload::keys::ycsb::{self, Mix};
use nandlab_workload::keys::{load_update, Action, KeyOp, KeySetting};
use nandlab_workload::{Kind, WorkloadConfig};
use std::collections::BTreeMap;
use std::path::Path;

/// The index's possible contents.
#[derive(Clone, Default)]
struct State {
    /// At the last acknowledged flush.
    flushed: Map,
    /// The contents a running flush is writing.
    flushing: Option<Map>,
    /// With everything done so far.
    now: Map,
}

/// A cut's outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Found {
    Flushed,
    Flushing,
    Unclean,
}

struct Bench {
    geometry: Geometry,
    config: Config,
    seed: u64,
}

impl Bench {
    fn mount(&self, nand: Nand, ftl: &FtlConfig) -> Option<Disk<Nand>> {
        mount(nand, &self.geometry, ftl)
    }

    /// An empty index, if the FTL takes the device.
    fn create(&self, ftl: &FtlConfig) -> Option<Disk<Nand>> {
        let mut disk = self.mount(erased(self.geometry), ftl)?;
        Tree::create(&mut *disk, &self.config).unwrap();
        Some(disk)
    }

    /// Changes and flushes until the power goes; `true` if it does.
    fn play(&self, disk: &mut Disk<Nand>, state: &mut State, stream: u64, steps: u64) -> bool {
        let mut tree = match Tree::open(&mut **disk, &self.config.pool) {
            Ok(tree) => tree,
            Err(error) => return is_cut(&error),
        };
        let mut random = Random::stream(self.seed, stream);
        for step in 1..=steps {
            let result = if step % 50 == 0 {
                state.flushing = Some(state.now.clone());
                tree.flush().map(|()| state.flushed = state.flushing.take().unwrap())
            } else {
                change(&mut tree, &mut state.now, &mut random)
            };
            if let Err(error) = result {
                return is_cut(&error);
            }
        }
        false
    }

    /// Opens the index and compares; then it must work on.
    fn look(&self, disk: &mut Disk<Nand>, state: &mut State) -> Found {
        let mut tree = match Tree::open(&mut **disk, &self.config.pool) {
            Ok(tree) => tree,
            Err(IndexError::Unclean) if !self.config.pool.shadow => return Found::Unclean,
            Err(error) => panic!("open after a cut: {error}"),
        };
        tree.check().unwrap_or_else(|error| panic!("after a cut: {error}"));
        let mut found = Map::new();
        let mut cursor = tree.range(None, None).unwrap();
        while let Some((key, value)) = cursor.next().unwrap() {
            found.insert(key.to_vec(), value.to_vec());
        }
        let which = match &state.flushing {
            _ if found == state.flushed => Found::Flushed,
            Some(flushing) if found == *flushing => Found::Flushing,
            _ => panic!("{} records, neither the state of the last flush nor of the one under way", found.len()),
        };
        *state = State { flushed: found.clone(), flushing: None, now: found };
        which
    }

    /// Plays with the cuts one after another; returns the last comparison, or `None` if a cut was not reached.
    fn run(&self, ftl: &FtlConfig, cuts: &[CutPlan]) -> Option<Found> {
        let mut disk = self.create(ftl)?;
        let mut state = State::default();
        let mut found = None;
        for (&plan, stream) in cuts.iter().zip(0..) {
            disk.nand_mut().arm(plan);
            if !self.play(&mut disk, &mut state, stream, 400) {
                return None;
            }
            disk = self.with_power(disk.into_nand(), ftl);
            found = Some(self.look(&mut disk, &mut state));
            if found == Some(Found::Unclean) {
                return found;
            }
        }
        self.go_on(disk, state, ftl);
        found
    }

    /// Plays until the cut at `operation`, and compares after the cut in each form; `None` if the cut was not reached.
    fn every_form(&self, ftl: &FtlConfig, operation: u64) -> Option<Vec<Found>> {
        let mut disk = self.create(ftl)?;
        let mut state = State::default();
        cut_at(disk.nand_mut(), operation);
        if !self.play(&mut disk, &mut state, 0, 400) {
            return None;
        }
        let after = |nand| {
            let (mut disk, mut state) = (self.with_power(nand, ftl), state.clone());
            let found = self.look(&mut disk, &mut state);
            if found != Found::Unclean {
                self.go_on(disk, state, ftl);
            }
            found
        };
        Some(in_every_form(disk.into_nand()).into_iter().map(after).collect())
    }

    fn with_power(&self, mut nand: Nand, ftl: &FtlConfig) -> Disk<Nand> {
        nand.restore();
        self.mount(nand, ftl).expect("the FTL took the device before")
    }

    fn go_on(&self, mut disk: Disk<Nand>, mut state: State, ftl: &FtlConfig) {
        assert!(!self.play(&mut disk, &mut state, 99, 100), "power goes without a cut");
        // The last step out of 100 was a flush.
        let mut disk = self.with_power(disk.into_nand(), ftl);
        assert_eq!(self.look(&mut disk, &mut state), Found::Flushed);
    }
}

fn is_cut(error: &IndexError) -> bool {
    assert_eq!(*error, IndexError::Device(Error::PowerLost));
    true
}

/// A random insert, update or delete; keys repeat, so the tree grows to some hundred records.
fn change(tree: &mut Tree<'_>, now: &mut Map, random: &mut Random) -> Result<(), IndexError> {
    let key = (random.below(600) as u32).wrapping_mul(0x9E37_79B9).to_be_bytes();
    if random.chance(0.25) {
        tree.delete(&key)?;
        now.remove(&key[..]);
    } else {
        let value = (random.next_u64() as u32).to_le_bytes();
        tree.put(&key, &value)?;
        now.insert(key.to_vec(), value.to_vec());
    }
    Ok(())
}

/// Index pages as large as flash pages, smaller, and larger.
fn benches(shadow: bool) -> Vec<Bench> {
    let bench = |page_bytes, [blocks, pages, flash_page]: [u32; 3], records, write_back| {
        let pool =
            pool::Config { page_bytes, budget: Budget::Frames(4), shadow, write_back, ..pool::Config::default() };
        let geometry = Geometry::single_die(blocks, pages, flash_page).unwrap();
        Bench { geometry, config: Config { pool, records }, seed: page_bytes.into() }
    };
    vec![
        bench(512, [40, 8, 512], Records::Fixed(FixedRecords::default()), WriteBack::Page),
        bench(512, [40, 4, 1024], Records::Slotted, WriteBack::Sectors),
        bench(2048, [50, 16, 512], Records::Deltas, WriteBack::Sectors),
    ]
}

/// Cuts at every operation in every form; returns the cases by outcome.
fn exhaust(ftl: &FtlConfig, shadow: bool) -> [u64; 3] {
    let mut cases = [0; 3];
    for bench in benches(shadow) {
        if bench.create(ftl).is_none() {
            continue;
        }
        for found in (1..).map_while(|operation| bench.every_form(ftl, operation)).flatten() {
            cases[found as usize] += 1;
        }
    }
    cases
}

#[test]
fn a_shadowed_index_is_as_flushed_after_a_cut_at_any_operation() {
    for config in FtlConfig::all() {
        let [flushed, flushing, unclean] = exhaust(&config, true);
        println!("{}: {flushed} cuts left the last flush, {flushing} the one under way", config.name());
        assert_eq!(unclean, 0);
        if config.name() == "page" {
            assert!(flushed > 1_000 && flushing > 10);
        }
    }
}

#[test]
fn an_index_in_place_is_as_flushed_or_refused_after_a_cut() {
    let config = FtlConfig::all().into_iter().find(|config| config.name() == "page").unwrap();
    let [flushed, flushing, unclean] = exhaust(&config, false);
    println!("{flushed} cuts left the last flush, {flushing} the one under way, {unclean} neither");
    // Each operation is cut in the forms that differ for it.
    assert!(flushed > 50 && flushing > 10 && unclean > 1_000);
}

/// Random cases with two or three cuts; returns how many reached their last cut.
fn twice(ftl: &FtlConfig, cases: u64) -> u64 {
    let mut random = Random::new(5);
    let mut reached = 0;
    for case in 0..cases {
        let mut bench = benches(true).swap_remove((case % 3) as usize);
        bench.seed = case;
        let cuts = some_cuts(&mut random, 150);
        reached += u64::from(bench.run(ftl, &cuts).is_some());
    }
    reached
}

#[test]
fn a_shadowed_index_survives_cuts_one_after_another() {
    for config in FtlConfig::all() {
        let reached = twice(&config, 300);
        println!("{}: {reached} of 300 cases reached their last cut", config.name());
        assert!(reached > 100 || config.name() != "page");
    }
}

/// Carries out an operation stream on the tree and on an ordered map.
fn follow(tree: &mut Tree<'_>, ops: &[KeyOp]) {
    let mut map = BTreeMap::new();
    let loaded = ops.iter().take_while(|op| op.action == Action::Load).map(|op| (op.bytes::<4>(), [1; 4]));
    map.extend(loaded.clone());
    tree.bulk_load(loaded, 1.0).unwrap();
    for (op, n) in ops.iter().zip(0_u32..) {
        let (key, value) = (op.bytes::<4>(), n.to_be_bytes());
        match op.action {
            Action::Load => {}
            Action::Insert => {
                assert_eq!(tree.insert(&key, &value).unwrap(), !map.contains_key(&key));
                map.entry(key).or_insert(value);
            }
            Action::Put => assert_eq!(tree.put(&key, &value).unwrap(), map.insert(key, value).is_some()),
            Action::Update | Action::ReadModifyWrite => {
                assert_eq!(tree.get(&key).unwrap().as_deref(), map.get(&key).map(|value| &value[..]));
                assert_eq!(tree.update(&key, &value).unwrap(), map.contains_key(&key));
                map.entry(key).and_modify(|old| *old = value);
            }
            Action::Read => {
                assert_eq!(tree.get(&key).unwrap().as_deref(), map.get(&key).map(|value| &value[..]));
            }
            Action::Scan(records) => {
                let mut cursor = tree.range(Some(&key), None).unwrap();
                for (key, value) in map.range(key..).take(records as usize) {
                    assert_eq!(cursor.next().unwrap(), Some((&key[..], &value[..])));
                }
            }
            Action::Delete => assert_eq!(tree.delete(&key).unwrap(), map.remove(&key).is_some()),
        }
    }
    assert_eq!(tree.check().unwrap().records, map.len() as u64);
    tree.flush().unwrap();
}

/// Every key workload over a device with bytes, and over a mirror on a counting one: the same flash operations.
#[test]
fn key_workloads_run_alike_with_bytes_and_over_a_mirror() {
    let mut workloads = vec![
        WorkloadConfig::LoadUpdate(load_update::Config { records: 3_000, updates: 3_000, ..Default::default() }),
        WorkloadConfig::Inserts(inserts::Config { operations: 5_000, ..Default::default() }),
    ];
    for order in [Order::Sequential, Order::Skewed] {
        let config = inserts::Config { order, operations: 5_000, keys: 4_000, ..Default::default() };
        workloads.push(WorkloadConfig::Inserts(config));
    }
    for mix in Mix::ALL {
        let config = ycsb::Config { mix, records: 2_000, operations: 3_000, ..Default::default() };
        workloads.push(WorkloadConfig::Ycsb(config));
    }
    let geometry = Geometry::single_die(200, 16, 512).unwrap();
    let pool = pool::Config { page_bytes: 512, budget: Budget::Frames(30), ..pool::Config::default() };
    let config = Config { pool, ..Config::default() };
    let ftl = FtlConfig::Page(page::Config::default());
    let pages = ftl.max_logical_pages(&geometry, &rules()).unwrap();
    for workload in workloads {
        let setting = KeySetting { seed: 4, base: Path::new("."), largest_key: u32::MAX.into() };
        let Kind::Keys(options) = workload.kind() else { panic!("{} asks for no keys", workload.name()) };
        let ops: Vec<KeyOp> = options.open(&setting).unwrap().collect::<Result<_, _>>().unwrap();
        let mut real = Disk::mount(Backed::ram(geometry, rules()), pages, &ftl).unwrap();
        follow(&mut Tree::create(&mut *real, &config).unwrap(), &ops);
        let counting = Counting::<Lean>::new(geometry, rules());
        let mut mirror = Mirror::new(nandlab_drive::counting(&ftl, counting, pages).unwrap());
        follow(&mut Tree::create(&mut mirror, &config).unwrap(), &ops);
        let (real, counted) = (real.ctx().matrix().clone(), mirror.inner_mut().ctx().matrix().clone());
        assert_eq!(real, counted, "{}", workload.name());
        let leaf = counted.sum(|origin, _| origin == Origin::INDEX_LEAF);
        println!(
            "{}: {} programs, {} of them for leaves",
            workload.name(),
            counted.total().programs(),
            leaf.programs()
        );
        assert!(leaf.programs() * 2 > counted.total().programs());
    }
}
