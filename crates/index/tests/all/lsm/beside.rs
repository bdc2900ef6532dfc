//! Flushes and compactions beside the host's operations, on a device that promises little: requests end in any order, a
//! flush makes durable only what had ended when it began, and only at its end.

use super::cuts::{cut_everywhere_on, options, single_units, Cuttable};
use super::pending::Pending;
use super::trims::FSTRIM;
use super::{contents, range, refuses_and_stays_whole, small, tiered, Map};
use nandlab_block::{BlockDevice, ByteCount, Completion, Ended, Error, Op, Payload, Queued, Request};
use nandlab_index::lsm::{Options, Stall, Stalls, Stats, Tree};
use nandlab_nand::random::Random;
use nandlab_nand::Time;
use std::collections::{BTreeMap, BTreeSet};

type Sector = [u8; 512];

/// A device whose requests take pseudo-random times.
#[derive(Clone)]
pub struct Disk {
    durable: Vec<Sector>,
    /// By sector: the writes not known to be durable, each with its request's number, the newest last.
    written: BTreeMap<u64, Vec<(u64, Sector)>>,
    pending: Pending,
    /// Requests until the power goes.
    left: u64,
}

impl Disk {
    pub fn new(sectors: usize) -> Self {
        Self { durable: vec![[0; 512]; sectors], written: BTreeMap::new(), pending: Pending::new(), left: u64::MAX }
    }

    fn read(&self, sector: u64, bytes: &mut [u8]) {
        for (sector, bytes) in (sector..).zip(bytes.chunks_exact_mut(512)) {
            let newest = self.written.get(&sector).and_then(|states| states.last());
            bytes.copy_from_slice(newest.map_or(&self.durable[sector as usize], |(_, state)| state));
        }
    }

    fn flushed(&mut self, covered: &BTreeSet<u64>) {
        for (sector, states) in &mut self.written {
            if let Some(at) = states.iter().rposition(|(number, _)| covered.contains(number)) {
                self.durable[*sector as usize] = states[at].1;
                states.drain(..=at);
            }
        }
    }
}

impl BlockDevice for Disk {
    fn submit(&mut self, request: &Request, _: Payload<'_>) -> Result<Completion, Error> {
        panic!("{request:?} goes past the queue")
    }

    fn sectors(&self) -> u64 {
        self.durable.len() as u64
    }

    fn queued(&mut self) -> Option<&mut dyn Queued> {
        Some(self)
    }

    fn peek(&self, sector: u64, bytes: &mut [u8]) -> bool {
        self.read(sector, bytes);
        true
    }
}

impl Queued for Disk {
    fn begin(&mut self, request: &Request, data: Payload<'_>) -> Result<u64, Error> {
        let is_last = self.left == 1;
        self.left = self.left.checked_sub(1).ok_or(Error::PowerLost)?;
        let number = self.pending.number(request);
        match (request.op, data) {
            (Op::Flush, _) => {}
            (Op::Write, Payload::Write(bytes)) => {
                for (sector, bytes) in (request.sector..).zip(bytes.chunks_exact(512)) {
                    self.written.entry(sector).or_default().push((number, bytes.try_into().unwrap()));
                }
                // The power goes during the write.
                if is_last {
                    return Err(Error::PowerLost);
                }
            }
            (Op::Trim, _) => {
                for sector in request.sector..request.end() {
                    self.written.entry(sector).or_default().push((number, [0; 512]));
                }
            }
            (Op::Read, Payload::Read(bytes)) => self.read(request.sector, bytes),
            other => panic!("{other:?}"),
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

impl Cuttable for Disk {
    fn left(&mut self) -> &mut u64 {
        &mut self.left
    }

    fn cut(&mut self, random: &mut Random) {
        let kept = random.unit();
        for (sector, states) in std::mem::take(&mut self.written) {
            if !states.is_empty() && random.chance(kept) {
                let (_, state) = states[random.below(states.len() as u64) as usize];
                let new = 0..if random.chance(0.2) { random.below(512) as usize } else { 512 };
                self.durable[sector as usize][new.clone()].copy_from_slice(&state[new]);
            }
        }
        self.forget();
        self.left = u64::MAX;
    }

    fn forget(&mut self) {
        self.written.clear();
        self.pending.forget();
    }
}

#[allow(clippy::needless_pass_by_value)] // as an option set is written where it is used
fn beside(options: Options) -> Options {
    Options { threads: 2, ..options }
}

/// Random operations on a tree and on an ordered map; what the tree did, when it ended, and the most requests under way.
fn conforms(options: &Options, steps: u64) -> (Stats, Time, usize) {
    options.check().unwrap();
    let config = options.config();
    let mut disk = Disk::new(8 << 10);
    let mut random = Random::new(5);
    let mut map = Map::new();
    let mut tree = Tree::create(&mut disk, &config).unwrap();
    for step in 1..=steps {
        let key = (random.below(2_000) as u32).wrapping_mul(0x9E37_79B9).to_be_bytes().to_vec();
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
            let from = (random.next_u64() as u32).to_be_bytes().to_vec();
            let expected: Map = map.range(from.clone()..).map(|(k, v)| (k.clone(), v.clone())).collect();
            assert_eq!(range(&mut tree, Some(&from), None), expected, "step {step}");
        }
    }
    tree.end_jobs().unwrap();
    assert_eq!(tree.check().unwrap().records, map.len() as u64);
    let (stats, now) = (tree.stats(), tree.now());
    tree.compact(&[0; 4], &[0xFF; 4]).unwrap();
    assert_eq!(tree.check().unwrap().table_records, map.len() as u64, "one record a key is left");
    tree.put(&[0; 4], &[1]).unwrap();
    tree.flush().unwrap();
    drop(tree);
    map.insert(vec![0; 4], vec![1]);
    let deepest = disk.pending.deepest;
    disk.forget();
    assert_eq!(contents(&mut Tree::open(&mut disk, &config).unwrap()), map);
    (stats, now, deepest)
}

#[test]
fn a_tree_with_jobs_equals_a_map_and_every_run_the_one_before() {
    for options in [small(), Options { trim: FSTRIM, ..tiered(small()) }, Options { wal: false, ..small() }] {
        let result = conforms(&beside(options.clone()), 5_000);
        println!("{result:?}");
        assert_eq!(result, conforms(&beside(options), 5_000));
        let (stats, _, deepest) = result;
        assert!(stats.compactions > 20 && stats.stalls.memtables.count > 10, "{stats:?}");
        // The host's request, four of the flush and of two compactions, and trims.
        assert!(deepest > 8, "{deepest}");
    }
}

#[test]
fn puts_wait_by_the_triggers() {
    let slow = Some(ByteCount(1 << 20));
    let few = Options { level0_slowdown: Some(4), level0_stop: Some(5), slow_bytes_per_s: slow, ..beside(small()) };
    let stalls = conforms(&few, 6_000).0.stalls;
    assert!(stalls.level_0.count > 0 && stalls.level_0.time > 0 && stalls.slow.count > 0, "{stalls:?}");
    // A put has a key of 4 bytes, 2 for the length and a value of 8, a delete has no value.
    let (least, most) = ((6 * 1_000_000_000) >> 20, (14 * 1_000_000_000) >> 20);
    let mean = stalls.slow.time / stalls.slow.count;
    assert!((least..=most).contains(&mean), "{mean}");
    let pending = Some(ByteCount(16 << 10));
    let tight = Options { pending_slow_bytes: pending, pending_stop_bytes: pending, ..beside(small()) };
    let stalls = conforms(&tight, 6_000).0.stalls;
    assert!(stalls.pending.count > 0 && stalls.level_0.count == 0, "{stalls:?}");
}

/// db_bench's fillrandom: new and old keys as fast as the tree takes them. Returns the waits, and the latencies of puts in
/// ascending order.
fn fillrandom(options: &Options) -> (Stalls, Vec<Time>) {
    options.check().unwrap();
    let (mut disk, mut random) = (Disk::new(8 << 10), Random::new(9));
    let mut tree = Tree::create(&mut disk, &options.config()).unwrap();
    let mut latencies = Vec::new();
    for n in 0..12_000_u64 {
        let key = (random.below(4_000) as u32).wrapping_mul(0x9E37_79B9).to_be_bytes();
        let start = tree.now();
        tree.put(&key, &n.to_le_bytes()).unwrap();
        latencies.push(tree.now() - start);
    }
    latencies.sort_unstable();
    (tree.stats().stalls, latencies)
}

/// Each trigger from tight to loose. One put in 60 waits for a memtable, whatever the triggers, so the waits for a trigger
/// show in the 99.8th percentile. A slow put is no stop: its wait shows in the mean.
#[test]
fn a_looser_trigger_stalls_less_under_its_own_reason() {
    let bytes = |kib: u64| Some(ByteCount(kib << 10));
    let base = || Options { threads: 1, queue_depth: Some(1), ..small() };
    let slow = [4, 5, 6].map(|n| Options { level0_slowdown: Some(n), slow_bytes_per_s: bytes(128), ..base() });
    let stop = [4, 5, 6].map(|n| Options { level0_slowdown: Some(n), level0_stop: Some(n), ..base() });
    let pending =
        [8, 16, 32].map(|kib| Options { pending_slow_bytes: bytes(kib), pending_stop_bytes: bytes(kib), ..base() });
    let memtables = [1, 2, 4].map(|kib| Options { write_buffer_bytes: ByteCount(kib << 10), ..base() });
    let reasons: [fn(&Stalls) -> Stall; 4] =
        [|stalls| stalls.slow, |stalls| stalls.level_0, |stalls| stalls.pending, |stalls| stalls.memtables];
    for (at, (options, reason)) in [slow, stop, pending, memtables].into_iter().zip(reasons).enumerate() {
        let runs = options.map(|options| {
            let (stalls, latencies) = fillrandom(&options);
            let mean = latencies.iter().sum::<Time>() / latencies.len() as Time;
            let tail = latencies[latencies.len() * 998 / 1000];
            let others: Time = reasons.iter().map(|of| of(&stalls).time).sum::<Time>() - reason(&stalls).time;
            assert!(at == 3 || others == stalls.memtables.time, "{stalls:?}");
            [reason(&stalls).count, reason(&stalls).time, if at == 0 { mean } else { tail }]
        });
        println!("{at}: {runs:?}");
        assert!(runs.is_sorted_by(|tight, loose| (0..3).all(|figure| tight[figure] > loose[figure])), "{at}: {runs:?}");
    }
}

#[test]
fn a_full_device_refuses_puts_and_the_tree_stays_whole() {
    let records = refuses_and_stays_whole(&mut Disk::new(192), &beside(small()));
    assert!(records > 300, "{records}");
}

/// With `NANDLAB_LONG=1` in longer runs.
#[test]
fn a_tree_with_jobs_survives_a_cut_at_every_request() {
    let is_long = std::env::var_os("NANDLAB_LONG").is_some();
    let (steps, each) = if is_long { (1_500, 6) } else { (240, 1) };
    for options in [options(), tiered(options()), Options { wal: false, ..options() }, single_units(options())] {
        let cases = cut_everywhere_on(&Disk::new(800), &beside(options), steps, each);
        println!("{cases:?}");
        assert!(cases[0] > 80 && cases[1] > 40, "{cases:?}");
    }
}
