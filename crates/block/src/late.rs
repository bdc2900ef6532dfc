//! Requests on a device that follows events: their ends are known later than they are issued.

use crate::path::{Path, PathTimes};
use crate::request::Request;
use crate::Completion;
use nandlab_nand::{Answer, Time, Timeline};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Requests under way.
#[derive(Clone, Debug)]
pub(crate) struct Late {
    path: Path,
    /// When a closed loop's slots ask again, if known; `None` in an open loop.
    slots: Option<BinaryHeap<Reverse<Time>>>,
    think: Time,
    issued: u64,
    /// Those from the first under way to the one issued last; `None` if it is over.
    under_way: VecDeque<Option<UnderWay>>,
    /// Ended requests, by end.
    ended: Vec<Ended>,
}

#[derive(Clone, Copy, Debug)]
struct UnderWay {
    request: Request,
    arrival: Time,
    begun: Time,
    /// Its wait for space in the write buffer.
    held_up: Time,
    /// Its number in the write buffer.
    write: u64,
    is_answered: bool,
    is_stored: bool,
}

/// A request that ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ended {
    /// Its number: requests are counted from 0 in issue order.
    pub number: u64,
    /// The request.
    pub request: Request,
    /// When it came, and when it was answered.
    pub completion: Completion,
}

impl Late {
    /// With `slots` thinking slots in a closed loop, each from `start` on.
    pub(crate) fn new(times: &PathTimes, slots: Option<u32>, think: Time, start: Time) -> Self {
        Self {
            path: Path::always(times),
            slots: slots.map(|slots| (0..slots).map(|_| Reverse(start)).collect()),
            think,
            issued: 0,
            under_way: VecDeque::new(),
            ended: Vec::new(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// When `request` comes; everything before has taken place.
    pub(crate) fn arrival(&mut self, request: &Request, timeline: &mut Timeline) -> Time {
        let Some(slots) = &self.slots else {
            while self.step(timeline, request.time) {}
            return request.time;
        };
        let mut first = slots.peek().map_or(Time::MAX, |&Reverse(time)| time);
        while self.step(timeline, first) {
            let slots = self.slots.as_ref().expect("a closed loop has slots");
            first = slots.peek().map_or(Time::MAX, |&Reverse(time)| time);
        }
        self.slots.as_mut().and_then(BinaryHeap::pop).map_or(first, |Reverse(time)| time)
    }

    /// When the FTL begins a request that came at `arrival`.
    pub(crate) fn begin(&mut self, request: &Request, arrival: Time, timeline: &mut Timeline) -> Time {
        let mut at = self.path.process(request, arrival);
        while self.path.waits_for_space(request) {
            let Some(answer) = timeline.step(Time::MAX) else { unreachable!("an idle device holds no data back") };
            if let Answer::Stored { at: end, .. } = answer {
                at = at.max(end);
            }
            self.take(answer, timeline);
        }
        if self.path.holds(request, at).is_some() {
            // Flash may have the data before the processor is done with the read.
            while self.step(timeline, at) {}
        }
        self.path.send(request, arrival, at)
    }

    /// Registers the next request to issue; returns its number.
    pub(crate) fn issue(&mut self, request: &Request, arrival: Time, begun: Time, timeline: &mut Timeline) -> u64 {
        let number = self.issued;
        self.issued += 1;
        let early = self.path.answers_early(request);
        let held_up = self.path.held_up();
        let write = self.path.note(request, begun, Time::MAX);
        let request = *request;
        let under_way = UnderWay { request, arrival, begun, held_up, write, is_answered: early, is_stored: false };
        self.under_way.push_back(Some(under_way));
        if early {
            self.answer(number, &under_way, begun, timeline);
        }
        number
    }

    /// Goes on to the next news about a request, but not beyond `limit`; false if there is none by then.
    pub(crate) fn step(&mut self, timeline: &mut Timeline, limit: Time) -> bool {
        timeline.step(limit).map(|answer| self.take(answer, timeline)).is_some()
    }

    fn take(&mut self, answer: Answer, timeline: &mut Timeline) {
        let (Answer::Done { request: number, .. } | Answer::Stored { request: number, .. }) = answer;
        let first = self.issued - self.under_way.len() as u64;
        let place = number.checked_sub(first).map(|place| place as usize);
        let one = place.and_then(|place| self.under_way.get(place).copied().flatten());
        let (Some(place), Some(mut one)) = (place, one) else { return };
        match answer {
            Answer::Done { at, .. } if !one.is_answered => {
                one.is_answered = true;
                self.answer(number, &one, at, timeline);
            }
            Answer::Done { .. } => {}
            Answer::Stored { .. } => {
                one.is_stored = true;
                self.path.stored(&one.request, one.write);
            }
        }
        self.under_way[place] = (!one.is_answered || !one.is_stored).then_some(one);
        while self.under_way.front().is_some_and(Option::is_none) {
            self.under_way.pop_front();
        }
    }

    fn answer(&mut self, number: u64, one: &UnderWay, flash: Time, timeline: &mut Timeline) {
        let done = self.path.answer(&one.request, (one.arrival, one.begun), flash);
        if let Some(slots) = &mut self.slots {
            slots.push(Reverse(done + self.think));
        }
        timeline.answered(number, one.arrival, done);
        self.path.answered(one.arrival, done, one.held_up);
        let completion = Completion { arrival: one.arrival, done };
        self.ended.push(Ended { number, request: one.request, completion });
    }

    /// The requests that ended since the last call.
    pub(crate) fn take_ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ended)
    }
}
