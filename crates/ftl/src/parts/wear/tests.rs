//! Each policy on a table small enough to work it out by hand.

use super::*;
use crate::parts::blocks::table::BlockTable;
use nandlab_nand::Ppa;

/// A die with closed blocks, one valid page each, and four free blocks at the end.
fn table(cycles: &[u32]) -> BlockTable {
    let geometry = geometry(cycles);
    let mut table = BlockTable::new(&geometry);
    for (block, &cycles) in (0..).map(BlockId).zip(cycles) {
        table.set_cycles(block, cycles);
        if block.0 + 4 < geometry.blocks() {
            table.open(block);
            table.set_valid(Ppa(8 * block.0));
            table.close(block, 8);
        }
    }
    table
}

fn geometry(cycles: &[u32]) -> Geometry {
    Geometry::single_die(cycles.len() as u32, 8, 512).unwrap()
}

fn policy(wear: Wear, cycles: &[u32]) -> Box<dyn WearPolicy> {
    wear.policy(&geometry(cycles), 1).expect("a policy that moves data")
}

const THRESHOLD: Wear = Wear::Threshold(Threshold { erases: 10 });
const BET: Wear = Wear::Bet(Bet { erases: 10, set_blocks: 2 });
const DUAL_POOL: Wear = Wear::DualPool(DualPool { erases: 10 });
const FREE: [BlockId; 4] = [BlockId(4), BlockId(5), BlockId(6), BlockId(7)];

#[test]
fn free_blocks_are_chosen_by_their_erases() {
    let cycles = |block: BlockId| [3, 1, 4, 1, 4][block.index()];
    let places = |choice: Choice| choice(&mut (0..5).map(BlockId), &cycles);
    assert_eq!((places(least_worn), places(most_worn)), (Some(1), Some(2)));
    assert_eq!(least_worn(&mut std::iter::empty(), &cycles), None);
}

#[test]
fn threshold_moves_the_least_worn_data_when_the_difference_is_more() {
    for (most, moved) in [(12, None), (13, Some(BlockId(1)))] {
        let cycles = [5, 2, 9, 2, most, 2, 3, 3];
        let mut policy = policy(THRESHOLD, &cycles);
        let table = table(&cycles);
        let expected = moved.map(|block| Move { block, to_most_worn: true });
        assert_eq!(policy.next_move(table.die(0), &FREE), expected);
        assert_eq!(policy.next_move(table.die(0), &[]), None, "there is no better place");
        assert_eq!(policy.next_move(table.die(0), &[BlockId(5)]), None, "a free block that is no more worn");
    }
}

/// The paper's algorithm, step by step: sets of two blocks, more than ten erases per set.
#[test]
fn bet_empties_the_sets_that_were_not_erased() {
    let cycles = [0; 8];
    let mut policy = policy(BET, &cycles);
    let table = table(&cycles);
    let next = |policy: &mut Box<dyn WearPolicy>| policy.next_move(table.die(0), &FREE).map(|to| to.block.0);
    for _ in 0..9 {
        policy.erased(BlockId(6), table.die(0));
        assert_eq!(next(&mut policy), None, "below ten erases for one set");
    }
    policy.erased(BlockId(7), table.die(0));
    assert_eq!(next(&mut policy), Some(2), "the next set without a bit, cyclically from the first");
    assert_eq!(next(&mut policy), Some(3), "the whole set");
    policy.erased(BlockId(2), table.die(0));
    policy.erased(BlockId(3), table.die(0));
    assert_eq!(next(&mut policy), None, "12 erases are less than 10 for each of 2 sets");
    (0..8).for_each(|_| policy.erased(BlockId(2), table.die(0)));
    // The set with blocks 4 and 5 has no closed block, so it is passed over and the next one comes at 30 erases.
    assert_eq!(next(&mut policy), None);
    (0..10).for_each(|_| policy.erased(BlockId(2), table.die(0)));
    assert_eq!((next(&mut policy), next(&mut policy)), (Some(0), Some(1)));
    assert_eq!(next(&mut policy), None, "30 are less than 10 for each of 4 sets");
    (0..10).for_each(|_| policy.erased(BlockId(0), table.die(0)));
    assert_eq!(next(&mut policy), None, "all sets have their bit: a new round begins");
    policy.erased(BlockId(0), table.die(0));
    assert_eq!(next(&mut policy), None, "one erase, one set");
}

/// Even blocks are hot at first.
#[test]
fn dual_pool_exchanges_a_worn_hot_block_for_an_idle_cold_one() {
    for (worn, moved) in [(11, None), (12, Some(BlockId(3)))] {
        let cycles = [0, 5, 0, 1, 0, 90, worn, 0];
        let mut policy = policy(DUAL_POOL, &cycles);
        let table = table(&cycles);
        let expected = moved.map(|block| Move { block, to_most_worn: true });
        assert_eq!(policy.next_move(table.die(0), &FREE), expected, "block 5 is worn and cold");
        assert_eq!(policy.next_move(table.die(0), &FREE), None, "block 6 is cold now, and 3 hot");
    }
}

#[test]
fn dual_pool_moves_blocks_between_the_pools() {
    let cycles = [40, 0, 41, 11, 42, 0, 61, 0];
    let table = table(&cycles);
    // A cold block that wears like a hot one becomes hot: it does not give its data away.
    let mut policy = policy(DUAL_POOL, &cycles);
    let moved = |policy: &mut Box<dyn WearPolicy>| policy.next_move(table.die(0), &[BlockId(6)]).map(|to| to.block.0);
    assert_eq!(moved(&mut policy), Some(1), "the least worn cold block");
    assert_eq!(moved(&mut policy), None, "block 6 is cold now");
    // Hot are 0, 1, 2 and 4; block 1 joined at 0 erases and wears 42 less than block 4, so it is cold again.
    policy.erased(BlockId(4), table.die(0));
    assert_eq!(policy.next_move(table.die(0), &[BlockId(4)]).map(|to| to.block.0), Some(1));
}
