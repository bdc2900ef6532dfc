//! Million operations a second on a tree in memory: `cargo run --release -p nandlab-index --example speed`.

use nandlab_block::{Blank, Mirror};
use nandlab_index::pool::{self, Budget};
use nandlab_index::{Config, IndexError, Records, Tree};
use nandlab_nand::random::Random;
use std::time::Instant;

const OPERATIONS: u32 = 1_000_000;

fn main() -> Result<(), IndexError> {
    println!("{:>9} {:>10} {:>8} {:>9} {:>9}", "records", "page bytes", "frames", "insert", "get");
    for (name, records) in [("fixed", Records::default()), ("slotted", Records::Slotted), ("deltas", Records::Deltas)] {
        for page_bytes in [512, 4096, 16_384] {
            for budget in [Budget::Bytes(64 << 20), Budget::Bytes(150 << 10)] {
                let pool = pool::Config { page_bytes, budget, ..pool::Config::default() };
                let mut disk = Mirror::new(Blank::new((128 << 20) / 512));
                let mut tree = Tree::create(&mut disk, &Config { pool, records })?;
                let mut random = Random::new(1);
                let mut key = || (random.below(1 << 31) as u32).to_be_bytes();
                let start = Instant::now();
                for _ in 0..OPERATIONS {
                    tree.insert(&key(), &[1; 4])?;
                }
                let insert = start.elapsed().as_secs_f64();
                let start = Instant::now();
                let mut found = 0;
                for _ in 0..OPERATIONS {
                    found += u32::from(tree.get_with(&key(), |value| value.is_some())?);
                }
                let get = start.elapsed().as_secs_f64();
                assert!(found < OPERATIONS, "keys are drawn from far more than there are");
                let frames = tree.pool().frames();
                let [insert, get] = [insert, get].map(|seconds| f64::from(OPERATIONS) / 1e6 / seconds);
                println!("{name:>9} {page_bytes:>10} {frames:>8} {insert:>9.2} {get:>9.2}");
            }
        }
    }
    Ok(())
}
