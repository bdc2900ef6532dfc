//! Damage on the device: an error, or mended; never other data in silence.

use super::{contents, disk, small, tiered, Map};
use nandlab_block::{Blank, BlockDevice, Mirror, Op, Payload, Request};
use nandlab_index::lsm::{Options, Tree};
use nandlab_index::IndexError;
use nandlab_nand::random::Random;

const SECTORS: u64 = 400;

fn filled(options: &Options) -> (Vec<[u8; 512]>, Map) {
    let mut disk = disk(SECTORS * 512);
    let mut tree = Tree::create(&mut disk, &options.config()).unwrap();
    let mut random = Random::new(9);
    let mut map = Map::new();
    for n in 0..2_990_u32 {
        let key = (random.below(400) as u32).wrapping_mul(0x9E37_79B9).to_be_bytes();
        if n % 5 == 4 {
            tree.delete(&key).unwrap();
            map.remove(&key[..]);
        } else {
            tree.put(&key, &n.to_be_bytes()).unwrap();
            map.insert(key.to_vec(), n.to_be_bytes().to_vec());
        }
        if n % 50 == 49 {
            tree.flush().unwrap();
        }
    }
    tree.flush().unwrap();
    assert!((tree.memtable_bytes() > 0 || !options.wal) && tree.levels()[6].0 > 0, "log and tables hold records");
    drop(tree);
    (read(&mut disk), map)
}

fn read(disk: &mut Mirror<Blank>) -> Vec<[u8; 512]> {
    let mut sectors = vec![[0; 512]; SECTORS as usize];
    for (at, sector) in (0..).zip(&mut sectors) {
        disk.submit(&Request::new(Op::Read, at, 1), Payload::Read(sector)).unwrap();
    }
    sectors
}

fn disk_of(sectors: &[[u8; 512]]) -> Mirror<Blank> {
    let mut disk = disk(SECTORS * 512);
    for (at, sector) in (0..).zip(sectors) {
        disk.submit(&Request::new(Op::Write, at, 1), Payload::Write(sector)).unwrap();
    }
    disk
}

/// What a damaged device gives: the contents, or the error.
fn look(sectors: &[[u8; 512]], options: &Options) -> Result<Map, IndexError> {
    let mut disk = disk_of(sectors);
    let mut tree = Tree::open(&mut disk, &options.config())?;
    let mut map = Map::new();
    let mut cursor = tree.range(None, None)?;
    while let Some((key, value)) = cursor.next()? {
        map.insert(key.to_vec(), value.to_vec());
    }
    // A lookup says the same as a walk, or that it cannot.
    for (key, value) in &map {
        assert_eq!(tree.get(key)?.as_ref(), Some(value));
    }
    tree.check()?;
    Ok(map)
}

/// Damages every sector in turn; returns how often the contents were whole and how often there was an error.
fn damage(options: &Options, change: impl Fn(&mut [u8; 512], &mut Random)) -> [u64; 2] {
    let (sectors, map) = filled(options);
    assert!(contents(&mut Tree::open(&mut disk_of(&sectors), &options.config()).unwrap()) == map);
    let mut random = Random::new(4);
    let mut outcomes = [0; 2];
    for at in (0..sectors.len()).filter(|&at| sectors[at] != [0; 512]) {
        for _ in 0..6 {
            let mut damaged = sectors.clone();
            change(&mut damaged[at], &mut random);
            match look(&damaged, options) {
                Ok(found) => {
                    assert!(found == map, "sector {at}: other data in silence");
                    outcomes[0] += 1;
                }
                Err(IndexError::DamagedFile { .. } | IndexError::NoIndex { .. }) => outcomes[1] += 1,
                Err(error) => panic!("sector {at}: {error}"),
            }
        }
    }
    outcomes
}

fn flip(sector: &mut [u8; 512], random: &mut Random) {
    let bit = random.below(4096) as usize;
    sector[bit / 8] ^= 1 << (bit % 8);
}

#[test]
fn a_flipped_bit_is_mended_or_told() {
    for options in [small(), tiered(small())] {
        let [whole, told] = damage(&options, flip);
        println!("{whole} times whole, {told} errors");
        assert!(whole > 20 && told > 40);
    }
}

/// A sector of the log that was flushed last and is lost as a whole looks like a tail that a cut tore; all else is told.
#[test]
fn lost_sectors_are_told() {
    let options = Options { wal: false, ..small() };
    let [whole, told] = damage(&options, |sector, random| {
        sector.iter_mut().for_each(|byte| *byte = random.next_u64() as u8);
    });
    println!("{whole} times whole, {told} errors");
    assert!(told > 50);
}

#[test]
fn a_part_of_another_table_is_not_taken_for_this_one() {
    let options = small();
    let (sectors, map) = filled(&options);
    let mut random = Random::new(8);
    let used: Vec<usize> = (0..sectors.len()).filter(|&at| sectors[at] != [0; 512]).collect();
    let mut told = 0;
    for _ in 0..400 {
        let mut damaged = sectors.clone();
        let [from, to] = [(); 2].map(|()| used[random.below(used.len() as u64) as usize]);
        // The manifest's and the log's last frames may look torn; tables lie behind both root areas.
        if to < 40 || sectors[to].len() != 512 || is_log(&sectors[to]) {
            continue;
        }
        damaged[to] = sectors[from];
        match look(&damaged, &options) {
            Ok(found) => assert!(found == map, "sector {from} in place of {to}"),
            Err(_) => told += 1,
        }
    }
    assert!(told > 100, "{told}");
}

/// Whether a sector is a frame: it has its place and its length in small numbers.
fn is_log(sector: &[u8; 512]) -> bool {
    let number = |at: usize| u32::from_le_bytes(sector[at..at + 4].try_into().unwrap());
    number(16) < 64 && number(20) < 64 && number(24) <= 484
}
