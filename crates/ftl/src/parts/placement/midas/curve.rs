//! A falling curve over time, with its area: both are read in constant time, since the search asks thousands of times.

/// Values at 0, 1, 2, ... steps, with straight lines between them; after the last one it stays level.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    values: Vec<f64>,
    /// The area up to each value.
    areas: Vec<f64>,
}

impl Curve {
    /// `values` has at least one value.
    pub(super) fn new(values: Vec<f64>) -> Self {
        let mut area = 0.0;
        let between = values.windows(2).map(|pair| {
            area += (pair[0] + pair[1]) / 2.0;
            area
        });
        let areas = std::iter::once(0.0).chain(between).collect();
        Self { values, areas }
    }

    /// Steps up to the last value.
    pub(super) fn end(&self) -> f64 {
        (self.values.len() - 1) as f64
    }

    /// The value at `time` steps.
    #[inline]
    pub(super) fn at(&self, time: f64) -> f64 {
        if time >= self.end() {
            return self.values[self.values.len() - 1];
        }
        let (step, part) = (time as usize, time - (time as usize) as f64);
        self.values[step] + part * (self.values[step + 1] - self.values[step])
    }

    /// The area up to `time` steps.
    #[inline]
    pub(super) fn area(&self, time: f64) -> f64 {
        let step = (time as usize).min(self.values.len() - 1);
        let rest = time - step as f64;
        self.areas[step] + rest * (self.values[step] + self.at(time)) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_areas_follow_the_lines() {
        let curve = Curve::new(vec![1.0, 0.5, 0.4]);
        assert_eq!([0.0, 0.5, 1.0, 2.0, 9.0].map(|time| curve.at(time)), [1.0, 0.75, 0.5, 0.4, 0.4]);
        let areas = [0.0, 0.5, 1.0, 2.0, 3.0].map(|time| curve.area(time));
        let expected = [0.0, 0.4375, 0.75, 1.2, 1.6];
        assert!(areas.into_iter().zip(expected).all(|(area, expected)| (area - expected).abs() < 1e-12), "{areas:?}");
    }
}
