//! The update interval distribution: how long a host page lives until it is written again.
//!
//! Some pages are watched, and each write of one begins an interval. An epoch's end cuts intervals off,
//! the long ones more often, so the distribution is Kaplan's and Meier's estimate: it takes a cut interval for one
//! that lasted at least so long.

use super::curve::Curve;
use nandlab_nand::Lpn;

/// An epoch's intervals, apart for pages that went to the hot group.
#[derive(Debug)]
pub(super) struct Intervals {
    /// One page in so many is watched.
    every: u32,
    /// Host pages in the distribution's steps.
    step: u32,
    /// Host pages since the epoch began, and in the whole epoch.
    now: u32,
    length: u32,
    /// By watched page: one more than `now` at its last write in this epoch, and [`HOT`]; 0: none.
    written: Vec<u32>,
    /// By class and length in steps: ended intervals.
    ended: [Vec<u32>; 2],
}

/// Set for a page that went to the hot group.
const HOT: u32 = 1 << 31;

impl Intervals {
    /// Epochs of `length` host pages, or the most that can be told apart; about `watched` pages are watched.
    pub(super) fn new(logical_pages: u32, watched: u32, step: u32, length: u64) -> Self {
        let every = logical_pages.div_ceil(watched).max(1);
        let length = length.clamp(1, u64::from(HOT - 2)) as u32;
        let steps = (length / step + 1) as usize;
        Self {
            every,
            step,
            now: 0,
            length,
            written: vec![0; (logical_pages / every) as usize],
            ended: [vec![0; steps], vec![0; steps]],
        }
    }

    /// Host pages in an epoch.
    pub(super) fn length(&self) -> u32 {
        self.length
    }

    /// Host pages in the curves' steps.
    pub(super) fn step(&self) -> u32 {
        self.step
    }

    /// Host pages in the present epoch.
    pub(super) fn now(&self) -> u32 {
        self.now
    }

    /// Counts a host page.
    #[inline]
    pub(super) fn written(&mut self, at: Lpn, is_hot: bool) {
        if let Some(watched) = self.watched(at) {
            self.end(watched);
            self.written[watched] = (self.now + 1) | if is_hot { HOT } else { 0 };
        }
        self.now += 1;
    }

    /// Ends a trimmed page's interval.
    pub(super) fn trimmed(&mut self, at: Lpn) {
        if let Some(watched) = self.watched(at) {
            self.end(watched);
            self.written[watched] = 0;
        }
    }

    /// A page's place among the watched ones. Which page of each `every` is watched differs from one to the next, so no
    /// regular pattern of addresses is always hit or always missed.
    #[inline]
    fn watched(&self, at: Lpn) -> Option<usize> {
        let place = at.0 / self.every;
        let mixed = u64::from(place.wrapping_mul(0x9E37_79B1));
        let is_watched = at.0 % self.every == ((mixed * u64::from(self.every)) >> 32) as u32;
        (is_watched && (place as usize) < self.written.len()).then_some(place as usize)
    }

    fn end(&mut self, watched: usize) {
        let began = self.written[watched];
        if began != 0 {
            let lasted = self.now + 1 - (began & !HOT);
            self.ended[usize::from(began & HOT != 0)][(lasted / self.step) as usize] += 1;
        }
    }

    /// The parts not written again within so many steps, for both classes, cold and hot.
    pub(super) fn survival(&self) -> [Curve; 2] {
        let mut cut = self.ended.each_ref().map(|ended| vec![0; ended.len()]);
        for began in self.written.iter().copied().filter(|&began| began != 0) {
            let lasted = self.now + 1 - (began & !HOT);
            cut[usize::from(began & HOT != 0)][(lasted / self.step) as usize] += 1;
        }
        let [cold, hot] = &cut;
        [kaplan_meier(&self.ended[0], cold), kaplan_meier(&self.ended[1], hot)]
    }

    /// Begins the next epoch.
    pub(super) fn restart(&mut self) {
        self.now = 0;
        self.written.fill(0);
        self.ended.iter_mut().for_each(|ended| ended.fill(0));
    }

    pub(super) fn bytes(&self) -> u64 {
        4 * (self.written.len() + self.ended[0].len() + self.ended[1].len()) as u64
    }
}

/// The parts that last longer than 0, 1, 2, ... steps, of intervals that ended or were cut off after so many whole steps.
fn kaplan_meier(ended: &[u32], cut: &[u32]) -> Curve {
    let mut left: f64 = ended.iter().chain(cut).map(|&count| f64::from(count)).sum();
    let mut part = 1.0;
    let mut parts = vec![part];
    for (&ended, &cut) in ended.iter().zip(cut) {
        let (ended, cut) = (f64::from(ended), f64::from(cut));
        if left <= 0.0 {
            break;
        }
        // Within a step half of the cut intervals are cut before the others end.
        part *= (1.0 - ended / (left - cut / 2.0)).max(0.0);
        parts.push(part);
        left -= ended + cut;
    }
    Curve::new(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandlab_nand::random::Random;

    /// Kaplan and Meier's own arithmetic: 10 of 100 end in the first step, then 30 are cut off, then 15 of the 60 end.
    #[test]
    fn intervals_cut_off_count_for_as_long_as_they_were_seen() {
        let curve = kaplan_meier(&[10, 0, 15, 0], &[0, 30, 0, 45]);
        let expected = [1.0, 0.9, 0.9, 0.9 * 0.75, 0.9 * 0.75];
        expected.into_iter().enumerate().for_each(|(at, part)| assert!((curve.at(at as f64) - part).abs() < 1e-12));
    }

    /// Uniform writes: an interval is geometric, so `exp(-t / pages)` of them last for t.
    #[test]
    fn uniform_writes_have_exponential_intervals() {
        let (pages, step) = (4096, 256);
        let mut intervals = Intervals::new(pages, pages / 4, step, u64::from(4 * pages));
        let mut random = Random::new(3);
        while intervals.now() < intervals.length() {
            intervals.written(Lpn(random.below(pages.into()) as u32), false);
        }
        let [cold, hot] = intervals.survival();
        for steps in [1, 4, 16, 32, 48] {
            let expected = libm::exp(-f64::from(steps * step) / f64::from(pages));
            let measured = cold.at(f64::from(steps));
            // A part of n intervals deviates by sqrt(p (1 - p) / n); n is 4096 watched writes, of which ever fewer are
            // seen for so long.
            assert!((measured - expected).abs() < 0.03, "{steps} steps: {measured} for {expected}");
        }
        assert_eq!(hot.at(40.0), 1.0, "none was hot");
    }

    /// Pages written in turn have one interval, and none is known to end before.
    #[test]
    fn a_turn_has_one_interval() {
        let mut intervals = Intervals::new(1000, 1000, 100, 4000);
        (0..4000).for_each(|turn| intervals.written(Lpn(turn % 1000), true));
        let [_, hot] = intervals.survival();
        assert!(hot.at(10.0) == 1.0 && hot.at(11.0) < 0.001, "one of 3001 is cut off in its last step");
        intervals.restart();
        assert_eq!(intervals.survival()[1].at(40.0), 1.0, "nothing is seen in an epoch yet");
        intervals.written(Lpn(3), false);
        intervals.trimmed(Lpn(3));
        intervals.trimmed(Lpn(3));
        assert_eq!(intervals.ended[0][0], 1, "a trim ends an interval once");
    }

    #[test]
    fn the_watched_pages_are_one_of_each_so_many() {
        let intervals = Intervals::new(1 << 16, 1 << 12, 1, 1);
        let watched: Vec<usize> = (0..1 << 16).filter_map(|at| intervals.watched(Lpn(at))).collect();
        assert!(watched.into_iter().eq(0..1 << 12));
        let of_eight = (0..1 << 13).filter(|at| intervals.watched(Lpn(8 * at)).is_some()).count();
        assert!((400..624).contains(&of_eight), "{of_eight} of 8192 is far from a sixteenth");
    }
}
