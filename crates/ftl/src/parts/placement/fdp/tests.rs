use super::*;
use crate::parts::blocks::table::BlockTable;

/// Two channels of two dies with 8 blocks of 4 pages.
fn device() -> Geometry {
    let mut shape = *Geometry::two_dies(8, 4, 512).unwrap().shape();
    shape.channels = 4 / shape.dies_per_channel;
    Geometry::new(shape).unwrap()
}

fn fdp(options: Options) -> Fdp {
    Fdp::new(options, &device(), 100)
}

fn write(fdp: &mut Fdp, at: u32, asked: PlacementId, origin: Origin) -> (u32, usize) {
    let placement = fdp.checked(asked);
    let handle = fdp.written(Written { at: Lpn(at), origin, placement, from: BlockId::NONE });
    (fdp.group(), handle)
}

#[test]
fn an_identifier_comes_before_the_origin_and_an_unknown_one_is_the_default_handle() {
    let mut table = [0; Origin::COUNT];
    table[usize::from(Origin::FAT.0)] = 3;
    let mut fdp = fdp(Options { handles: 4, groups: 2, origins: Origins::Table(table), ..Options::default() });
    let id = |group, handle| PlacementId { group, handle };
    assert_eq!(write(&mut fdp, 0, id(1, 2), Origin::FAT), (1, 2));
    assert_eq!([0, 1, 2].map(|at| write(&mut fdp, at, PlacementId::NONE, Origin::FAT)), [(0, 3); 3]);
    assert_eq!(write(&mut fdp, 3, PlacementId::NONE, Origin::JOURNAL), (0, 0), "an origin without a handle");
    assert_eq!(write(&mut fdp, 4, id(1, 4), Origin::FAT), (0, 0), "no handle 4");
    assert_eq!(write(&mut fdp, 5, id(2, 1), Origin::FAT), (0, 0), "no group 2");
    let used = fdp.used();
    assert_eq!(used.invalid_identifiers, 2);
    assert_eq!(used.handles.iter().map(|handle| handle.host_pages).collect::<Vec<_>>(), [3, 0, 1, 3]);
}

#[test]
fn each_origin_gets_a_handle_in_the_order_in_which_they_come() {
    let mut fdp = fdp(Options { handles: 3, origins: Origins::Each, ..Options::default() });
    let origins = [Origin::BOOT, Origin::FAT, Origin::BOOT, Origin::JOURNAL, Origin::HOST];
    let handles = origins.map(|origin| write(&mut fdp, 0, PlacementId::NONE, origin).1);
    assert_eq!(handles, [0, 1, 0, 2, 2], "the last handle serves all that come later");
}

/// Frontiers 0 to 2 are those of the handles.
#[test]
fn moved_pages_of_isolated_handles_stay_apart() {
    let moved = |persistent| {
        let options = Options { handles: 3, persistent, ..Options::default() };
        let mut fdp = fdp(options);
        let to = [0, 1, 2].map(|handle| {
            write(&mut fdp, handle, PlacementId::of(handle as u8), Origin::HOST);
            fdp.moved(Moved { at: Lpn(handle), from: BlockId(0) })
        });
        let own = fdp.moved(Moved { at: Lpn::NONE, from: BlockId(0) });
        (to, own, options.frontiers())
    };
    assert_eq!(moved(Handles::NONE), ([3, 3, 3], 3, 4), "initially isolated handles share");
    assert_eq!(moved(Handles::ALL), ([3, 4, 5], 3, 6), "the FTL's own pages go with handle 0");
    assert_eq!(moved([1].into_iter().collect()), ([3, 4, 3], 3, 5));
}

#[test]
fn a_unit_is_closed_when_each_die_has_filled_its_part_and_erased_with_its_last_block() {
    let device = device();
    let layout = Layout::new(Options::default(), 4, "die").unwrap();
    assert_eq!((layout.dies, layout.span, layout.slots, layout.blocks()), (4, 4, 1, 4));
    let mut units = Units::new(&device, layout, 9);
    let mut blocks = BlockTable::new(&device);
    let on = |die: u32| BlockId(device.blocks_of_die(die).start);
    for die in 0..4 {
        blocks.open(on(die));
        assert_eq!(units.open(on(die), 2), die == 0, "the first block begins the unit");
    }
    assert_eq!(units.blocks_left(0, 2), Some(0));
    for die in 0..4 {
        assert_eq!(units.weighed(0, &blocks).die(0).fewest_valid(), None, "die {die} fills its block");
        blocks.close(on(die), 4);
        units.close(on(die), 4);
    }
    units.check(&blocks);
    let unit = units.weighed(0, &blocks).die(0).fewest_valid().unwrap();
    units.condemn(unit, &blocks);
    for die in 0..4 {
        assert_eq!((units.next_condemned(die as usize), units.erased), (Some(on(die)), 0));
        units.give_up(on(die));
    }
    assert_eq!((units.next_condemned(0), units.erased), (None, 1));
    assert_eq!(units.blocks_left(0, 2), None);
}

/// A unit of sixteen pages with three written ones on three dies is retired. It has 3 of 16 valid pages, less than another
/// one with 4 of 16.
#[test]
fn pages_never_written_in_a_retired_unit_count_as_reclaimable() {
    let device = device();
    let layout = Layout::new(Options::default(), 4, "die").unwrap();
    let (mut units, mut blocks) = (Units::new(&device, layout, 9), BlockTable::new(&device));
    let fill = |units: &mut Units, blocks: &mut BlockTable, nth: u32, valid: u32, dies: u32| {
        for die in 0..dies {
            let block = BlockId(device.blocks_of_die(die).start + nth);
            blocks.open(block);
            units.open(block, 0);
            if die < valid {
                blocks.set_valid(device.page(block, 0));
            }
            blocks.close(block, 1);
            units.close(block, u64::from(nth) + 1);
        }
    };
    fill(&mut units, &mut blocks, 0, 4, 4);
    fill(&mut units, &mut blocks, 1, 3, 3);
    units.retire(0, 0, 77);
    units.check(&blocks);
    let weighed = units.weighed(0, &blocks).die(0);
    let closed: Vec<BlockId> = weighed.oldest_first().collect();
    assert_eq!(closed.len(), 2);
    assert_eq!((weighed.valid_pages(closed[0]), weighed.valid_pages(closed[1])), (4, 3));
    assert_eq!(weighed.closed_at()[closed[1].index()], 77 / 16, "its age starts when it was retired");
}

/// The blocks of two units, found by a mount in the order in which they were filled: die 1 has given up its first one.
#[test]
fn a_mount_forms_units_of_the_blocks_that_it_finds() {
    let device = device();
    let mut fdp = fdp(Options { handles: 2, ..Options::default() });
    let block = |die: u32, nth: u32| BlockId(device.blocks_of_die(die).start + nth);
    let found =
        [(1, block(0, 0)), (2, block(2, 0)), (3, block(3, 0)), (4, block(0, 1)), (5, block(1, 1)), (6, block(2, 1))];
    fdp.adopt(&found.map(|(programs, block)| (programs, block, Some(1))));
    let mut blocks = BlockTable::new(&device);
    for (_, block) in found {
        blocks.open(block);
        blocks.close(block, 1);
    }
    fdp.units.check(&blocks);
    let units = fdp.units.weighed(0, &blocks).die(0);
    let closed: Vec<BlockId> = units.oldest_first().collect();
    assert_eq!(closed.len(), 2);
    fdp.units.condemn(closed[0], &blocks);
    let condemned = [0, 1, 2, 3].map(|die| fdp.units.next_condemned(die));
    assert_eq!(condemned, [Some(block(0, 0)), Some(block(1, 1)), Some(block(2, 0)), Some(block(3, 0))]);
}

#[test]
fn units_lie_on_whole_dies_of_a_group() {
    let layout = |groups, unit_blocks| {
        let options = Options { groups, unit_blocks, ..Options::default() };
        Layout::new(options, 8, "die").map(|layout| (layout.span, layout.slots)).map_err(|error| error.to_string())
    };
    assert_eq!([layout(1, 0), layout(2, 0), layout(8, 0)], [Ok((8, 1)), Ok((4, 1)), Ok((1, 1))]);
    assert_eq!([layout(1, 24), layout(2, 2), layout(8, 5)], [Ok((8, 3)), Ok((2, 1)), Ok((1, 5))]);
    assert!(layout(3, 0).unwrap_err().contains("groups = 3"));
    assert!(layout(1, 12).unwrap_err().contains("such as 8 or 16"));
    assert!(layout(2, 3).unwrap_err().contains("such as 1 or 4"));
    let most = layout(1, u32::MAX).unwrap_err();
    assert!(most.ends_with(&format!("such as {}", u32::MAX - 7)), "nothing larger can be written: {most}");
}
