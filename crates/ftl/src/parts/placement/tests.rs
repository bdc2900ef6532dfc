use super::*;

const OPTIONS: Options = Options { streams: 3, regions: 4, pool_pages: 60, pool_blocks: 20 };

const ALL: [Placement; 6] =
    [Placement::One, Placement::Two, Placement::Origin, Placement::Dac, Placement::Sepbit, Placement::Pools];

fn placer(placement: Placement) -> Placer {
    Placer::new(placement, &OPTIONS, &Geometry::single_die(64, 4, 512).unwrap(), 100)
}

#[test]
fn frontiers_are_below_their_number() {
    for placement in ALL {
        let mut placer = placer(placement);
        let frontiers = placement.frontiers(&OPTIONS) as usize;
        for turn in 0..400 {
            let (at, block) = (Lpn(turn * 37 % 100), BlockId(turn % 64));
            assert!(placer.host(at, Origin((turn % 7) as u8)) < frontiers);
            assert!(placer.moved(Lpn(turn * 11 % 100), block) < frontiers);
            assert!(placer.moved(Lpn::NONE, block) < frontiers);
            placer.opened(block, turn as usize % frontiers);
            placer.emptied(BlockId(turn * 5 % 64));
        }
    }
}

#[test]
fn origins_get_frontiers_in_the_order_in_which_they_come() {
    let mut placer = placer(Placement::Origin);
    let origins = [Origin::BOOT, Origin::FAT, Origin::BOOT, Origin::FILE_DATA, Origin::JOURNAL, Origin::HOST];
    assert_eq!(origins.map(|origin| placer.host(Lpn(0), origin)), [0, 1, 0, 2, 2, 2]);
    assert_eq!(placer.moved(Lpn(0), BlockId(0)), 3);
}

/// The sequence in the DAC paper: up with a write, down with a move, within the regions.
#[test]
fn temperature_rises_with_writes_and_falls_with_moves() {
    let mut placer = placer(Placement::Dac);
    let written: Vec<usize> = (0..6).map(|_| placer.host(Lpn(7), Origin::HOST)).collect();
    assert_eq!(written, [0, 1, 2, 3, 3, 3]);
    let moved: Vec<usize> = (0..5).map(|_| placer.moved(Lpn(7), BlockId(0))).collect();
    assert_eq!(moved, [2, 1, 0, 0, 0]);
    assert_eq!(placer.host(Lpn(7), Origin::HOST), 1);
    placer.trimmed(Lpn(7));
    assert_eq!(placer.host(Lpn(7), Origin::HOST), 0);
}

#[test]
fn pages_stay_in_their_pool_and_the_pool_beyond_its_part_is_collected() {
    let mut placer = placer(Placement::Pools);
    let written = [0, 59, 60, 99].map(|at| placer.host(Lpn(at), Origin::HOST));
    let moved = [0, 59, 60, 99].map(|at| placer.moved(Lpn(at), BlockId(7)));
    assert_eq!((written, moved), ([0, 0, 1, 1], [0, 0, 1, 1]));
    placer.opened(BlockId(7), 1);
    assert_eq!((placer.moved(Lpn::NONE, BlockId(7)), placer.moved(Lpn::NONE, BlockId(8))), (1, 0), "a note stays");
    // The first pool's part is 20 blocks. Of both parts together 1 and 2 blocks are left, none, or 1 is used beyond
    // them.
    let pools = placer.pools().unwrap();
    let collected = |used, beyond| [0, 1].map(|last| pools.to_collect(used, beyond, last));
    assert_eq!((collected(20, -1), collected(19, -1)), ([0, 0], [1, 1]), "whichever has its part");
    assert_eq!((collected(20, -2), collected(19, -2), collected(18, -2)), ([0, 0], [0, 1], [1, 1]));
    assert_eq!((collected(21, 0), collected(20, 0), collected(19, 0)), ([0, 0], [0, 1], [1, 1]));
    assert_eq!((collected(21, 1), collected(20, 1)), ([0, 0], [1, 1]));
}

/// The SepBIT paper's rules, by hand.
#[test]
fn classes_follow_lifetimes() {
    let mut placer = placer(Placement::Sepbit);
    let write = |placer: &mut Placer, at| placer.host(Lpn(at), Origin::HOST);
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
    assert_eq!(placer.moved(Lpn(0), BlockId(3)), 2, "out of a block of class 0");
    assert_eq!(placer.moved(Lpn(0), BlockId(40)), 3, "young");
    write_often(&mut placer, 52, 39);
    assert_eq!(placer.moved(Lpn(0), BlockId(40)), 3, "39 is below 4 x 10");
    write(&mut placer, 52);
    assert_eq!(placer.moved(Lpn(0), BlockId(40)), 4);
    write_often(&mut placer, 52, 120);
    assert_eq!(placer.moved(Lpn(0), BlockId(40)), 5, "160 is not below 16 x 10");
}
