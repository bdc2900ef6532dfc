//! Unstable pages: what a mount writes again.

use crate::lab::{device, flash, mount, mount_again, restored, submit, write, Flash};
use nandlab_block::{BlockDevice, Op, Payload, Request};
use nandlab_ftl::page::Config;
use nandlab_nand::power_cut::{CutPlan, Form};
use nandlab_nand::{Cause, Geometry, Origin, Rules};

/// Programs of a mount after writes to `pages` and a flush: of pages of file data, and of all.
fn again(unstable_pages: bool, pages: &[u64]) -> (u64, u64) {
    let geometry = Geometry::single_die(16, 8, 512).unwrap();
    let rules = Rules { unstable_pages, ..Rules::default() };
    let mut disk = mount(flash(geometry, rules), 40, &Config::default());
    for &page in pages {
        let request = Request { origin: Origin::FILE_DATA, ..Request::new(Op::Write, page, 1) };
        disk.submit(&request, Payload::None).unwrap();
    }
    submit(&mut disk, Op::Flush, 0, 0);
    let mut disk = mount_again(disk, 40, &Config::default());
    disk.check();
    let matrix = disk.ctx().matrix();
    let programs = |is_counted: fn(Origin) -> bool| {
        matrix.sum(|origin, cause| cause == Cause::Mount && is_counted(origin)).programs()
    };
    (programs(|origin| origin == Origin::FILE_DATA), programs(|_| true))
}

/// Closed form: blocks of eight pages end with the pages written 8th, 16th and 20th. The first is too old to be that of a cut.
#[test]
fn a_mount_writes_the_youngest_last_pages_of_blocks_again() {
    let pages: Vec<u64> = (0..20).collect();
    assert_eq!(again(true, &pages), (2, 2));
    assert_eq!(again(false, &pages), (0, 0));
    // The page written 16th has a newer copy, the 21st.
    assert_eq!(again(true, &[&pages[..], &[15]].concat()), (1, 1));
    assert_eq!(again(true, &[]), (0, 0));
}

/// A page that one read of a mount found reads well from then on.
#[test]
fn a_page_kept_by_a_mount_stays_readable() {
    let geometry = Geometry::single_die(16, 8, 512).unwrap();
    let rules = Rules { unstable_pages: true, ..Rules::default() };
    for before in 1..20 {
        let mut disk = mount(flash(geometry, rules), 40, &Config::default());
        write(&mut disk, 0..before);
        device::<Flash>(&mut disk).arm(CutPlan { operation: 1, form: Form::UnstablePage });
        assert!(disk.submit(&Request::new(Op::Write, 0, 1), Payload::None).is_err());
        let mut disk = mount(restored(disk), 40, &Config::default());
        (0..40).for_each(|_| submit(&mut disk, Op::Read, 0, 1));
    }
}
