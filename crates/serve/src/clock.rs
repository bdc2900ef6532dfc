//! Arrival times for real programs' requests, in simulated time.

use nandlab_nand::Time;

/// Gives each request its arrival; arrivals never decrease, whatever the machine's clock does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clock {
    /// Simulated time is real time: a request comes when it comes.
    Paced {
        /// The arrival before.
        last: Time,
    },
    /// Programs do not wait for simulated time. A request comes no earlier than the previous request's end; idle real
    /// time passes here, too.
    Free {
        /// Simulated time's lead over real time.
        ahead: Time,
        /// The previous request's end.
        done: Time,
    },
}

impl Clock {
    pub fn new(paced: bool) -> Self {
        match paced {
            true => Self::Paced { last: 0 },
            false => Self::Free { ahead: 0, done: 0 },
        }
    }

    /// The arrival for a request at `real` ns after the start.
    pub fn arrival(&mut self, real: Time) -> Time {
        match self {
            Self::Paced { last } => {
                *last = real.max(*last);
                *last
            }
            Self::Free { ahead, done } => {
                *ahead = (*ahead).max(done.saturating_sub(real));
                real + *ahead
            }
        }
    }

    /// A request was done at `done`.
    pub fn complete(&mut self, end: Time) {
        if let Self::Free { done, .. } = self {
            *done = end.max(*done);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_never_decrease() {
        for paced in [false, true] {
            let mut clock = Clock::new(paced);
            let mut last = 0;
            for (real, took) in [(5, 100), (3, 10), (9, 0), (500, 1), (499, 1_000), (0, 0), (2_000, 7)] {
                let arrival = clock.arrival(real);
                assert!(arrival >= last.max(real), "{clock:?}");
                clock.complete(arrival + took);
                last = arrival;
            }
        }
    }

    #[test]
    fn without_pace_requests_follow_one_another_and_gaps_stay_gaps() {
        let mut clock = Clock::new(false);
        assert_eq!(clock.arrival(10), 10);
        clock.complete(1_010);
        assert_eq!(clock.arrival(20), 1_010, "the device was busy for longer than the program took to ask again");
        clock.complete(2_010);
        assert_eq!(clock.arrival(120), 2_010);
        assert_eq!(clock.arrival(5_120), 7_010, "5,000 ns in which nothing was asked");
    }

    #[test]
    fn with_pace_real_time_is_simulated_time() {
        let mut clock = Clock::new(true);
        assert_eq!(clock.arrival(10), 10);
        clock.complete(1_010);
        assert_eq!(clock.arrival(20), 20);
        assert_eq!(clock.arrival(15), 20, "the clock of the machine went back");
    }
}
