//! Tests of `src/served/lifetime.rs`.

use nandlab_lab::inside::LifetimeCell;
use nandlab_lab::record::HostCounts;
use nandlab_lab::served::Lifetime;
use nandlab_nand::{Cell, Matrix};

#[test]
fn counts_are_added_cell_by_cell() {
    let mut all = Lifetime::default();
    let counts = |page_programs| Cell { page_programs, ..Cell::default() };
    all.cells.push(LifetimeCell { origin: 3, cause: "host".into(), counts: counts(2) });
    all.cells.push(LifetimeCell { origin: 3, cause: "mount".into(), counts: counts(5) });
    all.add(&HostCounts { writes: 7, ..HostCounts::default() }, &Matrix::default(), 9);
    all.add(&HostCounts { writes: 1, ..HostCounts::default() }, &Matrix::default(), 1);
    assert_eq!((all.time_ns, all.host.writes, all.flash().programs), (10, 8, 2));
    let text = serde_json::to_string(&all).unwrap();
    assert_eq!(serde_json::from_str::<Lifetime>(&text).unwrap(), all);
}
