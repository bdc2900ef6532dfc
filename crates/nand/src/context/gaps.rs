//! What was done before a request, and in blocks of one bit a cell.

use super::{Ctx, Matrix, Time};

impl Ctx {
    /// What of it was in blocks of one bit a cell, halves of copies among reads and programs; `None` where nobody counts it.
    pub fn slc(&self) -> Option<&Matrix> {
        self.slc.as_deref()
    }

    /// The next operations come before the request that is about to begin: in the time until then nothing was done.
    /// Returns when it arrived and what bound it, for [`Self::leave_gap`].
    pub fn enter_gap(&mut self, start: Time) -> (Time, Time) {
        (std::mem::replace(&mut self.arrival, start), std::mem::replace(&mut self.ready, start))
    }

    /// The request goes on that arrived at the one time and is bound by the other.
    pub fn leave_gap(&mut self, (arrival, ready): (Time, Time)) {
        (self.arrival, self.ready) = (arrival, ready);
    }
}
