//! The longest request's breakdown, compared with cases worked by hand.

use super::*;
use nandlab_nand::Stall;

/// By cause, a stall's nonzero times: its own, and others'.
fn parts(stall: &Stall) -> Vec<(Cause, Time, Time)> {
    let part = |&cause: &Cause| (cause, stall.own[cause as usize], stall.others[cause as usize]);
    Cause::ALL.iter().map(part).filter(|&(_, own, others)| own + others > 0).collect()
}

/// Carries out one request at `arrival`.
fn request(
    nand: &mut Timed<Counting, true>,
    arrival: Time,
    operations: impl FnOnce(&mut Timed<Counting, true>),
) -> Time {
    let done = super::request(nand, arrival, operations);
    nand.ctx().request_done(arrival, done);
    done
}

fn watched(channels: u32, dies_per_channel: u32) -> Timed<Counting, true> {
    let mut nand = by_events(channels, dies_per_channel, 1, &timing());
    nand.ctx().look_for_stalls();
    nand
}

/// The longest request's breakdown; its parts must sum to its time.
fn longest(nand: &mut Timed<Counting, true>) -> Stall {
    let stall = nand.ctx().longest_stall().unwrap().clone();
    assert_eq!(stall.total(), stall.done - stall.arrival);
    stall
}

/// Three copies from a block and its erase, in the background.
fn collect(nand: &mut Timed<Counting, true>) {
    scoped(nand, Cause::Gc, |nand| {
        for page in 0..3 {
            nand.copy(old(0, page), new(0, page), oob(page)).unwrap();
        }
        erase(nand, 0);
    });
}

/// One copy takes a read, two transfers and a program.
const COPY: Time = READ + 2 * PAGE + PROGRAM;

#[test]
fn a_write_behind_a_collection_waits_for_its_copies_and_its_erase() {
    let mut nand = watched(1, 1);
    let done = request(&mut nand, 0, |nand| {
        program(nand, new(0, 3));
        collect(nand);
    });
    assert_eq!(done, PAGE + PROGRAM, "the collection is in the background");
    request(&mut nand, done, |nand| {
        program(nand, new(0, 4));
    });
    let stall = longest(&mut nand);
    assert_eq!(parts(&stall), [(Cause::Host, PAGE + PROGRAM, 0), (Cause::Gc, 0, 3 * COPY + ERASE)]);
    assert_eq!((stall.arrival, stall.elsewhere, stall.unknown), (done, 0, 0));
}

#[test]
fn a_request_that_comes_later_waits_for_the_rest_of_it() {
    let mut nand = watched(1, 1);
    let done = request(&mut nand, 0, |nand| {
        program(nand, new(0, 3));
        collect(nand);
    });
    let free = done + 3 * COPY + ERASE;
    request(&mut nand, free - 700 * US, |nand| {
        read(nand, old(0, 9));
    });
    assert_eq!(parts(&longest(&mut nand)), [(Cause::Host, READ + PAGE, 0), (Cause::Gc, 0, 700 * US)]);
    let mut nand = watched(1, 1);
    request(&mut nand, 0, collect);
    request(&mut nand, 3 * COPY + ERASE, |nand| {
        read(nand, old(0, 9));
    });
    assert_eq!(parts(&longest(&mut nand)), [(Cause::Host, READ + PAGE, 0)], "the die is free");
}

#[test]
fn a_collection_that_the_request_itself_waits_for_is_its_own() {
    let mut nand = watched(1, 2);
    request(&mut nand, 0, |nand| {
        collect(nand);
        let end = nand.ctx().last();
        nand.ctx().after(end);
        // On another die, so the operation waits for the erase alone.
        program(nand, new(1, 0));
    });
    assert_eq!(parts(&longest(&mut nand)), [(Cause::Host, PAGE + PROGRAM, 0), (Cause::Gc, 3 * COPY + ERASE, 0)]);
}

#[test]
fn what_is_last_in_the_way_counts_and_nothing_beside_it() {
    for (busy, map, wear) in [(0, READ + PAGE, 0), (200 * US, 0, 200 * US)] {
        let mut nand = watched(2, 1);
        request(&mut nand, 0, |nand| {
            scoped(nand, Cause::WearLeveling, |nand| program(nand, new(1, 0)));
        });
        let arrival = PAGE + PROGRAM - busy;
        request(&mut nand, arrival, |nand| {
            let found = scoped(nand, Cause::Map, |nand| read(nand, old(0, 0)));
            nand.ctx().after(found);
            program(nand, new(1, 1));
        });
        let expected = [(Cause::Host, PAGE + PROGRAM, 0), (Cause::Map, map, 0), (Cause::WearLeveling, 0, wear)];
        let expected: Vec<_> = expected.into_iter().filter(|&(_, own, others)| own + others > 0).collect();
        assert_eq!(parts(&longest(&mut nand)), expected);
    }
}

#[test]
fn a_wait_for_the_channel_counts_for_the_transfers_that_have_it() {
    let mut nand = watched(1, 2);
    request(&mut nand, 0, |nand| {
        scoped(nand, Cause::Gc, |nand| nand.copy(old(0, 0), new(0, 0), oob(0)).unwrap());
    });
    // Sensed at 55 us, and the bus is taken from 50 to 70.
    assert_eq!(
        request(&mut nand, 5 * US, |nand| {
            read(nand, old(1, 0));
        }),
        80 * US
    );
    assert_eq!(parts(&longest(&mut nand)), [(Cause::Host, READ + PAGE, 0), (Cause::Gc, 0, 15 * US)]);
}

#[test]
fn a_transfer_that_asks_later_delays_nothing() {
    let mut nand = watched(1, 3);
    request(&mut nand, 0, |nand| {
        read(nand, old(0, 0));
    });
    request(&mut nand, 15 * US, |nand| {
        scoped(nand, Cause::Gc, |nand| read(nand, old(1, 0)));
    });
    // The bus is taken from 50 to 60; the other page is ready at 65, behind this one.
    assert_eq!(
        request(&mut nand, 52 * US, |nand| {
            program(nand, new(2, 0));
        }),
        60 * US + PAGE + PROGRAM
    );
    assert_eq!(parts(&longest(&mut nand)), [(Cause::Host, PAGE + PROGRAM, 8 * US)]);
}

#[test]
fn an_erase_behind_a_fence_leads_back_to_the_other_die() {
    let mut nand = watched(2, 1);
    request(&mut nand, 0, |nand| {
        scoped(nand, Cause::Gc, |nand| {
            let written = program(nand, new(0, 0));
            nand.ctx().fence_at(written);
            erase(nand, 4);
        });
    });
    request(&mut nand, 0, |nand| {
        read(nand, old(1, 8));
    });
    let stall = longest(&mut nand);
    assert_eq!(parts(&stall), [(Cause::Host, READ + PAGE, 0), (Cause::Gc, 0, PAGE + PROGRAM + ERASE)]);
}

#[test]
fn a_request_without_operations_of_its_own_waited_for_other_memories_or_others() {
    let mut nand = watched(1, 1);
    let done = request(&mut nand, 0, |nand| {
        program(nand, new(0, 3));
        collect(nand);
    });
    let end = done + 3 * COPY + ERASE;
    let name = nand.ctx().last();
    let mut flushed = nand.clone();
    // A flush that waits for the collection.
    request(&mut flushed, done, |nand| nand.ctx().wait_until(name));
    assert_eq!(parts(&longest(&mut flushed)), [(Cause::Gc, 0, 3 * COPY + ERASE)]);
    // A 600 us read from a buffer's memory without a flash operation, and a read that starts with flash.
    let mut buffered = nand.clone();
    buffered.ctx().request_done(done, done + 600 * US);
    let stall = longest(&mut buffered);
    assert_eq!((parts(&stall), stall.elsewhere), (vec![], 600 * US));
    let read = super::request(&mut nand, end, |nand| _ = read(nand, old(0, 8)));
    nand.ctx().request_done(end, read + 600 * US);
    let stall = longest(&mut nand);
    assert_eq!((parts(&stall), stall.elsewhere), (vec![(Cause::Host, READ + PAGE, 0)], 600 * US));
}

#[test]
fn the_first_of_the_longest_is_kept_while_others_come_and_go() {
    let mut nand = watched(1, 1);
    request(&mut nand, 0, collect);
    let mut now = 1000 * US;
    // The second request waits; thousands of later requests do not, and their records are forgotten.
    now = request(&mut nand, now, |nand| {
        read(nand, old(0, 9));
    });
    for _ in 0..5_000 {
        now = request(&mut nand, now, |nand| {
            read(nand, old(0, 9));
        }) + US;
    }
    let stall = longest(&mut nand);
    let waited = 3 * COPY + ERASE - 1000 * US;
    assert_eq!(parts(&stall), [(Cause::Host, READ + PAGE, 0), (Cause::Gc, 0, waited)]);
}

#[test]
fn a_backlog_is_remembered_up_to_a_limit() {
    for (requests, is_known) in [(3, true), (60_000, true), (70_000, false), (200_000, false)] {
        let mut nand = watched(1, 2);
        for n in 0..requests {
            request(&mut nand, 0, |nand| {
                read(nand, old(n % 2, 0));
            });
        }
        let stall = longest(&mut nand);
        assert_eq!(stall.unknown == 0, is_known, "{requests}: {stall:?}");
        assert_eq!(stall.elsewhere, 0);
        if is_known {
            assert_eq!(stall.own[Cause::Host as usize], READ + PAGE);
        }
    }
}

/// Random operations on random dies: the parts of each request sum to its time, and only flash delayed it.
#[test]
fn every_request_is_accounted_for_whole() {
    let mut random = Random::new(7);
    for (channels, dies) in [(1, 1), (1, 4), (2, 2)].repeat(200) {
        let mut slots = [0; 4];
        let mut nand = watched(channels, dies);
        for _ in 0..30 {
            let slot = (0..slots.len()).min_by_key(|&slot| slots[slot]).unwrap();
            slots[slot] = request(&mut nand, slots[slot], |nand| {
                for _ in 0..random.below(4) {
                    let cause = Cause::ALL[random.below(14) as usize];
                    let plane = random.below(u64::from(channels * dies)) as u32;
                    scoped(nand, cause, |nand| match random.below(4) {
                        0 => erase(nand, plane * 4 + 3),
                        1 => nand.copy(old(plane, 1), Ppa(plane * 32 + 24), oob(0)).map_or(0, |_| 0),
                        _ => read(nand, old(plane, 0)),
                    });
                    if random.below(2) == 0 {
                        let last = nand.ctx().last();
                        nand.ctx().after(last);
                    }
                    scoped(nand, Cause::Gc, |nand| erase(nand, plane * 4 + 3));
                }
                read(nand, old(0, 0));
            });
            let stall = longest(&mut nand);
            assert_eq!((stall.elsewhere, stall.unknown), (0, 0), "{stall:?}");
        }
    }
}
