//! Decision between moving and merging a full log block.

use super::cost::{optimum, Costs};
use super::growth::{Fit, Growth, Scope};
use super::stale::Stale;
use super::Config;

/// Recycling rule for a full log block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Always a merge.
    Merge,
    /// A migration if less than half the pages are valid.
    Cost,
    /// As `cost`, but a merge after `limit` migrations in a row.
    Limit,
    /// As `cost`, but a merge after the cheapest number of migrations if each copies alpha pages more than the
    /// one before: sqrt(2 + 2 pages / alpha) - 2, rounded; alpha is estimated.
    #[default]
    Macro,
    /// As `cost`, but a merge once carrying unwritten pages has cost as much as a merge costs beyond
    /// migrations; beyond the paper.
    Adaptive,
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
    limit: u32,
    window: u32,
    fit: Fit,
    scope: Scope,
    patience: f64,
    costs: Costs,
    /// By logical block.
    periods: Vec<Period>,
    /// All logical blocks' migrations.
    global: Growth,
}

impl Policy {
    pub(super) fn new(config: &Config, pages_per_block: u32, groups: u32) -> Self {
        Self {
            rule: config.recycling,
            limit: config.limit.unwrap_or(pages_per_block / 2),
            window: config.alpha_window,
            fit: config.alpha_fit,
            scope: config.alpha_scope,
            patience: config.patience,
            costs: Costs { erase: config.erase_copies, copy: 1.0, pages: pages_per_block.into() },
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
        let period = &self.periods[group as usize];
        let growth = match self.scope {
            Scope::Block => &period.growth,
            Scope::Global => &self.global,
        };
        (self.rule == Rule::Macro).then(|| growth.alpha(period.migrations + 1, valid, self.window, self.fit))
    }

    /// Whether to move a log block; must be called exactly once per full log block.
    pub(super) fn migrates(&mut self, group: u32, log: FullLog<'_>) -> bool {
        let (valid, pages) = (f64::from(log.valid()), self.costs.pages);
        if self.rule == Rule::Adaptive {
            let stale = &mut self.periods[group as usize].stale;
            stale.observe(log.places);
            return stale.migrates(&self.costs, log.valid(), log.mapped, self.patience);
        }
        let migrations = self.migrations(group);
        valid < self.costs.equilibrium()
            && match self.rule {
                Rule::Merge => false,
                Rule::Cost | Rule::Adaptive => true,
                Rule::Limit => migrations < self.limit,
                Rule::Macro => {
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
            Rule::Macro => match self.scope {
                Scope::Block => period.growth.add(period.migrations, valid, self.window),
                Scope::Global => self.global.add(period.migrations, valid, self.window),
            },
            Rule::Adaptive => period.stale.moved(&self.costs, valid),
            Rule::Merge | Rule::Cost | Rule::Limit => {}
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
