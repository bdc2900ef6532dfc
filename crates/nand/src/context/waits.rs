//! The waits of requests for flash, in the order of issue.

use super::{Cause, Ctx, Time};
use crate::waits::Waits;

/// The waits of all requests up to the current one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waited {
    sum: Waits,
    /// Before the current request.
    before: Waits,
    /// The current request's operations with the cause host.
    pages: u64,
}

impl Waited {
    /// The next operations belong to another request.
    #[inline]
    pub(crate) fn next_request(&mut self) {
        if self.pages > 1 {
            self.sum = self.so_far();
        }
        self.before = self.sum;
        self.pages = 0;
    }

    #[inline]
    fn add(&mut self, waits: Waits, is_host: bool) {
        self.sum = self.sum.and(waits);
        self.pages += u64::from(is_host);
    }

    /// Up to the current request, of which the mean over its pages counts.
    #[inline(never)]
    fn so_far(&self) -> Waits {
        self.before.and(self.sum.since(self.before).mean(self.pages))
    }

    /// The host did not wait for the current request's operations.
    #[inline]
    pub(crate) fn forget_current(&mut self) {
        (self.sum, self.pages) = (self.before, 0);
    }
}

impl Ctx {
    /// Counts the waits of an operation that goes ahead of others or joins one.
    #[inline]
    pub(crate) fn count_waits(&mut self, waits: Waits) {
        if self.is_waited_for() && !self.buffered {
            self.waited.add(waits, self.cause == Cause::Host);
        }
    }

    /// As [`Self::complete`], and counts the operation's waits.
    #[inline]
    pub(crate) fn complete_after(&mut self, waits: Waits, end: Time) {
        self.last = end;
        self.put_off(end);
        if self.is_waited_for() {
            self.acknowledged = self.acknowledged.max(end);
            if !self.buffered {
                self.finish = self.finish.max(end);
                self.waited.add(waits, self.cause == Cause::Host);
            }
        }
    }

    /// Waits of requests for flash so far.
    pub fn waits(&self) -> Waits {
        let late = self.events.as_ref().map_or(Waits::default(), |events| events.waits());
        self.waited.so_far().and(late)
    }
}
