//! Requests on a device that follows events: their ends are known later than they are issued.

use crate::path::{Path, PathTimes};
use crate::request::Request;
use crate::Completion;
use nandlab_nand::{Answer, Time, Timeline};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// Requests under way.
#[derive(Clone, Debug)]
pub(crate) struct Late {
    path: Path,
    /// When a closed loop's slots ask again, if known; `None` in an open loop.
    slots: Option<BinaryHeap<Reverse<Time>>>,
    think: Time,
    issued: u64,
    /// Those from the first under way to the one issued last.
    under_way: VecDeque<UnderWay>,
    /// Packs of writes, by the number of the first.
    packs: BTreeMap<u64, Pack>,
    /// Ended requests, by end.
    ended: Vec<Ended>,
}

/// Writes that went as one command, with consecutive numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Pack {
    writes: u64,
    /// Those that flash has.
    done: u64,
    /// When it had the latest of them.
    flash: Time,
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
    /// The first write of its pack, if it belongs to one.
    pack: Option<u64>,
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
            path: Path::new(times, start),
            slots: slots.map(|slots| (0..slots).map(|_| Reverse(start)).collect()),
            think,
            issued: 0,
            under_way: VecDeque::new(),
            packs: BTreeMap::new(),
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
            if answer.is_stored {
                at = at.max(answer.at);
            }
            self.take(answer, timeline);
        }
        if self.path.holds(request).is_some() {
            // Flash may have the data before the processor is done with the read.
            while self.step(timeline, at) {}
        }
        self.path.send(request, arrival, at)
    }

    /// Registers the next request to issue; returns its number.
    pub(crate) fn issue(&mut self, request: &Request, arrival: Time, begun: Time) -> u64 {
        let number = self.issued;
        self.issued += 1;
        let early = self.path.answers_early(request);
        let held_up = self.path.held_up();
        let write = self.path.note(request, begun);
        let pack = self.join_pack(number);
        let request = *request;
        let under_way =
            UnderWay { request, arrival, begun, held_up, write, pack, is_answered: early, is_stored: false };
        self.under_way.push_back(under_way);
        number
    }

    /// The FTL has taken the request that was issued last. If the write buffer answers it, it does so now, once the controller
    /// is done.
    pub(crate) fn issued(&mut self, number: u64, timeline: &mut Timeline) {
        let Some(&one) = self.under_way.back().filter(|one| one.is_answered) else { return };
        let begun = one.begun.max(timeline.controlled_until());
        let done = self.answer(number, &UnderWay { begun, ..one }, begun);
        timeline.answered_early(number, one.arrival, done);
    }

    /// Goes on to the next news about a request, but not beyond `limit`; false if there is none by then.
    pub(crate) fn step(&mut self, timeline: &mut Timeline, limit: Time) -> bool {
        timeline.step(limit).map(|answer| self.take(answer, timeline)).is_some()
    }

    #[inline]
    fn take(&mut self, answer: Answer, timeline: &mut Timeline) {
        let Answer { request: number, at, is_done, is_stored } = answer;
        let Some(one) = self.place(number).and_then(|place| self.under_way.get_mut(place)) else { return };
        one.is_stored |= is_stored;
        let is_answered = is_done && !one.is_answered && one.pack.is_none();
        one.is_answered |= is_answered;
        let one = *one;
        if is_stored {
            self.path.stored(&one.request, one.write);
        }
        if is_answered {
            let done = self.answer(number, &one, at);
            timeline.answered(number, one.arrival, done);
        }
        self.forget();
        if is_done && one.pack.is_some() {
            self.take_packed(&one, at, timeline);
        }
    }

    /// A request's place among those under way.
    fn place(&self, number: u64) -> Option<usize> {
        let first = self.issued - self.under_way.len() as u64;
        number.checked_sub(first).map(|place| place as usize)
    }

    /// Forgets the requests before the first that is under way.
    #[inline]
    fn forget(&mut self) {
        while self.under_way.front().is_some_and(|one| one.is_answered && one.is_stored) {
            self.under_way.pop_front();
        }
    }

    /// Adds the latest request to the pack that it belongs to, if any; returns the number of the pack's first write.
    fn join_pack(&mut self, number: u64) -> Option<u64> {
        let place = u64::from(self.path.place_in_pack());
        let first = (place > 0).then(|| number + 1 - place)?;
        // Earlier writes that took no time have their answers, and the pack is gone.
        let pack = self.packs.entry(first).or_insert(Pack { done: place - 1, ..Pack::default() });
        pack.writes = place;
        Some(first)
    }

    /// Flash has a write of a pack. The host has its answer together with all others of the pack.
    fn take_packed(&mut self, one: &UnderWay, at: Time, timeline: &mut Timeline) {
        let Some(first) = one.pack else { return };
        let Some(pack) = self.packs.get_mut(&first) else { return };
        (pack.done, pack.flash) = (pack.done + 1, pack.flash.max(at));
        let Pack { writes, done, flash } = *pack;
        if done < writes {
            return;
        }
        self.packs.remove(&first);
        for number in first..first + writes {
            let one = self.place(number).and_then(|place| self.under_way.get_mut(place));
            let Some(one) = one.filter(|one| !one.is_answered) else { continue };
            one.is_answered = true;
            let one = *one;
            let done = self.answer(number, &one, flash);
            timeline.answered(number, one.arrival, done);
            self.forget();
        }
    }

    /// The host has its answer; returns when.
    fn answer(&mut self, number: u64, one: &UnderWay, flash: Time) -> Time {
        let done = self.path.answer(&one.request, (one.arrival, one.begun), flash);
        if let Some(slots) = &mut self.slots {
            slots.push(Reverse(done + self.think));
        }
        self.path.answered(one.arrival, done, one.held_up);
        let completion = Completion { arrival: one.arrival, done };
        self.ended.push(Ended { number, request: one.request, completion });
        done
    }

    /// The requests that ended since the last call.
    pub(crate) fn take_ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ended)
    }
}
