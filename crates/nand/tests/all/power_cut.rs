//! Each form of a power cut has its documented effect until the erase, and touches nothing else.

use crate::support::{apply, geometry, oob, page, program, read, rules, Answer, Script, Step};
use nandlab_nand::backed::Backed;
use nandlab_nand::operation::Operation;
use nandlab_nand::power_cut::{CutPlan, Form, PowerCut};
use nandlab_nand::profile::Timing;
use nandlab_nand::random::Random;
use nandlab_nand::timed::Timed;
use nandlab_nand::{BlockId, Content, Geometry, Nand, NandError, PageBuf, Ppa, ProgramOrder};

mod later_forms;

type Device = PowerCut<Backed>;

const LOST: NandError = NandError::PowerLost;

/// Block 0 is full, block 1 half full, page by page with the page's number; the next operation is cut.
fn armed(form: Form) -> Device {
    let mut device = PowerCut::new(Backed::ram(geometry(8, 4), rules(ProgramOrder::Ascending)));
    (0..6).for_each(|at| program(&mut device, at).unwrap());
    device.ctx().fence();
    device.arm(CutPlan { operation: 1, form });
    device
}

/// A page in a reader's view: its spare area, and its contents if the spare area is not erased.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Page {
    Erased,
    Holds(u8),
    /// The spare area is readable, the data is not.
    NoData,
    Unreadable,
    Bad,
}

fn look(device: &mut Device, at: u32) -> Page {
    let lost = NandError::Uncorrectable(Ppa(at));
    match device.read_spare(Ppa(at)) {
        Ok(None) => Page::Erased,
        Ok(Some(oob)) => match read(device, at) {
            Ok((with, fill)) => {
                assert_eq!(with, oob);
                Page::Holds(fill)
            }
            Err(error) => {
                assert_eq!((error, device.read_tail(Ppa(at), &mut [])), (lost, Err(lost)));
                Page::NoData
            }
        },
        Err(NandError::BadBlock(_)) => Page::Bad,
        Err(error) => {
            assert_eq!((error, read(device, at), device.read_tail(Ppa(at), &mut [])), (lost, Err(lost), Err(lost)));
            Page::Unreadable
        }
    }
}

fn block(device: &mut Device, number: u32) -> [Page; 4] {
    [0, 1, 2, 3].map(|page| look(device, number * 4 + page))
}

/// Cuts `act` in `form`, and brings the power back.
fn cut(form: Form, operation: Operation, act: impl Fn(&mut Device) -> Result<(), NandError>) -> Device {
    let mut device = armed(form);
    assert_eq!(act(&mut device), Err(LOST));
    assert_eq!(device.cut_operation(), Some(operation));
    device.restore();
    assert_eq!(device.cut_operation(), None);
    device
}

const HALF: [Page; 4] = [Page::Holds(4), Page::Holds(5), Page::Erased, Page::Erased];
const FULL: [Page; 4] = [Page::Holds(0), Page::Holds(1), Page::Holds(2), Page::Holds(3)];

#[test]
fn a_program_is_cut_in_every_form() {
    for form in Form::ALL {
        let expected = match form {
            Form::Done => Page::Holds(6),
            Form::TornPage => Page::NoData,
            Form::TornSpare => Page::Unreadable,
            _ => Page::Erased,
        };
        let mut device = cut(form, Operation::Program, |device| program(device, 6));
        assert_eq!(block(&mut device, 1), [HALF[0], HALF[1], expected, Page::Erased], "{form}");
        assert_eq!(block(&mut device, 0), FULL, "{form}");
        assert!(!device.is_known_erased(), "{form}: two blocks hold pages");
        // A chip of this order takes the next page, also above a weak one.
        program(&mut device, 7).unwrap();
        assert_eq!(look(&mut device, 6), expected, "{form}: until the erase");
        device.erase(BlockId(1)).unwrap();
        (4..8).for_each(|at| program(&mut device, at).unwrap());
        assert_eq!(look(&mut device, 6), Page::Holds(6), "{form}: the erase makes the page whole");
    }
}

#[test]
fn a_copy_is_cut_in_every_form_and_keeps_its_source() {
    for form in Form::ALL {
        let expected = match form {
            Form::Done => Page::Holds(1),
            Form::TornPage => Page::NoData,
            Form::TornSpare => Page::Unreadable,
            _ => Page::Erased,
        };
        let mut device = cut(form, Operation::Copy, |device| device.copy(Ppa(1), Ppa(6), oob(1, 9)).map(drop));
        assert_eq!(block(&mut device, 1), [HALF[0], HALF[1], expected, Page::Erased], "{form}");
        assert_eq!(block(&mut device, 0), FULL, "{form}");
    }
}

#[test]
fn a_spare_program_is_cut_in_every_form() {
    for form in Form::ALL {
        let mut device =
            cut(form, Operation::SpareProgram, |device| device.program_spare(Ppa(1), oob(77, 9)).map(drop));
        let expected = if form == Form::TornSpare { Page::Unreadable } else { Page::Holds(1) };
        assert_eq!(look(&mut device, 1), expected, "{form}");
        if form != Form::TornSpare {
            let lpn = device.read_spare(Ppa(1)).unwrap().unwrap().lpn.0;
            assert_eq!(lpn, if form == Form::Done { 77 } else { 1 }, "{form}");
        }
    }
}

#[test]
fn an_erase_is_cut_in_every_form() {
    for form in Form::ALL {
        let expected = match form {
            Form::Done | Form::TornEraseWeak | Form::UnstableErase => [Page::Erased; 4],
            Form::TornEraseUnreadable => [Page::Unreadable; 4],
            Form::TornErasePrefix => [Page::Erased, Page::Erased, Page::Holds(2), Page::Holds(3)],
            Form::TornEraseSuffix => [Page::Holds(0), Page::Holds(1), Page::Erased, Page::Erased],
            // Drawn.
            Form::TornEraseScattered => [Page::Holds(0), Page::Holds(1), Page::Erased, Page::Holds(3)],
            _ => FULL,
        };
        let mut device = cut(form, Operation::Erase, |device| device.erase(BlockId(0)).map(drop));
        assert_eq!(block(&mut device, 0), expected, "{form}");
        assert_eq!(block(&mut device, 1), HALF, "{form}");
        device.erase(BlockId(0)).unwrap();
        assert_eq!(block(&mut device, 0), [Page::Erased; 4], "{form}");
        (0..4).for_each(|at| program(&mut device, at).unwrap());
        assert_eq!(block(&mut device, 0), FULL, "{form}: the erase makes the block whole");
    }
}

#[test]
fn a_retirement_is_cut_before_or_after_it() {
    for form in Form::ALL {
        let mut device = cut(form, Operation::Retire, |device| device.retire(BlockId(0)).map(drop));
        assert_eq!(block(&mut device, 0), if form == Form::Done { [Page::Bad; 4] } else { FULL }, "{form}");
    }
}

#[test]
fn a_second_cut_finds_the_flash_as_the_first_one_left_it() {
    let after_two = |first, second| {
        let mut device = cut(first, Operation::Erase, |device| device.erase(BlockId(0)).map(drop));
        device.arm(CutPlan { operation: 1, form: second });
        assert_eq!(device.erase(BlockId(0)), Err(LOST));
        block(device.restore(), 0)
    };
    use Form::{Clean, TornErasePrefix as Prefix, TornEraseUnreadable as Unreadable, TornEraseWeak as Weak};
    let prefix = [Page::Erased, Page::Erased, Page::Holds(2), Page::Holds(3)];
    for (first, second, expected) in [
        (Unreadable, Clean, [Page::Unreadable; 4]),
        (Prefix, Clean, prefix),
        (Weak, Clean, [Page::Erased; 4]),
        (Prefix, Prefix, prefix),
        (Weak, Prefix, [Page::Erased; 4]),
        (Unreadable, Prefix, [Page::Erased, Page::Erased, Page::Unreadable, Page::Unreadable]),
        (Unreadable, Weak, [Page::Erased; 4]),
        (Weak, Unreadable, [Page::Unreadable; 4]),
    ] {
        assert_eq!(after_two(first, second), expected, "{first}, {second}");
    }
    let mut device = cut(Form::TornPage, Operation::Program, |device| program(device, 6));
    device.arm(CutPlan { operation: 1, form: Form::TornErasePrefix });
    assert_eq!(device.erase(BlockId(1)), Err(LOST));
    let expected = [Page::Erased, Page::Erased, Page::NoData, Page::Erased];
    assert_eq!(block(device.restore(), 1), expected, "a torn page outlives a torn erase");
}

#[test]
#[should_panic(expected = "program of page 0: the erase of block 0 was cut by a power loss, erase it again first")]
fn a_weak_block_is_not_programmed() {
    let mut device = cut(Form::TornEraseWeak, Operation::Erase, |device| device.erase(BlockId(0)).map(drop));
    let _ = program(&mut device, 0);
}

#[test]
#[should_panic(expected = "program of page 0: the erase of block 0 was cut by a power loss, erase it again first")]
fn nothing_is_copied_to_a_weak_block() {
    let mut device = cut(Form::TornEraseWeak, Operation::Erase, |device| device.erase(BlockId(0)).map(drop));
    let _ = device.copy(Ppa(4), Ppa(0), oob(4, 9));
}

#[test]
#[should_panic(expected = "read of page 1: the page is erased")]
fn the_erased_part_of_a_torn_block_is_not_read() {
    let mut device = cut(Form::TornErasePrefix, Operation::Erase, |device| device.erase(BlockId(0)).map(drop));
    let _ = read(&mut device, 1);
}

#[test]
fn a_weak_block_can_be_retired() {
    let mut device = cut(Form::TornEraseWeak, Operation::Erase, |device| device.erase(BlockId(0)).map(drop));
    device.retire(BlockId(0)).unwrap();
    assert_eq!(block(&mut device, 0), [Page::Bad; 4]);
}

#[test]
fn a_torn_page_is_no_source_of_a_copy() {
    let mut device = cut(Form::TornPage, Operation::Program, |device| program(device, 6));
    let before = device.ctx().matrix().total();
    assert_eq!(device.copy(Ppa(6), Ppa(8), oob(6, 9)), Err(NandError::Uncorrectable(Ppa(6))));
    assert_eq!(look(&mut device, 8), Page::Erased);
    assert_eq!(device.operations(), 0, "it changed nothing");
    assert_eq!(device.ctx().matrix().total().page_reads, before.page_reads + 1, "half of a copy is a read");
}

#[test]
fn without_power_nothing_answers() {
    let mut device = armed(Form::Done);
    assert_eq!(program(&mut device, 6), Err(LOST));
    let before = device.ctx().matrix().clone();
    let mut into = Content::zeroed(512);
    assert_eq!(device.read(Ppa(0), &mut into), Err(LOST));
    assert_eq!(device.read_spare(Ppa(0)), Err(LOST));
    assert_eq!(device.read_tail(Ppa(0), &mut [0]), Err(LOST));
    assert_eq!(device.program(Ppa(7), &page(7), &[], oob(7, 9)), Err(LOST));
    assert_eq!(device.copy(Ppa(0), Ppa(7), oob(7, 9)), Err(LOST));
    assert_eq!(device.program_spare(Ppa(0), oob(7, 9)), Err(LOST));
    assert_eq!(device.erase(BlockId(0)), Err(LOST));
    assert_eq!(device.retire(BlockId(0)), Err(LOST));
    assert_eq!(device.ctx().matrix(), &before);
    assert_eq!(device.geometry().blocks(), 8);
    assert_eq!(block(device.restore(), 0), FULL);
}

#[test]
fn operations_are_counted_that_change_the_flash() {
    let mut device = armed(Form::Clean);
    device.arm(CutPlan { operation: 5, form: Form::Clean });
    program(&mut device, 6).unwrap();
    read(&mut device, 6).unwrap();
    device.read_spare(Ppa(6)).unwrap();
    device.copy(Ppa(0), Ppa(7), oob(0, 9)).unwrap();
    device.program_spare(Ppa(7), oob(0, 10)).unwrap();
    device.erase(BlockId(3)).unwrap();
    assert_eq!((device.operations(), device.cut_operation()), (4, None));
    assert_eq!(device.retire(BlockId(3)), Err(LOST));
    assert_eq!((device.operations(), device.cut_operation()), (5, Some(Operation::Retire)));
    device.restore();
    (12..16).for_each(|at| program(&mut device, at).unwrap());
    assert_eq!((device.operations(), device.cut_operation()), (4, None), "a plan is carried out once");
}

#[test]
#[should_panic(expected = "operations are counted from 1, the next one")]
fn there_is_no_operation_zero() {
    armed(Form::Clean).arm(CutPlan { operation: 0, form: Form::Clean });
}

#[test]
fn the_last_program_since_a_fence_is_not_certain() {
    // Programs, copies and fences; then a cut program of page 16 is to lose `lost`.
    let tail = |steps: &dyn Fn(&mut Device), lost: &[u32]| {
        let mut device = armed(Form::LostTail);
        device.arm(CutPlan { operation: u64::MAX, form: Form::LostTail });
        steps(&mut device);
        let before: Vec<_> = (0..32).map(|at| look(&mut device, at)).collect();
        device.arm(CutPlan { operation: 1, form: Form::LostTail });
        assert_eq!(program(&mut device, 16), Err(LOST));
        device.restore();
        for (at, before) in (0..32).zip(before) {
            let expected = if lost.contains(&at) { Page::Unreadable } else { before };
            assert_eq!(look(&mut device, at), expected, "page {at}");
        }
        device
    };
    tail(&|_| {}, &[]);
    tail(&|device| program(device, 6).unwrap(), &[6]);
    tail(&|device| (6..10).for_each(|at| program(device, at).unwrap()), &[9]);
    let copied = |device: &mut Device| {
        device.copy(Ppa(0), Ppa(6), oob(0, 9)).unwrap();
    };
    tail(&copied, &[6]);
    let fenced = |device: &mut Device| {
        program(device, 6).unwrap();
        device.ctx().fence();
    };
    tail(&fenced, &[]);
    let fenced_and_more = |device: &mut Device| {
        fenced(device);
        program(device, 7).unwrap();
    };
    tail(&fenced_and_more, &[7]);
    // An erase without a fence before it: the block of the older copy is gone, and the newer copy is lost.
    let erased_too_early = |device: &mut Device| {
        device.copy(Ppa(0), Ppa(6), oob(0, 9)).unwrap();
        device.erase(BlockId(0)).unwrap();
    };
    tail(&erased_too_early, &[6]);
    let gone = |device: &mut Device| {
        program(device, 6).unwrap();
        device.erase(BlockId(1)).unwrap();
    };
    tail(&gone, &[]);
    let marked = |device: &mut Device| {
        device.program_spare(Ppa(0), oob(0, 9)).unwrap();
    };
    tail(&marked, &[]);
    // Programs that survived a cut are durable: the next cut does not lose them.
    let mut device = armed(Form::Clean);
    program(&mut device, 6).unwrap_err();
    program(device.restore(), 6).unwrap();
    for form in [Form::Clean, Form::LostTail] {
        device.arm(CutPlan { operation: 1, form });
        program(&mut device, 16).unwrap_err();
        assert_eq!(look(device.restore(), 6), Page::Holds(6), "{form}");
    }
    // A lost page stays lost, and is not lost again after the erase.
    let mut device = tail(&|device| program(device, 6).unwrap(), &[6]);
    device.erase(BlockId(1)).unwrap();
    (4..8).for_each(|at| program(&mut device, at).unwrap());
    assert_eq!(look(&mut device, 6), Page::Holds(6));
}

/// Two dies of 4 blocks of 4 pages: pages 0 to 15 and 16 to 31.
fn two_dies() -> Backed {
    Backed::ram(Geometry::two_dies(4, 4, 512).unwrap(), rules(ProgramOrder::Ascending))
}

#[test]
fn each_die_loses_its_own_last_program() {
    let mut device = PowerCut::new(two_dies());
    for at in [0, 1, 16, 17, 2] {
        program(&mut device, at).unwrap();
    }
    device.arm(CutPlan { operation: 1, form: Form::LostTail });
    assert_eq!(device.erase(BlockId(7)), Err(LOST));
    device.restore();
    let seen = [0, 1, 2, 16, 17].map(|at| look(&mut device, at));
    assert_eq!(seen, [Page::Holds(0), Page::Holds(1), Page::Unreadable, Page::Holds(16), Page::Unreadable]);
}

#[test]
fn a_bounded_fence_holds_for_what_ends_by_then() {
    let timing = Timing::array(1.0, 10.0, 100.0);
    // Page 0 ends at 10 us on one die; on the other page 17 ends at 20 us.
    for (bound, first_holds, last_holds) in [
        (9_999, false, false),
        (10_000, true, false),
        (19_999, true, false),
        (20_000, true, true),
        (20_001, true, true),
    ] {
        let mut device = PowerCut::new(Timed::new(two_dies(), &timing));
        let ends = [0, 16, 17].map(|at| {
            device.program(Ppa(at), &page(at as u8), &[], oob(at, at.into())).unwrap();
            device.ctx().last()
        });
        assert_eq!(ends, [10_000, 10_000, 20_000]);
        device.ctx().fence_at(bound);
        assert_eq!(device.ctx().ready(), bound, "what follows starts no earlier");
        device.arm(CutPlan { operation: 1, form: Form::LostTail });
        assert_eq!(device.erase(BlockId(7)).unwrap_err(), LOST);
        device.restore();
        for (at, holds) in [(0, first_holds), (16, true), (17, last_holds)] {
            let read = read(&mut device, at).map(|(_, fill)| fill);
            let expected = if holds { Ok(at as u8) } else { Err(NandError::Uncorrectable(Ppa(at))) };
            assert_eq!(read, expected, "page {at}, fence at {bound} ns");
        }
    }
}

/// The pages that a cut of `step` may change.
fn reach(step: &Step, g: &Geometry) -> Vec<Ppa> {
    match step {
        Step::Program { at, .. } | Step::SpareProgram { at, .. } | Step::Copy { to: at, .. } => vec![*at],
        Step::Erase(block) | Step::Retire(block) => (0..g.pages_per_block()).map(|page| g.page(*block, page)).collect(),
        _ => vec![],
    }
}

/// Every page in a reader's view, with its bytes.
fn contents(device: &mut Device) -> Vec<[Answer; 2]> {
    (0..device.geometry().pages())
        .map(|at| {
            let spare = apply(device, &Step::SpareRead(Ppa(at)));
            let is_there = matches!(spare.0, Ok(Some(_)));
            let page = if is_there { apply(device, &Step::Read(Ppa(at))) } else { Answer(Ok(None), vec![]) };
            [spare, page]
        })
        .collect()
}

#[test]
fn a_cut_changes_what_it_cuts_and_nothing_else() {
    let (g, r) = (geometry(6, 4), rules(ProgramOrder::Ascending));
    let (mut cuts, mut differing) = (0, 0);
    for seed in 0..6 {
        let mut script = Script::new(seed, g, r);
        script.retire = 0.002;
        let mut random = Random::stream(seed, 1);
        let mut device = PowerCut::new(Backed::ram(g, r));
        let (mut tail, mut erasing) = (Vec::new(), None);
        for _ in 0..400 {
            let step = script.step();
            let before = contents(&mut device);
            for form in Form::ALL {
                let mut cut = device.clone();
                cut.arm(CutPlan { operation: 1, form });
                let answer = apply(&mut cut, &step);
                let Some(operation) = cut.cut_operation() else {
                    assert_ne!(answer.0, Err(LOST));
                    continue;
                };
                assert_eq!(answer.0, Err(LOST));
                cuts += 1;
                let mut reach = reach(&step, &g);
                let programs = match form {
                    Form::LostTail => 1,
                    Form::LostTailTwo => 2,
                    _ => 0,
                };
                reach.extend(tail.iter().rev().take(programs));
                let erased = erasing.filter(|_| form == Form::LostErase);
                reach.extend(erased.iter().flat_map(|block| (0..g.pages_per_block()).map(|page| g.page(*block, page))));
                let after = contents(cut.restore());
                let changed = (0..g.pages()).map(Ppa).filter(|at| before[at.index()] != after[at.index()]);
                let changed: Vec<_> = changed.collect();
                assert!(changed.iter().all(|at| reach.contains(at)), "{step:?} {form}: {changed:?}");
                if form == Form::Clean || !form.applies_to(operation) {
                    assert!(changed.is_empty(), "{step:?} {form}: {changed:?}");
                }
                differing += usize::from(!changed.is_empty());
            }
            apply(&mut device, &step);
            match step {
                Step::Program { at, .. } | Step::Copy { to: at, .. } => {
                    tail.push(at);
                    erasing = None;
                }
                Step::Erase(block) => erasing = Some(block),
                _ if random.chance(0.1) => {
                    device.ctx().fence();
                    tail.clear();
                    erasing = None;
                }
                _ => {}
            }
        }
    }
    assert!(cuts > 5_000 && differing > 1_500, "the script did something: {cuts} {differing}");
}

#[test]
fn every_operation_of_a_step_can_be_cut_once() {
    let mut device = PowerCut::new(Backed::ram(geometry(8, 4), rules(ProgramOrder::Ascending)));
    (0..4).for_each(|at| program(&mut device, at).unwrap());
    let collect = |device: &mut Device| -> Result<(), NandError> {
        (0..4).try_for_each(|at| device.copy(Ppa(at), Ppa(at + 4), oob(at, 9)).map(drop))?;
        device.ctx().fence();
        device.erase(BlockId(0)).map(drop)
    };
    let mut hits = Vec::new();
    for operation in 1.. {
        let mut cut = device.clone();
        cut.arm(format!("cut:{operation}:done").parse().unwrap());
        if collect(&mut cut).is_ok() {
            break;
        }
        hits.push(cut.cut_operation().unwrap());
    }
    assert_eq!(hits, [Operation::Copy, Operation::Copy, Operation::Copy, Operation::Copy, Operation::Erase]);
}
