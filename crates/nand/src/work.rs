//! How operations use the parts of a device, piece by piece.
//!
//! A device that follows events tells it to the wrapper that reports its operations ([`crate::traced`]), if somebody
//! [asks](crate::Ctx::keep_work), some of it long after the issue. The pieces of a unit sum to its busy time: waits for a
//! channel, and the times to suspend and resume an operation, are in none.

use crate::time::Time;

/// News about an operation. Times are in ns; a unit is a die, or a plane if planes work independently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// The operation gets a number.
    Issued {
        /// The number, from 0.
        number: u64,
        /// The host's request, from 0; none between requests.
        request: Option<u64>,
        /// Its unit.
        unit: u32,
    },
    /// Its unit takes the operation.
    Started {
        /// Its number.
        number: u64,
        /// Whether it could have started earlier.
        has_waited: bool,
    },
    /// The operation used its unit.
    Worked {
        /// Its number.
        number: u64,
        /// From this time.
        start: Time,
        /// Until this time.
        end: Time,
        /// Whether the channel moved data, too.
        is_transfer: bool,
    },
    /// The operation is over.
    Ended {
        /// Its number.
        number: u64,
        /// Its earliest allowed start: the request's arrival, or the end of the operation that it waited for.
        ready: Time,
        /// When it ended.
        end: Time,
    },
}
