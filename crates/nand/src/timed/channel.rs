//! When a bus is taken.

use crate::context::Time;

/// A bus: the intervals in which it is taken, disjoint and ascending, adjoining ones joined.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    /// Never empty; begins with no length at 0.
    taken: Vec<Interval>,
    /// Length of `taken` at which the past is forgotten.
    limit: usize,
    /// Everything before is forgotten and counts as taken.
    forgotten: Time,
    /// Summed length of all transfers.
    pub(super) busy: Time,
}

#[derive(Clone, Copy, Debug)]
struct Interval {
    start: Time,
    end: Time,
}

impl Channel {
    const FIRST_LIMIT: usize = 64;
    /// Intervals that are looked at one by one, from the last back, before the search halves what is left.
    const NEAR: usize = 8;

    pub(super) fn new() -> Self {
        let mut taken = Vec::with_capacity(Self::FIRST_LIMIT);
        taken.push(Interval { start: 0, end: 0 });
        Self { taken, limit: Self::FIRST_LIMIT, forgotten: 0, busy: 0 }
    }

    /// Whether [`Self::forget`] must come before the next [`Self::take`].
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.taken.len() >= self.limit
    }

    /// Takes the bus for `ns` at the first time from `from` on that it is free for so long. Returns the end.
    #[inline]
    pub(super) fn take(&mut self, from: Time, ns: Time) -> Time {
        self.busy += ns;
        let last = self.taken.len() - 1;
        let last = &mut self.taken[last];
        if from < last.end {
            return self.take_gap(from.max(self.forgotten), ns);
        }
        let end = from + ns;
        if from == last.end {
            last.end = end;
        } else {
            self.taken.push(Interval { start: from, end });
        }
        end
    }

    fn take_gap(&mut self, from: Time, ns: Time) -> Time {
        let mut at = self.first_after(from);
        let mut start = from;
        while at < self.taken.len() && self.taken[at].start < start + ns {
            start = self.taken[at].end;
            at += 1;
        }
        self.insert(at, Interval { start, end: start + ns });
        start + ns
    }

    /// Index of the first interval that ends after `time`.
    fn first_after(&self, time: Time) -> usize {
        let far = self.taken.len().saturating_sub(Self::NEAR);
        match self.taken[far..].iter().rposition(|interval| interval.end <= time) {
            Some(at) => far + at + 1,
            None => self.taken[..far].partition_point(|interval| interval.end <= time),
        }
    }

    /// Puts `new` before the interval at index `at`, joined with what it adjoins.
    fn insert(&mut self, at: usize, new: Interval) {
        let joins_before = at > 0 && self.taken[at - 1].end == new.start;
        let joins_after = at < self.taken.len() && self.taken[at].start == new.end;
        match (joins_before, joins_after) {
            (true, true) => self.taken[at - 1].end = self.taken.remove(at).end,
            (true, false) => self.taken[at - 1].end = new.end,
            (false, true) => self.taken[at].start = new.start,
            (false, false) => self.taken.insert(at, new),
        }
    }

    /// Drops what ends by `past`. The limit grows while most of the list is still ahead, so that the cost
    /// of forgetting stays constant an operation.
    pub(super) fn forget(&mut self, past: Time) {
        let dead = self.taken.partition_point(|interval| interval.end <= past).min(self.taken.len() - 1);
        if dead > 0 {
            self.forgotten = self.taken[dead - 1].end;
            self.taken.drain(..dead);
        }
        if self.taken.len() > self.limit / 2 {
            self.limit *= 2;
            self.taken.reserve(self.limit - self.taken.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(channel: &Channel) -> Vec<(Time, Time)> {
        channel.taken.iter().map(|interval| (interval.start, interval.end)).collect()
    }

    #[test]
    fn a_transfer_goes_into_the_first_gap_that_holds_it() {
        let mut channel = Channel::new();
        assert_eq!(channel.take(100, 10), 110);
        assert_eq!(channel.take(130, 10), 140);
        assert_eq!(channel.take(95, 6), 116, "5 free before 100, so behind 110, which it adjoins");
        assert_eq!(channel.take(80, 5), 85);
        assert_eq!(channel.take(95, 5), 100, "a gap of exactly this length");
        assert_eq!(channel.take(95, 15), 155, "14 free from 116 to 130");
        assert_eq!(channel.take(95, 14), 130);
        assert_eq!(channel.take(90, 5), 95, "adjoins what follows");
        assert_eq!(spans(&channel), [(0, 0), (80, 85), (90, 155)]);
        assert_eq!(channel.busy, 70);
    }

    #[test]
    fn gaps_far_before_the_last_interval_are_found() {
        let mut channel = Channel::new();
        for n in 1..=50 {
            channel.take(10 * n, 5);
        }
        for n in (1..=50).rev() {
            assert_eq!(channel.first_after(10 * n + 5), n as usize + 1);
            assert_eq!(channel.first_after(10 * n + 4), n as usize);
            assert_eq!(channel.take(10 * n + 4, 2), 10 * n + 7);
        }
    }

    #[test]
    fn what_is_forgotten_counts_as_taken() {
        let mut channel = Channel::new();
        channel.take(10, 5);
        channel.take(20, 5);
        channel.take(40, 5);
        channel.forget(24);
        assert_eq!((spans(&channel), channel.forgotten), (vec![(20, 25), (40, 45)], 15));
        assert_eq!(channel.take(0, 5), 20);
        channel.forget(1000);
        assert_eq!((spans(&channel), channel.forgotten), (vec![(40, 45)], 25), "the last one stays");
    }

    #[test]
    fn the_list_grows_only_while_most_of_it_is_ahead() {
        let mut channel = Channel::new();
        for n in 1..=10_000 {
            if channel.is_full() {
                channel.forget(10 * n - 200);
            }
            channel.take(10 * n, 5);
        }
        assert_eq!(channel.limit, Channel::FIRST_LIMIT);
        for n in 1..=1_000 {
            if channel.is_full() {
                channel.forget(0);
            }
            channel.take(200_000 + 10 * n, 5);
        }
        assert!((1_000..4_000).contains(&channel.limit), "{}", channel.limit);
    }
}
