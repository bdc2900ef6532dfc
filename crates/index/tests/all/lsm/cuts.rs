//! Power cuts on a device with weaker guarantees than this project's block devices: writes and trims since the last
//! flush may be there or not, sector by sector and in any order, and one sector may be part new, part old.

use super::{contents, small, tiered, Map};
use nandlab_block::ByteCount;
use nandlab_block::{BlockDevice, Completion, Error, Op, Payload, Request};
use nandlab_index::lsm::{Options, Tree};
use nandlab_index::IndexError;
use nandlab_nand::random::Random;
use std::collections::BTreeMap;

type Sector = [u8; 512];

/// A disk with a volatile cache.
#[derive(Clone)]
struct Disk {
    durable: Vec<Sector>,
    /// By sector: the writes since the last flush, the newest last.
    written: BTreeMap<u64, Vec<Sector>>,
    /// Requests until the power goes.
    left: u64,
}

impl Disk {
    fn new(sectors: usize) -> Self {
        Self { durable: vec![[0; 512]; sectors], written: BTreeMap::new(), left: u64::MAX }
    }

    /// Power goes and comes back: each sector is as at the last flush, as after a later write, or mixed.
    fn cut(&mut self, random: &mut Random) {
        // Some cuts keep nearly all, some nearly nothing.
        let kept = random.unit();
        for (sector, states) in std::mem::take(&mut self.written) {
            let state = states[random.below(states.len() as u64) as usize];
            if random.chance(kept) {
                let new = 0..if random.chance(0.2) { random.below(512) as usize } else { 512 };
                self.durable[sector as usize][new.clone()].copy_from_slice(&state[new]);
            }
        }
        self.left = u64::MAX;
    }
}

impl BlockDevice for Disk {
    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        let is_last = self.left == 1;
        self.left = self.left.checked_sub(1).ok_or(Error::PowerLost)?;
        match (request.op, data) {
            (Op::Flush, _) => {
                for (sector, states) in std::mem::take(&mut self.written) {
                    self.durable[sector as usize] = *states.last().unwrap();
                }
            }
            (Op::Write, Payload::Write(bytes)) => {
                for (sector, bytes) in (request.sector..).zip(bytes.chunks_exact(512)) {
                    self.written.entry(sector).or_default().push(bytes.try_into().unwrap());
                }
                // The power goes during the write.
                return if is_last { Err(Error::PowerLost) } else { Ok(Completion::default()) };
            }
            (Op::Trim, _) => {
                for sector in request.sector..request.end() {
                    self.written.entry(sector).or_default().push([0; 512]);
                }
            }
            (Op::Read, Payload::Read(bytes)) => {
                for (sector, bytes) in (request.sector..).zip(bytes.chunks_exact_mut(512)) {
                    let newest = self.written.get(&sector).and_then(|states| states.last());
                    bytes.copy_from_slice(newest.unwrap_or(&self.durable[sector as usize]));
                }
            }
            other => panic!("{other:?}"),
        }
        Ok(Completion::default())
    }

    fn sectors(&self) -> u64 {
        self.durable.len() as u64
    }
}

/// What the tree may hold after a cut: the states since the last acknowledged flush, one for each operation.
type States = Vec<Map>;

/// Changes and flushes until the power goes; returns the states.
fn play(disk: &mut Disk, options: &Options, steps: u64, flushed: Map, stream: u64) -> States {
    let mut states = vec![flushed];
    let mut run = || -> Result<(), IndexError> {
        let mut tree = Tree::open(disk, &options.config())?;
        let mut random = Random::stream(3, stream);
        for step in 1..=steps {
            if step % 40 == 0 {
                tree.flush()?;
                states.drain(..states.len() - 1);
                continue;
            }
            let key = (random.below(300) as u32).wrapping_mul(0x9E37_79B9).to_be_bytes();
            let mut now = states.last().unwrap().clone();
            if random.chance(0.3) {
                now.remove(&key[..]);
                states.push(now);
                tree.delete(&key)?;
            } else {
                now.insert(key.to_vec(), step.to_le_bytes().to_vec());
                states.push(now);
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

fn after_cut(disk: &mut Disk, options: &Options) -> Map {
    let mut tree = Tree::open(disk, &options.config()).unwrap();
    tree.check().unwrap();
    contents(&mut tree)
}

/// Cuts at every request of a run; returns the cases, and in how many an operation after the last flush was there.
fn cut_everywhere(options: &Options, steps: u64, each: u64) -> [u64; 2] {
    let mut cases = [0; 2];
    let mut empty = Disk::new(800);
    Tree::create(&mut empty, &options.config()).unwrap();
    for at in 1.. {
        for form in 0..each {
            let mut disk = Disk { left: at, ..empty.clone() };
            let states = play(&mut disk, options, steps, Map::new(), 0);
            if disk.left > 0 {
                return cases;
            }
            let mut random = Random::stream(at, form);
            disk.cut(&mut random);
            // A second cut while the tree is opened again.
            if form % 2 == 1 {
                disk.left = 1 + random.below(40);
                let opened = Tree::open(&mut disk, &options.config()).map(drop);
                assert!(matches!(opened, Ok(()) | Err(IndexError::Device(Error::PowerLost))), "{opened:?}");
                disk.cut(&mut random);
            }
            let found = after_cut(&mut disk, options);
            let which = states.iter().position(|state| *state == found);
            let which = which.unwrap_or_else(|| panic!("request {at}, form {form}: {} records", found.len()));
            cases[0] += 1;
            cases[1] += u64::from(which > 0);
            // It goes on, and its last flush counts.
            let states = play(&mut disk, options, 80, found, 1);
            assert_eq!(states.len(), 1);
            disk.written.clear();
            assert_eq!(after_cut(&mut disk, options), states[0], "request {at}, form {form}");
        }
    }
    cases
}

/// Small memtables and a manifest that is full soon.
fn options() -> Options {
    Options {
        value_bytes: 12,
        write_buffer_bytes: ByteCount(900),
        target_file_bytes: ByteCount(900),
        level_base_bytes: Some(ByteCount(2 << 10)),
        level0_trigger: 3,
        ..small()
    }
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
                        assert!(found.is_empty() || states.contains(&found), "the old tree or the new one");
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
