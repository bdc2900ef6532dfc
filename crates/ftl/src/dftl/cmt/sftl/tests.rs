//! Runs, and what leaves.

use super::*;

const PER: u32 = 16;

fn cache(budget_bytes: u64, options: Options, dies: u32) -> Runs {
    Runs::new(Shape::of(1_000, PER, dies, budget_bytes), options)
}

/// Asks for an entry as the scheme does, where entry `n` is page `n` on flash; returns the map pages read and written.
fn ask(cache: &mut Runs, at: u32) -> (Vec<u32>, Vec<u32>) {
    let (mut read, mut written) = (Vec::new(), Vec::new());
    loop {
        match cache.step(Lpn(at)) {
            Step::Found(_) => return (read, written),
            Step::Write(map_page) => {
                written.push(map_page);
                cache.written(map_page);
            }
            Step::Read(first) => {
                read.push(first.0 / PER);
                let bytes: Vec<u8> = (first.0..first.0 + PER).flat_map(u32::to_le_bytes).collect();
                cache.take_in(first, &bytes);
            }
        }
    }
}

/// An order of pages has one run; a change in its middle makes three, one at its end two; a page back in its place
/// makes one again.
#[test]
fn a_change_cuts_a_run_in_up_to_three() {
    let mut cache = cache(1_000, Options::default(), 1);
    ask(&mut cache, 0);
    let mut runs = |at: u32, to: u32| {
        cache.set(at, Ppa(to));
        cache.each(&mut |_, _, _| ());
        (cache.pages.get(0).unwrap().runs, cache.bytes)
    };
    assert_eq!(runs(5, 5), (1, 8 + 4 + 4));
    assert_eq!(runs(5, 90), (3, 8 + 12 + 4));
    assert_eq!(runs(6, 91), (3, 8 + 12 + 4));
    assert_eq!(runs(15, 7), (4, 8 + 16 + 4));
    assert_eq!(runs(15, 15), (3, 8 + 12 + 4));
    assert_eq!(runs(5, 5), (3, 8 + 12 + 4));
    assert_eq!(runs(6, 6), (1, 8 + 4 + 4));
}

#[test]
fn pages_in_turn_on_four_dies_are_four_runs() {
    let mut cache = cache(1_000, Options::default(), 4);
    ask(&mut cache, 0);
    // Sixteen pages of four dies with a hundred pages each.
    (0..16).for_each(|at| cache.set(at, Ppa(at % 4 * 100 + at / 4)));
    assert_eq!(cache.pages.get(0).unwrap().runs, 4);
    assert_eq!(cache.pages.get(0).unwrap().count_runs(1), 16, "by the number alone there is no run");
}

#[test]
fn few_changed_entries_wait_in_the_buffer_and_many_are_written() {
    // Room for two pages with one run, and three more runs; two entries in the buffer.
    let options = Options { buffer_percent: 25, sparse_entries: 2 };
    let mut cache = cache(64, options, 1);
    assert_eq!((cache.buffer.most, cache.most_bytes), (2, 48));
    ask(&mut cache, 0);
    cache.set(3, Ppa(500));
    assert_eq!(ask(&mut cache, 16), (vec![1], vec![]));
    assert_eq!(ask(&mut cache, 32), (vec![2], vec![]), "map page 0 goes, and its entry stays");
    assert_eq!(ask(&mut cache, 3), (vec![], vec![]), "and is found");
    assert_eq!(cache.page(3), Ppa(500));
    assert_eq!(ask(&mut cache, 4), (vec![0], vec![]), "the map page takes it back");
    assert_eq!((cache.page(3), cache.buffer.count), (Ppa(500), 0));
    [5, 7].iter().for_each(|&at| cache.set(at, Ppa(600 + at)));
    assert_eq!(ask(&mut cache, 48), (vec![3], vec![0]), "three changed entries are written");
}

#[test]
fn a_full_buffer_gives_up_the_map_page_with_the_most_entries() {
    let options = Options { buffer_percent: 25, sparse_entries: 2 };
    let mut cache = cache(64, options, 1);
    for first in [0, 16] {
        ask(&mut cache, first);
        cache.set(first, Ppa(first));
    }
    ask(&mut cache, 32);
    ask(&mut cache, 48);
    ask(&mut cache, 64);
    assert_eq!(cache.buffer.count, 2);
    cache.set(64, Ppa(64));
    ask(&mut cache, 80);
    ask(&mut cache, 96);
    assert_eq!(ask(&mut cache, 112), (vec![7], vec![0]), "the first one among equals");
}
