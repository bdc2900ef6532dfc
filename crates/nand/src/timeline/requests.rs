//! Requests whose operations are under way.

use super::Part;
use crate::time::Time;
use crate::waits::{OfRequest, Waits};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// News about a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Its number.
    pub request: u64,
    /// When it happens.
    pub at: Time,
    /// Everything the host waits for has ended.
    pub is_done: bool,
    /// Its data is in flash.
    pub is_stored: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Request {
    /// The host's request.
    host: u64,
    /// Operations the host waits for, and the request's own operations.
    waited_for: u32,
    own: u32,
    end: Time,
    stored: Time,
    /// Its operations' estimated end, and time after their end.
    expected: Time,
    behind: Time,
    /// Until then the controller works for it, beside the flash.
    controller: Time,
    is_closed: bool,
    is_done: bool,
    is_stored: bool,
    /// The host had its answer before.
    is_early: bool,
    waited: OfRequest,
}

/// The requests from the first with operations under way to the latest.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    first: u64,
    known: VecDeque<Request>,
    is_open: bool,
    /// News to be told by time, then as they became known: time, running number, and the request's number with two bits, for
    /// done and for stored.
    news: BinaryHeap<Reverse<(Time, u64, u64)>>,
    known_news: u64,
    /// For requests already done.
    waits: Waits,
}

impl Requests {
    pub(super) fn open(&mut self, number: u64, host: u64) {
        if self.known.is_empty() {
            self.first = number;
        }
        assert_eq!(number, self.first + self.known.len() as u64, "numbers are consecutive");
        self.known.push_back(Request { host, ..Request::default() });
        self.is_open = true;
    }

    /// The host has the answer to the open request already.
    pub(super) fn answer_early(&mut self) {
        if let Some(request) = self.known.back_mut() {
            request.is_early = true;
        }
    }

    /// The open request ends at `at` or later.
    pub(super) fn answer_no_earlier(&mut self, at: Time) {
        if let Some(request) = self.known.back_mut().filter(|_| self.is_open) {
            request.end = request.end.max(at);
            request.expected = request.expected.max(at);
        }
    }

    /// The controller works for the open request until `at`.
    pub(super) fn control_until(&mut self, at: Time) {
        self.answer_no_earlier(at);
        if let Some(request) = self.known.back_mut().filter(|_| self.is_open) {
            request.controller = request.controller.max(at);
        }
    }

    /// Until when the controller works for the open request; 0 if it does not.
    pub(super) fn controlled_until(&self) -> Time {
        self.known.back().filter(|_| self.is_open).map_or(0, |request| request.controller)
    }

    /// The open request waits for an operation with this expected end.
    #[inline]
    pub(super) fn expect(&mut self, at: Time) {
        if let Some(request) = self.known.back_mut().filter(|_| self.is_open) {
            request.expected = request.expected.max(at);
        }
    }

    /// The open request is expected to end at `done`: as long after its operations as `done` lies after their estimates.
    #[inline]
    pub(super) fn answer_behind(&mut self, begun: Time, done: Time) {
        if let Some(request) = self.known.back_mut().filter(|_| self.is_open) {
            request.behind = done.saturating_sub(request.expected.max(begun));
        }
    }

    /// A request's index, from its number's last bits.
    #[inline]
    fn at(&self, number: u32) -> usize {
        number.wrapping_sub(self.first as u32) as usize
    }

    /// An operation in this request waited.
    #[inline]
    pub(super) fn waited(&mut self, number: u32, waits: Waits, is_host: bool) {
        let at = self.at(number);
        self.known[at].waited.add(waits, is_host);
    }

    pub(super) fn waits(&self) -> Waits {
        self.waits
    }

    /// The open request.
    pub(super) fn current(&self) -> Option<u64> {
        self.is_open.then(|| self.first + self.known.len() as u64 - 1)
    }

    /// The host's request to which the open one belongs.
    pub(super) fn current_host(&self) -> Option<u64> {
        self.known.back().filter(|_| self.is_open).map(|request| request.host)
    }

    /// The host's request to which this one belongs.
    pub(super) fn host(&self, number: u32) -> u64 {
        self.known[self.at(number)].host
    }

    /// The next request's number.
    pub(super) fn next_number(&self) -> u64 {
        self.first + self.known.len() as u64
    }

    /// Counts an operation in the open request, and returns the request; `None` outside requests.
    #[inline]
    pub(super) fn add(&mut self, part: Part) -> Option<u64> {
        if !self.is_open || !(part.is_waited_for || part.is_own) {
            return None;
        }
        let number = self.first + self.known.len() as u64 - 1;
        let request = self.known.back_mut()?;
        request.waited_for += u32::from(part.is_waited_for);
        request.own += u32::from(part.is_own);
        Some(number)
    }

    #[inline]
    pub(super) fn close(&mut self, earliest: Time) -> u64 {
        self.is_open = false;
        let number = self.first + self.known.len() as u64 - 1;
        let request = self.known.back_mut().expect("a request is open");
        request.is_closed = true;
        (request.end, request.stored) = (request.end.max(earliest), request.stored.max(earliest));
        if request.waited_for == 0 || request.own == 0 {
            self.report(self.known.len() - 1);
        }
        number
    }

    /// An operation of a request ends at `at`.
    #[inline]
    pub(super) fn end(&mut self, number: u32, part: Part, at: Time) {
        let place = self.at(number);
        let request = &mut self.known[place];
        if part.is_waited_for {
            request.waited_for -= 1;
            request.end = request.end.max(at);
        }
        if part.is_own {
            request.own -= 1;
            request.stored = request.stored.max(at);
        }
        if request.is_closed && (request.waited_for == 0 || request.own == 0) {
            self.report(place);
        }
    }

    /// An operation has ended: news about its request.
    #[inline]
    fn report(&mut self, place: usize) {
        let number = self.first + place as u64;
        let request = &mut self.known[place];
        let is_done = request.waited_for == 0 && !request.is_done;
        let is_stored = request.own == 0 && !request.is_stored;
        let Request { stored, is_early, waited, .. } = *request;
        let end = request.end + request.behind;
        request.is_done |= is_done;
        request.is_stored |= is_stored;
        let is_over = request.is_done && request.is_stored;
        if is_done && !is_early {
            self.waits = self.waits.and(waited.mean());
        }
        let both = is_done && is_stored && end == stored;
        for (is, time, what) in [(is_done, end, if both { 3 } else { 1 }), (is_stored && !both, stored, 2)] {
            if is {
                self.known_news += 1;
                self.news.push(Reverse((time, self.known_news, number << 2 | what)));
            }
        }
        if is_over {
            while self.known.front().is_some_and(|request| request.is_done && request.is_stored) {
                self.known.pop_front();
                self.first += 1;
            }
        }
    }

    /// The next news up to `limit`.
    #[inline]
    pub(super) fn next(&mut self, limit: Time) -> Option<Answer> {
        let Reverse((at, _, told)) = *self.news.peek()?;
        if at > limit {
            return None;
        }
        self.news.pop();
        Some(Answer { request: told >> 2, at, is_done: told & 1 != 0, is_stored: told & 2 != 0 })
    }
}
