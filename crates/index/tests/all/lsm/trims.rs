//! Ways of trimming, against a device that counts for itself.

use super::{contents, small};
use crate::volatile::Disk;
use crate::Map;
use nandlab_block::{BlockDevice, ByteCount, Completion, Error, Op, Payload, Request};
use nandlab_index::lsm::{Allocation, Discard, Fstrim, Options, Tree, Trim};
use nandlab_nand::random::Random;

pub const DISCARD: Trim = Trim::Discard(Discard { bytes: ByteCount(8 << 10) });
pub const FSTRIM: Trim = Trim::Fstrim(Fstrim { every_bytes: ByteCount(16 << 10) });

/// A device that knows which sectors it holds data for.
struct Held {
    disk: Disk,
    held: Vec<bool>,
    /// Sectors of each trim.
    trims: Vec<u64>,
}

impl Held {
    fn new(sectors: usize) -> Self {
        Self { disk: Disk::new(sectors), held: vec![false; sectors], trims: Vec::new() }
    }

    fn bytes(&self) -> u64 {
        512 * self.held.iter().filter(|held| **held).count() as u64
    }
}

impl BlockDevice for Held {
    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        let sectors = request.sector as usize..request.end() as usize;
        match request.op {
            Op::Write => self.held[sectors].fill(true),
            Op::Trim => {
                self.held[sectors].fill(false);
                self.trims.push(u64::from(request.sectors));
            }
            _ => {}
        }
        self.disk.submit(request, data)
    }

    fn sectors(&self) -> u64 {
        self.disk.sectors()
    }
}

/// Puts and deletes on a device of 200 KiB; returns it, and the records.
fn played(options: &Options, after_each: impl Fn(&Tree<'_>)) -> (Held, Map) {
    let mut device = Held::new(400);
    let mut tree = Tree::create(&mut device, &options.config()).unwrap();
    let (mut random, mut map) = (Random::new(7), Map::new());
    for step in 0..6_000_u32 {
        let key = (random.below(1_200) as u32).wrapping_mul(0x9E37_79B9).to_be_bytes();
        if random.chance(0.2) {
            tree.delete(&key).unwrap();
            map.remove(&key[..]);
        } else {
            tree.put(&key, &step.to_le_bytes()).unwrap();
            map.insert(key.to_vec(), step.to_le_bytes().to_vec());
        }
        after_each(&tree);
    }
    tree.flush().unwrap();
    tree.check().unwrap();
    assert_eq!(contents(&mut tree), map);
    let trim = tree.stats().trim;
    drop(tree);
    println!("{:?} {:?}: {trim:?}, {} bytes held", options.trim, options.allocation, device.bytes());
    assert_eq!((trim.trims, trim.trimmed_bytes), (device.trims.len() as u64, 512 * device.trims.iter().sum::<u64>()));
    (device, map)
}

fn untrimmed(tree: &Tree<'_>) -> u64 {
    tree.stats().trim.untrimmed_bytes
}

#[test]
fn a_way_of_trimming_decides_what_the_device_holds() {
    let with = |trim| Options { trim, ..small() };
    let (at_once, map) = played(&with(Trim::AtOnce), |tree| assert_eq!(untrimmed(tree), 0));
    let (discard, same) = played(&with(DISCARD), |tree| assert!(untrimmed(tree) < 8 << 10));
    assert_eq!(map, same);
    assert!(2 * discard.trims.len() < at_once.trims.len(), "a batch has many files");
    let (fstrim, _) = played(&with(FSTRIM), |tree| assert!(untrimmed(tree) <= 2 * (16 << 10)));
    let (never, _) = played(&with(Trim::Never), |_| ());
    assert!(never.trims.is_empty(), "{:?}", never.trims);
    let held = [&at_once, &discard, &fstrim, &never].map(Held::bytes);
    assert!(held[0] < held[1] && held[0] < held[2] && held[2] < held[3], "{held:?}");
    let around = Options { allocation: Allocation::NextFit, ..with(Trim::Never) };
    let (around, _) = played(&around, |_| ());
    // Files have 368 of the 400 sectors.
    assert!(2 * never.bytes() < around.bytes() && around.bytes() > 512 * 331, "{}", around.bytes());
}

#[test]
fn a_tree_made_over_another_has_nothing_of_it() {
    for trim in [Trim::AtOnce, DISCARD, FSTRIM, Trim::Never] {
        let config = Options { trim, ..small() }.config();
        let mut device = Held::new(400);
        let mut tree = Tree::create(&mut device, &config).unwrap();
        (0..20_u32).for_each(|n| tree.put(&n.to_be_bytes(), &[1; 12]).unwrap());
        tree.flush().unwrap();
        drop(tree);
        // The new tree's log has the number and the place of the old one's.
        Tree::create(&mut device, &config).map(drop).unwrap();
        let mut tree = Tree::open(&mut device, &config).unwrap();
        assert!(contents(&mut tree).is_empty(), "{trim:?}");
    }
}

#[test]
fn a_tree_that_is_opened_knows_its_free_space() {
    for trim in [Trim::AtOnce, DISCARD, FSTRIM, Trim::Never] {
        let options = Options { trim, ..small() };
        let (mut device, map) = played(&options, |_| ());
        let mut tree = Tree::open(&mut device, &options.config()).unwrap();
        tree.check().unwrap();
        assert_eq!(contents(&mut tree), map);
        let left = untrimmed(&tree);
        drop(tree);
        match trim {
            Trim::AtOnce => assert_eq!(left, 0),
            // The log that held nothing was deleted after all free space was trimmed.
            Trim::Discard(_) => assert!(left < 8 << 10),
            Trim::Fstrim(_) | Trim::Never => assert!(left > 64 << 10, "each free piece may hold something: {left}"),
        }
    }
}
