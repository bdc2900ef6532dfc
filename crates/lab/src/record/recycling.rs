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
    pub(crate) fn of(list: Vec<Recycling>) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn recycling(number: u64, logical_block: u32, kind: RecyclingKind, valid: u32, migrations: u32) -> Recycling {
        let (written_pages, evicted, copies, alpha) = (0, false, valid, None);
        Recycling { number, written_pages, logical_block, kind, evicted, valid, migrations, copies, alpha }
    }

    #[test]
    fn means_are_by_kind_and_the_line_is_that_of_the_longest_row() {
        use RecyclingKind::{Full, Migration};
        let list = [(0, Migration, 9, 0), (0, Full, 11, 1), (7, Migration, 50, 0), (0, Migration, 3, 0)];
        let rest = [(0, Migration, 5, 1), (7, Full, 60, 1), (0, Migration, 10, 2)];
        let list = (0..).zip(list.into_iter().chain(rest));
        let list = list.map(|(number, (block, kind, valid, n))| recycling(number, block, kind, valid, n)).collect();
        let record = RecyclingRecord::of(list);
        assert_eq!(record.migration_valid, Some((9 + 50 + 3 + 5 + 10) as f64 / 5.0));
        assert_eq!(record.merge_valid, Some(35.5));
        // (1, 3), (2, 5), (3, 10): through the origin (3 + 10 + 30) / (1 + 4 + 9). With an intercept, the
        // normal equations 18 = 3 a + 6 b, 43 = 6 a + 14 b give b = 3.5 and a = -1; 2.5, 6 and 9.5 leave 0.25 +
        // 1 + 0.25 of 9 + 1 + 16.
        assert_eq!((record.longest_row, record.alpha), (3, Some(43.0 / 14.0)));
        assert_eq!((record.line.slope, record.line.intercept), (Some(3.5), Some(-1.0)));
        assert!((record.line.r2.unwrap() - (1.0 - 1.5 / 26.0)).abs() < 1e-12);
    }

    #[test]
    fn a_row_that_begins_with_a_merge_comes_before_a_longer_one() {
        use RecyclingKind::{Full, Migration};
        let list = [(Migration, 60, 0), (Migration, 60, 1), (Migration, 60, 2), (Full, 60, 3), (Migration, 1, 0)];
        let list = list.into_iter().chain([(Migration, 3, 1)]);
        let list = (0..).zip(list).map(|(number, (kind, valid, n))| recycling(number, 0, kind, valid, n)).collect();
        let record = RecyclingRecord::of(list);
        assert_eq!((record.longest_row, record.alpha), (2, Some(7.0 / 5.0)));
        assert_eq!((record.line.slope, record.line.intercept, record.line.r2), (Some(2.0), Some(-1.0), Some(1.0)));
    }

    #[test]
    fn nothing_kept_says_nothing() {
        let record = RecyclingRecord::of(Vec::new());
        assert_eq!((record.migration_valid, record.merge_valid, record.longest_row), (None, None, 0));
        assert_eq!((record.alpha, record.line), (None, Line::default()));
        let one = RecyclingRecord::of(vec![recycling(0, 0, RecyclingKind::Migration, 4, 0)]);
        assert_eq!((one.alpha, one.line), (Some(4.0), Line::default()));
    }
}
