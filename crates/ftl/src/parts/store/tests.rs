//! Waits between operations under any scheme, with the block map as an example.

use crate::block::{BlockMap, Config};
use crate::tests::two_dies;
use crate::Ftl;
use nandlab_nand::{BlockId, Lpn, Nand, SectorMask};

#[test]
fn a_note_that_drops_a_page_waits_for_the_write_that_mapped_it() {
    let mut nand = two_dies();
    let mut ftl = BlockMap::mount(&mut nand, 16, &Config::default()).unwrap();
    let page = SectorMask(1);
    (0..16).for_each(|at| ftl.write(&mut nand, Lpn(at), page, &()).unwrap());
    ftl.trim(&mut nand, Lpn(7), page).unwrap();
    ftl.flush(&mut nand).unwrap();
    // Both are in their logical block's replacement block, on its die, and the test keeps that die busy.
    ftl.write(&mut nand, Lpn(5), page, &()).unwrap();
    let near = ftl.store.geometry.block_of(ftl.store.lookup(Lpn(5)));
    let die = ftl.store.geometry.die_of(near);
    let free = |die: u32| {
        let on_die = |block: &BlockId| ftl.store.geometry.die_of(*block) == die;
        ftl.store.keeper.free().map(|free| free.block).find(on_die).expect("a die has free blocks")
    };
    let (busy, idle) = (free(die), free(1 - die));
    for _ in 0..9 {
        nand.erase(busy).unwrap();
    }
    ftl.write(&mut nand, Lpn(7), page, &()).unwrap();
    let written = nand.ctx().last();
    ftl.trim(&mut nand, Lpn(9), page).unwrap();
    ftl.store.write_notes(&mut nand).unwrap();
    let note = ftl.store.notes.live().next().expect("a note was written").1;
    assert_ne!(ftl.store.geometry.die_of(ftl.store.geometry.block_of(note)), die, "the note is on the other die");
    assert!(nand.ctx().settled() < written && nand.ctx().last() < written);
    assert!(ftl.store.erase(&mut nand, idle).unwrap());
    assert!(nand.ctx().settled() >= written, "an erase after the note waits for the write");
}

/// An erased page may have a cut program. A gap may also come from an erase that was cut: such a block is weak.
#[test]
fn a_mount_fills_no_open_block_further() {
    for places in [[0, 1], [0, 2]] {
        let mut nand = two_dies();
        let mut ftl = BlockMap::mount(&mut nand, 16, &Config::default()).unwrap();
        places.iter().for_each(|&at| ftl.write(&mut nand, Lpn(at), SectorMask(1), &()).unwrap());
        let block = ftl.store.geometry.block_of(ftl.store.lookup(Lpn(0)));
        assert!(ftl.store.is_in(Lpn(places[1]), block) && ftl.store.takes(block, 3), "the data block takes both pages");
        let ftl = BlockMap::mount(&mut nand, 16, &Config::default()).unwrap();
        assert!(!ftl.store.takes(block, 3), "pages at {places:?}");
    }
}
