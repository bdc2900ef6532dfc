//! Requests whose operations are under way.

use super::Part;
use crate::time::Time;
use crate::waits::{OfRequest, Waits};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// News about a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Answer {
    /// Everything the host waits for ended at this time.
    Done {
        /// Its number.
        request: u64,
        /// The last such operation's end.
        at: Time,
    },
    /// Its data is in flash since this time.
    Stored {
        /// Its number.
        request: u64,
        /// Its own last operation's end.
        at: Time,
    },
}

#[derive(Clone, Copy, Debug, Default)]
struct Request {
    /// Operations the host waits for, and the request's own operations.
    waited_for: u32,
    own: u32,
    end: Time,
    stored: Time,
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
    /// Ended requests, to be reported in time order.
    ended: BinaryHeap<Reverse<(Time, u64, Answer)>>,
    reported: u64,
    /// For requests already done.
    waits: Waits,
}

impl Requests {
    pub(super) fn open(&mut self, number: u64) {
        if self.known.is_empty() {
            self.first = number;
        }
        assert_eq!(number, self.first + self.known.len() as u64, "numbers are consecutive");
        self.known.push_back(Request::default());
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
        }
    }

    /// An operation in this request waited.
    pub(super) fn waited(&mut self, number: u64, waits: Waits, is_host: bool) {
        self.known[(number - self.first) as usize].waited.add(waits, is_host);
    }

    pub(super) fn waits(&self) -> Waits {
        self.waits
    }

    /// The open request.
    pub(super) fn current(&self) -> Option<u64> {
        self.is_open.then(|| self.first + self.known.len() as u64 - 1)
    }

    /// Counts an operation in the open request; `None` outside requests.
    pub(super) fn add(&mut self, part: Part) -> Option<(u64, Part)> {
        if !self.is_open || !(part.is_waited_for || part.is_own) {
            return None;
        }
        let number = self.first + self.known.len() as u64 - 1;
        let request = self.known.back_mut()?;
        request.waited_for += u32::from(part.is_waited_for);
        request.own += u32::from(part.is_own);
        Some((number, part))
    }

    pub(super) fn close(&mut self, earliest: Time) {
        self.is_open = false;
        let number = self.first + self.known.len() as u64 - 1;
        let request = self.known.back_mut().expect("a request is open");
        request.is_closed = true;
        (request.end, request.stored) = (request.end.max(earliest), request.stored.max(earliest));
        self.report(number);
    }

    pub(super) fn end(&mut self, number: u64, part: Part, now: Time) {
        let request = &mut self.known[(number - self.first) as usize];
        if part.is_waited_for {
            request.waited_for -= 1;
            request.end = request.end.max(now);
        }
        if part.is_own {
            request.own -= 1;
            request.stored = request.stored.max(now);
        }
        self.report(number);
    }

    fn report(&mut self, number: u64) {
        let request = &mut self.known[(number - self.first) as usize];
        let mut news = [None; 2];
        if request.is_closed && request.waited_for == 0 && !request.is_done {
            request.is_done = true;
            self.waits = if request.is_early { self.waits } else { self.waits.and(request.waited.mean()) };
            news[0] = Some((request.end, Answer::Done { request: number, at: request.end }));
        }
        if request.is_closed && request.own == 0 && !request.is_stored {
            request.is_stored = true;
            news[1] = Some((request.stored, Answer::Stored { request: number, at: request.stored }));
        }
        for (time, answer) in news.into_iter().flatten() {
            self.reported += 1;
            self.ended.push(Reverse((time, self.reported, answer)));
        }
        while self.known.front().is_some_and(|request| request.is_done && request.is_stored) {
            self.known.pop_front();
            self.first += 1;
        }
    }

    /// The next request that ended by `now`.
    pub(super) fn next(&mut self, now: Time) -> Option<Answer> {
        let Reverse((time, ..)) = self.ended.peek()?;
        if *time > now {
            return None;
        }
        self.ended.pop().map(|Reverse((.., answer))| answer)
    }
}
