//! Tests of `src/traces/heat.rs`.

use nandlab_lab::inside::{Heat, CHUNK};

#[test]
fn a_sample_counts_each_of_its_pages_in_full() {
    let (mut all, mut some) = (Heat::default(), Heat::with_most(300));
    let mut random = nandlab_nand::random::Random::new(3);
    for _ in 0..60_000 {
        let (first, length) = (random.below(1 << 20), 1 + random.below(300));
        let is_write = random.chance(0.7);
        all.add(first, first + length, is_write);
        some.add(first, first + length, is_write);
    }
    assert_eq!((all.one_in(), some.one_in()), (1, 16));
    let held: Vec<_> = all.pages().filter(|&(page, ..)| some.is_held(page / CHUNK)).collect();
    assert!(some.pages().eq(held.iter().copied()), "a page of the sample has all its writes");
    let count = |heat: &Heat| heat.pages().count() as f64 * heat.one_in() as f64;
    assert!((count(&some) / count(&all) - 1.0).abs() < 0.15, "{} for {}", count(&some), count(&all));
    let sum = |heat: &Heat| heat.pages().map(|(_, writes, _)| u64::from(writes)).sum::<u64>() as f64;
    let mean = |heat: &Heat| sum(heat) / heat.pages().filter(|page| page.1 > 0).count() as f64;
    assert!((mean(&some) / mean(&all) - 1.0).abs() < 0.03, "{} for {}", mean(&some), mean(&all));
}

/// Coarser units would miss this: every page is written three times, and a chunk has few touched pages.
#[test]
fn pages_far_apart_are_counted_as_often_as_they_are_written() {
    let mut heat = Heat::with_most(1000);
    for _ in 0..3 {
        for page in 0..20_000 {
            heat.add(page * 997, page * 997 + 1, true);
        }
    }
    assert!(heat.one_in() > 1 && heat.pages().all(|(_, writes, was_read)| writes == 3 && !was_read));
    let pages = heat.pages().count() as f64 * heat.one_in() as f64;
    assert!((pages / 20_000.0 - 1.0).abs() < 0.15, "{pages}");
}
