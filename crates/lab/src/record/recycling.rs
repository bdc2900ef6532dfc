//! Log-block history, for an FTL that keeps one.

use nandlab_ftl::{Recycling, RecyclingKind};
use serde::Serialize;
use std::collections::BTreeSet;

/// The recorded recyclings, and derived figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecyclingRecord {
    /// All recyclings, oldest first.
    pub list: Vec<Recycling>,
    /// Mean pages copied by a migration; null if there was none.
    pub migration_valid: Option<f64>,
    /// Mean valid pages in full log blocks at full merges; null if there was none.
    pub merge_valid: Option<f64>,
    /// Longest row of migrations in one logical block; the figures below use this row. Rows after a merge come
    /// before rows after a log block's initial contents.
    pub longest_row: u64,
    /// Growth in the cost model, in which the k-th migration copies alpha k pages: slope of the least-squares
    /// line through the origin, as estimated by `recycling = "macro"`; null without migrations.
    pub alpha: Option<f64>,
    /// Least-squares line with an intercept for copied pages over migration number; null with only one
    /// migration.
    #[serde(flatten)]
    pub line: Line,
}

/// A line with an intercept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Line {
    /// Additional pages from one migration to the next.
    pub slope: Option<f64>,
    /// Pages before the first migration.
    pub intercept: Option<f64>,
    /// Variance explained by this line, as a share; null if the pages never change.
    pub r2: Option<f64>,
}

impl Line {
    fn through(row: &[(f64, f64)]) -> Self {
        let (Some(x), Some(y)) = (mean(row.iter().map(|point| point.0)), mean(row.iter().map(|point| point.1))) else {
            return Self::default();
        };
        let sum = |term: fn(f64, f64) -> f64| row.iter().map(|&(k, p)| term(k - x, p - y)).sum::<f64>();
        let (both, first, second) = (sum(|k, p| k * p), sum(|k, _| k * k), sum(|_, p| p * p));
        let slope = (first > 0.0).then(|| both / first);
        Self {
            slope,
            intercept: slope.map(|slope| y - slope * x),
            r2: (first > 0.0 && second > 0.0).then(|| both * both / (first * second)),
        }
    }
}

impl RecyclingRecord {
    /// From a run's recyclings.
    #[doc(hidden)]
    pub fn of(list: Vec<Recycling>) -> Self {
        let valid = |kind, evicted| {
            let of_kind = list.iter().filter(move |one| one.kind == kind && (evicted || !one.evicted));
            mean(of_kind.map(|one| f64::from(one.valid)))
        };
        let row = longest_row(&list);
        let products: f64 = row.iter().map(|&(k, p)| k * p).sum();
        let squares: f64 = row.iter().map(|&(k, _)| k * k).sum();
        Self {
            migration_valid: valid(RecyclingKind::Migration, true),
            merge_valid: valid(RecyclingKind::Full, false),
            longest_row: row.len() as u64,
            alpha: (squares > 0.0).then(|| products / squares),
            line: Line::through(&row),
            list,
        }
    }
}

/// A logical block's longest row of migrations, as pairs: number since its last merge, from 1, and copied
/// pages.
fn longest_row(list: &[Recycling]) -> Vec<(f64, f64)> {
    let migrations = || list.iter().enumerate().filter(|(_, one)| one.kind == RecyclingKind::Migration);
    // The row that ends with a migration, read backwards.
    let row = |(end, last): (usize, &Recycling)| -> Vec<(f64, f64)> {
        let same = list[..=end].iter().rev().filter(|one| one.logical_block == last.logical_block);
        let row = same.take_while(|one| one.kind == RecyclingKind::Migration && one.migrations <= last.migrations);
        let mut row: Vec<(f64, f64)> = row.map(|one| (f64::from(one.migrations + 1), f64::from(one.valid))).collect();
        row.reverse();
        row
    };
    let mut merged = BTreeSet::new();
    let begun: Vec<bool> = list
        .iter()
        .map(|one| {
            if one.kind != RecyclingKind::Migration {
                merged.insert(one.logical_block);
            }
            merged.contains(&one.logical_block)
        })
        .collect();
    let longest = migrations().max_by_key(|(at, one)| (begun[*at], one.migrations, std::cmp::Reverse(*at)));
    longest.map(row).unwrap_or_default()
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0u64, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / count as f64)
}
