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
    /// The same, one after the other from arrival to end.
    pub steps: Vec<Step>,
}

/// A part of a request's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// When it began.
    pub start: Time,
    /// When it ended.
    pub end: Time,
    /// The operation that it belongs to; `None` outside the flash, or if the operation is forgotten.
    pub work: Option<StepWork>,
}

/// The operation behind a part of a request's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepWork {
    /// Its die, or its plane if planes work independently.
    pub unit: u32,
    /// Its cause.
    pub cause: Cause,
    /// Whether it is the request's own.
    pub own: bool,
}

impl Stall {
    pub(crate) fn nothing() -> Self {
        let none = [0; Cause::COUNT];
        Self { arrival: 0, done: 0, own: none, others: none, elsewhere: 0, unknown: 0, steps: Vec::new() }
    }

    /// Adds time in an operation.
    pub(crate) fn add(&mut self, work: StepWork, (start, end): (Time, Time)) {
        if start < end {
            let times = if work.own { &mut self.own } else { &mut self.others };
            times[work.cause as usize] += end - start;
            self.steps.push(Step { start, end, work: Some(work) });
        }
    }

    /// Adds time outside of any known operation, of which `unknown` may be in forgotten ones.
    pub(crate) fn add_outside(&mut self, (start, end): (Time, Time), unknown: Time) {
        if start < end {
            self.unknown += unknown;
            self.elsewhere += end - start - unknown;
            self.steps.push(Step { start, end, work: None });
        }
    }

    /// Puts the steps in order.
    pub(crate) fn in_order(mut self) -> Self {
        self.steps.sort_by_key(|step| step.start);
        self.steps.dedup_by(|next, step| {
            let goes_on = step.work == next.work && step.end == next.start;
            if goes_on {
                step.end = next.end;
            }
            goes_on
        });
        self
    }

    /// The sum: the request's latency.
    pub fn total(&self) -> Time {
        self.own.iter().chain(&self.others).sum::<Time>() + self.elsewhere + self.unknown
    }
}
