//! Blocks with one bit per cell: times compared with data-sheet sums, and counts.

use super::*;
use nandlab_nand::profile::SlcTiming;
use nandlab_nand::slc::Metered;

const SLC_READ: Time = 20 * US;
const SLC_PROGRAM: Time = 150 * US;
const SLC_ERASE: Time = 2000 * US;

fn slc(copy: PageCopy) -> Timing {
    let times = SlcTiming { read_us: 20.0, program_us: 150.0, erase_us: 2000.0 };
    Timing { slc: Some(times), copy, ..timing() }
}

type Device = Metered<Timed<Counting, true>>;

/// One die; its block 2 holds one bit per cell instead of four: 2 pages out of 8.
fn device(timing: &Timing) -> Device {
    let plain = Timing { slc: None, ..*timing };
    let mut nand = Metered::new(Timed::with_extras(super::device(1, 1, 1, &plain).into_inner(), timing));
    nand.set_slc(BlockId(2), true);
    nand
}

/// How long `operation` holds the die.
fn takes<T>(nand: &mut Device, operation: impl FnOnce(&mut Device) -> T) -> Time {
    let before = nand.ctx().horizon();
    nand.ctx().begin(Origin::HOST, before);
    operation(nand);
    nand.ctx().horizon() - before
}

const ONE: Ppa = Ppa(2 * 8);
const MANY: Ppa = Ppa(3 * 8);

#[test]
fn operations_take_the_time_of_their_block() {
    let nand = &mut device(&slc(PageCopy::External));
    let program = |at, nand: &mut Device| nand.program(at, &(), &[], oob(at.0)).unwrap();
    assert_eq!(takes(nand, |nand| program(ONE, nand)), PAGE + SLC_PROGRAM);
    assert_eq!(takes(nand, |nand| program(MANY, nand)), PAGE + PROGRAM);
    assert_eq!(takes(nand, |nand| nand.read(ONE, &mut ()).unwrap()), SLC_READ + PAGE);
    assert_eq!(takes(nand, |nand| nand.read(MANY, &mut ()).unwrap()), READ + PAGE);
    assert_eq!(takes(nand, |nand| nand.read_spare(ONE).unwrap()), SLC_READ + SPARE);
    assert_eq!(takes(nand, |nand| nand.program_spare(ONE, oob(1)).unwrap()), SPARE + SLC_PROGRAM);
    assert_eq!(takes(nand, |nand| nand.erase(BlockId(2)).unwrap()), SLC_ERASE);
    // The erase reset the mode.
    assert!(!nand.is_slc(BlockId(2)));
    assert_eq!(takes(nand, |nand| program(ONE, nand)), PAGE + PROGRAM);
    assert_eq!(takes(nand, |nand| nand.erase(BlockId(2)).unwrap()), ERASE);
}

#[test]
fn a_copy_reads_as_the_one_block_and_programs_as_the_other() {
    // A stated total has 28 us beyond read and program.
    for (copy, beside) in [(PageCopy::External, 2 * PAGE), (PageCopy::Copyback, 0), (PageCopy::TotalUs(578.0), 28 * US)]
    {
        let nand = &mut device(&slc(copy));
        let mut seq = 100;
        let mut takes_copy = |from, to| {
            seq += 1;
            takes(nand, |nand| nand.copy(from, to, oob(seq)).unwrap())
        };
        assert_eq!(takes_copy(Ppa(0), ONE), READ + beside + SLC_PROGRAM, "{copy:?}");
        assert_eq!(takes_copy(ONE, Ppa(ONE.0 + 1)), SLC_READ + beside + SLC_PROGRAM, "{copy:?}");
        assert_eq!(takes_copy(ONE, MANY), SLC_READ + beside + PROGRAM, "{copy:?}");
        assert_eq!(takes_copy(Ppa(1), Ppa(MANY.0 + 1)), READ + beside + PROGRAM, "{copy:?}");
    }
}

/// The counts for these blocks give the die's busy time; the plain counts alone do not.
#[test]
fn counts_by_mode_sum_to_the_time_of_the_die() {
    let timing = slc(PageCopy::External);
    let nand = &mut device(&timing);
    let before = nand.ctx().matrix().clone();
    for at in [ONE, Ppa(ONE.0 + 1), MANY] {
        nand.program(at, &(), &[], oob(at.0)).unwrap();
    }
    nand.read(ONE, &mut ()).unwrap();
    nand.read_spare(ONE).unwrap();
    scoped(nand, Cause::Fold, |nand| {
        nand.copy(ONE, Ppa(MANY.0 + 1), oob(50)).unwrap();
        nand.erase(BlockId(2)).unwrap();
    });
    nand.erase(BlockId(1)).unwrap();
    let (total, one) = (nand.ctx().matrix().since(&before).total(), nand.ctx().slc().unwrap().clone());
    let fold = one.sum(|_, cause| cause == Cause::Fold);
    assert_eq!((fold.page_reads, fold.page_programs, fold.erases()), (1, 0, 1.0));
    assert_eq!((one.total().page_programs, one.total().page_reads, one.total().spare_reads), (2, 2, 1));
    let shape = *nand.geometry().shape();
    let profile = Profile {
        name: String::new(),
        description: String::new(),
        source: String::new(),
        shape,
        rules: *nand.rules(),
        timing,
        controller: None,
        link: None,
        energy: None,
    };
    let busy = nand.inner().unit_busy_ns()[0];
    assert_eq!(profile.busy_ns_with_slc(&total, &one.total()), busy);
    assert_ne!(profile.busy_ns(&total), busy);
}

#[test]
#[should_panic(expected = "block 2 holds one bit a cell, in 2 pages, and 3 were programmed")]
fn a_block_that_was_filled_too_far_is_refused_at_its_erase() {
    let nand = &mut device(&slc(PageCopy::External));
    for at in 0..3 {
        nand.program(Ppa(ONE.0 + at), &(), &[], oob(at)).unwrap();
    }
    let _ = nand.erase(BlockId(2));
}

#[test]
#[should_panic(expected = "block 1 is to hold one bit a cell: this chip has 1 bits a cell")]
fn a_chip_of_one_bit_has_no_such_blocks() {
    let mut nand: Counting = Counting::new(Geometry::single_die(2, 8, 512).unwrap(), Rules::default());
    nand.set_slc(BlockId(1), true);
}
