//! The order of events: closed forms, and a plain event model of random reads.

use super::*;
use nandlab_nand::profile::{ByType, Order, PageTypes, Suspend};
use nandlab_nand::Answer;
use std::collections::VecDeque;

fn events() -> Timing {
    Timing { order: Order::Events, ..timing() }
}

fn suspend(slice_us: Option<f64>, most_reads: u32) -> Option<Suspend> {
    Some(Suspend { suspend_us: 20.0, resume_us: 30.0, most_reads, programs: true, slice_us })
}

/// A device that follows events, on which requests are played.
struct Player {
    nand: Timed<Counting, true>,
    requests: u64,
}

impl Player {
    fn new(channels: u32, dies: u32, timing: &Timing) -> Self {
        let plain = Timing { order: Order::Issue, ..self::timing() };
        let inner = super::device(channels, dies, 1, &plain).into_inner();
        let mut nand = Timed::with_extras(inner, timing);
        nand.ctx().follow_events();
        Self { nand, requests: 0 }
    }

    /// A request at `arrival`; returns its number.
    fn request(&mut self, arrival: Time, work: impl FnOnce(&mut Timed<Counting, true>)) -> u64 {
        let number = self.requests;
        self.requests += 1;
        self.pass(arrival);
        self.nand.ctx().begin(Origin::HOST, arrival);
        self.nand.ctx().timeline().unwrap().open(number);
        work(&mut self.nand);
        self.nand.ctx().timeline().unwrap().close(arrival);
        number
    }

    /// Everything until `time` takes place, unseen.
    fn pass(&mut self, time: Time) {
        if time > 0 {
            while self.nand.ctx().timeline().unwrap().step(time - 1).is_some() {}
        }
    }

    /// The requests' ends, by number.
    fn ends(&mut self) -> Vec<Time> {
        let mut ends = vec![0; self.requests as usize];
        while let Some(answer) = self.nand.ctx().timeline().unwrap().step(Time::MAX) {
            if let Answer::Done { request, at } = answer {
                ends[request as usize] = at;
            }
        }
        ends
    }
}

/// Plays reads and programs of planes, each at its time; returns their ends.
fn play(timing: &Timing, dies: u32, requests: &[(Time, char, u32, u32)]) -> Vec<Time> {
    let mut player = Player::new(1, dies, timing);
    let mut ends = vec![0; requests.len()];
    for &(arrival, what, plane, page) in requests {
        // Ends that pass are kept, too.
        while let Some(answer) = player.nand.ctx().timeline().unwrap().step(arrival) {
            if let Answer::Done { request, at } = answer {
                ends[request as usize] = at;
            }
        }
        player.request(arrival, |nand| match what {
            'r' => drop(read(nand, old(plane, page))),
            'p' => drop(program(nand, new(plane, page))),
            _ => drop(erase(nand, plane * 4)),
        });
    }
    for (end, late) in ends.iter_mut().zip(player.ends()) {
        *end = (*end).max(late);
    }
    ends
}

#[test]
fn one_operation_takes_the_time_of_the_data_sheet() {
    for (what, time) in [('r', READ + PAGE), ('p', PAGE + PROGRAM), ('e', ERASE)] {
        assert_eq!(play(&events(), 1, &[(7, what, 0, 0)]), [7 + time], "{what}");
    }
}

#[test]
fn the_channel_serves_the_unit_that_was_ready_first() {
    // Die 0 has three reads; the read of die 1 comes later, and is ready before the third.
    let requests = [(0, 'r', 0, 0), (0, 'r', 0, 1), (0, 'r', 0, 2), (64 * US, 'r', 1, 0)];
    assert_eq!(play(&events(), 2, &requests), [60 * US, 120 * US, 180 * US, 130 * US]);
    // By issue, the third read keeps its place, 170 to 180; a read that is ready at 169 goes behind it.
    let requests = [(0, 'r', 0, 0), (0, 'r', 0, 1), (0, 'r', 0, 2), (119 * US, 'r', 1, 0)];
    assert_eq!(play(&events(), 2, &requests), [60 * US, 120 * US, 189 * US, 179 * US]);
}

#[test]
fn a_copy_between_dies_waits_for_its_read() {
    let mut player = Player::new(1, 2, &events());
    let mut next = player.request(0, |nand| {
        read(nand, old(0, 0));
    });
    assert_eq!(next, 0);
    next = player.request(0, |nand| {
        nand.copy(old(0, 1), new(1, 0), Oob::renewed(0, Seq(9))).unwrap();
    });
    assert_eq!(next, 1);
    // Read of die 0 until 60, its copy's read until 120, then into die 1.
    assert_eq!(player.ends(), [60 * US, 120 * US + PAGE + PROGRAM]);
}

#[test]
fn reads_go_ahead_of_waiting_programs() {
    let requests = [(0, 'p', 0, 0), (0, 'p', 0, 1), (0, 'r', 0, 0)];
    let one = PAGE + PROGRAM;
    assert_eq!(play(&events(), 1, &requests), [one, 2 * one, 2 * one + READ + PAGE]);
    let first = Timing { read_first: true, ..events() };
    let read_end = one + READ + PAGE;
    assert_eq!(play(&first, 1, &requests), [one, read_end + one, read_end]);
}

#[test]
fn the_next_page_is_read_during_a_transfer() {
    let requests = [(0, 'r', 0, 0), (0, 'r', 0, 1), (0, 'r', 0, 2)];
    let cache = Timing { read_cache: true, ..events() };
    assert_eq!(play(&cache, 1, &requests), [1, 2, 3].map(|n| n * READ + PAGE), "the array is the bottleneck");
    let slow = Timing { transfer_ns_per_byte: BYTE_NS * 20.0, ..cache };
    assert_eq!(play(&slow, 1, &requests), [1, 2, 3].map(|n| READ + n * 20 * PAGE), "the channel is");
}

#[test]
fn a_program_stops_for_a_read_and_goes_on() {
    let timing = Timing { read_first: true, suspend: suspend(None, 16), ..events() };
    let ends = play(&timing, 1, &[(0, 'p', 0, 0), (100 * US, 'r', 0, 0)]);
    let read_end = 100 * US + 20 * US + READ + PAGE;
    // 90 of 500 us are done at 100 us.
    assert_eq!(ends, [read_end + 30 * US + 410 * US, read_end]);
    // In the last 20 us it is left alone.
    let ends = play(&timing, 1, &[(0, 'p', 0, 0), (495 * US, 'r', 0, 0)]);
    assert_eq!(ends, [510 * US, 510 * US + READ + PAGE]);
}

#[test]
fn a_sliced_program_stops_between_slices_for_some_reads() {
    let timing = Timing { read_first: true, suspend: suspend(Some(200.0), 1), ..events() };
    let reads = [(0, 'p', 0, 0), (50 * US, 'r', 0, 0), (60 * US, 'r', 0, 1), (70 * US, 'r', 0, 2)];
    // Slices end at 210, 200 after each pause, and 100 after the last.
    let first = 210 * US + READ + PAGE;
    let second = first + 30 * US + 200 * US + READ + PAGE;
    let end = second + 30 * US + 100 * US;
    assert_eq!(play(&timing, 1, &reads), [end, first, second, end + READ + PAGE]);
    let two = Timing { suspend: suspend(Some(200.0), 2), ..timing };
    let second = first + READ + PAGE;
    let third = second + 30 * US + 200 * US + READ + PAGE;
    assert_eq!(play(&two, 1, &reads), [third + 30 * US + 100 * US, first, second, third]);
}

#[test]
fn a_die_gathers_pages_and_programs_them_at_once() {
    let timing = Timing { program_pages: 3, ..events() };
    let requests: Vec<_> = (0..4).map(|page| (0, 'p', 0, page)).collect();
    let group = 3 * PAGE + PROGRAM;
    assert_eq!(play(&timing, 1, &requests), [PAGE, 2 * PAGE, group, group + PAGE]);
    // The same by issue.
    let issue = Timing { order: Order::Issue, ..timing };
    let mut nand = Timed::with_extras(super::device(1, 1, 1, &self::timing()).into_inner(), &issue);
    assert_eq!([0, 1, 2, 3].map(|page| program(&mut nand, new(0, page))), [PAGE, 2 * PAGE, group, group + PAGE]);
}

#[test]
fn page_types_have_their_own_times() {
    let types = PageTypes { read_us: ByType::new(&[40.0, 50.0, 70.0]).unwrap(), program_us: None };
    for order in [Order::Issue, Order::Events] {
        let timing = Timing { page_types: Some(types), order, ..timing() };
        let mut nand = Timed::with_extras(super::device(1, 1, 1, &self::timing()).into_inner(), &timing);
        let mut before = 0;
        for (page, us) in [(0, 40), (1, 50), (2, 70), (3, 40)] {
            let end = read(&mut nand, old(0, page));
            assert_eq!(end - before, us * US + PAGE, "page {page}");
            before = end;
        }
    }
}

/// Random reads in a closed loop, one event after the other: dies read in order of arrival and hold their page until
/// it is transferred; the channel serves the die that was ready first. Returns all latencies.
fn plain_model(channels: usize, dies: usize, depth: u64, reads: &[usize]) -> Vec<Time> {
    let mut queues = vec![VecDeque::new(); dies];
    let mut ready: Vec<VecDeque<usize>> = vec![VecDeque::new(); channels];
    let mut is_moving = vec![false; channels];
    let mut events = BinaryHeap::new();
    let (mut latencies, mut number, mut reads) = (Vec::new(), 0, reads.iter().copied());
    let mut arrive = |time: Time, queues: &mut Vec<VecDeque<Time>>, events: &mut BinaryHeap<_>, number: &mut u64| {
        let Some(die) = reads.next() else { return };
        queues[die].push_back(time);
        if queues[die].len() == 1 {
            *number += 1;
            events.push(Reverse((time + READ, *number, false, die)));
        }
    };
    for _ in 0..depth {
        arrive(0, &mut queues, &mut events, &mut number);
    }
    while let Some(Reverse((time, _, is_transfer, die))) = events.pop() {
        let channel = die * channels / dies;
        if is_transfer {
            latencies.push(time - queues[die].pop_front().unwrap());
            is_moving[channel] = false;
            if !queues[die].is_empty() {
                number += 1;
                events.push(Reverse((time + READ, number, false, die)));
            }
        } else {
            ready[channel].push_back(die);
        }
        if !is_moving[channel] {
            if let Some(next) = ready[channel].pop_front() {
                is_moving[channel] = true;
                number += 1;
                events.push(Reverse((time + PAGE, number, true, next)));
            }
        }
        if is_transfer {
            arrive(time, &mut queues, &mut events, &mut number);
        }
    }
    latencies
}

/// Within 1 %: the two resolve ties of equal times in different ways.
#[test]
fn random_reads_take_as_long_as_in_a_plain_event_model() {
    let (channels, dies) = (2, 16);
    for depth in [1, 4, 16, 64] {
        let mut random = Random::new(depth);
        let reads: Vec<usize> = (0..20_000).map(|_| random.below(dies) as usize).collect();
        let mut expected = plain_model(channels, dies as usize, depth, &reads);

        let mut player = Player::new(channels as u32, dies as u32 / channels as u32, &events());
        let mut outstanding = VecDeque::from(vec![0; depth as usize]);
        let (mut arrivals, mut found) = (Vec::new(), Vec::new());
        for &die in &reads {
            while outstanding.is_empty() {
                if let Some(Answer::Done { request, at }) = player.nand.ctx().timeline().unwrap().step(Time::MAX) {
                    found.push(at - arrivals[request as usize]);
                    outstanding.push_back(at);
                }
            }
            let arrival = outstanding.pop_front().unwrap();
            arrivals.push(arrival);
            let number = player.requests;
            player.requests += 1;
            player.nand.ctx().begin(Origin::HOST, arrival);
            player.nand.ctx().timeline().unwrap().open(number);
            read(&mut player.nand, old(die as u32, 0));
            player.nand.ctx().timeline().unwrap().close(arrival);
        }
        while let Some(answer) = player.nand.ctx().timeline().unwrap().step(Time::MAX) {
            if let Answer::Done { request, at } = answer {
                found.push(at - arrivals[request as usize]);
            }
        }
        let total = |latencies: &[Time]| latencies.iter().sum::<Time>() as f64;
        assert_eq!(found.len(), expected.len());
        let difference = total(&found) / total(&expected) - 1.0;
        assert!(difference.abs() < 1e-2, "depth {depth}: mean latency {difference:+}");
        found.sort_unstable();
        expected.sort_unstable();
        let p99 = found.len() * 99 / 100;
        let difference = found[p99] as f64 / expected[p99] as f64 - 1.0;
        assert!(difference.abs() < 1e-2, "depth {depth}: p99 {difference:+}");
    }
}
