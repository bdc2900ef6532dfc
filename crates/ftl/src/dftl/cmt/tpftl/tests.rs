//! What a miss loads, and what leaves.

use super::*;

const PER: u32 = 10;

fn cache(entries: u64, nodes: u64, options: Options) -> TwoLevels {
    let budget_bytes = ENTRY * entries + NODE * nodes;
    TwoLevels::new(Shape::of(1_000, PER, 1, budget_bytes), options)
}

/// Asks for an entry, as the scheme does; entry `n` is page `n`. Returns the map pages written and the reads.
fn ask(cache: &mut TwoLevels, at: u32) -> (Vec<u32>, u32) {
    let at = Lpn(at);
    if let Some(slot) = cache.find(at) {
        cache.touch(slot);
        return (Vec::new(), 0);
    }
    let (mut written, mut reads) = (Vec::new(), 0);
    loop {
        match cache.step(at) {
            Step::Found(slot) => {
                assert_eq!(cache.page(slot), Ppa(at.0));
                return (written, reads);
            }
            Step::Write(map_page) => {
                written.push(map_page);
                cache.written(map_page);
            }
            Step::Read(first) => {
                let end = (first.0 / PER + 1) * PER;
                let bytes: Vec<u8> = (first.0..end).flat_map(u32::to_le_bytes).collect();
                reads += 1;
                cache.take_in(first, &bytes);
            }
        }
    }
}

fn change(cache: &mut TwoLevels, at: u32) {
    let slot = cache.find(Lpn(at)).unwrap();
    cache.set(slot, Ppa(at));
}

fn here(cache: &TwoLevels) -> Vec<u32> {
    let mut found = Vec::new();
    cache.each(&mut |at, _, _| found.push(at.0));
    found
}

#[test]
fn a_miss_loads_the_rest_of_its_request_in_the_map_page() {
    let mut cache = cache(20, 5, Options::default());
    cache.expect(Lpn(7), 5);
    assert_eq!((7..12).map(|at| ask(&mut cache, at).1).collect::<Vec<_>>(), [1, 0, 0, 1, 0]);
    cache.expect(Lpn(20), 1);
    assert_eq!(ask(&mut cache, 20).1, 1);
    assert_eq!(here(&cache), [7, 8, 9, 10, 11, 20], "nothing behind the request");
}

#[test]
fn the_coldest_node_loses_unmarked_entries_first_and_marked_ones_together() {
    let mut cache = cache(6, 2, Options { selective_prefetch: false, ..Options::default() });
    // Two nodes with three entries each; the first is colder on average, though it has the newest entry.
    [0, 1, 2, 10, 11, 12, 2].iter().for_each(|&at| assert!(ask(&mut cache, at).0.is_empty()));
    [0, 2, 11].iter().for_each(|&at| change(&mut cache, at));
    assert_eq!(ask(&mut cache, 13).0, [0_u32; 0], "1 is unmarked and goes");
    assert_eq!(here(&cache), [0, 2, 10, 11, 12, 13]);
    assert_eq!(ask(&mut cache, 14).0, [0], "0 is written, and 2 with it");
    assert_eq!(here(&cache), [2, 10, 11, 12, 13, 14]);
    [10, 12, 14].iter().for_each(|&at| assert_eq!(ask(&mut cache, at).1, 0));
    assert_eq!(ask(&mut cache, 15).0, [0_u32; 0]);
    assert_eq!(here(&cache), [10, 11, 12, 13, 14, 15], "2 has left for nothing");
}

#[test]
fn nodes_that_go_turn_the_prefetch_on_and_nodes_that_come_turn_it_off() {
    let mut trend = Trend { threshold: 3, counter: 0, is_sequential: false };
    let mut states = Vec::new();
    for change in [-1, -1, 1, -1, -1, 1, 1, 1, -1] {
        trend.count(change);
        states.push(trend.is_sequential);
    }
    assert_eq!(states, [false, false, false, false, true, true, true, false, false]);
}

/// The wanted entry's own node gives up entries, and is needed again.
#[test]
fn a_single_node_makes_room_for_itself() {
    let mut cache = cache(4, 1, Options::default());
    cache.expect(Lpn(0), 10);
    let reads: Vec<u32> = (0..10).map(|at| ask(&mut cache, at).1).collect();
    assert_eq!(reads, [1, 0, 0, 0, 1, 0, 0, 0, 1, 0]);
    assert_eq!(here(&cache), [6, 7, 8, 9]);
}

/// Ten single entries leave room for a sequential run: the more of it is cached, the more a miss loads.
#[test]
fn a_sequential_run_doubles_what_a_miss_loads() {
    let mut cache = cache(10, 10, Options { threshold: 2, ..Options::default() });
    (0..10).for_each(|node| {
        ask(&mut cache, 100 + node * PER);
    });
    let reads: Vec<u32> = (0..8).map(|at| ask(&mut cache, at).1).collect();
    assert!(reads.iter().sum::<u32>() < 8, "{reads:?}");
    let mut without = super::tests::cache(10, 10, Options { selective_prefetch: false, ..Options::default() });
    assert_eq!((0..8).map(|at| ask(&mut without, at).1).sum::<u32>(), 8);
}
