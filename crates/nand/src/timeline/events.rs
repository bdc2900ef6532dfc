//! Events to come, in order.

use crate::time::Time;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// An event's kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// A unit looks for work, or ends a step in its array; valid in this epoch of the unit only.
    Unit { unit: u32, epoch: u32 },
    /// A read is ready for a unit that can stop its operation.
    Wake(u32),
    /// A channel ends a transfer.
    Channel(u32),
}

/// A queue by time.
#[derive(Clone, Debug, Default)]
pub(super) struct Events {
    heap: BinaryHeap<Reverse<Event>>,
    /// Events so far; those at the same time happen in this order.
    number: u64,
}

/// Time and number are one number, because comparing two pairs takes a branch, and nobody can foresee it.
#[derive(Clone, Copy, Debug)]
struct Event {
    order: u128,
    what: What,
}

impl Event {
    fn time(&self) -> Time {
        (self.order >> u64::BITS) as Time
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    // By default these two go through an `Ordering`, with branches.
    fn le(&self, other: &Self) -> bool {
        self.order <= other.order
    }

    fn ge(&self, other: &Self) -> bool {
        self.order >= other.order
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order.cmp(&other.order)
    }
}

impl Events {
    pub(super) fn add(&mut self, time: Time, what: What) {
        self.number += 1;
        let order = u128::from(time) << u64::BITS | u128::from(self.number);
        self.heap.push(Reverse(Event { order, what }));
    }

    /// The next event's time; the end of time if there is none.
    pub(super) fn next(&self) -> Time {
        self.heap.peek().map_or(Time::MAX, |Reverse(event)| event.time())
    }

    /// Takes the next event up to `limit`, and sets `now` to its time.
    pub(super) fn take(&mut self, limit: Time, now: &mut Time) -> Option<What> {
        let &Reverse(event) = self.heap.peek().filter(|Reverse(event)| event.time() <= limit)?;
        self.heap.pop();
        *now = event.time();
        Some(event.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_in_the_order_they_were_added() {
        let (mut events, mut now) = (Events::default(), 0);
        for (time, channel) in [(7, 0), (5, 1), (7, 2), (Time::MAX, 3), (5, 4), (6, 5)] {
            events.add(time, What::Channel(channel));
        }
        let mut taken = Vec::new();
        while let Some(What::Channel(channel)) = events.take(7, &mut now) {
            taken.push((now, channel));
        }
        assert_eq!(taken, [(5, 1), (5, 4), (6, 5), (7, 0), (7, 2)]);
        assert_eq!((events.next(), now), (Time::MAX, 7));
        assert_eq!(events.take(Time::MAX, &mut now), Some(What::Channel(3)));
        assert_eq!(events.next(), Time::MAX, "nothing is left");
    }
}
