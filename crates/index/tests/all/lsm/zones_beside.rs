//! Flushes and compactions beside the host's operations over zones, on a drive that promises little: requests end in any
//! order, and a flush makes durable only what had ended when it began, with what came before it in its zone.

use super::cuts::{cut_everywhere_on, single_units, Cuttable};
use super::pending::Pending;
use super::zones::{options, takes_updates};
use super::{contents, fills, refuses_and_stays_whole, small, tiered, Map};
use crate::zoned::Zoned;
use nandlab_block::{
    BlockDevice, ByteCount, Completion, Ended, Error, Op, Payload, Queued, Request, ZoneReport, ZoneShape,
};
use nandlab_index::lsm::{Options, Stats, Tree};
use nandlab_index::IndexError;
use nandlab_nand::random::Random;
use nandlab_nand::Time;
use std::collections::{BTreeMap, BTreeSet};

/// A zoned drive whose requests take pseudo-random times.
#[derive(Clone)]
struct Beside {
    drive: Zoned,
    /// By zone: the numbers of its changes since the last flush.
    changes: BTreeMap<usize, Vec<u64>>,
    pending: Pending,
}

impl Beside {
    fn new(zones: usize, capacity: u64, size: u64, max_active: u32) -> Self {
        Self { drive: Zoned::new(zones, capacity, size, max_active), changes: BTreeMap::new(), pending: Pending::new() }
    }

    fn flushed(&mut self, covered: &BTreeSet<u64>) {
        for (&zone, numbers) in &mut self.changes {
            let kept = numbers.iter().rposition(|number| covered.contains(number)).map_or(0, |last| last + 1);
            self.drive.keep(zone, kept);
            numbers.drain(..kept);
        }
    }

    fn begin_again(&mut self) {
        self.changes.clear();
        self.pending.forget();
    }
}

impl BlockDevice for Beside {
    fn submit(&mut self, request: &Request, _: Payload<'_>) -> Result<Completion, Error> {
        panic!("{request:?} goes past the queue")
    }

    fn sectors(&self) -> u64 {
        self.drive.sectors()
    }

    fn zone_shape(&self) -> Option<ZoneShape> {
        self.drive.zone_shape()
    }

    fn zone_at(&self, sector: u64) -> Option<ZoneReport> {
        self.drive.zone_at(sector)
    }

    fn queued(&mut self) -> Option<&mut dyn Queued> {
        Some(self)
    }

    fn peek(&self, sector: u64, bytes: &mut [u8]) -> bool {
        self.drive.look(sector, bytes);
        true
    }
}

impl Queued for Beside {
    fn begin(&mut self, request: &Request, data: Payload<'_>) -> Result<u64, Error> {
        let number = self.pending.number(request);
        if request.op == Op::Flush {
            self.drive.left = self.drive.left.checked_sub(1).ok_or(Error::PowerLost)?;
        } else {
            self.drive.submit(request, data)?;
        }
        if matches!(request.op, Op::Write | Op::Zone(_)) {
            self.changes.entry(self.drive.zone_of(request.sector)).or_default().push(number);
        }
        self.pending.begin(number, request);
        Ok(number)
    }

    fn step(&mut self, limit: Time, ended: &mut Vec<Ended>) -> bool {
        let stepped = self.pending.step(limit, ended);
        if let Some(covered) = &stepped {
            self.flushed(covered);
        }
        stepped.is_some()
    }

    fn now(&mut self) -> Time {
        self.pending.latest
    }
}

impl Cuttable for Beside {
    fn left(&mut self) -> &mut u64 {
        &mut self.drive.left
    }

    fn cut(&mut self, random: &mut Random) {
        self.drive.cut(random);
        self.begin_again();
    }

    fn forget(&mut self) {
        self.drive.forget();
        self.begin_again();
    }
}

#[allow(clippy::needless_pass_by_value)] // as an option set is written where it is used
fn beside(options: Options) -> Options {
    Options { threads: 2, ..options }
}

/// What the tree did, when it ended, and the most requests under way; random operations, against an ordered map.
fn conforms(drive: &mut Beside, options: &Options, keys: u64) -> (Stats, Time, usize) {
    options.check().unwrap();
    let config = options.config();
    let (mut random, mut map) = (Random::new(5), Map::new());
    let mut tree = Tree::create(drive, &config).unwrap();
    for step in 1..=5_000_u64 {
        let key = (random.below(keys) as u32).wrapping_mul(0x9E37_79B9).to_be_bytes().to_vec();
        match random.below(10) {
            0 | 1 => assert_eq!(tree.get(&key).unwrap().as_ref(), map.get(&key)),
            2 => {
                tree.delete(&key).unwrap();
                map.remove(&key);
            }
            _ => {
                let value = step.to_le_bytes().to_vec();
                tree.put(&key, &value).unwrap();
                map.insert(key, value);
            }
        }
        if step % 500 == 0 {
            tree.flush().unwrap();
            assert_eq!(contents(&mut tree), map, "step {step}");
        }
    }
    tree.end_jobs().unwrap();
    assert_eq!(tree.check().unwrap().records, map.len() as u64);
    let (stats, now) = (tree.stats(), tree.now());
    tree.flush().unwrap();
    drop(tree);
    let deepest = drive.pending.deepest;
    drive.forget();
    assert_eq!(contents(&mut Tree::open(drive, &config).unwrap()), map);
    (stats, now, deepest)
}

#[test]
fn a_tree_with_jobs_on_zones_equals_a_map_and_every_run_the_one_before() {
    for (options, [zones, capacity, active]) in [
        (small(), [120, 64, 0]),
        (small(), [120, 64, 5]),
        (tiered(small()), [120, 60, 4]),
        (Options { wal: false, ..small() }, [120, 64, 6]),
    ] {
        let mut drive = Beside::new(zones, capacity as u64, 64, active as u32);
        let result = conforms(&mut drive.clone(), &beside(options.clone()), 2_000);
        assert_eq!(result, conforms(&mut drive, &beside(options), 2_000));
        let (stats, _, deepest) = result;
        println!("{stats:?} {deepest} deep, {} active", drive.drive.most_active);
        let config = beside(small()).config();
        let mut tree = Tree::open(&mut drive, &config).unwrap();
        let records = contents(&mut tree).len() as u64;
        tree.compact(&[0; 4], &[0xFF; 4]).unwrap();
        assert_eq!(tree.check().unwrap().table_records, records, "one record a key is left");
        drop(tree);
        assert!(stats.compactions > 20 && stats.stalls.memtables.count > 10, "{stats:?}");
        assert!(deepest > 6, "{deepest}");
        assert!(active == 0 || drive.drive.most_active <= active as u32);
    }
}

/// Tables leave zones in jobs of their own.
#[test]
fn with_jobs_live_tables_leave_zones_when_none_is_empty() {
    for (active, zones, keys) in [(0, 14, 1_500), (5, 10, 600)] {
        let mut drive = Beside::new(zones, 16, 16, active);
        let (stats, ..) = conforms(&mut drive, &beside(options()), keys);
        println!("{active}: {} bytes moved", stats.moved_bytes);
        assert!(stats.moved_bytes > 20_000);
    }
}

/// New keys on many small zones until a put is refused. Without jobs the same drive takes 299 tables; when a collection
/// could fill either empty zones or open ones, it took 232 with jobs.
#[test]
fn with_jobs_many_small_zones_take_as_much_as_without() {
    for active in [0, 6] {
        let (records, tables) = fills(&mut Beside::new(200, 16, 16, active), &beside(small()));
        println!("{active}: {records} records, {tables} tables");
        assert!(tables > 300, "{tables}");
    }
}

#[test]
fn a_tree_with_jobs_on_zones_takes_updates_in_most_of_its_room() {
    for active in [14, 6] {
        let drive = &mut Beside::new(80, 128, 128, active);
        let [full, moved] = takes_updates(drive, &beside(small()), 0.55, 6_000);
        println!("{active}: {full:.3} full, {moved:.2} moved");
        assert!(full > 0.65 && moved < 2.5, "{full} {moved}");
    }
}

#[test]
fn a_full_zoned_drive_refuses_puts_and_the_tree_with_jobs_stays_whole() {
    for (options, active) in [(small(), 0), (tiered(small()), 6), (Options { wal: false, ..small() }, 5)] {
        let records = refuses_and_stays_whole(&mut Beside::new(14, 16, 16, active), &beside(options));
        println!("{records}");
        assert!(records > 100, "{records}");
    }
}

/// With `NANDLAB_LONG=1` in longer runs. The last drive is so small that tables move.
#[test]
fn a_tree_with_jobs_on_zones_survives_a_cut_at_every_request() {
    let is_long = std::env::var_os("NANDLAB_LONG").is_some();
    let (steps, each) = if is_long { (1_500, 6) } else { (400, 1) };
    for (options, [zones, capacity, active]) in [
        (options(), [40, 20, 5]),
        (tiered(options()), [60, 17, 4]),
        (Options { wal: false, ..options() }, [40, 20, 0]),
        (options(), [10, 13, 5]),
        (single_units(options()), [10, 13, 5]),
    ] {
        let cases =
            cut_everywhere_on(&Beside::new(zones, capacity as u64, 32, active as u32), &beside(options), steps, each);
        println!("{cases:?}");
        assert!(cases[0] > 80 && cases[1] > 30, "{cases:?}");
    }
}

/// A compaction finds no room at one of its steps, while puts wait for level 0 and no other job goes on. The refused put
/// clears the refusal, and the compaction is due again for the next put, which waits for it: level 0 keeps to its trigger,
/// with a table of the memtable that was full then. The run is one of 1,500 random ones.
#[test]
fn a_compaction_that_found_no_room_at_a_step_is_due_again() {
    let mut random = Random::stream(1_159, 9);
    for _ in 0..8 {
        random.below(100);
    }
    let options = Options {
        threads: 3,
        level0_slowdown: Some(3),
        level0_stop: Some(3),
        queue_depth: Some(1 + random.below(6) as u32),
        write_buffer_bytes: ByteCount(2_726),
        target_file_bytes: ByteCount(1_511),
        ..options()
    };
    let (mut drive, mut map) = (Beside::new(12, 10, 10, 4), Map::new());
    let mut tree = Tree::create(&mut drive, &options.config()).unwrap();
    let (mut most, mut refusals) = (0, 0);
    for step in 1..=2_000_u64 {
        let key = (random.below(481) as u32).wrapping_mul(0x9E37_79B9).to_be_bytes().to_vec();
        match tree.put(&key, &step.to_le_bytes()) {
            Ok(()) => drop(map.insert(key, step.to_le_bytes().to_vec())),
            Err(IndexError::NoSpace { .. }) => refusals += 1,
            Err(error) => panic!("{error}"),
        }
        most = most.max(tree.levels()[0].0);
    }
    tree.check().unwrap();
    assert_eq!(contents(&mut tree), map);
    println!("{most} tables of level 0, {refusals} refusals");
    assert!(refusals > 100 && most == 4, "{most} {refusals}");
}
