//! The order of events: closed forms, and a plain event model of random reads.

use super::*;
use nandlab_nand::profile::{ByType, Order, PageTypes, Suspend};
use nandlab_nand::Answer;
use std::cell::Cell;
use std::collections::VecDeque;

fn events() -> Timing {
    Timing { order: Order::Events, ..timing() }
}

fn suspend(slice_us: Option<f64>, most_reads: u32) -> Option<Suspend> {
    Some(Suspend { suspend_us: 20.0, resume_us: 30.0, most_reads, programs: true, slice_us })
}

/// A device that follows events, on which requests are played.
pub(super) struct Player {
    pub(super) nand: Timed<Counting, true>,
    requests: u64,
}

impl Player {
    fn new(channels: u32, dies: u32, timing: &Timing) -> Self {
        Self::of_planes([channels, dies, 1], timing)
    }

    /// A device of channels, dies for each and planes for each.
    pub(super) fn of_planes([channels, dies, planes]: [u32; 3], timing: &Timing) -> Self {
        let plain = Timing { order: Order::Issue, ..self::timing() };
        let inner = super::device(channels, dies, planes, &plain).into_inner();
        let mut nand = Timed::with_extras(inner, timing);
        nand.ctx().follow_events();
        Self { nand, requests: 0 }
    }

    /// A request at `arrival`; returns its number.
    fn request(&mut self, arrival: Time, work: impl FnOnce(&mut Timed<Counting, true>)) -> u64 {
        self.pass(arrival);
        self.issue(arrival, work)
    }

    /// The same, when everything before it took place.
    pub(super) fn issue(&mut self, arrival: Time, work: impl FnOnce(&mut Timed<Counting, true>)) -> u64 {
        let number = self.requests;
        self.requests += 1;
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
    pub(super) fn ends(&mut self) -> Vec<Time> {
        let mut ends = vec![0; self.requests as usize];
        while let Some(answer) = self.nand.ctx().timeline().unwrap().step(Time::MAX) {
            if let Answer { request, at, is_done: true, .. } = answer {
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
            if let Answer { request, at, is_done: true, .. } = answer {
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

/// A read that needs the page of `first` to find its own, as a data page behind its map page.
fn read_behind(player: &mut Player, arrival: Time, first: Ppa, then: Ppa) {
    player.request(arrival, |nand| {
        read(nand, first);
        let found = nand.ctx().last();
        let before = nand.ctx().after(found);
        read(nand, then);
        nand.ctx().set_ready(before);
    });
}

/// Requests 1 and 2 each read a map page `m`, then a data page `d`; request 3 reads the data page `d3` alone.
///
/// ```text
/// die 0  |-- m1 --|-- m2 --|-- d2 --|
/// die 1   |-- d3 --|-- d1 --|            not: d1 first, after an idle time as long as m1
/// ```
#[test]
fn a_read_that_waits_for_its_map_page_leaves_its_die_to_others() {
    for read_first in [false, true] {
        let timing = Timing { read_first, ..events() };
        let one = READ + PAGE;
        let mut player = Player::new(2, 1, &timing);
        // Both map pages on die 0, the data of 1 on die 1, that of 2 on die 0.
        read_behind(&mut player, 0, old(0, 0), old(1, 0));
        read_behind(&mut player, 0, old(0, 1), old(0, 2));
        // Die 1 is idle until the first map page is there, at `one`.
        player.request(1, |nand| {
            read(nand, old(1, 1));
        });
        let ends = [one + one + 1, 3 * one, 1 + one];
        assert_eq!(player.ends(), ends, "read_first = {read_first}");

        // Crossed: each die has one request's map page and the other's data page, and both work all the time.
        let mut player = Player::new(2, 1, &timing);
        read_behind(&mut player, 0, old(0, 0), old(1, 0));
        read_behind(&mut player, 0, old(1, 1), old(0, 1));
        assert_eq!(player.ends(), [2 * one; 2], "read_first = {read_first}");
    }
}

/// A part of a page is written: its map page `m` tells where the older part `d` is, and the program `p` waits for both. A
/// read that was issued behind the program goes behind it.
///
/// ```text
/// die 0  |-- m --|
/// die 1          |-- d --|-- p --|-- r --|
/// ```
#[test]
fn a_read_that_a_waiting_program_needs_goes_before_it() {
    for read_first in [false, true] {
        let one = READ + PAGE;
        let mut player = Player::new(2, 1, &Timing { read_first, ..events() });
        player.request(0, |nand| {
            read(nand, old(0, 0));
            let found = nand.ctx().last();
            let before = nand.ctx().after(found);
            read(nand, old(1, 0));
            let older = nand.ctx().last();
            nand.ctx().after(older);
            program(nand, new(1, 0));
            nand.ctx().set_ready(before);
        });
        player.request(one + 1, |nand| {
            read(nand, old(1, 1));
        });
        let written = 2 * one + PAGE + PROGRAM;
        let ends = if read_first { [one + written, 3 * one] } else { [written, written + one] };
        assert_eq!(player.ends(), ends, "read_first = {read_first}");
        assert!(player.nand.ctx().timeline().unwrap().is_idle());
    }
}

#[test]
fn by_issue_a_read_uses_the_gap_before_one_that_waits_for_its_map_page() {
    let one = READ + PAGE;
    let behind = |nand: &mut Timed<Counting>, first: Ppa, then: Ppa| {
        nand.ctx().begin(Origin::HOST, 0);
        let found = read(nand, first);
        nand.ctx().after(found);
        read(nand, then)
    };
    // Crossed, as above.
    let mut nand = super::device(2, 1, 1, &timing());
    let ends = [behind(&mut nand, old(0, 0), old(1, 0)), behind(&mut nand, old(1, 1), old(0, 1))];
    assert_eq!(ends, [2 * one; 2]);
    // Die 1 is idle from 0 to `one`: a read must end by then, and a program closes the gap.
    let waiting = || {
        let mut nand = super::device(2, 1, 1, &timing());
        behind(&mut nand, old(0, 0), old(1, 0));
        nand
    };
    for (arrival, end) in [(0, one), (1, 3 * one), (one, 3 * one)] {
        let mut nand = waiting();
        nand.ctx().begin(Origin::HOST, arrival);
        assert_eq!(read(&mut nand, old(1, 1)), end, "arrival {arrival}");
        assert_eq!(read(&mut nand, old(1, 2)), end.max(2 * one) + one, "the gap is full");
    }
    let mut nand = waiting();
    nand.ctx().begin(Origin::HOST, 0);
    let programmed = program(&mut nand, new(1, 0));
    assert_eq!(programmed, 2 * one + PAGE + PROGRAM);
    assert_eq!(read(&mut nand, old(1, 1)), programmed + one);
    // Spare areas are shorter: several fit.
    let (mut nand, spare) = (waiting(), READ + SPARE);
    nand.ctx().begin(Origin::HOST, one - spare);
    nand.read_spare(old(1, 1)).unwrap();
    assert_eq!(nand.ctx().last(), one);
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

/// Times with few common multiples, so that few dies are ready for the channel at the same time.
const ODD_READ: Time = 50_021;
const ODD_PAGE: Time = 9_973;

fn odd() -> Timing {
    let transfer_ns_per_byte = ODD_PAGE as f64 / f64::from(PAGE_BYTES + SPARE_BYTES);
    Timing { read_us: ODD_READ as f64 / 1000.0, transfer_ns_per_byte, ..events() }
}

/// When the slots of a closed loop ask first.
fn starts(depth: u64) -> impl Iterator<Item = Time> {
    (0..depth).map(|slot| slot * 1_009)
}

/// Random reads in a closed loop, one event after the other: dies read in order of arrival and hold their page until
/// it is transferred; the channel serves the die that was ready first. A request has `steps` reads, each of which
/// needs the page of the one before. Returns all latencies.
fn plain_model<'a>(channels: usize, dies: usize, depth: u64, reads: &'a [usize], steps: usize) -> Vec<Time> {
    // By die, the requests' arrivals and their reads from this die's on.
    type Waiting<'a> = (Time, &'a [usize]);
    let mut queues: Vec<VecDeque<Waiting<'a>>> = vec![VecDeque::new(); dies];
    let mut ready: Vec<VecDeque<usize>> = vec![VecDeque::new(); channels];
    let mut is_moving = vec![false; channels];
    let mut events = BinaryHeap::new();
    let (mut latencies, mut requests) = (Vec::new(), reads.chunks(steps));
    let number = Cell::new(0);
    let next = || number.replace(number.get() + 1);
    // Of the dies whose data is ready at the same time, those come first that had a read waiting before it began.
    let join = |one: Waiting<'a>, time: Time, queues: &mut Vec<VecDeque<Waiting<'a>>>, events: &mut BinaryHeap<_>| {
        let die = one.1[0];
        queues[die].push_back(one);
        if queues[die].len() == 1 {
            events.push(Reverse((time + ODD_READ, true, next(), false, die)));
        }
    };
    let mut starts = self::starts(depth);
    for reads in requests.by_ref().take(depth as usize) {
        let arrival = starts.next().unwrap();
        join((arrival, reads), arrival, &mut queues, &mut events);
    }
    while let Some(Reverse((time, _, _, is_transfer, die))) = events.pop() {
        let channel = die % channels;
        let mut moved = None;
        if is_transfer {
            moved = queues[die].pop_front();
            is_moving[channel] = false;
            if !queues[die].is_empty() {
                events.push(Reverse((time + ODD_READ, false, next(), false, die)));
            }
        } else {
            ready[channel].push_back(die);
        }
        if !is_moving[channel] {
            if let Some(first) = ready[channel].pop_front() {
                is_moving[channel] = true;
                events.push(Reverse((time + ODD_PAGE, false, next(), true, first)));
            }
        }
        let Some((arrival, reads)) = moved else { continue };
        if reads.len() > 1 {
            join((arrival, &reads[1..]), time, &mut queues, &mut events);
            continue;
        }
        latencies.push(time - arrival);
        if let Some(reads) = requests.next() {
            join((time, reads), time, &mut queues, &mut events);
        }
    }
    latencies
}

/// The same on a device; returns all latencies.
fn device_reads(channels: u32, dies: u32, depth: u64, reads: &[usize], steps: usize) -> Vec<Time> {
    let mut player = Player::new(channels, dies / channels, &odd());
    let mut outstanding = starts(depth).collect::<VecDeque<_>>();
    let (mut arrivals, mut found) = (Vec::new(), Vec::new());
    for reads in reads.chunks(steps) {
        while outstanding.is_empty() {
            if let Some(Answer { request, at, is_done: true, .. }) =
                player.nand.ctx().timeline().unwrap().step(Time::MAX)
            {
                found.push(at - arrivals[request as usize]);
                outstanding.push_back(at);
            }
        }
        let arrival = outstanding.pop_front().unwrap();
        arrivals.push(arrival);
        player.issue(arrival, |nand| {
            for &die in reads {
                let end = read(nand, old(die as u32, 0));
                nand.ctx().after(end);
            }
        });
    }
    while let Some(answer) = player.nand.ctx().timeline().unwrap().step(Time::MAX) {
        if let Answer { request, at, is_done: true, .. } = answer {
            found.push(at - arrivals[request as usize]);
        }
    }
    found
}

/// One read a request: every latency is the same. Two: a tie between a die's next read and one that waited for another die is
/// resolved in another way now and then.
#[test]
fn random_reads_take_as_long_as_in_a_plain_event_model() {
    let (channels, dies) = (2, 16);
    // One read a request, and two, as of a data page behind its map page.
    for (steps, depth) in [1, 2].into_iter().flat_map(|steps| [1, 4, 16, 64].map(|depth| (steps, depth))) {
        let mut random = Random::new(depth);
        let reads: Vec<usize> = (0..20_000 * steps).map(|_| random.below(dies) as usize).collect();
        let mut expected = plain_model(channels, dies as usize, depth, &reads, steps);
        let mut found = device_reads(channels as u32, dies as u32, depth, &reads, steps);
        assert_eq!(found.len(), expected.len());
        found.sort_unstable();
        expected.sort_unstable();
        if steps == 1 {
            assert_eq!(found, expected, "depth {depth}");
        }
        let total = |latencies: &[Time]| latencies.iter().sum::<Time>() as f64;
        let difference = total(&found) / total(&expected) - 1.0;
        assert!(difference.abs() < 2e-3, "depth {depth}, {steps} reads: mean latency {difference:+}");
        let p99 = found.len() * 99 / 100;
        let allowed = expected[p99] / 100;
        assert!(
            found[p99].abs_diff(expected[p99]) <= allowed,
            "{depth}, {steps}: {} for {}",
            found[p99],
            expected[p99]
        );
    }
}

/// By issue, a waiting read keeps its time, so the rest of a gap may be too short for others: up to 10 % are lost.
#[test]
fn by_issue_reads_behind_map_pages_take_little_longer() {
    let (channels, dies) = (2, 16);
    for depth in [4, 16, 64] {
        let mut random = Random::new(depth);
        let reads: Vec<usize> = (0..2 * 20_000).map(|_| random.below(dies) as usize).collect();
        let expected = plain_model(channels, dies as usize, depth, &reads, 2).iter().sum::<Time>() as f64;
        let mut nand = super::device(channels as u32, dies as u32 / channels as u32, 1, &timing());
        let mut outstanding: BinaryHeap<_> = vec![Reverse(0); depth as usize].into();
        let mut found = 0;
        for reads in reads.chunks(2) {
            let Reverse(arrival) = outstanding.pop().unwrap();
            nand.ctx().begin(Origin::HOST, arrival);
            for &die in reads {
                let end = read(&mut nand, old(die as u32, 0));
                nand.ctx().after(end);
            }
            outstanding.push(Reverse(nand.ctx().finish()));
            found += nand.ctx().finish() - arrival;
        }
        let longer = found as f64 / expected - 1.0;
        assert!((0.0..0.1).contains(&longer), "depth {depth}: {longer:+}");
    }
}
