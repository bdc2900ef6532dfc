//! Decision between moving and merging a full log block.

use super::cost::{optimum, Costs};
use super::growth::{Fit, Growth, LeastSquares, Scope};
use super::stale::Stale;
use super::Config;
use crate::options::options;
use crate::FtlError;

/// Recycling rule for a full log block.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Always a merge.
    Merge,
    /// A migration if less than half the pages are valid.
    Cost,
    /// As `cost`, but a merge after a number of migrations in a row.
    Limit(Limit),
    /// As `cost`, but a merge after the cheapest number of migrations if each copies alpha pages more than the
    /// one before: sqrt(2 + 2 pages / alpha) - 2, rounded; alpha is estimated.
    Macro(Macro),
    /// As `cost`, but a merge once carrying unwritten pages has cost as much as a merge costs beyond
    /// migrations; beyond the paper.
    Adaptive(Adaptive),
}

impl Default for Rule {
    fn default() -> Self {
        Self::Macro(Macro::default())
    }
}

options! {
    Limit
    /// The option of `limit`.
    #[derive(Eq)]
    {
        /// Most migrations in a row. Default: half a block's pages, as in the paper.
        migrations: Option<u32> = None,
    }
}

options! {
    Macro
    /// The option of `macro`.
    #[derive(Eq)]
    {
        /// Method to estimate alpha. Default `least_squares`.
        alpha: Fit = Fit::default(),
    }
}

options! {
    Adaptive
    /// The options of `adaptive`.
    {
        /// How much carrying unwritten pages may cost before a merge, as a share of a merge's price; above 0. Default
        /// 0.5.
        patience: f64 = 0.5,
        /// An erase's cost, in page copies; 0 or more. Default 1.33, for the paper's MLC chip.
        erase_copies: f64 = 1.33,
    }
}

impl Rule {
    /// Checks the options.
    ///
    /// # Errors
    /// [`FtlError::Config`] for a number out of its range.
    pub(super) fn check(self) -> Result<(), FtlError> {
        let Self::Adaptive(Adaptive { patience, erase_copies }) = self else { return Ok(()) };
        for (key, value, least) in [("patience", patience, f64::MIN_POSITIVE), ("erase_copies", erase_copies, 0.0)] {
            if !(value.is_finite() && value >= least) {
                let allowed = if least > 0.0 { "above 0" } else { "of 0 or more" };
                let place = "ftl.migration.recycling.adaptive";
                return Err(FtlError::Config(format!("{place}.{key} = {value} is not a number {allowed}")));
            }
        }
        Ok(())
    }
}

/// A full log block.
#[derive(Clone, Copy, Debug)]
pub(super) struct FullLog<'a> {
    /// Its valid pages' places, in order.
    pub(super) places: &'a [u32],
    /// The logical block's mapped pages.
    pub(super) mapped: u32,
}

impl FullLog<'_> {
    fn valid(&self) -> u32 {
        self.places.len() as u32
    }
}

/// A logical block's migrations since its last merge.
#[derive(Clone, Debug, Default)]
struct Period {
    migrations: u32,
    growth: Growth,
    stale: Stale,
}

/// The rule and its state.
#[derive(Debug)]
pub(super) struct Policy {
    rule: Rule,
    costs: Costs,
    /// By logical block.
    periods: Vec<Period>,
    /// All logical blocks' migrations.
    global: Growth,
}

impl Policy {
    pub(super) fn new(config: &Config, pages_per_block: u32, groups: u32) -> Self {
        let Adaptive { erase_copies, .. } = match config.recycling {
            Rule::Adaptive(options) => options,
            _ => Adaptive::default(),
        };
        Self {
            rule: config.recycling,
            costs: Costs { erase: erase_copies, copy: 1.0, pages: pages_per_block.into() },
            periods: vec![Period::default(); groups as usize],
            global: Growth::default(),
        }
    }

    /// A logical block's migrations since its last merge.
    pub(super) fn migrations(&self, group: u32) -> u32 {
        self.periods[group as usize].migrations
    }

    /// The growth rate used by the rule, if it uses one.
    pub(super) fn alpha(&self, group: u32, valid: u32) -> Option<f64> {
        let Rule::Macro(Macro { alpha }) = self.rule else { return None };
        let period = &self.periods[group as usize];
        let k = period.migrations + 1;
        Some(match alpha {
            Fit::Last => f64::from(valid) / f64::from(k),
            Fit::LeastSquares(LeastSquares { window, scope: Scope::Block }) => period.growth.slope(k, valid, window),
            Fit::LeastSquares(LeastSquares { window, scope: Scope::Global }) => self.global.slope(k, valid, window),
        })
    }

    /// Whether to move a log block; must be called exactly once per full log block.
    pub(super) fn migrates(&mut self, group: u32, log: FullLog<'_>) -> bool {
        let (valid, pages) = (f64::from(log.valid()), self.costs.pages);
        if let Rule::Adaptive(Adaptive { patience, .. }) = self.rule {
            let stale = &mut self.periods[group as usize].stale;
            stale.observe(log.places);
            return stale.migrates(&self.costs, log.valid(), log.mapped, patience);
        }
        let migrations = self.migrations(group);
        valid < self.costs.equilibrium()
            && match self.rule {
                Rule::Merge => false,
                Rule::Cost | Rule::Adaptive(_) => true,
                Rule::Limit(Limit { migrations: most }) => migrations < most.unwrap_or(pages as u32 / 2),
                Rule::Macro(_) => {
                    let alpha = self.alpha(group, log.valid()).expect("the macroscopic rule has an alpha");
                    f64::from(migrations) < optimum(pages, alpha).round()
                }
            }
    }

    /// Records a migration.
    pub(super) fn migrated(&mut self, group: u32, valid: u32) {
        let period = &mut self.periods[group as usize];
        period.migrations += 1;
        match self.rule {
            Rule::Macro(Macro { alpha: Fit::LeastSquares(LeastSquares { window, scope }) }) => match scope {
                Scope::Block => period.growth.add(period.migrations, valid, window),
                Scope::Global => self.global.add(period.migrations, valid, window),
            },
            Rule::Adaptive(_) => period.stale.moved(&self.costs, valid),
            Rule::Merge | Rule::Cost | Rule::Limit(_) | Rule::Macro(Macro { alpha: Fit::Last }) => {}
        }
    }

    /// Records a merge or another end: the logical block has no log block any more.
    pub(super) fn merged(&mut self, group: u32) {
        let period = &mut self.periods[group as usize];
        period.migrations = 0;
        period.growth = Growth::default();
        period.stale.clear();
    }
}
