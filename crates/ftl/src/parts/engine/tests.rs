//! The engine's waits before an erase, on parallel dies.

use super::open::roomiest;
use super::relocation::Reason;
use super::{Config, Noted, Target};
use crate::page::PageMap;
use crate::parts::blocks::frontier::{cycles_in, Frontier, Frontiers};
use crate::parts::blocks::table::BlockUse;
use crate::parts::placement::Placement;
use crate::tests::{two_dies, Flash};
use crate::Ftl;
use nandlab_nand::{BlockId, Counting, Geometry, Lpn, Nand, SectorMask, Time};

type Device = Flash;

const PAGE: SectorMask = SectorMask(1);

/// The page map on two dies, blocks with 4 one-sector pages, with 12 pages written and flushed.
fn filled() -> (PageMap, Device) {
    let mut nand = two_dies();
    let mut ftl = PageMap::mount(&mut nand, 16, &Config::default()).unwrap();
    for at in 0..12 {
        write(&mut ftl, &mut nand, at);
    }
    ftl.flush(&mut nand).unwrap();
    (ftl, nand)
}

/// The device's counts.
fn counts(nand: &Device) -> &Counting {
    nand.counting()
}

/// Writes a page; returns when its program ends.
fn write(ftl: &mut PageMap, nand: &mut Device, at: u32) -> Time {
    ftl.write(nand, Lpn(at), PAGE, &()).unwrap();
    nand.ctx().last()
}

/// Keeps the next write's die busy with erases of an unused block.
fn occupy_next_die(ftl: &PageMap, nand: &mut Device) {
    let die = (ftl.pages.dies.turn() + 1) % 2;
    let block = ftl.pages.keeper.free_in(die as u32).last().expect("a die has free blocks");
    for _ in 0..5 {
        nand.erase(block).unwrap();
    }
}

#[test]
fn a_note_that_drops_a_page_waits_for_the_write_that_mapped_it() {
    let (mut ftl, mut nand) = filled();
    ftl.trim(&mut nand, Lpn(3), PAGE).unwrap();
    ftl.flush(&mut nand).unwrap();
    occupy_next_die(&ftl, &mut nand);
    let written = write(&mut ftl, &mut nand, 3);
    ftl.trim(&mut nand, Lpn(4), PAGE).unwrap();
    ftl.scheme.write_note(&mut ftl.pages, &mut nand, Target::InTurn, 0).unwrap();
    assert!(nand.ctx().last() < written, "the note is on the die that is not busy");
    let settled = nand.ctx().settled();
    assert!(settled < written, "the write is not certain yet");
    // The older note's block may be erased from now on.
    let stale = ftl.pages.keeper.free_in(0).last().expect("a die has free blocks");
    assert!(ftl.pages.erase(&mut nand, 0, stale).unwrap());
    assert!(nand.ctx().settled() >= written, "an erase after the note waits for the write");
}

#[test]
fn an_erase_waits_for_what_stands_for_lost_pages() {
    let (mut ftl, mut nand) = filled();
    let block = BlockId(ftl.scheme.map().at(Lpn(0)).0 / 4);
    let die = ftl.pages.geometry.die_of(block) as usize;
    for at in 1..12 {
        write(&mut ftl, &mut nand, at);
    }
    assert_eq!(ftl.pages.table.valid_pages(block), 1);
    ftl.flush(&mut nand).unwrap();
    assert!(ftl.pages.start_relocation(&mut ftl.scheme, &mut nand, die).unwrap());
    assert_eq!(ftl.pages.dies[die].relocation.as_ref().map(super::relocation::Relocation::block), Some(block));
    let from = ftl.scheme.map().at(Lpn(0));
    ftl.pages.replace_lost(&mut ftl.scheme, &mut nand, die, from).unwrap();
    let replaced = nand.ctx().last();
    assert!(nand.ctx().settled() < replaced);
    ftl.pages.finish(&mut ftl.scheme, &mut nand, die).unwrap();
    assert!(nand.ctx().settled() >= replaced, "the erase of the lost page's block waits for its stand-in");
}

/// The same with too few good blocks on die 0, and a block there with four pages.
fn with_weak_die() -> (PageMap, Device, BlockId) {
    let (mut ftl, mut nand) = filled();
    let block = BlockId(ftl.scheme.map().at(Lpn(1)).0 / 4);
    assert_eq!((ftl.pages.geometry.die_of(block), ftl.pages.table.valid_pages(block)), (1, 4));
    for _ in 0..5 {
        let free = ftl.pages.keeper.remove(1, 0).expect("a die has free blocks");
        ftl.pages.retire(&mut nand, 1, free.block).unwrap();
    }
    assert!(ftl.pages.dies[1].is_weak && !ftl.pages.dies[0].is_weak);
    (ftl, nand, block)
}

/// Logical pages on the working die.
fn on_working_die(ftl: &PageMap) -> usize {
    ftl.scheme.map().all().filter(|page| page.is_some() && page.0 / 40 == 0).count()
}

#[test]
fn what_leaves_a_die_is_mapped_at_once() {
    let (mut ftl, mut nand, block) = with_weak_die();
    ftl.pages.begin_relocation(&mut nand, 1, block, Reason::Room).unwrap();
    for moved in 0..4 {
        // The other die may empty the copy's block next.
        assert_eq!(on_working_die(&ftl), 6 + moved);
        ftl.pages.go_on(&mut ftl.scheme, &mut nand, 1, 1).unwrap();
    }
    ftl.pages.go_on(&mut ftl.scheme, &mut nand, 1, 1).unwrap();
    assert_eq!(
        (on_working_die(&ftl), ftl.pages.dies.take_lenders(), ftl.pages.table.usage(block)),
        (10, vec![0], BlockUse::Free)
    );
}

#[test]
fn a_strained_block_of_a_weak_die_is_rewritten_on_another() {
    let (mut ftl, mut nand, block) = with_weak_die();
    ftl.pages.refreshing = super::refresh::Refreshing::new(50, &ftl.pages.geometry);
    // It needs no free block of its own.
    while ftl.pages.keeper.remove(1, 0).is_some() {}
    ftl.pages.mark(1, block);
    assert!(ftl.pages.start_relocation(&mut ftl.scheme, &mut nand, 1).unwrap());
    ftl.pages.empty_victim(&mut ftl.scheme, &mut nand, 1).unwrap();
    assert_eq!((on_working_die(&ftl), ftl.pages.events.refreshes), (10, 1));
}

#[test]
fn a_block_is_retired_only_when_the_copies_out_of_it_are_on_flash() {
    let (mut ftl, mut nand) = filled();
    occupy_next_die(&ftl, &mut nand);
    let replaced = write(&mut ftl, &mut nand, 3);
    assert!(nand.ctx().settled() < replaced);
    let block = ftl.pages.keeper.free_in(0).last().expect("a die has free blocks");
    ftl.pages.keeper.supersede_in(block, replaced);
    ftl.pages.retire(&mut nand, 0, block).unwrap();
    assert!(nand.ctx().settled() >= replaced);
}

/// A block's pages carry its P/E cycles; a block without pages has none on flash.
#[test]
fn a_mount_finds_the_erases_of_each_block_and_writes_them_on() {
    let mut nand = two_dies();
    let config = Config { placement: Placement::One, ..Config::default() };
    let mut ftl = PageMap::mount(&mut nand, 16, &config).unwrap();
    // Pages 13 to 15 are written once, so the erase counts of blocks differ.
    for n in 0..402 {
        write(&mut ftl, &mut nand, if n < 16 { n } else { n * 7 % 13 });
    }
    ftl.flush(&mut nand).unwrap();
    let cycles = counts(&nand).pe_cycles().to_vec();
    let mut ftl = PageMap::mount(&mut nand, 16, &config).unwrap();
    for die in 0..2 {
        let blocks = || (10 * die..10 * die + 10).map(BlockId);
        let (used, blank): (Vec<_>, Vec<_>) = blocks().partition(|&block| counts(&nand).high_water(block) > 0);
        let known: Vec<u32> = used.iter().map(|block| cycles[block.index()]).collect();
        assert!(known.iter().min() < known.iter().max(), "the blocks differ: {known:?}");
        let found: Vec<u32> = used.iter().map(|&block| ftl.pages.table.cycles(block)).collect();
        assert_eq!(found, known);
        let mean = known.iter().sum::<u32>() / known.len() as u32;
        assert!(mean > 0 && !blank.is_empty());
        assert!(blank.iter().all(|&block| ftl.pages.table.cycles(block) == mean), "the mean where no page tells");
    }
    let held: Vec<u32> = (0..20).map(|block| counts(&nand).high_water(BlockId(block))).collect();
    for n in 0..8 {
        write(&mut ftl, &mut nand, n);
    }
    let mut opened = 0;
    for block in (0..20).map(BlockId) {
        let is_erased_anew = counts(&nand).pe_cycles()[block.index()] > cycles[block.index()];
        let is_new = held[block.index()] == 0 || is_erased_anew;
        if !is_new {
            assert_eq!(counts(&nand).high_water(block), held[block.index()], "block {block} was open and is closed");
        } else if counts(&nand).high_water(block) > 0 {
            let oob = nand.read_spare(ftl.pages.geometry.page(block, 0)).unwrap().expect("the page was programmed");
            assert_eq!(cycles_in(oob.aux), ftl.pages.table.cycles(block));
            opened += 1;
        }
    }
    assert!(opened > 0, "no block is opened");
}

#[test]
fn without_a_free_block_a_frontier_takes_room_that_its_pages_may_share() {
    let geometry = Geometry::single_die(3, 8, 512).unwrap();
    let mut frontiers = Frontiers::none(4);
    for (at, used) in [(1, 1), (2, 6), (3, 5)] {
        frontiers[at] = Frontier::resumed(&geometry, BlockId(at as u32 - 1), used);
    }
    assert_eq!(roomiest(&frontiers, |at| at != 1), 3, "the frontier with seven pages is another handle's");
    assert_eq!(roomiest(&frontiers, |at| at == 0), 1, "no frontier with room shares blocks");
}
