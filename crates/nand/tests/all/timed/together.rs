//! Planes that program together, to the nanosecond.

use super::*;

const ALL: u32 = 4;

/// One channel with `dies` dies, each with four planes, which program together.
fn device(dies: u32) -> Timed<Counting, true> {
    let timing = Timing { plane_overlap: PlaneOverlap::MultiPlane, ..timing() };
    let plain = super::device(1, dies, ALL, &self::timing()).into_inner();
    Timed::with_extras(plain, &timing)
}

/// Programs pages one after the other; returns their end times.
fn programs(nand: &mut Timed<Counting, true>, pages: &[Ppa]) -> Vec<Time> {
    pages.iter().map(|&at| program(nand, at)).collect()
}

#[test]
fn planes_are_filled_one_by_one_and_program_at_once() {
    for planes in 1..=ALL {
        let mut nand = device(1);
        let ends = programs(&mut nand, &(0..planes).map(|plane| new(plane, 3)).collect::<Vec<_>>());
        let whole = Time::from(planes) * PAGE + PROGRAM;
        assert_eq!(*ends.last().unwrap(), whole);
        assert_eq!(
            (nand.ctx().finish(), nand.ctx().horizon()),
            (whole, whole),
            "the request ends with the last of them"
        );
        assert_eq!(nand.unit_busy_ns(), [whole]);
        assert_eq!(nand.ctx().joined_programs(), u64::from(planes) - 1);
        assert_free_at(&nand, 3, whole);
    }
}

#[test]
fn what_is_no_later_plane_at_the_same_place_in_the_same_request_waits() {
    let cases: [(&str, Ppa, bool); 4] = [
        ("another place", new(1, 4), true),
        ("the same plane", new(0, 4), true),
        ("an earlier plane", new(0, 3), true),
        ("another request", new(1, 3), false),
    ];
    for (why, second, same_request) in cases {
        let mut nand = device(1);
        let first = if why == "an earlier plane" { new(2, 3) } else { new(0, 3) };
        program(&mut nand, first);
        if !same_request {
            nand.ctx().begin(Origin::HOST, 0);
        }
        assert_eq!(program(&mut nand, second), 2 * (PAGE + PROGRAM), "{why}");
        assert_eq!(nand.ctx().joined_programs(), 0, "{why}");
    }
}

#[test]
fn nothing_comes_between_planes_that_program_together() {
    let mut nand = device(1);
    program(&mut nand, new(0, 3));
    let end = read(&mut nand, old(1, 0));
    assert_eq!(program(&mut nand, new(1, 3)), end + PAGE + PROGRAM);
}

/// The start command for the arrays follows the last known page's transfer.
#[test]
fn a_page_joins_that_is_at_hand_when_the_one_before_is_in_and_not_later() {
    for (at, end) in [(PAGE - 1, 2 * PAGE + PROGRAM), (PAGE, 2 * PAGE + PROGRAM), (PAGE + 1, 2 * (PAGE + PROGRAM))] {
        let mut nand = device(1);
        program(&mut nand, new(0, 3));
        nand.ctx().after(at);
        assert_eq!(program(&mut nand, new(1, 3)), end, "at hand at {at}");
    }
}

#[test]
fn a_page_that_joins_waits_for_the_bus() {
    let mut nand = device(2);
    program(&mut nand, new(0, 3));
    // On the other die, whose transfer comes first.
    program(&mut nand, new(ALL, 3));
    assert_eq!(program(&mut nand, new(1, 3)), 3 * PAGE + PROGRAM);
    assert_eq!(nand.unit_busy_ns(), [2 * PAGE + PROGRAM, PAGE + PROGRAM]);
}
