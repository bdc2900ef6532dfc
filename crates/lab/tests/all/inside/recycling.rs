//! Tests of `src/record/recycling.rs`.

use nandlab_ftl::{Recycling, RecyclingKind};
use nandlab_lab::inside::Line;
use nandlab_lab::record::RecyclingRecord;

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
