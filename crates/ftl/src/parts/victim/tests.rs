//! Each policy on a table small enough to work it out by hand.

use super::*;
use crate::parts::blocks::table::BlockTable;
use nandlab_nand::{BlockId, Geometry, Ppa};
use std::collections::BTreeMap;

/// Blocks with 8 pages: valid pages, closing time in programs divided by the pages per block, and erases.
const BLOCKS: [(u32, u64, u32); 6] = [(6, 1, 1), (3, 9, 1), (8, 0, 1), (5, 2, 9), (3, 8, 4), (4, 5, 1)];

fn table(blocks: &[(u32, u64, u32)]) -> BlockTable {
    let geometry = Geometry::single_die(blocks.len() as u32 + 2, 8, 512).unwrap();
    let mut table = BlockTable::new(&geometry);
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    order.sort_by_key(|&block| blocks[block].1);
    for block in order {
        let (valid, closed_at, cycles) = blocks[block];
        let id = BlockId(block as u32);
        table.open(id);
        (0..valid).for_each(|page| table.set_valid(Ppa(8 * block as u32 + page)));
        table.set_cycles(id, cycles);
        table.close(id, 8 * closed_at);
    }
    table
}

fn picks(victim: Victim, table: &BlockTable) -> u32 {
    victim.policy(&geometry(), SEED).pick(table.die(0), 80).expect("blocks are closed").0
}

const SEED: u64 = 7;

fn geometry() -> Geometry {
    Geometry::single_die(8, 8, 512).unwrap()
}

fn windowed(window: u32) -> Victim {
    Victim::WindowedGreedy(WindowedGreedy { window })
}

#[test]
fn deterministic_policies_pick_what_their_formula_says() {
    let table = table(&BLOCKS);
    // Ages at 10: 10, 2, 11, 9, 3, 6, counted from 1.
    for (victim, block) in [
        (Victim::Greedy, 1),
        // Block 2 was closed first, though all its pages are valid.
        (Victim::Fifo, 2),
        // The oldest three are 2, 0 and 3.
        (windowed(3), 3),
        // (8 - v) age / (8 + v): 20/14, 10/11, 0, 27/13, 15/11, 24/12.
        (Victim::CostBenefit, 3),
        // (8 - v) age / 2v: 20/12, 10/6, 0, 27/10, 15/6, 24/8.
        (Victim::CostBenefitFlash, 5),
        // (8 - v) age / (v erases): 20/6, 10/3, 0, 27/45, 15/12, 24/4.
        (Victim::Cat, 5),
    ] {
        assert_eq!(picks(victim, &table), block, "{victim:?}");
    }
    let pick = |window| picks(windowed(window), &table);
    assert_eq!([1, 2, 4, 5, 6].map(pick), [2, 0, 5, 4, 4], "the oldest of equals");
}

#[test]
fn a_block_without_valid_pages_goes_before_all_others() {
    let mut blocks = BLOCKS;
    blocks[4] = (0, 10, 1000);
    for victim in [Victim::Greedy, Victim::CostBenefitFlash, Victim::Cat] {
        assert_eq!(picks(victim, &table(&blocks)), 4, "{victim:?}");
    }
}

#[test]
fn without_a_closed_block_there_is_no_victim() {
    let geometry = Geometry::single_die(6, 8, 512).unwrap();
    let table = BlockTable::new(&geometry);
    for victim in Victim::all() {
        assert_eq!(victim.policy(&geometry, SEED).pick(table.die(0), 80), None, "{victim:?}");
    }
}

/// Picks per block in `draws` draws.
fn counts(victim: Victim, table: &BlockTable, draws: u32) -> BTreeMap<u32, u32> {
    let mut policy = victim.policy(&geometry(), SEED);
    let mut counts = BTreeMap::new();
    for _ in 0..draws {
        let block = policy.pick(table.die(0), 80).expect("blocks are closed");
        *counts.entry(block.0).or_default() += 1;
    }
    counts
}

#[test]
fn random_takes_all_closed_blocks_alike() {
    let counts = counts(Victim::Random, &table(&BLOCKS), 60_000);
    assert!(counts.keys().eq(&[0, 1, 2, 3, 4, 5]));
    // 10,000 expected, with a standard deviation of 91.
    assert!(counts.values().all(|count| count.abs_diff(10_000) < 400), "{counts:?}");
}

#[test]
fn d_choices_takes_the_best_of_its_draws() {
    let blocks = [(8, 0, 1), (6, 1, 1), (4, 2, 1), (2, 3, 1)];
    let table = table(&blocks);
    // With d draws out of four, the chance of a best block in place k from below is ((k + 1)^d - k^d) / 4^d.
    for (choices, shares) in [(1, [0.25, 0.25, 0.25, 0.25]), (2, [1.0, 3.0, 5.0, 7.0].map(|share| share / 16.0))] {
        let counts = counts(Victim::DChoices(DChoices { choices }), &table, 64_000);
        for (block, share) in (0..).zip(shares) {
            let count = f64::from(counts[&block]) / 64_000.0;
            assert!((count - share).abs() < 0.01, "d = {choices}, block {block}: {count}, expected {share}");
        }
    }
}
