//! The waits of requests for flash, in the order of issue.

use super::{Cause, Ctx};
use crate::waits::{OfRequest, Waits};

/// The waits of all requests up to the current one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waited {
    ended: Waits,
    current: OfRequest,
}

impl Waited {
    /// The next operations belong to another request.
    #[inline]
    pub(crate) fn next_request(&mut self) {
        self.ended = self.ended.and(self.current.mean());
        self.current = OfRequest::default();
    }

    /// The host did not wait for the current request's operations.
    #[inline]
    pub(crate) fn forget_current(&mut self) {
        self.current = OfRequest::default();
    }
}

impl Ctx {
    /// Counts an operation's waits.
    #[inline]
    pub(crate) fn count_waits(&mut self, waits: Waits) {
        if self.is_waited_for() && !self.buffered {
            self.waited.current.add(waits, self.cause == Cause::Host);
        }
    }

    /// Waits of requests for flash so far.
    pub fn waits(&self) -> Waits {
        let late = self.events.as_ref().map_or(Waits::default(), |events| events.waits());
        self.waited.ended.and(self.waited.current.mean()).and(late)
    }
}
