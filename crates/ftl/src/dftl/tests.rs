//! Waits between operations on parallel dies.

use super::{Allocation, Config, Dftl};
use crate::parts::map_entries::set_entry;
use crate::tests::{timed_flash, two_dies, Flash};
use crate::Ftl;
use nandlab_block::Op;
use nandlab_nand::profile::Timing;
use nandlab_nand::{Geometry, Lpn, Nand, Origin, Ppa, SectorMask};

/// A map page with a newly mapped page must not be on flash before that page. If the page were lost, a mount would take
/// the copy from before its trim, since the map page no longer records the trim.
#[test]
fn a_map_page_waits_for_the_pages_that_it_names_first() {
    let mut nand = two_dies();
    let page = SectorMask(1);
    let mut ftl = Dftl::mount(&mut nand, 16, &Config::default()).unwrap();
    (0..8).for_each(|at| ftl.write(&mut nand, Lpn(at), page, &()).unwrap());
    ftl.trim(&mut nand, Lpn(3), page).unwrap();
    ftl.flush(&mut nand).unwrap();
    // The next page's die is busy, the map's die is not.
    let Dftl { pages, scheme } = &mut ftl;
    let next = (pages.last_die() + 1) % 2;
    let block =
        pages.keeper.free().map(|free| free.block).find(|&block| scheme.geometry.die_of(block) == next).unwrap();
    for _ in 0..5 {
        nand.erase(block).unwrap();
    }
    ftl.write(&mut nand, Lpn(3), page, &()).unwrap();
    let written = nand.ctx().last();
    assert!(nand.ctx().settled() < written);
    ftl.scheme.update(&mut ftl.pages, &mut nand, 0, &[]).unwrap();
    assert!(nand.ctx().settled() >= written && nand.ctx().last() > written, "the map page comes after the write");
}

/// Times in ns on the device of [`striped`].
const READ: u64 = 1_000;
const PROGRAM: u64 = 10_000;

/// Two dies with two-sector pages; logical page `n` is on die `n % 2`.
fn striped(allocation: Allocation) -> (Dftl, Flash) {
    let mut nand = timed_flash(Geometry::two_dies(10, 8, 1024).unwrap(), &Timing::array(1.0, 10.0, 100.0));
    let mut ftl = Dftl::mount(&mut nand, 16, &Config { allocation, ..Config::default() }).unwrap();
    (0..8).for_each(|at| ftl.write(&mut nand, Lpn(at), SectorMask(3), &()).unwrap());
    for at in (0..8).map(Lpn) {
        let slot = ftl.scheme.look_up(&mut ftl.pages, &mut nand, at).unwrap().0;
        let block = ftl.scheme.geometry.block_of(ftl.scheme.cmt.page(slot));
        assert_eq!(ftl.scheme.geometry.die_of(block), at.0 % 2, "both begin alike");
    }
    (ftl, nand)
}

/// When a partial write to logical page 1 ends, and when `op` on page `then` ends, which came at the same time.
fn ends(allocation: Allocation, op: Op, then: u32) -> (u64, u64) {
    let (mut ftl, mut nand) = striped(allocation);
    let arrival = nand.ctx().horizon();
    let mut request = |op: Op, at: u32| {
        nand.ctx().begin(Origin::HOST, arrival);
        match op {
            Op::Read => ftl.read(&mut nand, Lpn(at), SectorMask(3), &mut ()).unwrap(),
            _ => ftl.write(&mut nand, Lpn(at), SectorMask(1), &()).unwrap(),
        }
        nand.ctx().finish() - arrival
    };
    (request(Op::Write, 1), request(op, then))
}

/// A partial write programs as soon as its read is done, and with static allocation no other die waits for it.
#[test]
fn a_partial_write_holds_the_die_of_its_page_alone() {
    let modified = READ + PROGRAM;
    let fixed = |op, then| ends(Allocation::Static, op, then);
    assert_eq!(fixed(Op::Write, 0), (modified, modified), "two dies, each with a page");
    assert_eq!(fixed(Op::Write, 3), (modified, 2 * modified), "the same die");
    assert_eq!(fixed(Op::Read, 0), (modified, READ), "the other die has nothing to do");
    assert_eq!(fixed(Op::Read, 3), (modified, modified + READ), "not before the program has ended");
    // In turn: page 1 is read on die 1 and goes to die 0, which waits until then.
    let in_turn = |op, then| ends(Allocation::Dynamic, op, then);
    assert_eq!(in_turn(Op::Read, 3), (modified, 2 * READ), "its die is free once it was read");
    assert_eq!(in_turn(Op::Read, 0), (modified, modified + READ), "the one that takes it is not");
    assert_eq!(in_turn(Op::Write, 0), (modified, modified + READ + PROGRAM), "one behind the other");
}

/// A search for a page's owner goes by the map as it is. A map page on flash may still name a place for a page that was
/// written elsewhere since; the place has another owner by now.
#[test]
fn a_page_has_the_owner_of_the_present_map() {
    let geometry = Geometry::single_die(64, 8, 512).unwrap();
    let mut nand = timed_flash(geometry, &Timing::array(1.0, 10.0, 100.0));
    let mut ftl = Dftl::mount(&mut nand, 200, &Config { cmt_entries: 4, ..Config::default() }).unwrap();
    let page = SectorMask(1);
    (0..200).for_each(|at| ftl.write(&mut nand, Lpn(at), page, &()).unwrap());
    let Dftl { pages, scheme } = &mut ftl;
    // The first map page ends before logical page 150, whose entry leaves memory.
    let (other, owner) = (Lpn(7), Lpn(150));
    let slot = scheme.look_up(pages, &mut nand, owner).unwrap().0;
    let place = scheme.cmt.page(slot);
    let mut bytes = vec![0; 512];
    let read = scheme.fill_in(pages, &mut nand, 0, &mut bytes).unwrap();
    set_entry(&mut bytes, other.0, place);
    scheme.store_map_page(pages, &mut nand, 0, &bytes, read).unwrap();
    for at in [20, 21, 22, other.0].map(Lpn) {
        let slot = scheme.look_up(pages, &mut nand, at).unwrap().0;
        if at == other {
            // Its own place, which flash does not tell.
            scheme.cmt.set(slot, Ppa(0));
        }
    }
    assert_eq!(scheme.cmt.find(owner), None, "memory does not answer");
    assert_eq!(scheme.owner(pages, &mut nand, place).unwrap(), owner);
    assert_eq!(scheme.search(pages, &mut nand, place).unwrap(), owner);
}
