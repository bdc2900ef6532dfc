//! How fast copied pages grow per migration: alpha in the macroscopic optimum, estimated online.

use crate::options::options;
use std::collections::VecDeque;

/// Estimator for alpha over the migrations since the last merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// The least-squares slope through the origin: sum(k p) / sum(k k).
    LeastSquares(LeastSquares),
    /// The last migration's copied pages, divided by the migration count.
    Last,
}

impl Default for Fit {
    fn default() -> Self {
        Self::LeastSquares(LeastSquares::default())
    }
}

options! {
    LeastSquares
    /// The options of the least-squares slope.
    #[derive(Eq)]
    {
        /// How many latest migrations enter the estimate; 0 means all. Default 0.
        window: u32 = 0,
        /// Logical blocks whose migrations count. Default block.
        scope: Scope = Scope::Block,
    }
}

/// Migrations in the estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The logical block's migrations since its last merge.
    #[default]
    Block,
    /// All logical blocks' migrations since the mount.
    Global,
}

/// Samples `(k, p)`: the k-th migration after a merge copied p pages.
#[derive(Clone, Debug, Default)]
pub(super) struct Growth {
    /// The samples in the window, if there is a window.
    samples: VecDeque<(u64, u64)>,
    /// sum(k p).
    products: u64,
    /// sum(k k).
    squares: u64,
}

impl Growth {
    /// Adds a sample; only the last `window` samples count, or all if it is 0.
    pub(super) fn add(&mut self, k: u32, p: u32, window: u32) {
        let (k, p) = (k.into(), p.into());
        self.products += k * p;
        self.squares += k * k;
        if window == 0 {
            return;
        }
        self.samples.push_back((k, p));
        if self.samples.len() > window as usize {
            let (k, p) = self.samples.pop_front().expect("a sample was just taken");
            self.products -= k * p;
            self.squares -= k * k;
        }
    }

    /// The slope, including the currently full log block as the k-th migration, with p pages.
    pub(super) fn slope(&self, k: u32, p: u32, window: u32) -> f64 {
        let (mut products, mut squares) = (self.products, self.squares);
        if window > 0 && self.samples.len() == window as usize {
            let (k, p) = self.samples[0];
            products -= k * p;
            squares -= k * k;
        }
        let (k, p) = (u64::from(k), u64::from(p));
        (products + k * p) as f64 / (squares + k * k) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_has_its_slope_and_a_window_forgets() {
        let mut growth = Growth::default();
        (1..10).for_each(|k| growth.add(k, 3 * k, 0));
        assert_eq!(growth.slope(10, 30, 0), 3.0);
        // Normal equations by hand: (1 x 4 + 2 x 5) / (1 + 4).
        let mut growth = Growth::default();
        growth.add(1, 4, 0);
        assert_eq!(growth.slope(2, 5, 0), 14.0 / 5.0);
        // Two samples count: the sample with 900 pages is outside the window.
        let mut growth = Growth::default();
        for (k, p) in [(1, 900), (2, 4), (3, 6)] {
            growth.add(k, p, 2);
        }
        assert_eq!(growth.slope(4, 8, 2), (3.0 * 6.0 + 4.0 * 8.0) / 25.0);
        growth.add(4, 8, 2);
        assert_eq!(growth.slope(5, 10, 2), 2.0);
    }
}
