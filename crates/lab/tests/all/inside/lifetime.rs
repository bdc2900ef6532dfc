//! Tests of `src/served/lifetime.rs`.

use nandlab_lab::config::{Experiment, Format};
use nandlab_lab::inside::LifetimeCell;
use nandlab_lab::record::HostCounts;
use nandlab_lab::served::{Access, Lifetime, Served, Unsaved};
use nandlab_nand::{Cell, Matrix};
use std::path::Path;

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
fn an_image_with_counts_in_another_form_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.image");
    let text = "workload.uniform = {}\nftl.page = {}\ndevice = { capacity = \"16 MiB\", over_provisioning = 0.25 }";
    let experiment = Experiment::parse(text, Format::Toml, "", Path::new(""), &[]).unwrap();
    Served::create(&path, &experiment).unwrap();
    let served = Served::open(&path, Access::Write).unwrap();
    served.image().save_state(r#"{"sessions":2,"time_ns":5,"cells":[]}"#).unwrap();
    assert!(Served::info(&path).unwrap_err().to_string().contains("its counts are in a form that"));
    drop(served);
    let refused = Served::open(&path, Access::Read).map(drop).unwrap_err();
    assert!(refused.to_string().contains("its counts are in a form that this program does not read"), "{refused}");
}
