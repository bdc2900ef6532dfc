//! Power cuts on a device with weaker guarantees than this project's block devices: writes since the last flush may be
//! there or not, sector by sector and in any order, and one sector may be part new, part old.

use nandlab_block::{BlockDevice, Completion, Error, Op, Payload, Request};
use nandlab_index::btree::FixedRecords;
use nandlab_index::pool::{self, Budget, WriteBack};
use nandlab_index::{Config, IndexError, Records, Tree};
use nandlab_nand::random::Random;
use std::collections::BTreeMap;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;
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

/// Changes and flushes; ends early at a power cut. Returns the last flush's state, and the state being flushed.
fn play(disk: &mut Disk, config: &Config, steps: u64, flushed: &Map) -> (Map, Option<Map>) {
    let mut flushed = flushed.clone();
    let mut now = flushed.clone();
    let mut flushing = None;
    let mut run = || -> Result<(), IndexError> {
        let mut tree = Tree::open(disk, &config.pool)?;
        let mut random = Random::new(3);
        for step in 1..=steps {
            if step % 40 == 0 {
                flushing = Some(now.clone());
                tree.flush()?;
                flushed = flushing.take().unwrap();
                continue;
            }
            let key = (random.below(500) as u32).wrapping_mul(0x9E37_79B9).to_be_bytes();
            if random.chance(0.3) {
                tree.delete(&key)?;
                now.remove(&key[..]);
            } else {
                tree.put(&key, &step.to_le_bytes()[..4])?;
                now.insert(key.to_vec(), step.to_le_bytes()[..4].to_vec());
            }
        }
        Ok(())
    };
    if let Err(error) = run() {
        assert_eq!(error, IndexError::Device(Error::PowerLost));
    }
    (flushed, flushing)
}

fn contents(disk: &mut Disk, config: &Config) -> Result<Map, IndexError> {
    let mut tree = Tree::open(disk, &config.pool)?;
    tree.check()?;
    let mut map = Map::new();
    let mut cursor = tree.range(None, None)?;
    while let Some((key, value)) = cursor.next()? {
        map.insert(key.to_vec(), value.to_vec());
    }
    Ok(map)
}

fn config(page_bytes: u32, records: Records, shadow: bool) -> Config {
    let write_back = if page_bytes > 512 { WriteBack::Sectors } else { WriteBack::Page };
    // Few frames, so pages leave between flushes.
    let budget = Budget::Frames(if page_bytes > 1024 { 2 } else { 4 });
    let pool = pool::Config { page_bytes, budget, shadow, write_back, ..Default::default() };
    Config { pool, records }
}

/// Cuts at every request, `each` times, in a random form; returns how often the last flush was found, how often
/// the one under way, how often neither because the index was written in place.
fn cut_everywhere(config: &Config, each: u64) -> [u64; 3] {
    let mut found = [0; 3];
    let mut empty = Disk::new(1_600);
    Tree::create(&mut empty, config).unwrap();
    for at in 1.. {
        for form in 0..each {
            let mut disk = Disk { left: at, ..empty.clone() };
            let (flushed, flushing) = play(&mut disk, config, 600, &Map::new());
            if disk.left > 0 {
                return found;
            }
            disk.cut(&mut Random::stream(at, form));
            match contents(&mut disk, config) {
                Ok(map) if map == flushed => found[0] += 1,
                Ok(map) if Some(&map) == flushing.as_ref() => found[1] += 1,
                Ok(map) => panic!("request {at}, form {form}: {} records", map.len()),
                Err(IndexError::Unclean) if !config.pool.shadow => {
                    found[2] += 1;
                    continue;
                }
                Err(error) => panic!("request {at}, form {form}: {error}"),
            }
            // It goes on, and its next flush counts.
            let before = contents(&mut disk, config).unwrap();
            let (flushed, _) = play(&mut disk, config, 80, &before);
            disk.written.clear();
            assert_eq!(contents(&mut disk, config).unwrap(), flushed, "request {at}, form {form}");
        }
    }
    found
}

#[test]
fn a_shadowed_index_needs_less_than_the_contract() {
    for config in [
        config(512, Records::Fixed(FixedRecords::default()), true),
        config(1024, Records::Slotted, true),
        config(2048, Records::Deltas, true),
    ] {
        let found = cut_everywhere(&config, 4);
        println!("{:?}: {found:?}", config.records);
        assert!(found[0] > 500 && found[1] > 10 && found[2] == 0, "{found:?}");
    }
}

#[test]
fn an_index_in_place_needs_less_than_the_contract() {
    let found = cut_everywhere(&config(512, Records::Fixed(FixedRecords::default()), false), 4);
    println!("{found:?}");
    assert!(found[0] > 20 && found[1] > 10 && found[2] > 1_000, "{found:?}");
}
