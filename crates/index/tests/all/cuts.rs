//! Power cuts on a device with weaker guarantees than this project's block devices.

use crate::volatile::Disk;
use crate::Map;
use nandlab_block::Error;
use nandlab_index::btree::FixedRecords;
use nandlab_index::pool::{self, Budget, WriteBack};
use nandlab_index::{Config, IndexError, Records, Tree};
use nandlab_nand::random::Random;

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
        let mut without_power = Disk { left: at, ..empty.clone() };
        let (flushed, flushing) = play(&mut without_power, config, 600, &Map::new());
        if without_power.left > 0 {
            return found;
        }
        for form in 0..each {
            let mut disk = without_power.clone();
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
