//! Tests of `src/served/lifetime.rs`.

use nandlab_lab::inside::LifetimeCell;
use nandlab_lab::record::HostCounts;
use nandlab_lab::served::{Lifetime, Unsaved};
use nandlab_nand::{Cell, Matrix};

#[test]
fn counts_are_added_cell_by_cell() {
    let mut all = Lifetime::default();
    let counts = |page_programs| Cell { page_programs, ..Cell::default() };
    all.cells.push(LifetimeCell { origin: 3, cause: "host".into(), counts: counts(2) });
    all.cells.push(LifetimeCell { origin: 3, cause: "mount".into(), counts: counts(5) });
    all.add(&HostCounts { writes: 7, ..HostCounts::default() }, &Matrix::default(), 9);
    all.add(&HostCounts { writes: 1, ..HostCounts::default() }, &Matrix::default(), 1);
    assert_eq!((all.time_ns, all.host.writes, all.flash().programs), (10, 8, 7));
    assert_eq!(all.unsaved, Unsaved::default());
    let text = serde_json::to_string(&all).unwrap();
    assert_eq!(serde_json::from_str::<Lifetime>(&text).unwrap(), all);
}

#[test]
fn counts_that_an_older_version_kept_are_read() {
    let text = r#"{"sessions":2,"time_ns":5,"host":{"requests":3,"reads":0,"writes":3,"trims":0,"flushes":0,"read_sectors":0,
        "written_sectors":24,"trimmed_sectors":0,"partial_writes":0,"unreadable":0},"cells":[]}"#;
    let all: Lifetime = serde_json::from_str(text).unwrap();
    assert_eq!((all.sessions, all.host.writes, all.unsaved.kills), (2, 3, 0));
}
