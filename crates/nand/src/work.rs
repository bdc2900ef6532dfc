//! How operations use the parts of a device, piece by piece.
//!
//! A device with time tells it to the wrapper that reports its operations ([`crate::traced`]), if somebody
//! [asks](crate::Ctx::keep_work). The pieces of a unit sum to its busy time: waits for a channel, and the times to suspend
//! and resume an operation, are in none.

use crate::time::Time;

/// News about an operation. Times are in ns; a unit is a die, or a plane if planes work independently.
///
/// A device that gives times at issue tells the first three, about the operation that is issued. A device that follows
/// events tells the others, some of them long after the issue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// The operation uses a unit.
    Used {
        /// The unit.
        unit: u32,
        /// From this time.
        start: Time,
        /// Until this time.
        end: Time,
        /// Whether the channel moves data, too.
        is_transfer: bool,
    },
    /// The unit's operation before this one gives way: its last piece is interrupted at `cut`, and the rest of it takes
    /// place from `start` to `end`.
    Moved {
        /// The unit.
        unit: u32,
        /// Its last piece ends here.
        cut: Time,
        /// The rest begins.
        start: Time,
        /// The rest ends.
        end: Time,
    },
    /// The program joins the one before: after its own transfer, both share the array from `start` to `end`.
    Joined {
        /// The unit.
        unit: u32,
        /// The array's work was to begin here.
        cut: Time,
        /// Its transfer begins.
        moved: Time,
        /// Its transfer ends, and the shared work begins.
        start: Time,
        /// The shared work ends.
        end: Time,
    },
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
    },
}
