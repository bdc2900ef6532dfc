//! Lines through ascending points: piecewise linear regression with an error bound.

/// A line over places from `first` on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Line {
    pub(super) first: u16,
    /// In units of `1 / ONE`, from 0 to almost 2.
    slope: u16,
    base: u32,
}

/// The slope 1.
const ONE: i64 = 1 << 15;

impl Line {
    /// Bytes: two for the first place, two for the slope, four for the number there.
    pub(super) const BYTES: u64 = 8;

    /// The number for a place, from the first on.
    #[inline]
    pub(super) fn at(&self, place: u32) -> u32 {
        let behind = i64::from(place) - i64::from(self.first);
        let rise = (behind * i64::from(self.slope) + ONE / 2) / ONE;
        self.base.saturating_add(rise as u32)
    }
}

/// The slopes meeting all points so far.
struct Cone {
    first: (u32, u32),
    least: i64,
    most: i64,
    count: u32,
    /// Whether slope 1 met every point exactly; then the slopes above do not know them yet.
    is_unit: bool,
    /// The run and rise of the last point so far.
    last: (i64, i64),
}

impl Cone {
    fn at(first: (u32, u32)) -> Self {
        Self { first, least: 0, most: 2 * ONE - 1, count: 1, is_unit: true, last: (0, 0) }
    }

    /// Takes in a point; false if no line meets it, too, within the bound.
    fn takes(&mut self, (place, number): (u32, u32), bound: u32) -> bool {
        let (run, rise) = (i64::from(place - self.first.0), i64::from(number) - i64::from(self.first.1));
        // Pages in any order mostly end here, and those in order below: both without a division.
        if rise + i64::from(bound) < 0 || rise - i64::from(bound) > 2 * run {
            return false;
        }
        if rise == run && self.is_unit {
            (self.last, self.count) = ((run, rise), self.count + 1);
            return true;
        }
        if std::mem::take(&mut self.is_unit) && self.last.0 > 0 {
            // The last point leaves the fewest slopes to those before.
            let before = self.last;
            self.narrow(before, bound);
        }
        let takes = self.narrow((run, rise), bound);
        self.count += u32::from(takes);
        takes
    }

    /// Leaves the slopes that meet one more point; false if there is none.
    fn narrow(&mut self, (run, rise): (i64, i64), bound: u32) -> bool {
        // A rise rounds to `r` from `r * ONE - ONE / 2` to below `(r + 1) * ONE - ONE / 2`.
        let bound = i64::from(bound);
        let lowest = (rise - bound) * ONE - ONE / 2;
        let above = (rise + bound + 1) * ONE - ONE / 2;
        let least = self.least.max(lowest.div_euclid(run) + i64::from(lowest.rem_euclid(run) != 0));
        let most = self.most.min((above - 1).div_euclid(run));
        if least > most {
            return false;
        }
        (self.least, self.most) = (least, most);
        true
    }

    /// With slope 1 if possible, else in the middle.
    fn line(&self) -> Fitted {
        let slope =
            if self.is_unit || (self.least..=self.most).contains(&ONE) { ONE } else { (self.least + self.most) / 2 };
        let line = Line { first: self.first.0 as u16, slope: slope as u16, base: self.first.1 };
        Fitted { line, count: self.count }
    }
}

/// A line, and the number of its points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fitted {
    pub(super) line: Line,
    pub(super) count: u32,
}

/// Lines through points with ascending places: each goes as far as one line meets every point by at most `bound`. The
/// first point is met exactly.
pub(super) fn lines(points: impl Iterator<Item = (u32, u32)>, bound: u32, mut tell: impl FnMut(Fitted)) {
    let mut cone: Option<Cone> = None;
    for point in points {
        if cone.as_mut().is_some_and(|cone| cone.takes(point, bound)) {
            continue;
        }
        if let Some(full) = cone.replace(Cone::at(point)) {
            tell(full.line());
        }
    }
    cone.into_iter().for_each(|cone| tell(cone.line()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(points: &[(u32, u32)], bound: u32) -> Vec<Fitted> {
        let mut all = Vec::new();
        lines(points.iter().copied(), bound, |fitted| all.push(fitted));
        all
    }

    #[test]
    fn a_sequence_is_one_line_and_a_jump_begins_another() {
        let points: Vec<_> = (0..1024).map(|place| (place, place + 70_000)).collect();
        let lines = fitted(&points, 0);
        assert_eq!((lines.len(), lines[0].count), (1, 1024));
        points.iter().for_each(|&(place, number)| assert_eq!(lines[0].line.at(place), number));
        let jumps: Vec<_> = (0..100).map(|place| (place, if place < 40 { place + 7 } else { 9000 + place })).collect();
        assert_eq!(fitted(&jumps, 0).iter().map(|line| line.count).collect::<Vec<_>>(), [40, 60]);
        assert_eq!(fitted(&[(3, 9), (4, 8)], 0).len(), 2, "a line does not fall");
    }

    /// The bound holds for every point, for any points.
    #[test]
    fn no_point_is_missed_by_more_than_the_bound() {
        let mut state = 12345u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for bound in [0, 1, 4, 16] {
            for _ in 0..200 {
                let (mut place, mut number) = (0, random(1 << 20) as u32);
                let points: Vec<_> = (0..200)
                    .map(|_| {
                        place += 1 + random(3) as u32;
                        number = (number + random(4) as u32).saturating_sub(u32::from(random(20) == 0) * 50);
                        (place, number)
                    })
                    .collect();
                let lines = fitted(&points, bound);
                assert_eq!(lines.iter().map(|line| line.count).sum::<u32>(), 200);
                for &(place, number) in &points {
                    let line = lines.iter().rev().find(|fitted| u32::from(fitted.line.first) <= place).unwrap().line;
                    assert!(line.at(place).abs_diff(number) <= bound, "{place} gives {}, not {number}", line.at(place));
                }
            }
        }
    }

    /// Every second place, every third: a slope below one, met exactly.
    #[test]
    fn regular_gaps_are_one_line() {
        for gap in 2..9 {
            let points: Vec<_> = (0..120).map(|at| (gap * at, 5 + at)).collect();
            assert_eq!(fitted(&points, 0).len(), 1, "gap {gap}");
        }
    }
}
