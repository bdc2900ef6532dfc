//! Times as they are played: scaled, and long pauses cut.

use super::Config;
use nandlab_nand::Time;

/// Changes a trace's times, one after the other.
#[derive(Debug)]
pub(crate) struct Pace {
    scale: f64,
    longest_gap: Time,
    last: Option<Time>,
    /// Total time removed from pauses.
    cut: Time,
    cuts: u64,
}

impl Pace {
    pub(crate) fn new(config: &Config) -> Self {
        let longest_gap = config.longest_gap_s.map_or(Time::MAX, |seconds| (seconds * 1e9) as Time);
        Self { scale: config.time_scale.unwrap_or(1.0), longest_gap, last: None, cut: 0, cuts: 0 }
    }

    /// The play time for a record at `time`; never before its predecessor's.
    #[inline]
    pub(crate) fn time(&mut self, time: Time) -> Time {
        let last = self.last.replace(time).unwrap_or(time);
        let gap = time - last;
        if gap > self.longest_gap {
            self.cut += gap - self.longest_gap;
            self.cuts += 1;
        }
        let time = time - self.cut;
        if self.scale == 1.0 {
            return time;
        }
        // Rounding is monotone, and saturates far behind any run.
        ((time as f64 * self.scale) as Time).min(super::fields::MAX_TIME)
    }

    pub(crate) fn cuts(&self) -> u64 {
        self.cuts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(config: &Config, times: &[Time]) -> Vec<Time> {
        let mut pace = Pace::new(config);
        times.iter().map(|&time| pace.time(time)).collect()
    }

    #[test]
    fn pauses_are_cut_and_times_scaled() {
        let plain = Config::new("x");
        let given = [5_000_000_000, 5_000_000_000, 9_000_000_000, 1_000_000_000_000];
        assert_eq!(times(&plain, &given), given);
        let cut = Config { longest_gap_s: Some(1.0), ..plain.clone() };
        assert_eq!(times(&cut, &given), [5_000_000_000, 5_000_000_000, 6_000_000_000, 7_000_000_000]);
        let both = Config { time_scale: Some(0.5), ..cut };
        assert_eq!(times(&both, &given), [2_500_000_000, 2_500_000_000, 3_000_000_000, 3_500_000_000]);
    }
}
