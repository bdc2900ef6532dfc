use super::*;
use nandlab_nand::{BlockId, Lpn, Origin, PlacementId};

const ORIGIN: Placement = Placement::Origin(Streams { streams: 3 });
const DAC: Placement = Placement::Dac(Dac { regions: 4 });
const TWO_POOLS: Placement = Placement::Pools(TwoPools { pages: 60, blocks: 20 });

const MIDAS: Placement = Placement::Midas(Midas { groups: 4, epoch: 1, watched: 256 });

const WARCIP: Placement = Placement::Warcip(Warcip { clusters: 3 });

const ALL: [Placement; 8] = [Placement::One, Placement::Two, ORIGIN, DAC, Placement::Sepbit, WARCIP, MIDAS, TWO_POOLS];

type Placer = Box<dyn PlacementPolicy>;

fn page(at: Lpn, origin: Origin) -> Written {
    Written { at, origin, placement: PlacementId::NONE, from: BlockId::NONE }
}

fn placer(placement: Placement) -> Placer {
    placement.policy(&Geometry::single_die(64, 4, 512).unwrap(), 100, (1, &Future::default()))
}

#[test]
fn frontiers_are_below_their_number() {
    for placement in ALL {
        let mut placer = placer(placement);
        let frontiers = placement.frontiers() as usize;
        for turn in 0..400 {
            let (at, block) = (Lpn(turn * 37 % 100), BlockId(turn % 64));
            assert!(placer.written(page(at, Origin((turn % 7) as u8))) < frontiers);
            assert!(placer.moved(Moved { at: Lpn(turn * 11 % 100), from: block }) < frontiers);
            assert!(placer.moved(Moved { at: Lpn::NONE, from: block }) < frontiers);
            placer.opened(block, turn as usize % frontiers);
            placer.emptied(BlockId(turn * 5 % 64));
        }
    }
}

#[test]
fn origins_get_frontiers_in_the_order_in_which_they_come() {
    let mut placer = placer(ORIGIN);
    let origins = [Origin::BOOT, Origin::FAT, Origin::BOOT, Origin::FILE_DATA, Origin::JOURNAL, Origin::HOST];
    assert_eq!(origins.map(|origin| placer.written(page(Lpn(0), origin))), [0, 1, 0, 2, 2, 2]);
    assert_eq!(placer.moved(Moved { at: Lpn(0), from: BlockId(0) }), 3);
}

/// The sequence in the DAC paper: up with a write, down with a move, within the regions.
#[test]
fn temperature_rises_with_writes_and_falls_with_moves() {
    let mut placer = placer(DAC);
    let written: Vec<usize> = (0..6).map(|_| placer.written(page(Lpn(7), Origin::HOST))).collect();
    assert_eq!(written, [0, 1, 2, 3, 3, 3]);
    let moved: Vec<usize> = (0..5).map(|_| placer.moved(Moved { at: Lpn(7), from: BlockId(0) })).collect();
    assert_eq!(moved, [2, 1, 0, 0, 0]);
    assert_eq!(placer.written(page(Lpn(7), Origin::HOST)), 1);
    placer.trimmed(Lpn(7));
    assert_eq!(placer.written(page(Lpn(7), Origin::HOST)), 0);
}

#[test]
fn pages_stay_in_their_pool_and_the_pool_beyond_its_part_is_collected() {
    let mut placer = placer(TWO_POOLS);
    let written = [0, 59, 60, 99].map(|at| placer.written(page(Lpn(at), Origin::HOST)));
    let moved = [0, 59, 60, 99].map(|at| placer.moved(Moved { at: Lpn(at), from: BlockId(7) }));
    assert_eq!((written, moved), ([0, 0, 1, 1], [0, 0, 1, 1]));
    placer.opened(BlockId(7), 1);
    assert_eq!(
        (
            placer.moved(Moved { at: Lpn::NONE, from: BlockId(7) }),
            placer.moved(Moved { at: Lpn::NONE, from: BlockId(8) })
        ),
        (1, 0),
        "a note stays"
    );
    // The first pool's part is 20 blocks. Of both parts together 1 and 2 blocks are left, none, or 1 is used beyond
    // them.
    let pools = Pools::new(TwoPools { pages: 60, blocks: 20 }, &Geometry::single_die(64, 4, 512).unwrap());
    let collected = |used, beyond| [0, 1].map(|last| pools.next_pool(used, beyond, last));
    assert_eq!((collected(20, -1), collected(19, -1)), ([0, 0], [1, 1]), "whichever has its part");
    assert_eq!((collected(20, -2), collected(19, -2), collected(18, -2)), ([0, 0], [0, 1], [1, 1]));
    assert_eq!((collected(21, 0), collected(20, 0), collected(19, 0)), ([0, 0], [0, 1], [1, 1]));
    assert_eq!((collected(21, 1), collected(20, 1)), ([0, 0], [1, 1]));
}

/// The SepBIT paper's rules, by hand.
#[test]
fn classes_follow_lifetimes() {
    let mut placer = placer(Placement::Sepbit);
    let write = |placer: &mut Placer, at| placer.written(page(Lpn(at), Origin::HOST));
    let write_often = |placer: &mut Placer, at, times| {
        for _ in 0..times {
            write(placer, at);
        }
    };
    assert_eq!((write(&mut placer, 0), write(&mut placer, 0)), (1, 0), "new, then shorter than infinity");
    // 16 class 0 blocks that lived 10 page writes each.
    for block in 0..16 {
        placer.opened(BlockId(block), 0);
        write_often(&mut placer, 50, 10);
        placer.emptied(BlockId(block));
    }
    assert_eq!(write(&mut placer, 0), 1, "lived for 160, more than the mean of 10");
    write_often(&mut placer, 51, 8);
    assert_eq!(write(&mut placer, 0), 0, "lived for 9");
    assert_eq!(placer.moved(Moved { at: Lpn(0), from: BlockId(3) }), 2, "out of a block of class 0");
    assert_eq!(placer.moved(Moved { at: Lpn(0), from: BlockId(40) }), 3, "young");
    write_often(&mut placer, 52, 39);
    assert_eq!(placer.moved(Moved { at: Lpn(0), from: BlockId(40) }), 3, "39 is below 4 x 10");
    write(&mut placer, 52);
    assert_eq!(placer.moved(Moved { at: Lpn(0), from: BlockId(40) }), 4);
    write_often(&mut placer, 52, 120);
    assert_eq!(placer.moved(Moved { at: Lpn(0), from: BlockId(40) }), 5, "160 is not below 16 x 10");
}
