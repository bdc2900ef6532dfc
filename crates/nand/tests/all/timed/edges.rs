//! Exact times, to the nanosecond, when units and channels become free: a request one nanosecond earlier waits
//! one, a request at this time waits none.
//!
//! One channel with two dies, each with two planes: blocks 0 to 3 are in plane 0, 4 to 7 in plane 1, both in
//! die 0; blocks from 8 on are in die 1, and its second plane takes the pages for probing the bus.

use super::*;

/// The device, while operations from time 0 are under way.
fn after(timing: &Timing, operations: impl FnOnce(&mut Timed<Counting, true>)) -> Timed<Counting, true> {
    let mut nand = by_events(1, 2, 2, timing);
    issue(&mut nand, operations);
    nand
}

/// Asserts that die 1 programs a page from `start` on if the request comes at `arrival`.
fn assert_starts(nand: &Timed<Counting, true>, arrival: Time, start: Time) {
    let end = request(&mut nand.clone(), arrival, |nand| _ = program(nand, new(3, 0)));
    assert_eq!(end, start + PAGE + PROGRAM, "arrival {arrival}");
}

/// Asserts that the bus is taken until `free`, with a page programmed by die 1 at that time.
fn assert_bus_free_at(nand: &Timed<Counting, true>, free: Time) {
    for (arrival, start) in [(free - 1, free), (free, free), (free + 1, free + 1)] {
        assert_starts(nand, arrival, start);
    }
}

/// Asserts that the bus is free from `from` to `to`: whoever comes takes it, and what was to use it later waits.
fn assert_bus_free_between(nand: &Timed<Counting, true>, (from, to): (Time, Time)) {
    for arrival in [from, to - PAGE, to - 1] {
        assert_starts(nand, arrival, arrival);
    }
}

/// Asserts that the bus is idle at each of these times.
fn assert_bus_idle(nand: &Timed<Counting, true>, times: &[Time]) {
    for &arrival in times {
        assert_starts(nand, arrival, arrival);
    }
}

#[test]
fn a_read_has_its_die_until_its_page_is_out_and_the_bus_for_the_page_alone() {
    let nand = after(&timing(), |nand| {
        read(nand, old(0, 0));
    });
    assert_free_at(&nand, 0, READ + PAGE);
    assert_free_at(&nand, 4, READ + PAGE);
    assert_bus_free_between(&nand, (0, READ));
    assert_bus_free_at(&nand, READ + PAGE);
}

#[test]
fn a_program_gives_the_bus_back_when_its_page_is_in() {
    let nand = after(&timing(), |nand| {
        program(nand, new(0, 0));
    });
    assert_bus_free_at(&nand, PAGE);
    assert_free_at(&nand, 0, PAGE + PROGRAM);
    assert_free_at(&nand, 4, PAGE + PROGRAM);
}

#[test]
fn an_erase_has_its_die_and_no_bus() {
    let nand = after(&timing(), |nand| {
        erase(nand, 0);
    });
    assert_free_at(&nand, 1, ERASE);
    assert_free_at(&nand, 4, ERASE);
    assert_bus_idle(&nand, &[0, 1, ERASE - 1, ERASE]);
}

#[test]
fn a_copyback_has_its_die_and_no_bus() {
    let copy = |timing: &Timing| {
        after(timing, |nand| {
            nand.copy(old(0, 0), new(0, 0), oob(0)).unwrap();
        })
    };
    let nand = copy(&Timing { copy: PageCopy::Copyback, ..timing() });
    assert_free_at(&nand, 1, READ + PROGRAM);
    assert_free_at(&nand, 4, READ + PROGRAM);
    assert_bus_idle(&nand, &[0, READ, READ + PROGRAM - 1]);
    let nand = copy(&Timing { copy: PageCopy::TotalUs(1128.0), ..timing() });
    assert_free_at(&nand, 1, 1128 * US);
    assert_bus_idle(&nand, &[0, READ, 1128 * US]);
}

#[test]
fn a_copy_over_the_bus_has_it_for_two_pages_in_a_row() {
    let nand = after(&timing(), |nand| {
        nand.copy(old(0, 0), new(0, 0), oob(0)).unwrap();
    });
    assert_bus_free_between(&nand, (0, READ));
    assert_bus_free_at(&nand, READ + 2 * PAGE);
    assert_free_at(&nand, 1, READ + 2 * PAGE + PROGRAM);
    // To the other die: the transfer in follows directly after the transfer out, and then the source is free.
    let nand = after(&timing(), |nand| {
        nand.copy(old(0, 0), new(2, 0), oob(0)).unwrap();
    });
    assert_free_at(&nand, 0, READ + PAGE);
    assert_free_at(&nand, 8, READ + 2 * PAGE + PROGRAM);
}

#[test]
fn programs_of_two_planes_at_once_end_one_transfer_apart() {
    let planes = Timing { plane_overlap: PlaneOverlap::Independent, ..timing() };
    let nand = after(&planes, |nand| {
        program(nand, new(0, 0));
        program(nand, new(1, 0));
    });
    assert_bus_free_at(&nand, 2 * PAGE);
    assert_free_at(&nand, 0, PAGE + PROGRAM);
    assert_free_at(&nand, 4, 2 * PAGE + PROGRAM);
    // Without overlap the second program waits for the first, and so does its page.
    let nand = after(&timing(), |nand| {
        program(nand, new(0, 0));
        program(nand, new(1, 0));
    });
    for block in [0, 4] {
        assert_free_at(&nand, block, 2 * (PAGE + PROGRAM));
    }
    assert_bus_free_between(&nand, (PAGE, PAGE + PROGRAM));
}

#[test]
fn erases_of_two_planes_at_once_take_the_time_of_one() {
    let planes = Timing { plane_overlap: PlaneOverlap::Independent, ..timing() };
    let both = |timing: &Timing| {
        after(timing, |nand| {
            erase(nand, 0);
            erase(nand, 4);
        })
    };
    for (timing, first, second) in [(planes, ERASE, ERASE), (timing(), 2 * ERASE, 2 * ERASE)] {
        let nand = both(&timing);
        assert_free_at(&nand, 1, first);
        assert_free_at(&nand, 5, second);
    }
}

#[test]
fn spare_areas_and_retired_blocks_have_their_die_as_long_as_they_take() {
    let nand = after(&timing(), |nand| {
        nand.read_spare(old(0, 0)).unwrap();
    });
    assert_free_at(&nand, 1, READ + SPARE);
    assert_bus_free_at(&nand, READ + SPARE);
    let nand = after(&timing(), |nand| {
        nand.program_spare(old(0, 0), oob(1)).unwrap();
    });
    assert_bus_free_at(&nand, SPARE);
    assert_free_at(&nand, 1, SPARE + PROGRAM);
    let nand = after(&timing(), |nand| {
        nand.retire(BlockId(3)).unwrap();
    });
    assert_free_at(&nand, 1, SPARE + PROGRAM);
    let nand = after(&timing(), |nand| {
        nand.read_tail(old(0, 0), &mut [0; 8]).unwrap();
    });
    assert_bus_free_at(&nand, READ + TAIL_ON_BUS);
    assert_free_at(&nand, 1, READ + TAIL_ON_BUS);
}

#[test]
fn what_needs_an_operation_starts_at_its_end_and_not_before() {
    // A read on the other die that needs this die's program (read-modify-write), and a read that does not.
    for (needs, end) in [(true, PAGE + PROGRAM + READ + PAGE), (false, READ + PAGE)] {
        let nand = after(&timing(), |nand| {
            let done = program(nand, new(0, 0));
            if needs {
                nand.ctx().after(done);
            }
            read(nand, old(2, 0));
        });
        assert_free_at(&nand, 8, end);
    }
}
