//! Tests of `src/run/precondition.rs`.

use nandlab_lab::config::{Fill, Precondition};
use nandlab_lab::inside::Preconditioning;
use nandlab_workload::Workload;

fn pages(fill: Fill, overwrites: f64, seed: u64) -> Vec<u64> {
    let mut preconditioning =
        Preconditioning::new(&Precondition { fill, overwrites, ..Precondition::default() }, seed, 1000, 4);
    let mut batch = Vec::new();
    while preconditioning.fill(&mut batch, 77).unwrap() > 0 {}
    assert_eq!(batch.len() as u64, preconditioning.requests());
    assert!(batch.iter().all(|request| request.sectors == 4 && request.sector % 4 == 0));
    batch.iter().map(|request| request.sector / 4).collect()
}

#[test]
fn a_fill_writes_every_page_once() {
    assert!(pages(Fill::None, 0.0, 1).is_empty());
    assert!(pages(Fill::Sequential, 0.0, 1).into_iter().eq(0..1000));
    let mut random = pages(Fill::Random, 0.0, 1);
    assert_ne!(random, pages(Fill::Random, 0.0, 2));
    random.sort_unstable();
    assert!(random.into_iter().eq(0..1000));
}

#[test]
fn a_share_is_filled_and_overwritten_from_the_start() {
    assert!(pages(Fill::Share(0.75), 0.0, 1).into_iter().eq(0..750));
    let all = pages(Fill::Share(0.75), 2.0, 1);
    assert_eq!(all.len(), 750 + 2000);
    assert!(all.iter().all(|&page| page < 750));
}

#[test]
fn overwrites_are_a_multiple_of_the_capacity() {
    let all = pages(Fill::Sequential, 2.5, 1);
    assert_eq!(all.len(), 3500);
    let touched: std::collections::BTreeSet<_> = all[1000..].iter().collect();
    // Each page is missed with probability e^-2.5, so about 918 of 1000 pages are hit.
    assert!((890..945).contains(&touched.len()), "{}", touched.len());
    assert_ne!(all[1000..], pages(Fill::None, 2.5, 2)[..]);
}
