//! The longest request's breakdown in the order of events, compared with cases worked by hand.

use super::*;
use nandlab_nand::profile::Suspend;
use nandlab_nand::{Answer, Stall};

/// Plays reads, programs and erases of dies on one channel, each at its time; the breakdown of the last one.
fn last_one(timing: Timing, dies: u32, requests: &[(Time, char, u32, u32)]) -> Stall {
    let mut nand = by_events(1, dies, 1, &timing);
    nand.ctx().look_for_stalls();
    for (number, &(arrival, what, plane, page)) in (0..).zip(requests) {
        while nand.ctx().timeline().unwrap().step(arrival).is_some() {}
        nand.ctx().begin(Origin::HOST, arrival);
        nand.ctx().timeline().unwrap().open(number);
        match what {
            'r' => drop(read(&mut nand, old(plane, page))),
            'p' => drop(program(&mut nand, new(plane, page))),
            'c' => {
                scoped(&mut nand, Cause::Gc, |nand| nand.copy(old(plane, page), new(plane, page), oob(page))).unwrap();
            }
            _ => {
                scoped(&mut nand, Cause::Gc, |nand| erase(nand, plane * 4 + 3));
            }
        }
        nand.ctx().timeline().unwrap().close(arrival);
    }
    let (last, arrival) = (requests.len() as u64 - 1, requests[requests.len() - 1].0);
    while let Some(answer) = nand.ctx().timeline().unwrap().step(Time::MAX) {
        if let Answer { request, at, is_done: true, .. } = answer {
            if request == last {
                nand.ctx().timeline().unwrap().answered(request, arrival, at);
            }
        }
    }
    let stall = nand.ctx().longest_stall().unwrap().clone();
    assert_eq!(stall.total(), stall.done - stall.arrival);
    assert_eq!((stall.elsewhere, stall.unknown), (0, 0));
    stall
}

fn parts(stall: &Stall) -> Vec<(Cause, Time, Time)> {
    let part = |&cause: &Cause| (cause, stall.own[cause as usize], stall.others[cause as usize]);
    Cause::ALL.iter().map(part).filter(|&(_, own, others)| own + others > 0).collect()
}

#[test]
fn a_read_waits_for_the_rest_of_a_program_and_an_erase() {
    let stall = last_one(timing(), 1, &[(0, 'p', 0, 0), (0, 'e', 0, 0), (100 * US, 'r', 0, 0)]);
    let program = PAGE + PROGRAM - 100 * US;
    assert_eq!(parts(&stall), [(Cause::Host, READ + PAGE, program), (Cause::Gc, 0, ERASE)]);
}

#[test]
fn a_read_waits_for_transfers_of_other_dies() {
    // All three are ready at the same time; the channel serves them in the order of issue.
    let stall = last_one(timing(), 3, &[(0, 'r', 0, 0), (0, 'r', 1, 0), (0, 'r', 2, 0)]);
    assert_eq!(parts(&stall), [(Cause::Host, READ + PAGE, 2 * PAGE)]);
}

#[test]
fn a_program_waits_for_the_reads_that_went_ahead() {
    let suspend = Suspend { suspend_us: 20.0, resume_us: 30.0, most_reads: 8, programs: true, slice_us: None };
    let first = Timing { read_first: true, suspend: Some(suspend), ..timing() };
    // The read comes during the erase, which stops and goes on; the program comes behind both.
    let stall = last_one(first, 1, &[(0, 'e', 0, 0), (10 * US, 'r', 0, 0), (10 * US, 'p', 0, 0)]);
    let erase = ERASE - 10 * US + 20 * US + 30 * US;
    assert_eq!(parts(&stall), [(Cause::Host, PAGE + PROGRAM, READ + PAGE), (Cause::Gc, 0, erase)]);
}

#[test]
fn a_write_waits_for_the_read_and_the_program_of_a_copy() {
    let stall = last_one(timing(), 1, &[(0, 'c', 0, 0), (0, 'p', 0, 9)]);
    assert_eq!(parts(&stall), [(Cause::Host, PAGE + PROGRAM, 0), (Cause::Gc, 0, READ + 2 * PAGE + PROGRAM)]);
}
