//! Watchers: the search for the longest request, and a list with news.

use super::history::History;
use super::names::Known;
use super::ops::Op;
use super::{Cause, Stall, Time, Timeline, Work};

impl Timeline {
    /// Keeps an issued operation in the history, and tells of it.
    #[cold]
    pub(super) fn watch(&mut self, op: u32, cause: Cause, leader: Option<Known>) {
        let owner = self.requests.current_host();
        let leader = leader.map(|known| match known {
            Known::Op(leader) => self.ops.rare(leader).past,
            Known::End(_, past) => past,
        });
        let unit = self.ops[op].unit;
        let past = self.history.as_mut().map_or(0, |history| history.issue(unit, cause, owner, leader));
        self.ops.rare(op).past = past;
        let number = self.ops[op].number;
        self.tell(|| Work::Issued { number, request: owner, unit });
    }

    /// A unit begins an operation at `start`.
    #[cold]
    pub(super) fn tell_of_start(&mut self, op: u32, start: Time) {
        let (Op { ready, number, .. }, past) = (self.ops[op], self.ops.rare(op).past);
        self.tell(|| Work::Started { number, has_waited: start > ready });
        if let Some(history) = &mut self.history {
            history.began(past, start);
        }
    }

    /// Tells of an operation's end.
    #[cold]
    pub(super) fn tell_of_end(&mut self, op: u32, end: Time) {
        let Op { ready, number, .. } = self.ops[op];
        self.tell(|| Work::Ended { number, ready, end });
    }

    /// Looks for the longest request from now on.
    pub(crate) fn look_for_stalls(&mut self) {
        let channel_of = self.units.iter().map(|unit| unit.channel).collect();
        self.history = Some(Box::new(History::new(channel_of)));
        self.ops.keep_rare();
    }

    /// A host request came at `arrival` and was answered at `done`, before its operations ended.
    #[inline]
    pub fn answered_early(&mut self, request: u64, arrival: Time, done: Time) {
        if let Some(history) = &mut self.history {
            history.answered_early(request, arrival, done);
        }
    }

    /// A host request came at `arrival` and was answered at `done`.
    #[inline]
    pub fn answered(&mut self, request: u64, arrival: Time, done: Time) {
        if let Some(history) = &mut self.history {
            history.answered(request, arrival, done);
        }
    }

    /// The longest request's breakdown; `None` if none took time, or nobody looks for it.
    pub(crate) fn longest_stall(&mut self) -> Option<&Stall> {
        self.history.as_mut().and_then(|history| history.stall())
    }

    /// An operation works between two times; the time to resume it is not told.
    #[inline]
    pub(super) fn worked(&mut self, op: u32, (start, end): (Time, Time), is_transfer: bool) {
        if self.history.is_some() {
            self.keep_piece(op, (start, end), is_transfer);
        }
        if self.works.is_some() {
            self.tell_of(op, (start, end), is_transfer);
        }
    }

    #[cold]
    pub(super) fn keep_piece(&mut self, op: u32, (start, end): (Time, Time), is_transfer: bool) {
        if let Some(history) = &mut self.history {
            history.worked(self.ops.rare(op).past, start, end, is_transfer);
        }
    }

    /// Keeps how operations use the device from now on.
    pub(crate) fn keep_work(&mut self) {
        self.works.get_or_insert_default();
        self.ops.keep_rare();
    }

    /// News since they were last taken.
    pub(crate) fn works(&mut self) -> Option<&mut Vec<Work>> {
        self.works.as_mut()
    }

    #[inline]
    pub(super) fn tell(&mut self, work: impl FnOnce() -> Work) {
        if let Some(works) = &mut self.works {
            works.push(work());
        }
    }

    #[cold]
    pub(super) fn tell_of(&mut self, op: u32, (start, end): (Time, Time), is_transfer: bool) {
        let number = self.ops[op].number;
        let op = self.ops.rare(op);
        let resumed = op.resume.min(end - start);
        op.resume -= resumed;
        let start = start + resumed;
        if start < end {
            self.tell(|| Work::Worked { number, start, end, is_transfer });
        }
    }
}
