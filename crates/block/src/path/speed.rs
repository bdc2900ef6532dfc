//! A link with two speeds.

use nandlab_nand::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// When the link is slow, and how slow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkScaling {
    /// The device looks back this often, ns.
    pub period: Time,
    /// Busy for a larger share of the period: the link becomes fast.
    pub up_share: f64,
    /// Busy for a smaller share: it becomes slow.
    pub down_share: f64,
    /// Slow and fast, from device to host, ns per byte.
    pub read_ns_per_byte: [f64; 2],
    /// Slow and fast, from host to device.
    pub write_ns_per_byte: [f64; 2],
}

/// The link's speed as requests come and end.
///
/// Only requests that are under way ask for it, and everything before they came is known. What happens between is no
/// matter: the device is busy with them.
#[derive(Clone, Debug)]
pub(super) struct Speed {
    scaling: LinkScaling,
    is_fast: bool,
    now: Time,
    /// The running period's end.
    until: Time,
    /// For how long a request was under way in it.
    busy: Time,
    under_way: u64,
    ends: BinaryHeap<Reverse<Time>>,
}

impl Speed {
    pub(super) fn new(scaling: &LinkScaling, start: Time) -> Self {
        let until = start + scaling.period;
        Self { scaling: *scaling, is_fast: false, now: start, until, busy: 0, under_way: 0, ends: BinaryHeap::new() }
    }

    /// A request comes.
    pub(super) fn comes(&mut self, arrival: Time) {
        self.go_on(arrival);
        self.under_way += 1;
    }

    /// A request that came ends at `done`.
    pub(super) fn ends(&mut self, done: Time) {
        self.ends.push(Reverse(done));
    }

    /// Time from device to host at `at`, ns per byte.
    pub(super) fn read(&mut self, at: Time) -> f64 {
        self.go_on(at);
        self.scaling.read_ns_per_byte[usize::from(self.is_fast)]
    }

    /// Time from host to device at `at`, ns per byte.
    pub(super) fn write(&mut self, at: Time) -> f64 {
        self.go_on(at);
        self.scaling.write_ns_per_byte[usize::from(self.is_fast)]
    }

    fn go_on(&mut self, to: Time) {
        while let Some(&Reverse(end)) = self.ends.peek().filter(|Reverse(end)| *end <= to) {
            self.pass(end);
            self.ends.pop();
            self.under_way -= 1;
        }
        self.pass(to);
    }

    /// Nothing comes or ends before `to`.
    fn pass(&mut self, to: Time) {
        while self.until <= to {
            self.work(self.until);
            let share = self.busy as f64 / self.scaling.period as f64;
            self.is_fast = share > self.scaling.up_share || self.is_fast && share >= self.scaling.down_share;
            self.busy = 0;
            // All further whole periods are alike: the last one decides.
            let skipped = ((to - self.until) / self.scaling.period).saturating_sub(1) * self.scaling.period;
            self.now += skipped;
            self.until += skipped + self.scaling.period;
        }
        self.work(to);
    }

    fn work(&mut self, to: Time) {
        let passed = to.saturating_sub(self.now);
        self.busy += if self.under_way > 0 { passed } else { 0 };
        self.now += passed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALING: LinkScaling = LinkScaling {
        period: 100,
        up_share: 0.5,
        down_share: 0.2,
        read_ns_per_byte: [4.0, 1.0],
        write_ns_per_byte: [3.0, 2.0],
    };

    /// Requests one behind the other, each from one time to another.
    fn speeds(requests: &[(Time, Time)]) -> Vec<f64> {
        let mut speed = Speed::new(&SCALING, 1000);
        let one = |&(arrival, done): &(Time, Time)| {
            speed.comes(arrival);
            speed.ends(done);
            speed.read(arrival)
        };
        requests.iter().map(one).collect()
    }

    #[test]
    fn the_share_of_each_period_decides() {
        assert_eq!(speeds(&[(1000, 1050), (1100, 1101)]), [4.0, 4.0], "no more than the share for fast");
        assert_eq!(speeds(&[(1000, 1051), (1099, 1099), (1100, 1101)]), [4.0, 4.0, 1.0]);
        assert_eq!(speeds(&[(1000, 1051), (1100, 1120), (1200, 1201)]), [4.0, 1.0, 1.0], "no less than that for slow");
        assert_eq!(speeds(&[(1000, 1051), (1100, 1119), (1200, 1201)]), [4.0, 1.0, 4.0]);
        assert_eq!(speeds(&[(1000, 1030), (1010, 1040), (1100, 1101)]), [4.0, 4.0, 4.0], "together they took 40");
        assert_eq!(speeds(&[(1060, 1111), (1200, 1201)]), [4.0, 4.0], "a part in each period");
    }

    #[test]
    fn periods_without_a_change_are_alike() {
        assert_eq!(speeds(&[(1000, 1051), (1000 + (1 << 60), 1 << 61)]), [4.0, 4.0], "slow after a pause");
        let mut speed = Speed::new(&SCALING, 0);
        speed.comes(3);
        assert_eq!([0, 99, 100, 1 << 60].map(|at| speed.write(at)), [3.0, 3.0, 2.0, 2.0]);
        speed.ends(10);
        assert_eq!(speed.write(10), 2.0, "the past stays");
        assert_eq!(speed.under_way, 0);
    }
}
