//! What the tests of single FTLs share.

use crate::{Disk, Ftl};
use nandlab_block::{BlockDevice, Op, Payload, Request};
use nandlab_nand::{Cell, Counting, Geometry, Nand, ProgramOrder, Rules};

/// Pages of a block, of one sector each.
pub(crate) const PAGES: u64 = 8;

pub(crate) const ORDERS: [ProgramOrder; 3] = [ProgramOrder::Any, ProgramOrder::Ascending, ProgramOrder::AscendingDense];

pub(crate) fn rules(program_order: ProgramOrder) -> Rules {
    Rules { program_order, ..Rules::default() }
}

/// An erased disk of `pages` pages on `blocks` blocks.
pub(crate) fn erased<F: Ftl>(order: ProgramOrder, blocks: u32, pages: u64, config: &F::Config) -> Disk<F, Counting> {
    let geometry = Geometry::single_die(blocks, PAGES as u32, 512).unwrap();
    Disk::mount(Counting::new(geometry, rules(order)), pages as u32, config).unwrap()
}

/// A disk of `logical_blocks` blocks of [`PAGES`] pages, all written once, in order, on 12 blocks more.
pub(crate) fn filled<F: Ftl>(order: ProgramOrder, logical_blocks: u32, config: &F::Config) -> Disk<F, Counting> {
    let pages = u64::from(logical_blocks) * PAGES;
    let mut disk = erased(order, logical_blocks + 12, pages, config);
    write(&mut disk, 0..pages);
    disk
}

pub(crate) fn write<F: Ftl, N: Nand>(disk: &mut Disk<F, N>, pages: impl IntoIterator<Item = u64>) {
    for page in pages {
        submit(disk, Op::Write, page, 1);
    }
}

pub(crate) fn submit<F: Ftl, N: Nand>(disk: &mut Disk<F, N>, op: Op, first: u64, pages: u32) {
    disk.submit(&Request::new(op, first, pages), Payload::None).unwrap();
}

/// What `work` costs.
pub(crate) fn cost<F: Ftl>(disk: &mut Disk<F, Counting>, work: impl FnOnce(&mut Disk<F, Counting>)) -> Cell {
    let before = disk.nand_mut().ctx().matrix().clone();
    work(disk);
    disk.check();
    disk.nand_mut().ctx().matrix().since(&before).total()
}

/// What writing `pages` costs: programs of the host, copies and erases.
pub(crate) fn cost_of<F: Ftl>(disk: &mut Disk<F, Counting>, pages: impl IntoIterator<Item = u64>) -> (u64, u64, u64) {
    let cost = cost(disk, |disk| write(disk, pages));
    (cost.page_programs, cost.copies, cost.erases() as u64)
}

/// Switch, partial and full merges so far.
pub(crate) fn merges<F: Ftl, N: Nand>(disk: &Disk<F, N>) -> (u64, u64, u64) {
    let events = disk.ftl().events();
    (events.switch_merges, events.partial_merges, events.full_merges)
}
