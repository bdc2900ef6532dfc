//! Data placement in a sector map: what handles gather, keep apart and tell.

use crate::lab::{cost, device, flash, mount, mount_again, mounted, submit, Flash, Lab};
use nandlab_block::{BlockDevice, Op, Payload, Request};
use nandlab_ftl::sector_map::{Collection, Config, Origins, SectorHandles};
use nandlab_ftl::{PlacementEvent, PlacementUse};
use nandlab_nand::random::Random;
use nandlab_nand::{BlockId, Geometry, Kind, Nand, Origin, PlacementId, Ppa, Rules};

/// Two dies with blocks of 8 pages of 8 sectors.
fn geometry(blocks: u32) -> Geometry {
    Geometry::two_dies(blocks, 8, 4096).unwrap()
}

fn placed(handles: u32) -> Config {
    Config { fdp: Some(SectorHandles { handles, ..SectorHandles::default() }), ..Config::default() }
}

fn lab(handles: u32) -> Lab {
    mount(flash(geometry(40), Rules::default()), 400, &placed(handles))
}

fn used(lab: &Lab) -> PlacementUse {
    lab.uses().placement.expect("the host places")
}

fn send(lab: &mut Lab, op: Op, (first, sectors): (u64, u32), placement: PlacementId) {
    lab.submit(&Request { placement, ..Request::new(op, first, sectors) }, Payload::None).unwrap();
}

fn write(lab: &mut Lab, sector: u64, handle: u8) {
    send(lab, Op::Write, (sector, 1), PlacementId::of(handle));
}

/// By block: the handles of its pages with sectors.
fn handles_by_block(lab: &mut Lab) -> Vec<Vec<u8>> {
    let nand = device::<Flash>(lab);
    let geometry = *nand.geometry();
    let of = |block: u32| {
        let pages = (0..geometry.pages_per_block()).map(|page| geometry.page(BlockId(block), page));
        let spare: Vec<_> = pages.filter_map(|page: Ppa| nand.read_spare(page).unwrap_or(None)).collect();
        spare.into_iter().filter(|oob| oob.kind == Kind::Sectors).map(|oob| oob.handle).collect()
    };
    (0..geometry.blocks()).map(of).collect()
}

#[test]
fn each_handle_gathers_its_sectors_in_pages_of_its_own() {
    let mut lab = lab(2);
    // A page takes seven sectors and their list. The handles take turns, from all over the address space.
    let gathered = cost(&mut lab, |lab| (0..14).for_each(|at| write(lab, 200 * at, (at % 2) as u8)));
    assert_eq!(gathered.page_programs, 2, "one page for each handle");
    let of = |handle: u8| handles_by_block(&mut lab).iter().filter(|held| held[..] == [handle]).count();
    let mut of = of;
    assert_eq!((of(0), of(1)), (1, 1), "in blocks of their own");
    let handles = used(&lab).handles;
    assert_eq!((handles[0].host_pages, handles[0].merged_sectors, handles[0].units), (1, 1, 1));
    assert_eq!(handles[1], handles[0]);
}

#[test]
fn a_sector_waits_only_for_the_handle_that_wrote_it_last() {
    let mut lab = lab(3);
    write(&mut lab, 40, 0);
    write(&mut lab, 41, 0);
    write(&mut lab, 40, 2);
    send(&mut lab, Op::Read, (40, 2), PlacementId::NONE);
    let handles = used(&lab).handles;
    assert_eq!([0, 1, 2].map(|handle: usize| handles[handle].buffered_reads), [1, 0, 1]);
    lab.check();
    let flushed = cost(&mut lab, |lab| submit(lab, Op::Flush, 0, 0));
    assert_eq!(flushed.page_programs, 2, "a page for each handle with a sector");
    let handles = used(&lab).handles;
    // Of eight sectors in a page the host wrote one.
    assert_eq!([0, 2].map(|at: usize| (handles[at].flushed_pages, handles[at].merged_sectors)), [(1, 7), (1, 7)]);
    assert_eq!(handles[1].host_pages, 0);
    lab.check();
    submit(&mut lab, Op::Trim, 40, 1);
    write(&mut lab, 42, 1);
    submit(&mut lab, Op::Trim, 42, 1);
    let flushed = cost(&mut lab, |lab| submit(lab, Op::Flush, 0, 0));
    assert_eq!(
        flushed.page_programs - flushed.meta_programs.min(flushed.page_programs),
        0,
        "nothing waits: {flushed:?}"
    );
}

/// A sector that leaves for another handle leaves no hole: the page is programmed with as many as it takes.
#[test]
fn a_place_of_a_sector_that_left_is_filled_again() {
    let mut lab = lab(2);
    (0..6).for_each(|sector| write(&mut lab, sector, 0));
    write(&mut lab, 3, 1);
    let programmed = |lab: &Lab| used(lab).handles[0].host_pages;
    write(&mut lab, 6, 0);
    assert_eq!(programmed(&lab), 0, "six of seven wait");
    write(&mut lab, 7, 0);
    assert_eq!((programmed(&lab), used(&lab).handles[0].merged_sectors), (1, 1));
    lab.check();
    submit(&mut lab, Op::Flush, 0, 0);
    lab.check();
}

#[test]
fn room_falls_by_the_sectors_written_and_an_update_begins_another_unit() {
    let mut lab = lab(2);
    // A unit is a block on each die: 16 pages of seven sectors.
    let most = 16 * 7;
    assert_eq!(used(&lab).sectors_left, [[most, most]]);
    for sector in 0..most {
        write(&mut lab, 8 * sector, 1);
        assert_eq!(used(&lab).sectors_left, [[most, most - sector - 1]], "it falls by the sectors written");
    }
    assert_eq!(used(&lab).handles[1].units, 1);
    // A unit without room is not unfilled.
    send(&mut lab, Op::UnitUpdate, (0, 0), PlacementId::of(1));
    assert_eq!((used(&lab).handles[1].unfilled_units, used(&lab).events.count), (0, 0));
    (0..7).for_each(|sector| write(&mut lab, 8 * sector, 1));
    assert_eq!((used(&lab).handles[1].units, used(&lab).pages_left), (2, vec![vec![16, 15]]));
    send(&mut lab, Op::UnitUpdate, (0, 0), PlacementId::of(1));
    let told = used(&lab);
    assert_eq!((told.handles[1].unfilled_units, told.pages_left), (1, vec![vec![16, 16]]));
    // A handle that the drive does not have.
    send(&mut lab, Op::UnitUpdate, (0, 0), PlacementId::of(9));
    send(&mut lab, Op::Write, (0, 2), PlacementId { group: 1, handle: 0 });
    assert_eq!(used(&lab).invalid_identifiers, 2);
    // Sectors that wait while their unit is full take room in the next one. One of the two from before is written again.
    (0..most + 2).for_each(|sector| write(&mut lab, 8 * sector, 0));
    assert_eq!((used(&lab).pages_left[0][0], used(&lab).sectors_left[0][0]), (0, most - 3));
    (0..4).for_each(|sector| write(&mut lab, 8 * sector, 0));
    let events: Vec<PlacementEvent> = used(&lab).events.since(0).map(|event| event.what).collect();
    use PlacementEvent::{Ended, Invalid, Unfilled};
    assert_eq!(events, [Unfilled, Invalid, Invalid, Ended]);
    lab.check();
}

/// Small random writes through one handle, large ones in order through another, and a third that writes seldom.
fn mixed(lab: &mut Lab, random: &mut Random, count: u64) {
    for step in 0..count {
        match step % 8 {
            0..=4 => write(lab, random.below(1_000), 0),
            5 | 6 => send(lab, Op::Write, (1_000 + 8 * (step % 200), 8), PlacementId::of(1)),
            _ => write(lab, 2_600 + random.below(600), 2),
        }
        if step % 1_500 == 7 {
            send(lab, Op::UnitUpdate, (0, 0), PlacementId::of((step / 1_500 % 3) as u8));
        }
    }
}

#[test]
fn blocks_stay_apart_through_collection_and_mounts() {
    for collection in [Collection::AtOnce, Collection::Tokens] {
        let config = Config { collection, ..placed(3) };
        let mut lab = mount(flash(geometry(44), Rules::default()), 400, &config);
        let mut random = Random::new(77);
        for _ in 0..4 {
            mixed(&mut lab, &mut random, 6_000);
            submit(&mut lab, Op::Flush, 0, 0);
            lab.check();
            assert!(used(&lab).handles.iter().all(|handle| handle.host_pages > 0));
            assert!(used(&lab).handles[0].moved_pages > 0, "victims were collected");
            assert!(used(&lab).pages_left[0].iter().all(|&left| left <= 16), "{:?}", used(&lab).pages_left);
            for (block, held) in handles_by_block(&mut lab).iter().enumerate() {
                assert!(held.iter().all(|&handle| handle == held[0]), "block {block} holds pages of {held:?}");
            }
            lab = mount_again(lab, 400, &config);
            lab.check();
        }
    }
}

/// Without an identifier a write goes by its origin.
#[test]
fn origins_have_handles() {
    let mut config = placed(2);
    config.fdp = Some(SectorHandles { handles: 2, origins: Origins::Each });
    let mut lab = mount(flash(geometry(40), Rules::default()), 400, &config);
    for sector in 0..14 {
        let origin = Origin(if sector % 2 == 0 { 3 } else { 5 });
        lab.submit(&Request { origin, ..Request::new(Op::Write, 9 * sector, 1) }, Payload::None).unwrap();
    }
    let pages: Vec<u64> = used(&lab).handles.iter().map(|handle| handle.host_pages).collect();
    assert_eq!(pages, [1, 1]);
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |config: &Config, blocks| {
        mounted(flash(geometry(blocks), Rules::default()), 40, config).err().expect("it is refused").to_string()
    };
    assert!(refused(&placed(0), 40).contains("ftl.sector_map.fdp.handles"), "{}", refused(&placed(0), 40));
    assert!(refused(&placed(129), 40).contains("128"), "{}", refused(&placed(129), 40));
    let why = refused(&placed(30), 30);
    assert!(why.contains("30 that are being filled"), "{why}");
}
