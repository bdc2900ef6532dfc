//! A bus's schedule.

use crate::context::Time;

/// A bus and the units on it.
///
/// Each unit mostly transfers in the order of its operations, so its own transfers ascend in time, and it passes every
/// other unit's transfers in order. It keeps its place among them, and a place only moves forward. Finding a
/// gap costs a constant number of steps per transfer, however far apart in time the units work. The rare transfer in
/// front of later ones of its unit ([`Channel::take_until`]) searches without places.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    units: usize,
    /// Remembered transfers per unit, plus [`AHEAD`] places for [`Interval::NEVER`].
    room: usize,
    /// By unit, `room` places each: its transfers, disjoint and ascending, then [`Interval::NEVER`].
    taken: Vec<Interval>,
    /// By unit, then by distance to a unit (0: itself, 1: the next one, ..., the previous one): the index in
    /// `taken` for that unit's first transfer that may end after this unit's next transfer; for the unit
    /// itself, the index after its last.
    places: Vec<u32>,
    /// Total transfer time.
    pub(super) busy: Time,
    /// End of the last transfer of all.
    end: Time,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Interval {
    start: Time,
    end: Time,
}

impl Interval {
    const NEVER: Self = Self { start: Time::MAX, end: Time::MAX };
}

/// Transfers examined together, per unit.
const AHEAD: usize = 3;

impl Channel {
    const FIRST_ROOM: usize = 128;

    /// A free bus with `units` units.
    pub(super) fn new(units: usize) -> Self {
        let room = Self::FIRST_ROOM;
        let places = (0..units * units).map(|place| (Self::lane(units, place) * room) as u32).collect();
        Self { units, room, taken: vec![Interval::NEVER; units * room], places, busy: 0, end: 0 }
    }

    /// Bytes for a bus with `units` units while its rooms have not grown.
    pub(super) fn bytes(units: u64) -> u64 {
        let transfers = Self::FIRST_ROOM * size_of::<Interval>();
        units * (transfers as u64 + units * size_of::<u32>() as u64)
    }

    /// The unit whose transfers `places[place]` indexes.
    fn lane(units: usize, place: usize) -> usize {
        (place / units + place % units) % units
    }

    /// Units on the bus.
    pub(super) fn units(&self) -> usize {
        self.units
    }

    /// Whether [`Self::forget`] must come before the next [`Self::take`] of `unit`.
    #[inline]
    pub(super) fn is_full(&self, unit: usize) -> bool {
        self.places[unit * self.units] as usize + AHEAD == (unit + 1) * self.room
    }

    /// Takes the bus for `unit` and `ns` at the first sufficiently long gap, starting at `from` at the earliest
    /// and after the unit's previous transfer. Returns the end.
    #[inline]
    pub(super) fn take(&mut self, unit: usize, from: Time, ns: Time) -> Time {
        self.busy += ns;
        let places = &mut self.places[unit * self.units..][..self.units];
        let (own, others) = places.split_first_mut().expect("a unit has a place among its own transfers");
        let start = match <&mut [u32; 3]>::try_from(&mut *others) {
            // Behind all transfers the bus is free; later searches pass them.
            _ if from >= self.end => from,
            // The usual unit count is fixed, and needs no loop.
            Ok(three) => first_gap(&self.taken, three, from, ns),
            Err(_) => first_gap(&self.taken, others, from, ns),
        };
        self.taken[*own as usize] = Interval { start, end: start + ns };
        *own += 1;
        self.end = self.end.max(start + ns);
        start + ns
    }

    /// As [`Self::take`], in front of the unit's later transfers; `None` if it would end after `until`. The unit has no
    /// transfer from `from` until then.
    #[cold]
    pub(super) fn take_until(&mut self, unit: usize, from: Time, ns: Time, until: Time) -> Option<Time> {
        // The unit's places are behind this time.
        let place = |distance: usize| {
            let first = (unit + distance) % self.units * self.room;
            let passed = self.taken[first..first + self.room].partition_point(|interval| interval.end <= from);
            (first + passed) as u32
        };
        let mut others: Vec<u32> = (1..self.units).map(place).collect();
        let start = first_gap(&self.taken, &mut others, from, ns);
        let end = start + ns;
        if end > until {
            return None;
        }
        self.busy += ns;
        self.insert(unit, Interval { start, end });
        Some(end)
    }

    /// Inserts a transfer before later ones of its unit; places behind it move with them.
    fn insert(&mut self, unit: usize, new: Interval) {
        let (units, first) = (self.units, unit * self.room);
        let last = self.places[unit * units] as usize;
        let at = first + self.taken[first..last].partition_point(|interval| interval.end <= new.start);
        self.taken.copy_within(at..last, at + 1);
        self.taken[at] = new;
        for of in 0..units {
            let place = &mut self.places[of * units + (unit + units - of) % units];
            if of == unit || *place as usize > at {
                *place += 1;
            }
        }
    }

    /// Drops transfers with an end up to `past`, and later ones that every other unit has passed, unless a unit
    /// `has_gaps` before them. The room grows while most entries are future transfers, so the cost stays constant per
    /// operation.
    pub(super) fn forget(&mut self, past: Time, has_gaps: bool) {
        let (units, room) = (self.units, self.room);
        for unit in 0..units {
            let first = unit * room;
            let taken = &mut self.taken[first..first + room];
            let passed = taken.partition_point(|interval| interval.end <= past);
            let places = || (0..units).map(|of| of * units + (unit + units - of) % units);
            let dead = |place: usize| (self.places[place] as usize - first).max(passed);
            let all_passed = places().map(dead).min().expect("a bus has a unit");
            let dead = if has_gaps { passed } else { all_passed };
            taken.copy_within(dead.., 0);
            taken[room - dead..].fill(Interval::NEVER);
            for place in places() {
                let ahead = (self.places[place] as usize).max(first + passed);
                self.places[place] = (ahead - dead) as u32;
            }
        }
        let ahead = |unit: usize| self.places[unit * units] as usize - unit * room;
        let most = (0..units).map(ahead).max().expect("a bus has a unit");
        if most > room / 2 {
            self.resize(2 * room);
        } else if most < room / 8 && room > Self::FIRST_ROOM {
            self.resize(room / 2);
        }
    }

    /// Changes the room; the future transfers fit.
    fn resize(&mut self, room: usize) {
        let mut taken = Vec::with_capacity(self.units * room);
        for (unit, list) in self.taken.chunks(self.room).enumerate() {
            taken.extend_from_slice(&list[..room.min(list.len())]);
            taken.resize((unit + 1) * room, Interval::NEVER);
        }
        for (at, place) in self.places.iter_mut().enumerate() {
            let unit = Self::lane(self.units, at);
            *place = *place - (unit * self.room) as u32 + (unit * room) as u32;
        }
        (self.taken, self.room) = (taken, room);
    }
}

/// The start of the first gap at least `ns` long from `from` on, among the transfers in `taken` from `places`
/// on. The places move past transfers with an earlier end.
#[inline(always)]
fn first_gap(taken: &[Interval], places: &mut [u32], from: Time, ns: Time) -> Time {
    let mut start = from;
    // A round looks at one transfer per unit and branches only at its end: the blocking units are
    // unpredictable, but the number of rounds is mostly predictable.
    loop {
        let tried = start;
        let mut is_taken = false;
        for place in &mut *places {
            // Mostly none to two transfers have passed since this unit's last look; the next round handles
            // more.
            let ahead = &taken[*place as usize..][..AHEAD];
            let passed = usize::from(ahead[0].end <= tried) + usize::from(ahead[1].end <= tried);
            *place += passed as u32;
            let next = ahead[passed];
            let in_the_way = next.start < tried + ns;
            is_taken |= in_the_way;
            // A blocking transfer blocks every start before its end.
            start = start.max(if in_the_way { next.end } else { 0 });
        }
        if !is_taken {
            return start;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn spans(channel: &Channel, unit: usize) -> Vec<(Time, Time)> {
        let (first, end) = (unit * channel.room, channel.places[unit * channel.units] as usize);
        assert!(channel.taken[end..first + channel.room].iter().all(|&interval| interval == Interval::NEVER));
        channel.taken[first..end].iter().map(|interval| (interval.start, interval.end)).collect()
    }

    #[test]
    fn a_transfer_goes_into_the_first_gap_that_holds_it() {
        let mut channel = Channel::new(4);
        assert_eq!(channel.take(0, 100, 10), 110);
        assert_eq!(channel.take(0, 130, 10), 140);
        assert_eq!(channel.take(1, 95, 6), 116, "5 free before 100, so behind 110, which it adjoins");
        assert_eq!(channel.take(2, 80, 5), 85);
        assert_eq!(channel.take(2, 95, 5), 100, "a gap of exactly this length");
        assert_eq!(channel.take(3, 90, 5), 95, "adjoins what follows");
        assert_eq!(channel.take(3, 95, 15), 155, "14 free from 116 to 130");
        assert_eq!(channel.take(2, 100, 14), 130);
        assert_eq!(spans(&channel, 0), [(100, 110), (130, 140)]);
        assert_eq!(spans(&channel, 3), [(90, 95), (140, 155)]);
        assert_eq!(channel.busy, 70);
    }

    #[test]
    fn a_start_moved_into_a_transfer_looked_at_before_moves_on() {
        let mut channel = Channel::new(3);
        channel.take(0, 20, 10);
        channel.take(1, 5, 10);
        assert_eq!(channel.take(2, 8, 6), 36, "5 free from 15 to 20");
    }

    /// Compared with the plain form: all transfers in one list, searched from the front.
    #[test]
    fn gaps_are_those_of_a_search_through_everything() {
        let mut random = Random::new(1);
        for units in [1, 2, 4, 7] {
            let mut channel = Channel::new(units);
            let mut all: Vec<(Time, Time)> = Vec::new();
            let mut free = vec![0; units];
            let mut arrival = 0;
            for _ in 0..5_000 {
                arrival += random.below(8);
                let (unit, ns) = (random.below(units as u64) as usize, 1 + random.below(12));
                let from = arrival.max(free[unit]) + random.below(3) * random.below(200);
                if channel.is_full(unit) {
                    channel.forget(free.iter().copied().min().unwrap().max(arrival), false);
                }
                let mut start = from;
                for &(taken, end) in &all {
                    if taken >= start + ns {
                        break;
                    }
                    start = start.max(end);
                }
                let end = channel.take(unit, from, ns);
                assert_eq!(end, start + ns);
                free[unit] = end;
                let at = all.partition_point(|&(taken, _)| taken < start);
                all.insert(at, (start, end));
            }
        }
    }

    #[test]
    fn the_room_grows_only_while_most_of_it_is_ahead() {
        let mut channel = Channel::new(2);
        for n in 1..=10_000 {
            if channel.is_full(0) {
                channel.forget(10 * n - 200, false);
            }
            channel.take(0, 10 * n, 5);
        }
        assert_eq!(channel.room, Channel::FIRST_ROOM);
        for n in 1..=1_000 {
            if channel.is_full(0) {
                channel.forget(0, false);
            }
            channel.take(0, 200_000 + 10 * n, 5);
        }
        assert!((1_000..4_000).contains(&channel.room), "{}", channel.room);
    }
}
