//! What a request waited for.

use crate::cause::Cause;
use crate::time::Time;

/// A request's time by cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Request arrival.
    pub arrival: Time,
    /// Request end.
    pub done: Time,
    /// By cause, time in the request's own operations, in ns.
    pub own: [Time; Cause::COUNT],
    /// By cause, time in earlier requests' operations, in ns.
    pub others: [Time; Cause::COUNT],
    /// Time without a delaying flash operation, in ns: spent in other memories.
    pub elsewhere: Time,
    /// Time in operations already forgotten, in ns.
    pub unknown: Time,
}

impl Stall {
    pub(crate) fn nothing() -> Self {
        let none = [0; Cause::COUNT];
        Self { arrival: 0, done: 0, own: none, others: none, elsewhere: 0, unknown: 0 }
    }

    pub(crate) fn of(&mut self, own: bool) -> &mut [Time; Cause::COUNT] {
        if own {
            &mut self.own
        } else {
            &mut self.others
        }
    }

    /// The sum: the request's latency.
    pub fn total(&self) -> Time {
        self.own.iter().chain(&self.others).sum::<Time>() + self.elsewhere + self.unknown
    }
}
