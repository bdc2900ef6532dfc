//! The order of events: closed forms, and a plain event model of random reads.

use super::*;
use nandlab_nand::profile::{ByType, PageTypes, Suspend};
use nandlab_nand::Answer;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

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
        Self { nand: by_events(channels, dies, planes, timing), requests: 0 }
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
        assert_eq!(play(&timing(), 1, &[(7, what, 0, 0)]), [7 + time], "{what}");
    }
}

#[test]
fn the_channel_serves_the_unit_that_was_ready_first() {
    // Die 0 has three reads; the read of die 1 comes later, and is ready before the third.
    let requests = [(0, 'r', 0, 0), (0, 'r', 0, 1), (0, 'r', 0, 2), (64 * US, 'r', 1, 0)];
    assert_eq!(play(&timing(), 2, &requests), [60 * US, 120 * US, 180 * US, 130 * US]);
    // A read that is ready at 169 has the channel until 179, before the third of die 0, which is ready at 170.
    let requests = [(0, 'r', 0, 0), (0, 'r', 0, 1), (0, 'r', 0, 2), (119 * US, 'r', 1, 0)];
    assert_eq!(play(&timing(), 2, &requests), [60 * US, 120 * US, 189 * US, 179 * US]);
}

#[test]
fn a_copy_between_dies_waits_for_its_read() {
    let mut player = Player::new(1, 2, &timing());
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
        let timing = Timing { read_first, ..timing() };
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
        let mut player = Player::new(2, 1, &Timing { read_first, ..timing() });
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
fn reads_go_ahead_of_waiting_programs() {
    let requests = [(0, 'p', 0, 0), (0, 'p', 0, 1), (0, 'r', 0, 0)];
    let one = PAGE + PROGRAM;
    assert_eq!(play(&timing(), 1, &requests), [one, 2 * one, 2 * one + READ + PAGE]);
    let first = Timing { read_first: true, ..timing() };
    let read_end = one + READ + PAGE;
    assert_eq!(play(&first, 1, &requests), [one, read_end + one, read_end]);
}

#[test]
fn the_next_page_is_read_during_a_transfer() {
    let requests = [(0, 'r', 0, 0), (0, 'r', 0, 1), (0, 'r', 0, 2)];
    let cache = Timing { read_cache: true, ..timing() };
    assert_eq!(play(&cache, 1, &requests), [1, 2, 3].map(|n| n * READ + PAGE), "the array is the bottleneck");
    let slow = Timing { transfer_ns_per_byte: BYTE_NS * 20.0, ..cache };
    assert_eq!(play(&slow, 1, &requests), [1, 2, 3].map(|n| READ + n * 20 * PAGE), "the channel is");
}

#[test]
fn a_program_stops_for_a_read_and_goes_on() {
    let timing = Timing { read_first: true, suspend: suspend(None, 16), ..timing() };
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
    let timing = Timing { read_first: true, suspend: suspend(Some(200.0), 1), ..timing() };
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
    let timing = Timing { program_pages: 3, ..timing() };
    let requests: Vec<_> = (0..4).map(|page| (0, 'p', 0, page)).collect();
    let group = 3 * PAGE + PROGRAM;
    assert_eq!(play(&timing, 1, &requests), [PAGE, 2 * PAGE, group, group + PAGE]);
    // The same outside events.
    let mut nand = Timed::with_extras(super::device(1, 1, 1, &self::timing()).into_inner(), &timing);
    assert_eq!([0, 1, 2, 3].map(|page| program(&mut nand, new(0, page))), [PAGE, 2 * PAGE, group, group + PAGE]);
}

#[test]
fn page_types_have_their_own_times() {
    let types = PageTypes { read_us: ByType::new(&[40.0, 50.0, 70.0]).unwrap(), program_us: None };
    {
        let timing = Timing { page_types: Some(types), ..timing() };
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
    Timing { read_us: ODD_READ as f64 / 1000.0, transfer_ns_per_byte, ..timing() }
}

/// When the slots of a closed loop ask first.
fn starts(depth: u64) -> impl Iterator<Item = Time> {
    (0..depth).map(|slot| slot * 1_009)
}

/// A read of a die: its request's arrival, its number in the order of issue, and the dies of the reads that follow it.
type Read<'a> = (Time, usize, &'a [usize]);

/// Dies read in order of arrival and hold their page until it is transferred; the channel serves the die that was ready first.
/// In a tie it serves the read that was issued first.
struct Plain<'a> {
    queues: Vec<VecDeque<Read<'a>>>,
    /// By channel: times and numbers of reads that are ready, with their dies.
    ready: Vec<BinaryHeap<Reverse<(Time, usize, usize)>>>,
    is_moving: Vec<bool>,
    /// Ends of array times and of transfers: time, number, whether it is a transfer, die.
    events: BinaryHeap<Reverse<(Time, usize, bool, usize)>>,
}

impl<'a> Plain<'a> {
    fn begin(&mut self, die: usize, time: Time) {
        if let Some(&(_, number, _)) = self.queues[die].front() {
            self.events.push(Reverse((time + ODD_READ, number, false, die)));
        }
    }

    fn join(&mut self, read: Read<'a>, die: usize, time: Time) {
        self.queues[die].push_back(read);
        if self.queues[die].len() == 1 {
            self.begin(die, time);
        }
    }

    /// Everything that ends at `time`; returns the arrivals of the requests that do.
    fn end_all(&mut self, time: Time) -> Vec<Time> {
        let mut ended = Vec::new();
        while let Some(&Reverse((_, number, is_transfer, die))) = self.events.peek().filter(|one| one.0 .0 == time) {
            self.events.pop();
            let channel = die % self.ready.len();
            if !is_transfer {
                self.ready[channel].push(Reverse((time, number, die)));
                continue;
            }
            self.is_moving[channel] = false;
            let (arrival, _, following) = self.queues[die].pop_front().unwrap();
            self.begin(die, time);
            match following.split_first() {
                Some((&next, following)) => self.join((arrival, number + 1, following), next, time),
                None => ended.push(arrival),
            }
        }
        ended
    }

    fn serve(&mut self, time: Time) {
        for channel in 0..self.ready.len() {
            if !self.is_moving[channel] {
                let Some(Reverse((_, number, die))) = self.ready[channel].pop() else { continue };
                self.is_moving[channel] = true;
                self.events.push(Reverse((time + ODD_PAGE, number, true, die)));
            }
        }
    }
}

/// Random reads in a closed loop, one event after the other. A request has `steps` reads, each of which needs the page of the
/// one before. Returns all latencies.
fn plain_model(channels: usize, dies: usize, depth: u64, reads: &[usize], steps: usize) -> Vec<Time> {
    let mut model = Plain {
        queues: vec![VecDeque::new(); dies],
        ready: vec![BinaryHeap::new(); channels],
        is_moving: vec![false; channels],
        events: BinaryHeap::new(),
    };
    let mut requests = reads.chunks(steps).enumerate();
    // The first request of each slot, then those that follow an answer at once.
    let mut coming: VecDeque<_> = starts(depth).zip(requests.by_ref()).collect();
    let mut latencies = Vec::new();
    loop {
        let next = |coming: &VecDeque<(Time, (usize, &[usize]))>| coming.front().map_or(Time::MAX, |&(time, _)| time);
        let time = model.events.peek().map_or(Time::MAX, |one| one.0 .0).min(next(&coming));
        if time == Time::MAX {
            return latencies;
        }
        for arrival in model.end_all(time) {
            latencies.push(time - arrival);
            if let Some(request) = requests.next() {
                coming.push_front((time, request));
            }
        }
        coming.make_contiguous().sort_by_key(|&(time, (number, _))| (time, number));
        while next(&coming) == time {
            let Some((_, (request, reads))) = coming.pop_front() else { break };
            model.join((time, request * steps, &reads[1..]), reads[0], time);
        }
        model.serve(time);
    }
}

/// The same on a device; returns all latencies.
fn device_reads(channels: u32, dies: u32, depth: u64, reads: &[usize], steps: usize) -> Vec<Time> {
    let mut player = Player::new(channels, dies / channels, &odd());
    let mut outstanding = starts(depth).collect::<VecDeque<_>>();
    let (mut arrivals, mut found) = (Vec::new(), Vec::new());
    for reads in reads.chunks(steps) {
        let mut limit = Time::MAX;
        while outstanding.is_empty() || limit < Time::MAX {
            // What else takes place at the time of an answer comes before the next request.
            let Some(answer) = player.nand.ctx().timeline().unwrap().step(limit) else { break };
            limit = answer.at;
            if answer.is_done {
                found.push(answer.at - arrivals[answer.request as usize]);
                outstanding.push_back(answer.at);
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
        let apart = found.iter().zip(&expected).filter(|(found, expected)| found != expected).count();
        assert_eq!((found.len(), apart), (expected.len(), 0), "depth {depth}, {steps} reads");
    }
}
