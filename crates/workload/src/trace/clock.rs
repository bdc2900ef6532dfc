//! A trace's clock: slightly late records, and jumps from a clock being set.
//!
//! Several processors and queues write a real system's log, so a record may have a time slightly before its
//! predecessor: it gets the predecessor's time. A clock being set jumps: forward by more than [`LONGEST_PAUSE`], or
//! back by more than [`LATEST`]. The median gap so far replaces a jump, and later records keep their distances. Up to
//! [`FEW`] late records followed by the old time line are only late, however much: no clock was set.

use nandlab_nand::Time;

/// No trace pauses longer: 100 days.
pub(super) const LONGEST_PAUSE: i64 = 100 * 86_400 * 1_000_000_000;

/// A record further behind is not just late: 1 s; in real systems queues were late by 0.6 s at most.
const LATEST: i64 = 1_000_000_000;

/// So many records in a row may be late by more.
const FEW: u32 = 8;

/// Gaps for the median: the last ones.
const GAPS: usize = 1024;

/// The decision on a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// It stands, but for the jumps before it.
    Time(Time),
    /// It was behind by so much.
    Late { time: Time, by: Time },
    /// The clock jumped by so much, and the gap took its place.
    Jump { time: Time, by: i64, gap: Time },
    /// The last jump was none: the records since were late, with their count and largest delay.
    NoJump { time: Time, late: u64, by: Time },
    /// The time goes back, and this clock forbids it.
    Back { from: Time, to: Time },
}

/// Puts times in order, one after the other.
#[derive(Debug)]
pub(super) struct Clock {
    raises: bool,
    mends: bool,
    /// The latest time given out; the largest possible before the first.
    last: i64,
    /// The jumps' sum so far.
    shift: i64,
    /// The longest gap still accepted.
    longest: i64,
    /// A jump back, perhaps only a few late records.
    unsure: Option<Unsure>,
    gaps: Box<[i64; GAPS]>,
    seen: usize,
}

#[derive(Clone, Copy, Debug)]
struct Unsure {
    shift_before: i64,
    last_before: i64,
    /// How far back it goes.
    by: i64,
    records: u32,
}

impl Clock {
    /// `raises` late times, otherwise reports them; `mends` jumps.
    pub(super) fn new(raises: bool, mends: bool) -> Self {
        let longest = if mends { LONGEST_PAUSE } else { i64::MAX };
        Self { raises, mends, last: i64::MAX, shift: 0, longest, unsure: None, gaps: Box::new([0; GAPS]), seen: 0 }
    }

    /// Whether a time that goes back is an error, and every other one stands.
    pub(super) fn is_strict(&self) -> bool {
        !self.raises && !self.mends
    }

    /// Takes a time up to 292 years.
    #[inline]
    pub(super) fn take(&mut self, raw: Time) -> Kept {
        let time = (raw as i64).saturating_add(self.shift);
        let gap = time.wrapping_sub(self.last);
        if time < self.last || gap > self.longest || self.unsure.is_some() {
            return self.unusual(raw, time);
        }
        if self.mends {
            self.gaps[self.seen % GAPS] = gap;
            self.seen += 1;
        }
        self.last = time;
        Kept::Time(time as Time)
    }

    #[cold]
    fn unusual(&mut self, raw: Time, time: i64) -> Kept {
        if self.last == i64::MAX {
            self.last = time;
            return Kept::Time(raw);
        }
        if let Some(mut unsure) = self.unsure.take() {
            let as_before = (raw as i64).saturating_add(unsure.shift_before);
            unsure.records += 1;
            // The continuing record may be slightly late itself.
            let ahead = as_before.saturating_sub(unsure.last_before);
            if ahead > -LATEST && ahead <= self.longest {
                self.shift = unsure.shift_before;
                self.last = self.last.max(as_before);
                let late = u64::from(unsure.records);
                return Kept::NoJump { time: self.last as Time, late, by: unsure.by.unsigned_abs() };
            }
            self.unsure = (unsure.records < FEW).then_some(unsure);
        }
        let step = time - self.last;
        if step > self.longest {
            return self.jump(step);
        }
        if step >= 0 {
            self.last = time;
            return Kept::Time(time as Time);
        }
        if !self.raises {
            return Kept::Back { from: self.last as Time, to: time.max(0) as Time };
        }
        if self.mends && -step > LATEST {
            let unsure = Unsure { shift_before: self.shift, last_before: self.last, by: step, records: 0 };
            self.unsure = self.unsure.or(Some(unsure));
            return self.jump(step);
        }
        Kept::Late { time: self.last as Time, by: step.unsigned_abs() }
    }

    fn jump(&mut self, by: i64) -> Kept {
        let gap = self.median();
        self.shift = self.shift.saturating_add(gap - by);
        self.last = self.last.saturating_add(gap);
        Kept::Jump { time: self.last as Time, by, gap: gap as Time }
    }

    /// The median over the last gaps; 0 without any.
    fn median(&self) -> i64 {
        let mut known = self.gaps[..self.seen.min(GAPS)].to_vec();
        let middle = known.len() / 2;
        if known.is_empty() {
            return 0;
        }
        *known.select_nth_unstable(middle).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Time = 1_000_000_000;
    const DAY: Time = 86_400 * S;

    fn times(raw: &[Time], mends: bool) -> Vec<Time> {
        let mut clock = Clock::new(true, mends);
        raw.iter()
            .map(|&raw| match clock.take(raw) {
                Kept::Time(time) | Kept::Late { time, .. } | Kept::Jump { time, .. } | Kept::NoJump { time, .. } => {
                    time
                }
                Kept::Back { .. } => unreachable!("this clock raises"),
            })
            .collect()
    }

    #[test]
    fn a_clock_that_is_set_back_or_forward_goes_on_with_the_median_gap() {
        let before = [10 * S, 12 * S, 14 * S, 20 * S];
        let expected = [10 * S, 12 * S, 14 * S, 20 * S, 22 * S, 23 * S, 26 * S];
        for set in [3 * S, 15 * S, 200 * DAY] {
            let raw = [&before[..], &[set, set + S, set + 4 * S]].concat();
            assert_eq!(times(&raw, true), expected, "set to {set}");
        }
        // A record late by less than a second and a pause of 99 days are no jumps.
        let raw = [10 * S, 10 * S - S / 2, 99 * DAY];
        assert_eq!(times(&raw, true), [10 * S, 10 * S, 99 * DAY]);
    }

    #[test]
    fn without_mending_the_times_freeze_until_the_clock_is_there_again() {
        assert_eq!(times(&[100 * S, 3 * S, 50 * S, 101 * S], false), [100 * S, 100 * S, 100 * S, 101 * S]);
        assert_eq!(times(&[S, 500 * DAY], false), [S, 500 * DAY]);
    }

    #[test]
    fn a_few_late_records_are_no_jump() {
        let mut clock = Clock::new(true, true);
        clock.take(100 * S);
        clock.take(101 * S);
        assert_eq!(clock.take(5 * S), Kept::Jump { time: 102 * S, by: -96 * S as i64, gap: S });
        assert_eq!(clock.take(6 * S), Kept::Time(103 * S));
        assert_eq!(clock.take(102 * S), Kept::NoJump { time: 103 * S, late: 2, by: 96 * S });
        assert_eq!(clock.take(110 * S), Kept::Time(110 * S), "as if nothing had happened");
        // The continuing record is slightly late itself.
        assert_eq!(
            times(&[100 * S, 101 * S, 5 * S, 101 * S - S / 4, 102 * S, 104 * S], true),
            [100 * S, 101 * S, 102 * S, 102 * S, 102 * S, 104 * S]
        );
        // From uptime to wall-clock time, with two late ones between.
        let year = 400 * DAY;
        assert_eq!(
            times(&[S, 2 * S, year, 3 * S, 4 * S, year + S, year + 5 * S], true),
            [S, 2 * S, 3 * S, 4 * S, 5 * S, 5 * S, 8 * S]
        );
    }

    #[test]
    fn records_that_have_to_be_in_order_are_refused() {
        let mut clock = Clock::new(false, true);
        clock.take(5);
        assert_eq!(clock.take(4), Kept::Back { from: 5, to: 4 });
    }

    #[test]
    fn times_at_the_end_of_what_a_clock_holds() {
        let most = Time::MAX / 2;
        assert_eq!(times(&[0, most, 0, most], true).len(), 4);
        assert_eq!(times(&[most, 0, most, 0, 1, 2], true)[0], most);
    }
}
