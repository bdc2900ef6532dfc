use super::*;
use nandlab_nand::{Origin, PlacementId};

fn chain(sizes: &[u32], spreads: bool) -> Chain {
    let options = Options { groups: 5, ..Options::default() };
    let mut chain = Chain::new(options, &Geometry::single_die(64, 4, 512).unwrap(), 100);
    chain.regroup(sizes.to_vec(), spreads);
    chain
}

fn open(chain: &mut Chain, blocks: &[(u32, usize)]) {
    blocks.iter().for_each(|&(block, group)| chain.opened(BlockId(block), group));
}

fn collected(chain: &mut Chain) -> (Range<u8>, bool) {
    let [Candidates { pools, is_oldest }, _] = chain.to_collect(0, 0, 0);
    (pools, is_oldest)
}

use std::ops::Range;

/// The hot group may have 2 blocks, the first one 3.
#[test]
fn the_first_group_above_its_size_gives_its_oldest_block() {
    let mut chain = chain(&[2, 3], false);
    open(&mut chain, &[(0, 0), (1, 0), (2, 0), (3, 4), (4, 4), (5, 1)]);
    assert_eq!(collected(&mut chain), (1..4, false), "the last group has the rest, which are blocks 1 to 3");
    open(&mut chain, &[(6, 0)]);
    assert_eq!(collected(&mut chain), (0..1, true));
    open(&mut chain, &[(7, 4)]);
    assert_eq!(collected(&mut chain), (4..5, true), "the hot group comes first");
    chain.emptied(BlockId(3));
    chain.emptied(BlockId(0));
    assert_eq!(collected(&mut chain), (1..4, false));
}

#[test]
fn pages_go_one_group_further_with_each_move() {
    let of = |chain: &mut Chain| {
        open(chain, &[(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]);
        [0, 1, 2, 3, 4].map(|block| chain.moved(Moved { at: Lpn(9), from: BlockId(block) }))
    };
    assert_eq!(of(&mut chain(&[2, 3], false)), [1, 1, 1, 1, 0], "all others are the last group");
    assert_eq!(of(&mut chain(&[2, 3], true)), [1, 2, 3, 3, 0]);
    assert_eq!(of(&mut chain(&[], true)), [1, 2, 3, 3, 0]);
    let fills = |chain: Chain| [0, 1, 2, 3, 4].map(|frontier| chain.fills(frontier));
    assert_eq!(fills(chain(&[2, 3], false)), [true, true, false, false, true]);
    assert_eq!(fills(chain(&[2, 3], true)), [true; 5]);
}

/// Blocks without a sized group of their own are merged into the last one.
#[test]
fn blocks_follow_when_groups_come_and_go() {
    let mut chain = chain(&[], true);
    open(&mut chain, &[(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]);
    let pools = |chain: &Chain| [0, 1, 2, 3, 4].map(|block| chain.blocks.pool(BlockId(block)).unwrap());
    chain.regroup(vec![2, 3, 5], false);
    assert_eq!(pools(&chain), [2, 2, 2, 2, 4], "new groups begin without a block");
    open(&mut chain, &[(0, 0), (1, 1)]);
    chain.regroup(vec![2, 3], true);
    assert_eq!(pools(&chain), [0, 1, 1, 1, 4]);
    chain.regroup(Vec::new(), true);
    assert_eq!(pools(&chain), [0; 5]);
    assert_eq!(collected(&mut chain), (0..5, false));
}

/// Every page is written in turn, so all live equally long; the sizes that the model finds promise no less than one
/// group has, and the forecast is there after an epoch.
#[test]
fn the_model_is_asked_after_each_epoch() {
    let mut chain = Chain::new(Options::default(), &Geometry::single_die(64, 16, 512).unwrap(), 800);
    for block in 0..50 {
        chain.opened(BlockId(block), 0);
    }
    chain.to_collect(0, 0, 0);
    for turn in 0..800 + 2 * 4 * 800 {
        let from = if turn < 800 { BlockId::NONE } else { BlockId(turn / 16 % 50) };
        chain.written(Written { at: Lpn(turn % 800), origin: Origin::HOST, placement: PlacementId::NONE, from });
        if turn == 5 * 800 + 1 {
            assert_eq!(chain.groups().unwrap().epochs, 1);
            chain.to_collect(0, 0, 0);
        }
    }
    let used = chain.groups().unwrap();
    assert_eq!((used.epochs, used.adopted, used.epoch_waf), (2, 0, Some(1.0)), "nothing was moved");
}
