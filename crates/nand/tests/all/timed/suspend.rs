//! Reads that suspend erases and programs, to the nanosecond.

use super::*;
use nandlab_nand::profile::Suspend;
use nandlab_nand::traced::{OpRecord, Traced};

const SUSPEND: Time = 20 * US;
const RESUME: Time = 30 * US;

fn suspending(most_reads: u32) -> Timing {
    let suspend = Suspend { suspend_us: 20.0, resume_us: 30.0, most_reads, programs: true, slice_us: None };
    Timing { suspend: Some(suspend), copy: PageCopy::Copyback, ..timing() }
}

/// As [`device`], with a clock that suspends if `timing` says so.
fn device(channels: u32, dies_per_channel: u32, planes_per_die: u32, timing: &Timing) -> Timed<Counting, true> {
    let plain = Timing { suspend: None, ..*timing };
    Timed::with_extras(super::device(channels, dies_per_channel, planes_per_die, &plain).into_inner(), timing)
}

/// A host read on die 0 that comes at `arrival`; returns its end.
fn host_read(nand: &mut Timed<Counting, true>, arrival: Time) -> Time {
    nand.ctx().begin(Origin::HOST, arrival);
    read(nand, old(0, 9));
    nand.ctx().finish()
}

/// A device whose first die erases its first block in the background from time 0.
fn erasing(timing: &Timing) -> Timed<Counting, true> {
    let mut nand = device(1, 2, 1, timing);
    scoped(&mut nand, Cause::Gc, |nand| erase(nand, 0));
    nand
}

#[test]
fn a_read_suspends_an_erase_which_goes_on_from_where_it_was() {
    let mut nand = erasing(&suspending(16));
    let end = host_read(&mut nand, 1000 * US);
    assert_eq!(end, 1000 * US + SUSPEND + READ + PAGE);
    let erased = end + RESUME + (ERASE - 1000 * US);
    assert_free_at(&nand, 1, erased);
    assert_eq!((nand.ctx().horizon(), nand.ctx().reads_ahead()), (erased, 1));
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
        let mut nand = erasing(&suspending(16));
        assert_eq!(host_read(&mut nand, arrival), start + READ + PAGE, "arrival {arrival}");
        assert_free_at(&nand, 1, erased);
        assert_eq!(nand.ctx().reads_ahead(), u64::from(arrival < ERASE - SUSPEND), "arrival {arrival}");
    }
}

#[test]
fn a_read_that_comes_while_another_has_the_die_follows_it_and_a_later_one_suspends_again() {
    let first = 1000 * US + SUSPEND + READ + PAGE;
    let left = ERASE - 1000 * US;
    for (arrival, start) in [
        (1000 * US, first),
        (first, first),
        // The erase is resuming, and is suspended again as soon as it has resumed.
        (first + 1, first + RESUME + SUSPEND),
        (first + RESUME, first + RESUME + SUSPEND),
        (first + RESUME + 1, first + RESUME + 1 + SUSPEND),
    ] {
        let mut nand = erasing(&suspending(16));
        assert_eq!(host_read(&mut nand, 1000 * US), first);
        let end = host_read(&mut nand, arrival);
        assert_eq!(end, start + READ + PAGE, "arrival {arrival}");
        let gone = arrival.saturating_sub(first + RESUME);
        assert_free_at(&nand, 1, end + RESUME + left - gone);
    }
}

#[test]
fn an_erase_gives_way_to_so_many_reads() {
    let mut nand = erasing(&suspending(2));
    host_read(&mut nand, 1000 * US);
    let second = host_read(&mut nand, 1000 * US);
    let erased = second + RESUME + ERASE - 1000 * US;
    assert_eq!(host_read(&mut nand, 1500 * US), erased + READ + PAGE, "the third waits");
    let mut nand = erasing(&suspending(0));
    assert_eq!(host_read(&mut nand, 1), ERASE + READ + PAGE);
}

#[test]
fn a_read_goes_in_front_of_an_erase_that_has_not_begun() {
    let written = PAGE + PROGRAM;
    let waiting = || {
        let mut nand = device(1, 2, 1, &suspending(16));
        program(&mut nand, new(0, 0));
        scoped(&mut nand, Cause::Gc, |nand| erase(nand, 0));
        nand
    };
    for (arrival, end, erased) in [
        (100 * US, written + READ + PAGE, written + READ + PAGE + ERASE),
        (written, written + READ + PAGE, written + READ + PAGE + ERASE),
        (written + 1, written + 1 + SUSPEND + READ + PAGE, written + 1 + SUSPEND + READ + PAGE + RESUME + ERASE - 1),
    ] {
        let mut nand = waiting();
        assert_eq!(host_read(&mut nand, arrival), end, "arrival {arrival}");
        assert_free_at(&nand, 1, erased);
    }
    // A waiting operation on another die leaves a gap: a read that ends in it delays nothing.
    let gap = |ready: Time| {
        let mut nand = device(1, 2, 1, &suspending(16));
        nand.ctx().after(ready);
        scoped(&mut nand, Cause::Gc, |nand| erase(nand, 0));
        assert_eq!(host_read(&mut nand, 0), READ + PAGE);
        nand
    };
    assert_free_at(&gap(READ + PAGE), 1, READ + PAGE + ERASE);
    assert_free_at(&gap(READ + PAGE - 1), 1, READ + PAGE + ERASE);
    assert_free_at(&gap(READ + PAGE + 1), 1, READ + PAGE + 1 + ERASE);
}

#[test]
fn a_background_program_is_suspended_where_the_profile_says() {
    let copying = |programs: bool| {
        let suspend = suspending(16).suspend.map(|suspend| Suspend { programs, ..suspend });
        let mut nand = device(1, 2, 1, &Timing { suspend, ..suspending(16) });
        scoped(&mut nand, Cause::Gc, |nand| nand.copy(old(0, 0), new(0, 0), oob(0)).unwrap());
        nand
    };
    // Copyback: it reads for 50 us, then programs; the read phase is not interrupted.
    for (arrival, start, left) in
        [(0, READ + SUSPEND, PROGRAM), (READ, READ + SUSPEND, PROGRAM), (READ + 1, READ + 1 + SUSPEND, PROGRAM - 1)]
    {
        let mut nand = copying(true);
        let end = host_read(&mut nand, arrival);
        assert_eq!(end, start + READ + PAGE, "arrival {arrival}");
        assert_free_at(&nand, 1, end + RESUME + left);
    }
    assert_eq!(host_read(&mut copying(false), READ + 1), READ + PROGRAM + READ + PAGE);
}

#[test]
fn what_a_request_waits_for_and_what_others_wait_behind_is_not_suspended() {
    let timing = suspending(16);
    // A request's program, with its end already reported.
    let mut nand = device(1, 2, 1, &timing);
    program(&mut nand, new(0, 0));
    assert_eq!(host_read(&mut nand, 100 * US), PAGE + PROGRAM + READ + PAGE);
    // An erase with a request waiting for it.
    let mut nand = device(1, 2, 1, &timing);
    erase(&mut nand, 0);
    assert_eq!(host_read(&mut nand, 100 * US), ERASE + READ + PAGE);
    // An erase with a program behind it.
    let mut nand = erasing(&timing);
    let written = program(&mut nand, Ppa(0));
    assert_eq!(written, ERASE + PAGE + PROGRAM);
    assert_eq!(host_read(&mut nand, 100 * US), written + READ + PAGE);
    // A read by the collection itself.
    let mut nand = erasing(&timing);
    nand.ctx().begin(Origin::HOST, 100 * US);
    assert_eq!(scoped(&mut nand, Cause::Gc, |nand| read(nand, old(0, 9))), ERASE + READ + PAGE);
}

#[test]
fn a_read_that_suspends_waits_for_its_bus_like_any_other() {
    let mut nand = erasing(&suspending(16));
    // The page of the other die has the bus from 1,060 to 1,070 us; the read's page would use it at 1,065.
    nand.ctx().begin(Origin::HOST, 995 * US);
    nand.ctx().after(1060 * US);
    program(&mut nand, new(1, 0));
    let end = host_read(&mut nand, 995 * US);
    assert_eq!(end, 1070 * US + PAGE);
    assert_free_at(&nand, 1, end + RESUME + ERASE - 995 * US);
}

/// Each page of many reads has the bus alone, however many erases are suspended at once.
#[test]
fn a_bus_that_all_need_is_never_taken_twice() {
    let mut nand = device(1, 8, 1, &suspending(200));
    for die in 0..8 {
        scoped(&mut nand, Cause::Gc, |nand| erase(nand, 4 * die));
    }
    // 200 reads per die at once: sensing takes as long as five transfers, and eight dies sense in parallel.
    let mut ends = Vec::new();
    for n in 0..1600 {
        nand.ctx().begin(Origin::HOST, US);
        ends.push(read(&mut nand, old(n % 8, 9)));
    }
    ends.sort_unstable();
    assert!(ends.windows(2).all(|pair| pair[1] - pair[0] >= PAGE), "two pages at once");
    assert_eq!(ends[0], US + SUSPEND + READ + PAGE);
    assert_eq!(*ends.last().unwrap(), US + SUSPEND + READ + 1600 * PAGE, "and the bus never rests");
}

/// The log is written at issue time, so each read also reports the later end it caused.
#[test]
fn a_log_tells_how_much_later_ends_what_gave_way() {
    let log = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = log.clone();
    let mut nand = Traced::new(
        device(1, 2, 1, &suspending(16)),
        Box::new(move |record: &OpRecord| sink.lock().unwrap().push((record.end_ns, record.delayed_ns))),
    );
    scoped(&mut nand, Cause::Gc, |nand| erase(nand, 0));
    let first = 1000 * US + SUSPEND + READ + PAGE;
    for arrival in [1000 * US, 1000 * US, 2 * ERASE] {
        nand.ctx().begin(Origin::HOST, arrival);
        read(&mut nand, old(0, 9));
    }
    // The second read follows the first while the die is held for it, so the erase continues after both; the
    // last read comes later.
    let (one, two) = (SUSPEND + READ + PAGE + RESUME, READ + PAGE);
    let expected =
        [(ERASE, None), (first, Some(one)), (first + READ + PAGE, Some(two)), (2 * ERASE + READ + PAGE, None)];
    assert_eq!(*log.lock().unwrap(), expected);
    assert_eq!(first + READ + PAGE + RESUME + ERASE - 1000 * US, ERASE + one + two, "when the erase ends");
}
