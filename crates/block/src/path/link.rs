//! One direction of the link.

use nandlab_nand::Time;
use std::collections::VecDeque;

/// Times when the link moves data. A transfer uses every gap behind its earliest start, because the link moves small
/// packets; so no gap is lost.
#[derive(Clone, Debug, Default)]
pub(super) struct Link {
    /// Disjoint intervals, in order, none adjacent to the next.
    taken: VecDeque<(Time, Time)>,
}

impl Link {
    /// Drops intervals before `arrival`: no later transfer begins before it.
    pub(super) fn forget(&mut self, arrival: Time) {
        while self.taken.front().is_some_and(|&(_, end)| end < arrival) {
            self.taken.pop_front();
        }
    }

    /// Moves data for `ns` from `from` on, whenever the link is free; returns the end.
    pub(super) fn take(&mut self, from: Time, ns: Time) -> Time {
        if ns == 0 {
            return from;
        }
        let first = self.taken.partition_point(|&(_, end)| end < from);
        let start = self.taken.get(first).map_or(from, |&(start, _)| start.min(from));
        let (mut at, mut left, mut next) = (from, ns, first);
        while let Some(&(taken, end)) = self.taken.get(next) {
            let gap = taken.saturating_sub(at);
            if gap >= left {
                break;
            }
            (left, at, next) = (left - gap, at.max(end), next + 1);
        }
        let end = at + left;
        let mut joined_end = end;
        if let Some(&(_, later)) = self.taken.get(next).filter(|&&(taken, _)| taken == end) {
            (joined_end, next) = (later, next + 1);
        }
        if next == first {
            self.taken.insert(first, (start, end));
        } else {
            self.taken[first] = (start, joined_end);
            self.taken.drain(first + 1..next);
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_uses_every_gap() {
        let mut link = Link::default();
        assert_eq!(link.take(100, 10), 110);
        assert_eq!(link.take(120, 10), 130);
        assert_eq!(link.take(95, 10), 115, "5 before 100, 5 behind 110");
        assert_eq!(link.taken, [(95, 115), (120, 130)]);
        assert_eq!(link.take(110, 5), 120, "it fills the gap exactly");
        assert_eq!(link.taken, [(95, 130)]);
        assert_eq!(link.take(50, 5), 55);
        assert_eq!(link.take(200, 5), 205);
        link.forget(131);
        assert_eq!(link.taken, [(200, 205)]);
        assert_eq!(link.take(140, 0), 140);
    }

    /// Compared with a link kept nanosecond by nanosecond.
    #[test]
    fn each_nanosecond_is_used_once() {
        let mut random = nandlab_nand::random::Random::new(7);
        let mut link = Link::default();
        let (mut busy, mut arrival) = (vec![false; 60_000], 0);
        for _ in 0..4_000 {
            arrival += random.below(12);
            let (from, ns) = (arrival + random.below(150), random.below(20));
            let (mut at, mut left) = (from, ns);
            while left > 0 {
                left -= u64::from(!std::mem::replace(&mut busy[at as usize], true));
                at += 1;
            }
            link.forget(arrival);
            assert_eq!(link.take(from, ns), at);
        }
        assert!(arrival < 50_000 && link.taken.len() < 100);
    }
}
