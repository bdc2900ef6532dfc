//! Logs of an engine that carried out each phase of an operation as an event of its own, from one queue of events. Twenty-one
//! random devices and options on which no two events of a die or of a channel fall together; `replay.csv` has a line for each:
//! its seed, the latencies of its requests (until the host has the answer, and until the data is in flash), then the sums of
//! the waits, in ns.

use super::events::Player;
use super::random::{issue, Op, Ops};
use super::*;
use nandlab_nand::profile::{ByType, PageTypes, Suspend};
use nandlab_nand::Answer;
use std::fmt::Write;

/// Times without a common divisor, so that few events fall together.
fn options(random: &mut Random) -> Timing {
    let mut us = |least: u64, most: u64| (1000 * least + random.below(1000 * (most - least))) as f64 / 1000.0;
    let array = Timing::array(us(20, 90), us(150, 700), us(1000, 4000));
    let transfer_ns_per_byte = us(2, 90);
    let mut types = |least, most| ByType::new(&[0; 4].map(|_| us(least, most))).unwrap();
    let types = PageTypes { read_us: types(20, 90), program_us: Some(types(150, 700)) };
    let suspend = Suspend {
        suspend_us: us(3, 30),
        resume_us: us(3, 30),
        most_reads: 1 + random.below(4) as u32,
        programs: random.chance(0.5),
        slice_us: random.chance(0.4).then(|| 100.0 + random.below(90_000) as f64 / 1000.0),
    };
    let timing = Timing {
        transfer_ns_per_byte,
        copy: PageCopy::External,
        plane_overlap: if random.chance(0.5) { PlaneOverlap::None } else { PlaneOverlap::Independent },
        page_types: Some(types),
        read_first: random.chance(0.5),
        read_cache: random.chance(0.5),
        suspend: random.chance(0.5).then_some(suspend),
        ..array
    };
    // Only reads that go first stopped an operation in that engine; here they go first wherever operations stop.
    Timing { suspend: timing.suspend.filter(|_| timing.read_first), ..timing }
}

/// Issues a request: operations on any planes, in the background and not, some behind others.
fn work(nand: &mut Timed<Counting, true>, ops: &mut Ops, random: &mut Random) {
    let ready = nand.ctx().ready();
    for _ in 0..1 + random.below(4) {
        let cause = if random.chance(0.7) { Cause::Host } else { Cause::Gc };
        nand.ctx().set_cause(cause);
        let op = ops.next();
        if matches!(op, Op::Erase(..)) {
            nand.ctx().set_cause(Cause::Gc);
        }
        if random.chance(0.2) {
            let last = nand.ctx().last();
            nand.ctx().after(last);
        }
        let is_buffered = nand.ctx().set_buffered(random.chance(0.1));
        issue(nand, op);
        nand.ctx().set_buffered(is_buffered);
        nand.ctx().set_ready(ready);
    }
    if random.chance(0.1) {
        nand.ctx().set_cause(Cause::Host);
        let end = nand.ctx().last();
        nand.ctx().wait_until(end);
    }
}

/// The line of a device.
fn line(seed: u64, requests: u64) -> String {
    let mut random = Random::stream(seed, 7);
    let timing = options(&mut random);
    let shape = [1 + random.below(3) as u32, 1 + random.below(4) as u32, 1 + random.below(2) as u32];
    let mut player = Player::of_planes(shape, &timing);
    let mut ops = Ops::new(seed, shape.iter().product());
    let mean = [40_000, 150_000, 400_000][random.below(3) as usize];
    let (mut arrival, mut arrivals, mut ends) = (10_000_000, Vec::new(), vec![[0; 2]; requests as usize]);
    let mut note = |answer: Answer, arrivals: &[Time]| {
        let end = answer.at - arrivals[answer.request as usize];
        for (news, is) in [answer.is_done, answer.is_stored].into_iter().enumerate() {
            ends[answer.request as usize][news] = if is { end } else { ends[answer.request as usize][news] };
        }
    };
    for _ in 0..requests {
        arrival += random.below(2 * mean);
        while let Some(answer) = player.nand.ctx().timeline().unwrap().step(arrival) {
            note(answer, &arrivals);
        }
        arrivals.push(arrival);
        player.issue(arrival, |nand| work(nand, &mut ops, &mut random));
    }
    while let Some(answer) = player.nand.ctx().timeline().unwrap().step(Time::MAX) {
        note(answer, &arrivals);
    }
    let mut line = String::new();
    for [done, stored] in ends {
        write!(line, "{done} {stored} ").unwrap();
    }
    let waits = player.nand.ctx().waits();
    write!(line, "{} {}", waits.unit, waits.channel).unwrap();
    line
}

#[test]
fn operations_end_as_with_an_event_for_each_phase() {
    for (seed, logged) in include_str!("replay.csv").lines().map(|line| line.split_once(',').unwrap()) {
        let requests = (logged.split(' ').count() as u64 - 2) / 2;
        assert_eq!(line(seed.parse().unwrap(), requests), logged, "device {seed}");
    }
}
