//! Reads that suspend erases and programs, to the nanosecond.

use super::*;
use nandlab_nand::profile::Suspend;

const SUSPEND: Time = 20 * US;
const RESUME: Time = 30 * US;

fn suspending(most_reads: u32, programs: bool) -> Timing {
    let suspend = Suspend { suspend_us: 20.0, resume_us: 30.0, most_reads, programs, slice_us: None };
    Timing { suspend: Some(suspend), copy: PageCopy::Copyback, ..timing() }
}

/// A host read on die 0 that comes at `arrival`; returns its end.
fn host_read(nand: &mut Timed<Counting, true>, arrival: Time) -> Time {
    request(nand, arrival, |nand| _ = read(nand, old(0, 9)))
}

/// A device whose first die erases its first block in the background from time 0.
fn erasing(timing: &Timing) -> Timed<Counting, true> {
    let mut nand = by_events(1, 2, 1, timing);
    issue(&mut nand, |nand| _ = scoped(nand, Cause::Gc, |nand| erase(nand, 0)));
    nand
}

#[test]
fn a_read_suspends_an_erase_which_goes_on_from_where_it_was() {
    let mut nand = erasing(&suspending(16, false));
    let end = host_read(&mut nand, 1000 * US);
    assert_eq!(end, 1000 * US + SUSPEND + READ + PAGE);
    assert_free_at(&nand, 1, end + RESUME + (ERASE - 1000 * US));
    assert_eq!(nand.ctx().reads_ahead(), 1);
    // Without the option the read waits.
    assert_eq!(host_read(&mut erasing(&timing()), 1000 * US), ERASE + READ + PAGE);
}

#[test]
fn an_erase_is_suspended_only_while_that_is_sooner_than_its_end() {
    for (arrival, start, erased) in [
        (1, 1 + SUSPEND, 1 + SUSPEND + READ + PAGE + RESUME + ERASE - 1),
        (ERASE - SUSPEND - 1, ERASE - 1, ERASE - 1 + READ + PAGE + RESUME + SUSPEND + 1),
        // Suspended in its last nanosecond, it would only lose time.
        (ERASE - SUSPEND, ERASE, ERASE + READ + PAGE),
        (ERASE, ERASE, ERASE + READ + PAGE),
        (ERASE + 1, ERASE + 1, ERASE + 1 + READ + PAGE),
    ] {
        let mut nand = erasing(&suspending(16, false));
        assert_eq!(host_read(&mut nand, arrival), start + READ + PAGE, "arrival {arrival}");
        assert_free_at(&nand, 1, erased);
        assert_eq!(nand.ctx().reads_ahead(), u64::from(arrival < ERASE - SUSPEND), "arrival {arrival}");
    }
}

#[test]
fn an_erase_gives_way_to_so_many_reads() {
    let mut nand = erasing(&suspending(2, false));
    // Three that come together: the third waits.
    let third = request(&mut nand, 1000 * US, |nand| (0..3).for_each(|_| _ = read(nand, old(0, 9))));
    let second = 1000 * US + SUSPEND + 2 * (READ + PAGE);
    assert_eq!(third, second + RESUME + ERASE - 1000 * US + READ + PAGE);
    assert_eq!(nand.ctx().reads_ahead(), 2);
}

#[test]
fn a_read_goes_in_front_of_an_erase_that_has_not_begun() {
    let written = PAGE + PROGRAM;
    for (arrival, end, erased) in [
        (100 * US, written + READ + PAGE, written + READ + PAGE + ERASE),
        (written + 1, written + 1 + SUSPEND + READ + PAGE, written + 1 + SUSPEND + READ + PAGE + RESUME + ERASE - 1),
    ] {
        let mut nand = by_events(1, 2, 1, &suspending(16, false));
        issue(&mut nand, |nand| {
            program(nand, new(0, 0));
            scoped(nand, Cause::Gc, |nand| erase(nand, 0));
        });
        assert_eq!(host_read(&mut nand, arrival), end, "arrival {arrival}");
        assert_free_at(&nand, 1, erased);
    }
}

#[test]
fn a_program_is_suspended_where_the_profile_says() {
    let copying = |programs: bool| {
        let mut nand = by_events(1, 2, 1, &suspending(16, programs));
        issue(&mut nand, |nand| _ = scoped(nand, Cause::Gc, |nand| nand.copy(old(0, 0), new(0, 0), oob(0)).unwrap()));
        nand
    };
    // Copyback: it reads for 50 us, then programs; the read phase is not interrupted.
    for (arrival, start, left) in
        [(1, READ + SUSPEND, PROGRAM), (READ, READ + SUSPEND, PROGRAM), (READ + 1, READ + 1 + SUSPEND, PROGRAM - 1)]
    {
        let mut nand = copying(true);
        let end = host_read(&mut nand, arrival);
        assert_eq!(end, start + READ + PAGE, "arrival {arrival}");
        assert_free_at(&nand, 1, end + RESUME + left);
    }
    assert_eq!(host_read(&mut copying(false), READ + 1), READ + PROGRAM + READ + PAGE);
}

/// A read by the collection itself waits, and so does a read behind it.
#[test]
fn only_reads_that_a_request_waits_for_go_ahead() {
    let mut nand = erasing(&suspending(16, false));
    let collect = |nand: &mut Timed<Counting, true>| _ = scoped(nand, Cause::Gc, |nand| read(nand, old(0, 9)));
    nand.ctx().begin(Origin::HOST, 100 * US);
    nand.ctx().open_alone(100 * US);
    collect(&mut nand);
    nand.ctx().close_alone();
    assert_free_at(&nand, 1, ERASE + READ + PAGE);
    assert_eq!(nand.ctx().reads_ahead(), 0);
}

/// Each page of many reads has the bus alone, however many erases are suspended at once.
#[test]
fn a_bus_that_all_need_is_never_taken_twice() {
    let mut nand = by_events(1, 8, 1, &suspending(200, false));
    issue(&mut nand, |nand| {
        for die in 0..8 {
            scoped(nand, Cause::Gc, |nand| erase(nand, 4 * die));
        }
    });
    // 200 reads per die at once: sensing takes as long as five transfers, and eight dies sense in parallel.
    let end = request(&mut nand, US, |nand| (0..1600).for_each(|n| _ = read(nand, old(n % 8, 9))));
    assert_eq!(end, US + SUSPEND + READ + 1600 * PAGE, "the bus never rests");
}
