//! Events to come, in order.
//!
//! A unit has at most one event, and so has a channel; a later plan takes the place of an earlier one. So each has a slot,
//! and the slots play a tournament: the earlier event goes on to the next round.

use crate::time::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An event's kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// A unit looks for work, or ends a step in its array.
    Unit(u32),
    /// A read is ready for a unit that can stop its operation.
    Wake(u32),
    /// A channel ends a transfer.
    Channel(u32),
}

/// A queue by time.
#[derive(Clone, Debug)]
pub(super) struct Events {
    /// The overall winner at 1, the games below it at 2 and 3, and so on; the last half are the slots.
    ///
    /// An event is one number, because comparing pairs takes branches, and nobody can foresee them: its time, its number
    /// among all events, and its slot in the last bits.
    games: Vec<u128>,
    units: u32,
    /// The slot of the event taken last, as long as it still has it: most often the next event there replaces it.
    taken: Option<usize>,
    /// A unit may have several of these; they are rare.
    wakes: BinaryHeap<Reverse<(u128, u32)>>,
    /// Events so far, in steps of as many as there are slots; those at the same time happen in this order.
    number: u64,
}

/// No event; times are below 2^63 ns, 292 years.
const NONE: u128 = i128::MAX as u128;

fn time_of(event: u128) -> Time {
    (event >> u64::BITS) as Time
}

impl Events {
    pub(super) fn new(units: u32, channels: u32) -> Self {
        let slots = (units + channels).next_power_of_two() as usize;
        Self { games: vec![NONE; 2 * slots], units, taken: None, wakes: BinaryHeap::new(), number: 0 }
    }

    fn slots(&self) -> usize {
        self.games.len() / 2
    }

    /// Plans an event; a unit's or a channel's earlier plan is void.
    pub(super) fn plan(&mut self, time: Time, what: What) {
        self.number += self.slots() as u64;
        let event = u128::from(time) << u64::BITS | u128::from(self.number);
        let slot = match what {
            What::Unit(unit) => unit,
            What::Channel(channel) => self.units + channel,
            What::Wake(unit) => return self.wakes.push(Reverse((event, unit))),
        } as usize;
        self.taken = self.taken.filter(|&taken| taken != slot);
        self.play(slot, event | slot as u128);
    }

    /// The earlier event is unpredictable, so arithmetic decides each game, and the way up always has the same length.
    #[inline]
    fn play(&mut self, slot: usize, event: u128) {
        let mut game = self.slots() + slot;
        let mut winner = event;
        self.games[game] = winner;
        while game > 1 {
            let later = self.games[game ^ 1].wrapping_sub(winner) as i128;
            // All ones if the other event is earlier.
            let other_wins = later >> (i128::BITS - 1);
            winner = winner.wrapping_add((later & other_wins) as u128);
            game /= 2;
            self.games[game] = winner;
        }
    }

    /// The next event, without those that wake a unit.
    #[inline]
    fn first(&mut self) -> u128 {
        if let Some(slot) = self.taken.take() {
            self.play(slot, NONE);
        }
        self.games[1]
    }

    /// The next event's time; the end of time if there is none.
    #[inline]
    pub(super) fn next(&mut self) -> Time {
        let first = self.wakes.peek().map_or(NONE, |Reverse((event, _))| *event).min(self.first());
        if first == NONE {
            Time::MAX
        } else {
            time_of(first)
        }
    }

    /// Takes the next event up to `limit`, and sets `now` to its time.
    #[inline]
    pub(super) fn take(&mut self, limit: Time, now: &mut Time) -> Option<What> {
        let first = self.first();
        if let Some(&Reverse((event, unit))) = self.wakes.peek().filter(|Reverse((event, _))| *event < first) {
            return (time_of(event) <= limit).then(|| {
                self.wakes.pop();
                *now = time_of(event);
                What::Wake(unit)
            });
        }
        if first == NONE || time_of(first) > limit {
            return None;
        }
        *now = time_of(first);
        let slot = first as usize & (self.slots() - 1);
        self.taken = Some(slot);
        let slot = slot as u32;
        Some(if slot < self.units { What::Unit(slot) } else { What::Channel(slot - self.units) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn events_come_by_time_and_then_in_the_order_they_were_planned() {
        let (mut events, mut now) = (Events::new(3, 2), 0);
        for (time, what) in [
            (7, What::Channel(0)),
            (5, What::Unit(2)),
            (7, What::Wake(1)),
            (9, What::Channel(1)),
            (5, What::Unit(0)),
            (5, What::Wake(2)),
            (6, What::Unit(1)),
            (7, What::Unit(2)),
        ] {
            events.plan(time, what);
        }
        let mut taken = Vec::new();
        while let Some(what) = events.take(7, &mut now) {
            taken.push((now, what));
        }
        let units = [(5, What::Unit(0)), (5, What::Wake(2)), (6, What::Unit(1))];
        let others = [(7, What::Channel(0)), (7, What::Wake(1)), (7, What::Unit(2))];
        assert_eq!(taken, [units, others].concat());
        assert_eq!((events.next(), now), (9, 7));
        assert_eq!(events.take(Time::MAX, &mut now), Some(What::Channel(1)));
        assert_eq!((events.next(), events.take(Time::MAX, &mut now)), (Time::MAX, None));
    }

    #[test]
    fn they_are_those_of_a_sorted_list() {
        let mut list: Vec<(Time, u32, What)> = Vec::new();
        let (mut random, mut events) = (Random::new(5), Events::new(9, 4));
        let mut now = 0;
        for number in 0..20_000 {
            if random.below(2) == 0 {
                let (time, slot) = (now + random.below(20), random.below(13) as u32);
                let what = if slot < 9 { What::Unit(slot) } else { What::Channel(slot - 9) };
                list.retain(|&(.., other)| other != what);
                list.push((time, number, what));
                list.sort_by_key(|&(time, number, _)| (time, number));
                events.plan(time, what);
            } else {
                let limit = now + random.below(10);
                let first = list.first().copied().filter(|&(time, ..)| time <= limit);
                list.drain(..usize::from(first.is_some()));
                assert_eq!(events.take(limit, &mut now), first.map(|(.., what)| what));
            }
            assert_eq!(events.next(), list.first().map_or(Time::MAX, |&(time, ..)| time));
        }
    }
}
